package audit

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/catchment-bgp/catchment/central/store"
)

// aged is a log whose records are a day apart, and the time after the last one.
func aged(t testing.TB, s store.Store, n int) (*Log, *time.Time) {
	t.Helper()
	now := noon
	l := New(s, func() time.Time { return now }, nil)
	for i := range n {
		appended(t, l, fmt.Sprint("node", i+1))
		now = now.Add(24 * time.Hour)
	}
	return l, &now
}

func pruned(t testing.TB, l *Log, before time.Time) uint64 {
	t.Helper()
	n, err := l.Prune(context.Background(), before, "audit.keep: 30d")
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func day(n int) time.Time { return noon.Add(time.Duration(n) * 24 * time.Hour) }

func TestPruningLeavesAChainThatVerifiesAndTellsOfItself(t *testing.T) {
	s := store.NewMemory()
	l, _ := aged(t, s, 10)
	whole, err := l.From(t.Context(), 1, 0)
	if err != nil {
		t.Fatal(err)
	}
	if n := pruned(t, l, day(0).Add(pruneSlack)); n != 0 {
		t.Errorf("%d removed though the oldest is no day too old", n)
	}
	if n := pruned(t, l, day(4)); n != 4 {
		t.Fatalf("%d removed", n)
	}
	v := verified(t, l, Anchor{2, "a hash that cannot be checked"}, Anchor{4, whole[3].Hash}, Anchor{5, whole[4].Hash})
	if !v.OK || v.Records != 7 || v.Pruned != (Anchor{4, whole[3].Hash}) || v.PrunedAt.IsZero() || v.Head.Number != 11 || v.Unchecked != 1 {
		t.Errorf("%+v", v)
	}
	if v := verified(t, l, Anchor{4, whole[4].Hash}); v.OK || v.BrokenAt != 5 {
		t.Errorf("with a wrong anchor: %+v", v)
	}
	last, err := l.List(t.Context(), Filter{Limit: 1})
	if err != nil || last[0].Method != "PruneAudit" || last[0].Who != "central" || last[0].Reason != "audit.keep: 30d" ||
		!strings.HasPrefix(last[0].Detail, "records 1 to 4, from before 2026-12-04T12:00:00Z, are removed") || !strings.Contains(last[0].After, whole[3].Hash) {
		t.Errorf("%+v, %v", last, err)
	}
	if got := listed(t, l, Filter{Before: 8}); got != "7:node7 6:node6 5:node5" {
		t.Errorf("left: %s", got)
	}
	if items, _, err := s.List(t.Context(), recordKey); err != nil || len(items) != 7 {
		t.Errorf("%d in the store, %v", len(items), err)
	}
	// Once more, and for ever: the last record stays.
	if n := pruned(t, l, day(1000)); n != 6 {
		t.Errorf("%d removed", n)
	}
	appended(t, l, "after")
	if v := verified(t, l); !v.OK || v.Records != 3 || v.Pruned.Number != 10 {
		t.Errorf("%+v", v)
	}
	if n := pruned(t, l, day(1000)); n != 2 {
		t.Errorf("%d removed", n)
	}
	if v := verified(t, l); !v.OK || v.Records != 2 {
		t.Errorf("%+v", v)
	}
}

func TestAnEmptyLogIsNotPruned(t *testing.T) {
	l := New(store.NewMemory(), clock, nil)
	if n := pruned(t, l, day(10)); n != 0 {
		t.Error(n)
	}
	appended(t, l, "a")
	if n := pruned(t, l, day(10)); n != 0 || listed(t, l, Filter{}) != "1:a" {
		t.Error(n)
	}
}

// failing is a store that is out of reach after some commits.
type failing struct {
	store.Store
	left int
}

func (f *failing) Commit(ctx context.Context, conds []store.Cond, ops []store.Op) (store.Revision, error) {
	if f.left--; f.left < 0 {
		return 0, store.ErrUnavailable
	}
	return f.Store.Commit(ctx, conds, ops)
}

// TestPruningThatIsCutOffLeavesAWholeLog prunes some hundreds, and fails after every
// transaction.
func TestPruningThatIsCutOffLeavesAWholeLog(t *testing.T) {
	const n = 2*pruneStep + 7
	for left := range 5 {
		s := &failing{store.NewMemory(), n}
		l, _ := aged(t, s, n)
		s.left = left
		removed, err := l.Prune(t.Context(), day(n-1), "test")
		if (left < 4) != errors.Is(err, store.ErrUnavailable) || removed != uint64(min(max(left-1, 0)*pruneStep, n-1)) {
			t.Fatalf("after %d: %d removed, %v", left, removed, err)
		}
		s.left = 1000
		if v := verified(t, l); !v.OK || v.Pruned.Number != removed {
			t.Errorf("after %d: %+v", left, v)
		}
		pruned(t, l, day(n-1))
		if v := verified(t, l); !v.OK || v.Pruned.Number != n-1 {
			t.Errorf("after %d and the rest: %+v", left, v)
		}
	}
}

func TestPruningIsAtMostDaily(t *testing.T) {
	l, now := aged(t, store.NewMemory(), 1)
	runs := 0
	for hour := range 24 * 20 {
		*now = day(1).Add(time.Duration(hour) * time.Hour)
		appended(t, l, "x")
		if pruned(t, l, now.Add(-10*24*time.Hour)) > 0 {
			runs++
		}
	}
	if v := verified(t, l); !v.OK || runs < 8 || runs > 10 {
		t.Errorf("pruned %d times in 10 days: %+v", runs, v)
	}
}

// TestEveryForgeryAroundPruningIsFound changes a pruned log behind its back.
func TestEveryForgeryAroundPruningIsFound(t *testing.T) {
	for name, tt := range map[string]struct {
		forge func(f forger)
		at    uint64
	}{
		"the origin removed": {func(f forger) { f.write(originKey, nil) }, 1},
		"the origin set back": {func(f forger) {
			f.write(originKey, fmt.Appendf(nil, `{"number":2,"hash":%q,"at":"2026-12-01T00:00:00Z"}`, f.get(5).Hash))
		}, 3},
		"more removed and the origin moved on": {func(f forger) {
			f.write(originKey, fmt.Appendf(nil, `{"number":6,"hash":%q,"at":"2026-12-01T00:00:00Z"}`, f.get(6).Hash))
			f.write(key(5), nil)
			f.write(key(6), nil)
		}, 7},
		"another hash in the origin": {func(f forger) {
			f.write(originKey, fmt.Appendf(nil, `{"number":4,"hash":%q,"at":"2026-12-01T00:00:00Z"}`, f.get(6).Hash))
		}, 5},
		"an origin that is none":  {func(f forger) { f.write(originKey, []byte(`{}`)) }, 1},
		"a record before it":      {func(f forger) { r := f.get(5); r.Number = 4; f.put(4, r) }, 5},
		"the first removed":       {func(f forger) { f.write(key(5), nil) }, 5},
		"the record of it forged": {func(f forger) { r := f.get(11); r.After = `{"number":9,"hash":"00"}`; f.put(11, r) }, 11},
	} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) {
				s := store.NewMemory()
				l, _ := aged(t, s, 10)
				pruned(t, l, day(4))
				tt.forge(forger{rt, s, 11})
				if v := verified(t, l); v.OK || v.BrokenAt != tt.at || v.Detail == "" {
					rt.Fatalf("%+v, want it broken at %d", v, tt.at)
				}
			})
		})
	}
}

func TestALogThatIsNotAsItWasWrittenIsNotPruned(t *testing.T) {
	for name, forge := range map[string]func(f forger){
		"another text": func(f forger) { r := f.get(3); r.Reason += "!"; f.put(3, r) },
		"a removal":    func(f forger) { f.write(key(2), nil) },
		"no record":    func(f forger) { f.write(key(2), []byte(`{}`)) },
		"all removed": func(f forger) {
			for n := range uint64(10) {
				f.write(key(n+1), nil)
			}
		},
	} {
		rapid.Check(t, func(rt *rapid.T) {
			s := store.NewMemory()
			l, _ := aged(t, s, 10)
			forge(forger{rt, s, 10})
			before, _, _ := s.List(t.Context(), "")
			if n, err := l.Prune(t.Context(), day(6), "test"); err == nil || n != 0 {
				rt.Fatalf("%s: %d removed, %v", name, n, err)
			}
			if after, _, _ := s.List(t.Context(), ""); len(after) != len(before) {
				rt.Fatalf("%s: evidence is gone", name)
			}
		})
	}
}

func sequence(records []Record, end error) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		for _, r := range records {
			if !yield(r, nil) {
				return
			}
		}
		if end != nil {
			yield(Record{}, end)
		}
	}
}

func TestExportedRecordsAreCheckedWithoutTheStore(t *testing.T) {
	l, _ := aged(t, store.NewMemory(), 10)
	all, err := l.From(t.Context(), 1, 20)
	if err != nil || len(all) != 10 {
		t.Fatal(len(all), err)
	}
	check := func(records []Record, anchors ...Anchor) Verification {
		t.Helper()
		v, err := CheckRecords(sequence(records, nil), anchors...)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	if v := check(all); !v.OK || v.Records != 10 || v.Head != (Anchor{10, all[9].Hash}) {
		t.Errorf("%+v", v)
	}
	if v := check(all[4:], Anchor{7, all[6].Hash}); !v.OK || v.Records != 6 || v.Pruned.Number != 4 {
		t.Errorf("from the fifth: %+v", v)
	}
	if v := check(nil); !v.OK || v.Records != 0 {
		t.Errorf("none: %+v", v)
	}
	if v := check(all, Anchor{7, all[5].Hash}); v.OK || v.BrokenAt != 7 {
		t.Errorf("with a wrong anchor: %+v", v)
	}
	if v := check(all[4:], Anchor{5, all[5].Hash}); v.OK || v.BrokenAt != 5 {
		t.Errorf("with a wrong anchor at the first: %+v", v)
	}
	if v := check(append(append([]Record{}, all[:4]...), all[5:]...)); v.OK || v.BrokenAt != 5 {
		t.Errorf("one missing: %+v", v)
	}
	changed := append([]Record{}, all...)
	changed[6].Reason = "!"
	if v := check(changed); v.OK || v.BrokenAt != 7 || v.Records != 6 {
		t.Errorf("one changed: %+v", v)
	}
	if _, err := CheckRecords(sequence(all, errors.ErrUnsupported)); !errors.Is(err, errors.ErrUnsupported) {
		t.Error(err)
	}
}
