package fleet

import (
	"strings"
	"testing"
	"time"

	"github.com/catchment-bgp/catchment/policy/fleet"
)

// deprefers says whether a node is announced on its top rung.
func deprefers(f face) bool { return f.announces() && f.prepend == top }

func TestF1AFleetThatLosesItsSoftChecksAndTheCentreStaysAnnounced(t *testing.T) {
	inFleet(t, 20, fleet.Limits{MinAnnouncing: 15, MaxWithdrawn: 0.34}, func(t *testing.T, w *world) {
		w.all(func(n *node) { n.fails("origin", "timeout") })
		w.pass(3 * time.Minute)
		if got := w.low(); got < 15 {
			t.Errorf("with the centre %d of 20 were left, and 15 must be", got)
		}
		if w.announcing() == 20 {
			t.Error("nobody was given leave, though five could go")
		}
		w.centres[centreA].kill() // and the backbone as well
		w.pass(2 * time.Minute)
		if got := w.low(); got < 15 {
			t.Errorf("without the centre %d of 20 were left, and 15 must be", got)
		}
		if got := w.count(deprefers); got != 20 {
			t.Errorf("%d of 20 are announced and de-preferred", got)
		}
	})
}

func TestF1AFleetThatLosesItsSoftChecksAndTheCentreAtOnceOnlyDeprefers(t *testing.T) {
	inFleet(t, 20, fleet.Limits{MinAnnouncing: 2}, func(t *testing.T, w *world) {
		w.centres[centreA].kill()
		w.all(func(n *node) { n.fails("origin", "timeout") })
		w.pass(5 * time.Minute)
		if w.low() != 20 || w.count(deprefers) != 20 {
			t.Errorf("%d of 20 stayed announced all the time, and %d are de-preferred", w.low(), w.count(deprefers))
		}
		w.all(func(n *node) {
			if alerts := strings.Count(n.log.String(), "no stream to the centre"); alerts > 4 { // the end of the stream, and one for each centre
				t.Errorf("%s tells %d times that the centre is away", n.name, alerts)
			}
		})
		w.all(func(n *node) { n.fails("origin", "") })
		w.pass(2 * time.Minute)
		if got := w.count(func(f face) bool { return f.announces() && f.prepend == 0 }); got != 20 {
			t.Errorf("%d of 20 are as before once all is well", got)
		}
	})
}

func TestF1OneIsolatedEdgeAloneDeprefers(t *testing.T) {
	inFleet(t, 20, fleet.Limits{MinAnnouncing: 2}, func(t *testing.T, w *world) {
		lost := w.nodes[6]
		lost.isolate(true)
		lost.fails("origin", "timeout")
		w.pass(5 * time.Minute)
		if !deprefers(lost.face()) {
			t.Errorf("%s looks like %v, and is %s", lost.name, lost.face(), lost.state())
		}
		changes := w.since(0)
		w.mark()
		for _, c := range changes {
			if c.at > time.Minute && c.node != lost.name {
				t.Errorf("another moved: %v", c)
			}
		}
		lost.fails("origin", "")
		lost.isolate(false)
		w.pass(2 * time.Minute)
		if got := lost.face(); got.prepend != 0 || !got.announces() {
			t.Errorf("afterwards %s looks like %v", lost.name, got)
		}
	})
}
