package flap

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// toldSince is an edge that has been told for long, and was just now.
func toldSince(now time.Time, penalty float64) Told {
	return Told{Penalty: penalty, At: now, Since: now.Add(-time.Hour)}
}

func TestToldEdgesTakeShortTurns(t *testing.T) {
	c, begin := Default(), time.Unix(0, 0)
	round := begin.Add(4 * toldSlot)
	for when, want := range map[time.Time]time.Time{
		begin:                     begin,
		begin.Add(toldWindow - 1): begin.Add(toldWindow - 1),
		begin.Add(toldWindow):     round,
		begin.Add(toldSlot):       round,
	} {
		if ok, next := (Ledger{}).AllowTold(c, Share{4, 0}, toldSince(when, 0), when, AttributeChange, video); ok != next.Equal(when) || !next.Equal(want) {
			t.Errorf("%v into the slot: allowed is %v, next %v; want %v", when.Sub(begin), ok, next, want)
		}
	}
	if toldSlot != 210*time.Second || toldWindow != time.Minute {
		t.Errorf("a slot of %v with a window of %v; the texts say 210 s and 60 s", toldSlot, toldWindow)
	}
}

// TestWhatOthersWereChargedCounts: a change costs 1000 of 1800. 801 of others must
// fall to 800 first, in 900 s * log2(801/800) = 1.6 s; with 1000 of our own besides
// it takes 900 s * log2(1801/800) = 1053.6 s.
func TestWhatOthersWereChargedCounts(t *testing.T) {
	c, begin := only(Cisco()), time.Unix(0, 0)
	own := Ledger{}.Charge(c, begin, AttributeChange, video)
	for _, tt := range []struct {
		name   string
		ledger Ledger
		told   float64
		event  Event
		want   time.Duration // -1: never
	}{
		{"nothing", Ledger{}, 0, AttributeChange, 0},
		{"just enough room", Ledger{}, 800, AttributeChange, 0},
		{"a little less", Ledger{}, 801, AttributeChange, 1623 * time.Millisecond},
		{"own, too", own, 801, AttributeChange, 6 * toldSlot},
		{"a withdrawal never fits", Ledger{}, 0, Withdrawal, -1},
		{"what costs nothing", Ledger{}, 5000, Readvertisement, 0},
		{"others below zero count nothing", Ledger{}, -1000, AttributeChange, 0},
	} {
		ok, next := tt.ledger.AllowTold(c, Share{2, 0}, toldSince(begin, tt.told), begin, tt.event, video)
		switch {
		case tt.want < 0:
			if ok || !next.IsZero() {
				t.Errorf("%s: allowed is %v, next %v", tt.name, ok, next)
			}
		case ok != (tt.want == 0) || next.Sub(begin).Round(10*time.Millisecond) != tt.want.Round(10*time.Millisecond):
			t.Errorf("%s: allowed is %v, next after %v; want %v", tt.name, ok, next.Sub(begin), tt.want)
		}
	}
	// Juniper's threshold is half as much more: 1200 told may be 1800 there.
	if got := Default().others(Juniper(), toldSince(begin, 1200), begin); got != 1800 {
		t.Errorf("1200 points count as %v of Juniper's", got)
	}
}

func TestBetweenBeingToldAndNotNothingIsAllowed(t *testing.T) {
	c, slot := Default(), time.Unix(0, 0)
	long, _ := c.Slot()
	for _, tt := range []struct {
		name string
		told Told
		ok   bool
	}{
		{"never told: by the long slots", Told{}, true},
		{"told for as long as it takes", Told{At: slot, Since: slot.Add(-ToldHandover)}, true},
		{"told since just now", Told{At: slot, Since: slot.Add(1 - ToldHandover)}, false},
		{"told until a moment ago", Told{At: slot.Add(-ToldFresh), Since: slot.Add(-time.Hour)}, true},
		{"not any more", Told{At: slot.Add(-ToldFresh - 1), Since: slot.Add(-time.Hour)}, false},
		{"a break", Told{At: slot}, false},
		{"not told for long", Told{At: slot.Add(-ToldHandover - 3*time.Hour), Since: slot.Add(-5 * time.Hour)}, true},
		// The others may have used up 1800. Beside the 771 of their slots there is room for 29: after 900 s * log2(1800/29) = 89 min.
		{"not told for an hour", Told{At: slot.Add(-ToldHandover - 85*time.Minute), Since: slot.Add(-time.Hour)}, false},
	} {
		ok, next := (Ledger{}).AllowTold(c, Share{4, 0}, tt.told, slot, AttributeChange, video)
		if ok != tt.ok || !ok && !next.After(slot) {
			t.Errorf("%s: allowed is %v, next %v", tt.name, ok, next)
		}
	}
	if ok, next := (Ledger{}).AllowTold(c, Share{4, 0}, Told{At: slot}, slot, AttributeChange, video); ok || next.Sub(slot) < 89*time.Minute || next.Sub(slot) > 89*time.Minute+4*long {
		t.Errorf("%v, %v after a break", ok, next.Sub(slot))
	}
}

// told is a fleet whose centre tells the edges of each other, unless one is cut off.
type told struct {
	*world
	cut   []time.Time // since when an edge is cut off; zero: it is not
	until []time.Time // up to when the others are told of a cut edge as if it were not
	from  []time.Time // from when an edge hears that all are back
	back  []time.Time // when an edge came back, with all that it was charged
	known []Told
	past  [][]point // what each was charged, by time
}

// point is a ledger from a moment on.
type point struct {
	from   time.Time
	ledger Ledger
}

// upTo is nothing, all of it, or something between.
func upTo(t *rapid.T, most time.Duration, what string) time.Duration {
	return rapid.SampledFrom([]time.Duration{0, most / 2, most - time.Second, most}).Draw(t, what)
}

// hears has edge i told what holds now, if it is.
func (f *told) hears(t *rapid.T, i int) {
	o := &f.known[i]
	if !f.cut[i].IsZero() || f.now.Before(f.from[i]) {
		return
	}
	for j := range f.edges {
		if j != i && !f.cut[j].IsZero() && f.now.After(f.until[j]) {
			o.Since = time.Time{} // it is told so
			return
		}
	}
	at := f.now.Add(-upTo(t, ToldFresh, "age"))
	if at.Before(o.At) || at.Before(f.from[i]) {
		return
	}
	if o.Since.IsZero() || at.Sub(o.At) > ToldFresh {
		o.Since = at
	}
	o.At, o.Penalty = at, 0
	for j := range f.edges {
		if j == i {
			continue
		}
		then := at.Add(-upTo(t, ToldLag, "lag"))
		if then.Before(f.back[j]) {
			then = f.back[j]
		}
		for n := len(f.past[j]) - 1; n >= 0; n-- {
			if p := f.past[j][n]; !p.from.After(then) {
				o.Penalty += p.ledger.Penalty(f.config, video, then.Add(f.edges[j].skew))
				break
			}
		}
	}
}

// cuts off an edge, or brings all back.
func (f *told) cuts(t *rapid.T) {
	i := rapid.IntRange(0, len(f.edges)-1).Draw(t, "cut")
	if f.cut[i].IsZero() {
		f.cut[i] = f.now
		f.until[i] = f.now.Add(upTo(t, 65*time.Second+ToldLag, "told all the same"))
		return
	}
	f.cut[i], f.back[i] = time.Time{}, f.now
	for j := range f.edges {
		f.from[j] = f.now.Add(upTo(t, ToldFresh, "hears"))
	}
}

// asks is what edge i may, by its own clock.
func (f *told) asks(i int, e Event) (bool, time.Time) {
	o := f.known[i]
	for _, at := range []*time.Time{&o.At, &o.Since} {
		if !at.IsZero() {
			*at = at.Add(f.edges[i].skew)
		}
	}
	return f.edges[i].ledger.AllowTold(f.config, f.edges[i].share, o, f.clock(i), e, video)
}

// passes lets time pass: some, or until edge i may change, or the window in which it
// may is over.
func (f *told) passes(t *rapid.T, i int) {
	_, next := f.asks(i, AttributeChange)
	until := max(next.Sub(f.clock(i)), 0)
	switch rapid.SampledFrom([]string{"some", "turn", "end", "end"}).Draw(t, "passes") {
	case "some":
		until = time.Duration(rapid.SampledFrom([]int{0, 1, 20, 60, 90, 210, 1300}).Draw(t, "s")) * time.Second
	case "end":
		until += toldWindow - time.Nanosecond
	}
	for ; until > ToldFresh/2; until -= ToldFresh / 2 { // who is told hears all the time
		f.now = f.now.Add(ToldFresh / 2)
		for i := range f.edges {
			f.hears(t, i)
		}
	}
	f.now = f.now.Add(until)
}

// TestNoRouterSuppressesWhatToldEdgesWereAllowed: whoever is told what when, as late
// as may be, and cut off whenever, by clocks that differ.
func TestNoRouterSuppressesWhatToldEdgesWereAllowed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 5).Draw(t, "edges")
		f := &told{world: newWorld(t, n), cut: make([]time.Time, n), until: make([]time.Time, n), from: make([]time.Time, n), back: make([]time.Time, n), known: make([]Told, n), past: make([][]point, n)}
		for i := range n {
			f.past[i] = []point{{from: f.now.Add(-time.Hour)}}
		}
		for range rapid.IntRange(1, 120).Draw(t, "steps") {
			i, e := rapid.IntRange(0, n-1).Draw(t, "edge"), events.Draw(t, "event")
			f.passes(t, i)
			if rapid.IntRange(0, 15).Draw(t, "cuts") == 0 {
				f.cuts(t)
			}
			for i := range n {
				f.hears(t, i)
			}
			ok, _ := f.asks(i, e)
			if !ok {
				continue
			}
			f.happens(i, e)
			f.past[i] = append(f.past[i], point{f.now, f.edges[i].ledger})
			for _, r := range f.routers {
				if p := r.penalty(f.now); p >= r.suppress {
					t.Fatalf("%s suppresses after %v: %.1f", r.name, f.now.Sub(t0), p)
				}
			}
		}
	})
}

// TestToldEdgesUseTheBudget: two that insist make as many changes as one could alone,
// give or take a turn, and no router suppresses.
func TestToldEdgesUseTheBudget(t *testing.T) {
	w := &world{config: Default(), routers: routers(), now: time.Unix(0, 0), edges: []edge{{share: Share{2, 0}}, {share: Share{2, 1}}}}
	changes := 0
	for end := w.now.Add(24 * time.Hour); w.now.Before(end); w.now = w.now.Add(time.Second) {
		for i := range w.edges {
			o := toldSince(w.now, w.edges[1-i].ledger.Penalty(w.config, video, w.now))
			if ok, _ := w.edges[i].ledger.AllowTold(w.config, w.edges[i].share, o, w.now, AttributeChange, video); ok {
				w.happens(i, AttributeChange)
				changes++
			}
		}
		for _, r := range w.routers {
			if p := r.penalty(w.now); p >= r.suppress {
				t.Fatalf("%s suppresses at %v: %.1f", r.name, w.now, p)
			}
		}
	}
	if alone := len(insist(Share{})); changes < alone*8/10 || changes > alone {
		t.Errorf("%d changes in 24 hours; one edge alone may make %d", changes, alone)
	}
}
