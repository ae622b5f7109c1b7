package scenarios

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/catchment-bgp/catchment/lab/netlab"
)

// TestU04PasswordsHoldOverIPv6AndOverHops has two sessions with each router, all with MD5 and BIRD's with GTSM: one over IPv6
// for IPv6, and one over two hops, from loopback to loopback, for IPv4 (U4).
func TestU04PasswordsHoldOverIPv6AndOverHops(t *testing.T) {
	t.Parallel()
	u := netlab.TwoUpstreams(t, netlab.FRRouting, netlab.BIRDRouting)
	own, ofFRR, ofBIRD := netip.MustParseAddr("10.98.0.1"), netip.MustParseAddr("10.99.0.1"), netip.MustParseAddr("10.99.0.2")
	u.Edge.AddAddress("lo", own.String()+"/32")
	u.FRR.AddAddress("lo", ofFRR.String()+"/32")
	u.BIRD.AddAddress("lo", ofBIRD.String()+"/32")
	for _, l := range []struct {
		node *netlab.Node
		to   netip.Addr
		via  netip.Addr
	}{
		{u.Edge, ofFRR, u.ToFRR.Peer4}, {u.Edge, ofBIRD, u.ToBIRD.Peer4}, {u.FRR, own, u.ToFRR.Edge4}, {u.BIRD, own, u.ToBIRD.Edge4},
	} {
		l.node.MustRun("ip", "route", "add", l.to.String()+"/32", "via", l.via.String())
	}
	frr := u.FRR.FRR(netlab.FRRConfig{ASN: frrASN, RouterID: "10.77.1.2", Neighbors: []netlab.FRRNeighbor{
		{Address: u.ToFRR.Edge6, ASN: edgeASN, Password: frrPassword},
		{Address: own, ASN: edgeASN, Password: frrPassword, Multihop: 2, Options: []string{"update-source " + ofFRR.String()}},
	}}.String())
	bird := u.BIRD.BIRD(netlab.BIRDConfig{ASN: birdASN, RouterID: "10.77.2.2", Neighbors: []netlab.BIRDNeighbor{
		{Name: "six", Address: u.ToBIRD.Edge6, ASN: edgeASN, Password: birdPassword, TTLSecurity: true},
		{Name: "hops", Address: own, Local: ofBIRD, ASN: edgeASN, Password: birdPassword, TTLSecurity: true, Multihop: 2},
	}}.String())

	config := configuration{Services: []string{video("vips: []", "checks: []")}}
	for i, n := range []struct {
		local, peer netip.Addr
		asn         uint32
		more        []string
	}{
		{u.ToFRR.Edge6, u.ToFRR.Peer6, frrASN, []string{"password: " + frrPassword}},
		{own, ofFRR, frrASN, []string{"password: " + frrPassword, "multihop: 2"}},
		{u.ToBIRD.Edge6, u.ToBIRD.Peer6, birdASN, []string{"password: " + birdPassword, "ttl_security: true"}},
		{own, ofBIRD, birdASN, []string{"password: " + birdPassword, "ttl_security: true", "multihop: 2"}},
	} {
		config.Neighbors = append(config.Neighbors, mapping(append([]string{
			fmt.Sprintf("name: n%d", i), fmt.Sprintf("address: %q", n.peer), fmt.Sprintf("asn: %d", n.asn), "kind: transit",
			fmt.Sprintf("local_address: %q", n.local),
		}, n.more...)...))
	}
	startEdge(t, u.Edge, config.String())
	for _, at := range []struct {
		router netlab.Router
		six    netip.Addr
	}{{frr, u.ToFRR.Edge6}, {bird, u.ToBIRD.Edge6}} {
		awaitSession(t, at.router, at.six)
		awaitSession(t, at.router, own)
		awaitPath(t, soon, at.router, video6, look{}.at(at.six))
		awaitPath(t, soon, at.router, video4, look{}.at(own))
	}
}

// TestIPv4IsAnnouncedWithAnIPv6NextHop has one session over IPv6 with each router, and no IPv4 address in it (RFC 8950).
func TestIPv4IsAnnouncedWithAnIPv6NextHop(t *testing.T) {
	t.Parallel()
	u := netlab.TwoUpstreams(t, netlab.FRRouting, netlab.BIRDRouting)
	frr := u.FRR.FRR(netlab.FRRConfig{ASN: frrASN, RouterID: "10.77.1.2", Neighbors: []netlab.FRRNeighbor{
		{Address: u.ToFRR.Edge6, ASN: edgeASN, IPv4: true, IPv6: true, ExtendedNextHop: true},
	}}.String())
	bird := u.BIRD.BIRD(netlab.BIRDConfig{ASN: birdASN, RouterID: "10.77.2.2", Neighbors: []netlab.BIRDNeighbor{
		{Address: u.ToBIRD.Edge6, ASN: edgeASN, IPv4: true, IPv6: true, ExtendedNextHop: true},
	}}.String())
	config := configuration{Services: []string{video("vips: []", "checks: []")}}
	for name, n := range map[string]struct {
		wire netlab.Wire
		asn  uint32
	}{"frr": {u.ToFRR, frrASN}, "bird": {u.ToBIRD, birdASN}} {
		config.Neighbors = append(config.Neighbors, mapping("name: "+name, fmt.Sprintf("address: %q", n.wire.Peer6),
			fmt.Sprintf("asn: %d", n.asn), "kind: transit", fmt.Sprintf("local_address: %q", n.wire.Edge6),
			"families: [ipv4, ipv6]", fmt.Sprintf("next_hop: {ipv4: %q}", n.wire.Edge6)))
	}
	edge := startEdge(t, u.Edge, config.String())
	for _, p := range []peer{{"frr", frr, u.ToFRR}, {"bird", bird, u.ToBIRD}} {
		awaitSession(t, p.router, p.wire.Edge6)
		awaitPath(t, soon, p.router, video4, look{}.at(p.wire.Edge6))
		awaitPath(t, soon, p.router, video6, look{}.at(p.wire.Edge6))
	}
	edge.must("withdraw", "video", "--reason", "over")
	for _, r := range []netlab.Router{frr, bird} {
		awaitGone(t, soon, r, video4)
		awaitGone(t, soon, r, video6)
	}
}

func TestRouterThatWasRestartedIsToldEverythingAgain(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.start(s.config())
	s.awaitRoutes(soon, look{})
	frr, counted := awaitSession(t, s.frr, s.ToFRR.Edge4), countsAt(t, s.peers()[0])

	s.bird.Proc().Kill()
	s.edge.must("withdraw", "video", "--neighbor", "bird", "--reason", "meanwhile")
	s.edge.must("auto", "video", "--reason", "meanwhile")
	s.startBIRD()
	s.awaitRoutesAt(s.peers()[1], sessionWait, look{})
	sameSession(t, s.frr, s.ToFRR.Edge4, frr)
	if now := countsAt(t, s.peers()[0]); now != counted {
		t.Errorf("frr got UPDATEs: %s, then %s", counted, now)
	}
}

// TestWrongPasswordOrDistanceGetsNoSession proves that the routers of the other tests do ask for MD5 and GTSM.
func TestWrongPasswordOrDistanceGetsNoSession(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	c := s.config()
	c.Neighbors = []string{
		strings.Replace(s.neighborFRR(), frrPassword, "not-"+frrPassword, 1),
		strings.Replace(s.neighborBIRD(), "ttl_security: true", "ttl_security: false", 1),
	}
	s.edge = startEdge(t, s.Edge, c.String())
	holds(t, 3*time.Second, "no session", func() error {
		for _, p := range s.peers() {
			if now, err := p.router.Session(p.wire.Edge4); err != nil || now.State == netlab.Established {
				return fmt.Errorf("%s: %+v, %v", p.name, now, err)
			}
		}
		return nil
	})
	s.edge.reload(s.config().String())
	// BIRD has never seen the end of the connections whose every packet it dropped, and takes no other for minutes.
	if _, err := s.bird.Birdc("restart edge"); err != nil {
		t.Fatal(err)
	}
	s.awaitRoutes(sessionWait, look{})
}
