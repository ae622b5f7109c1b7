package scenarios

import (
	"strings"
	"testing"

	"github.com/catchment-bgp/catchment/lab/netlab"
)

func TestVIPThatSomebodyRemovesIsPutBack(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.start(s.config())
	s.awaitRoutes(soon, look{})
	want := s.vips()
	for _, address := range []string{vip4 + "/32", vip6 + "/128"} {
		s.Edge.MustRun("ip", "address", "del", address, "dev", "lo")
		netlab.Eventually(t, soon, address, func() error {
			return differ("VIPs", sorted(strings.Fields(s.vips())), sorted(strings.Fields(want)))
		})
	}
}

func TestServiceWhoseVIPCannotStandIsNotAnnounced(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	c := s.config()
	c.Services = []string{video("interface: vips0", "checks: []"), dnsService()}
	s.start(c)
	for _, p := range s.peers() {
		awaitPath(t, soon, p.router, dns4, look{}.at(p.wire.Edge4))
	}
	if err := s.none(); err != nil {
		t.Error(err)
	}
	if why := s.edge.must("why", "video"); !strings.Contains(why, "vips0") {
		t.Errorf("why does not name the interface:\n%s", why)
	}
	s.Edge.MustRun("ip", "link", "add", "vips0", "type", "veth", "peer", "name", "vips1")
	s.Edge.MustRun("ip", "link", "set", "vips0", "up")
	s.awaitRoutes(soon, look{})
}
