package edge

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"google.golang.org/protobuf/types/known/timestamppb"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
)

func TestTheMetricsTellHowTheNodeStandsWithTheCentre(t *testing.T) {
	governed(t, func(t *testing.T, w *world, c *centreFake) {
		c.set(func() { c.grants, c.skew = true, -7*time.Second })
		c.wants(func(in *centralv1.Intent) {
			win := nodeWindow("w1", time.Hour)
			win.Start = timestamppb.Now()
			in.Windows = []*centralv1.Window{win}
			in.Overrides = []*centralv1.FleetOverride{{Id: "o1", Selector: &centralv1.Selector{Services: []string{"dns"}}, Verb: "withdraw", Reason: "r"}}
		})
		w.pass(time.Second)
		c.kill()
		w.pass(9 * time.Second)
		want := `# HELP catchment_central_connected 1 while the centre answers; without a centre there is no such metric.
# TYPE catchment_central_connected gauge
catchment_central_connected 0
# HELP catchment_central_grants_held Grants that the node acts on.
# TYPE catchment_central_grants_held gauge
catchment_central_grants_held{kind="load"} 0
catchment_central_grants_held{kind="override"} 1
catchment_central_grants_held{kind="soft_failure"} 0
catchment_central_grants_held{kind="window"} 0
# HELP catchment_central_intent_generation Generation of the centre's intent in force.
# TYPE catchment_central_intent_generation gauge
catchment_central_intent_generation 2
# HELP catchment_clock_ahead_seconds How far the clock is ahead of the centre's; with a centre only.
# TYPE catchment_clock_ahead_seconds gauge
catchment_clock_ahead_seconds 7
# HELP catchment_maintenance_not_opened 1 while a maintenance window does not open because the clock cannot be trusted.
# TYPE catchment_maintenance_not_opened gauge
catchment_maintenance_not_opened 1
`
		if err := testutil.GatherAndCompare(scrape(t, w), strings.NewReader(want), "catchment_central_connected", "catchment_central_grants_held",
			"catchment_central_intent_generation", "catchment_clock_ahead_seconds", "catchment_maintenance_not_opened"); err != nil {
			t.Error(err)
		}
		if age := w.snapshot().At.Sub(w.snapshot().Centre.Heard); age < 9*time.Second || age > 11*time.Second {
			t.Errorf("heard %v ago", age)
		}
	})
}

func TestAWindowOverManyServicesAsksInParts(t *testing.T) {
	var services strings.Builder
	for i := range 100 {
		fmt.Fprintf(&services, "  - {name: s%d, prefixes: [198.18.%d.0/24], drain: 30s, checks: []}\n", i, i)
	}
	governed(t, func(t *testing.T, w *world, c *centreFake) {
		c.set(func() { c.grants = true })
		c.wants(func(in *centralv1.Intent) { in.Windows = []*centralv1.Window{nodeWindow("w1", time.Hour)} })
		w.pass(time.Second)
		n := w.journal.len()
		w.pass(time.Minute)
		w.expect("transit")
		w.expect("ix")
		for _, r := range c.all() {
			if len(r.GetWants()) > mostWants {
				t.Fatalf("%d requests at once", len(r.GetWants()))
			}
		}
		if got := len(c.last().GetHeld()); got != 102 {
			t.Errorf("%d held", got)
		}
		if lines := w.journal.since(n, "tell ix"); len(lines) != 1 {
			t.Errorf("in %d steps", len(lines))
		}
	}, "services:\n", "services:\n"+services.String())
}

func BenchmarkADecisionWithACentreAndAWindow(b *testing.B) {
	w := newWorld(b)
	c := newCentreFake()
	defer c.kill()
	c.set(func() { c.grants = true })
	w.govern(c)
	defer func() { w.leave(); <-w.node.Gone() }()
	c.wants(func(in *centralv1.Intent) { in.Windows = []*centralv1.Window{nodeWindow("w1", time.Hour)} })
	b.Cleanup(func() {
		if b.Failed() {
			b.Log(w.log.String(), c.last())
		}
	})
	eventually(b, "the window is open", func() bool { return len(w.snapshot().Decision.Services) > 0 && c.phase("w1") != "none" })
	for b.Loop() {
		if err := w.node.change(b.Context(), "test", func(time.Time) {}); err != nil {
			b.Fatal(err)
		}
	}
}
