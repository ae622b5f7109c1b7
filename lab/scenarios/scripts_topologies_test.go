package scenarios

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// The figures that labs shall keep on a machine with two processors that does nothing else. They are told, not asserted:
// other labs run beside these.
const (
	sessionsGoal = 15 * time.Second
	birdsGoal    = 40 * time.Second
	birdsMost    = 120 * time.Second
	birds        = 50
)

// measure makes a lab, waits for all of its sessions, and tells how long it took.
func measure(t *testing.T, w *world, goal, most time.Duration, up func() error) {
	t.Helper()
	start := time.Now()
	if err := up(); err != nil {
		t.Fatal(err)
	}
	made := time.Since(start)
	check, _, err := w.sessions(nil)
	if err == nil {
		err = until(most-made, check)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d nodes made in %.1f s, all sessions established after %.1f s (goal: %v)", len(w.topology.Nodes), made.Seconds(), time.Since(start).Seconds(), goal)
}

// hostLinks are the interfaces of the machine itself.
func hostLinks(t *testing.T) map[string]bool {
	t.Helper()
	list, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, i := range list {
		names[i.Name] = true
	}
	return names
}

// leave takes the lab down and tells how long that took; what is left fails the test, as do interfaces of the machine with
// the names of the lab's that were not there before.
func leave(t *testing.T, w *world, before map[string]bool) {
	t.Helper()
	var ours []string
	for _, n := range w.topology.Nodes {
		ours = append(ours, w.topology.Interfaces(n.Name)...)
	}
	held := holdersOf(w.topology)
	if len(held) < len(w.topology.Nodes) {
		t.Errorf("%d nodes have %d processes", len(w.topology.Nodes), len(held))
	}
	if there := remainsOf(w.topology.Name); len(there) < len(w.topology.Nodes) {
		t.Errorf("of %d nodes only this was found while they ran: %v", len(w.topology.Nodes), there)
	}
	start := time.Now()
	w.down()
	for name := range hostLinks(t) {
		if slices.Contains(ours, name) && !before[name] {
			t.Errorf("interface %s is left", name)
		}
	}
	t.Logf("%d processes ended in %.1f s, nothing is left", len(held), time.Since(start).Seconds())
}

func TestTopologiesComeUpAndLeaveNothing(t *testing.T) {
	t.Parallel()
	requireLab(t)
	files, err := filepath.Glob(filepath.Join(topologiesDir, "*.clab.yml"))
	if err != nil || len(files) < 4 {
		t.Fatalf("%d topologies: %v", len(files), err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".clab.yml")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &world{t: t, dir: t.TempDir(), programs: programs(t)}
			t.Cleanup(w.down)
			before := hostLinks(t)
			measure(t, w, sessionsGoal, sessionsWait, func() error { return w.up(name) })
			leave(t, w, before)
		})
	}
}

// It runs alone: a hundred processes that start at once would make the others late, and they its figure.
func TestFiftyBIRDNodesComeUpAndLeaveNothing(t *testing.T) {
	requireLab(t)
	w := &world{t: t, dir: t.TempDir(), programs: programs(t)}
	t.Cleanup(w.down)
	file := writeRing(t, w.dir, birds)
	before := hostLinks(t)
	measure(t, w, birdsGoal, birdsMost, func() error { return w.upFile(file) })
	leave(t, w, before)
}

// writeRing writes a topology of BIRD nodes, each of which has a link and a session with the next, and the last with the
// first.
func writeRing(t *testing.T, dir string, count int) string {
	t.Helper()
	var nodes, links strings.Builder
	for i := range count {
		next, before := (i+1)%count, (i+count-1)%count
		fmt.Fprintf(&nodes, `    b%d:
      image: catchment-lab/bird:latest
      binds: [b%d.conf:/etc/bird/bird.conf:ro]
      exec:
        - ip addr add 10.80.%d.1/30 dev eth1
        - ip addr add 10.80.%d.2/30 dev eth2
`, i, i, i, before)
		fmt.Fprintf(&links, "    - endpoints: [\"b%d:eth1\", \"b%d:eth2\"]\n", i, next)
		writeFile(t, filepath.Join(dir, fmt.Sprintf("b%d.conf", i)), fmt.Sprintf(`log stderr all;
router id 10.80.%d.1;
timeformat protocol iso long us;
protocol device {}
template bgp peer { local as %d; connect delay time 0; connect retry time 1; error wait time 1, 2; ipv4 { import all; export all; }; }
protocol bgp right from peer { neighbor 10.80.%d.2 as %d; }
protocol bgp left from peer { neighbor 10.80.%d.1 as %d; }
`, i, 65000+i, i, 65000+next, before, 65000+before))
	}
	file := filepath.Join(dir, "ring.clab.yml")
	writeFile(t, file, "name: ring\ntopology:\n  defaults:\n    kind: linux\n    network-mode: none\n  nodes:\n"+nodes.String()+"  links:\n"+links.String())
	return file
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
