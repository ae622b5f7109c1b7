package fleet

import (
	"testing"
	"time"

	"github.com/catchment-bgp/catchment/policy/fleet"
)

// draw is how much a node draws beside others that look like it does: at each prepend
// fewer clients find it nearest.
func (f face) draw() float64 {
	switch {
	case !f.announces():
		return 0
	case f.prepend == 0:
		return 1
	case f.prepend < top:
		return 0.8
	}
	return 0.6
}

// demand has clients who go to whoever announces, by how they look, as much as they
// are told to.
func (w *world) demand(bps float64) {
	w.all(func(n *node) {
		n.carries(func(n *node) float64 {
			w.mu.Lock()
			defer w.mu.Unlock()
			sum := 0.0
			for _, m := range w.nodes {
				sum += m.last.draw()
			}
			if sum == 0 {
				return 0
			}
			return bps * n.last.draw() / sum
		})
	})
}

// steps are a node's changes since a mark.
func steps(changes []change) map[string][]change {
	out := map[string][]change{}
	for _, c := range changes {
		out[c.node] = append(out[c.node], c)
	}
	return out
}

// free are edits by which the flap budget is no bound: an AS and a budget for each.
var free = []string{"asn: 65001", "asn: 651NN", "leave_hold: 2s", "leave_hold: 2s\nload: {flap: {exploration: 1}}"}

func TestF7AllNodesAreHotAndNoneWithdrawsOrOscillates(t *testing.T) {
	for name, each := range map[string]float64{"nearly full": 9.5e9, "far over": 25e9} {
		t.Run(name, func(t *testing.T) {
			inFleet(t, 20, fleet.Limits{MinAnnouncing: 1}, func(t *testing.T, w *world) {
				mark := w.mark()
				w.demand(20 * each)
				w.pass(10 * time.Minute)
				if w.low() != 20 {
					t.Errorf("%d of 20 were left: one withdrew onto others that are full", w.low())
				}
				if moved := steps(w.since(mark)); len(moved) > 2 { // one may act on what it was told a moment before
					t.Errorf("%d moved though nobody has room for what they shed", len(moved))
				}
				for node, changes := range steps(w.since(mark)) {
					for i := 1; i < len(changes); i++ {
						if gap := changes[i].at - changes[i-1].at; gap < time.Minute {
							t.Errorf("%s took two steps within %v: %v", node, gap, changes)
						}
						if changes[i].to.prepend < changes[i].from.prepend {
							t.Errorf("%s stepped back in the heat: %v", node, changes)
						}
					}
				}
			}, free...)
		})
	}
}

func TestF7OneHotNodeMovesAndTheFleetComesToRest(t *testing.T) {
	inFleet(t, 20, fleet.Limits{MinAnnouncing: 1}, func(t *testing.T, w *world) {
		hot := w.nodes[4]
		w.demand(20 * 5e9)
		hot.carries(func(n *node) float64 { return 9.7e9 * n.face().draw() })
		mark := w.mark()
		w.pass(10 * time.Minute)
		changes := w.since(mark)
		if w.low() != 20 || len(changes) == 0 || len(changes) > top {
			t.Errorf("%d of 20 were left; steps: %v", w.low(), changes)
		}
		for _, c := range changes {
			if c.node != hot.name || c.to.prepend <= c.from.prepend {
				t.Errorf("%v", c)
			}
		}
	}, free...)
}

func TestF7TheLastAnnouncerNeverWithdraws(t *testing.T) {
	inFleet(t, 4, fleet.Limits{MinAnnouncing: 1}, func(t *testing.T, w *world) {
		last := w.nodes[2]
		w.demand(30e9)
		for _, n := range w.nodes {
			if n != last {
				n.fails("web", "refused")
			}
		}
		w.pass(time.Minute)
		if w.announcing() != 1 {
			t.Fatalf("%d announce", w.announcing())
		}
		w.mark()
		w.pass(10 * time.Minute)
		if w.low() != 1 || !last.face().announces() {
			t.Errorf("the last announcer, at three times its capacity, is %v", last.face())
		}
		last.fails("origin", "timeout") // and a soft failure as well
		w.pass(5 * time.Minute)
		if w.low() != 1 {
			t.Error("the last announcer withdrew for a soft failure")
		}
	}, free...)
}
