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
