package scenarios

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/catchment-bgp/catchment/lab/netlab"
)

// The matrix has an edge and four routers that are unlike, each with one link for every session below, and a node
// between edge and routers that the sessions over hops pass:
//
//	      +------- FRR, BIRD, OpenBGPD, ExaBGP
//	edge -+             |
//	      +---- mid ----+
const (
	matrixASN      = 4200000057 // the edge's
	matrixPassword = "of-the-matrix"
)

// matrixSession is one session between the edge and each router.
type matrixSession struct {
	name      string
	six, both bool // over IPv6; for both families, not only the session's own
	md5, gtsm bool
	hops      bool // by way of mid
	// refused sessions must not come up: the edge has another password than the router, or does without GTSM.
	refused bool
}

func matrixSessions() []matrixSession {
	return []matrixSession{
		{name: "four"},
		{name: "six", six: true},
		{name: "both", both: true},
		{name: "md5", md5: true},
		{name: "md5-six", six: true, md5: true},
		{name: "gtsm", gtsm: true},
		{name: "gtsm-six", six: true, gtsm: true},
		{name: "hops", hops: true},
		{name: "hops-md5", six: true, hops: true, md5: true},
		{name: "wrong-md5", md5: true, refused: true},
		{name: "no-gtsm", gtsm: true, refused: true},
	}
}

// matrixRouter is one column of the matrix.
type matrixRouter struct {
	netlab.Router
	name   string
	asn    uint32
	number int // in its addresses
	node   *netlab.Node
}

// ends are the addresses of a session, of its own family and of the other one.
func (r *matrixRouter) ends(k int, s matrixSession) (w netlab.Wire) {
	addr := netip.MustParseAddr
	if s.hops {
		return netlab.Wire{
			Edge4: addr("10.90.0.1"), Peer4: addr(fmt.Sprintf("10.9%d.0.2", r.number)),
			Edge6: addr("fd90::1"), Peer6: addr(fmt.Sprintf("fd9%d::2", r.number)),
		}
	}
	return netlab.Wire{
		Edge4: addr(fmt.Sprintf("10.8%d.%d.1", r.number, k)), Peer4: addr(fmt.Sprintf("10.8%d.%d.2", r.number, k)),
		Edge6: addr(fmt.Sprintf("fd8%d:%d::1", r.number, k)), Peer6: addr(fmt.Sprintf("fd8%d:%d::2", r.number, k)),
	}
}

// near and far are the session's two addresses.
func (r *matrixRouter) near(k int, s matrixSession) netip.Addr {
	if w := r.ends(k, s); s.six {
		return w.Edge6
	} else {
		return w.Edge4
	}
}

func (r *matrixRouter) far(k int, s matrixSession) netip.Addr {
	if w := r.ends(k, s); s.six {
		return w.Peer6
	} else {
		return w.Peer4
	}
}

// neighbor is the session's entry under neighbors: in the edge's configuration.
func (r *matrixRouter) neighbor(k int, s matrixSession, fields ...string) string {
	w := r.ends(k, s)
	fields = append([]string{
		"name: " + strings.ToLower(r.name) + "-" + s.name, fmt.Sprintf("address: %q", r.far(k, s)), fmt.Sprintf("asn: %d", r.asn),
		"kind: transit", fmt.Sprintf("local_address: %q", r.near(k, s)),
	}, fields...)
	add := func(wanted bool, field string) {
		if wanted {
			fields = append(fields, field)
		}
	}
	add(s.both, fmt.Sprintf("families: [ipv4, ipv6], next_hop: {ipv6: %q}", w.Edge6))
	add(s.md5 && !s.refused, fmt.Sprintf("password: %q", matrixPassword))
	add(s.md5 && s.refused, "password: another")
	add(s.gtsm && !s.refused, "ttl_security: true")
	add(s.hops, "multihop: 2")
	return mapping(fields...)
}

// matrix is the whole topology.
type matrix struct {
	t       *testing.T
	lab     *netlab.Lab
	edge    *netlab.Node
	routers []*matrixRouter
	daemon  *daemon
}

func newMatrix(t *testing.T) *matrix {
	t.Helper()
	m := &matrix{t: t, lab: netlab.New(t, netlab.FRRouting, netlab.BIRDRouting, netlab.OpenBGPDRouting, netlab.ExaBGPRouting)}
	m.edge = m.lab.Node("edge")
	mid := m.lab.Node("mid")
	m.lab.Link(m.edge, mid, []string{"10.90.0.1/30", "fd90::1/64"}, []string{"10.90.0.2/30", "fd90::2/64"})
	for i, name := range []string{"FRR", "BIRD", "OpenBGPD", "ExaBGP"} {
		r := &matrixRouter{name: name, asn: 4200000001 + uint32(i), number: i + 1, node: m.lab.Node(strings.ToLower(name))}
		m.routers = append(m.routers, r)
		var edge, router []string
		for k, s := range matrixSessions() {
			if w := r.ends(k, s); !s.hops {
				edge = append(edge, w.Edge4.String()+"/30", w.Edge6.String()+"/64")
				router = append(router, w.Peer4.String()+"/30", w.Peer6.String()+"/64")
			}
		}
		m.lab.Link(m.edge, r.node, edge, router)
		m.lab.Link(mid, r.node, []string{fmt.Sprintf("10.9%d.0.1/30", r.number), fmt.Sprintf("fd9%d::1/64", r.number)},
			[]string{fmt.Sprintf("10.9%d.0.2/30", r.number), fmt.Sprintf("fd9%d::2/64", r.number)})
		m.edge.MustRun("ip", "route", "add", fmt.Sprintf("10.9%d.0.0/30", r.number), "via", "10.90.0.2")
		m.edge.MustRun("ip", "-6", "route", "add", fmt.Sprintf("fd9%d::/64", r.number), "via", "fd90::2")
		r.node.MustRun("ip", "route", "add", "10.90.0.0/30", "via", fmt.Sprintf("10.9%d.0.1", r.number))
		r.node.MustRun("ip", "-6", "route", "add", "fd90::/64", "via", fmt.Sprintf("fd9%d::1", r.number))
		r.start()
	}
	return m
}

// start starts the router with all its sessions.
func (r *matrixRouter) start() {
	id := fmt.Sprintf("10.8%d.0.2", r.number)
	frr := netlab.FRRConfig{ASN: r.asn, RouterID: id}
	bird := netlab.BIRDConfig{ASN: r.asn, RouterID: id}
	open := netlab.OpenBGPDConfig{ASN: r.asn, RouterID: id}
	exa := netlab.ExaBGPConfig{ASN: r.asn, RouterID: id}
	for k, s := range matrixSessions() {
		near, far := r.near(k, s), r.far(k, s)
		four, six, hops, password := s.both || !s.six, s.both || s.six, 0, ""
		if s.hops {
			hops = 2
		}
		if s.md5 {
			password = matrixPassword
		}
		frr.Neighbors = append(frr.Neighbors, netlab.FRRNeighbor{
			Address: near, ASN: matrixASN, IPv4: four, IPv6: six, Password: password, TTLSecurity: s.gtsm, Multihop: hops,
			Options: []string{"update-source " + far.String()},
		})
		bird.Neighbors = append(bird.Neighbors, netlab.BIRDNeighbor{
			Address: near, Local: far, ASN: matrixASN, IPv4: four, IPv6: six, Password: password, TTLSecurity: s.gtsm, Multihop: hops,
		})
		open.Neighbors = append(open.Neighbors, netlab.OpenBGPDNeighbor{ // without a local address: see there
			Address: near, ASN: matrixASN, IPv4: four, IPv6: six, Password: password, TTLSecurity: s.gtsm, Multihop: hops,
		})
		exa.Neighbors = append(exa.Neighbors, netlab.ExaBGPNeighbor{
			Address: near, Local: far, ASN: matrixASN, IPv4: four, IPv6: six, Password: password, TTLSecurity: s.gtsm, Multihop: hops,
		})
	}
	switch r.name {
	case "FRR":
		r.Router = r.node.FRR(frr.String())
	case "BIRD":
		r.Router = r.node.BIRD(bird.String())
	case "OpenBGPD":
		r.Router = r.node.OpenBGPD(open.String())
	case "ExaBGP":
		r.Router = r.node.ExaBGP(exa.String())
	}
}

// matrixMED is sent in the session "both", and no MED elsewhere.
const matrixMED = 50

// config is the edge's configuration with so many prepends everywhere.
func (m *matrix) config(prepend int) string {
	c := always()
	c.Lines = append(c.Lines, fmt.Sprintf("asn: %d", uint32(matrixASN)))
	c.Services = []string{mapping("name: video", fmt.Sprintf("prefixes: [%s, %q]", video4, video6),
		`communities: ["57629:101", "57629:65535", "57629:1:101", "4200000057:2:102", "rt:57629:101", "ro:57629:7"]`)}
	for _, r := range m.routers {
		for k, s := range matrixSessions() {
			fields := []string{fmt.Sprintf("prepend: %d", prepend)}
			if s.both {
				fields = append(fields, fmt.Sprintf("med: %d", matrixMED))
			}
			c.Neighbors = append(c.Neighbors, r.neighbor(k, s, fields...))
		}
	}
	return c.String()
}
