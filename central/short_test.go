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

// TestWhatPeopleSayIsShort: every edge that a window is for gets its texts, and one
// that got more than its gRPC takes would be cut off from the centre.
func TestWhatPeopleSayIsShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, fleet.Limits{})
		l.join(2)
		pass(time.Second)
		long := strings.Repeat("m", maxSaid+1)
		window := func(reason, ticket string) error {
			_, err := l.api.AddWindow(l.ctx(), &centralv1.AddWindowRequest{Selector: &centralv1.Selector{Nodes: []string{"n01"}},
				Start: "2001-01-01T00:00:00Z", Duration: durationpb.New(time.Minute), Reason: reason, Ticket: ticket})
			return err
		}
		tag := func(meaning string) error {
			_, err := l.api.TagNode(l.ctx(), &centralv1.TagNodeRequest{Node: "n01", Value: "57629:101", Meaning: meaning, Reason: "test"})
			return err
		}
		for what, err := range map[string]error{"reason": window(long, ""), "ticket": window("test", long), "meaning": tag(long)} {
			if status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), what) {
				t.Errorf("a long %s: %v", what, err)
			}
		}
		if err := window(long[1:], long[1:]); err != nil {
			t.Error(err)
		}
		if err := tag(long[1:]); err != nil {
			t.Error(err)
		}
	})
	if got := short(strings.Repeat("я", maxSaid)); len(got) > maxSaid || !strings.HasSuffix(got, "я…") {
		t.Errorf("cut to %d bytes, which end with %q", len(got), got[len(got)-8:])
	}
}

// TestAnEdgeIsToldOfItselfOnly: with a window for thousands of nodes each of them would
// be told the names of all.
func TestAnEdgeIsToldOfItselfOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, fleet.Limits{})
		edges := l.join(4)
		pass(time.Minute)
		for what, s := range map[string]*centralv1.Selector{
			"nodes": {Nodes: []string{"n01", "n02", "n03"}}, "sites": {Sites: []string{"site0", "site1"}},
			"labels": {Labels: map[string]string{"rack": "r0"}}, "neighbours": {Neighbors: []string{"transit-a"}},
		} {
			if _, err := l.api.AddWindow(l.ctx(), &centralv1.AddWindowRequest{Selector: s, Start: "2000-02-01T00:00:00Z",
				Duration: durationpb.New(time.Minute), Reason: what, OverrideSafety: true}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := l.api.SetFleetOverride(l.ctx(), &centralv1.SetFleetOverrideRequest{Selector: &centralv1.Selector{All: true, Expect: 4},
			Verb: "announce", Reason: "all"}); err != nil {
			t.Fatal(err)
		}
		pass(2 * time.Second)
		want := map[string]string{"nodes": "[n01] [] []", "sites": "[n01] [] []", "labels": "[n01] [] []", "neighbours": "[] [] [transit-a]"}
		text := func(s *centralv1.Selector) string {
			return fmt.Sprint(s.GetNodes(), s.GetSites(), s.GetNeighbors())
		}
		in := edges[0].intent()
		for _, w := range in.GetWindows() {
			if got := text(w.GetSelector()); got != want[w.GetReason()] {
				t.Errorf("the window for %s is for %s", w.GetReason(), got)
			}
			delete(want, w.GetReason())
		}
		if len(want) > 0 || len(in.GetOverrides()) != 1 || text(in.GetOverrides()[0].GetSelector()) != "[n01] [] []" {
			t.Errorf("not told: %v; the word: %v", want, in.GetOverrides())
		}
		if n := edges[3].intent().GetWindows(); !slices.ContainsFunc(n, func(w *centralv1.Window) bool { return text(w.GetSelector()) == "[n04] [] []" }) || len(n) != 2 {
			t.Errorf("n04 is told %v", n)
		}
	})
}
