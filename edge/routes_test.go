package edge

import (
	"net/netip"
	"slices"
	"testing"

	"github.com/catchment-bgp/catchment/announcer"
	"github.com/catchment-bgp/catchment/community"
	"github.com/catchment-bgp/catchment/edge/config"
	"github.com/catchment-bgp/catchment/policy"
)

// rendered is what one neighbour is told of one service at a severity.
func rendered(n config.Neighbor, s policy.Severity) []string {
	n.Name, n.IPv4, n.IPv6 = "n", true, true
	n.NextHop4, n.NextHop6 = addr("10.77.1.1"), addr("fd77:1::1")
	c := &config.Config{Neighbors: []config.Neighbor{n}, Services: []config.Service{{
		Name: "video", Neighbors: []string{"n"}, Communities: communities("57629:101"),
		Prefixes: []netip.Prefix{netip.MustParsePrefix("198.51.100.0/24"), netip.MustParsePrefix("203.0.113.0/24")},
	}}}
	cause := policy.Cause{Severity: s}
	return routeTexts(Routes(c, policy.Decision{Services: []policy.ServiceDecision{
		{Name: "video", Neighbors: []policy.NeighborDecision{{Name: "n", IPv4: cause, IPv6: cause}}},
	}})["n"])
}

func communities(texts ...string) community.Set {
	var out community.Set
	for _, text := range texts {
		v, err := community.Parse(text)
		if err != nil {
			panic(err)
		}
		out = out.Union(community.NewSet(v))
	}
	return out
}

func metricOf(n uint32) announcer.Metric { return announcer.Metric{Value: n, Set: true} }

func TestSeveritiesAsEachKindOfNeighbourSeesThem(t *testing.T) {
	kind := func(k announcer.Kind, ladder ...config.Rung) config.Neighbor {
		return config.Neighbor{Neighbor: announcer.Neighbor{Kind: k}, Ladder: ladder}
	}
	prepended := kind(announcer.Transit)
	prepended.Prepend, prepended.MED, prepended.Communities = 4, metricOf(50), communities("65001:1")
	internal := kind(announcer.Internal)
	internal.LocalPref = metricOf(200)
	withdraw := config.Rung{Withdraw: true}
	only := []netip.Prefix{netip.MustParsePrefix("198.51.100.0/24")}
	for _, tt := range []struct {
		name     string
		neighbor config.Neighbor
		severity policy.Severity
		a, b     string // of the first prefix and of the second, behind the next hop
	}{
		{"announced", prepended, policy.Announced, " +4 [57629:101 65001:1] med 50", ""},
		{"withdrawn", prepended, policy.Withdrawn, "", ""},
		{"drained", prepended, policy.Draining, " +4 [57629:101 65001:1 65535:0] med 50", ""},
		{"drained inside", internal, policy.Draining, " [57629:101 65535:0] pref 0", ""},
		{"steered at transit", kind(announcer.Transit), policy.Steered, " +3 [57629:101]", ""},
		{"steered at a peer", kind(announcer.Peer), policy.Steered, " +3 [57629:101]", ""},
		{"never by fewer prepends", prepended, policy.Steered, " +4 [57629:101 65001:1] med 50", ""},
		{"steered at an exchange", kind(announcer.IX), policy.Steered, " [57629:101 65535:0]", ""},
		{"steered at a route server", kind(announcer.RouteServer), policy.Steered, " [57629:101 65535:0]", ""},
		{"steered inside", internal, policy.Steered, " [57629:101 65535:0] pref 0", ""},
		{"the highest rung", kind(announcer.Transit, config.Rung{Prepend: 1, PrependSet: true}, config.Rung{MED: metricOf(9), Communities: communities("65001:2")}, withdraw),
			policy.Steered, " [57629:101 65001:2] med 9", ""},
		{"a rung of totals", kind(announcer.Transit, config.Rung{Prepend: 2, PrependSet: true}), policy.Steered, " +2 [57629:101]", ""},
		{"a rung of GSHUT", kind(announcer.Transit, config.Rung{GSHUT: true, Prepend: 2, PrependSet: true}), policy.Steered, " +2 [57629:101 65535:0]", ""},
		{"a rung of local preference", kind(announcer.Internal, config.Rung{LocalPref: metricOf(7)}), policy.Steered, " [57629:101] pref 7", ""},
		{"a ladder that only withdraws", kind(announcer.Peer, withdraw), policy.Steered, " +3 [57629:101]", ""},
		{"what the highest rung leaves out takes a lower one",
			kind(announcer.Transit, config.Rung{Prepend: 1, PrependSet: true}, config.Rung{Prepend: 5, PrependSet: true, Prefixes: only}),
			policy.Steered, " +5 [57629:101]", " +1 [57629:101]"},
		{"what no rung touches is steered all the same", kind(announcer.Transit, config.Rung{Prepend: 5, PrependSet: true, Prefixes: only}),
			policy.Steered, " +5 [57629:101]", " +3 [57629:101]"},
	} {
		var want []string
		if tt.a != "" {
			if tt.b == "" {
				tt.b = tt.a
			}
			want = []string{"198.51.100.0/24 via 10.77.1.1" + tt.a, "203.0.113.0/24 via 10.77.1.1" + tt.b}
		}
		if got := rendered(tt.neighbor, tt.severity); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", tt.name, got, want)
		}
	}
}

func TestAPrefixThatTheSessionDoesNotCarryIsNotSent(t *testing.T) {
	w := newWorld(t)
	six := w.config(`address: 10.77.2.2`, `address: "fd77:2::2"`, `local_address: 10.77.2.1, families: [ipv4, ipv6], next_hop: {ipv6: "fd77:2::1"}`, `local_address: "fd77:2::1"`)
	if got := policyConfig(six).Services[0].Neighbors[1]; got.IPv4 || !got.IPv6 {
		t.Errorf("at an IPv6 session: %+v", got)
	}
	c := w.config("families: [ipv4, ipv6], next_hop: {ipv6: \"fd77:2::1\"}", "families: [ipv4]")
	well := policy.Input{Health: map[string]policy.Health{"video": {Hard: policy.Up}, "dns": {Hard: policy.Up}}, WayBack4: policy.Up, WayBack6: policy.Up}
	_, d := policy.Next(policyConfig(c), policy.State{}, well)
	routes := Routes(c, d)
	if got := routeTexts(routes["ix"]); !slices.Equal(got, []string{ix4}) {
		t.Errorf("ix: %q", got)
	}
	if got := routeTexts(routes["transit"]); !slices.Equal(got, []string{transit4, transit6, dns4}) {
		t.Errorf("transit: %q", got)
	}
	if got := d.Services[0].Neighbors[1].IPv6; got.Severity != policy.Withdrawn || got.Reason != policy.Normal {
		t.Errorf("the family at ix: %v", got)
	}
}

func TestADecisionOnAServiceThatIsNoLongerConfiguredRendersNothing(t *testing.T) {
	w := newWorld(t)
	routes := Routes(w.config(), policy.Decision{Services: []policy.ServiceDecision{
		{Name: "gone", Neighbors: []policy.NeighborDecision{{Name: "ix"}}},
	}})
	if len(routes) != 2 || len(routes["ix"]) != 0 || routes["ix"] == nil {
		t.Errorf("%v; want an empty list for both neighbours", routes)
	}
}
