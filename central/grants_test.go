package central

import (
	"math"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
	"github.com/catchment-bgp/catchment/policy/fleet"
)

func TestSilenceFreesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, fleet.Limits{MinAnnouncing: 2})
		edges := l.join(4)
		pass(time.Minute)
		edges[0].set(func(e *simEdge) { e.soft = false })
		edges[1].set(func(e *simEdge) { e.soft = false })
		pass(time.Minute)
		if n := l.states()[stateWithdrawn]; n != 2 {
			t.Fatalf("%d withdrew", n)
		}
		edges[0].leave() // it falls silent with its grant
		edges[2].set(func(e *simEdge) { e.soft = false })
		pass(10 * time.Minute)
		s := l.fleet()
		if len(s.GetGrants()) != 2 || edges[2].tell().GetServices()[0].GetState() != stateSteered {
			t.Errorf("grants %v, and n03 is %v", s.GetGrants(), edges[2].tell().GetServices())
		}
		if r := edges[2].intent().GetRefusals(); len(r) != 1 || r[0].GetLimit() != "min_announcing" || len(r[0].GetHolders()) != 2 {
			t.Errorf("refusals %v", r)
		}
		if n, err := l.api.GetNode(l.ctx(), &centralv1.GetNodeRequest{Name: "n01"}); err != nil || n.GetState() != stateUnseen || n.GetConnected() {
			t.Errorf("n01 is %v, %v", n, err)
		}
		edges[0].soft = true
		edges[0].connect()
		pass(2 * time.Minute)
		if s := l.fleet(); len(s.GetGrants()) != 2 || edges[2].tell().GetServices()[0].GetState() != stateWithdrawn {
			t.Errorf("n01 announces again, and the grants are %v", s.GetGrants())
		}
	})
}

func TestRevokedGrantsComeBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, fleet.Limits{MinAnnouncing: 1})
		edges := l.join(3)
		pass(time.Minute)
		edges[0].set(func(e *simEdge) { e.soft = false })
		pass(30 * time.Second)
		g := l.fleet().GetGrants()
		if len(g) != 1 || g[0].GetState() != "held" {
			t.Fatalf("%v", g)
		}
		if _, err := l.api.RevokeGrant(l.ctx(), &centralv1.RevokeGrantRequest{Id: g[0].GetId(), Reason: "needed"}); err != nil {
			t.Fatal(err)
		}
		pass(2 * time.Second)
		if s := edges[0].tell().GetServices()[0].GetState(); s != stateSteered {
			t.Errorf("the holder is %s", s)
		}
	})
}

func TestAFrozenFleetGrantsNothingToMachines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, fleet.Limits{MinAnnouncing: 1})
		edges := l.join(3)
		pass(time.Minute)
		if _, err := l.api.Freeze(l.ctx(), &centralv1.FreezeRequest{Reason: "backbone"}); err != nil {
			t.Fatal(err)
		}
		edges[0].set(func(e *simEdge) { e.soft = false })
		pass(time.Minute)
		if s := l.fleet(); len(s.GetGrants()) != 0 || !s.GetFrozen() || !edges[0].intent().GetFrozen() {
			t.Errorf("%v", s)
		}
		if _, err := l.api.Thaw(l.ctx(), &centralv1.ThawRequest{Reason: "over"}); err != nil {
			t.Fatal(err)
		}
		pass(time.Minute)
		if len(l.fleet().GetGrants()) != 1 {
			t.Error("nothing was granted after the thaw")
		}
		if _, err := l.api.Thaw(l.ctx(), &centralv1.ThawRequest{Reason: "over"}); status.Code(err) != codes.InvalidArgument {
			t.Errorf("a second thaw: %v", err)
		}
	})
}

func TestAReserveIsCalledWhenTooFewAnnounce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, fleet.Limits{MinAnnouncing: 2})
		edges := l.join(3)
		pass(time.Minute)
		if _, err := l.api.SetNode(l.ctx(), &centralv1.SetNodeRequest{Name: "n03", Standby: proto.Bool(true), Reason: "reserve"}); err != nil {
			t.Fatal(err)
		}
		pass(20 * time.Second)
		if in := edges[2].intent(); !in.GetStandby() || in.GetActivated() {
			t.Fatalf("%v", in)
		}
		edges[0].leave()
		pass(time.Minute)
		if in := edges[2].intent(); !in.GetActivated() {
			t.Errorf("too few announce, and the reserve is told %v", in)
		}
	})
}

func TestANodeThatIsNewIsAReserveIfItsFileSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, fleet.Limits{MinAnnouncing: 1})
		edges := l.join(2)
		pass(time.Minute)
		for i, e := range edges {
			e.hello = proto.CloneOf(e.hello)
			e.hello.Standby = true
			if i == 1 { // which the centre has not met
				e.leave()
				if _, err := l.api.SetNode(l.ctx(), &centralv1.SetNodeRequest{Name: e.name, Forget: true, Reason: "reinstalled"}); err != nil {
					t.Fatal(err)
				}
				e.connect()
			} else {
				e.set(func(e *simEdge) { e.say = e.hello })
			}
		}
		pass(time.Minute)
		if edges[0].intent().GetStandby() || !edges[1].intent().GetStandby() || edges[1].intent().GetActivated() {
			t.Errorf("%v and %v", edges[0].intent(), edges[1].intent())
		}
	})
}

func TestAnEdgeIsToldOfTheOthersPenaltiesAsLongAsEachIsSeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, fleet.Limits{MinAnnouncing: 1})
		edges := l.join(3)
		pass(time.Minute)
		share := func() *centralv1.LedgerShare { return edges[0].intent().GetShares()[0] }
		if s := share(); !s.GetKnown() || s.GetPenalty() != 0 {
			t.Errorf("%v", s)
		}
		edges[1].set(func(e *simEdge) { e.penalty = 1000 })
		pass(2 * time.Second) // it is told at once
		if s := share(); !s.GetKnown() || s.GetPenalty() != 1000 {
			t.Errorf("%v", s)
		}
		edges[2].leave()
		pass(25 * time.Second)
		if s := share(); s.GetKnown() {
			t.Errorf("one is not seen, and the others are known: %v", s)
		}
		edges[2].connect()
		pass(25 * time.Second)
		if s := share(); !s.GetKnown() {
			t.Errorf("all are seen: %v", s)
		}
	})
}

func TestReturnsAreInTurnUnlessTheFleetIsShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, fleet.Limits{MinAnnouncing: 1})
		edges := l.join(6)
		pass(time.Minute)
		for _, e := range edges[:3] {
			e.set(func(e *simEdge) { e.hard = false })
		}
		pass(time.Minute)
		for _, e := range edges[:3] {
			e.set(func(e *simEdge) { e.hard = true })
		}
		pass(5 * time.Second)
		if n := l.announcing(); n < 3 {
			t.Errorf("%d announce", n)
		}
		pass(5 * time.Minute)
		if n := l.announcing(); n != 6 {
			t.Errorf("%d of 6 announce in the end", n)
		}
	})
}

func TestTheOthersMovesAndRoomAreTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, fleet.Limits{})
		edges := l.join(3)
		moved := time.Now().Add(-time.Second)
		edges[0].set(func(e *simEdge) { e.moved = moved })
		pass(time.Minute)
		if at := edges[1].intent().GetOthersMoved(); !at.AsTime().Equal(moved) {
			t.Errorf("n02 is told %v, want %v", at.AsTime(), moved)
		}
		if at := edges[0].intent().GetOthersMoved(); at != nil {
			t.Errorf("n01 is told its own move: %v", at)
		}
		// The others have 0.85 * 10 - 2 Gbit/s of room each; half of it.
		if in := edges[0].intent(); in.GetRoom() != 6.5e9 || in.GetRoomAt() == nil {
			t.Errorf("room %v at %v", in.GetRoom(), in.GetRoomAt())
		}
		edges[2].leave()
		pass(time.Minute)
		if in := edges[0].intent(); in.GetRoom() != 3.25e9 {
			t.Errorf("without n03: room %v", in.GetRoom())
		}
		if s := edges[1].intent().GetShares(); len(s) != 2 || s[0].GetAsn() != 65001 || s[0].GetEdges() != 3 || s[0].GetIndex() != 1 {
			t.Errorf("shares %v", s)
		}
	})
}

func TestTheNewestStreamOfANodeCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, fleet.Limits{})
		e := l.join(1)[0]
		pass(15 * time.Second)
		first := l.f.sessions["n01"]
		s, err := l.f.open(t.Context(), e.hello)
		if err != nil {
			t.Fatal(err)
		}
		defer l.f.shut(s)
		synctest.Wait()
		if first.why == nil || s.epoch != first.epoch+1 {
			t.Errorf("the older stream goes on: %v, epochs %d and %d", first.why, first.epoch, s.epoch)
		}
		if err := l.f.report(t.Context(), first, e.tell()); status.Code(failed(err)) != codes.Aborted {
			t.Errorf("a report over the older stream: %v", err)
		}
	})
}

func TestTwoCentresOverOneStoreKnowTheSame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, fleet.Limits{MinAnnouncing: 3})
		other := &lab{t: t, store: l.store, edges: map[string]*simEdge{}, limit: l.limit}
		other.start()
		defer other.kill()
		edges := l.join(4)
		pass(time.Minute)
		edges[3].leave()
		edges[3].l = other
		edges[3].connect()
		pass(10 * time.Second)
		if n := other.announcing(); n != 4 {
			t.Errorf("the second centre counts %d", n)
		}
		if _, err := other.api.TagNode(l.ctx(), &centralv1.TagNodeRequest{Node: "n01", Value: "57629:7", Meaning: "x"}); err != nil {
			t.Fatal(err)
		}
		edges[0].set(func(e *simEdge) { e.soft = false }) // both ask at the same moment, at two centres
		edges[3].set(func(e *simEdge) { e.soft = false })
		pass(time.Minute)
		if n := l.states()[stateWithdrawn]; n != 1 || len(edges[0].intent().GetTags()) != 1 {
			t.Errorf("%d withdrew, where one may: %v", n, l.fleet().GetGrants())
		}
		edges[3].leave()
		other.kill()
		pass(time.Minute)
		if n, err := l.api.GetNode(l.ctx(), &centralv1.GetNodeRequest{Name: "n04"}); err != nil || n.GetConnected() {
			t.Errorf("n04's centre is dead: %v, %v", n, err)
		}
	})
}

func TestWhatIsNoFigureSpoilsNobodyElses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, fleet.Limits{})
		edges := l.join(3)
		edges[2].set(func(e *simEdge) { e.load, e.capacity = math.NaN(), math.Inf(1) })
		pass(time.Minute)
		if in := edges[0].intent(); in.GetRoom() != 3.25e9 {
			t.Errorf("room %v, with n03 unknown", in.GetRoom())
		}
		if s := l.fleet().GetServices()[0]; s.GetCapacity() != 20e9 || s.GetLoad() != 4e9 {
			t.Errorf("%v", s)
		}
	})
}

func TestOfManyThatAskAtOnceOnlyThoseAreGrantedThatMayGo(t *testing.T) {
	for range 20 {
		synctest.Test(t, func(t *testing.T) {
			l := newLab(t, fleet.Limits{MinAnnouncing: 8})
			other := &lab{t: t, store: l.store, edges: map[string]*simEdge{}, limit: l.limit}
			other.start()
			defer other.kill()
			edges := l.join(10)
			for _, e := range edges[5:] { // half of them at another centre
				e.leave()
				e.l = other
				e.connect()
			}
			defer func() {
				for _, e := range edges[5:] {
					e.leave()
				}
			}()
			pass(30 * time.Second)
			for _, e := range edges {
				e.set(func(e *simEdge) { e.soft = false })
			}
			pass(15 * time.Second)
			if n := len(l.fleet().GetGrants()); n != 2 {
				t.Fatalf("%d grants, where two may go", n)
			}
		})
	}
}

func TestANodeWithNoSessionIsNoCapacity(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, fleet.Limits{MinAnnouncing: 2})
		edges := l.join(3)
		pass(time.Minute)
		edges[0].set(func(e *simEdge) { e.alone = true })
		pass(time.Minute)
		edges[1].set(func(e *simEdge) { e.soft = false })
		pass(time.Minute)
		if n, s := l.announcing(), edges[1].tell().GetServices()[0].GetState(); n != 2 || s != stateSteered {
			t.Errorf("%d announce, and n02 is %s", n, s)
		}
		if r := edges[1].intent().GetRefusals(); len(r) != 1 || r[0].GetLimit() != "min_announcing" {
			t.Errorf("refusals %v", r)
		}
		if n, err := l.api.GetNode(l.ctx(), &centralv1.GetNodeRequest{Name: "n01"}); err != nil || n.GetState() != stateAnnounced || n.GetReason() != "no_session" {
			t.Errorf("n01 is %v, %v", n, err)
		}
		edges[0].set(func(e *simEdge) { e.alone = false })
		pass(time.Minute)
		if s := edges[1].tell().GetServices()[0].GetState(); s != stateWithdrawn {
			t.Errorf("n02 is %s with two others announcing", s)
		}
	})
}
