package netlab

import (
	"fmt"
	"net/netip"
	"strings"
	"time"
)

// BIRDConfig is the bird.conf of the common case: a router that takes every route of its neighbours.
type BIRDConfig struct {
	ASN      uint32
	RouterID string
	// Networks are announced to every neighbour of their family.
	Networks  []netip.Prefix
	Neighbors []BIRDNeighbor
	Global    []string // further lines at the top level
}

// BIRDNeighbor is one neighbour. The zero value of each field is BIRD's default.
type BIRDNeighbor struct {
	Name            string // of the protocol; empty: "n1", "n2" ...
	Address         netip.Addr
	Local           netip.Addr // the router's own address; invalid: the kernel's choice
	ASN             uint32
	IPv4, IPv6      bool // channels; neither: the address's own family
	Password        string
	TTLSecurity     bool // GTSM (RFC 5082)
	Multihop        int
	Passive         bool
	Port            uint16
	LocalRole       string // "provider", "customer", "peer", "rs_server", "rs_client" (RFC 9234)
	RequireRoles    bool
	HoldTime        time.Duration
	ExtendedNextHop bool     // IPv4 with an IPv6 next hop (RFC 8950)
	Options         []string // further lines, each with its semicolon
	ChannelOptions  []string // the same, inside each channel
	Export          string   // empty: "all" for the networks; otherwise the words after "export"
}

// String is the text of the bird.conf.
func (c BIRDConfig) String() string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("router id %s;", c.RouterID)
	line("log stderr all;\ntimeformat protocol iso long us;\ntimeformat route iso long ms;\ndebug protocols { events };\nprotocol device { scan time 2; }")
	for _, global := range c.Global {
		line("%s", global)
	}
	c.static(line, "ipv4", false)
	c.static(line, "ipv6", true)
	for i, n := range c.Neighbors {
		if n.Name == "" {
			n.Name = fmt.Sprintf("n%d", i+1)
		}
		line("protocol bgp %s {", n.Name)
		for _, option := range n.options(c.ASN) {
			line("  %s", option)
		}
		if n.IPv4 || (!n.IPv6 && n.Address.Is4()) {
			line("  ipv4 { %s };", n.channel(n.ExtendedNextHop))
		}
		if n.IPv6 || (!n.IPv4 && n.Address.Is6()) {
			line("  ipv6 { %s };", n.channel(false))
		}
		line("}")
	}
	return b.String()
}

func (c BIRDConfig) static(line func(string, ...any), family string, six bool) {
	line("protocol static networks_%s {\n  %s;", family, family)
	for _, network := range c.Networks {
		if network.Addr().Is6() == six {
			line("  route %s blackhole;", network)
		}
	}
	line("}")
}

func (n BIRDNeighbor) channel(extended bool) string {
	export := n.Export
	if export == "" {
		export = "where source = RTS_STATIC"
	}
	words := append([]string{"import all;", "import keep filtered on;", "export " + export + ";"}, n.ChannelOptions...)
	if extended {
		words = append(words, "extended next hop on;")
	}
	return strings.Join(words, " ")
}

func (n BIRDNeighbor) options(asn uint32) []string {
	local := fmt.Sprintf("local as %d;", asn)
	if n.Local.IsValid() {
		local = fmt.Sprintf("local %s as %d;", n.Local, asn)
	}
	port := ""
	if n.Port != 0 {
		port = fmt.Sprintf(" port %d", n.Port)
	}
	options := []string{
		local, fmt.Sprintf("neighbor %s%s as %d;", n.Address, port, n.ASN),
		"connect delay time 0;", "connect retry time 1;", "error wait time 1, 1;", "error forget time 1;",
	}
	add := func(wanted bool, format string, args ...any) {
		if wanted {
			options = append(options, fmt.Sprintf(format, args...))
		}
	}
	add(n.Password != "", "password %q;", n.Password)
	add(n.TTLSecurity, "ttl security on;")
	add(n.Multihop > 0, "multihop %d;", n.Multihop)
	add(n.Passive, "passive on;")
	add(n.LocalRole != "", "local role %s;", n.LocalRole)
	add(n.RequireRoles, "require roles on;")
	hold := int(n.HoldTime / time.Second)
	add(hold > 0, "hold time %d; keepalive time %d;", hold, max(hold/3, 1))
	return append(options, n.Options...)
}
