package scenarios

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/catchment-bgp/catchment/lab/netlab"
)

// four are four edges behind one transit (BIRD), and beside them an observer (FRR) that has from the transit what it has
// of them: its best route.
//
//	msk1 -+
//	msk2 -+
//	msk3 -+- transit --- observer
//	msk4 -+
type four struct {
	t        testing.TB
	lab      *netlab.Lab
	edges    []*sibling
	transit  *netlab.BIRD
	observer *netlab.FRR
	seen     netlab.Wire // from the observer to the transit
}

// sibling is one of the four edges.
type sibling struct {
	*daemon
	name string
	wire netlab.Wire
}

const observerASN = 65007

// newFour starts the routers; the edges are the test's.
func newFour(t testing.TB, damping *netlab.Damping) *four {
	t.Helper()
	f := &four{t: t, lab: netlab.New(t, netlab.FRRouting, netlab.BIRDRouting)}
	transit, observer := f.lab.Node("transit"), f.lab.Node("observer")
	config := netlab.BIRDConfig{ASN: birdASN, RouterID: "10.77.100.1"}
	for i := 1; i <= 4; i++ {
		s := &sibling{name: fmt.Sprintf("msk%d", i)}
		node := f.lab.Node(s.name)
		s.wire = f.lab.Wire(node, transit, fmt.Sprintf("10.77.%d.", i), fmt.Sprintf("fd77:%d::", i))
		node.DefaultRoute(s.wire.Peer4.String())
		node.DefaultRoute(s.wire.Peer6.String())
		s.daemon = &daemon{t: t, node: node}
		config.Neighbors = append(config.Neighbors, netlab.BIRDNeighbor{
			Name: s.name, Address: s.wire.Edge4, ASN: edgeASN, IPv4: true, IPv6: true, Password: birdPassword,
		})
		f.edges = append(f.edges, s)
	}
	f.seen = f.lab.Wire(observer, transit, "10.77.9.", "fd77:9::")
	config.Neighbors = append(config.Neighbors, netlab.BIRDNeighbor{
		Name: "observer", Address: f.seen.Edge4, ASN: observerASN, IPv4: true, IPv6: true, Export: "all",
	})
	f.transit = transit.BIRD(config.String())
	f.observer = observer.FRR(netlab.FRRConfig{ASN: observerASN, RouterID: "10.77.100.2", Damping: damping,
		Neighbors: []netlab.FRRNeighbor{{Address: f.seen.Peer4, ASN: birdASN, IPv4: true, IPv6: true}},
	}.String())
	awaitSession(t, f.transit, f.seen.Edge4)
	return f
}

// config is the configuration of one of the edges, which by its router ID is the rank-th best, from 1, while all are
// alike. Each tags its routes, so that the observer sees whose is the best.
func (f *four) config(i, rank int, lines []string, fields ...string) configuration {
	s := f.edges[i]
	return configuration{
		Lines: append([]string{
			"node: " + s.name, fmt.Sprintf("router_id: 10.77.0.%d", rank), "site: moscow",
			"links:\n  - " + feedLink("transit", feedAddress),
		}, lines...),
		Services: []string{video("vips: []", "checks: []", fmt.Sprintf(`communities: ["57629:%d"]`, i+1))},
		Neighbors: []string{mapping(append([]string{
			"name: transit", "address: " + s.wire.Peer4.String(), fmt.Sprintf("asn: %d", birdASN), "kind: transit",
			"local_address: " + s.wire.Edge4.String(), "password: " + birdPassword, "families: [ipv4, ipv6]",
			fmt.Sprintf("next_hop: {ipv6: %q}", s.wire.Edge6), "link: transit",
		}, fields...)...)},
	}
}

// prepends are the edges' at the transit, -1 where it has no route.
func (f *four) prepends(prefix netip.Prefix) ([]int, error) {
	paths, err := f.transit.Routes(prefix)
	if err != nil {
		return nil, err
	}
	list := []int{-1, -1, -1, -1}
	for _, p := range paths {
		for i, s := range f.edges {
			if p.From == s.wire.Edge4 {
				list[i] = len(p.ASPath) - 1
			}
		}
	}
	return list, nil
}

func (f *four) awaitPrepends(within time.Duration, want ...int) {
	f.t.Helper()
	for _, prefix := range []netip.Prefix{video4, video6} {
		netlab.Eventually(f.t, within, "prepends at the transit", func() error {
			got, err := f.prepends(prefix)
			if err == nil {
				err = differ("prepends", got, want)
			}
			return err
		})
	}
}
