package scenarios

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	edgev1 "github.com/catchment-bgp/catchment/api/edge/v1"
	"github.com/catchment-bgp/catchment/lab/netlab"
	"github.com/catchment-bgp/catchment/lab/netlab/routegen"
)

// distant makes a node behind another one, two hops from the edge. Its Wire has the addresses of the far ends.
func (h *hub) distant(name string) *spoke {
	h.t.Helper()
	middle := h.lab.Node(name + "-mid")
	near, far := h.link(h.edge, middle), h.link(middle, h.lab.Node(name))
	network := func(a netip.Addr, bits int) string { return netip.PrefixFrom(a, bits).Masked().String() }
	h.edge.MustRun("ip", "route", "add", network(far.Peer4, 30), "via", near.Peer4.String())
	h.edge.MustRun("ip", "-6", "route", "add", network(far.Peer6, 64), "via", near.Peer6.String())
	far.node.MustRun("ip", "route", "add", network(near.Edge4, 30), "via", far.Edge4.String())
	far.node.MustRun("ip", "-6", "route", "add", network(near.Edge6, 64), "via", far.Edge6.String())
	return &spoke{t: h.t, name: name, node: far.node, Wire: netlab.Wire{
		Edge4: near.Edge4, Edge6: near.Edge6, Peer4: far.Peer4, Peer6: far.Peer6, EdgeIf: near.EdgeIf, PeerIf: far.PeerIf,
	}}
}

// named gives an entry another name, since names are unique and a spoke may have two.
func named(name string) string { return "name: " + name }

// U4. TCP MD5 and GTSM with both routers, over IPv4 and IPv6, on the link and over a router between.
func TestU04MD5AndGTSMWithBothRouters(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		md5  bool
		gtsm bool
		far  bool
	}{
		{name: "MD5", md5: true}, {name: "GTSM", gtsm: true}, {name: "MD5 and GTSM", md5: true, gtsm: true},
		{name: "MD5 over two hops", md5: true, far: true}, {name: "MD5 and GTSM over two hops", md5: true, gtsm: true, far: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h := newHub(t, netlab.FRRouting, netlab.BIRDRouting)
			make := h.spoke
			if c.far {
				make = h.distant
			}
			f, b := make("frr"), make("bird")
			var fields []string
			password, hops := "", 0
			if c.md5 {
				password = "between us"
				fields = append(fields, "password: "+password)
			}
			if c.gtsm {
				fields = append(fields, "ttl_security: true")
			}
			if c.far {
				hops = 2
				fields = append(fields, "multihop: 2")
			}
			at := func(a netip.Addr) netlab.FRRNeighbor {
				n := netlab.FRRNeighbor{Address: a, ASN: edgeASN, Password: strings.ReplaceAll(password, " ", "-"), Multihop: hops}
				if c.gtsm {
					n.Multihop, n.Options = 0, []string{fmt.Sprintf("ttl-security hops %d", max(hops, 1))}
				}
				return n
			}
			frr := f.node.FRR(netlab.FRRConfig{ASN: frrASN, RouterID: f.Peer4.String(), Neighbors: []netlab.FRRNeighbor{at(f.Edge4), at(f.Edge6)}}.String())
			with := func(a netip.Addr) netlab.BIRDNeighbor {
				return netlab.BIRDNeighbor{Address: a, ASN: edgeASN, Password: password, Multihop: hops, TTLSecurity: c.gtsm}
			}
			bird := b.node.BIRD(netlab.BIRDConfig{ASN: birdASN, RouterID: b.Peer4.String(), Neighbors: []netlab.BIRDNeighbor{with(b.Edge4), with(b.Edge6)}}.String())
			var neighbors []string
			for s, asn := range map[*spoke]uint32{f: frrASN, b: birdASN} {
				fields := fields
				if s == f && c.md5 { // vtysh takes no blanks
					fields = append([]string{"password: between-us"}, fields[1:]...)
				}
				neighbors = append(neighbors, s.neighbor(asn, append(fields, named(s.name+"4"))...), s.neighbor6(asn, append(fields, named(s.name+"6"))...))
			}
			d := h.start(always(neighbors...))
			api := d.api()
			for s, r := range map[*spoke]netlab.Router{f: frr, b: bird} {
				awaitSession(t, r, s.Edge4)
				awaitSession(t, r, s.Edge6)
				awaitPath(t, soon, r, video4, nil)
				awaitPath(t, soon, r, video6, nil)
				awaitStatus(t, api, s.name+"4", soon, isUp)
				awaitStatus(t, api, s.name+"6", soon, isUp)
			}
		})
	}
}

// refused waits until the status says why there is no session, and fails when there was one.
func refused(t testing.TB, d *daemon, name string, words ...string) {
	t.Helper()
	awaitStatus(t, d.api(), name, 2*sessionWait, func(n *edgev1.Neighbor) error {
		for _, word := range words {
			if !strings.Contains(n.GetLastError(), word) {
				return fmt.Errorf("no word of %q", word)
			}
		}
		return nil
	})
	if n := d.metric(fmt.Sprintf("catchment_sessions_total{neighbor=%q}", name)); n != 0 {
		t.Errorf("%s: %v sessions", name, n)
	}
}

func TestWrongPasswordIsNoSessionAndExplained(t *testing.T) {
	t.Parallel()
	h := newHub(t, netlab.FRRouting, netlab.BIRDRouting)
	f, b := h.spoke("frr"), h.spoke("bird")
	frr := f.node.FRR(netlab.FRRConfig{ASN: frrASN, RouterID: f.Peer4.String(), Neighbors: []netlab.FRRNeighbor{
		{Address: f.Edge4, ASN: edgeASN, Password: "theirs"}, {Address: f.Edge6, ASN: edgeASN, Password: "theirs"},
	}}.String())
	bird := b.node.BIRD(netlab.BIRDConfig{ASN: birdASN, RouterID: b.Peer4.String(), Neighbors: []netlab.BIRDNeighbor{
		{Address: b.Edge4, ASN: edgeASN}, {Address: b.Edge6, ASN: edgeASN, Password: "theirs"},
	}}.String())
	var neighbors []string
	for s, asn := range map[*spoke]uint32{f: frrASN, b: birdASN} {
		neighbors = append(neighbors, s.neighbor(asn, named(s.name+"4"), "password: ours"), s.neighbor6(asn, named(s.name+"6"), "password: ours"))
	}
	d := h.start(always(neighbors...))
	for _, name := range []string{"frr4", "frr6", "bird4", "bird6"} {
		refused(t, d, name, "cannot connect", "password")
	}
	for s, r := range map[*spoke]netlab.Router{f: frr, b: bird} {
		for _, peer := range []netip.Addr{s.Edge4, s.Edge6} {
			if session, err := r.Session(peer); err != nil || session.State == netlab.Established {
				t.Errorf("%s: %+v, %v", s.name, session, err)
			}
		}
	}
}

// RFC 5082. The neighbour sends with a TTL of 255, but from two hops away, which makes 254.
func TestGTSMKeepsDistantPeersOut(t *testing.T) {
	t.Parallel()
	h := newHub(t, netlab.BIRDRouting)
	far, caller := h.distant("far"), h.distant("caller")
	bird := far.node.BIRD(netlab.BIRDConfig{ASN: birdASN, RouterID: far.Peer4.String(), Neighbors: []netlab.BIRDNeighbor{
		{Address: far.Edge4, ASN: edgeASN, Multihop: 255}, {Address: far.Edge6, ASN: edgeASN, Multihop: 255},
	}}.String())
	d := h.start(always(
		far.neighbor(birdASN, named("far4"), "ttl_security: true"), far.neighbor6(birdASN, named("far6"), "ttl_security: true"),
		caller.neighbor(rawASN, "ttl_security: true", "listen: true"),
	))
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	s, err := caller.dial(ctx, routegen.Config{TTL: 255})
	if err == nil {
		_ = s.Close()
		t.Error("a caller from two hops away has a session")
	} else if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a caller from two hops away: %v", err)
	}
	refused(t, d, "far4", "cannot connect")
	refused(t, d, "far6", "cannot connect")
	for _, peer := range []netip.Addr{far.Edge4, far.Edge6} {
		if session, err := bird.Session(peer); err != nil || session.State == netlab.Established {
			t.Errorf("%+v, %v", session, err)
		}
	}
	if n := d.metric(`catchment_sessions_total{neighbor="caller"}`); n != 0 {
		t.Errorf("%v sessions of the caller", n)
	}
}

// Without multihop packets of an eBGP session go one hop far.
func TestMultihopIsTheTTL(t *testing.T) {
	t.Parallel()
	h := newHub(t, netlab.BIRDRouting)
	one, two := h.distant("one"), h.distant("two")
	bird := func(s *spoke) *netlab.BIRD {
		return s.node.BIRD(netlab.BIRDConfig{ASN: birdASN, RouterID: s.Peer4.String(), Neighbors: []netlab.BIRDNeighbor{
			{Address: s.Edge4, ASN: edgeASN, Multihop: 2, Passive: true},
		}}.String())
	}
	near, far := bird(one), bird(two)
	d := h.start(always(one.neighbor(birdASN), two.neighbor(birdASN, "multihop: 2")))
	awaitPath(t, sessionWait, far, video4, nil)
	refused(t, d, "one", "cannot connect")
	if session, err := near.Session(one.Edge4); err != nil || session.State == netlab.Established {
		t.Errorf("%+v, %v", session, err)
	}
}

func TestBindDeviceKeepsTheSessionOnItsInterface(t *testing.T) {
	t.Parallel()
	h := newHub(t, netlab.BIRDRouting)
	right, wrong, absent := h.spoke("right"), h.spoke("wrong"), h.spoke("absent")
	birds := map[*spoke]*netlab.BIRD{}
	for _, s := range []*spoke{right, wrong, absent} {
		birds[s] = s.node.BIRD(netlab.BIRDConfig{ASN: birdASN, RouterID: s.Peer4.String(), Neighbors: []netlab.BIRDNeighbor{
			{Address: s.Edge4, ASN: edgeASN, Passive: true},
		}}.String())
	}
	d := h.start(always(right.neighbor(birdASN, "bind_device: "+right.EdgeIf), wrong.neighbor(birdASN, "bind_device: "+right.EdgeIf),
		absent.neighbor(birdASN, "bind_device: eth99")))
	awaitPath(t, sessionWait, birds[right], video4, nil)
	refused(t, d, "wrong", "cannot connect")
	refused(t, d, "absent", "cannot connect", "eth99")
	// ss shows the device behind the address of a socket that is bound to one.
	if sockets := h.edge.MustRun("ss", "-Htn", "state", "established"); !strings.Contains(sockets, right.Edge4.String()+"%"+right.EdgeIf+":") {
		t.Errorf("no session is bound to %s: %s", right.EdgeIf, sockets)
	}
	for _, s := range []*spoke{wrong, absent} {
		if session, err := birds[s].Session(s.Edge4); err != nil || session.State == netlab.Established {
			t.Errorf("%s: %+v, %v", s.name, session, err)
		}
	}
}
