package scenarios

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/catchment-bgp/catchment/lab/netlab"
	"github.com/catchment-bgp/catchment/lab/netlab/routegen"
)

// RFC 8950, U17. The IPv4 next hop is an IPv6 address where that was negotiated, and the route stays away where not.
func TestU17IPv4RoutesWithAnIPv6NextHop(t *testing.T) {
	t.Parallel()
	h := newHub(t, netlab.FRRouting, netlab.BIRDRouting)
	f, b, without := h.spoke("frr"), h.spoke("bird"), h.spoke("without")
	frr := f.node.FRR(netlab.FRRConfig{ASN: frrASN, RouterID: f.Peer4.String(), Neighbors: []netlab.FRRNeighbor{
		{Address: f.Edge6, ASN: edgeASN, IPv4: true, IPv6: true, ExtendedNextHop: true},
	}}.String())
	bird := func(s *spoke, extended bool) *netlab.BIRD {
		return s.node.BIRD(netlab.BIRDConfig{ASN: birdASN, RouterID: s.Peer4.String(), Neighbors: []netlab.BIRDNeighbor{
			{Address: s.Edge6, ASN: edgeASN, IPv4: true, IPv6: true, ExtendedNextHop: extended},
		}}.String())
	}
	extended, plain := bird(b, true), bird(without, false)
	entry := func(s *spoke, asn uint32) string {
		return s.neighbor6(asn, "families: [ipv4, ipv6]", fmt.Sprintf("next_hop: {ipv4: %q}", s.Edge6))
	}
	d := h.start(always(entry(f, frrASN), entry(b, birdASN), entry(without, birdASN)))
	for s, r := range map[*spoke]netlab.Router{f: frr, b: extended} {
		awaitSession(t, r, s.Edge6)
		for _, prefix := range []netip.Prefix{video4, video6} {
			path := awaitPath(t, soon, r, prefix, nil)
			if hops := withoutLinkLocal(path.NextHop); !slices.Equal(hops, []netip.Addr{s.Edge6}) {
				t.Errorf("%s at %s has the next hop %v, want %v", prefix, s.name, path.NextHop, s.Edge6)
			}
		}
	}
	session := awaitSession(t, plain, without.Edge6)
	awaitPath(t, soon, plain, video6, nil)
	awaitStatus(t, d.api(), without.name, soon, isUp)
	if paths, err := plain.Routes(video4); err != nil || len(paths) > 0 {
		t.Errorf("BIRD without the capability has %+v, %v", paths, err)
	}
	sameSession(t, plain, without.Edge6, session) // a route that it cannot take would have ended it
}

// A router on which nobody has activated IPv6 gets IPv4, and nothing waits for the rest.
func TestRouterThatTakesOneFamilyOnly(t *testing.T) {
	t.Parallel()
	h := newHub(t, netlab.FRRouting)
	s := h.spoke("frr")
	frr := s.node.FRR(netlab.FRRConfig{ASN: frrASN, RouterID: s.Peer4.String(), Neighbors: []netlab.FRRNeighbor{
		{Address: s.Edge4, ASN: edgeASN, IPv4: true},
	}}.String())
	d := h.start(always(s.neighbor(frrASN, s.bothFamilies()...)))
	awaitSession(t, frr, s.Edge4)
	awaitPath(t, soon, frr, video4, nil)
	n := awaitStatus(t, d.api(), s.name, soon, isUp)
	if routes := n.GetRoutes(); len(routes) != 1 || routes[0].GetPrefix() != video4.String() {
		t.Errorf("the status has the routes %v", routes)
	}
	want := `the neighbour does not take routes of this form or family" neighbor=frr routes=[2001:db8:100::/48] carries=[ipv4]`
	if log := d.proc.Log(); !strings.Contains(log, want) {
		t.Errorf("the log does not say what has become of %s: %s", video6, log)
	}
	start := time.Now()
	d.signal(unix.SIGTERM)
	if code, err := d.proc.Wait(soon); err != nil || code != 0 {
		t.Fatalf("exit code %d, %v", code, err)
	}
	// leave_hold is 500 ms. A withdrawal that never comes would be waited for for 3 s.
	if took := time.Since(start); took > 3400*time.Millisecond {
		t.Errorf("leaving took %v", took)
	}
}

// RFC 6793. A neighbour with 2-byte AS numbers sees AS_TRANS, and our own ASN in AS4_PATH.
func TestNeighbourWithTwoByteASNumbers(t *testing.T) {
	t.Parallel()
	const ours, asTrans, prepend = 4_200_000_001, 23456, 3
	h := newHub(t)
	s := h.spoke("old")
	open := routegen.Open{
		ASN: rawASN, HoldTime: 90 * time.Second, RouterID: netip.MustParseAddr("10.255.255.1"),
		Capabilities: []routegen.Capability{{Code: routegen.CapMultiprotocol, Value: []byte{0, 1, 0, 1}}, {Code: routegen.CapRouteRefresh}},
	}
	l := s.listen(routegen.Config{Open: open.Message()})
	c := always(s.neighbor(rawASN, fmt.Sprintf("prepend: %d", prepend)))
	c.Lines = append(c.Lines, fmt.Sprintf("asn: %d", ours))
	d := h.start(c)
	speaker := s.accept(l)
	if got := speaker.Peer(); got.ASN != ours {
		t.Errorf("our OPEN has the AS %d", got.ASN)
	}
	u := newEar(t, speaker).await(soon, 0, video4.String(), announces(video4))
	for kind, want := range map[byte][]byte{
		routegen.AttrASPath:  path(2, asTrans, prepend+1),
		routegen.AttrAS4Path: path(4, ours, prepend+1),
	} {
		if got, _ := u.Attr(kind); !slices.Equal(got, want) {
			t.Errorf("attribute %d is %x, want %x", kind, got, want)
		}
	}
	n := awaitStatus(t, d.api(), s.name, soon, isUp)
	if got := n.GetRoutes()[0].GetPrepend(); got != prepend {
		t.Errorf("the status has a prepend of %d", got)
	}
	alive(t, s.name, speaker)
}

// path is one AS_SEQUENCE with one AS, many times, in numbers of 2 or 4 bytes.
func path(size int, asn uint32, times int) []byte {
	b := []byte{2, byte(times)}
	for range times {
		raw := binary.BigEndian.AppendUint32(nil, asn)
		b = append(b, raw[4-size:]...)
	}
	return b
}
