package host

import (
	"bufio"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestHelperHoldsTheClaim is the other process of TestAnotherCatchmentIsLeftAlone.
func TestHelperHoldsTheClaim(t *testing.T) {
	if os.Getenv("CATCHMENT_CLAIM") == "" {
		t.Skip("runs in a process of its own")
	}
	v, err := NewVIPs(VIPOptions{StateDir: t.TempDir()})
	must(t, err)
	defer v.Close()
	must(t, v.Set(map[string][]netip.Prefix{"lo": {netip.MustParsePrefix("203.0.113.1/32")}}))
	fmt.Println("held")
	bufio.NewReader(os.Stdin).ReadString('\n')
	must(t, v.Set(nil))
}

// A second daemon, or a demo as root, took the addresses of the first one away.
func TestAnotherCatchmentIsLeftAlone(t *testing.T) {
	n := newNet(t)
	cmd := exec.Command(os.Args[0], "-test.run=^TestHelperHoldsTheClaim$")
	cmd.Env = append(os.Environ(), "CATCHMENT_CLAIM=1")
	in, err := cmd.StdinPipe()
	must(t, err)
	out, err := cmd.StdoutPipe()
	must(t, err)
	n.inside(t, cmd.Start)
	lines := bufio.NewScanner(out)
	for lines.Scan() && lines.Text() != "held" {
	}

	v, err := NewVIPs(VIPOptions{Namespace: n.ns, StateDir: t.TempDir()})
	must(t, err)
	defer v.Close()
	mine := map[string][]netip.Prefix{"lo": {netip.MustParsePrefix("198.51.100.1/32")}}
	for range 500 { // faster than the other one may answer, more often than its queue is long
		must(t, v.Set(nil))
		if err := v.Set(mine); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("process %d holds VIPs here already", cmd.Process.Pid)) {
			t.Fatalf("Set beside another catchment: %v", err)
		}
	}
	own, err := v.Own()
	must(t, err)
	if len(own) != 1 || own[0].Prefix.String() != "203.0.113.1/32" {
		t.Errorf("addresses of catchment: %v; want the other one's", own)
	}

	must(t, in.Close())
	for lines.Scan() {
	}
	must(t, cmd.Wait())
	must(t, v.Set(mine)) // the other one is gone
	must(t, v.Set(nil))
}
