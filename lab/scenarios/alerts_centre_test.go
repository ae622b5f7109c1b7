package scenarios

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/catchment-bgp/catchment/lab/netlab"
)

const (
	logPipe   = "/run/central/log"    // what a centre's log goes through
	logReader = "/run/central/reader" // the number of who takes it in

	// newZones has a zone that the time zone database of edges does not know yet, as there are every few years.
	newZones, newZone = "/run/central/zones", "Lab/Newtown"

	// pipedCentre starts a centre whose log another process takes in, as journald does.
	pipedCentre = "rm -f " + logPipe + " && mkfifo " + logPipe + " && { cat " + logPipe + " & } && echo $! >" + logReader +
		` && ZONEINFO=` + newZones + ` exec "$@" 2>` + logPipe
)

// watched is two edges, the second of them a reserve, two centres on one etcd, and a third centre that somebody gave a store of
// its own, on a small disk. Prometheus looks at the centres. The edges are at the one of the two that steers.
type watched struct {
	*cluster
	*watcher
	first, second *centre // by who steers
	alone         *centre // the etcd runs on its machine, too
}

func newWatched(t *testing.T) *watched {
	t.Helper()
	netlab.Require(t, netlab.Prometheus, netlab.Nft)
	g := newGoverned(t, 2, 3)
	g.service = video("vips: []", "drain: 1s", "checks: []")
	w := &watched{alone: g.centres[2]}
	g.centres = g.centres[:2]
	w.cluster = newStore(g, w.alone)
	const services = "[{name: video, min_announcing: 1}]"
	targets := map[string]string{}
	for _, c := range g.centres {
		c.node.WriteFile(newZones+"/"+newZone, newZoneFile())
		c.shell = pipedCentre
		g.startCentre(c, "http: 0.0.0.0:7180\n"+w.store, services)
		targets[c.node.Name()] = c.web()
	}
	const dir = "/var/lib/central"
	w.alone.node.WriteFile(dir+"/README", "mounted over")
	w.alone.node.MustRun("mount", "-t", "tmpfs", "-o", "size=768m", "tmpfs", dir)
	g.startCentre(w.alone, "http: 0.0.0.0:7180\ndata: "+dir, services)
	targets["c3"] = w.alone.web()
	w.watcher = startPrometheus(t, g.mgmt, g.pki, targets)
	w.first, w.second = w.roles()
	g.centres = []*centre{w.first}
	for i, e := range g.edges {
		g.admit(e)
		text := g.config(i).String()
		if i == 1 {
			text = strings.Replace(text, "central: {", "central: {standby: true, ", 1)
			w.withoutZones(e.node)
		}
		e.write(text)
		e.start()
	}
	g.await(sessionWait+soon, g.edges[0], "announced", undrained)
	g.awaitConnected(sessionWait)
	return w
}

// newZoneFile is a zone three hours ahead of UTC (RFC 8536).
func newZoneFile() string {
	zeros := strings.Repeat("\x00", 31) // reserved, and how many there are of what it has none of
	block := "TZif2" + zeros + "\x00\x00\x00\x01" + "\x00\x00\x00\x04" + "\x00\x00\x2a\x30\x00\x00" + "+03\x00"
	return block + block + "\n<+03>-3\n"
}

// web is where a centre is asked for its metrics.
func (c *centre) web() string { return c.addr.String() + ":7180" }

// withoutZones hides the time zones that the machine has, and those of the Go that built the program.
func (w *watched) withoutZones(node *netlab.Node) {
	w.t.Helper()
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		w.t.Fatal(err)
	}
	for _, dir := range []string{"/usr/share/zoneinfo", filepath.Join(strings.TrimSpace(string(root)), "lib", "time")} {
		if _, err := os.Stat(dir); err == nil {
			node.MustRun("mount", "-t", "tmpfs", "tmpfs", dir)
		}
	}
}

// roles are which of the two centres steers, and the other one.
func (w *watched) roles() (first, second *centre) {
	w.t.Helper()
	netlab.Eventually(w.t, sessionWait, "one of the two centres to steer", func() error {
		var leads struct {
			Result []struct{ Metric struct{ Instance string } }
		}
		if err := w.get("query?query=catchment_central_leads%3D%3D1", &leads); err != nil {
			return err
		}
		found := 0
		for _, r := range leads.Result {
			for i, c := range w.centres {
				if r.Metric.Instance == c.web() {
					first, second = c, w.centres[1-i]
					found++
				}
			}
		}
		if found != 1 {
			return fmt.Errorf("they are %+v", leads.Result)
		}
		return nil
	})
	return first, second
}

// says waits until an alert fires with a text in its annotations.
func (w *watched) says(name, text string) {
	w.t.Helper()
	netlab.Eventually(w.t, alertWait, fmt.Sprintf("%s to say %q", name, text), func() error {
		for _, a := range w.firing() {
			if a.Labels["alertname"] == name && strings.Contains(a.Annotations["summary"]+"\n"+a.Annotations["description"], text) {
				return nil
			}
		}
		return fmt.Errorf("there are %v", w.firing())
	})
}

// stopReading has nobody take in a centre's log any more, and fills what lies between.
func (w *watched) stopReading(c *centre) {
	w.t.Helper()
	text, err := os.ReadFile(c.node.HostPath(logReader))
	if err != nil {
		w.t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		w.t.Fatal(err)
	}
	if err := unix.Kill(pid, unix.SIGSTOP); err != nil {
		w.t.Fatal(err)
	}
	netlab.Eventually(w.t, soon, "the reader to stand still", func() error {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err == nil && !strings.Contains(string(stat), ") T ") {
			err = errors.New(string(stat))
		}
		return err
	})
	fd, err := unix.Open(c.node.HostPath(logPipe), unix.O_WRONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		w.t.Fatal(err)
	}
	defer unix.Close(fd)
	for err == nil {
		_, err = unix.Write(fd, []byte("\n"))
	}
	if !errors.Is(err, unix.EAGAIN) {
		w.t.Fatal(err)
	}
}

// TestEachAlertOfTheCentreFiresForItsCause breaks what centres need, one thing after another, under a real Prometheus with the
// shipped rules, whose waits are shorter: their store, its disk, the log, and the edges' understanding.
func TestEachAlertOfTheCentreFiresForItsCause(t *testing.T) {
	t.Parallel()
	w := newWatched(t)
	announcer, reserve := w.edges[0], w.edges[1]
	first, second := w.first, w.second
	w.fires("CatchmentNoCentreSteers", "severity", "warning")
	w.says("CatchmentNoCentreSteers", "2 centres steer")
	w.says("CatchmentNoCentreSteers", w.alone.web())
	w.says("CatchmentNoCentreSteers", first.web())

	second.node.MustRun("nft", "add", "table", "inet", "away")
	second.node.MustRun("nft", "add", "chain", "inet", "away", "out", "{ type filter hook output priority 0; }")
	second.node.MustRun("nft", "add", "rule", "inet", "away", "out", "ip", "daddr", w.alone.addr.String(), "drop")
	window := func(zone string) {
		w.mustAt(first, "maintenance", "add", "--node", reserve.name, "--start", "2030-12-01 02:00", "--zone", zone, "--for", "1h", "--reason", zone)
	}
	window("Europe/Moscow") // a machine without zones has those of the program
	window(newZone)

	// What stops a centre is what it says of a decision of its own, which nobody takes in.
	w.stopReading(first)
	kill(t, announcer.proc)
	w.fires("CatchmentStoreCutOff", "instance", second.web(), "severity", "critical")

	w.alone.node.MustRun("fallocate", "-l", "160M", "/var/lib/central/core")
	w.fires("CatchmentEdgesBehind", "instance", first.web(), "severity", "warning")
	w.says("CatchmentEdgesBehind", "1 edges")
	if got := w.mustAt(first, "node", "show", reserve.name); strings.Count(got, "left out: window ") != 1 || !strings.Contains(got, newZone) || strings.Count(got, "waiting") != 1 {
		t.Errorf("what %s does not understand: %s", reserve.name, got)
	}
	w.fires("CatchmentStoreNearlyFull", "instance", w.alone.web(), "severity", "warning")
	w.await(alertWait, reserve, "announced: the decision was made", undrained)

	// And now the store of both: one has a log that hangs, and the other is cut off already. The third is sent home.
	kill(t, w.alone.proc)
	kill(t, w.members[w.alone])
	w.fires("CatchmentStoreCutOff", "instance", first.web())
	w.says("CatchmentNoCentreSteers", "0 centres steer")
	w.says("CatchmentNoCentreSteers", "Steering: none.")
	w.fires("CatchmentCentreStuck", "instance", first.web(), "severity", "critical")
}
