package scenarios

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/catchment-bgp/catchment/lab/netlab"
	"github.com/catchment-bgp/catchment/lab/netlab/routegen"
)

// exchange joins nodes to the edge on one network, as at an exchange: 10.79.0.0/24 and fd79::/64, where the edge is 1
// and the nodes are 2, 3 ...
func (h *hub) exchange(names ...string) []*spoke {
	h.t.Helper()
	h.edge.MustRun("ip", "link", "add", "lan", "type", "bridge")
	h.edge.MustRun("ip", "link", "set", "lan", "up")
	at := func(host int) (four, six netip.Addr) {
		return netip.MustParseAddr(fmt.Sprintf("10.79.0.%d", host)), netip.MustParseAddr(fmt.Sprintf("fd79::%d", host))
	}
	our4, our6 := at(1)
	h.edge.AddAddress("lan", our4.String()+"/24")
	h.edge.AddAddress("lan", our6.String()+"/64")
	var spokes []*spoke
	for i, name := range names {
		node := h.lab.Node(name)
		ours, theirs := h.lab.Link(h.edge, node, nil, nil)
		h.edge.MustRun("ip", "link", "set", ours, "master", "lan")
		s := &spoke{t: h.t, name: name, node: node, Wire: netlab.Wire{Edge4: our4, Edge6: our6, EdgeIf: "lan", PeerIf: theirs}}
		s.Peer4, s.Peer6 = at(i + 2)
		node.AddAddress(theirs, s.Peer4.String()+"/24")
		node.AddAddress(theirs, s.Peer6.String()+"/64")
		spokes = append(spokes, s)
	}
	return spokes
}

// Two neighbours of one network connect to us: GTSM, and MD5, of the one must not keep the other out. Where we dial
// nobody listens, so that what comes up is what was accepted.
func TestListenerIsSharedByNeighboursOfDifferentSecurity(t *testing.T) {
	t.Parallel()
	const port, key = 1790, "shared"
	for _, c := range []struct {
		name                               string
		frrGTSM, frrMD5, birdGTSM, birdMD5 bool
	}{
		{name: "GTSM at BIRD, MD5 at FRR", birdGTSM: true, frrMD5: true},
		{name: "both at FRR", frrGTSM: true, frrMD5: true},
		{name: "both at BIRD", birdGTSM: true, birdMD5: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h := newHub(t, netlab.FRRouting, netlab.BIRDRouting)
			spokes := h.exchange("frr", "bird", "stranger")
			f, b, stranger := spokes[0], spokes[1], spokes[2]
			password := func(wanted bool) string {
				if wanted {
					return key
				}
				return ""
			}
			atFRR := func(a netip.Addr) netlab.FRRNeighbor {
				return netlab.FRRNeighbor{Address: a, ASN: edgeASN, Port: port, Password: password(c.frrMD5), TTLSecurity: c.frrGTSM}
			}
			frr := f.node.FRR(netlab.FRRConfig{ASN: frrASN, RouterID: f.Peer4.String(), Neighbors: []netlab.FRRNeighbor{atFRR(f.Edge4), atFRR(f.Edge6)}}.String())
			atBIRD := func(a netip.Addr) netlab.BIRDNeighbor {
				return netlab.BIRDNeighbor{Address: a, ASN: edgeASN, Port: port, Password: password(c.birdMD5), TTLSecurity: c.birdGTSM}
			}
			bird := b.node.BIRD(netlab.BIRDConfig{ASN: birdASN, RouterID: b.Peer4.String(), Neighbors: []netlab.BIRDNeighbor{atBIRD(b.Edge4), atBIRD(b.Edge6)}}.String())
			entries := func(s *spoke, asn uint32, gtsm, md5 bool) []string {
				fields := []string{fmt.Sprintf("port: %d", port), "listen: true", fmt.Sprintf("ttl_security: %v", gtsm)}
				if md5 {
					fields = append(fields, "password: "+key)
				}
				return []string{s.neighbor(asn, append(fields, named(s.name+"4"))...), s.neighbor6(asn, append(fields, named(s.name+"6"))...)}
			}
			h.start(always(append(entries(f, frrASN, c.frrGTSM, c.frrMD5), entries(b, birdASN, c.birdGTSM, c.birdMD5)...)...))
			for s, r := range map[*spoke]netlab.Router{f: frr, b: bird} {
				awaitSession(t, r, s.Edge4)
				awaitSession(t, r, s.Edge6)
				awaitPath(t, soon, r, video4, nil)
				awaitPath(t, soon, r, video6, nil)
			}
			sockets := h.edge.MustRun("ss", "-Htn", "state", "established")
			for _, s := range []*spoke{f, b} {
				for ours, theirs := range map[netip.Addr]netip.Addr{s.Edge4: s.Peer4, s.Edge6: s.Peer6} {
					if n := connections(sockets, netip.AddrPortFrom(ours, port).String(), bracketed(theirs)+":"); n != 1 {
						t.Errorf("%d connections that %s made: %s", n, theirs, sockets)
					}
				}
			}
			if n := strings.Count(h.edge.MustRun("ss", "-Htln"), fmt.Sprintf(":%d ", port)); n != 2 {
				t.Errorf("%d listeners, want one for each family", n)
			}
			for _, to := range []netip.Addr{stranger.Edge4, stranger.Edge6} {
				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
				conn, err := stranger.node.DialContext(ctx, "tcp", netip.AddrPortFrom(to, port).String())
				cancel()
				if err != nil {
					t.Errorf("a stranger at %s: %v", to, err)
					continue
				}
				_ = conn.SetDeadline(time.Now().Add(2 * time.Second))
				open := routegen.Open{ASN: rawASN, HoldTime: 90 * time.Second, RouterID: stranger.Peer4}
				_, _ = conn.Write(open.Message())
				if answer, err := io.ReadAll(conn); len(answer) > 0 || errors.Is(err, os.ErrDeadlineExceeded) {
					t.Errorf("a stranger at %s heard %x, %v", to, answer, err)
				}
				_ = conn.Close()
			}
		})
	}
}

func bracketed(a netip.Addr) string {
	if a.Is6() {
		return "[" + a.String() + "]"
	}
	return a.String()
}

// connections counts the lines of ss with these parts of addresses.
func connections(sockets string, parts ...string) (n int) {
	for line := range strings.Lines(sockets) {
		all := true
		for _, part := range parts {
			all = all && strings.Contains(line, part)
		}
		if all {
			n++
		}
	}
	return n
}
