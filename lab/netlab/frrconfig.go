package netlab

import (
	"fmt"
	"net/netip"
	"strings"
	"time"
)

// FRRConfig is the frr.conf of the common case: a router that takes every route of its neighbours, unfiltered.
type FRRConfig struct {
	ASN      uint32
	RouterID string
	// Networks are announced to every neighbour of their family, whether or not the router has such a route.
	Networks  []netip.Prefix
	Neighbors []FRRNeighbor
	// MinimumHoldTime refuses neighbours that offer less (NOTIFICATION 2/6); 0: none.
	MinimumHoldTime time.Duration
	// Damping damps the routes of both families; nil: none is damped.
	Damping *Damping
	// Global and BGP are further lines: at the top level, and inside "router bgp".
	Global, BGP []string
}

// FRRNeighbor is one neighbour. The zero value of each field is FRR's default.
type FRRNeighbor struct {
	Address          netip.Addr
	ASN              uint32
	IPv4, IPv6       bool // families of the session; neither: the address's own
	Password         string
	TTLSecurity      bool // GTSM, one hop (RFC 5082)
	Multihop         int  // eBGP over so many hops
	Passive          bool // waits for the neighbour to connect
	Port             uint16
	LocalRole        string // "provider", "customer", "peer", "rs-server", "rs-client" (RFC 9234)
	StrictRole       bool
	HoldTime         time.Duration
	ExtendedNextHop  bool     // IPv4 with an IPv6 next hop (RFC 8950)
	Options          []string // further words after "neighbor ADDRESS"
	IPv4Opts         []string // the same, inside the IPv4 family
	IPv6Opts         []string
	DefaultOriginate bool // announces 0.0.0.0/0 and ::/0
}

// String is the text of the frr.conf.
func (c FRRConfig) String() string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("frr defaults traditional\nhostname frr")
	for _, global := range c.Global {
		line("%s", global)
	}
	line("router bgp %d", c.ASN)
	line(" bgp router-id %s", c.RouterID)
	line(" no bgp ebgp-requires-policy\n no bgp network import-check\n no bgp default ipv4-unicast\n bgp log-neighbor-changes")
	if c.MinimumHoldTime > 0 {
		line(" bgp minimum-holdtime %d", int(c.MinimumHoldTime/time.Second))
	}
	for _, bgp := range c.BGP {
		line(" %s", bgp)
	}
	for _, n := range c.Neighbors {
		for _, option := range n.options() {
			line(" neighbor %s %s", n.Address, option)
		}
	}
	c.family(line, "ipv4", func(n FRRNeighbor) (bool, []string) { return n.ipv4(), n.IPv4Opts })
	c.family(line, "ipv6", func(n FRRNeighbor) (bool, []string) { return n.ipv6(), n.IPv6Opts })
	return b.String()
}

func (c FRRConfig) family(line func(string, ...any), family string, of func(FRRNeighbor) (bool, []string)) {
	line(" address-family %s unicast", family)
	if d := c.Damping; d != nil {
		line("  bgp dampening %d %d %d %d", d.HalfLife, d.Reuse, d.Suppress, d.MaxSuppress)
	}
	for _, network := range c.Networks {
		if frrFamily(network.Addr()) == family {
			line("  network %s", network)
		}
	}
	for _, n := range c.Neighbors {
		active, options := of(n)
		if !active {
			continue
		}
		line("  neighbor %s activate", n.Address)
		line("  neighbor %s soft-reconfiguration inbound", n.Address)
		if n.DefaultOriginate {
			line("  neighbor %s default-originate", n.Address)
		}
		for _, option := range options {
			line("  neighbor %s %s", n.Address, option)
		}
	}
	line(" exit-address-family")
}

func (n FRRNeighbor) ipv4() bool { return n.IPv4 || (!n.IPv6 && n.Address.Is4()) }
func (n FRRNeighbor) ipv6() bool { return n.IPv6 || (!n.IPv4 && n.Address.Is6()) }

// options are the words after "neighbor ADDRESS" outside the families.
func (n FRRNeighbor) options() []string {
	options := []string{fmt.Sprintf("remote-as %d", n.ASN), "timers connect 1", "advertisement-interval 0"}
	add := func(wanted bool, format string, args ...any) {
		if wanted {
			options = append(options, fmt.Sprintf(format, args...))
		}
	}
	add(n.Password != "", "password %s", n.Password)
	add(n.TTLSecurity, "ttl-security hops 1")
	add(n.Multihop > 0, "ebgp-multihop %d", n.Multihop)
	add(n.Passive, "passive")
	add(n.Port != 0, "port %d", n.Port)
	add(n.LocalRole != "" && !n.StrictRole, "local-role %s", n.LocalRole)
	add(n.LocalRole != "" && n.StrictRole, "local-role %s strict-mode", n.LocalRole)
	hold := int(n.HoldTime / time.Second)
	add(hold > 0, "timers %d %d", hold/3, hold)
	add(n.ExtendedNextHop, "capability extended-nexthop")
	return append(options, n.Options...)
}
