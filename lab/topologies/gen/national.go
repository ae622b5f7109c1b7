package main

import (
	"fmt"
	"slices"
	"strings"
)

const nationalAbout = `A carrier (AS 65010, BIRD) in four cities, with one of our nodes in each, and clients.

  clientmsk -- coremsk -- bordermsk -- msk1 (AS 57629)      and so in spb, ekb and nsk
                  |
  spb - msk - ekb - nsk: the cores' links; their costs (OSPF) grow with the distance
`

const reflectorAbout = `
All routers of the carrier have their routes from one route reflector in Moscow. It passes one path on, the best by its
own distances: that of msk1. So the clients of all cities go to Moscow, past the node of their own city.`

const localAbout = `
This is the carrier of national.clab.yml rebuilt: its routers tell each other all that they have (a full mesh), so each takes the
path with the nearest exit, and the clients of each city go to the node of their city.`

// carrierASN is the carrier's.
const carrierASN = 65010

// cities are in the order of the carrier's line; the links between their cores have these costs.
var (
	cities  = []string{"spb", "msk", "ekb", "nsk"}
	onward  = []int{10, 20, 30}
	nodeTag = map[string]int{"msk": 101, "spb": 102, "ekb": 103, "nsk": 104}
)

// carrier is what its builder keeps.
type carrier struct {
	*topology
	routers []*inner
}

// inner is one of the carrier's routers: OSPF on its links, and iBGP.
type inner struct {
	*node
	loopback string
	links    []string // lines of the OSPF area
	edge     *wire    // to one of our nodes
	edgeName string
}

func newNational(reflected bool) *topology {
	name, about := "national-local", nationalAbout+localAbout
	if reflected {
		name, about = "national", nationalAbout+reflectorAbout
	}
	c := &carrier{topology: newTopology(name, about)}
	cores := map[string]*inner{}
	for _, city := range cities {
		cores[city] = c.city(city)
	}
	for i, cost := range onward {
		c.link(cores[cities[i]], cores[cities[i+1]], cost)
	}
	var rr *inner
	if reflected {
		rr = c.inner("reflector")
		c.link(cores["msk"], rr, 5)
	}
	for _, r := range c.routers {
		c.bind(r.node, r.name+".conf", place[bird], c.config(r, rr))
	}
	return c.topology
}

func (c *carrier) inner(name string) *inner {
	r := &inner{node: c.add(name, bird), loopback: fmt.Sprintf("10.0.4.%d", len(c.routers)+1)}
	r.run("ip addr add %s/32 dev lo", r.loopback)
	c.routers = append(c.routers, r)
	return r
}

// link joins two of the carrier's routers.
func (c *carrier) link(a, b *inner, cost int) {
	c.wire(a.node, b.node)
	for _, r := range []*inner{a, b} {
		r.links = append(r.links, fmt.Sprintf("interface \"eth%d\" { type ptp; cost %d; hello 1; dead 4; };", r.interfaces, cost))
	}
}

// stub links a router to what speaks no OSPF; the others learn the subnet.
func (c *carrier) stub(r *inner, n *node) wire {
	w := c.wire(r.node, n)
	r.links = append(r.links, fmt.Sprintf("interface \"eth%d\" { stub; };", r.interfaces))
	n.run("ip route add default via %s", w.a)
	return w
}

// city adds the routers of a city, its node and its clients; the core is returned.
func (c *carrier) city(name string) *inner {
	core, border := c.inner("core"+name), c.inner("border"+name)
	c.link(core, border, 1)
	client := c.add("client"+name, "client")
	c.stub(core, client)
	edge := c.add(name+"1", "catchment-edge")
	w := c.stub(border, edge)
	border.edge, border.edgeName = &w, edge.name
	c.bind(edge, edge.name+".yaml", "/etc/catchment/edge.yaml", carriedEdge(name, w))
	c.bind(edge, "serve", "/etc/catchment/serve", vip+":80\n")
	return core
}

// carriedEdge is the configuration of a city's node.
func carriedEdge(city string, w wire) string {
	all := make([]string, len(cities))
	for i, c := range cities {
		all[i] = c + "1"
	}
	slices.Sort(all)
	return fmt.Sprintf(`node: %[1]s1
asn: %[2]d
router_id: 10.0.0.%[3]d
state_dir: /var/lib/catchment
control: unix:///run/catchment/edge.sock
metrics: 127.0.0.1:9179
neighbors:
  - name: carrier
    address: %[4]s
    asn: %[5]d
    kind: transit
    local_address: %[6]s
    edges_at_asn: [%[7]s]
services:
  - name: video
    prefixes: [%[8]s]
    vips: [%[9]s/32]
    communities: ["%[2]d:%[10]d"]
    checks:
      - {name: web, http: {url: "http://%[9]s/"}, interval: 1s, timeout: 500ms}
`, city, edgeASN, nodeTag[city]-100, w.a, carrierASN, w.b, strings.Join(all, ", "), service, vip, nodeTag[city])
}

// config is a router's configuration; with a reflector its routes come from there, without from all others.
func (c *carrier) config(r, rr *inner) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("log stderr all;\nrouter id %s;\nprotocol device {}", r.loopback)
	line("protocol kernel { ipv4 { export where source ~ [ RTS_OSPF, RTS_BGP ]; }; }")
	line("protocol ospf v2 inner {\n  ipv4 { import all; export none; };\n  area 0 {\n    interface \"lo\" { stub; };")
	for _, l := range r.links {
		line("    %s", l)
	}
	line("  };\n}")
	line("template bgp quick { hold time 9; keepalive time 3; connect delay time 0; connect retry time 1; error wait time 1, 1; error forget time 1; }")
	if r.edge != nil {
		line("protocol bgp %s from quick { local as %d; neighbor %s as %d; ipv4 { import all; export none; }; }", r.edgeName, carrierASN, r.edge.b, edgeASN)
	}
	for _, o := range c.routers {
		if o == r || rr != nil && r != rr && o != rr {
			continue
		}
		client := ""
		if r == rr {
			client = "rr client; "
		}
		self := ""
		if r.edge != nil {
			self = "next hop self; "
		}
		line("protocol bgp %s from quick { local %s as %d; neighbor %s as %[3]d; %[5]sipv4 { import all; export all; %[6]s}; }", o.name, r.loopback, carrierASN, o.loopback, client, self)
	}
	return b.String()
}
