package central

import (
	"regexp"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
	"github.com/catchment-bgp/catchment/policy/fleet"
)

func TestADryRunSaysWhoIsLeftHowFullAndDoesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, fleet.Limits{MinAnnouncing: 2})
		l.join(3)
		pass(time.Minute)
		ask := &centralv1.AddWindowRequest{Selector: &centralv1.Selector{Nodes: []string{"n01"}}, Start: "now", Duration: durationpb.New(time.Hour), Reason: "a disk", DryRun: true}
		out, err := l.api.AddWindow(l.ctx(), ask)
		if err != nil {
			t.Fatal(err)
		}
		if out.GetWindow().GetId() != "" || len(out.GetLandings()) != 2 {
			t.Fatalf("the answer is %v", out)
		}
		worst := out.GetLandings()[0]
		if worst.GetUtilization() != 0.2 || worst.GetWouldBe() != 0.4 {
			t.Errorf("of 2 Gbit/s at each of three nodes with 10, the worst is left with %v", worst)
		}
		if windows, err := l.api.ListWindows(l.ctx(), &centralv1.ListWindowsRequest{All: true}); err != nil || len(windows.GetWindows()) != 0 {
			t.Errorf("there are windows: %v, %v", windows, err)
		}
	})
}

func TestADryRunIsRefusedInTheWordsOfTheRealOneAndNotAudited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, fleet.Limits{MinAnnouncing: 2})
		l.join(2)
		pass(time.Minute)
		ask := &centralv1.AddWindowRequest{Selector: &centralv1.Selector{Nodes: []string{"n01"}}, Start: "now", Duration: durationpb.New(time.Hour), Reason: "a disk", DryRun: true}
		records := func() int {
			all, err := l.api.ListAudit(l.ctx(), &centralv1.ListAuditRequest{})
			if err != nil {
				t.Fatal(err)
			}
			return len(all.GetRecords())
		}
		before := records()
		_, dry := l.api.AddWindow(l.ctx(), ask)
		if status.Code(dry) != codes.FailedPrecondition || records() != before {
			t.Errorf("dry: %v, and %d records more", dry, records()-before)
		}
		ask.DryRun = false
		if _, err := l.api.AddWindow(l.ctx(), ask); err == nil || err.Error() != dry.Error() {
			t.Errorf("dry: %v; real: %v", dry, err)
		}
		ask.DryRun, ask.Reason = true, ""
		if _, err := l.api.AddWindow(l.ctx(), ask); status.Code(err) != codes.InvalidArgument {
			t.Errorf("without a reason: %v", err)
		}
	})
}

var windowID = regexp.MustCompile(`window w-[a-z2-7]{8}`)

func TestADryRunKnowsLabelsAndAllNodesAsTheRealOneDoes(t *testing.T) {
	for name, c := range map[string]struct {
		sel  *centralv1.Selector
		code codes.Code
		hits int
	}{
		"a label of a node":        {&centralv1.Selector{Labels: map[string]string{"rack": "r1"}}, codes.OK, 1},
		"a label of a neighbour":   {&centralv1.Selector{Labels: map[string]string{"circuit": "C-n01"}}, codes.OK, 1},
		"all at a neighbour":       {&centralv1.Selector{All: true, Expect: 3, Neighbors: []string{"transit-a"}}, codes.OK, 3},
		"all":                      {&centralv1.Selector{All: true, Expect: 3}, codes.FailedPrecondition, 0},
		"all, of another number":   {&centralv1.Selector{All: true, Expect: 4}, codes.InvalidArgument, 0},
		"a number without all":     {&centralv1.Selector{Nodes: []string{"n01"}, Expect: 1}, codes.InvalidArgument, 0},
		"a label that nobody has":  {&centralv1.Selector{Labels: map[string]string{"rack": "r9"}}, codes.InvalidArgument, 0},
		"all and some of them too": {&centralv1.Selector{All: true, Expect: 3, Nodes: []string{"n01"}}, codes.InvalidArgument, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLab(t, fleet.Limits{MinAnnouncing: 2})
				l.join(3)
				pass(time.Minute)
				ask := &centralv1.AddWindowRequest{Selector: c.sel, Start: "now", Duration: durationpb.New(time.Hour), Reason: "a disk", DryRun: true}
				dry, err := l.api.AddWindow(l.ctx(), ask)
				if status.Code(err) != c.code || len(dry.GetWindow().GetNodes()) != c.hits {
					t.Errorf("dry: %v, %v", dry, err)
				}
				ask.DryRun = false
				real, again := l.api.AddWindow(l.ctx(), ask)
				said := windowID.ReplaceAllString(status.Convert(again).Message(), "window preview") // it has no id yet
				if status.Convert(err).Message() != said || len(real.GetWindow().GetNodes()) != c.hits {
					t.Errorf("dry: %v; real: %v, %v", err, real, again)
				}
			})
		})
	}
}
