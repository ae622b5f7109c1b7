package central

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
	"github.com/catchment-bgp/catchment/policy/fleet"
)

func TestANodeThatReturnsIsNotSaidToBeSafe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, fleet.Limits{MinAnnouncing: 1})
		l.join(3)
		pass(time.Minute)
		got, err := l.api.AddWindow(l.ctx(), &centralv1.AddWindowRequest{Selector: &centralv1.Selector{Nodes: []string{"n01"}}, Start: "now",
			Duration: durationpb.New(10 * time.Minute), Reason: "disk"})
		if err != nil {
			t.Fatal(err)
		}
		pass(2 * time.Minute)
		id := got.GetWindow().GetId()
		w, err := l.api.GetWindow(l.ctx(), &centralv1.GetWindowRequest{Id: id})
		if err != nil || w.GetState() != "safe" || len(w.GetProgress()) != 1 || w.GetProgress()[0].GetPhase() != "safe" {
			t.Fatalf("in the window: %v, %v", w, err)
		}
		w, err = l.api.EndWindow(l.ctx(), &centralv1.EndWindowRequest{Id: id, Reason: "done"})
		if err != nil || w.GetState() != "ended" {
			t.Fatalf("ended: %v, %v", w, err)
		}
		if len(w.GetProgress()) != 1 {
			t.Errorf("progress %v", w.GetProgress())
		}
		for _, p := range w.GetProgress() {
			if p.GetPhase() != "over" || strings.Contains(p.GetDetail(), "safe") {
				t.Errorf("when it has ended the node is said to be %s: %s", p.GetPhase(), p.GetDetail())
			}
		}
	})
}

func TestARefusalNamesTheWindowThatStandsAgainstIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, fleet.Limits{MinAnnouncing: 1})
		l.join(2)
		pass(time.Minute)
		add := func(node string) (*centralv1.AddWindowResponse, error) {
			return l.api.AddWindow(l.ctx(), &centralv1.AddWindowRequest{Selector: &centralv1.Selector{Nodes: []string{node}},
				Start: time.Now().Add(time.Hour).Format(time.RFC3339), Duration: durationpb.New(10 * time.Minute), Reason: "disk"})
		}
		first, err := add("n01")
		if err != nil {
			t.Fatal(err)
		}
		want := "withdrawn by leave: n01 for window " + first.GetWindow().GetId()
		if _, err := add("n02"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("refused with %v; want %q", err, want)
		}
	})
}

func TestTheLogTellsWhatWasSaidOfANode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, fleet.Limits{MinAnnouncing: 1})
		l.join(3)
		pass(time.Minute)
		on, off := true, false
		for _, do := range []func() error{
			func() error {
				_, err := l.api.SetNode(l.ctx(), &centralv1.SetNodeRequest{Name: "n01", Disabled: &on, Reason: "x"})
				return err
			},
			func() error {
				_, err := l.api.SetNode(l.ctx(), &centralv1.SetNodeRequest{Name: "n01", Disabled: &off, Reason: "x"})
				return err
			},
			func() error {
				_, err := l.api.SetNode(l.ctx(), &centralv1.SetNodeRequest{Name: "n01", Standby: &on, Reason: "x"})
				return err
			},
			func() error {
				_, err := l.api.TagNode(l.ctx(), &centralv1.TagNodeRequest{Node: "n01", Value: "57629:101", Meaning: "Moscow"})
				return err
			},
			func() error {
				_, err := l.api.UntagNode(l.ctx(), &centralv1.UntagNodeRequest{Node: "n01", Value: "57629:101"})
				return err
			},
		} {
			if err := do(); err != nil {
				t.Fatal(err)
			}
		}
		records, err := l.api.ListAudit(l.ctx(), &centralv1.ListAuditRequest{Target: "n01", Limit: 5})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, r := range records.GetRecords() {
			got = append(got, r.GetDetail())
		}
		if want := "57629:101 | 57629:101: Moscow | standby | enabled | disabled"; strings.Join(got, " | ") != want {
			t.Errorf("the log says %q, want %q", got, want)
		}
	})
}

func TestTheLogTellsAnOverriddenLimitFromARefusal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, fleet.Limits{MinAnnouncing: 1})
		l.join(1)
		pass(time.Minute)
		got, err := l.api.AddWindow(l.ctx(), &centralv1.AddWindowRequest{Selector: &centralv1.Selector{Nodes: []string{"n01"}}, Start: "now",
			Duration: durationpb.New(10 * time.Minute), Reason: "disk", OverrideSafety: true})
		if err != nil {
			t.Fatal(err)
		}
		pass(time.Minute)
		for _, target := range []string{got.GetWindow().GetId(), "n01/" + video} {
			records, err := l.api.ListAudit(l.ctx(), &centralv1.ListAuditRequest{Target: target, Limit: 1})
			if err != nil || len(records.GetRecords()) != 1 {
				t.Fatalf("%s: %v, %v", target, records, err)
			}
			if r := records.GetRecords()[0]; r.GetOutcome() != "done" || !strings.HasPrefix(r.GetDetail(), "in spite of a limit: ") {
				t.Errorf("%s: %s, %q", target, r.GetOutcome(), r.GetDetail())
			}
		}
	})
}
