package central

import (
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
	"github.com/catchment-bgp/catchment/central/store"
	"github.com/catchment-bgp/catchment/policy/fleet"
)

func (l *lab) forget(name string) error {
	_, err := l.api.SetNode(l.ctx(), &centralv1.SetNodeRequest{Name: name, Forget: true, Reason: "sold"})
	return err
}

// TestAForgottenNodeThatIsBackIsWithdrawnUntilItSaysOtherwise forgets a node that is
// out of contact and acts on leave: when it is back, the next is not let go beside it.
func TestAForgottenNodeThatIsBackIsWithdrawnUntilItSaysOtherwise(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, fleet.Limits{MinAnnouncing: 2})
		edges := l.join(3)
		pass(time.Minute)
		edges[0].set(func(e *simEdge) { e.soft = false })
		pass(time.Minute)
		edges[0].leave()
		pass(time.Second)
		if err := l.forget("n01"); err != nil {
			t.Fatal(err)
		}
		if g := l.fleet().GetGrants(); len(g) != 1 || g[0].GetNode() != "n01" {
			t.Fatalf("nothing says that it has returned, and the grants are %v", g)
		}
		edges[0].connect()
		edges[1].set(func(e *simEdge) { e.soft = false })
		pass(time.Minute)
		if s := edges[1].tell().GetServices()[0].GetState(); s != stateSteered {
			t.Errorf("n02 is %s beside n01, which is %s", s, edges[0].tell().GetServices()[0].GetState())
		}
		edges[0].set(func(e *simEdge) { e.soft = true })
		edges[1].set(func(e *simEdge) { e.soft = true })
		pass(2 * time.Minute)
		if g := l.fleet().GetGrants(); len(g) != 0 {
			t.Errorf("it is back and says that it announces; grants %v", g)
		}
	})
}

func TestAGrantOfANodeThatNeverComesBackIsSweptInTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, fleet.Limits{MinAnnouncing: 1})
		edges := l.join(2)
		pass(time.Minute)
		edges[0].set(func(e *simEdge) { e.soft = false })
		pass(time.Minute)
		edges[0].leave()
		edges[1].leave()
		pass(time.Second)
		if err := l.forget("n01"); err != nil {
			t.Fatal(err)
		}
		now := time.Now()
		swept := func(at time.Time) bool {
			l.f.mu.RLock()
			defer l.f.mu.RUnlock()
			c, err := l.f.w.sweep(at)
			if err != nil {
				t.Fatal(err)
			}
			for _, op := range c.ops {
				if op.Key == key(kindGrant, "n01/soft") && op.Value == nil {
					return true
				}
			}
			return false
		}
		if swept(now.Add(keepForgotten-time.Hour)) || !swept(now.Add(keepForgotten+time.Hour)) {
			t.Error("it goes after keepForgotten, and not before")
		}
	})
}

// TestANodeForgottenBetweenHelloAndReportSaysHelloAgain: else it would be connected,
// and none of the fleet, until its stream breaks.
func TestANodeForgottenBetweenHelloAndReportSaysHelloAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, fleet.Limits{})
		l.join(1)
		pass(time.Second)
		s, err := l.f.open(l.ctx(), &centralv1.Hello{Node: "late", Services: []*centralv1.EdgeService{{Name: video}}})
		if err != nil {
			t.Fatal(err)
		}
		if err := l.forget("late"); err != nil {
			t.Fatal(err)
		}
		err = failed(l.f.report(l.ctx(), s, &centralv1.Report{Number: 1}))
		if status.Code(err) != codes.Aborted {
			t.Errorf("the report of a node that does not exist: %v", err)
		}
		l.f.shut(s)
	})
}

// TestAReserveThatWasCalledStaysCalled says of an active reserve, which alone
// announces, that it is one: nothing new, and no way round the limits.
func TestAReserveThatWasCalledStaysCalled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, fleet.Limits{MinAnnouncing: 1})
		edges := l.join(2)
		pass(time.Minute)
		set := func(standby bool) error {
			_, err := l.api.SetNode(l.ctx(), &centralv1.SetNodeRequest{Name: "n02", Standby: proto.Bool(standby), Reason: "cold"})
			return err
		}
		if err := set(true); err != nil {
			t.Fatal(err)
		}
		pass(time.Minute)
		edges[0].leave()
		pass(time.Minute)
		if !edges[1].intent().GetActivated() {
			t.Fatal("the reserve was not called")
		}
		if _, err := l.api.Freeze(l.ctx(), &centralv1.FreezeRequest{Reason: "night"}); err != nil {
			t.Fatal(err)
		}
		if err := set(true); err != nil {
			t.Error(err)
		}
		pass(time.Minute)
		if !edges[1].intent().GetActivated() {
			t.Error("the last that announces was sent away by a word that changes nothing")
		}
		if err := set(false); err != nil {
			t.Error(err)
		}
		if err := set(true); status.Code(err) != codes.FailedPrecondition {
			t.Errorf("the last that announces made a reserve: %v", err)
		}
	})
}

// TestATurnFromBeforeTheClockWasSetBackIsGivenAnew: it would keep a node away for as
// long as the clock was wrong.
func TestATurnFromBeforeTheClockWasSetBackIsGivenAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, fleet.Limits{MinAnnouncing: 1})
		edges := l.join(3)
		pass(time.Minute)
		edges[0].set(func(e *simEdge) { e.hard = false })
		pass(time.Minute)
		day := time.Now().Add(24 * time.Hour)
		op, err := put(key(kindTurn, video), turnDoc{Turns: map[string]time.Time{"n01": day}, Last: day})
		if err != nil {
			t.Fatal(err)
		}
		edges[0].set(func(e *simEdge) { e.hard = true })
		pass(5 * time.Second)
		if err := l.f.commit(l.ctx(), change{ops: []store.Op{op}}); err != nil {
			t.Fatal(err)
		}
		pass(20 * time.Minute)
		if s := edges[0].tell().GetServices()[0].GetState(); s != stateAnnounced {
			t.Errorf("n01 is %s, and its turn is at %v", s, edges[0].intent().GetReturnAfter())
		}
	})
}

func TestAGrantIsRevokedAtTheNodeThatIsMeant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, fleet.Limits{MinAnnouncing: 1})
		edges := l.join(4)
		pass(time.Minute)
		for _, e := range edges[:2] {
			e.set(func(e *simEdge) { e.soft = false }) // each asks by the same id
		}
		pass(time.Minute)
		revoke := func(node string) error {
			_, err := l.api.RevokeGrant(l.ctx(), &centralv1.RevokeGrantRequest{Id: "soft", Node: node, Reason: "needed"})
			return err
		}
		if err := revoke(""); status.Code(err) != codes.InvalidArgument {
			t.Errorf("one of two, without saying which: %v", err)
		}
		if err := revoke("n03"); status.Code(err) != codes.InvalidArgument {
			t.Errorf("of one that has none: %v", err)
		}
		if err := revoke("n02"); err != nil {
			t.Error(err)
		}
		pass(time.Second)
		if one, two := edges[0].tell().GetServices()[0].GetState(), edges[1].tell().GetServices()[0].GetState(); one != stateWithdrawn || two != stateSteered {
			t.Errorf("n01 is %s and n02 %s", one, two)
		}
	})
}
