package config

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/catchment-bgp/catchment/announcer"
	"github.com/catchment-bgp/catchment/community"
)

// kinds gives the business relations by their names in the file.
var kinds = map[kindName]announcer.Kind{
	"transit":  announcer.Transit,
	"peer":     announcer.Peer,
	"ix":       announcer.IX,
	"rs":       announcer.RouteServer,
	"internal": announcer.Internal,
}

func (c *checker) neighbors(raw []rawNeighbor, cfg *Config) []Neighbor {
	if c.need("", "neighbors", "a list of at least one BGP neighbour") {
		c.notEmpty("neighbors", len(raw), "write at least one BGP neighbour")
	}
	var out []Neighbor
	names := map[string]string{}
	sessions := map[string]string{}
	for i := range raw {
		path := item("neighbors", i)
		if c.bad[path] {
			out = append(out, Neighbor{})
			continue
		}
		n := c.neighbor(path, &raw[i], cfg)
		c.unique(names, n.Name, join(path, "name"))
		c.uniqueSession(sessions, path, &n)
		out = append(out, n)
	}
	c.sameEdges(out)
	return out
}

func (c *checker) neighbor(path string, r *rawNeighbor, cfg *Config) Neighbor {
	n := Neighbor{Neighbor: c.session(path, r)}
	n.Password, n.PasswordFile = c.password(path, r)
	c.relation(path, &n, cfg)
	n.AllowPrepend = value(r.AllowPrepend, false)
	n.MaxPrefixes = c.count(join(path, "max_prefixes"), r.MaxPrefixes, 0, 0, 10_000_000)
	n.Labels = c.labels(join(path, "labels"), r.Labels)
	n.Contact = value(r.Contact, "")
	c.note(join(path, "contact"), n.Contact)
	n.Symmetric = value(r.Return, "routed") == "symmetric"
	c.symmetric(join(path, "return"), &n)
	n.Link = c.linkName(join(path, "link"), r.Link, cfg.Links)
	n.Weight = c.weight(join(path, "weight"), r.Weight)
	n.EdgesAtASN = c.edges(join(path, "edges_at_asn"), r.EdgesAtASN, cfg)
	c.nextHops(path, r, &n)

	n.Prepend = c.prepend(join(path, "prepend"), r.Prepend, &n)
	n.MED = toMetric(r.MED)
	n.LocalPref = c.localPref(join(path, "local_pref"), r.LocalPref, &n)
	n.Communities = c.communities(join(path, "communities"), r.Communities)
	n.Ladder = c.ladder(join(path, "ladder"), r.Ladder, &n)
	c.discriminators(path, &n, cfg)
	return n
}

// symmetric refuses neighbours to whom no reply can be handed.
func (c *checker) symmetric(path string, n *Neighbor) {
	switch {
	case !n.Symmetric:
	case n.Kind == announcer.RouteServer:
		c.reject(path, "a route server carries no traffic: requests come from its members, each by its own router; write return: routed, and sessions with the members that matter")
	case n.Multihop > 1:
		c.reject(path, "replies can be handed only to a directly connected router, and multihop is %d; write return: routed, or a session with the router on the link", n.Multihop)
	}
}

// relation checks that the kind and the AS number fit each other. A neighbour
// with our ASN would drop our path, which holds its own (RFC 4271, section
// 9.1.2), unless the session is iBGP.
func (c *checker) relation(path string, n *Neighbor, cfg *Config) {
	at := join(path, "asn")
	if n.Kind == 0 || n.ASN == 0 || cfg.ASN == 0 {
		return
	}
	same := n.ASN == cfg.ASN
	switch {
	case same && n.Kind != announcer.Internal:
		c.reject(at, "%d is our own ASN, so the neighbour would find it in our path and drop the route; write kind: internal, or the neighbour's ASN", n.ASN)
	case !same && n.Kind == announcer.Internal:
		c.reject(at, "%d is not our ASN %d, so the session is not internal; write asn: %d, or kind: transit, peer, ix or rs", n.ASN, cfg.ASN, cfg.ASN)
	}
}

func (c *checker) uniqueSession(seen map[string]string, path string, n *Neighbor) {
	if !n.Address.IsValid() || !n.LocalAddress.IsValid() || n.Port == 0 {
		return
	}
	key := fmt.Sprint(n.Address, n.Port, n.LocalAddress)
	if first, ok := seen[key]; ok {
		at := join(path, "address")
		c.reject(at, "%s port %d from %s is the session of %s (line %d) already; write another address, port or local_address",
			n.Address, n.Port, n.LocalAddress, first, c.where(first).line)
		return
	}
	seen[key] = path
}

func (c *checker) labels(path string, raw map[string]literal) map[string]string {
	if len(raw) == 0 {
		return nil
	}
	out := make(map[string]string, len(raw))
	for _, key := range slices.Sorted(maps.Keys(raw)) {
		at := join(path, pathKey(key))
		plain := func(r rune) bool { return isPlain(r) && !strings.ContainsRune("+/:%@[]", r) }
		if key == "" || len(key) > maxName || strings.ContainsFunc(key, func(r rune) bool { return !plain(r) }) {
			c.reject(at, "%s is not the name of a label; write 1 to 63 letters, digits, dots, _ and -", show(key))
		}
		c.note(at, string(raw[key]))
		out[key] = string(raw[key])
	}
	return out
}

func (c *checker) linkName(path string, p *string, links []Link) string {
	if p == nil {
		return ""
	}
	names := make([]string, len(links))
	for i, l := range links {
		names[i] = l.Name
	}
	c.known(path, *p, names, "link", "links")
	return *p
}

// weight checks a part of a link's traffic; only its proportion to others counts.
func (c *checker) weight(path string, p *float64) float64 {
	if p != nil && (*p <= 0 || *p > 1000) {
		c.reject(path, "%g is out of range; write a number above 0 and up to 1000", *p)
	}
	return value(p, defaultWeight)
}

// known checks that s is one of the names in list. Where a name in list could
// not be read, s may be that one.
func (c *checker) known(path, s string, names []string, what, list string) {
	if slices.Contains(names, s) || c.bad[list] || slices.Contains(names, "") {
		return
	}
	near := c.meant(s, names)
	switch {
	case near != "":
		c.reject(path, "there is no %s %s; did you mean %s?", what, show(s), near)
	case len(names) == 0:
		c.reject(path, "there is no %s %s; write it under %s: first", what, show(s), list)
	case len(names) == 1:
		c.reject(path, "there is no %s %s; write %s", what, show(s), names[0])
	default:
		c.reject(path, "there is no %s %s; write one of %s", what, show(s), few(names))
	}
}

// mostNames is what a message can bear.
const mostNames = 12

// few lists names, at most mostNames of them.
func few(names []string) string {
	if len(names) > mostNames {
		return strings.Join(names[:mostNames], ", ") + ", ..."
	}
	return strings.Join(names, ", ")
}

func (c *checker) nextHops(path string, r *rawNeighbor, n *Neighbor) {
	switch {
	case n.LocalAddress.Is4():
		n.NextHop4 = n.LocalAddress
	case !linkLocal6(n.LocalAddress):
		n.NextHop6 = n.LocalAddress
	}
	hops := value(r.NextHop, rawNextHop{})
	if hops.IPv4 != nil {
		n.NextHop4 = *hops.IPv4
	}
	if hops.IPv6 != nil {
		n.NextHop6 = *hops.IPv6
	}
	at := join(path, "next_hop")
	if n.NextHop6.Is4() {
		c.reject(join(at, "ipv6"), "%s is IPv4; IPv6 prefixes need an IPv6 next hop: write an IPv6 address of this machine", n.NextHop6)
	}
	c.nextHop(join(at, "ipv4"), n.NextHop4, n)
	c.nextHop(join(at, "ipv6"), n.NextHop6, n)
	n.ExtendedNextHop = n.IPv4 && n.NextHop4.Is6()
}

func (c *checker) nextHop(path string, a netip.Addr, n *Neighbor) {
	write := "write an address of this machine that the neighbour reaches"
	switch {
	case !a.IsValid() || c.bad[path] || a == n.LocalAddress && !c.has(path):
	case a.IsUnspecified():
		c.reject(path, "%s is no next hop; %s", a, write)
	case a.IsMulticast():
		c.reject(path, "%s is multicast; %s", a, write)
	case a.IsLoopback() && !n.Address.IsLoopback():
		c.reject(path, "%s is loopback and the neighbour is not; %s", a, write)
	case linkLocal6(a):
		c.reject(path, "%s is link-local, and a next hop must be global (RFC 2545, section 3); %s", a, write)
	case a == n.Address:
		c.reject(path, "%s is the neighbour itself; %s", a, write)
	}
}

// The bounds of prepending: what is usual, and what is never useful.
const (
	usualPrepend = 5
	hardPrepend  = 10
)

// prepend checks how often our ASN is prepended towards n; 0 where refused.
func (c *checker) prepend(path string, p *count, n *Neighbor) int {
	times := int(value(p, 0))
	switch {
	case times == 0:
	case times < 0 || times > hardPrepend:
		c.reject(path, "%d is out of range; write 0 to %d", times, hardPrepend)
	case n.Kind == announcer.Internal:
		c.reject(path, "prepending over iBGP puts our own ASN into the path, and the neighbour drops it; write local_pref or med instead")
	case n.AllowPrepend:
	case n.Kind == announcer.IX, n.Kind == announcer.RouteServer:
		c.reject(path, "a longer path at an exchange loses to the other members' routes; write communities instead, or allow_prepend: true")
	case times > usualPrepend:
		c.reject(path, "%d is above the usual %d; write 0 to %d, or allow_prepend: true for up to %d", times, usualPrepend, usualPrepend, hardPrepend)
	}
	if c.bad[path] {
		return 0
	}
	return times
}

func (c *checker) localPref(path string, p *metric, n *Neighbor) announcer.Metric {
	if p != nil && n.Kind != 0 && n.Kind != announcer.Internal {
		c.reject(path, "local preference is sent over iBGP only (RFC 4271, section 5.1.5); write med or communities instead")
	}
	return toMetric(p)
}

func toMetric(p *metric) announcer.Metric {
	if p == nil {
		return announcer.Metric{}
	}
	return announcer.Metric{Value: uint32(*p), Set: true}
}

// maxCommunities in each list keeps the largest UPDATE under its 4096 bytes (RFC
// 4271, section 4).
const maxCommunities = 64

// communities checks a list that is sent all the time or at a rung.
func (c *checker) communities(path string, raw []community.Value) community.Set {
	if len(raw) > maxCommunities {
		c.reject(path, "the list has %d communities; write %d at most", len(raw), maxCommunities)
	}
	for i, v := range raw {
		at := item(path, i)
		switch v {
		case community.GracefulShutdown:
			c.reject(at, "65535:0 is GSHUT (RFC 8326); it comes and goes with a drain: remove it here, use gshut: true in a ladder")
		case community.Blackhole:
			c.reject(at, "65535:666 is BLACKHOLE (RFC 7999): the neighbour would discard the service's traffic; remove it")
		case community.NoExport, community.NoAdvertise, community.NoExportSubconfed, community.NoPeer:
			c.warn(at, "%s is %s: it limits where the neighbour passes the route on; remove it unless that is wanted", v, v.Name())
		}
	}
	return community.NewSet(raw...)
}
