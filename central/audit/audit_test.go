package audit

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/catchment-bgp/catchment/central/store"
)

// noon is when all records of the tests are made.
var noon = time.Date(2026, 11, 30, 12, 0, 0, 500, time.UTC)

func clock() time.Time { return noon }

// entry is an entry for a node.
func entry(target string) Entry {
	return Entry{Who: "spiffe://example.net/noc/anna", Role: "operator", Method: "TagNode", Target: target,
		Reason: "new site", Ticket: "NOC-1", Outcome: Done, Before: `{"tags":[]}`, After: `{"tags":["57629:101"]}`}
}

// appended appends an entry for each target, each in its own transaction.
func appended(t testing.TB, l *Log, targets ...string) {
	t.Helper()
	for _, target := range targets {
		if _, _, err := l.Commit(context.Background(), nil, nil, entry(target)); err != nil {
			t.Fatal(err)
		}
	}
}

func verified(t testing.TB, l *Log, anchors ...Anchor) Verification {
	t.Helper()
	v, err := l.Verify(context.Background(), anchors...)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func listed(t testing.TB, l *Log, f Filter) string {
	t.Helper()
	records, err := l.List(context.Background(), f)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, r := range records {
		out = append(out, fmt.Sprintf("%d:%s", r.Number, r.Target))
	}
	return strings.Join(out, " ")
}

func TestTheHashIsThatOfTheDocumentedBytes(t *testing.T) {
	s := store.NewMemory()
	records, _, err := New(s, clock, nil).Commit(t.Context(), nil, nil, Entry{Who: "w", Method: "m", Outcome: Done})
	if err != nil {
		t.Fatal(err)
	}
	// Computed with Python's hashlib and struct from the package comment.
	const want = "b0d3dde4eca9a472d9f756a896e4c3a7fc19565490056e0bb16313ade3a0adca"
	if records[0].Hash != want {
		t.Errorf("hash %s, want %s", records[0].Hash, want)
	}
	item, err := s.Get(t.Context(), "audit/record/00000000000000000001")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(item.Value), `{"number":1,"at":"2026-11-30T12:00:00.0000005Z","who":"w","method":"m","outcome":"done","hash":"`+want+`"}`; got != want {
		t.Errorf("stored %s\nwant   %s", got, want)
	}
}

func TestARecordAndItsChangeAreOneTransaction(t *testing.T) {
	s := store.NewMemory()
	l := New(s, clock, nil)
	_, made, err := l.Commit(t.Context(), []store.Cond{{Key: "node/a"}}, []store.Op{{Key: "node/a", Value: []byte(`1`)}}, entry("a"))
	if err != nil {
		t.Fatal(err)
	}
	e := <-s.Watch(t.Context(), "", made-1)
	if len(e.Items) != 3 || e.Revision != made || e.Items[2].Key != "node/a" {
		t.Errorf("the transaction wrote %v", e)
	}
	_, _, err = l.Commit(t.Context(), []store.Cond{{Key: "node/a"}}, []store.Op{{Key: "node/a", Value: []byte(`2`)}}, entry("a"))
	var conflict *store.ConflictError
	if !errors.As(err, &conflict) || !reflect.DeepEqual(conflict.Keys, []string{"node/a"}) {
		t.Errorf("error %v, want a conflict on node/a", err)
	}
	if got := listed(t, l, Filter{}); got != "1:a" {
		t.Errorf("records %q after a change that was not made", got)
	}
}

func TestSeveralEntriesAreOneTransaction(t *testing.T) {
	l := New(store.NewMemory(), clock, nil)
	appended(t, l, "a")
	if _, _, err := l.Commit(t.Context(), nil, nil, entry("b"), entry("c")); err != nil {
		t.Fatal(err)
	}
	if got := listed(t, l, Filter{}); got != "3:c 2:b 1:a" {
		t.Errorf("records %q", got)
	}
	if v := verified(t, l); !v.OK || v.Records != 3 {
		t.Errorf("verification %+v", v)
	}
}

func TestManyWritersOfManyCentresMakeOneChain(t *testing.T) {
	const centres, writers, each = 3, 4, 10
	s := store.NewMemory()
	var wg sync.WaitGroup
	for range centres {
		l := New(s, clock, nil)
		for range writers {
			wg.Go(func() {
				for range each {
					if _, _, err := l.Commit(t.Context(), nil, nil, entry("n")); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	wg.Wait()
	if v := verified(t, New(s, clock, nil)); !v.OK || v.Records != centres*writers*each || v.Head.Number != v.Records {
		t.Errorf("verification %+v", v)
	}
}

func TestAnAdditionThatCameTooLateHasMoved(t *testing.T) {
	s := store.NewMemory()
	l := New(s, clock, nil)
	late, err := l.Next(t.Context(), entry("late"))
	if err != nil {
		t.Fatal(err)
	}
	appended(t, l, "first")
	_, err = s.Commit(t.Context(), late.Conds, late.Ops)
	if !Moved(err) {
		t.Errorf("error %v", err)
	}
	if Moved(store.ErrUnavailable) || Moved(&store.ConflictError{Keys: []string{"node/a"}}) {
		t.Error("other errors count as moved")
	}
}

func TestListIsNewestFirstAndFiltered(t *testing.T) {
	l := New(store.NewMemory(), clock, nil)
	for range 2 {
		appended(t, l, "a", "b")
	}
	other := entry("a")
	other.Who = "spiffe://example.net/noc/boris"
	if _, _, err := l.Commit(t.Context(), nil, nil, other); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		f    Filter
		want string
	}{
		{Filter{}, "5:a 4:b 3:a 2:b 1:a"},
		{Filter{Limit: 2}, "5:a 4:b"},
		{Filter{Before: 4}, "3:a 2:b 1:a"},
		{Filter{Before: 1}, ""},
		{Filter{Before: 99, Limit: 1}, "5:a"},
		{Filter{Target: "b"}, "4:b 2:b"},
		{Filter{Who: other.Who}, "5:a"},
		{Filter{Who: other.Who, Target: "b"}, ""},
		{Filter{Who: "nobody"}, ""},
	} {
		if got := listed(t, l, test.f); got != test.want {
			t.Errorf("%+v: %q, want %q", test.f, got, test.want)
		}
	}
}

func TestAListLongerThanAPieceIsWhole(t *testing.T) {
	const n = 2*piece + 1
	l := New(store.NewMemory(), clock, nil)
	for i := 0; i < n; i++ {
		appended(t, l, fmt.Sprint(i%2))
	}
	records, err := l.List(t.Context(), Filter{Limit: 2 * n})
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range records {
		if r.Number != uint64(n-i) {
			t.Fatalf("record %d is number %d", i, r.Number)
		}
	}
	first, err := l.List(t.Context(), Filter{})
	if err != nil {
		t.Fatal(err)
	}
	if len(records) != n || len(first) != 100 {
		t.Errorf("%d and %d records", len(records), len(first))
	}
	if v := verified(t, l); !v.OK || v.Records != n {
		t.Errorf("verification %+v", v)
	}
}

func TestAnEmptyLogIsInOrder(t *testing.T) {
	l := New(store.NewMemory(), clock, nil)
	if v := verified(t, l); !v.OK || v.Records != 0 || v.Head != (Anchor{}) {
		t.Errorf("verification %+v", v)
	}
	if got := listed(t, l, Filter{}); got != "" {
		t.Errorf("records %q", got)
	}
}

func TestAnEntryThatSaysTooLittleIsRefused(t *testing.T) {
	l := New(store.NewMemory(), clock, nil)
	for name, e := range map[string]Entry{
		"no caller":  {Method: "m", Outcome: Done},
		"no method":  {Who: "w", Outcome: Done},
		"no outcome": {Who: "w", Method: "m"},
		"no such":    {Who: "w", Method: "m", Outcome: "ok"},
	} {
		if _, _, err := l.Commit(t.Context(), nil, nil, e); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: error %v", name, err)
		}
	}
	if _, _, err := l.Commit(t.Context(), nil, nil); !errors.Is(err, ErrInvalid) {
		t.Errorf("no entry: error %v", err)
	}
	if got := listed(t, l, Filter{}); got != "" {
		t.Errorf("records %q", got)
	}
}

func TestTextsAreBoundedAndValid(t *testing.T) {
	l := New(store.NewMemory(), clock, nil)
	e := entry("bad \xff bytes")
	e.Reason = strings.Repeat("я", maxText)
	e.After = `"` + strings.Repeat("x", maxState) + `"`
	records, _, err := l.Commit(t.Context(), nil, nil, e)
	if err != nil {
		t.Fatal(err)
	}
	r := records[0]
	if len(r.Reason) > maxText || !strings.HasSuffix(r.Reason, "я…") || r.Target != "bad � bytes" ||
		!strings.HasPrefix(r.After, `{"bytes":16386,"sha256":"`) || !json.Valid([]byte(r.After)) {
		t.Errorf("kept %.40q (%d bytes), %q, %.80q", r.Reason, len(r.Reason), r.Target, r.After)
	}
	if v := verified(t, l); !v.OK {
		t.Errorf("verification %+v", v)
	}
}

func TestSecretsAreNeverKept(t *testing.T) {
	var log bytes.Buffer
	s := store.NewMemory()
	l := New(s, clock, slog.New(slog.NewTextHandler(&log, nil)))
	e := entry("a")
	e.Before = `{"neighbors":[{"name":"a","password":"hunter2","bgp_md5":"hunter2"}],"join-token":{"value":"hunter2"},"key":"hunter2"}`
	e.After = `password=hunter2`
	if _, _, err := l.Commit(t.Context(), nil, nil, e); err != nil {
		t.Fatal(err)
	}
	items, _, err := s.List(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	for _, item := range items {
		if bytes.Contains(item.Value, []byte("hunter2")) {
			t.Errorf("%s has the secret: %s", item.Key, item.Value)
		}
	}
	if strings.Contains(log.String(), "hunter2") || !strings.Contains(log.String(), "hash=") {
		t.Errorf("log %s", log.String())
	}
}

func TestRedact(t *testing.T) {
	for in, want := range map[string]string{
		``:                               ``,
		`{"b":1.50,"a":"<x>"}`:           `{"a":"<x>","b":1.50}`,
		`{"Password":"x","pass_word":1}`: `{"Password":"(hidden)","pass_word":"(hidden)"}`,
		`{"token":"","secret":null}`:     `{"secret":null,"token":""}`,
		`[[{"api-key":["x"]}]]`:          `[[{"api-key":"(hidden)"}]]`,
		`{"monkey":"x","key":"y"}`:       `{"key":"(hidden)","monkey":"x"}`,
		`{"a":1} {"password":"x"}`:       `"(not JSON)"`,
		`{"password":"x"`:                `"(not JSON)"`,
	} {
		if got := Redact(in); got != want {
			t.Errorf("Redact(%s) = %s, want %s", in, got, want)
		}
	}
}

func TestADamagedHeadStopsNewRecords(t *testing.T) {
	for name, text := range map[string]string{
		"not a head": `[]`, "no hash": `{"number":1,"hash":""}`, "zero": `{"number":0,"hash":""}`,
		"lower": `{"number":1,"hash":"` + strings.Repeat("ab", 32) + `"}`,
	} {
		s := store.NewMemory()
		l := New(s, clock, nil)
		appended(t, l, "a", "b", "c")
		if _, err := s.Commit(t.Context(), nil, []store.Op{{Key: headKey, Value: []byte(text)}}); err != nil {
			t.Fatal(err)
		}
		_, _, err := l.Commit(t.Context(), nil, nil, entry("d"))
		if err == nil || errors.Is(err, store.ErrConflict) {
			t.Errorf("%s: error %v", name, err)
		}
		if items, _, _ := s.List(t.Context(), recordKey); len(items) != 3 {
			t.Errorf("%s: %d records", name, len(items))
		}
	}
}
