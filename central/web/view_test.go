package web

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
	edgev1 "github.com/catchment-bgp/catchment/api/edge/v1"
	"github.com/catchment-bgp/catchment/community/registry"
)

func when(ago time.Duration) *timestamppb.Timestamp { return timestamppb.New(noon.Add(-ago)) }

// aNode is a node as the API has it, with one service and two neighbours.
func aNode(name, site, state, reason string) *centralv1.Node {
	return &centralv1.Node{Name: name, Site: site, State: state, Reason: reason, Connected: true, LastSeen: when(time.Second),
		Neighbors: []*centralv1.EdgeNeighbor{{Name: "transit-a", Asn: 65001, Kind: "transit"}, {Name: "rr", Asn: 57629, Kind: "internal"}},
		Sessions:  []*centralv1.NeighborReport{{Name: "transit-a", Session: "established"}, {Name: "rr", Session: "established"}},
		Services:  []*centralv1.ServiceReport{{Name: "video", State: state, Reason: reason, Detail: "web: connection refused"}},
		Tags:      []*centralv1.Tag{{Value: "57629:101", Meaning: "Moscow"}}}
}

func TestANodeLooksAsItIs(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(*centralv1.Node)
		tone   tone
		reason string
		seen   string
	}{
		{"announced", func(*centralv1.Node) {}, calm, "normal", "connected"},
		{"a session is down", func(n *centralv1.Node) { n.Sessions[0].Session = "connect" }, warm, "normal", "connected"},
		{"steered", func(n *centralv1.Node) { n.State, n.Reason = "steered", "load" }, warm, "load", "connected"},
		{"withdrawn", func(n *centralv1.Node) { n.State, n.Reason = "withdrawn", "hard_failure" }, hot, "hard_failure", "connected"},
		{"away", func(n *centralv1.Node) { n.State, n.Connected, n.LastSeen = "unseen", false, when(2*time.Minute) }, hot, "normal", "2 min ago"},
		{"never seen", func(n *centralv1.Node) { n.State, n.Connected, n.LastSeen = "unseen", false, nil }, hot, "normal", "never"},
		{"disabled", func(n *centralv1.Node) { n.State, n.Disabled = "withdrawn", true }, dull, "disabled", "connected"},
		{"a reserve", func(n *centralv1.Node) { n.State, n.Standby = "withdrawn", true }, dull, "standby", "connected"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			n := aNode("msk1", "moscow", "announced", "normal")
			tc.change(n)
			if row := rowOf(n, noon); row.Tone != tc.tone || row.Reason != tc.reason || row.Seen != tc.seen {
				t.Errorf("%s, %s, seen %s", row.Tone, row.Reason, row.Seen)
			}
		})
	}
}

func TestTheFleetIsBySiteAndWhatIsNotAsUsualComesFirst(t *testing.T) {
	f := &centralv1.FleetStatus{Nodes: []*centralv1.Node{aNode("spb1", "petersburg", "announced", "normal"), aNode("msk1", "moscow", "announced", "normal"),
		aNode("msk2", "moscow", "withdrawn", "hard_failure"), aNode("lost", "", "announced", "normal")}}
	p := fleetView(f, noon)
	var sites []string
	for _, s := range p.Sites {
		sites = append(sites, fmt.Sprintf("%s %d/%d %v", s.Name, s.Announcing, len(s.Nodes), s.Quiet))
	}
	if want := []string{"moscow 1/2 false", "no site 1/1 true", "petersburg 1/1 true"}; !slices.Equal(sites, want) {
		t.Errorf("sites %q", sites)
	}
	if len(p.Trouble) != 1 || p.Trouble[0].Name != "msk2" || p.Trouble[0].Detail != "video: web: connection refused" || p.Calm || p.Folded {
		t.Errorf("not as usual: %+v, calm %v, folded %v", p.Trouble, p.Calm, p.Folded)
	}
	f.Nodes = slices.DeleteFunc(f.Nodes, func(n *centralv1.Node) bool { return n.GetName() == "msk2" })
	if !fleetView(f, noon).Calm {
		t.Error("a fleet without trouble is not calm")
	}
	f.Frozen, f.FrozenReason = true, "a change"
	if fleetView(f, noon).Calm {
		t.Error("a frozen fleet is calm")
	}
}

func TestRoutesSayHowLongTheirPathIsAndWhatTheirCommunitiesMean(t *testing.T) {
	route := &edgev1.Route{Prefix: "198.51.100.0/24", Prepend: 2, Communities: []string{"57629:101", "65535:0", "65001:9"}}
	d := &centralv1.NodeDetail{Node: aNode("msk1", "moscow", "announced", "normal"), Detail: &centralv1.Detail{Status: &edgev1.StatusResponse{
		Services: []*edgev1.Service{{Name: "video", State: "announced", Neighbors: []*edgev1.Neighbor{
			{Name: "transit-a", Session: "established", State: "announced", Settled: true, Routes: []*edgev1.Route{route}},
			{Name: "rr", Session: "established", State: "announced", Routes: []*edgev1.Route{route}}}}}}}}
	neighbors := nodeView(d, registry.New(), noon).Services[0].Neighbors
	at := neighbors[0].Routes[0]
	if at.Length != 3 || neighbors[1].Routes[0].Length != 0 {
		t.Errorf("paths of %d and, within the AS, %d", at.Length, neighbors[1].Routes[0].Length)
	}
	if v := at.Values; v[0].Meaning != "Moscow" || !strings.Contains(v[1].Meaning, "GRACEFUL_SHUTDOWN") || v[2].Meaning != "" {
		t.Errorf("meanings %q", v)
	}
	if neighbors[0].Tone != calm || neighbors[1].Tone != warm {
		t.Errorf("settled is %s, not settled %s", neighbors[0].Tone, neighbors[1].Tone)
	}
}

func TestDecisionsAreNewestFirstAndOnTheCurveOfTheirLink(t *testing.T) {
	d := &centralv1.Detail{
		Decisions: []*edgev1.Decision{{At: when(2 * time.Hour), Service: "video", From: "withdrawn (hard_failure)", To: "announced (normal)", Trigger: "check results"}},
		Steering: []*edgev1.LoadDecision{{At: when(time.Hour), Link: "a", Neighbor: "transit-a", From: 0, To: 1, Utilization: proto.Float64(0.9)},
			{At: when(3 * time.Hour), Link: "b", Neighbor: "transit-b", From: 1, To: 0},
			{At: when(30 * time.Hour), Link: "a", Neighbor: "transit-a", From: 2, To: 0}}}
	all := decisionsOf(d)
	var got []string
	for _, c := range all {
		got = append(got, fmt.Sprint(c.Mark, " ", c.About, " ", c.Change))
	}
	want := []string{"4 transit-a, link a rung 0 → 1", "3 video withdrawn (hard_failure) → announced (normal)", "2 transit-b, link b rung 1 → 0", "1 transit-a, link a rung 2 → 0"}
	if !slices.Equal(got, want) {
		t.Errorf("decisions %q", got)
	}
	var marks []int
	for _, m := range marksOn(d, "a", all, noon) {
		marks = append(marks, m.Mark)
	}
	if !slices.Equal(marks, []int{3, 4}) {
		t.Errorf("on the curve of a: %v", marks)
	}
}

func TestFiguresAreSaidForPeople(t *testing.T) {
	for v, want := range map[float64]string{0: "0 bit/s", 999: "999 bit/s", 1.5e3: "1.5 kbit/s", 2e9: "2 Gbit/s", 1.25e12: "1.2 Tbit/s", -1: "unknown"} {
		if got := rate(v); got != want {
			t.Errorf("%v is %q, not %q", v, got, want)
		}
	}
	bar := string(linkBar(&centralv1.LinkReport{Name: `<a">`, Known: true, Utilization: 1.2, Capacity: 1e10, Target: 0.82}))
	if strings.Contains(bar, "<a") || !strings.Contains(bar, "120 % of 10 Gbit/s, target 82 %") || !strings.Contains(bar, `class="over"`) {
		t.Errorf("a bar is %s", bar)
	}
}
