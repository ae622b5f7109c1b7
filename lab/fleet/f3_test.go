package fleet

import (
	"slices"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
	"github.com/catchment-bgp/catchment/policy/fleet"
)

func TestF3AChangeThatNamesSomeMakesNoDifferenceToOthers(t *testing.T) {
	inFleet(t, 20, fleet.Limits{MinAnnouncing: 2}, func(t *testing.T, w *world) {
		api := w.noc()
		sent := w.intents()
		named := []string{"n10", "n12", "n14", "n15", "n16"} // the last two are site08
		mark := w.mark()
		if _, err := api.TagNode(t.Context(), &centralv1.TagNodeRequest{Node: "n10", Value: "57629:101", Meaning: "Moscow"}); err != nil {
			t.Fatal(err)
		}
		added, err := api.AddWindow(t.Context(), &centralv1.AddWindowRequest{Selector: &centralv1.Selector{Nodes: []string{"n12"}}, Start: "now",
			Duration: durationpb.New(3 * time.Minute), Reason: "disk"})
		if err != nil {
			t.Fatal(err)
		}
		word, err := api.SetFleetOverride(t.Context(), &centralv1.SetFleetOverrideRequest{Selector: &centralv1.Selector{Nodes: []string{"n14"}}, Verb: "withdraw", Reason: "debug"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := api.AddWindow(t.Context(), &centralv1.AddWindowRequest{Selector: &centralv1.Selector{Sites: []string{"site08"}}, Start: "now",
			Duration: durationpb.New(3 * time.Minute), Reason: "power"}); err != nil {
			t.Fatal(err)
		}
		w.pass(time.Minute)
		if w.announcing() != 16 || w.nodes[9].face().tags != "57629:1 57629:101" {
			t.Errorf("%d announce of 16; n10 is %v", w.announcing(), w.nodes[9].face())
		}
		// And all back.
		if _, err := api.UntagNode(t.Context(), &centralv1.UntagNodeRequest{Node: "n10", Value: "57629:101", Reason: "wrong"}); err != nil {
			t.Error(err)
		}
		if _, err := api.EndWindow(t.Context(), &centralv1.EndWindowRequest{Id: added.GetWindow().GetId(), Reason: "done"}); err != nil {
			t.Error(err)
		}
		if _, err := api.ClearFleetOverride(t.Context(), &centralv1.ClearFleetOverrideRequest{Id: word.GetId(), Reason: "done"}); err != nil {
			t.Error(err)
		}
		w.pass(3 * time.Minute)
		for _, c := range w.since(mark) {
			if !slices.Contains(named, c.node) {
				t.Errorf("not named, and changed: %v", c)
			}
		}
		for name, generation := range w.intents() {
			if generation != sent[name] && !slices.Contains(named, name) {
				t.Errorf("%s got another intent", name)
			}
		}
		// The tag itself goes later: it is charged to the ledger twice.
		if got := w.count(func(f face) bool { return f.announces() && f.prepend == 0 && f.tags == "57629:1" }); got < 19 || w.announcing() != 20 {
			t.Errorf("%d of 20 are as before", got)
		}
	})
}

// intents are the generations of what is wanted of each node.
func (w *world) intents() map[string]uint64 {
	w.t.Helper()
	out := map[string]uint64{}
	for _, n := range w.nodes {
		s, err := n.edge.Snapshot(w.t.Context())
		if err != nil {
			w.t.Fatal(err)
		}
		out[n.name] = s.Centre.Generation
	}
	return out
}
