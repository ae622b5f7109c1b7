package scenarios

import (
	"errors"
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/catchment-bgp/catchment/lab/netlab"
)

// loop is a site of two edges behind transit A (FRR) and transit B (BIRD), whose links are narrow, and two networks of
// clients behind both: one that always comes by A, and one that takes the shorter AS path, A's while both are alike.
//
//	first  -+-- A --+-- anchored
//	        |    \ /  (both to both)
//	        +-- B --+-- mover
//	second --- B
//
// A has only the first edge's route. B has one of each edge, and takes the second's while both are alike.
type loop struct {
	*twoWays
	second          *netlab.Node
	other           *daemon // of the second edge
	toSecond        netlab.Wire
	a, b, b2        pipe
	staying, moving *visitors
}

const (
	capacityA = 6e6
	capacityB = 12e6
	steerOff  = "65001:3001" // A prepends to the movers

	ladderB = "ladder: [{prepend: 3, sheds: 0.5}]" // which nothing must climb
)

func newLoop(t testing.TB) *loop {
	t.Helper()
	up := netlab.TwoUpstreams(t, netlab.FRRouting, netlab.BIRDRouting, netlab.NginxServer, netlab.Nft, netlab.Tc)
	l := &loop{twoWays: &twoWays{site: &site{t: t, frrASN: frrASN, birdASN: birdASN, Upstreams: up}}, second: up.Lab.Node("second")}
	l.toSecond = up.Lab.Wire(l.second, up.BIRD, "10.77.3.", "fd77:3::")
	l.second.DefaultRoute(l.toSecond.Peer4.String())
	l.second.DefaultRoute(l.toSecond.Peer6.String())
	a := netlab.FRRConfig{ASN: frrASN, RouterID: "10.77.1.2",
		Global: []string{
			"bgp community-list standard STEER permit " + steerOff,
			"route-map LESS permit 10\n match community STEER\n set as-path prepend 65001 65001 65001", "route-map LESS permit 20",
		},
		Neighbors: []netlab.FRRNeighbor{{Address: up.ToFRR.Edge4, ASN: edgeASN, IPv4: true, IPv6: true, Password: frrPassword}},
	}
	b := netlab.BIRDConfig{ASN: birdASN, RouterID: "10.77.2.2", Global: []string{kernelRoutes}, Neighbors: []netlab.BIRDNeighbor{
		{Name: "edge", Address: up.ToBIRD.Edge4, ASN: edgeASN, IPv4: true, IPv6: true, Password: birdPassword, TTLSecurity: true},
		{Name: "second", Address: l.toSecond.Edge4, ASN: edgeASN, IPv4: true, IPv6: true, Password: birdPassword, TTLSecurity: true},
	}}
	l.anchored = l.client("anchored", 1, "preference 200;", &a, &b)
	l.mover = l.client("mover", 2, "", &a, &b)
	a.Neighbors[2].IPv4Opts, a.Neighbors[2].IPv6Opts = []string{"route-map LESS out"}, []string{"route-map LESS out"}
	l.frr, l.bird = up.FRR.FRR(a.String()), up.BIRD.BIRD(b.String())
	l.nginx = up.Edge.Nginx("0.0.0.0:8080", "[::]:8080")
	l.second.Nginx("0.0.0.0:8080", "[::]:8080")
	l.a = l.narrow("a", up.Edge, up.ToFRR.EdgeIf, capacityA)
	l.b = l.narrow("b", up.Edge, up.ToBIRD.EdgeIf, capacityB)
	l.b2 = l.narrow("b", l.second, l.toSecond.EdgeIf, capacityB)
	l.staying, l.moving = visit(t, l.anchored), visit(t, l.mover)
	return l
}

// narrow shapes an interface of an edge to the capacity that its link is configured with.
func (l *loop) narrow(name string, node *netlab.Node, iface string, capacity float64) pipe {
	l.t.Helper()
	node.Shape(iface, uint64(capacity))
	return pipe{name, node, iface, capacity}
}

// link is the pipe under links: in the edge's configuration.
func (p pipe) link() string {
	return mapping("name: "+p.name, "interface: "+p.iface, "direction: tx", "smooth: 1s", fmt.Sprintf("capacity: %.0fMbps", p.capacity/1e6))
}

// startBoth starts both edges. Of the first A's entry may have further fields.
func (l *loop) startBoth(lines []string, fieldsA ...string) {
	l.t.Helper()
	l.start(l.firstConfig(lines, fieldsA...))
	l.other = startEdge(l.t, l.second, l.secondConfig(lines).String())
	awaitSession(l.t, l.bird, l.toSecond.Edge4)
	l.comesBy(l.anchored, true)
	l.comesBy(l.mover, true)
}

// firstConfig gives the first edge the higher router ID, so that B prefers the second.
func (l *loop) firstConfig(lines []string, fieldsA ...string) configuration {
	return configuration{
		Lines:    append([]string{"router_id: 10.77.0.9", "site: moscow", l.links(l.a, l.b)}, lines...),
		Services: []string{video()},
		Neighbors: []string{
			l.neighborFRR(append([]string{"return: symmetric", "link: a"}, fieldsA...)...),
			l.neighborBIRD("return: symmetric", "link: b", ladderB),
		},
	}
}

func (l *loop) secondConfig(lines []string) configuration {
	return configuration{
		Lines:    append([]string{"node: msk2", "site: moscow", l.links(l.b2)}, lines...),
		Services: []string{video()},
		Neighbors: []string{mapping(
			"name: bird", "address: "+l.toSecond.Peer4.String(), fmt.Sprintf("asn: %d", birdASN), "kind: transit",
			"local_address: "+l.toSecond.Edge4.String(), "password: "+birdPassword, "ttl_security: true", "families: [ipv4, ipv6]",
			fmt.Sprintf("next_hop: {ipv6: %q}", l.toSecond.Edge6), "return: symmetric", "link: b", ladderB,
		)},
	}
}

func (l *loop) links(pipes ...pipe) string {
	text := "links:"
	for _, p := range pipes {
		text += "\n  - " + p.link()
	}
	return text
}

// awaitLoads waits until the pipes carry these shares of their capacities, to a tenth.
func (l *loop) awaitLoads(within time.Duration, what string, a, b, b2 float64) {
	l.t.Helper()
	want := []float64{a, b, b2}
	netlab.Eventually(l.t, within, what, func() error {
		got := loads(l.t, time.Second, l.a, l.b, l.b2)
		for i, w := range want {
			if got[i] < w-0.1 || got[i] > w+0.1 {
				return fmt.Errorf("loads %.2f, want %.2f", got, want)
			}
		}
		return nil
	})
	l.t.Logf("%s: loads %.2f", what, loads(l.t, time.Second, l.a, l.b, l.b2))
}

// Times of the loop's load control, a twentieth and less of the usual ones.
const (
	loopDwellUp   = 4 * time.Second
	loopDwellDown = 10 * time.Second
)

var loopLines = []string{fmt.Sprintf("load: {mode: pi, target: 0.7, dwell_up: %v, dwell_down: %v, down_after: 4s, dead_time: 4s, %s}", loopDwellUp, loopDwellDown, oneStepEach)}

// want sets what the visitors want, in shares of A's capacity.
func (l *loop) want(staying, moving float64) {
	l.staying.rate.Store(int64(staying * capacityA))
	l.moving.rate.Store(int64(moving * capacityA))
}

// look reads the first edge's routes at A, which must look like this, and all others, which must be as configured.
func (l *loop) look(atA look) error {
	var errs []error
	for prefix, hops := range map[netip.Prefix][3]netip.Addr{
		video4: {l.ToFRR.Edge4, l.ToBIRD.Edge4, l.toSecond.Edge4}, video6: {l.ToFRR.Edge6, l.ToBIRD.Edge6, l.toSecond.Edge6},
	} {
		a, errA := l.frr.Routes(prefix)
		b, errB := l.bird.Routes(prefix)
		errs = append(errs, errA, errB)
		if len(a) != 1 || len(b) != 2 {
			return fmt.Errorf("%s: A has %+v, B has %+v (%w)", prefix, a, b, errors.Join(errs...))
		}
		errs = append(errs, atA.at(hops[0])(a[0]))
		for _, path := range b {
			hop := hops[1]
			if path.From == l.toSecond.Edge4 {
				hop = hops[2]
			}
			errs = append(errs, look{}.at(hop)(path))
		}
	}
	return errors.Join(errs...)
}

func (l *loop) awaitLook(within time.Duration, what string, atA look) time.Time {
	l.t.Helper()
	netlab.Eventually(l.t, within, what, func() error { return l.look(atA) })
	return time.Now()
}

func TestLoadMovesClientsAndLetsThemReturn(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		rung string
		look look
	}{
		"community": {rung: `community: ["` + steerOff + `"]`, look: look{communities: []string{steerOff}}},
		"prepend":   {rung: "prepend: 3", look: look{prepend: 3}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLoop(t)
			l.startBoth(loopLines, "ladder: ["+mapping(c.rung, "sheds: 0.5")+"]")
			before := l.sessions()
			l.want(0.25, 0.2)
			l.awaitLoads(3*soon, "before the rush all by A", 0.46, 0, 0)
			holds(t, 2*loopDwellUp, "what was configured", func() error { return l.look(look{}) })

			l.want(0.25, 0.65)
			rush := time.Now()
			climbed := l.awaitLook(45*time.Second, "less of A", c.look)
			t.Logf("less of A %v after the rush began", climbed.Sub(rush).Round(100*time.Millisecond))
			if n := l.edge.neighbor("video", "frr"); n.State != "steered" || n.Reason != "load" || n.Rung != 1 {
				t.Errorf("the status says of A: %+v", n)
			}
			l.comesBy(l.mover, false)
			l.comesBy(l.anchored, true)
			l.awaitLoads(3*soon, "the movers by B's second", 0.26, 0, 0.33)
			holds(t, 5*time.Second, "the rung", func() error { return l.look(c.look) })

			l.want(0.08, 0.2)
			ebb := time.Now()
			back := l.awaitLook(45*time.Second, "A as configured", look{})
			t.Logf("back %v after the rush was over", back.Sub(ebb).Round(100*time.Millisecond))
			if stood := back.Sub(climbed); stood < loopDwellDown-time.Second {
				t.Errorf("the rung stood for %v, want its dwell of %v", stood, loopDwellDown)
			}
			l.comesBy(l.mover, true)
			l.awaitLoads(3*soon, "all by A again", 0.29, 0, 0)
			holds(t, 5*time.Second, "what was configured", func() error { return l.look(look{}) })
			l.sameSessions(before)
			if f := l.staying.failures.Load(); f > 0 {
				t.Errorf("%d downloads of those who stayed failed", f)
			}
		})
	}
}
