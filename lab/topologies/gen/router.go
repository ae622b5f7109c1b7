package main

import (
	"fmt"
	"strings"
)

// The makers of routers; each is an image, too.
const (
	frr      = "frr"
	bird     = "bird"
	openbgpd = "openbgpd"
)

// relation is what a neighbour is to a router. It says what is announced to it: to customers all, to others what is the
// router's own or its customers'.
type relation int

const (
	customer relation = iota
	peer
	provider
)

// router is an autonomous system of one router.
type router struct {
	maker, id string
	asn       int
	networks  []string // what it originates
	steers    bool     // obeys ASN:320x, prepend x times to customers
	damps     bool     // FRR's damping (RFC 2439), with a half-life of one minute
	neighbors []neighbor
}

type neighbor struct {
	name, address string
	asn           int
	relation      relation
	server        bool // a route server, whose ASN is not in paths
}

// place is where a router reads its configuration.
var place = map[string]string{frr: "/etc/frr/frr.conf", bird: "/etc/bird/bird.conf", openbgpd: "/etc/openbgpd/bgpd.conf"}

// others are the ASNs of the neighbours that are no customers: their routes are for customers only.
func (r *router) others() (asns []int) {
	for _, n := range r.neighbors {
		if n.relation != customer && !n.server {
			asns = append(asns, n.asn)
		}
	}
	return asns
}

// of lists the neighbours that are customers, or those that are not.
func (r *router) of(customers bool) (list []neighbor) {
	for _, n := range r.neighbors {
		if (n.relation == customer) == customers {
			list = append(list, n)
		}
	}
	return list
}

// String is the router's configuration.
func (r *router) String() string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	switch r.maker {
	case frr:
		r.frr(line)
	case bird:
		r.bird(line)
	case openbgpd:
		r.openbgpd(line)
	}
	return b.String()
}

type printer func(format string, args ...any)

func (r *router) frr(line printer) {
	line("frr defaults datacenter\nlog stdout informational")
	for times := 1; r.steers && times <= 2; times++ {
		line("bgp community-list standard prepend-%d permit %d:320%d", times, r.asn, times)
	}
	r.frrFilters(line)
	line("router bgp %d\n bgp router-id %s\n bgp bestpath compare-routerid\n no bgp ebgp-requires-policy\n no bgp network import-check\n timers bgp 3 9", r.asn, r.id)
	for _, n := range r.neighbors {
		line(" neighbor %[1]s remote-as %[2]d\n neighbor %[1]s description %[3]s\n neighbor %[1]s timers connect 1", n.address, n.asn, n.name)
		if n.server {
			line(" no neighbor %s enforce-first-as", n.address)
		}
	}
	line(" address-family ipv4 unicast")
	if r.damps {
		line("  bgp dampening 1 750 2000 4")
	}
	for _, n := range r.networks {
		line("  network %s", n)
	}
	for _, n := range r.neighbors {
		if n.relation == customer {
			line("  neighbor %s route-map to-customers out", n.address)
		} else {
			line("  neighbor %s route-map to-others out", n.address)
		}
	}
}

func (r *router) frrFilters(line printer) {
	if len(r.of(true)) == 0 {
		line("bgp as-path access-list own permit ^$")
		line("route-map to-others permit 10\n match as-path own")
		return
	}
	list := make([]string, len(r.others()))
	for i, asn := range r.others() {
		list[i] = fmt.Sprint(asn)
	}
	line("bgp as-path access-list customers deny _(%s)_\nbgp as-path access-list customers permit .*", strings.Join(list, "|"))
	line("route-map to-others permit 10\n match as-path customers")
	for times := 1; r.steers && times <= 2; times++ {
		line("route-map to-customers permit %d\n match community prepend-%d\n set as-path prepend%s", 10*times, times, strings.Repeat(fmt.Sprintf(" %d", r.asn), times))
	}
	line("route-map to-customers permit 100")
}

func (r *router) bird(line printer) {
	line("log stderr all;\nrouter id %s;\nprotocol device {}\nprotocol direct { ipv4; }\nprotocol kernel { ipv4 { export where source = RTS_BGP; }; }", r.id)
	line("define own = [ %s ];", strings.Join(r.networks, ", "))
	line("filter to_others {\n  if source = RTS_DEVICE then { if net ~ own then accept; reject; }")
	if len(r.of(true)) == 0 {
		line("  reject;\n}")
	} else {
		for _, asn := range r.others() {
			line("  if bgp_path ~ [= * %d * =] then reject;", asn)
		}
		line("  accept;\n}")
		line("filter to_customers {\n  if source = RTS_DEVICE then { if net ~ own then accept; reject; }")
		for times := 1; r.steers && times <= 2; times++ {
			line("  if (%d, 320%d) ~ bgp_community then {%s }", r.asn, times, strings.Repeat(fmt.Sprintf(" bgp_path.prepend(%d);", r.asn), times))
		}
		line("  accept;\n}")
	}
	line("template bgp quick { local as %d; hold time 9; keepalive time 3; connect delay time 0; connect retry time 1; error wait time 1, 1; error forget time 1; }", r.asn)
	for _, n := range r.neighbors {
		filter := "to_others"
		if n.relation == customer {
			filter = "to_customers"
		}
		line("protocol bgp %s from quick { neighbor %s as %d; ipv4 { import all; export filter %s; }; }", n.name, n.address, n.asn, filter)
	}
}

func (r *router) openbgpd(line printer) {
	line("AS %d\nrouter-id %s\nfib-update no\nholdtime 9\nconnect-retry 1", r.asn, r.id)
	for _, n := range r.networks {
		line("network %s", n)
	}
	for _, group := range []string{"customers", "others"} {
		list := r.of(group == "customers")
		if len(list) == 0 {
			continue
		}
		line("group %s {", group)
		for _, n := range list {
			line("  neighbor %s {\n    remote-as %d\n    descr %q\n  }", n.address, n.asn, n.name)
		}
		line("}")
	}
	line("allow from any")
	if len(r.of(true)) == 0 {
		for _, n := range r.networks {
			line("allow to any prefix %s", n)
		}
		return
	}
	line("allow to any")
	for _, asn := range r.others() {
		line("deny to group others AS %d", asn)
	}
	for times := 1; r.steers && times <= 2; times++ {
		line("match to group customers community %d:320%d set prepend-self %d", r.asn, times, times)
	}
}
