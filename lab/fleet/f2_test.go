package fleet

import (
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
	"github.com/catchment-bgp/catchment/edge"
	"github.com/catchment-bgp/catchment/policy/fleet"
)

// names are those of some nodes.
func names(nodes []*node) []string {
	var out []string
	for _, n := range nodes {
		out = append(out, n.name)
	}
	return out
}

// refused says whether the centre refused by a limit.
func refused(err error, limit fleet.Limit) bool {
	return status.Code(err) == codes.FailedPrecondition && strings.Contains(err.Error(), string(limit))
}

func TestF2WhatWouldTakeAwayMoreThanTheBudgetIsRefused(t *testing.T) {
	inFleet(t, 20, fleet.Limits{MinAnnouncing: 2, MaxWithdrawn: 0.34}, func(t *testing.T, w *world) {
		many := &centralv1.Selector{Nodes: names(w.nodes[:19])}
		for _, verb := range []string{"withdraw", "drain"} {
			if _, err := w.noc().SetFleetOverride(t.Context(), &centralv1.SetFleetOverrideRequest{Selector: many, Verb: verb, Reason: "policy push"}); !refused(err, fleet.MaxWithdrawn) {
				t.Errorf("%s at 19 of 20: %v", verb, err)
			}
		}
		if _, err := w.noc().AddWindow(t.Context(), &centralv1.AddWindowRequest{Selector: many, Start: "now", Duration: durationpb.New(time.Hour), Reason: "push"}); !refused(err, fleet.MaxWithdrawn) {
			t.Errorf("a window for 19 of 20: %v", err)
		}
		plan, err := w.noc().Plan(t.Context(), &centralv1.PlanRequest{Drain: many.Nodes})
		if err != nil || plan.GetAllowed() || plan.GetLimit() != string(fleet.MaxWithdrawn) {
			t.Errorf("the plan: %v, %v", plan, err)
		}
		w.pass(2 * time.Minute)
		if w.low() != 20 {
			t.Errorf("%d of 20 were left after what was refused", w.low())
		}
		if _, err := w.noc().SetFleetOverride(t.Context(), &centralv1.SetFleetOverrideRequest{Selector: &centralv1.Selector{Nodes: names(w.nodes[:6])}, Verb: "withdraw", Reason: "a few"}); err != nil {
			t.Errorf("6 of 20: %v", err)
		}
		w.pass(time.Minute)
		if w.announcing() != 14 {
			t.Errorf("%d of 20 are left of 14", w.announcing())
		}
		// One by one the limit is the same.
		if _, err := w.noc().SetFleetOverride(t.Context(), &centralv1.SetFleetOverrideRequest{Selector: &centralv1.Selector{Nodes: names(w.nodes[6:7])}, Verb: "withdraw", Reason: "one more"}); !refused(err, fleet.MaxWithdrawn) {
			t.Errorf("the seventh: %v", err)
		}
	})
}

func TestF2AConfigurationThatNobodyConfirmsGoesBackByItself(t *testing.T) {
	inFleet(t, 20, fleet.Limits{MinAnnouncing: 2, MaxWithdrawn: 0.34}, func(t *testing.T, w *world) {
		mark := w.mark()
		w.all(func(n *node) {
			edits := []string{"57629:1\"", "57629:9\""}
			_, at, err := n.edge.Apply(t.Context(), n.config(edits...), nil, []byte(n.text(edits...)), edge.ApplyOptions{ConfirmWithin: 2 * time.Minute})
			if err != nil || !at.Equal(time.Now().Add(2*time.Minute)) {
				t.Errorf("%s: until %v, %v", n.name, at, err)
			}
		})
		w.pass(2*time.Minute - time.Second)
		if got := w.count(func(f face) bool { return f.tags == "57629:9" }); got != 20 {
			t.Errorf("%d of 20 show what was applied", got)
		}
		if err := w.nodes[0].edge.Confirm(t.Context()); err != nil {
			t.Error(err)
		}
		w.pass(2 * time.Second)
		if w.nodes[0].face().tags != "57629:9" || w.count(func(f face) bool { return f.tags == "57629:1" }) != 19 {
			t.Errorf("after the time: %v", w.since(mark))
		}
		if w.low() != 20 {
			t.Errorf("%d of 20 were announced all the time", w.low())
		}
	})
}

func TestF2AConfigurationThatTakesAwayMoreThanTheBudgetIsRefused(t *testing.T) {
	inFleet(t, 20, fleet.Limits{MinAnnouncing: 2, MaxWithdrawn: 0.34}, func(t *testing.T, w *world) {
		taken := 0
		w.all(func(n *node) {
			edits := []string{"198.51.100.", "203.0.113."} // what is announced today is announced no more
			if _, _, err := n.edge.Apply(t.Context(), n.config(edits...), nil, []byte(n.text(edits...)), edge.ApplyOptions{ConfirmWithin: time.Hour}); err == nil {
				taken++
			} else if !strings.Contains(err.Error(), string(fleet.MaxWithdrawn)) {
				t.Errorf("%s: %v", n.name, err)
			}
		})
		w.pass(time.Minute)
		if left := w.count(func(f face) bool { return f.prefix == "198.51.100.0/24" }); taken == 0 || left < 14 {
			t.Errorf("%d of 20 took it up, and at %d the prefix of old is left", taken, left)
		}
	})
}
