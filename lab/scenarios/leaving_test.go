package scenarios

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/catchment-bgp/catchment/lab/netlab"
)

func TestLeavingDoesNotWaitForRoutersThatAreStuck(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.start(s.config())
	s.awaitRoutes(soon, look{})
	if err := s.bird.Proc().Signal(unix.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.bird.Proc().Signal(unix.SIGCONT) })
	s.Edge.MustRun("ip", "link", "set", "dev", s.ToFRR.EdgeIf, "down")
	began := time.Now()
	s.edge.leave()
	t.Logf("from SIGTERM to the end of the process: %v", time.Since(began))
	if v := s.vips(); v != "" {
		t.Errorf("VIPs stay: %q", v)
	}
}

func TestLeavingRightAfterTheStartLeavesNothing(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	program := netlab.Binary(t, "./cmd/catchment-edge")
	for _, after := range []string{"msg=started", "VIP added", "session established"} {
		s.Edge.WriteFile(configFile, s.config().String())
		edge := s.Edge.Start("catchment-edge", program, "--config", configFile)
		netlab.Eventually(t, soon, after, func() error {
			if !strings.Contains(edge.Log(), after) {
				return fmt.Errorf("the log: %s", edge.Log())
			}
			return nil
		})
		if err := edge.Signal(unix.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if code, err := edge.Wait(10 * time.Second); err != nil || code != 0 {
			t.Errorf("SIGTERM after %q: exit code %d, %v", after, code, err)
		}
		s.leftNothing(after)
	}
}

// leftNothing fails the test when something of the daemon is still there.
func (s *site) leftNothing(when string) {
	s.t.Helper()
	if v := s.vips(); v != "" {
		s.t.Errorf("SIGTERM after %q: VIPs stay: %q", when, v)
	}
	if _, err := os.Stat(s.Edge.HostPath(controlFile)); !os.IsNotExist(err) {
		s.t.Errorf("SIGTERM after %q: the socket stays: %v", when, err)
	}
	s.awaitNone(time.Second)
}

func TestSecondDaemonIsRefusedAndTheFirstRunsOn(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.start(s.config())
	s.awaitRoutes(soon, look{})
	before, counted, vips := s.sessions(), s.counts(), s.vips()
	second := s.Edge.Start("second", netlab.Binary(t, "./cmd/catchment-edge"), "--config", configFile)
	if code, err := second.Wait(soon); err != nil || code != 1 || !strings.Contains(second.Log(), "is catchment-edge running already?") {
		t.Errorf("exit code %d, %v: %s", code, err, second.Log())
	}
	s.untouched(counted)
	s.sameSessions(before)
	if now := s.vips(); now != vips {
		t.Errorf("VIPs %q, then %q", vips, now)
	}
	if st, err := os.Stat(s.Edge.HostPath(controlFile)); err != nil || st.Mode().Perm() != 0o660 {
		t.Errorf("the socket: %v, %v", st, err)
	}
}

func TestDaemonThatCannotStartTouchesNothing(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	listener, err := s.Edge.Listen("tcp", "127.0.0.1:9179")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	s.Edge.WriteFile("/var/lib/file", "no directory")
	for line, says := range map[string]string{
		"metrics: 127.0.0.1:9179":               "address already in use",
		"state_dir: /var/lib/file/x":            "/var/lib/file",
		"control: unix:///run/nginx/nginx.conf": "is not a socket",
	} {
		c := s.config()
		c.Lines = []string{line}
		s.Edge.WriteFile("/run/edge/broken.yaml", c.String())
		broken := s.Edge.Start("broken", netlab.Binary(t, "./cmd/catchment-edge"), "--config", "/run/edge/broken.yaml")
		if code, err := broken.Wait(soon); err != nil || code != 1 || !strings.Contains(broken.Log(), says) {
			t.Errorf("%s: exit code %d, %v: %s", line, code, err, broken.Log())
		}
		if v := s.vips(); v != "" {
			t.Errorf("%s: VIPs %q", line, v)
		}
	}
	if log := s.bird.Proc().Log(); strings.Contains(log, "Incoming connection") {
		t.Errorf("bird heard of the daemon: %s", log)
	}
}
