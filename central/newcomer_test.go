package central

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/protobuf/proto"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
	"github.com/catchment-bgp/catchment/policy/fleet"
)

// TestACentreThatBeginsDoesNotTakeEdgesForGoneThatHaveNotComeYet: the reserve was the first to
// find the centre again, and was called at once since nobody else seemed to announce.
func TestACentreThatBeginsDoesNotTakeEdgesForGoneThatHaveNotComeYet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, fleet.Limits{MinAnnouncing: 2})
		edges := l.join(4)
		pass(time.Minute)
		if _, err := l.api.SetNode(l.ctx(), &centralv1.SetNodeRequest{Name: "n04", Standby: proto.Bool(true), Reason: "reserve"}); err != nil {
			t.Fatal(err)
		}
		pass(time.Minute)
		edges[0].set(func(e *simEdge) { e.soft = false })
		pass(time.Minute)
		if g := l.fleet().GetGrants(); len(g) != 1 || g[0].GetNode() != "n01" {
			t.Fatalf("the grants are %v", g)
		}
		l.kill()
		pass(3 * time.Second)
		l.f = NewFleet(l.store, l.f.settings)
		l.run()
		for i := range edges {
			e := edges[len(edges)-1-i]
			e.leave()
			e.connect()
			pass(time.Second)
		}
		pass(time.Minute)
		if methods := l.methods(); slices.Contains(methods, "reserve") || slices.Contains(methods, "recall") {
			t.Errorf("it was done: %v", methods)
		}
		if g := l.fleet().GetGrants(); len(g) != 1 || g[0].GetState() == string(fleet.Revoked) {
			t.Errorf("the grants are %v", g)
		}
		edges[1].leave()
		edges[2].leave()
		pass(time.Minute)
		if methods := l.methods(); !slices.Contains(methods, "reserve") {
			t.Errorf("too few announce for long, and it was done: %v", methods)
		}
	})
}

// methods are those of the audit log.
func (l *lab) methods() (out []string) {
	l.t.Helper()
	m, err := l.api.ListAudit(l.ctx(), &centralv1.ListAuditRequest{})
	if err != nil {
		l.t.Fatal(err)
	}
	for _, r := range m.GetRecords() {
		out = append(out, r.GetMethod())
	}
	return out
}

// TestNobodyWhoIsToldToStayIsLetGoForBeingOutOfContact: all of a fleet that a bad check has hit
// go on by the word of their centre alone, and come back to one that has heard of nobody.
func TestNobodyWhoIsToldToStayIsLetGoForBeingOutOfContact(t *testing.T) {
	for _, tt := range []struct {
		name  string
		anew  bool          // the centre begins anew
		away  time.Duration // until the first is back
		order []int
	}{
		{"the centre begins anew, the keeper is first", true, 6 * time.Second, []int{0, 1, 2}},
		{"the centre begins anew, the keeper is last", true, 6 * time.Second, []int{2, 1, 0}},
		{"the centre begins anew, the edges find it late", true, 3 * time.Minute, []int{2, 1, 0}},
		{"the centre goes on", false, 3 * time.Minute, []int{2, 0, 1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLab(t, fleet.Limits{MinAnnouncing: 1})
				edges := l.join(3)
				pass(time.Minute)
				for _, e := range edges {
					e.set(func(e *simEdge) { e.hard = false })
				}
				pass(2 * time.Minute)
				if n := l.announcing(); n != 1 {
					t.Fatalf("%d announce before", n)
				}
				if tt.anew {
					l.kill()
					l.f = NewFleet(l.store, l.f.settings)
					l.run()
				}
				for _, e := range edges {
					e.leave()
				}
				pass(tt.away)
				for _, i := range tt.order {
					edges[i].connect()
					pass(3 * time.Second)
				}
				pass(2 * time.Minute)
				if n := l.announcing(); n != 1 {
					t.Errorf("%d announce afterwards", n)
				}
				edges[2].set(func(e *simEdge) { e.hard = true })
				pass(2 * time.Minute)
				if n := l.announcing(); n != 1 || len(edges[2].intent().GetKeep()) != 1 {
					t.Errorf("%d announce when one is sound, which is told %v", n, edges[2].intent().GetKeep())
				}
			})
		})
	}
}

func TestNobodyIsToldToKeepWhatIsWithdrawn(t *testing.T) {
	r := &centralv1.Report{Services: []*centralv1.ServiceReport{{Name: "a", State: stateAnnounced}, {Name: "b", State: "withdrawn"}, {Name: "c", State: stateSteered},
		{Name: "d", State: stateAnnounced, Neighbors: proto.Int32(0)}}}
	if got := withoutWithdrawn([]string{"a", "b", "c", "d", "e"}, r); !slices.Equal(got, []string{"a", "c", "d", "e"}) {
		t.Errorf("told to keep %v", got)
	}
	if got := withoutWithdrawn([]string{"b"}, nil); len(got) != 1 {
		t.Errorf("of a node that has said nothing yet: %v", got)
	}
}
