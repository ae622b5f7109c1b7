package fleet

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/catchment-bgp/catchment/policy/fleet"
)

func TestOneBadHardCheckPushedToAllLeavesTheLast(t *testing.T) {
	for name, spread := range map[string]time.Duration{"at once": 0, "within a second": time.Second, "one after the other": 2 * time.Minute} {
		t.Run(name, func(t *testing.T) {
			inFleet(t, 20, fleet.Limits{MinAnnouncing: 3}, func(t *testing.T, w *world) {
				chance := rand.New(rand.NewPCG(1, uint64(spread)))
				for _, i := range chance.Perm(20) {
					w.nodes[i].fails("web", "404")
					w.pass(spread / 20)
				}
				w.pass(2 * time.Minute)
				if w.low() < 3 {
					t.Errorf("%d of 20 were left, and 3 must be", w.low())
				}
				if got := w.count(deprefers); got != 3 || w.announcing() != 3 {
					t.Errorf("%d announce, %d of them on their top rung; 3 are to", w.announcing(), got)
				}
			})
		})
	}
}

func TestOneBadHardCheckPushedToAllLeavesTheLastWhenTheCentreGoesAway(t *testing.T) {
	inFleet(t, 20, fleet.Limits{MinAnnouncing: 3}, func(t *testing.T, w *world) {
		w.all(func(n *node) { n.fails("web", "404") })
		w.pass(time.Minute)
		w.centres[centreA].kill()
		w.pass(5 * time.Minute) // the last do not go with the centre
		if got := w.count(deprefers); got != 3 || w.low() != 3 {
			t.Errorf("%d stay on their top rung, at times %d", got, w.low())
		}
		w.all(func(n *node) { n.fails("web", "") })
		w.pass(time.Minute)
		if w.announcing() != 20 {
			t.Errorf("%d of 20 are back", w.announcing())
		}
		w.all(func(n *node) { n.fails("web", "404") }) // a failure that comes later withdraws
		w.pass(time.Second)
		if w.announcing() != 0 {
			t.Errorf("%d announce a dead service without anybody's word", w.announcing())
		}
	})
}

func TestOneBadHardCheckPushedToAllWhileTheCentreIsAwayWithdraws(t *testing.T) {
	inFleet(t, 20, fleet.Limits{MinAnnouncing: 3}, func(t *testing.T, w *world) {
		w.centres[centreA].kill()
		w.pass(2 * time.Minute)
		w.all(func(n *node) { n.fails("web", "404") })
		w.pass(time.Second)
		if w.announcing() != 0 {
			t.Errorf("%d announce what is dead", w.announcing())
		}
		w.open(centreA) // it has never heard of any of them since, and has nobody kept
		w.pass(2 * time.Minute)
		if w.announcing() != 0 {
			t.Errorf("%d announce what is dead once the centre is back", w.announcing())
		}
		w.all(func(n *node) { n.fails("web", "") })
		w.pass(11 * time.Minute)
		if w.announcing() != 20 {
			t.Errorf("%d of 20 are back", w.announcing())
		}
	})
}
