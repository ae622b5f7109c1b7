package central

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
	"github.com/catchment-bgp/catchment/central/store"
	"github.com/catchment-bgp/catchment/policy/fleet"
)

func TestATagNeedsAMeaningAndMustBeOurs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, fleet.Limits{})
		l.f.w.settings.Actions = map[string]string{"57629:666": "blackhole"}
		l.join(2)
		pass(time.Minute)
		for _, tt := range []struct {
			name string
			r    *centralv1.TagNodeRequest
			code codes.Code
			text string
		}{
			{"good", &centralv1.TagNodeRequest{Node: "n01", Value: "57629:101", Meaning: "Moscow"}, codes.OK, ""},
			{"large", &centralv1.TagNodeRequest{Node: "n01", Value: "57629:1:101", Meaning: "Moscow"}, codes.OK, ""},
			{"again, other words", &centralv1.TagNodeRequest{Node: "n01", Value: "57629:101", Meaning: "Moscow 1"}, codes.OK, ""},
			{"no meaning", &centralv1.TagNodeRequest{Node: "n01", Value: "57629:102"}, codes.FailedPrecondition, "no meaning"},
			{"another node's", &centralv1.TagNodeRequest{Node: "n02", Value: "57629:101", Meaning: "Moscow"}, codes.FailedPrecondition, "n01 has tag 57629:101"},
			{"shared", &centralv1.TagNodeRequest{Node: "n02", Value: "57629:101", Meaning: "Moscow", Shared: true}, codes.OK, ""},
			{"another AS", &centralv1.TagNodeRequest{Node: "n01", Value: "65001:1", Meaning: "x"}, codes.FailedPrecondition, "not of our AS 57629"},
			{"another AS, large", &centralv1.TagNodeRequest{Node: "n01", Value: "65001:1:1", Meaning: "x"}, codes.FailedPrecondition, "not of our AS"},
			{"another AS, extended", &centralv1.TagNodeRequest{Node: "n01", Value: "rt:65001:1", Meaning: "x"}, codes.FailedPrecondition, "not of our AS"},
			{"well-known", &centralv1.TagNodeRequest{Node: "n01", Value: "no-export", Meaning: "x"}, codes.FailedPrecondition, "well-known"},
			{"graceful shutdown", &centralv1.TagNodeRequest{Node: "n01", Value: "65535:0", Meaning: "x"}, codes.FailedPrecondition, "well-known"},
			{"an action", &centralv1.TagNodeRequest{Node: "n01", Value: "57629:666", Meaning: "x"}, codes.FailedPrecondition, "blackhole"},
			{"no community", &centralv1.TagNodeRequest{Node: "n01", Value: "hello", Meaning: "x"}, codes.InvalidArgument, "not a community"},
			{"no node", &centralv1.TagNodeRequest{Node: "n09", Value: "57629:103", Meaning: "x"}, codes.InvalidArgument, `no node "n09"`},
		} {
			_, err := l.api.TagNode(l.ctx(), tt.r)
			if status.Code(err) != tt.code || err != nil && !strings.Contains(err.Error(), tt.text) {
				t.Errorf("%s: %v, want %s %s", tt.name, err, tt.code, tt.text)
			}
		}
		pass(time.Second)
		in := l.edges["n01"].intent()
		if len(in.GetTags()) != 2 || in.GetTags()[0].GetMeaning() != "Moscow 1" || in.GetTags()[0].GetBy() != "noc/anna" {
			t.Errorf("the edge has %v", in.GetTags())
		}
		if _, err := l.api.UntagNode(l.ctx(), &centralv1.UntagNodeRequest{Node: "n01", Value: "57629:101"}); err != nil {
			t.Error(err)
		}
		if n, err := l.api.GetNode(l.ctx(), &centralv1.GetNodeRequest{Name: "n01"}); err != nil || len(n.GetTags()) != 1 {
			t.Errorf("%v, %v", n.GetTags(), err)
		}
		if _, err := l.api.UntagNode(l.ctx(), &centralv1.UntagNodeRequest{Node: "n01", Value: "57629:101"}); status.Code(err) != codes.InvalidArgument {
			t.Errorf("once more: %v", err)
		}
	})
}

func TestManyTagsAtOnceWaitForWhatNeighboursTolerate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, fleet.Limits{})
		l.join(1)
		pass(time.Minute)
		for _, v := range []string{"57629:1", "57629:2", "57629:3", "57629:4"} {
			if _, err := l.api.TagNode(l.ctx(), &centralv1.TagNodeRequest{Node: "n01", Value: v, Meaning: "x"}); err != nil {
				t.Fatal(err)
			}
		}
		pass(time.Second)
		if n := len(l.edges["n01"].intent().GetTags()); n != 3 {
			t.Errorf("%d tags told at once; three changes are 1500 points, a fourth would be 2000", n)
		}
		pass(15 * time.Minute)
		if n := len(l.edges["n01"].intent().GetTags()); n != 4 {
			t.Errorf("%d tags told after a half-life", n)
		}
	})
}

func TestGenerationsGrowOverRestartsOfTheCentre(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, fleet.Limits{})
		e := l.join(1)[0]
		pass(time.Minute)
		last := e.intent().GetGeneration()
		for i := range 5 {
			e.leave()
			l.kill()
			if i == 3 { // a centre that knows less than the edge
				_ = l.store.Close()
				l.store = store.NewMemory()
			}
			l.start()
			e.connect()
			pass(5 * time.Second)
			if g := e.intent().GetGeneration(); g <= last {
				t.Fatalf("restart %d: generation %d after %d", i, g, last)
			}
			last = e.intent().GetGeneration()
		}
		pass(10 * time.Minute)
		if g := e.intent().GetGeneration(); g > last+3 {
			t.Errorf("nothing has changed, and the generation went from %d to %d", last, g)
		}
	})
}

func TestANodeIsOutOnlyWithTheLimitsLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, fleet.Limits{MinAnnouncing: 2})
		l.join(3)
		pass(time.Minute)
		set := func(name string, disabled, override bool) error {
			_, err := l.api.SetNode(l.ctx(), &centralv1.SetNodeRequest{Name: name, Disabled: proto.Bool(disabled), Reason: "rack", OverrideSafety: override})
			return err
		}
		if err := set("n01", true, false); err != nil {
			t.Fatal(err)
		}
		pass(30 * time.Second)
		if n := l.announcing(); n != 2 {
			t.Errorf("%d announce", n)
		}
		if err := set("n02", true, false); status.Code(err) != codes.FailedPrecondition {
			t.Errorf("the second: %v", err)
		}
		if err := set("n02", true, true); err != nil {
			t.Errorf("in spite of it: %v", err)
		}
		records, err := l.api.ListAudit(l.ctx(), &centralv1.ListAuditRequest{Target: "n02"})
		if err != nil || len(records.GetRecords()) != 2 || records.GetRecords()[0].GetOutcome() != "done" || !strings.Contains(records.GetRecords()[0].GetDetail(), "in spite of") ||
			records.GetRecords()[1].GetOutcome() != "refused" || records.GetRecords()[1].GetWho() != "noc/anna" {
			t.Errorf("audit: %v, %v", records, err)
		}
		for _, name := range []string{"n01", "n02"} {
			if err := set(name, false, false); err != nil {
				t.Error(err)
			}
		}
		pass(2 * time.Minute)
		if n := l.announcing(); n != 3 {
			t.Errorf("%d announce in the end", n)
		}
		if v, err := l.api.VerifyAudit(l.ctx(), nil); err != nil || !v.GetOk() {
			t.Errorf("%v, %v", v, err)
		}
	})
}

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

func TestHistoryTellsHowItWas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, fleet.Limits{})
		edges := l.join(3)
		pass(5 * time.Minute)
		before := time.Now()
		edges[0].leave()
		pass(5 * time.Minute)
		count := func(at time.Time) (int, error) {
			s, err := l.api.History(l.ctx(), &centralv1.HistoryRequest{At: timestamppb.New(at)})
			if err != nil {
				return 0, err
			}
			return int(s.GetServices()[0].GetAnnouncing()), nil
		}
		if n, err := count(before); err != nil || n != 3 {
			t.Errorf("before: %d, %v", n, err)
		}
		if n, err := count(time.Now()); err != nil || n != 2 {
			t.Errorf("now: %d, %v", n, err)
		}
		if _, err := count(before.Add(-time.Hour)); status.Code(err) != codes.InvalidArgument {
			t.Errorf("before everything: %v", err)
		}
		old, _, _ := l.store.List(t.Context(), kindHistory+"/")
		if err := l.f.record(t.Context(), l.fleet(), time.Now().Add(recordKeep+time.Hour)); err != nil {
			t.Fatal(err)
		}
		if items, _, err := l.store.List(t.Context(), kindHistory+"/"); err != nil || len(old) == 0 || len(items) != 1 {
			t.Errorf("a week later %d of %d records are kept, %v", len(items), len(old), err)
		}
	})
}

func TestAnOverriddenLimitExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, fleet.Limits{MinAnnouncing: 2})
		l.join(2)
		pass(time.Minute)
		r := &centralv1.SetFleetOverrideRequest{Selector: &centralv1.Selector{Nodes: []string{"n01"}}, Verb: "drain", Reason: "fire"}
		if _, err := l.api.SetFleetOverride(l.ctx(), r); status.Code(err) != codes.FailedPrecondition {
			t.Errorf("over the limit: %v", err)
		}
		r.OverrideSafety = true
		if _, err := l.api.SetFleetOverride(l.ctx(), r); status.Code(err) != codes.InvalidArgument {
			t.Errorf("for ever: %v", err)
		}
		r.Duration = durationpb.New(time.Hour)
		o, err := l.api.SetFleetOverride(l.ctx(), r)
		if err != nil {
			t.Fatal(err)
		}
		pass(time.Second)
		if in := l.edges["n01"].intent(); len(in.GetOverrides()) != 1 || in.GetOverrides()[0].GetId() != o.GetId() || l.f.w.overridden(time.Now()) != 1 {
			t.Errorf("%v", in)
		}
		pass(61 * time.Minute)
		if in := l.edges["n01"].intent(); len(in.GetOverrides()) != 0 || l.f.w.overridden(time.Now()) != 0 {
			t.Errorf("after its time: %v", in)
		}
	})
}

const mail = `BEGIN:VCALENDAR
VERSION:2.0
PRODID:-//Example//Maint Note//
BEGIN:VEVENT
SUMMARY:Card swap
DTSTART;VALUE=DATE-TIME:20000301T010000Z
DTEND;VALUE=DATE-TIME:20000301T030000Z
DTSTAMP;VALUE=DATE-TIME:20000101T000000Z
UID:42
SEQUENCE:SEQ
X-MAINTNOTE-PROVIDER:example.com
X-MAINTNOTE-ACCOUNT:137.035999173
X-MAINTNOTE-MAINTENANCE-ID:WorkOrder-31415
X-MAINTNOTE-IMPACT:OUTAGE
X-MAINTNOTE-OBJECT-ID:C-n01
X-MAINTNOTE-STATUS:STATUS
ORGANIZER;CN="Example NOC":mailto:noone@example.com
END:VEVENT
END:VCALENDAR
`

func TestAnImportMakesProposalsThatAPersonConfirms(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, fleet.Limits{})
		l.join(2)
		pass(time.Minute)
		send := func(sequence, state string) *centralv1.ImportWindowsResponse {
			t.Helper()
			text := strings.NewReplacer("SEQ\n", sequence+"\n", "STATUS:STATUS", "STATUS:"+state, "\n", "\r\n").Replace(mail)
			out, err := l.api.ImportWindows(l.ctx(), &centralv1.ImportWindowsRequest{Name: "mail.ics", Content: []byte(text)})
			if err != nil {
				t.Fatal(err)
			}
			return out
		}
		first := send("1", "CONFIRMED")
		if len(first.GetProposals()) != 1 || first.GetProposals()[0].GetState() != "proposed" || first.GetProposals()[0].GetProvider().GetMaintenanceId() != "WorkOrder-31415" {
			t.Fatalf("%v", first)
		}
		id := first.GetProposals()[0].GetId()
		pass(time.Second)
		if in := l.edges["n01"].intent(); len(in.GetWindows()) != 0 {
			t.Errorf("a proposal is told to edges: %v", in.GetWindows())
		}
		if again := send("1", "CONFIRMED"); len(again.GetProposals()) != 0 || len(again.GetProblems()) != 1 {
			t.Errorf("the same mail again: %v", again)
		}
		got, err := l.api.ConfirmWindow(l.ctx(), &centralv1.ConfirmWindowRequest{Id: id, Reason: "agreed"})
		if err != nil || got.GetWindow().GetState() != "scheduled" || len(got.GetWarnings()) != 1 {
			t.Fatalf("%v, %v", got, err)
		}
		pass(time.Second)
		if in := l.edges["n01"].intent(); len(in.GetWindows()) != 1 || in.GetWindows()[0].GetSelector().GetNeighbors()[0] != "circuit=C-n01" {
			t.Errorf("%v", in.GetWindows())
		}
		if in := l.edges["n02"].intent(); len(in.GetWindows()) != 0 {
			t.Errorf("n02 is told of it: %v", in.GetWindows())
		}
		off := send("2", "CANCELLED")
		if len(off.GetProposals()) != 1 {
			t.Fatalf("%v", off)
		}
		if _, err := l.api.ConfirmWindow(l.ctx(), &centralv1.ConfirmWindowRequest{Id: off.GetProposals()[0].GetId(), Reason: "called off"}); err != nil {
			t.Fatal(err)
		}
		pass(time.Second)
		if w, err := l.api.GetWindow(l.ctx(), &centralv1.GetWindowRequest{Id: id}); err != nil || w.GetState() != "cancelled" {
			t.Errorf("%v, %v", w, err)
		}
		if in := l.edges["n01"].intent(); len(in.GetWindows()) != 0 {
			t.Errorf("still told: %v", in.GetWindows())
		}
	})
}

func TestWindowsEndEarlyAndAreCalledOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, fleet.Limits{})
		l.join(3)
		pass(time.Minute)
		got, err := l.api.AddWindow(l.ctx(), &centralv1.AddWindowRequest{Selector: &centralv1.Selector{Labels: map[string]string{"rack": "r1"}, Services: []string{video}},
			Start: "now", Duration: durationpb.New(time.Hour), Reason: "disk", Ticket: "T-1"})
		if err != nil {
			t.Fatal(err)
		}
		id := got.GetWindow().GetId()
		pass(time.Minute)
		if l.states()[stateWithdrawn] == 0 {
			t.Fatalf("%v: nobody is in the window %v", l.states(), got)
		}
		if w, err := l.api.EndWindow(l.ctx(), &centralv1.EndWindowRequest{Id: id}); err != nil || w.GetEnded() == nil {
			t.Fatalf("%v, %v", w, err)
		}
		pass(2 * time.Minute)
		if n := l.states(); n[stateAnnounced] != 3 || len(l.fleet().GetGrants()) != 0 {
			t.Errorf("%v, grants %v", n, l.fleet().GetGrants())
		}
		if _, err := l.api.EndWindow(l.ctx(), &centralv1.EndWindowRequest{Id: id}); status.Code(err) != codes.InvalidArgument {
			t.Errorf("ended twice: %v", err)
		}
		if list, err := l.api.ListWindows(l.ctx(), &centralv1.ListWindowsRequest{}); err != nil || len(list.GetWindows()) != 0 {
			t.Errorf("%v, %v", list, err)
		}
		if list, err := l.api.ListWindows(l.ctx(), &centralv1.ListWindowsRequest{All: true}); err != nil || len(list.GetWindows()) != 1 || list.GetWindows()[0].GetState() != "ended" {
			t.Errorf("%v, %v", list, err)
		}
	})
}

func TestANodeThatIsGoneIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, fleet.Limits{})
		edges := l.join(2)
		pass(time.Minute)
		forget := func() error {
			_, err := l.api.SetNode(l.ctx(), &centralv1.SetNodeRequest{Name: "n01", Forget: true, Reason: "sold"})
			return err
		}
		if err := forget(); status.Code(err) != codes.FailedPrecondition {
			t.Errorf("while it is connected: %v", err)
		}
		edges[0].leave()
		pass(time.Second)
		if err := forget(); err != nil {
			t.Error(err)
		}
		if s := l.fleet(); len(s.GetNodes()) != 1 {
			t.Errorf("%v", s.GetNodes())
		}
	})
}
