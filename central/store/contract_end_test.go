package store

import (
	"context"
	"fmt"
	"strings"
	"testing"
)

func testInvalid(t *testing.T, s compactable, p string) {
	_, before := list(t, s, p)
	one := []byte(`1`)
	many := make([]Op, MaxOps+1)
	for i := range many {
		many[i] = Op{fmt.Sprint(p, i), one}
	}
	for name, c := range map[string]struct {
		conds []Cond
		ops   []Op
	}{
		"empty key":         {nil, []Op{{"", one}}},
		"leading slash":     {nil, []Op{{"/a", one}}},
		"trailing slash":    {nil, []Op{{"a/", one}}},
		"empty part":        {nil, []Op{{"a//b", one}}},
		"control character": {nil, []Op{{"a\x00", one}}},
		"not UTF-8":         {nil, []Op{{"a\xff", one}}},
		"long key":          {nil, []Op{{strings.Repeat("k", MaxKey+1), one}}},
		"empty value":       {nil, []Op{{p + "a", []byte{}}}},
		"not JSON":          {nil, []Op{{p + "a", []byte(`{`)}}},
		"value not UTF-8":   {nil, []Op{{p + "a", []byte("\"\xff\"")}}},
		"key twice":         {nil, []Op{{p + "a", one}, {p + "a", nil}}},
		"too many":          {nil, many},
		"too large":         {nil, []Op{{p + "a", []byte(`"` + strings.Repeat("x", MaxBytes) + `"`)}}},
		"condition twice":   {[]Cond{{p + "a", 0}, {p + "a", 0}}, []Op{{p + "a", one}}},
		"condition below 0": {[]Cond{{p + "a", -1}}, []Op{{p + "a", one}}},
		"condition, no key": {[]Cond{{"", 0}}, []Op{{p + "a", one}}},
		"many conditions":   {make([]Cond, MaxOps+1), []Op{{p + "a", one}}},
	} {
		_, err := s.Commit(t.Context(), c.conds, c.ops)
		wantError(t, name, err, ErrInvalid)
	}
	_, err := s.Get(t.Context(), "a//b")
	wantError(t, "Get", err, ErrInvalid)
	_, _, err = s.Range(t.Context(), Span{Limit: -1})
	wantError(t, "Range", err, ErrInvalid)
	_, after := list(t, s, p)
	want(t, "the revision", after, before)
	put(t, s, p+"large", `"`+strings.Repeat("x", MaxBytes-2-len(p+"large"))+`"`)
	commit(t, s, nil, many[:MaxOps])
}

func testContext(t *testing.T, s compactable, p string) {
	ctx, cancel := context.WithCancel(t.Context())
	events := s.Watch(ctx, p, put(t, s, p+"a", `1`))
	cancel()
	if e, ok := next(t, events); ok {
		t.Errorf("event %v after the end of the context", e)
	}
	_, err := s.Get(ctx, p+"a")
	wantError(t, "Get", err, context.Canceled)
	_, _, err = s.List(ctx, p)
	wantError(t, "List", err, context.Canceled)
	_, err = s.Commit(ctx, nil, []Op{{p + "a", []byte(`2`)}})
	wantError(t, "Commit", err, context.Canceled)
}

func testClose(t *testing.T, s compactable, p string) {
	idle := s.Watch(t.Context(), p, put(t, s, p+"a", `1`))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	wantEnd(t, idle, ErrClosed)
	wantEnd(t, s.Watch(t.Context(), p, 1), ErrClosed)
	_, err := s.Get(t.Context(), p+"a")
	wantError(t, "Get", err, ErrClosed)
	_, _, err = s.List(t.Context(), p)
	wantError(t, "List", err, ErrClosed)
	_, err = s.Commit(t.Context(), nil, []Op{{p + "a", []byte(`2`)}})
	wantError(t, "Commit", err, ErrClosed)
	wantError(t, "Compact", s.Compact(t.Context(), 1), ErrClosed)
	if err := s.Close(); err != nil {
		t.Errorf("Close again: %v", err)
	}
}
