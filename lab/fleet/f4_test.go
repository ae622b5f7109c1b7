package fleet

import (
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
	"github.com/catchment-bgp/catchment/edge"
	"github.com/catchment-bgp/catchment/policy"
	"github.com/catchment-bgp/catchment/policy/fleet"
)

func TestF4ASelectorThatSelectsNothingIsAnErrorAndNotAll(t *testing.T) {
	inFleet(t, 20, fleet.Limits{MinAnnouncing: 2}, func(t *testing.T, w *world) {
		mark, sent := w.mark(), w.intents()
		api := w.noc()
		for name, s := range map[string]*centralv1.Selector{
			"absent": nil, "empty": {}, "blank": {Nodes: []string{""}}, "nobody": {Nodes: []string{"n99"}}, "star": {Nodes: []string{"*"}},
			"one of two": {Nodes: []string{"n01", "n99"}}, "no site": {Sites: []string{"moon"}}, "no service": {Services: []string{"dns"}},
			"no neighbour": {Neighbors: []string{"ix"}}, "no label": {Labels: map[string]string{"circuit": "C-1"}}, "blank label": {Labels: map[string]string{"": ""}},
			"all without a number": {All: true}, "all, miscounted": {All: true, Expect: 19}, "all and some": {All: true, Expect: 20, Nodes: []string{"n99"}},
			"a number without all": {Nodes: []string{"n01"}, Expect: 2}, "only a number": {Expect: 20}, "no such part": {Nodes: []string{"n01"}, Services: []string{"dns"}},
		} {
			if _, err := api.AddWindow(t.Context(), &centralv1.AddWindowRequest{Selector: s, Start: "now", Duration: durationpb.New(time.Hour), Reason: "x", OverrideSafety: true}); status.Code(err) != codes.InvalidArgument {
				t.Errorf("window, %s: %v", name, err)
			}
			for _, verb := range []string{"withdraw", "drain", "announce"} {
				if _, err := api.SetFleetOverride(t.Context(), &centralv1.SetFleetOverrideRequest{Selector: s, Verb: verb, Reason: "x"}); status.Code(err) != codes.InvalidArgument {
					t.Errorf("%s, %s: %v", verb, name, err)
				}
			}
		}
		for _, node := range []string{"", "*", "n99", "n01,n02"} {
			if _, err := api.TagNode(t.Context(), &centralv1.TagNodeRequest{Node: node, Value: "57629:101", Meaning: "Moscow"}); status.Code(err) == codes.OK {
				t.Errorf("node %q was tagged", node)
			}
			if _, err := api.SetNode(t.Context(), &centralv1.SetNodeRequest{Name: node, Disabled: new(true), Reason: "x"}); status.Code(err) == codes.OK {
				t.Errorf("node %q was disabled", node)
			}
		}
		if plan, err := api.Plan(t.Context(), &centralv1.PlanRequest{}); status.Code(err) != codes.InvalidArgument {
			t.Errorf("a plan of nothing: %v, %v", plan, err)
		}
		for _, s := range []edge.Selector{{}, {Services: []string{""}}, {Services: []string{"dns"}}, {Services: []string{video}, Neighbors: []string{"ix"}}} {
			if _, _, err := w.nodes[0].edge.SetOverride(t.Context(), s, edge.Word{Verb: policy.Announce, Reason: "x"}); err == nil {
				t.Errorf("at the edge %+v is taken", s)
			}
		}
		w.pass(time.Minute)
		for _, c := range w.since(mark) {
			t.Errorf("%v", c)
		}
		for name, generation := range w.intents() {
			if generation != sent[name] {
				t.Errorf("%s got another intent", name)
			}
		}
		if o, err := api.SetFleetOverride(t.Context(), &centralv1.SetFleetOverrideRequest{Selector: &centralv1.Selector{All: true, Expect: 20}, Verb: "announce", Reason: "x"}); err != nil || len(o.GetSelector().GetNodes()) != 20 {
			t.Errorf("all 20: %v, %v", o, err)
		}
	})
}
