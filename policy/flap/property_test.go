package flap

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// world is some edges that announce one prefix to one AS and know nothing of each
// other, and the routers behind that AS.
type world struct {
	config  Config
	now     time.Time // true
	edges   []edge
	routers []*router
}

type edge struct {
	ledger Ledger
	share  Share
	skew   time.Duration // of its clock
}

func (w *world) clock(i int) time.Time { return w.now.Add(w.edges[i].skew) }

// change makes the change at edge i if it is allowed.
func (w *world) change(i int, e Event) (ok bool, next time.Time) {
	at := &w.edges[i]
	ok, next = at.ledger.Allow(w.config, at.share, w.clock(i), e, video)
	if ok {
		w.happens(i, e)
	}
	return ok, next
}

// happens charges the event at edge i and shows it to the routers.
func (w *world) happens(i int, e Event) {
	at := &w.edges[i]
	at.ledger = at.ledger.Charge(w.config, w.clock(i), e, video)
	for _, r := range w.routers {
		r.sees(w.now, e, int(w.config.Exploration))
	}
}

// newWorld has n edges with clocks that differ by ClockError at most.
func newWorld(t *rapid.T, n int) *world {
	all := routers()
	w := &world{now: t0, config: Config{
		Exploration: float64(rapid.IntRange(1, 3).Draw(t, "exploration")),
		Margin:      rapid.SampledFrom([]float64{0, 0.1, 0.3}).Draw(t, "margin"),
	}}
	which := rapid.IntRange(1, 3).Draw(t, "profiles")
	if which&1 != 0 {
		w.config.Profiles, w.routers = append(w.config.Profiles, Cisco()), append(w.routers, all[0])
	}
	if which&2 != 0 {
		w.config.Profiles, w.routers = append(w.config.Profiles, Juniper()), append(w.routers, all[1])
	}
	for i := range n {
		skew := rapid.Int64Range(-int64(ClockError/2), int64(ClockError/2)).Draw(t, "skew")
		w.edges = append(w.edges, edge{share: Share{n, i}, skew: time.Duration(skew)})
	}
	return w
}

// tick lets time pass: a little, much, until an edge may change, or until just
// before its window ends.
func (w *world) tick(t *rapid.T) {
	i := rapid.IntRange(0, len(w.edges)-1).Draw(t, "whose time")
	_, next := w.edges[i].ledger.Allow(w.config, w.edges[i].share, w.clock(i), AttributeChange, video)
	until := max(next.Sub(w.clock(i)), 0)
	_, window := w.config.Slot()
	switch rapid.SampledFrom([]string{"a moment", "some time", "the next turn", "the end of a turn"}).Draw(t, "passes") {
	case "a moment":
		w.now = w.now.Add(time.Duration(rapid.IntRange(0, 2000).Draw(t, "ms")) * time.Millisecond)
	case "some time":
		w.now = w.now.Add(time.Duration(rapid.IntRange(0, 3600).Draw(t, "s")) * time.Second)
	case "the next turn":
		w.now = w.now.Add(until)
	default:
		w.now = w.now.Add(until + window - time.Nanosecond)
	}
}

var events = rapid.SampledFrom([]Event{AttributeChange, AttributeChange, AttributeChange, Withdrawal, Readvertisement})

// TestNoRouterSuppressesWhatWasAllowed: whoever asks for whatever, whenever.
func TestNoRouterSuppressesWhatWasAllowed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t, rapid.IntRange(1, 8).Draw(t, "edges"))
		for range rapid.IntRange(1, 100).Draw(t, "steps") {
			w.tick(t)
			i := rapid.IntRange(0, len(w.edges)-1).Draw(t, "edge")
			w.change(i, events.Draw(t, "event"))
			for _, r := range w.routers {
				if p := r.penalty(w.now); p >= r.suppress {
					t.Fatalf("%s suppresses after %v: %.1f", r.name, w.now.Sub(t0), p)
				}
			}
		}
	})
}

// TestNoChangeIsAddedToAnEmergency: withdrawals for failures, losses and restarts
// are charged unasked, and may suppress. Nothing that the edge which had them asks
// for does, whatever the others, which know nothing of it, were allowed.
func TestNoChangeIsAddedToAnEmergency(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t, rapid.SampledFrom([]int{1, 1, 2, 4}).Draw(t, "edges"))
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			w.tick(t)
			i, e := rapid.IntRange(0, len(w.edges)-1).Draw(t, "edge"), events.Draw(t, "event")
			if i == 0 && rapid.IntRange(0, 3).Draw(t, "emergency") == 0 {
				w.happens(0, e)
				continue
			}
			before := make([]float64, len(w.routers))
			for n, r := range w.routers {
				before[n] = r.penalty(w.now)
			}
			if ok, _ := w.change(i, e); !ok || i != 0 {
				continue
			}
			for n, r := range w.routers {
				if p := r.penalty(w.now); p > before[n] && p >= r.suppress {
					t.Fatalf("%s: from %.1f to %.1f by a change that was allowed", r.name, before[n], p)
				}
			}
		}
	})
}

// TestPenaltyIsThatOfTheRouters: the ledger's figure is the model's, of the router
// that is nearest to suppressing, or below it by what may be forgotten.
func TestPenaltyIsThatOfTheRouters(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t, 1)
		for range rapid.IntRange(1, 30).Draw(t, "events") {
			w.tick(t)
			w.happens(0, events.Draw(t, "event"))
			got := w.edges[0].ledger.Penalty(w.config, video, w.clock(0))
			var nearest float64
			for _, r := range w.routers {
				nearest = max(nearest, r.penalty(w.now)/r.suppress)
			}
			if !slices.ContainsFunc(w.routers, func(r *router) bool {
				want := r.penalty(w.now)
				return got < want+0.01 && got > want-2*forgotten*r.suppress && want/r.suppress > nearest-3*forgotten
			}) {
				t.Fatalf("penalty %v, the routers' are at most %v of their thresholds", got, nearest)
			}
		}
	})
}

// TestRestartAllowsNoMore: a ledger read from its JSON form, at whatever time,
// has no lower penalty than the one that was written, allows nothing sooner, and
// is written as it was.
func TestRestartAllowsNoMore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t, rapid.IntRange(1, 4).Draw(t, "edges"))
		for range rapid.IntRange(0, 8).Draw(t, "events") {
			w.tick(t)
			w.happens(0, events.Draw(t, "event"))
		}
		was := w.edges[0].ledger
		file, err := json.Marshal(was)
		if err != nil {
			t.Fatal(err)
		}
		var read Ledger
		if err := json.Unmarshal(file, &read); err != nil {
			t.Fatal(err)
		}
		if again, err := json.Marshal(read); err != nil || string(again) != string(file) {
			t.Fatalf("%s became %s, %v", file, again, err)
		}
		now := w.clock(0).Add(time.Duration(rapid.IntRange(-7200, 7200).Draw(t, "s")) * time.Second)
		for _, l := range []Ledger{read, read.Resume(now)} {
			if p, before := l.Penalty(w.config, video, now), was.Penalty(w.config, video, now); p < before {
				t.Fatalf("penalty %v, before the restart %v", p, before)
			}
		}
		e := events.Draw(t, "asked")
		_, before := was.Allow(w.config, w.edges[0].share, now, e, video)
		_, after := read.Allow(w.config, w.edges[0].share, now, e, video)
		if !before.Equal(after) {
			t.Fatalf("allowed at %v, before the restart at %v", after, before)
		}
	})
}

// TestNextIsTheEarliest: when Allow says a time, then it is allowed, and a second
// before it is not.
func TestNextIsTheEarliest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t, rapid.IntRange(1, 8).Draw(t, "edges"))
		for range rapid.IntRange(0, 5).Draw(t, "events") {
			w.tick(t)
			w.happens(0, events.Draw(t, "event"))
		}
		w.tick(t)
		l, share, e := w.edges[0].ledger, w.edges[0].share, events.Draw(t, "asked")
		ok, next := l.Allow(w.config, share, w.clock(0), e, video)
		switch {
		case ok && !next.Equal(w.clock(0)):
			t.Fatalf("allowed now, %v, and next is %v", w.clock(0), next)
		case ok || next.IsZero():
			return
		}
		if ok, later := l.Allow(w.config, share, next, e, video); !ok {
			t.Fatalf("said to be allowed at %v, then only at %v", next, later)
		}
		if ok, _ := l.Allow(w.config, share, next.Add(-time.Second), e, video); ok && next.Sub(w.clock(0)) > time.Second {
			t.Fatalf("allowed a second before %v", next)
		}
	})
}
