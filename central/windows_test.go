package central

import (
	"fmt"
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
DTSTART;VALUE=DATE-TIME:20000220T010000Z
DTEND;VALUE=DATE-TIME:20000220T030000Z
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

func TestWindowsAreListedByTimeAndFarOnesAreTakenWithAWarning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, fleet.Limits{})
		l.join(3)
		pass(time.Minute)
		for _, days := range []int{70, 3, 50, 1} {
			start := time.Now().AddDate(0, 0, days)
			got, err := l.api.AddWindow(l.ctx(), &centralv1.AddWindowRequest{Selector: &centralv1.Selector{Nodes: []string{"n01"}},
				Start: start.Format(time.RFC3339), Duration: durationpb.New(time.Hour), Reason: "disk"})
			if err != nil {
				t.Fatal(err)
			}
			if far := strings.Contains(fmt.Sprint(got.GetWarnings()), "more than 60 days"); far != (days > 60) {
				t.Errorf("in %d days: warnings %q", days, got.GetWarnings())
			}
		}
		list, err := l.api.ListWindows(l.ctx(), &centralv1.ListWindowsRequest{})
		if err != nil || len(list.GetWindows()) != 4 {
			t.Fatalf("%v, %v", list, err)
		}
		var starts []time.Time
		for _, w := range list.GetWindows() {
			starts = append(starts, w.GetStart().AsTime())
		}
		if !slices.IsSortedFunc(starts, time.Time.Compare) {
			t.Errorf("listed in this order: %v", starts)
		}
	})
}

func TestAWindowIsJudgedByThePeakOfItsHours(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, fleet.Limits{MinAnnouncing: 1})
		edges := l.join(2)
		load := func(v float64) {
			for _, e := range edges {
				e.set(func(e *simEdge) { e.load = v })
			}
		}
		load(4.5e9)
		pass(30 * time.Minute) // from midnight on
		load(1e9)
		pass(5 * time.Hour)
		add := func(start string) error {
			_, err := l.api.AddWindow(l.ctx(), &centralv1.AddWindowRequest{Selector: &centralv1.Selector{Nodes: []string{"n01"}}, Start: start,
				Duration: durationpb.New(time.Hour), Reason: "routers"})
			return err
		}
		if err := add("2000-01-02T00:30:00Z"); status.Code(err) != codes.FailedPrecondition || !strings.Contains(err.Error(), "brim") {
			t.Errorf("at midnight: %v", err)
		}
		if err := add("2000-01-02T05:00:00Z"); err != nil {
			t.Errorf("in the morning: %v", err)
		}
	})
}

func TestWordsAndWindowsInARowAreHeldAgainstEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, fleet.Limits{MinAnnouncing: 2, MaxWithdrawn: 0.34})
		edges := l.join(20)
		for _, e := range edges {
			e.set(func(e *simEdge) { e.load = 0.1e9 })
		}
		pass(time.Minute)
		word := func(nodes ...string) error {
			_, err := l.api.SetFleetOverride(l.ctx(), &centralv1.SetFleetOverrideRequest{Selector: &centralv1.Selector{Nodes: nodes}, Verb: "withdraw", Reason: "x"})
			return err
		}
		if err := word("n01", "n02", "n03", "n04", "n05"); err != nil {
			t.Fatal(err)
		}
		// No edge has had the time to ask for leave yet.
		if err := word("n06", "n07"); status.Code(err) != codes.FailedPrecondition || !strings.Contains(err.Error(), "max_withdrawn") {
			t.Errorf("two more of six: %v", err)
		}
		window := func(start string, nodes ...string) error {
			_, err := l.api.AddWindow(l.ctx(), &centralv1.AddWindowRequest{Selector: &centralv1.Selector{Nodes: nodes}, Start: start, Duration: durationpb.New(time.Hour), Reason: "x"})
			return err
		}
		for _, start := range []string{"now", time.Now().Add(time.Hour).UTC().Format(time.RFC3339)} {
			if err := window(start, "n06", "n07"); status.Code(err) != codes.FailedPrecondition || !strings.Contains(err.Error(), "max_withdrawn") {
				t.Errorf("a window beside the word, from %s: %v", start, err)
			}
		}
		if err := word("n01", "n06"); err != nil {
			t.Errorf("one of them again, and the sixth: %v", err)
		}
	})
}

func TestWordsThatEachLeaveANeighbourMayLeaveNoneTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, fleet.Limits{MinAnnouncing: 2})
		l.join(3)
		pass(time.Minute)
		word := func(neighbor string) error {
			_, err := l.api.SetFleetOverride(l.ctx(), &centralv1.SetFleetOverrideRequest{Selector: &centralv1.Selector{Neighbors: []string{neighbor}}, Verb: "withdraw", Reason: "x"})
			return err
		}
		window := func(neighbor string) error {
			_, err := l.api.AddWindow(l.ctx(), &centralv1.AddWindowRequest{Selector: &centralv1.Selector{Neighbors: []string{neighbor}}, Start: "now", Duration: durationpb.New(time.Hour), Reason: "x"})
			return err
		}
		if err := word("transit-a"); err != nil {
			t.Fatalf("the first of two neighbours: %v", err)
		}
		for what, err := range map[string]error{"word": word("transit-b"), "window": window("transit-b")} {
			if status.Code(err) != codes.FailedPrecondition || !strings.Contains(err.Error(), "min_announcing") {
				t.Errorf("a %s for the second: %v", what, err)
			}
		}
	})
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, fleet.Limits{MinAnnouncing: 2})
		l.join(3)
		pass(time.Minute)
		if _, err := l.api.AddWindow(l.ctx(), &centralv1.AddWindowRequest{Selector: &centralv1.Selector{Neighbors: []string{"transit-a"}}, Start: "now", Duration: durationpb.New(time.Hour), Reason: "x"}); err != nil {
			t.Fatal(err)
		}
		_, err := l.api.SetFleetOverride(l.ctx(), &centralv1.SetFleetOverrideRequest{Selector: &centralv1.Selector{Neighbors: []string{"transit-b"}}, Verb: "drain", Reason: "x"})
		if status.Code(err) != codes.FailedPrecondition || !strings.Contains(err.Error(), "min_announcing") {
			t.Errorf("a word beside a window: %v", err)
		}
	})
}
