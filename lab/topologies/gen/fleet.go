package main

import (
	"fmt"
	"strings"
)

const fleetAbout = `A fleet: six edges in three cities (AS 57629) and their centre, three transits, one exchange, and 20 networks of clients.

  msk1 -- transit1 (FRR, AS 65001)       isp1-isp4                      only there
  spb1 -- transit2 (BIRD, AS 65002)      isp7-isp10                     only there
  ekb1 -- transit3 (OpenBGPD, AS 65003)  isp13-isp15                    only there
          transit1 and transit2          isp5, isp6    nearest by 1
          transit2 and transit3          isp11, isp12  nearest by 2
  msk2 -- ix, the exchange (route server rs1, AS 65100) -- isp16, isp17, isp18
  spb2 -- ix, from afar: the exchange's second choice; and directly -- isp19
  ekb2 -- directly -- isp20

The transits peer with each other. An edge with a 2 in its name has only its replies carried by the transit of its city. Each
ISP is a router and a client in one: its own address is 10.100.N.1, its AS 64600+N. isp5 damps flapping prefixes (FRR).
The nodes' tags are documented in fleet/as57629.txt, the transits' communities in fleet/as6500N.txt. The service is
http://198.51.100.1. What a link carries is, in kbit/s, what /run/lab/www/load of its edge says; it can carry 1000000.`

// Where the fleet's service and its centre are.
const (
	service       = "198.51.100.0/24"
	vip           = "198.51.100.1"
	centreAddress = "10.99.0.2"
	edgeASN       = 57629
	serverASN     = 65100
)

// edge is an edge node before it is written down.
type edge struct {
	*node
	number    int // its tag is 57629:100+number
	site      string
	id        string
	neighbors []string // entries of neighbors:
}

// fleet is what its builder keeps.
type fleet struct {
	*topology
	transits map[int]*node
	routers  map[*node]*router
	order    []*node // of routers
	edges    []*edge
	ix       *node
	members  int // addresses used at the exchange
}

// makers says who made the router of each ISP, by its number.
const makers = "fboofbfboofbboobfbbf"

func newFleet() *topology {
	f := &fleet{topology: newTopology("fleet", fleetAbout), transits: map[int]*node{}, routers: map[*node]*router{}}
	for i, maker := range []string{frr, bird, openbgpd} {
		n := f.add(fmt.Sprintf("transit%d", i+1), maker)
		f.transits[i+1] = n
		f.router(n, &router{maker: maker, id: fmt.Sprintf("10.0.1.%d", i+1), asn: 65001 + i, steers: true})
	}
	f.mesh(1, 2)
	f.mesh(1, 3)
	f.mesh(2, 3)
	f.ix = f.add("ix", "switch")
	rs := f.add("rs1", bird)
	f.plug(rs, f.ix, "10.60.0.1/24")
	f.members = 1
	f.centre()
	for i, site := range []string{"moscow", "petersburg", "yekaterinburg"} {
		f.city(i+1, site)
	}
	for i := 1; i <= len(makers); i++ {
		f.isp(i)
	}
	f.exchange(rs)
	for _, n := range f.order {
		r := f.routers[n]
		f.bind(n, n.name+".conf", place[r.maker], r.String())
	}
	for _, e := range f.edges {
		f.bind(e.node, e.name+".yaml", "/etc/catchment/edge.yaml", e.String())
		f.bind(e.node, "serve", "/etc/catchment/serve", vip+":80\n")
		f.bind(e.node, "as57629.txt", "/etc/catchment/as57629.txt", f.tags())
	}
	f.joins()
	return f.topology
}

func (f *fleet) router(n *node, r *router) {
	f.routers[n] = r
	f.order = append(f.order, n)
}

// session has two routers know of each other. The first is to the second what is given, and the other way round.
func (f *fleet) session(a, b *node, w wire, is relation) {
	ra, rb := f.routers[a], f.routers[b]
	ra.neighbors = append(ra.neighbors, neighbor{name: b.name, address: w.b, asn: rb.asn, relation: provider - is})
	rb.neighbors = append(rb.neighbors, neighbor{name: a.name, address: w.a, asn: ra.asn, relation: is})
}

func (f *fleet) mesh(a, b int) {
	f.session(f.transits[a], f.transits[b], f.wire(f.transits[a], f.transits[b]), peer)
}

// centre is reached by unicast, through a transit.
func (f *fleet) centre() {
	n, t := f.add("central", "catchment-central"), f.transits[2]
	n.env = []string{"DOMAIN: lab.example", "ADDRESS: " + centreAddress, "CATCHMENT_CENTRAL: \"" + centreAddress + ":7179\"",
		"CATCHMENT_CA: /etc/catchment/pki/ca.pem", "CATCHMENT_CERT: /etc/catchment/noc.pem", "CATCHMENT_KEY: /etc/catchment/noc.key"}
	w := f.wireIn("10.99.0.", t, n)
	n.run("ip route add default via %s", w.a)
	r := f.routers[t]
	r.networks = append(r.networks, w.subnet)
}

// city adds two edges: the first announces to the city's transit, the second is at the exchange or with its peers.
func (f *fleet) city(i int, site string) {
	short := []string{"msk", "spb", "ekb"}[i-1]
	t := f.transits[i]
	for k := 1; k <= 2; k++ {
		e := &edge{node: f.add(fmt.Sprintf("%s%d", short, k), "catchment-edge"), site: site, number: len(f.edges) + 1}
		e.id = fmt.Sprintf("10.0.0.%d", e.number)
		e.env = []string{"JOIN: " + centreAddress, "LOAD: \"200000\""}
		w := f.wire(t, e.node)
		e.run("ip route add default via %s", w.a)
		r := f.routers[t]
		r.networks = append(r.networks, w.subnet)
		if k == 1 {
			r.neighbors = append(r.neighbors, neighbor{name: e.name, address: w.b, asn: edgeASN, relation: customer})
			e.neighbor(t.name, w.a, r.asn, "transit", w.b, ladder)
		}
		f.edges = append(f.edges, e)
	}
	switch second := f.edges[len(f.edges)-1]; i {
	case 1, 2:
		address := f.member(second.node)
		second.neighbor("rs1", "10.60.0.1", serverASN, "rs", address, "")
	}
}

// ladder is how an edge sheds at its transit: the transit's community first, then prepends.
const ladder = `
    ladder:
      - {steer: {action: prepend, times: 1, towards: customers}, sheds: 0.3}
      - {prepend: 2, sheds: 0.9}
      - {prepend: 4, sheds: 1}`

// neighbor adds an entry of neighbors: to the edge.
func (e *edge) neighbor(name, address string, asn int, kind, local, more string) {
	e.neighbors = append(e.neighbors, fmt.Sprintf("  - name: %s\n    address: %s\n    asn: %d\n    kind: %s\n    local_address: %s\n    link: city%s", name, address, asn, kind, local, more))
}

// member puts a node at the exchange.
func (f *fleet) member(n *node) (address string) {
	f.members++
	address = fmt.Sprintf("10.60.0.%d", f.members)
	f.plug(n, f.ix, address+"/24")
	return address
}

// isp adds a network of clients.
func (f *fleet) isp(i int) {
	maker := map[byte]string{'f': frr, 'b': bird, 'o': openbgpd}[makers[i-1]]
	n := f.add(fmt.Sprintf("isp%d", i), maker)
	n.client = true
	own := fmt.Sprintf("10.100.%d.", i)
	n.run("ip addr add %s1/24 dev lo", own)
	r := &router{maker: maker, id: fmt.Sprintf("10.0.2.%d", i), asn: 64600 + i, networks: []string{own + "0/24"}, damps: i == 5}
	f.router(n, r)
	uplinks := [][]int{{1}, {1}, {1}, {1}, {1, 2}, {1, 2}, {2}, {2}, {2}, {2}, {2, 3}, {2, 3}, {3}, {3}, {3}, {1}, {2}, {3}, {2}, {3}}
	for _, u := range uplinks[i-1] {
		w := f.wire(f.transits[u], n)
		f.session(f.transits[u], n, w, provider)
		t := f.routers[f.transits[u]]
		t.networks = append(t.networks, w.subnet)
	}
	switch i {
	case 16, 17, 18:
		f.member(n)
		r.neighbors = append(r.neighbors, neighbor{name: "rs1", address: "10.60.0.1", asn: serverASN, relation: peer, server: true})
	case 19, 20:
		e := f.edges[2*(i-19)+3] // spb2, ekb2
		w := f.wire(e.node, n)
		r.neighbors = append(r.neighbors, neighbor{name: e.name, address: w.a, asn: edgeASN, relation: peer})
		e.neighbor(n.name, w.b, r.asn, "peer", w.a, "")
	}
}

// exchange writes the route server's configuration: it gives each member the best route of the others.
func (f *fleet) exchange(rs *node) {
	var b strings.Builder
	fmt.Fprintf(&b, "log stderr all;\nrouter id 10.0.3.1;\nprotocol device {}\n")
	fmt.Fprintf(&b, "template bgp participant {\n  local 10.60.0.1 as %d;\n  rs client;\n  hold time 9;\n  keepalive time 3;\n  connect delay time 0;\n  connect retry time 1;\n  error wait time 1, 1;\n  error forget time 1;\n  ipv4 { import all; export all; };\n}\n", serverASN)
	at := 1
	for _, name := range []string{"msk2", "spb2", "isp16", "isp17", "isp18"} {
		at++
		asn := edgeASN
		if r, ok := f.routers[f.named(name)]; ok {
			asn = r.asn
		}
		fmt.Fprintf(&b, "protocol bgp %s from participant { neighbor 10.60.0.%d as %d; }\n", name, at, asn)
	}
	f.bind(rs, "rs1.conf", place[bird], b.String())
}

// tags documents the edges' tags, as RIPE's database would.
func (f *fleet) tags() string {
	var b strings.Builder
	fmt.Fprintf(&b, "aut-num:        AS%d\nas-name:        CATCHMENT\nremarks:        Where a route was announced\nremarks:        ---------------------------\n", edgeASN)
	for _, e := range f.edges {
		fmt.Fprintf(&b, "remarks:        %d:%d    announced by %s, %s\n", edgeASN, 100+e.number, e.name, strings.ToUpper(e.site[:1])+e.site[1:])
	}
	fmt.Fprintf(&b, "source:         RIPE\n")
	return b.String()
}

// joins gives the centre its files, and each edge the document of its transit.
func (f *fleet) joins() {
	n := f.named("central")
	var names strings.Builder
	for _, e := range f.edges {
		fmt.Fprintln(&names, e.name)
	}
	f.bind(n, "central.yaml", "/etc/catchment/central.yaml", centralConfig)
	f.bind(n, "joins", "/etc/catchment/joins", names.String())
	f.bind(n, "as57629.txt", "/etc/catchment/as57629.txt", f.tags())
	for i := 1; i <= 3; i++ {
		asn := 65000 + i
		text := fmt.Sprintf("aut-num:        AS%[1]d\nas-name:        TRANSIT%[2]d\nremarks:        BGP communities for customers\nremarks:        -----------------------------\nremarks:        %[1]d:320x   prepend x times to customers, x = 1..2\nsource:         RIPE\n", asn, i)
		e := f.edges[2*(i-1)]
		f.bind(e.node, fmt.Sprintf("as%d.txt", asn), "/etc/catchment/transit.txt", text)
	}
}

const centralConfig = `listen: 0.0.0.0:7179
http: 0.0.0.0:7180
data: /run/catchment-central/store
tls: {ca: pki/ca.pem, cert: central.pem, key: central.key}
domain: lab.example
pki: pki
asn: 57629
services:
  - {name: video, min_announcing: 3, max_withdrawn: 0.34}
registry: [as57629.txt]
`

// String is the configuration of the edge.
func (e *edge) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "node: %s\nsite: %s\nasn: %d\nrouter_id: %s\nstate_dir: /var/lib/catchment\ncontrol: unix:///run/catchment/edge.sock\nmetrics: 127.0.0.1:9179\n", e.name, e.site, edgeASN, e.id)
	fmt.Fprintf(&b, "central: {address: \"%s:7179\", tls: {ca: ca.pem, cert: edge.pem, key: edge.key}}\n", centreAddress)
	if strings.HasSuffix(e.name, "1") {
		fmt.Fprintf(&b, "registry: [transit.txt]\n")
	}
	fmt.Fprintf(&b, "links:\n  - {name: city, capacity: 1Gbps, feed: {url: \"http://127.0.0.1:8000/load.json\", period: 1s}, landing: 0}\n")
	fmt.Fprintf(&b, "neighbors:\n%s\n", strings.Join(e.neighbors, "\n"))
	fmt.Fprintf(&b, `services:
  - name: video
    prefixes: [%s]
    vips: [%s/32]
    communities: ["%d:%d"]
    drain: 3s
    checks:
      - {name: web, http: {url: "http://%s/"}, interval: 1s, timeout: 500ms}
      - {name: backbone, file: {path: /run/lab/backbone-lost}, interval: 1s, scope: soft}
# The times are those of a lab that shall be looked at in a minute. The flap budget is that of one change arriving as one.
load:
  mode: pi
  target: 0.82
  interval: 500ms
  dwell_up: 5s
  dwell_down: 1m
  down_after: 30s
  dead_time: 3s
  flap: {profiles: [cisco], exploration: 1}
leave_hold: 1s
`, service, vip, edgeASN, 100+e.number, vip)
	return b.String()
}
