package central

import (
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
	"github.com/catchment-bgp/catchment/policy/fleet"
)

// linked has a node's two neighbours on links of their own names, with 4 and 1 Gbit/s of
// 10 each.
func (e *simEdge) linked() {
	e.hello.Neighbors[0].Link, e.hello.Neighbors[1].Link = "a", "b"
	e.links = []*centralv1.LinkReport{{Name: "a", Load: 4e9, Capacity: 10e9, Known: true}, {Name: "b", Load: 1e9, Capacity: 10e9, Known: true}}
}

func TestADryRunSaysWhereTheLoadOfOneNeighbourLandsOrWhyItIsNotKnown(t *testing.T) {
	oneNeighbor := &centralv1.Selector{Nodes: []string{"n01"}, Neighbors: []string{"transit-a"}}
	for name, c := range map[string]struct {
		sel    *centralv1.Selector
		start  string
		change func(e *simEdge)
		lands  map[string][2]float64
		says   []string
	}{
		"a link of its own": {sel: oneNeighbor, lands: map[string][2]float64{"n01": {0.25, 0.1}, "n02": {0.2, 0.6}, "n03": {0.2, 0.2}}},
		"a link without load": {sel: oneNeighbor, change: func(e *simEdge) { e.links[0].Load = 0 },
			lands: map[string][2]float64{"n01": {0.05, 0.1}, "n02": {0.2, 0.2}, "n03": {0.2, 0.2}}},
		"no load at all": {sel: oneNeighbor, change: func(e *simEdge) { e.links[0].Load, e.links[1].Load = 0, 0 },
			lands: map[string][2]float64{"n01": {0, 0}, "n02": {0.2, 0.2}, "n03": {0.2, 0.2}}},
		"a link of two": {sel: oneNeighbor, change: func(e *simEdge) { e.hello.Neighbors[1].Link = "a" },
			says: []string{"neighbour transit-a of node n01: its link a carries transit-b, too, and whose load how much of it is is not known"}},
		"no link": {sel: oneNeighbor, change: func(e *simEdge) { e.hello.Neighbors[0].Link = "" },
			says: []string{"neighbour transit-a of node n01: it names no link that its load could be read from"}},
		"a link without figures": {sel: oneNeighbor, change: func(e *simEdge) { e.links = e.links[1:] },
			says: []string{"neighbour transit-a of node n01: its link a has no figure"}},
		"a stale figure of another link": {sel: oneNeighbor, change: func(e *simEdge) { e.links[1].Stale = true },
			says: []string{"neighbour transit-a of node n01: not all of the node's links have a fresh figure"}},
		"one service of two": {sel: &centralv1.Selector{Nodes: []string{"n01"}, Services: []string{video}}, change: func(e *simEdge) {
			e.hello.Services = append(e.hello.Services, &centralv1.EdgeService{Name: "dns", Prefixes: []string{"203.0.113.0/24"}})
		}, says: []string{"service video of node n01 at transit-a, transit-b: other services go on there, and which load is whose is not known"}},
		"a node that announces nothing": {sel: oneNeighbor, change: func(e *simEdge) { e.alone = true },
			says: []string{"node n01 announces nothing then: it carries no load"}},
		"both neighbours: the whole node": {sel: &centralv1.Selector{Nodes: []string{"n01"}, Neighbors: []string{"transit-a", "transit-b"}},
			lands: map[string][2]float64{"n02": {0.2, 0.2 + 0.5}, "n03": {0.2, 0.2}}},
		"the neighbour of all nodes": {sel: &centralv1.Selector{Neighbors: []string{"transit-a"}},
			lands: map[string][2]float64{"n01": {0.25, 0.1}, "n02": {0.2, 0.6}, "n03": {0.2, 0.2}},
			says: []string{"neighbour transit-a of node n02: it names no link that its load could be read from",
				"neighbour transit-a of node n03: it names no link that its load could be read from"}},
		"in a year": {sel: oneNeighbor, start: "2001-01-01T00:00:00Z", says: []string{"it begins in more than 60 days: no load is expected of them yet"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLab(t, fleet.Limits{MinAnnouncing: 1})
				edges := l.join(3)
				edges[0].leave()
				edges[0].linked()
				if c.change != nil {
					c.change(edges[0])
				}
				edges[0].connect()
				pass(time.Minute)
				if c.start == "" {
					c.start = "now"
				}
				out, err := l.api.AddWindow(l.ctx(), &centralv1.AddWindowRequest{Selector: c.sel, Start: c.start, Duration: durationpb.New(time.Hour), Reason: "a card", DryRun: true})
				if err != nil {
					t.Fatal(err)
				}
				if len(out.GetLandings()) != len(c.lands) || !slices.Equal(out.GetUnknownLandings(), c.says) {
					t.Errorf("it lands so: %v; unknown: %q; want %v, %q", out.GetLandings(), out.GetUnknownLandings(), c.lands, c.says)
				}
				for _, got := range out.GetLandings() {
					want := c.lands[got.GetNode()]
					if math.Abs(got.GetUtilization()-want[0]) > 1e-9 || math.Abs(got.GetWouldBe()-want[1]) > 1e-9 {
						t.Errorf("%v, want %v", got, want)
					}
				}
			})
		})
	}
}

func TestADryRunCountsWhatOtherWindowsLeaveOfANode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, fleet.Limits{MinAnnouncing: 1})
		edges := l.join(2)
		edges[0].leave()
		edges[0].linked()
		edges[0].connect()
		pass(time.Minute)
		window := &centralv1.AddWindowRequest{Selector: &centralv1.Selector{Nodes: []string{"n01"}, Neighbors: []string{"transit-b"}},
			Start: "2000-01-02T00:00:00Z", Duration: durationpb.New(time.Hour), Reason: "a card"}
		if _, err := l.api.AddWindow(l.ctx(), window); err != nil {
			t.Fatal(err)
		}
		window.DryRun, window.Selector.Neighbors = true, []string{"transit-a"}
		out, err := l.api.AddWindow(l.ctx(), window)
		if err != nil || len(out.GetLandings()) != 1 || math.Abs(out.GetLandings()[0].GetWouldBe()-0.7) > 1e-9 || len(out.GetUnknownLandings()) != 0 {
			t.Errorf("both neighbours away, by two windows: %v, %v", out, err)
		}
		window.Start = "2000-01-02T05:00:00Z"
		out, err = l.api.AddWindow(l.ctx(), window)
		if err != nil || len(out.GetLandings()) != 2 || strings.Contains(out.String(), "transit-b, too") {
			t.Errorf("after the other window: %v, %v", out, err)
		}
	})
}
