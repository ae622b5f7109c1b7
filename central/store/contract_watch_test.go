package store

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

func testWatch(t *testing.T, s compactable, p string) {
	start := put(t, s, p+"before", `1`)
	events := s.Watch(t.Context(), p, start)
	past := put(t, s, p+"b", `1`, p+"a", `2`)
	var wanted []Event
	wanted = append(wanted, Event{Revision: past, Items: []Item{{p + "a", []byte(`2`), past}, {p + "b", []byte(`1`), past}}})
	r := commit(t, s, nil, []Op{{Key: p + "b"}, {p + "c", []byte(`3`)}, {Key: p + "a"}})
	wanted = append(wanted, Event{Revision: r, Items: []Item{{p + "c", []byte(`3`), r}}, Deleted: []string{p + "a", p + "b"}})
	for i := range 50 {
		r := put(t, s, p+"n", fmt.Sprint(i))
		wanted = append(wanted, Event{Revision: r, Items: []Item{{p + "n", fmt.Append(nil, i), r}}})
	}
	again := s.Watch(t.Context(), p, past)
	for _, w := range wanted {
		got, _ := next(t, events)
		want(t, "event", got, w)
	}
	for _, w := range wanted[1:] {
		got, _ := next(t, again)
		want(t, "event of a watch from the past", got, w)
	}
}

func testWatchPrefix(t *testing.T, s compactable, p string) {
	start := put(t, s, p+"x", `1`)
	events := s.Watch(t.Context(), p+"in/", start)
	put(t, s, p+"out", `1`, p+"in", `1`)
	r := put(t, s, p+"in/a", `1`, p+"out", `2`)
	got, _ := next(t, events)
	want(t, "event", got, Event{Revision: r, Items: []Item{{p + "in/a", []byte(`1`), r}}})
}

// testListWatch follows the store from a list on, while others write.
func testListWatch(t *testing.T, s compactable, p string) {
	const writers, each = 4, 25
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	started := make(chan struct{})
	var once sync.Once
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				op := Op{fmt.Sprintf("%s%d", p, (w+i)%7), fmt.Append(nil, w*each+i)}
				if i%5 == 4 {
					op.Value = nil
				}
				if _, err := s.Commit(t.Context(), nil, []Op{op}); err != nil {
					t.Error(err)
				}
				if i == each/2 {
					once.Do(func() { close(started) })
				}
			}
		})
	}
	<-started
	items, r := list(t, s, p)
	state := make(map[string]string)
	for _, i := range items {
		state[i.Key] = string(i.Value)
	}
	events := s.Watch(ctx, p, r)
	wg.Wait()
	last := put(t, s, p+"end", `0`)
	for r < last {
		e, _ := next(t, events)
		if e.Err != nil || e.Revision <= r {
			t.Fatalf("event %v after revision %d", e, r)
		}
		r = e.Revision
		for _, i := range e.Items {
			state[i.Key] = string(i.Value)
		}
		for _, k := range e.Deleted {
			delete(state, k)
		}
	}
	items, _ = list(t, s, p)
	wanted := make(map[string]string)
	for _, i := range items {
		wanted[i.Key] = string(i.Value)
	}
	want(t, "what a follower knows", state, wanted)
}

func testCompaction(t *testing.T, s compactable, p string) {
	first := put(t, s, p+"a", `1`)
	live := s.Watch(t.Context(), p, first)
	for i := range 5 {
		put(t, s, p+"a", fmt.Sprint(i))
		if e, _ := next(t, live); e.Err != nil {
			t.Fatal(e.Err)
		}
	}
	gone := remove(t, s, p+"a")
	next(t, live)
	last := put(t, s, p+"b", `1`)
	next(t, live)
	if err := s.Compact(t.Context(), last); err != nil {
		t.Fatal(err)
	}
	if err := s.Compact(t.Context(), gone); err != nil {
		t.Errorf("compaction of what is gone: %v", err)
	}
	wantError(t, "compaction of what is to come", s.Compact(t.Context(), last+10), ErrInvalid)

	wantEnd(t, s.Watch(t.Context(), p, first), ErrCompacted)
	_, _, err := s.Range(t.Context(), Span{At: first})
	wantError(t, "Range", err, ErrCompacted)
	items, _, err := s.Range(t.Context(), Span{From: p, To: prefixEnd(p), At: last})
	if err != nil {
		t.Fatal(err)
	}
	want(t, "what is left", text(items), []string{fmt.Sprintf("%sb=1@%d", p, last)})

	r := put(t, s, p+"a", `9`)
	for name, events := range map[string]<-chan Event{"a watch that kept up": live, "a new one": s.Watch(t.Context(), p, last)} {
		got, _ := next(t, events)
		want(t, name, got, Event{Revision: r, Items: []Item{{p + "a", []byte(`9`), r}}})
	}
}

// testModel runs random transactions beside the plainest possible store.
func testModel(t *testing.T, s compactable, p string) {
	round := 0
	rapid.Check(t, func(rt *rapid.T) {
		round++
		p := fmt.Sprintf("%s%d/", p, round)
		_, start, err := s.List(context.Background(), p)
		if err != nil {
			rt.Fatal(err)
		}
		model := map[string]Item{}
		var events []Event
		keys := rapid.SampledFrom([]string{p + "a", p + "b", p + "c/d"})
		for range rapid.IntRange(1, 8).Draw(rt, "transactions") {
			conds, ops := drawTransaction(rt, model, keys)
			held := !slices.ContainsFunc(conds, func(c Cond) bool { return model[c.Key].Revision != c.Revision })
			r, err := s.Commit(context.Background(), conds, ops)
			if held != (err == nil) || err != nil && !errors.Is(err, ErrConflict) {
				rt.Fatalf("conditions hold: %v; error %v", held, err)
			}
			if err == nil {
				if e := apply(model, ops, r); e.Items != nil || e.Deleted != nil {
					events = append(events, e)
				}
			}
		}
		items, _, err := s.List(context.Background(), p)
		if err != nil {
			rt.Fatal(err)
		}
		wanted := slices.SortedFunc(maps.Values(model), func(a, b Item) int { return strings.Compare(a.Key, b.Key) })
		if got, want := text(items), text(wanted); !slices.Equal(got, want) {
			rt.Fatalf("listed %v, want %v", got, want)
		}
		if round%4 > 0 {
			return // etcd takes 100 ms for a watch from the past
		}
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		watch := s.Watch(ctx, p, start)
		for _, w := range events {
			if got := <-watch; fmt.Sprint(got) != fmt.Sprint(w) {
				rt.Fatalf("event %v, want %v", got, w)
			}
		}
	})
}

// drawTransaction draws conditions of which most hold, and changes.
func drawTransaction(rt *rapid.T, model map[string]Item, keys *rapid.Generator[string]) ([]Cond, []Op) {
	var conds []Cond
	for _, k := range rapid.SliceOfNDistinct(keys, 0, 2, rapid.ID[string]).Draw(rt, "conditions") {
		c := Cond{k, model[k].Revision}
		if rapid.IntRange(0, 4).Draw(rt, "wrong") == 0 {
			c.Revision++
		}
		conds = append(conds, c)
	}
	var ops []Op
	for _, k := range rapid.SliceOfNDistinct(keys, 0, 3, rapid.ID[string]).Draw(rt, "changes") {
		op := Op{Key: k}
		if rapid.Bool().Draw(rt, "put") {
			op.Value = fmt.Append(nil, rapid.IntRange(0, 9).Draw(rt, "value"))
		}
		ops = append(ops, op)
	}
	return conds, ops
}

// apply changes the model and returns the event.
func apply(model map[string]Item, ops []Op, r Revision) Event {
	e := Event{Revision: r}
	slices.SortFunc(ops, func(a, b Op) int { return strings.Compare(a.Key, b.Key) })
	for _, op := range ops {
		_, exists := model[op.Key]
		switch {
		case op.Value != nil:
			model[op.Key] = Item{op.Key, op.Value, r}
			e.Items = append(e.Items, model[op.Key])
		case exists:
			delete(model, op.Key)
			e.Deleted = append(e.Deleted, op.Key)
		}
	}
	return e
}
