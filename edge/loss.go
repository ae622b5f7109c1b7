package edge

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/catchment-bgp/catchment/edge/config"
)

// Loss is what a configuration takes away of a service on this node.
type Loss struct {
	Service string
	// Prefixes that a neighbour knows of now, and none would whose session goes on.
	Prefixes []netip.Prefix
	// VIPs that would be taken off the machine while the service is announced.
	VIPs []netip.Prefix
}

// String is like "video (198.51.100.0/24, VIP 198.51.100.1/32)".
func (l Loss) String() string {
	var parts []string
	for _, p := range l.Prefixes {
		parts = append(parts, p.String())
	}
	for _, p := range l.VIPs {
		parts = append(parts, "VIP "+p.String())
	}
	if rest := len(parts) - mostNamed; rest > 0 {
		parts = append(parts[:mostNamed], "and more")
	}
	return l.Service + " (" + strings.Join(parts, ", ") + ")"
}

// mostNamed bounds how many prefixes a text names.
const mostNamed = 4

// losses is by how much a change of configuration lowers the fleet's capacity here,
// by service in the order of the names. It does where a prefix that is announced to a
// neighbour with a session would be to none that has one and keeps it: one that is
// new, or that begins anew, may never come up. And it does where a VIP of a service
// that is announced goes. All else does not: fewer of several neighbours, other
// attributes, a link's capacity, another name for the same prefixes.
func losses(was, will footing, session func(neighbor string) bool) []Loss {
	told, stays := map[netip.Prefix]bool{}, map[netip.Prefix]bool{}
	for _, n := range was.config.Neighbors {
		if !session(n.Name) {
			continue
		}
		for _, r := range was.routes[n.Name] {
			told[r.Prefix] = true
		}
		if next := neighborOf(will.config, n.Name); next == nil || next.Neighbor != n.Neighbor || will.local != was.local {
			continue
		}
		for _, r := range will.routes[n.Name] {
			stays[r.Prefix] = true
		}
	}
	var out []Loss
	for i := range was.config.Services {
		svc := &was.config.Services[i]
		l := Loss{Service: svc.Name}
		announced := false
		for _, p := range svc.Prefixes {
			announced = announced || told[p]
			if told[p] && !stays[p] {
				l.Prefixes = append(l.Prefixes, p)
			}
		}
		for _, v := range svc.VIPs {
			if announced && !hasVIP(will.config, v) {
				l.VIPs = append(l.VIPs, v)
			}
		}
		if len(l.Prefixes)+len(l.VIPs) > 0 {
			out = append(out, l)
		}
	}
	slices.SortFunc(out, func(a, b Loss) int { return strings.Compare(a.Service, b.Service) })
	return out
}

func hasVIP(c *config.Config, v netip.Prefix) bool {
	return slices.ContainsFunc(c.Services, func(s config.Service) bool { return slices.Contains(s.VIPs, v) })
}

func lossTexts(ls []Loss) string {
	var out []string
	for _, l := range ls {
		out = append(out, l.String())
	}
	return strings.Join(out, ", ")
}
