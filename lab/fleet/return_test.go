package fleet

import (
	"slices"
	"testing"
	"time"

	"github.com/catchment-bgp/catchment/policy/fleet"
)

// comeBack is when each of some nodes announced again, since a mark.
func (w *world) comeBack(mark int) []time.Duration {
	var out []time.Duration
	for _, c := range w.since(mark) {
		if !c.from.announces() && c.to.announces() {
			out = append(out, c.at)
		}
	}
	return out
}

// siteFails makes ten nodes fail for a while, and returns a mark of when they are
// healthy again.
func (w *world) siteFails() int {
	for _, n := range w.nodes[:10] {
		n.fails("web", "refused")
	}
	w.pass(time.Minute)
	if w.announcing() != 10 {
		w.t.Fatalf("%d of 20 announce while ten fail", w.announcing())
	}
	for _, n := range w.nodes[:10] {
		n.fails("web", "")
	}
	return w.mark()
}

func TestASiteWideReturnIsStagedAndJittered(t *testing.T) {
	inFleet(t, 20, fleet.Limits{MinAnnouncing: 2}, func(t *testing.T, w *world) {
		mark := w.siteFails()
		w.pass(6 * time.Minute)
		back := w.comeBack(mark)
		if len(back) != 10 || w.announcing() != 20 {
			t.Fatalf("%d came back, %d announce", len(back), w.announcing())
		}
		var gaps []time.Duration
		for i := 1; i < len(back); i++ {
			gaps = append(gaps, back[i]-back[i-1])
		}
		if slices.Min(gaps) < 20*time.Second {
			t.Errorf("two came back within %v: %v", slices.Min(gaps), back)
		}
		if slices.Max(gaps)-slices.Min(gaps) < time.Second {
			t.Errorf("no jitter: %v", gaps)
		}
		if all := back[9] - back[0]; all > 6*time.Minute {
			t.Errorf("the last came %v after the first", all)
		}
	})
}

func TestASiteWideReturnIsAtOnceWhereCapacityIsShort(t *testing.T) {
	inFleet(t, 20, fleet.Limits{MinAnnouncing: 2}, func(t *testing.T, w *world) {
		for _, n := range w.nodes[10:] {
			n.carries(func(*node) float64 { return 10.5e9 }) // what the others carried has come here
		}
		for _, n := range w.nodes[:10] {
			n.carries(func(n *node) float64 {
				if n.face().announces() {
					return lightly
				}
				return 0
			})
		}
		mark := w.siteFails()
		w.pass(12 * time.Second) // ten seconds of health are asked for after a failure
		if back := w.comeBack(mark); len(back) != 10 || back[9]-back[0] > time.Second {
			t.Errorf("%d came back: %v", len(back), back)
		}
	})
}

func TestAReturnBelowMinAnnouncingIsAtOnce(t *testing.T) {
	inFleet(t, 20, fleet.Limits{MinAnnouncing: 12}, func(t *testing.T, w *world) {
		for _, n := range w.nodes {
			n.fails("web", "refused")
		}
		w.pass(time.Minute)
		if w.announcing() != 12 {
			t.Fatalf("%d are kept", w.announcing())
		}
		mark := w.mark()
		w.all(func(n *node) { n.fails("web", "") })
		w.pass(5 * time.Minute)
		if back := w.comeBack(mark); len(back) != 8 || w.announcing() != 20 {
			t.Errorf("%d came back: %v", len(back), back)
		}
	})
}
