package scenarios

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/catchment-bgp/catchment/lab/netlab"
)

// dnsService is a second service, without a check: announced while its VIP stands.
func dnsService(fields ...string) string {
	return service([]string{"name: dns", "prefixes: [" + dns4.String() + "]", "vips: [203.0.113.53/32]"}, fields)
}

var dns4 = netip.MustParsePrefix("203.0.113.0/24")

// addressLog starts to write down every change of an address on a node. What it returns tells of those so far.
func addressLog(t testing.TB, node *netlab.Node) func() string {
	t.Helper()
	log := node.Start("addresses", "ip", "monitor", "address")
	const probe = "127.77.0.1/32" // until it is heard of, nothing is
	netlab.Eventually(t, soon, "the address monitor", func() error {
		node.MustRun("ip", "address", "replace", probe, "dev", "lo")
		node.MustRun("ip", "address", "del", probe, "dev", "lo")
		if !strings.Contains(log.Log(), "127.77.0.1") {
			return fmt.Errorf("it says %q", log.Log())
		}
		return nil
	})
	return log.Log
}

func TestU07KilledDaemonLosesItsRoutesAndFindsItsAddresses(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.Edge.AddAddress("lo", "192.0.2.7/32")     // somebody else's
	s.Edge.AddAddress("lo", "198.51.100.77/32") // the same, inside of a prefix of ours
	c := s.config()
	c.Services = append(c.Services, dnsService())
	s.start(c)
	s.awaitRoutes(soon, look{})
	awaitPath(t, soon, s.frr, dns4, nil)
	want := []string{"192.0.2.7/32", "198.51.100.77/32", vip4 + "/32", "203.0.113.53/32", vip6 + "/128"}
	if got := strings.Fields(s.vips()); !slices.Equal(sorted(got), sorted(want)) {
		t.Fatalf("addresses %q, want %q", got, want)
	}

	t.Logf("from SIGKILL of the daemon to the withdrawal: %v", s.gone(kill(t, s.edge.proc), 5*time.Second))
	s.edge.proc.Kill() // waits until it is gone
	if got := strings.Fields(s.vips()); !slices.Equal(sorted(got), sorted(want)) {
		t.Errorf("addresses after SIGKILL %q, want %q", got, want)
	}

	changes := addressLog(t, s.Edge)
	began := time.Now()
	s.start(s.config()) // without dns
	t.Logf("from the start of the daemon to the sessions: %v", time.Since(began))
	s.awaitRoutes(soon, look{})
	want = []string{"192.0.2.7/32", "198.51.100.77/32", vip4 + "/32", vip6 + "/128"}
	netlab.Eventually(t, soon, "the removal of the VIP that is configured no more", func() error {
		return differ("addresses", sorted(strings.Fields(s.vips())), sorted(want))
	})
	netlab.Eventually(t, soon, "word of that removal", func() error {
		if !strings.Contains(changes(), "203.0.113.53") {
			return fmt.Errorf("%q", changes())
		}
		return nil
	})
	for _, kept := range want { // not even for a moment
		if strings.Contains(changes(), " "+kept) {
			t.Errorf("%s was touched:\n%s", kept, changes())
		}
	}

	s.edge.leave()
	if got := strings.Fields(s.vips()); !slices.Equal(sorted(got), []string{"192.0.2.7/32", "198.51.100.77/32"}) {
		t.Errorf("addresses after leaving %q, want only the others'", got)
	}
}

func TestStoppedDaemonLosesItsSessionsByTheHoldTimer(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.start(s.config())
	s.awaitRoutes(soon, look{})
	stopped := time.Now()
	s.edge.signal(unix.SIGSTOP)
	took := s.gone(stopped, 12*time.Second) // the hold time is 9 s
	t.Logf("from SIGSTOP of the daemon to the withdrawal: %v", took)
	s.edge.signal(unix.SIGCONT)
	s.awaitRoutes(sessionWait, look{})
}
