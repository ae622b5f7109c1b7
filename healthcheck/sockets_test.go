package healthcheck

import (
	"fmt"
	"net"
	"os"
	"strings"
	"testing"
)

// established lists the local addresses of the connections that this machine
// holds open to an IPv4 loopback address, from /proc/net/tcp. There the local
// address is the second field, the remote one the third, the state (01) the
// fourth. Probes close their connections before they report, so between probes
// these are the watches.
func established(t *testing.T, address string) map[string]bool {
	t.Helper()
	table, err := os.ReadFile("/proc/net/tcp")
	if err != nil {
		t.Fatal(err)
	}
	remote := procAddress(t, address)
	found := map[string]bool{}
	for line := range strings.Lines(string(table)) {
		if f := strings.Fields(line); len(f) > 3 && f[2] == remote && f[3] == "01" {
			found[f[1]] = true
		}
	}
	return found
}

// procAddress writes an address as /proc/net/tcp does on a little-endian machine.
func procAddress(t *testing.T, address string) string {
	t.Helper()
	a, err := net.ResolveTCPAddr("tcp4", address)
	if err != nil {
		t.Fatal(err)
	}
	ip := a.IP.To4()
	return fmt.Sprintf("%02X%02X%02X%02X:%04X", ip[3], ip[2], ip[1], ip[0], a.Port)
}

// awaitWatch waits until a watch is open to address.
func awaitWatch(t *testing.T, address string) {
	t.Helper()
	waitFor(t, "watched", func() bool { return len(established(t, address)) > 0 })
}

// awaitWatch waits until the service has accepted a watch.
func (s *service) awaitWatch() {
	s.t.Helper()
	waitFor(s.t, "watched", func() bool {
		open := established(s.t, s.address)
		s.mu.Lock()
		defer s.mu.Unlock()
		for conn := range s.conns {
			if open[procAddress(s.t, conn.RemoteAddr().String())] {
				return true
			}
		}
		return false
	})
}
