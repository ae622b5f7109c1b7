package central

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
	"github.com/catchment-bgp/catchment/policy/fleet"
)

// The tests of this file carry the numbers of the failures that others had.

func TestF1AFleetThatLosesItsSoftChecksStaysAnnounced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, fleet.Limits{MinAnnouncing: 15, MaxWithdrawn: 0.34})
		edges := l.join(20)
		pass(time.Minute)
		for _, e := range edges {
			e.set(func(e *simEdge) { e.soft = false })
		}
		for range 30 {
			pass(10 * time.Second)
			if n := l.states(); n[stateWithdrawn] > 5 || n[stateAnnounced]+n[stateSteered] < 15 {
				t.Fatalf("of 20 nodes: %v", n)
			}
		}
		if len(l.fleet().GetGrants()) == 0 {
			t.Error("nobody was given leave, though five could go")
		}
		l.kill() // and the centre as well: what is granted runs out, and they are steered
		pass(2 * time.Minute)
		if n := l.states(); n[stateSteered] != 20 {
			t.Errorf("without a centre: %v", n)
		}
	})
}

func TestF1OneBadHardCheckEverywhereLeavesTheLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, fleet.Limits{MinAnnouncing: 3})
		edges := l.join(20)
		pass(time.Minute)
		for _, e := range edges {
			e.set(func(e *simEdge) { e.hard = false })
		}
		for range 60 {
			pass(5 * time.Second)
			if n := l.states(); n[stateSteered] < 3 {
				t.Fatalf("%v: fewer than three announce", n)
			}
		}
		if n := l.states(); n[stateWithdrawn] != 17 {
			t.Errorf("%v: 17 of 20 withdraw", n)
		}
	})
}

func TestF2WhatWouldWithdrawTheFleetIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, fleet.Limits{MinAnnouncing: 2, MaxWithdrawn: 0.34})
		edges := l.join(20)
		for _, e := range edges {
			e.set(func(e *simEdge) { e.load = 0.1e9 })
		}
		pass(time.Minute)
		var names []string
		for _, e := range edges[:19] {
			names = append(names, e.name)
		}
		_, err := l.api.SetFleetOverride(l.ctx(), &centralv1.SetFleetOverrideRequest{Selector: &centralv1.Selector{Nodes: names}, Verb: "withdraw", Reason: "policy push"})
		if status.Code(err) != codes.FailedPrecondition || !strings.Contains(err.Error(), "max_withdrawn") {
			t.Errorf("19 of 20 at once: %v", err)
		}
		plan, err := l.api.Plan(l.ctx(), &centralv1.PlanRequest{Drain: names})
		if err != nil || plan.GetAllowed() || plan.GetLimit() != "max_withdrawn" {
			t.Errorf("plan: %v, %v", plan, err)
		}
		pass(time.Minute)
		if l.announcing() != 20 {
			t.Errorf("%d of 20 announce", l.announcing())
		}
	})
}

func TestF3AChangeForSomeIsNoneForOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, fleet.Limits{MinAnnouncing: 2})
		edges := l.join(20)
		pass(time.Minute)
		before := map[string]uint64{}
		for _, e := range edges {
			before[e.name] = e.intent().GetGeneration()
		}
		if _, err := l.api.TagNode(l.ctx(), &centralv1.TagNodeRequest{Node: "n01", Value: "57629:101", Meaning: "Moscow"}); err != nil {
			t.Fatal(err)
		}
		if _, err := l.api.AddWindow(l.ctx(), &centralv1.AddWindowRequest{Selector: &centralv1.Selector{Nodes: []string{"n02"}}, Start: "now",
			Duration: durationpb.New(time.Hour), Reason: "disk"}); err != nil {
			t.Fatal(err)
		}
		pass(time.Minute)
		for _, e := range edges {
			in, named := e.intent(), e.name == "n01" || e.name == "n02"
			if changed := in.GetGeneration() != before[e.name]; changed != named || !named && len(in.GetTags())+len(in.GetWindows()) > 0 {
				t.Errorf("%s: changed %v: %v", e.name, changed, in)
			}
		}
	})
}

func TestF4AnEmptySelectorIsAnErrorAndNotAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, fleet.Limits{MinAnnouncing: 1})
		l.join(3)
		pass(time.Minute)
		for name, s := range map[string]*centralv1.Selector{
			"absent": nil, "empty": {}, "blank": {Nodes: []string{""}}, "nobody": {Nodes: []string{"n99"}}, "star": {Nodes: []string{"*"}},
			"one of two": {Nodes: []string{"n01", "n99"}}, "no label": {Labels: map[string]string{"rack": "r9"}},
			"all without a number": {All: true}, "all, miscounted": {All: true, Expect: 2}, "a number without all": {Nodes: []string{"n01"}, Expect: 1},
			"contradiction": {Nodes: []string{"n01"}, Sites: nil, Neighbors: []string{"n02/transit-a"}},
		} {
			if _, err := l.api.AddWindow(l.ctx(), &centralv1.AddWindowRequest{Selector: s, Start: "now", Duration: durationpb.New(time.Hour), Reason: "x"}); status.Code(err) != codes.InvalidArgument {
				t.Errorf("window, %s: %v", name, err)
			}
			if _, err := l.api.SetFleetOverride(l.ctx(), &centralv1.SetFleetOverrideRequest{Selector: s, Verb: "announce", Reason: "x"}); status.Code(err) != codes.InvalidArgument {
				t.Errorf("override, %s: %v", name, err)
			}
		}
		if o, err := l.api.SetFleetOverride(l.ctx(), &centralv1.SetFleetOverrideRequest{Selector: &centralv1.Selector{All: true, Expect: 3}, Verb: "announce", Reason: "x"}); err != nil || len(o.GetSelector().GetNodes()) != 3 {
			t.Errorf("all of three: %v, %v", o, err)
		}
	})
}

func TestF5WindowsThatOverlapPastTheBudgetAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, fleet.Limits{MinAnnouncing: 2})
		l.join(3)
		pass(time.Minute)
		add := func(node, start string) error {
			_, err := l.api.AddWindow(l.ctx(), &centralv1.AddWindowRequest{Selector: &centralv1.Selector{Nodes: []string{node}}, Start: start,
				Duration: durationpb.New(time.Hour), Lead: durationpb.New(time.Minute), Reason: "routers"})
			return err
		}
		at := func(d time.Duration) string { return time.Now().Add(d).UTC().Format(time.RFC3339) }
		if err := add("n01", at(3*time.Hour)); err != nil {
			t.Fatal(err)
		}
		err := add("n02", at(3*time.Hour+59*time.Minute))
		if status.Code(err) != codes.FailedPrecondition || !strings.Contains(err.Error(), "min_announcing") || !strings.Contains(err.Error(), "n01") {
			t.Errorf("one that overlaps: %v", err)
		}
		if err := add("n02", at(4*time.Hour+2*time.Minute)); err != nil {
			t.Errorf("one after the other: %v", err)
		}
		if err := add("n01", at(2*time.Hour+30*time.Minute)); err != nil {
			t.Errorf("the same node again: %v", err)
		}
		l.kill()
		pass(24 * time.Hour) // all centres dead: the windows hold by the edges' clocks, and nothing else
		if n := l.states(); n[stateAnnounced] != 3 {
			t.Errorf("a day without a centre: %v", n)
		}
	})
}

func TestF7FullNodesKeepWhatNobodyElseCanTake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, fleet.Limits{MinAnnouncing: 1})
		edges := l.join(6)
		pass(4 * time.Minute)
		for _, e := range edges {
			e.set(func(e *simEdge) { e.load, e.hot = 9.5e9, true })
		}
		for range 60 {
			pass(10 * time.Second)
			if n := l.states(); n[stateWithdrawn] > 0 {
				t.Fatalf("%v: a full node withdrew onto others that are full", n)
			}
		}
	})
}

func TestF7AllHearAtOnceThatThereIsNoRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, fleet.Limits{MinAnnouncing: 1})
		edges := l.join(20)
		pass(time.Minute)
		quiet := edges[7]
		if room := quiet.intent().GetRoom(); room < 50e9 {
			t.Fatalf("room for %v", room)
		}
		for _, e := range edges {
			if e != quiet {
				e.set(func(e *simEdge) { e.load = 9.5e9 })
				pass(30 * time.Millisecond) // each by itself is little of the whole
			}
		}
		pass(1500 * time.Millisecond)
		if room := quiet.intent().GetRoom(); room > 4e9 {
			t.Errorf("a node that has not reported since believes in room for %v", room)
		}
	})
}

func TestF7WithRoomOneNodeMovesIn180Seconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, fleet.Limits{MinAnnouncing: 1})
		edges := l.join(6)
		pass(4 * time.Minute)
		for _, e := range edges {
			e.set(func(e *simEdge) { e.load, e.hot = 0.5e9, true })
		}
		for range 120 {
			pass(10 * time.Second)
			if n := l.states()[stateWithdrawn]; n == len(edges) {
				t.Fatal("the last announcer withdrew")
			}
		}
		var issued []time.Time
		for _, g := range l.fleet().GetGrants() {
			issued = append(issued, g.GetIssued().AsTime())
		}
		slices.SortFunc(issued, time.Time.Compare)
		if len(issued) < 3 {
			t.Errorf("%d of %d moved: %v", len(issued), len(edges), edges[5].intent().GetRefusals())
		}
		for i := 1; i < len(issued); i++ {
			if d := issued[i].Sub(issued[i-1]); d < fleet.Quiet {
				t.Errorf("two moved within %s", d)
			}
		}
	})
}

func TestF9AWindowEndsWhileTheCentreIsDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, fleet.Limits{MinAnnouncing: 2})
		edges := l.join(3)
		pass(time.Minute)
		got, err := l.api.AddWindow(l.ctx(), &centralv1.AddWindowRequest{Selector: &centralv1.Selector{Nodes: []string{"n01"}}, Start: "now",
			Duration: durationpb.New(10 * time.Minute), Lead: durationpb.New(30 * time.Second), Reason: "disk"})
		if err != nil {
			t.Fatal(err)
		}
		pass(2 * time.Minute)
		if s := edges[0].tell().GetServices()[0].GetState(); s != stateWithdrawn {
			t.Fatalf("in the window the node is %s", s)
		}
		if w, err := l.api.GetWindow(l.ctx(), &centralv1.GetWindowRequest{Id: got.GetWindow().GetId()}); err != nil || w.GetState() != "safe" {
			t.Errorf("the window is %q, %v", w.GetState(), err)
		}
		for _, e := range edges {
			e.leave()
		}
		l.kill()
		pass(20 * time.Minute)
		if n := l.states(); n[stateAnnounced] != 3 {
			t.Errorf("after the window, without a centre: %v", n)
		}
		l.start()
		for _, e := range edges {
			e.connect()
		}
		pass(time.Minute)
		if s := l.fleet(); len(s.GetGrants()) != 0 || l.announcing() != 3 {
			t.Errorf("the centre is back: %d announce, grants %v", l.announcing(), s.GetGrants())
		}
	})
}

func TestF9ClocksAndRules(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, fleet.Limits{MinAnnouncing: 1})
		l.join(2)
		pass(time.Minute)
		add := func(start, zone, rule string) (*centralv1.AddWindowResponse, error) {
			return l.api.AddWindow(l.ctx(), &centralv1.AddWindowRequest{Selector: &centralv1.Selector{Nodes: []string{"n01"}}, Start: start, Zone: zone,
				Rrule: rule, Duration: durationpb.New(time.Hour), Reason: "clocks"})
		}
		for _, rule := range []string{"FREQ=SECONDLY", "FREQ=MINUTELY", "FREQ=SECONDLY;COUNT=1"} {
			if _, err := add("2000-03-01 02:00", "Europe/Berlin", rule); status.Code(err) != codes.InvalidArgument {
				t.Errorf("%s: %v", rule, err)
			}
		}
		if got, err := add("2000-03-26 02:30", "Europe/Berlin", ""); err != nil || got.GetWindow().GetStart().AsTime().Format(time.RFC3339) != "2000-03-26T01:30:00Z" {
			t.Errorf("in the gap: %v, %v", got, err)
		}
		if got, err := add("2000-10-29 02:30", "Europe/Berlin", ""); err != nil || got.GetWindow().GetStart().AsTime().Format(time.RFC3339) != "2000-10-29T00:30:00Z" || len(got.GetWarnings()) == 0 {
			t.Errorf("in the overlap: %v, %v", got, err)
		}
	})
}
