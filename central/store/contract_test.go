package store

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// compactable is a Store that forgets on demand.
type compactable interface {
	Store
	Compact(ctx context.Context, revision Revision) error
}

// contract is what every store has to do. Each test works under a prefix of
// its own, since a cluster is shared.
var contract = []struct {
	name string
	run  func(t *testing.T, s compactable, p string)
}{
	{"WhatIsCommittedIsRead", testCommittedIsRead},
	{"AMissingKeyIsNotFound", testMissing},
	{"OneFailedConditionStopsAllChanges", testAllOrNothing},
	{"AConflictNamesItsKeys", testConflictKeys},
	{"DeletingNothingMakesNoRevision", testDeleteNothing},
	{"ListIsSortedAndOfOneRevision", testList},
	{"ALongListIsWhole", testLongList},
	{"RangeReadsInPieces", testRange},
	{"ThePastIsRead", testPast},
	{"WatchSendsEachTransactionInOrder", testWatch},
	{"WatchSeesOnlyItsPrefix", testWatchPrefix},
	{"ListThenWatchMissesNothing", testListWatch},
	{"CompactionEndsAWatchFromThePast", testCompaction},
	{"CompareAndSwapLosesNoUpdate", testCounter},
	{"InvalidInputChangesNothing", testInvalid},
	{"AContextEndsACallAndAWatch", testContext},
	{"CloseEndsAWatchAndRefusesCalls", testClose},
	{"EveryScheduleDoesAsTheModel", testModel},
}

func TestContractMemory(t *testing.T) {
	for _, test := range contract {
		t.Run(test.name, func(t *testing.T) {
			s := NewMemory()
			t.Cleanup(func() { s.Close() })
			test.run(t, s, "test/")
		})
	}
}

func TestContractEmbedded(t *testing.T) {
	for _, test := range contract {
		t.Run(test.name, func(t *testing.T) {
			test.run(t, openDir(t, t.TempDir()), "test/")
		})
	}
}

func TestContractCluster(t *testing.T) {
	c := startCluster(t)
	for _, test := range contract {
		t.Run(test.name, func(t *testing.T) {
			test.run(t, c.open(t), test.name+"/")
		})
	}
}

// put commits documents without conditions: key, value, key, value.
func put(t *testing.T, s Store, kv ...string) Revision {
	t.Helper()
	var ops []Op
	for i := 0; i < len(kv); i += 2 {
		ops = append(ops, Op{kv[i], []byte(kv[i+1])})
	}
	return commit(t, s, nil, ops)
}

// remove deletes keys.
func remove(t *testing.T, s Store, keys ...string) Revision {
	t.Helper()
	var ops []Op
	for _, k := range keys {
		ops = append(ops, Op{Key: k})
	}
	return commit(t, s, nil, ops)
}

func commit(t *testing.T, s Store, conds []Cond, ops []Op) Revision {
	t.Helper()
	r, err := s.Commit(t.Context(), conds, ops)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func list(t *testing.T, s Store, prefix string) ([]Item, Revision) {
	t.Helper()
	items, r, err := s.List(t.Context(), prefix)
	if err != nil {
		t.Fatal(err)
	}
	return items, r
}

// next returns an event, which must come within 10 s.
func next(t *testing.T, events <-chan Event) (Event, bool) {
	t.Helper()
	select {
	case e, ok := <-events:
		return e, ok
	case <-time.After(10 * time.Second):
		t.Fatal("no event within 10 s")
		return Event{}, false
	}
}

// wantEnd checks that the watch ends with an error.
func wantEnd(t *testing.T, events <-chan Event, want error) {
	t.Helper()
	if e, ok := next(t, events); !ok || !errors.Is(e.Err, want) {
		t.Fatalf("event %v, %v; want the error %q", e, ok, want)
	}
	if e, ok := next(t, events); ok {
		t.Fatalf("event %v after the end", e)
	}
}

func wantError(t *testing.T, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("%s: error %v, want %q", what, err, want)
	}
}

func want(t *testing.T, what string, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("%s:\n got %v\nwant %v", what, got, want)
	}
}

// text is items as key=value@revision.
func text(items []Item) []string {
	out := []string{}
	for _, i := range items {
		out = append(out, fmt.Sprintf("%s=%s@%d", i.Key, i.Value, i.Revision))
	}
	return out
}

func testCommittedIsRead(t *testing.T, s compactable, p string) {
	first := put(t, s, p+"a", `{"n": 1}`, p+"b", `"β"`)
	second := put(t, s, p+"a", `{"n": 2}`)
	if second <= first || first <= 0 {
		t.Fatalf("revisions %d, %d", first, second)
	}
	for key, wanted := range map[string]Item{
		p + "a": {p + "a", []byte(`{"n": 2}`), second},
		p + "b": {p + "b", []byte(`"β"`), first},
	} {
		got, err := s.Get(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		want(t, key, got, wanted)
	}
	remove(t, s, p+"a")
	_, err := s.Get(t.Context(), p+"a")
	wantError(t, "a deleted key", err, ErrNotFound)
}

func testMissing(t *testing.T, s compactable, p string) {
	_, err := s.Get(t.Context(), p+"none")
	wantError(t, "Get", err, ErrNotFound)
	if !strings.Contains(err.Error(), p+"none") {
		t.Errorf("error %q does not name the key", err)
	}
	items, _ := list(t, s, p)
	want(t, "List", items, []Item{})
}

func testAllOrNothing(t *testing.T, s compactable, p string) {
	r := put(t, s, p+"a", `1`)
	_, err := s.Commit(t.Context(), []Cond{{p + "a", r}, {p + "b", r}}, []Op{{p + "a", []byte(`2`)}, {p + "c", []byte(`2`)}})
	wantError(t, "Commit", err, ErrConflict)
	items, _ := list(t, s, p)
	want(t, "after a conflict", text(items), []string{fmt.Sprintf("%sa=1@%d", p, r)})

	_, err = s.Commit(t.Context(), []Cond{{p + "a", 0}}, []Op{{p + "a", []byte(`2`)}})
	wantError(t, "a key that must not exist", err, ErrConflict)
	second := commit(t, s, []Cond{{p + "a", r}, {p + "b", 0}}, []Op{{p + "b", []byte(`2`)}, {Key: p + "a"}})
	items, _ = list(t, s, p)
	want(t, "after a commit", text(items), []string{fmt.Sprintf("%sb=2@%d", p, second)})
	commit(t, s, []Cond{{p + "a", 0}}, []Op{{p + "a", []byte(`3`)}})
}

func testConflictKeys(t *testing.T, s compactable, p string) {
	r := put(t, s, p+"a", `1`, p+"b", `1`)
	_, err := s.Commit(t.Context(), []Cond{{p + "z", r}, {p + "b", r}, {p + "a", r - 1}}, []Op{{p + "a", []byte(`2`)}})
	var conflict *ConflictError
	if !errors.As(err, &conflict) {
		t.Fatalf("error %v", err)
	}
	want(t, "keys", conflict.Keys, []string{p + "a", p + "z"})
	if conflict.On(p+"b") || !conflict.On(p+"z") {
		t.Errorf("On is wrong for %v", conflict.Keys)
	}
}

func testDeleteNothing(t *testing.T, s compactable, p string) {
	r := put(t, s, p+"a", `1`)
	want(t, "revision of a deletion of nothing", remove(t, s, p+"b"), r)
	want(t, "revision of no change", commit(t, s, []Cond{{p + "a", r}}, nil), r)
	want(t, "the next revision", put(t, s, p+"a", `2`), r+1)
}

func testList(t *testing.T, s compactable, p string) {
	r := put(t, s, p+"b/2", `1`, p+"a", `1`, p+"b/10", `1`, p+"bb", `1`)
	items, at := list(t, s, p+"b/")
	want(t, "keys under b/", text(items), []string{fmt.Sprintf("%sb/10=1@%d", p, r), fmt.Sprintf("%sb/2=1@%d", p, r)})
	want(t, "revision", at, r)
	items, _ = list(t, s, p+"b")
	want(t, "number of keys that begin with b", len(items), 3)
	items, _ = list(t, s, "")
	if !slices.ContainsFunc(items, func(i Item) bool { return i.Key == p+"a" }) {
		t.Errorf("the empty prefix leaves %sa out: %v", p, text(items))
	}
}

func testLongList(t *testing.T, s compactable, p string) {
	const n = 2*page + 1
	var wanted []string
	for i := 0; i < n; i += MaxOps {
		var ops []Op
		for j := i; j < min(i+MaxOps, n); j++ {
			ops = append(ops, Op{fmt.Sprintf("%s%05d", p, j), []byte(`1`)})
			wanted = append(wanted, ops[len(ops)-1].Key)
		}
		commit(t, s, nil, ops)
	}
	items, _ := list(t, s, p)
	var got []string
	for _, i := range items {
		got = append(got, i.Key)
	}
	want(t, "all keys", got, wanted)
}

func testRange(t *testing.T, s compactable, p string) {
	r := put(t, s, p+"a", `1`, p+"b", `1`, p+"c", `1`, p+"d", `1`)
	for _, test := range []struct {
		from, to string
		limit    int
		want     string
	}{
		{"a", "d", 0, "a b c"}, {"b", "b", 0, ""}, {"c", "a", 0, ""}, {"b", "c\x00", 0, "b c"}, {"a", "d", 2, "a b"}, {"aa", "z", 1, "b"}, {"x", "z", 5, ""},
	} {
		items, at, err := s.Range(t.Context(), Span{From: p + test.from, To: p + test.to, Limit: test.limit})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, i := range items {
			got = append(got, strings.TrimPrefix(i.Key, p))
		}
		want(t, fmt.Sprint(test), strings.Join(got, " "), test.want)
		want(t, "revision", at, r)
	}
}

func testPast(t *testing.T, s compactable, p string) {
	first := put(t, s, p+"a", `1`, p+"b", `1`)
	second := put(t, s, p+"a", `2`, p+"c", `2`)
	third := remove(t, s, p+"b")
	for at, wanted := range map[Revision][]string{
		first:  {fmt.Sprintf("%sa=1@%d", p, first), fmt.Sprintf("%sb=1@%d", p, first)},
		second: {fmt.Sprintf("%sa=2@%d", p, second), fmt.Sprintf("%sb=1@%d", p, first), fmt.Sprintf("%sc=2@%d", p, second)},
		third:  {fmt.Sprintf("%sa=2@%d", p, second), fmt.Sprintf("%sc=2@%d", p, second)},
	} {
		span := Prefix(p)
		span.At = at
		items, got, err := s.Range(t.Context(), span)
		if err != nil {
			t.Fatal(err)
		}
		want(t, fmt.Sprintf("at %d", at), text(items), wanted)
		want(t, "revision", got, at)
	}
	_, _, err := s.Range(t.Context(), Span{At: third + 1})
	wantError(t, "a revision to come", err, ErrInvalid)
}

func testCounter(t *testing.T, s compactable, p string) {
	const writers, each = 4, 10
	put(t, s, p+"n", `0`)
	var wg sync.WaitGroup
	for range writers {
		wg.Go(func() {
			for range each {
				if err := increment(t.Context(), s, p+"n"); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	item, err := s.Get(t.Context(), p+"n")
	if err != nil {
		t.Fatal(err)
	}
	want(t, "the counter", string(item.Value), fmt.Sprint(writers*each))
}

// increment adds one to the number in key.
func increment(ctx context.Context, s Store, key string) error {
	for {
		item, err := s.Get(ctx, key)
		if err != nil {
			return err
		}
		var n int
		fmt.Sscan(string(item.Value), &n)
		_, err = s.Commit(ctx, []Cond{{key, item.Revision}}, []Op{{key, fmt.Append(nil, n+1)}})
		if !errors.Is(err, ErrConflict) {
			return err
		}
	}
}
