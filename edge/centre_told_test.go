package edge

import (
	"context"
	"testing"
	"time"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
	"github.com/catchment-bgp/catchment/policy/flap"
)

// toldAt is what the node knows of others at the AS of its first neighbour.
func (w *world) toldAt() (out flap.Told) {
	w.t.Helper()
	if err := w.node.read(context.Background(), func(now time.Time) { out = w.node.input(now, w.node.cfg).Told[65001] }); err != nil {
		w.t.Fatal(err)
	}
	return out
}

func TestTheOthersPenaltiesAreTakenInWhileTheCentreKnowsThem(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		c := newCentreFake()
		w.govern(c)
		w.well()
		share := func(known bool, penalty float64) {
			c.wants(func(in *centralv1.Intent) {
				in.Shares = []*centralv1.LedgerShare{{Asn: 65001, Edges: 2, Index: 1, Penalty: penalty, Known: known}}
			})
			w.pass(time.Second)
		}
		share(false, 700)
		if got := w.toldAt(); got != (flap.Told{}) {
			t.Errorf("nobody knows, and the node was told %+v", got)
		}
		share(true, 700)
		began := w.toldAt()
		if began.Penalty != 700 || time.Since(began.At) > 11*time.Second || began.Since.IsZero() || began.At.Sub(began.Since) > 2*time.Second {
			t.Errorf("%+v", began)
		}
		w.pass(5 * time.Minute)
		if got := w.toldAt(); !got.Since.Equal(began.Since) || time.Since(got.At) > 11*time.Second {
			t.Errorf("told all the time: %+v", got)
		}
		share(false, 0)
		if got := w.toldAt(); !got.Since.IsZero() || got.At.IsZero() {
			t.Errorf("a break: %+v", got)
		}
		share(true, 0)
		again := w.toldAt()
		if !again.Since.After(began.Since) {
			t.Errorf("after the break: %+v", again)
		}
		c.kill()
		w.pass(time.Hour)
		if got := w.toldAt(); time.Since(got.At) < time.Hour-11*time.Second {
			t.Errorf("the centre is away: %+v", got)
		}
		w.stop()
		w.govern(c)
		w.well()
		if got := w.toldAt(); !got.Since.IsZero() || time.Since(got.At) > time.Minute {
			t.Errorf("after a restart the others may go by what they were told: %+v", got)
		}
	})
}
