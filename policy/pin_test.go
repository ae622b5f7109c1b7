package policy

import (
	"net/netip"
	"testing"
	"time"
)

var (
	prefixA = netip.MustParsePrefix("198.51.100.0/24")
	prefixB = netip.MustParsePrefix("203.0.113.0/24")
	prefix6 = netip.MustParsePrefix("2001:db8:100::/48")
)

// climbing is node() with prefixes and a ladder of four rungs at each neighbour.
func climbing() Config {
	c := node()
	c.Services[0].Prefixes = []netip.Prefix{prefixA, prefixB, prefix6}
	for _, name := range []string{"a", "b"} {
		c.Load.Climbers = append(c.Load.Climbers, Climber{Name: name, ASN: 65001, Link: name, Rungs: []Rung{
			{Sheds: 0.2, Prefixes: []netip.Prefix{prefixA}}, {Sheds: 0.5}, {Sheds: 0.7, Withdraw: true, Prefixes: []netip.Prefix{prefix6}}, {Sheds: 1, Withdraw: true},
		}})
	}
	return c
}

func TestAPinnedRungSteersWhatItTouches(t *testing.T) {
	c := climbing()
	for _, tt := range []struct {
		rung   int
		v4, v6 Severity
		in     int // the rung in force
	}{
		{-1, Announced, Announced, 0}, {0, Announced, Announced, 0}, {1, Steered, Announced, 1}, {2, Steered, Steered, 2},
		{3, Steered, Withdrawn, 3}, {4, Withdrawn, Withdrawn, 4}, {99, Withdrawn, Withdrawn, 4},
	} {
		in := healthy(at(time.Minute))
		in.Pins = []Pin{{Neighbor: "a", Rung: tt.rung, Reason: "circuit work", Since: t0, Until: at(time.Hour)}}
		s, d := Next(c, inService(t), in)
		a, b := d.Services[0].Neighbors[0], d.Services[0].Neighbors[1]
		if a.IPv4.Severity != tt.v4 || a.IPv6.Severity != tt.v6 || a.Rung != tt.in || b.Rung != 0 || b.IPv4.Severity != Announced {
			t.Errorf("rung %d: %+v; %+v", tt.rung, a, b)
		}
		if tt.in > 0 && (a.IPv4.Reason != Load || a.IPv4.Detail != onRung("a", tt.in, 4, "circuit work")) {
			t.Errorf("rung %d: %+v", tt.rung, a.IPv4)
		}
		if !d.Wake.Equal(at(time.Hour)) || d.Climbers[0].Restraint.Hindrance != Pinned {
			t.Errorf("rung %d: wake %v, %v", tt.rung, d.Wake, d.Climbers[0].Restraint)
		}
		in.Now = at(time.Hour)
		if _, d = Next(c, s, in); d.Climbers[0].Rung != 0 || d.Services[0].Severity != Announced {
			t.Errorf("rung %d, after the pin: %+v", tt.rung, d.Climbers[0])
		}
	}
}

func TestAnAnnounceOverridesARung(t *testing.T) {
	in := healthy(at(time.Minute))
	in.Pins = []Pin{{Neighbor: "a", Rung: 2, Reason: "x", Since: t0}}
	in.Overrides = []Override{{Service: "video", Neighbor: "a", Verb: Announce, Reason: "y", Since: t0}}
	_, d := Next(climbing(), inService(t), in)
	if n := d.Services[0].Neighbors[0]; n.Rung != 0 || n.IPv4.Severity != Announced || n.IPv4.Reason != Overridden || d.Climbers[0].Rung != 2 {
		t.Errorf("%+v; %+v", n, d.Climbers[0])
	}
}

func TestAPinStaysBelowAFailure(t *testing.T) {
	in := with(at(time.Minute), Up, Down)
	in.Pins = []Pin{{Neighbor: "a", Rung: 2, Reason: "x", Since: t0}}
	_, d := Next(climbing(), inService(t), in)
	if n := d.Services[0].Neighbors[0]; n.IPv4 != (Cause{Steered, SoftFailure, "origin: slow"}) || n.Rung != 2 {
		t.Errorf("soft failure and pin: %+v", n)
	}
	in.Health["video"] = Health{Hard: Down, Soft: Up, HardDetail: "web: refused"}
	if _, d = Next(climbing(), inService(t), in); d.Services[0].Neighbors[0].IPv4 != (Cause{Withdrawn, HardFailure, "web: refused"}) {
		t.Errorf("hard failure and pin: %+v", d.Services[0].Neighbors[0])
	}
}
