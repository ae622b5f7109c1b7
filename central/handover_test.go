package central

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
	"github.com/catchment-bgp/catchment/policy/fleet"
)

// Some node is always told to stay in a hard failure. That it asks for leave is enough
// to have another told.
func TestAKeeperHandsOverBeforeItIsRefused(t *testing.T) {
	for _, least := range []int{1, 2} {
		synctest.Test(t, func(t *testing.T) {
			l := newLab(t, fleet.Limits{MinAnnouncing: least})
			edges := l.join(3)
			pass(time.Minute)
			i := slices.IndexFunc(edges, func(e *simEdge) bool { return len(e.intent().GetKeep()) == 1 })
			if i < 0 {
				t.Fatalf("at least %d: nobody was told to stay", least)
			}
			edges[i].set(func(e *simEdge) { e.soft = false })
			pass(handOver - time.Second)
			if g := l.fleet().GetGrants(); len(g) != 1 || g[0].GetNode() != edges[i].name {
				t.Errorf("at least %d: grants %v, refusals %v", least, g, edges[i].intent().GetRefusals())
			}
			records, err := l.api.ListAudit(l.ctx(), &centralv1.ListAuditRequest{})
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range records.GetRecords() {
				if r.GetOutcome() == "refused" {
					t.Errorf("at least %d: a refusal was recorded: %v", least, r)
				}
			}
		})
	}
}

func TestAKeeperWithoutASuccessorIsRefusedInTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, fleet.Limits{MinAnnouncing: 1})
		edges := l.join(3)
		pass(time.Minute)
		i := slices.IndexFunc(edges, func(e *simEdge) bool { return len(e.intent().GetKeep()) == 1 })
		for j, e := range edges {
			e.set(func(e *simEdge) { e.deaf, e.soft = j != i, j != i })
		}
		pass(handOver - time.Second)
		if r := edges[i].intent().GetRefusals(); len(r) != 0 || len(l.fleet().GetGrants()) != 0 {
			t.Errorf("answered too early: %v", r)
		}
		pass(2 * time.Second)
		if r := edges[i].intent().GetRefusals(); len(r) != 1 || r[0].GetLimit() != string(fleet.Keeper) {
			t.Errorf("nobody takes over, and the answer is %v", r)
		}
		for _, e := range edges {
			e.set(func(e *simEdge) { e.deaf = false })
		}
		pass(time.Minute)
		if g := l.fleet().GetGrants(); len(g) != 1 {
			t.Errorf("the others hear again, and the grants are %v", g)
		}
	})
}
