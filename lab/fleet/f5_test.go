package fleet

import (
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
	"github.com/catchment-bgp/catchment/policy/fleet"
)

// in is a time to come, as operators write it.
func in(d time.Duration) string { return time.Now().Add(d).UTC().Format(time.RFC3339) }

// window asks for a window, and returns its id.
func (w *world) window(start string, length time.Duration, nodes ...string) (string, error) {
	got, err := w.noc().AddWindow(w.t.Context(), &centralv1.AddWindowRequest{Selector: &centralv1.Selector{Nodes: nodes}, Start: start,
		Duration: durationpb.New(length), Lead: durationpb.New(time.Minute), Reason: "routers"})
	return got.GetWindow().GetId(), err
}

func TestF5WindowsThatOverlapPastTheBudgetAreRefused(t *testing.T) {
	inFleet(t, 20, fleet.Limits{MinAnnouncing: 2, MaxWithdrawn: 0.34}, func(t *testing.T, w *world) {
		for i, n := range w.nodes {
			_, err := w.window(in(2*time.Minute+time.Duration(i)*time.Second), 2*time.Minute, n.name)
			if i < 6 && err != nil {
				t.Errorf("window %d of 6: %v", i+1, err)
			}
			if i >= 6 && (!refused(err, fleet.MaxWithdrawn) || !strings.Contains(err.Error(), "n01")) {
				t.Errorf("window %d, with 6 others at the same time: %v", i+1, err)
			}
		}
		if _, err := w.window(in(6*time.Minute), time.Minute, names(w.nodes[6:12])...); err != nil {
			t.Errorf("after the others: %v", err)
		}
		w.pass(8 * time.Minute)
		if w.low() != 14 || w.announcing() != 20 {
			t.Errorf("%d of 20 were left of 14, and %d are back", w.low(), w.announcing())
		}
	})
}

func TestF5ADayWithoutACentreChangesNothingButByKnownWindows(t *testing.T) {
	inFleet(t, 2, fleet.Limits{MinAnnouncing: 1}, func(t *testing.T, w *world) {
		if _, err := w.window(in(day/2), time.Hour, "n02"); err != nil {
			t.Fatal(err)
		}
		w.pass(time.Minute)
		from := w.mark()
		w.centres[centreA].kill()
		begin := time.Since(w.start)
		w.all(func(n *node) { n.carries(func(*node) float64 { return -1 }) })
		w.pass(day)
		changes := w.since(from)
		for _, c := range changes {
			// A window that has no grant drains and de-prefers, and does not withdraw.
			if at := c.at - begin; c.to.away || c.node != "n02" || at < day/2-5*time.Minute || at > day/2+time.Hour {
				t.Errorf("%v", c)
			}
		}
		if len(changes) < 2 || w.nodes[1].face().prepend != 0 || w.announcing() != 2 {
			t.Errorf("the window begins and ends: %v", changes)
		}
	})
}

func TestF5TwentyNodesWithoutACentreTellTheirNeighboursNothing(t *testing.T) {
	inFleet(t, 20, fleet.Limits{MinAnnouncing: 2}, func(t *testing.T, w *world) {
		from := w.mark()
		w.centres[centreA].kill()
		w.pass(5 * time.Minute)
		for _, c := range w.since(from) {
			t.Errorf("%v", c)
		}
		w.open(centreA)
		w.pass(2 * time.Minute)
		s, err := w.noc().GetFleet(t.Context(), &centralv1.GetFleetRequest{})
		if err != nil || s.GetServices()[0].GetAnnouncing() != 20 || len(w.since(from)) > 0 {
			t.Errorf("the centre is back: %v, %v, %v", s, err, w.since(from))
		}
	})
}
