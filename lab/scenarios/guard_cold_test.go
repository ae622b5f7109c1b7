package scenarios

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/catchment-bgp/catchment/lab/netlab"
)

// coldStarts is how often each of two labs starts its daemon anew; each start brings four sessions up.
const coldStarts = 50

// Both sides dial and both listen, in every session. The daemon is killed and started anew; the routers are stopped
// meanwhile, so that they begin to dial as the daemon's connection is before them: that makes collisions (RFC 4271
// section 6.8). Each router must have one session in the end, on one TCP connection.
func TestColdStartsWithBothSidesActive(t *testing.T) {
	for name, id := range map[string]string{"our router ID is lower": "10.0.0.1", "our router ID is higher": "10.255.0.1"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			coldStart(t, id)
		})
	}
}

func coldStart(t *testing.T, routerID string) {
	h := newHub(t, netlab.FRRouting, netlab.BIRDRouting, netlab.Tcpdump)
	f, b := h.spoke("frr"), h.spoke("bird")
	frr := f.node.FRR(netlab.FRRConfig{ASN: frrASN, RouterID: "10.78.0.1", Neighbors: []netlab.FRRNeighbor{
		{Address: f.Edge4, ASN: edgeASN}, {Address: f.Edge6, ASN: edgeASN},
	}}.String())
	bird := b.node.BIRD(netlab.BIRDConfig{ASN: birdASN, RouterID: "10.78.0.2", Neighbors: []netlab.BIRDNeighbor{
		{Address: b.Edge4, ASN: edgeASN}, {Address: b.Edge6, ASN: edgeASN},
	}}.String())
	var neighbors []string
	for s, asn := range map[*spoke]uint32{f: frrASN, b: birdASN} {
		neighbors = append(neighbors, s.neighbor(asn, named(s.name+"4"), "listen: true"), s.neighbor6(asn, named(s.name+"6"), "listen: true"))
	}
	c := always(neighbors...)
	c.Lines = append(c.Lines, "router_id: "+routerID)
	collisions := h.edge.Capture("any", fmt.Sprintf("tcp port 179 and ((%s) or (%s))", cease7("tcp[", "((tcp[12]&0xf0)>>2)"), cease7("ip6[40+", "((ip6[52]&0xf0)>>2)")))
	d := h.start(c)
	random := rand.New(rand.NewPCG(seed, 1))
	ends := map[netip.Addr]netlab.Router{f.Edge4: frr, f.Edge6: frr, b.Edge4: bird, b.Edge6: bird}
	theirs := map[netip.Addr]netip.Addr{f.Edge4: f.Peer4, f.Edge6: f.Peer6, b.Edge4: b.Peer4, b.Edge6: b.Peer6}
	before := map[netip.Addr]netlab.Session{}
	begun := time.Now()
	for i := range coldStarts {
		if i > 0 {
			d.proc.Kill()
			signalBoth(t, unix.SIGSTOP, frr, bird)
			d.start()
			late := time.Duration(random.IntN(1200)) * time.Millisecond
			<-time.After(late) // the routers' timers run on
			signalBoth(t, unix.SIGCONT, frr, bird)
		}
		for peer, r := range ends {
			netlab.Eventually(t, sessionWait, fmt.Sprintf("session %d with %s", i, peer), func() error {
				s, err := r.Session(peer)
				if err == nil && (s.State != netlab.Established || s.Instance == before[peer].Instance) {
					err = fmt.Errorf("%+v", s)
				}
				before[peer] = s
				return err
			})
		}
		netlab.Eventually(t, soon, fmt.Sprintf("one connection for each session of start %d", i), func() error {
			sockets := h.edge.MustRun("ss", "-Htan", "state", "connected", "exclude", "time-wait")
			for ours, peer := range theirs {
				if n := connections(sockets, bracketed(ours)+":", bracketed(peer)+":"); n != 1 {
					return fmt.Errorf("%d connections with %s: %s", n, peer, sockets)
				}
			}
			return nil
		})
		for peer, r := range ends {
			sameSession(t, r, peer, before[peer])
		}
	}
	took := time.Since(begun)
	file, err := collisions.Stop()
	if err != nil {
		t.Fatal(err)
	}
	n := strings.Count(run(t, "tcpdump", "-n", "-r", file).stdout, "\n")
	t.Logf("%d starts of the daemon with 4 sessions each in %v; %d times a connection was given up with 6/7", coldStarts, took.Round(time.Millisecond), n)
	if n == 0 {
		t.Error("no collision came about")
	}
}

// cease7 is the part of a packet filter that finds a NOTIFICATION with 6/7 behind a TCP header of a computed length.
func cease7(open, size string) string {
	var parts []string
	for offset, value := range map[int]int{18: 3, 19: 6, 20: 7} {
		parts = append(parts, fmt.Sprintf("%s%s+%d]=%d", open, size, offset, value))
	}
	return strings.Join(parts, " and ")
}

func signalBoth(t testing.TB, s unix.Signal, frr *netlab.FRR, bird *netlab.BIRD) {
	t.Helper()
	if err := errors.Join(frr.Proc().Signal(s), bird.Proc().Signal(s)); err != nil {
		t.Fatal(err)
	}
}
