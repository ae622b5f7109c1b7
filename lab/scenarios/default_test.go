package scenarios

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/catchment-bgp/catchment/lab/netlab"
)

// TestDefaultRouteOfANeighborIsTheWayBack has an edge that takes its default route by BGP, from FRR (accept_default).
func TestDefaultRouteOfANeighborIsTheWayBack(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for _, family := range []string{"-4", "-6"} {
		s.Edge.MustRun("ip", family, "route", "del", "default")
	}
	defaults := func() string {
		return s.Edge.MustRun("ip", "-4", "route", "show", "default") + s.Edge.MustRun("ip", "-6", "route", "show", "default")
	}
	s.start(s.config())
	holds(t, 2*time.Second, "silence without a way back", s.none)

	c := s.config()
	c.Neighbors[0] = s.neighborFRR("accept_default: true")
	s.edge.reload(c.String())
	if _, err := s.frr.Vtysh("configure terminal", fmt.Sprintf("router bgp %d", frrASN),
		"address-family ipv4 unicast", fmt.Sprintf("neighbor %s default-originate", s.ToFRR.Edge4), "exit-address-family",
		"address-family ipv6 unicast", fmt.Sprintf("neighbor %s default-originate", s.ToFRR.Edge4)); err != nil {
		t.Fatal(err)
	}
	netlab.Eventually(t, sessionWait, "both default routes in the kernel", func() error {
		text := defaults()
		if strings.Count(text, "proto bgp") != 2 || !strings.Contains(text, "via "+s.ToFRR.Peer4.String()+" ") {
			return fmt.Errorf("%q", text)
		}
		return nil
	})
	s.awaitRoutes(soon, look{})

	bird := awaitSession(t, s.bird, s.ToBIRD.Edge4)
	s.frr.Kill()
	netlab.Eventually(t, soon, "the end of the default routes", func() error {
		if text := defaults(); text != "" {
			return fmt.Errorf("%q", text)
		}
		return nil
	})
	awaitGone(t, soon, s.bird, video4)
	awaitGone(t, soon, s.bird, video6)
	sameSession(t, s.bird, s.ToBIRD.Edge4, bird)
	s.Edge.DefaultRoute(s.ToBIRD.Peer4.String())
	s.Edge.DefaultRoute(s.ToBIRD.Peer6.String())
	s.awaitRoutesAt(s.peers()[1], soon, look{})
	s.edge.leave()
	if text := defaults(); strings.Count(text, "default") != 2 || strings.Contains(text, "proto bgp") {
		t.Errorf("default routes after leaving: %q", text)
	}
}
