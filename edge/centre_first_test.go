package edge

import (
	"strings"
	"testing"
	"time"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
)

// alone starts a node for the first time, with the centre dead.
func (w *world) alone(edits ...string) *centreFake {
	w.t.Helper()
	c := newCentreFake()
	c.kill()
	w.govern(c, edits...)
	w.well()
	return c
}

const standby = `insecure: true, standby: true`

func TestAReserveThatStartsForTheFirstTimeAnnouncesNothingBeforeItIsCalled(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		c := w.alone("insecure: true", standby)
		w.pass(24 * time.Hour)
		w.expectState("video", "withdrawn override withdraw: standby: announces only when the centre calls it, which has not been heard yet")
		if lines := w.journal.since(0, "tell", "198.51.100.0"); lines != nil {
			t.Errorf("announced: %q", lines)
		}
		c.wants(func(in *centralv1.Intent) { in.Standby = true })
		c.revive()
		w.pass(30 * time.Second)
		if said := c.said(); len(said) == 0 || !said[0].GetStandby() {
			t.Errorf("the hello: %v", said)
		}
		if lines := w.journal.since(0, "tell", "198.51.100.0"); lines != nil {
			t.Errorf("announced: %q", lines)
		}
		c.wants(func(in *centralv1.Intent) { in.Activated = true })
		w.pass(time.Second)
		w.expect("ix", ix4, ix6)
		c.kill()
		w.stop() // what it knows of the centre is on its disk
		w.govern(c, "insecure: true", standby)
		w.well()
		w.expect("ix", ix4, ix6)
		w.leave()
		<-w.node.Gone()
	})
}

func TestANodeThatNeverHeardOfTheCentreWaitsForItsFirstWordAndThenAnnounces(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.alone()
		if got := w.state("video"); !strings.HasPrefix(got, "withdrawn override withdraw: waits until") {
			t.Error(got)
		}
		w.pass(firstIntentTime - time.Second)
		w.expect("ix")
		w.pass(time.Second)
		w.expect("ix", ix4, ix6)
	})
}

func TestTheFirstWordMayBeThatTheNodeIsAReserve(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		c := newCentreFake()
		defer c.kill()
		c.wants(func(in *centralv1.Intent) { in.Standby = true })
		w.govern(c)
		w.well()
		w.pass(time.Minute)
		if lines := w.journal.since(0, "tell", "198.51.100.0"); lines != nil {
			t.Errorf("announced: %q", lines)
		}
		w.leave()
		<-w.node.Gone()
	})
}

func TestACentreThatAReloadBringsStopsNothing(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		c := newCentreFake()
		c.kill()
		w.centre, w.clock = c.dial, func() bool { return true }
		w.start()
		w.well()
		n := w.journal.len()
		w.reload("leave_hold: 2s", strings.Replace(centreLine, "insecure: true", standby, 1)+"leave_hold: 2s")
		w.pass(time.Hour)
		w.expect("ix", ix4, ix6)
		if lines := w.journal.since(n, "tell"); lines != nil {
			t.Errorf("%q", lines)
		}
	})
}
