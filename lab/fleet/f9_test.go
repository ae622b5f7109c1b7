package fleet

import (
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
	"github.com/catchment-bgp/catchment/policy/fleet"
)

func TestF9NodesReturnFromAWindowWhoseEndTheCentreMissed(t *testing.T) {
	inFleet(t, 20, fleet.Limits{MinAnnouncing: 2, MaxWithdrawn: 0.34}, func(t *testing.T, w *world) {
		if _, err := w.window("now", 5*time.Minute, names(w.nodes[:5])...); err != nil {
			t.Fatal(err)
		}
		w.pass(2 * time.Minute)
		if w.announcing() != 15 {
			t.Fatalf("%d of 20 announce in the window", w.announcing())
		}
		w.centres[centreA].kill()
		w.nodes[1].stop() // and one of them is rebooted for good measure
		w.nodes[1].run()
		w.pass(2 * time.Minute)
		if w.announcing() != 15 {
			t.Errorf("%d of 20 announce while the window holds and the centre is dead", w.announcing())
		}
		mark := w.mark()
		w.pass(3 * time.Minute)
		if w.announcing() != 20 {
			t.Errorf("%d of 20 announce after the window: %v", w.announcing(), w.since(mark))
		}
		w.open(centreA)
		w.pass(2 * time.Minute)
		s, err := w.noc().GetFleet(t.Context(), &centralv1.GetFleetRequest{})
		if err != nil || len(s.GetGrants()) != 0 || s.GetServices()[0].GetAnnouncing() != 20 || w.low() != 15 {
			t.Errorf("the centre is back: grants %v, %v", s.GetGrants(), err)
		}
	})
}

// TestF9WindowsThroughTheHoursThatAreMissingAndDouble runs the hour from 02:30 in
// Berlin, daily, on the days when the clocks change, with a centre that dies in it.
func TestF9WindowsThroughTheHoursThatAreMissingAndDouble(t *testing.T) {
	for name, tt := range map[string]struct {
		day        time.Time
		begin, end string // of the first day's, in UTC
	}{
		"an hour is missing": {time.Date(2000, 3, 26, 0, 0, 0, 0, time.UTC), "01:30", "02:30"},
		"an hour is double":  {time.Date(2000, 10, 29, 0, 0, 0, 0, time.UTC), "00:30", "01:30"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				time.Sleep(time.Until(tt.day.Add(10 * time.Minute))) // nothing runs yet
				w := newWorld(t, fleet.Limits{MinAnnouncing: 1})
				defer w.end()
				w.open(centreA)
				w.join(2)
				if _, err := w.noc().AddWindow(t.Context(), &centralv1.AddWindowRequest{Selector: &centralv1.Selector{Nodes: []string{"n02"}}, Start: "2000-03-20 02:30",
					Zone: "Europe/Berlin", Rrule: "FREQ=DAILY", Duration: durationpb.New(time.Hour), Lead: durationpb.New(time.Minute), Reason: "each night"}); err != nil {
					t.Fatal(err)
				}
				at := func(clock string) time.Time {
					c, err := time.Parse("15:04", clock)
					if err != nil {
						t.Fatal(err)
					}
					return tt.day.Add(time.Duration(c.Hour())*time.Hour + time.Duration(c.Minute())*time.Minute)
				}
				mark := w.mark()
				w.pass(time.Until(at(tt.begin).Add(10 * time.Minute)))
				if !w.nodes[1].face().away {
					t.Errorf("ten minutes into the window n02 is %v", w.nodes[1].face())
				}
				w.centres[centreA].kill()
				w.pass(time.Until(at(tt.end).Add(10 * time.Minute)))
				var drains, back []string
				for _, c := range w.since(mark) {
					when := w.start.Add(c.at).UTC().Format("15:04")
					if c.node != "n02" {
						t.Errorf("%v", c)
					}
					if c.to.leaving {
						drains = append(drains, when)
					}
					if c.from.away {
						back = append(back, when)
					}
				}
				lead := at(tt.begin).Add(-time.Minute).Format("15:04")
				if len(drains) != 1 || drains[0] != lead || len(back) != 1 || back[0] != tt.end {
					t.Errorf("n02 drained from %v and returned at %v; that is %s and %s", drains, back, lead, tt.end)
				}
			})
		})
	}
}
