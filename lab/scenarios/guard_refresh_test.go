package scenarios

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/catchment-bgp/catchment/lab/netlab"
	"github.com/catchment-bgp/catchment/lab/netlab/routegen"
)

// refreshesPassed reads how many ROUTE-REFRESHes of a neighbour were passed on.
func refreshesPassed(d *daemon, name string) float64 {
	return d.metric(fmt.Sprintf("catchment_route_refresh_total{neighbor=%q,outcome=\"passed\"}", name))
}

func TestSoftClearAtTheRouterSendsTheRoutesAgain(t *testing.T) {
	t.Parallel()
	h := newHub(t, netlab.FRRouting, netlab.BIRDRouting)
	f, b := h.spoke("frr"), h.spoke("bird")
	config := netlab.FRRConfig{ASN: frrASN, RouterID: f.Peer4.String(), Neighbors: []netlab.FRRNeighbor{
		{Address: f.Edge4, ASN: edgeASN, IPv4: true, IPv6: true},
	}}.String()
	// With a copy of all that was received FRR would not ask for it again.
	frr := f.node.FRR(strings.ReplaceAll(config, "soft-reconfiguration inbound", "weight 1"))
	bird := b.node.BIRD(netlab.BIRDConfig{ASN: birdASN, RouterID: b.Peer4.String(), Neighbors: []netlab.BIRDNeighbor{
		{Name: "edge", Address: b.Edge4, ASN: edgeASN, IPv4: true, IPv6: true},
	}}.String())
	d := h.start(always(f.neighbor(frrASN, f.bothFamilies()...), b.neighbor(birdASN, b.bothFamilies()...)))
	for _, c := range []struct {
		*spoke
		router netlab.Router
		clear  func() error
		count  func(netlab.Counts) uint64 // what grows with each route that comes again
	}{
		{f, frr, func() error { _, err := frr.Vtysh("clear bgp * soft in"); return err }, func(c netlab.Counts) uint64 { return *c.Updates }},
		{b, bird, func() error { return bird.SoftIn(b.Edge4) }, func(c netlab.Counts) uint64 { return *c.Announced }},
	} {
		session := awaitSession(t, c.router, c.Edge4)
		both := []netip.Prefix{video4, video6}
		for _, p := range both {
			awaitPath(t, soon, c.router, p, nil)
		}
		counts := func() netlab.Counts {
			counts, err := c.router.Counts(c.Edge4)
			if err != nil {
				t.Fatal(err)
			}
			return counts
		}
		before := counts()
		if err := c.clear(); err != nil {
			t.Fatal(err)
		}
		netlab.Eventually(t, soon, "the routes again at "+c.name, func() error {
			if now := counts(); c.count(now) < c.count(before)+2 {
				return fmt.Errorf("%v, then %v", before, now)
			}
			return nil
		})

		start, passed := time.Now(), refreshesPassed(d, c.name)
		for range 40 {
			if err := c.clear(); err != nil {
				t.Fatal(err)
			}
		}
		for _, p := range both {
			awaitPath(t, soon, c.router, p, nil)
		}
		grown, took := refreshesPassed(d, c.name)-passed, time.Since(start)
		if most := 2 * (took.Seconds() + 1); grown > most {
			t.Errorf("%s: %v ROUTE-REFRESHes were passed on in %v", c.name, grown, took)
		}
		sameSession(t, c.router, c.Edge4, session)
		if now := counts(); now.Withdrawn != nil && *now.Withdrawn != *before.Withdrawn {
			t.Errorf("%s: routes were withdrawn: %v, then %v", c.name, before, now)
		}
	}
}

// A storm is answered at once and, since it may want what changed meanwhile, once more after a second.
func TestStormOfRouteRefreshesIsAnsweredTwice(t *testing.T) {
	t.Parallel()
	h := newHub(t)
	s := h.spoke("storm")
	l := s.listen(routegen.Config{HoldTime: 9 * time.Second})
	d := h.start(always(s.neighbor(rawASN)))
	speaker := s.accept(l)
	hears := newEar(t, speaker)
	hears.await(soon, 0, video4.String(), announces(video4))
	answers := func() (n int) {
		for _, u := range hears.all() {
			if announces(video4)(u) {
				n++
			}
		}
		return n - 1
	}
	const storm = 20_000
	sent, err := speaker.Flood(t.Context(), storm, func(int) []byte { return routegen.Frame(routegen.TypeRouteRefresh, []byte{0, 1, 0, 1}) })
	if err != nil || sent != storm {
		t.Fatalf("sent %d: %v", sent, err)
	}
	netlab.Eventually(t, soon, "a second answer", func() error {
		if n := answers(); n < 2 {
			return fmt.Errorf("%d answers", n)
		}
		return nil
	})
	dropped := d.metric(`catchment_route_refresh_total{neighbor="storm",outcome="dropped"}`)
	if passed := refreshesPassed(d, s.name); passed > 4 || dropped < storm-4 || answers() > 4 {
		t.Errorf("%d ROUTE-REFRESHes: %v passed, %v dropped, %d answers", storm, passed, dropped, answers())
	}
	alive(t, s.name, speaker)
}
