package config

import (
	"net/netip"
	"slices"

	"github.com/catchment-bgp/catchment/announcer"
)

// across checks what only services and neighbours together can get wrong.
func (c *checker) across(cfg *Config) {
	byName := map[string]*Neighbor{}
	for i := range cfg.Neighbors {
		byName[cfg.Neighbors[i].Name] = &cfg.Neighbors[i]
	}
	sent := map[string][]*Service{}
	owners := map[netip.Prefix]*Service{}
	unsure := c.bad["services"]
	for i := range cfg.Services {
		path, s := item("services", i), &cfg.Services[i]
		if c.bad[path] || c.dirty[join(path, "prefixes")] || c.dirty[join(path, "neighbors")] {
			unsure = true
			continue
		}
		for _, p := range s.Prefixes {
			owners[p] = s
		}
		var at []*Neighbor
		for _, name := range s.Neighbors {
			sent[name] = append(sent[name], s)
			at = append(at, byName[name])
		}
		c.carried(path, s, at)
		c.lengths(path, s, at)
	}
	for i := range cfg.Neighbors {
		path, n := item("neighbors", i), &cfg.Neighbors[i]
		if c.bad[path] {
			continue
		}
		c.announced(path, n, sent[n.Name])
		if !unsure {
			c.rungTargets(path, n, sent[n.Name], owners)
		}
	}
}

// carries tells whether the session takes prefixes of p's family.
func carries(n *Neighbor, p netip.Prefix) bool {
	return p.Addr().Is4() && n.IPv4 || p.Addr().Is6() && n.IPv6
}

// carried warns of prefixes whose family a neighbour's session does not carry,
// unless another session with the same ASN gets them, as is usual where IPv4 and
// IPv6 have a session each. A service that goes nowhere at all is an error.
func (c *checker) carried(path string, s *Service, at []*Neighbor) {
	if slices.ContainsFunc(at, func(n *Neighbor) bool { return !n.IPv4 && !n.IPv6 }) {
		return // a session that could not be read
	}
	anywhere := false
	seen := map[string]bool{}
	for i, p := range s.Prefixes {
		fam := family(p.Addr())
		if seen[fam] {
			continue
		}
		seen[fam] = true
		getting := map[uint32]bool{}
		for _, n := range at {
			if carries(n, p) {
				getting[n.ASN] = true
			}
		}
		anywhere = anywhere || len(getting) > 0
		var without []string
		for _, n := range at {
			if !getting[n.ASN] {
				without = append(without, n.Name)
			}
		}
		if len(without) > 0 {
			c.warn(item(join(path, "prefixes"), i), "%s is not announced at %s, whose session carries no %s; write families: [ipv4, ipv6] there, or add a session",
				p, few(without), fam)
		}
	}
	if !anywhere && len(at) > 0 && len(s.Prefixes) > 0 {
		c.reject(join(path, "prefixes"), "no neighbour of this service carries any of its prefixes; write families at a neighbour, or add one")
	}
}

// lengths warns of prefixes that other networks filter for their length.
func (c *checker) lengths(path string, s *Service, at []*Neighbor) {
	for i, p := range s.Prefixes {
		most := internetLength(p.Addr())
		if p.Bits() <= most {
			continue
		}
		var names []string
		for _, n := range at {
			if n.Kind != 0 && n.Kind != announcer.Internal && carries(n, p) {
				names = append(names, n.Name)
			}
		}
		if len(names) > 0 {
			c.warn(item(join(path, "prefixes"), i), "%s is longer than /%d, which most networks drop (sent to %s); write a /%d or shorter",
				p, most, few(names), most)
		}
	}
}

// announced checks next hops and the number of routes at one neighbour.
func (c *checker) announced(path string, n *Neighbor, services []*Service) {
	var four, six int
	var names []string
	for _, s := range services {
		names = append(names, s.Name)
		for _, p := range s.Prefixes {
			switch {
			case !carries(n, p):
			case p.Addr().Is4():
				four++
			default:
				six++
			}
		}
	}
	hops := join(path, "next_hop")
	unsure := c.dirty[hops] || !c.usable(join(path, "local_address"))
	if four > 0 && !n.NextHop4.IsValid() && !unsure {
		c.reject(join(hops, "ipv4"), "IPv4 prefixes are announced here and have no next hop; write next_hop: {ipv4: ADDRESS}, where an IPv6 address does too (RFC 8950)")
	}
	if six > 0 && !n.NextHop6.IsValid() && !unsure {
		c.reject(join(hops, "ipv6"), "IPv6 prefixes are announced here and have no next hop; write next_hop: {ipv6: ADDRESS}")
	}
	limit := join(path, "max_prefixes")
	for _, f := range []struct {
		name  string
		count int
	}{{"IPv4", four}, {"IPv6", six}} {
		if n.MaxPrefixes > 0 && f.count > n.MaxPrefixes && !c.bad[limit] {
			c.reject(limit, "%d %s prefixes go here (services %s), and the neighbour takes %d; write the number that it agreed to, or fewer prefixes",
				f.count, f.name, few(names), n.MaxPrefixes)
		}
	}
}

// rungTargets checks that a rung's prefixes are announced at its neighbour.
func (c *checker) rungTargets(path string, n *Neighbor, services []*Service, owners map[netip.Prefix]*Service) {
	ladder := join(path, "ladder")
	here := map[*Service]bool{}
	for _, s := range services {
		here[s] = true
	}
	for i := range n.Ladder {
		for j, p := range n.Ladder[i].Prefixes {
			if p.IsValid() && !here[owners[p]] {
				c.reject(item(join(item(ladder, i), "prefixes"), j), "%s is announced by no service here; write %s", p, announcedHere(services))
			}
		}
	}
}

func announcedHere(services []*Service) string {
	var all []string
	for _, s := range services {
		for _, p := range s.Prefixes {
			all = append(all, p.String())
			if len(all) > mostNames {
				return "one of " + few(all)
			}
		}
	}
	if len(all) == 0 {
		return "a prefix of a service that goes to this neighbour"
	}
	return "one of " + few(all)
}
