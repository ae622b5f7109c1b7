package runner

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/catchment-bgp/catchment/lab/clab"
	"github.com/catchment-bgp/catchment/lab/netlab"
)

// inside runs a command in a node and returns what it wrote.
func inside(t *testing.T, topology *clab.Topology, node string, command ...string) string {
	t.Helper()
	var out bytes.Buffer
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	code, err := Exec(ctx, topology, node, Streams{Out: &out, Err: &out}, command...)
	if err != nil || code != 0 {
		t.Errorf("%v in %s: exit code %d, %v: %s", command, node, code, err, out.String())
	}
	return strings.TrimSpace(out.String())
}

// state waits until a node is in a state.
func state(t *testing.T, topology *clab.Topology, node, want string) {
	t.Helper()
	netlab.Eventually(t, 20*time.Second, node+" to be "+want, func() error {
		for _, n := range List(topology) {
			if n.Name == node && n.State != want {
				return errors.New(n.State)
			}
		}
		return nil
	})
}

func TestANodeIsAMachineOfItsOwn(t *testing.T) {
	topology := write(t, "runner-own")
	up(t, topology)
	state(t, topology, "a", Running)
	for _, c := range []struct{ what, want, command string }{
		{"host name", "a", "hostname"},
		{"first process", "/bin/sh /lab/start", `tr '\0' ' ' </proc/1/cmdline | sed 's/ $//'`},
		{"interfaces", "eth1 lo", "echo $(ls /sys/class/net)"},
		{"variable", "dark red", "echo $COLOUR"},
		{"number of interfaces for start scripts", "1", "echo $CLAB_INTFS"},
		{"setting", "61", "cat /proc/sys/net/ipv4/ip_default_ttl"},
		{"forwarding", "1 1", "echo $(cat /proc/sys/net/ipv4/ip_forward /proc/sys/net/ipv6/conf/all/forwarding)"},
		{"bound file", "a note", "cat /etc/deep/note.txt"},
		{"read-only bind", "Read-only", "echo x 2>&1 >/etc/deep/note.txt | grep -o Read-only"},
		{"folder of its own", "lab", "ls /run"},
		{"no way to the machine's processes", "yes", "[ $(ls -d /proc/[0-9]* | wc -l) -lt 10 ] && echo yes"},
	} {
		if got := inside(t, topology, "a", "sh", "-c", c.command); got != c.want {
			t.Errorf("%s: %q, want %q", c.what, got, c.want)
		}
	}
	inside(t, topology, "a", "ping", "-c", "1", "-W", "5", "10.0.0.2")

	inside(t, topology, "a", "sh", "-c", "echo mine >/etc/catchment-lab-test && rm /etc/hostname")
	if got := inside(t, topology, "a", "cat", "/etc/catchment-lab-test"); got != "mine" {
		t.Errorf("a reads %q", got)
	}
	inside(t, topology, "b", "test", "!", "-e", "/etc/catchment-lab-test")
	if _, err := os.Stat("/etc/catchment-lab-test"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the machine has the node's file: %v", err)
	}
	if _, err := os.Stat("/etc/hostname"); err != nil {
		t.Errorf("the node took the machine's file away: %v", err)
	}
}

func TestExecPassesOnStreamsAndExitCode(t *testing.T) {
	topology := write(t, "runner-exec")
	up(t, topology)
	for _, c := range []struct {
		command []string
		code    int
	}{
		{[]string{"true"}, 0},
		{[]string{"sh", "-c", "exit 7"}, 7},
		{[]string{"no-such-command"}, 127},
		{[]string{"sh", "-c", "kill -9 $$"}, 137},
	} {
		if code, err := Exec(t.Context(), topology, "a", Streams{}, c.command...); err != nil || code != c.code {
			t.Errorf("%v: exit code %d, %v; want %d", c.command, code, err, c.code)
		}
	}
	var out, errs bytes.Buffer
	code, err := Exec(t.Context(), topology, "b", Streams{strings.NewReader("in"), &out, &errs}, "sh", "-c", "cat; echo problem >&2")
	if err != nil || code != 0 || out.String() != "in" || errs.String() != "problem\n" {
		t.Errorf("exit code %d, %v, stdout %q, stderr %q", code, err, &out, &errs)
	}

	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err := Exec(ctx, topology, "a", Streams{}, "sleep", "600"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a command that hangs: %v", err)
	}
	if _, err := Exec(t.Context(), topology, "c", Streams{}, "true"); err == nil || !strings.Contains(err.Error(), `has no node "c"`) {
		t.Errorf("an unknown node: %v", err)
	}
}

func TestADaemonCanBeStoppedAndStartedInItsNode(t *testing.T) {
	topology := write(t, "runner-daemon")
	up(t, topology)
	state(t, topology, "a", Running)
	first := inside(t, topology, "a", "cat", "/run/lab/pid")
	inside(t, topology, "a", "/lab/daemon", "stop")
	state(t, topology, "a", Stopped)
	inside(t, topology, "a", "/lab/daemon", "start")
	state(t, topology, "a", Running)
	second := inside(t, topology, "a", "cat", "/run/lab/pid")
	inside(t, topology, "a", "sh", "-c", "kill -9 $(cat /run/lab/pid)")
	netlab.Eventually(t, 20*time.Second, "the daemon to come back", func() error {
		if pid := inside(t, topology, "a", "cat", "/run/lab/pid"); pid == second {
			return errors.New("it is still " + pid)
		}
		return nil
	})
	if first == second {
		t.Errorf("the daemon is still process %s", first)
	}
	if code, err := Exec(t.Context(), topology, "a", Streams{}, "/lab/daemon", "restart"); err != nil || code != 2 {
		t.Errorf("a wrong word: exit code %d, %v", code, err)
	}
}

func TestLabsOfOneTopologyDoNotClash(t *testing.T) {
	one, other := write(t, "runner-one"), write(t, "runner-other")
	up(t, one)
	up(t, other)
	networks := map[string]bool{networkOf(t, os.Getpid()): true}
	for _, n := range append(List(one), List(other)...) {
		networks[networkOf(t, n.PID)] = true
	}
	if len(networks) != 5 {
		t.Errorf("the machine and four nodes have the networks %v", networks)
	}
	inside(t, one, "a", "touch", "/run/here")
	inside(t, other, "a", "test", "!", "-e", "/run/here")

	if n, err := Down(one.Name); err != nil || n != 2 {
		t.Errorf("%d nodes ended, %v", n, err)
	}
	nothingLeft(t, one.Name)
	for _, n := range List(one) {
		if n.State != Ended || n.PID != 0 {
			t.Errorf("%+v", n)
		}
	}
	if _, err := Exec(t.Context(), one, "a", Streams{}, "true"); err == nil || !strings.Contains(err.Error(), "does not run") {
		t.Errorf("a lab that is down: %v", err)
	}
	inside(t, other, "a", "ping", "-c", "1", "-W", "5", "10.0.0.2")
	var names []string
	for _, n := range Labs() {
		if n.Lab == one.Name || n.Lab == other.Name {
			names = append(names, n.Lab+"/"+n.Name+" "+n.Kind+" "+n.File)
		}
	}
	if want := other.Name + "/a client " + other.File + "\n" + other.Name + "/b client " + other.File; strings.Join(names, "\n") != want {
		t.Errorf("labs %q, want %q", names, want)
	}
	if n, err := Down(other.Name); err != nil || n != 2 {
		t.Errorf("%d nodes ended, %v", n, err)
	}
	netlab.Eventually(t, 10*time.Second, "the namespaces to go", func() error {
		for name, processes := range holders() {
			if networks[name] && name != networkOf(t, os.Getpid()) {
				return fmt.Errorf("%s is held by %v", name, processes)
			}
		}
		return nil
	})
}

func TestALabThatIsUpIsLeftAlone(t *testing.T) {
	topology := write(t, "runner-twice")
	up(t, topology)
	before := List(topology)
	err := Up(t.Context(), topology, options())
	if err == nil || !strings.Contains(err.Error(), "the lab runner-twice is up already (2 nodes); write `catchment lab down "+topology.File+"` first") {
		t.Errorf("a second up: %v", err)
	}
	for i, n := range List(topology) {
		if n.PID != before[i].PID || n.PID == 0 {
			t.Errorf("%s was process %d and is %d", n.Name, before[i].PID, n.PID)
		}
	}
}

func TestUpThatFailsLeavesNothing(t *testing.T) {
	for _, c := range []struct{ name, old, with, want string }{
		{"exec", "EXEC", "sh -c 'echo no such thing; exit 3'", `node b: exec "sh -c echo no such thing; exit 3": exit status 3: no such thing`},
		{"bind", "note.txt:", "none.txt:", "none.txt: no such file or directory"},
		{"image", "catchment-lab/client", "catchment-lab/nothing", `there is no image "nothing"; there are bird,`},
		{"sysctl", "net.ipv4.ip_default_ttl", "net.ipv4.nothing", "sysctl net.ipv4.nothing"},
		{"cmd", "EXEC", "no-such-command", "no-such-command"},
		{"dies", "    b:\n      exec: [EXEC]", `    b:
      image: catchment-lab/bird:latest
      binds: [note.txt:/etc/bird/bird.conf]
      exec: ["sh -c 'ip addr add 10.0.0.2/30 dev eth1; sleep 20'"]`, "node b has ended; its last words: "},
	} {
		topology := write(t, "runner-fails-"+c.name, c.old, c.with)
		err := Up(t.Context(), topology, options())
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
		if c.name == "exec" && strings.Contains(err.Error(), "killed") {
			t.Errorf("a command that was killed for another's failure is told: %v", err)
		}
		nothingLeft(t, topology.Name)
		if n, err := Down(topology.Name); err != nil || n != 0 {
			t.Errorf("%s: %d nodes left, %v", c.name, n, err)
		}
	}
	topology := write(t, "runner-cancelled", "EXEC", "sleep 600")
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		defer cancel()
		awaitNodes(topology.Name, 2)
	}()
	if err := Up(ctx, topology, options()); !errors.Is(err, context.Canceled) && (err == nil || !strings.Contains(err.Error(), "killed")) {
		t.Errorf("cancelled: %v", err)
	}
	if n, err := Down(topology.Name); err != nil || n != 0 {
		t.Errorf("cancelled: %d nodes left, %v", n, err)
	}
	nothingLeft(t, topology.Name)
}

func awaitNodes(lab string, count int) {
	await(20*time.Second, func() bool { return len(find(lab)) < count })
}

// A runner that is killed halfway leaves nodes; the next up or down finds them.
func TestWhatAKilledRunnerLeftIsFound(t *testing.T) {
	for _, next := range []string{"up", "down"} {
		topology := write(t, "runner-killed-"+next, "EXEC", "sleep 600")
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		stuck := exec.Command(self, asStuck, topology.File)
		if err := stuck.Start(); err != nil {
			t.Fatal(err)
		}
		awaitNodes(topology.Name, 2)
		state(t, topology, "a", Running) // one that is only just made ends by itself with its runner
		if _, err := Down(topology.Name); err == nil || !strings.Contains(err.Error(), "another runner") {
			t.Errorf("down beside a runner that works: %v", err)
		}
		if err := stuck.Process.Signal(unix.SIGKILL); err != nil {
			t.Fatal(err)
		}
		_ = stuck.Wait() // killed
		left := find(topology.Name)
		if len(left) != 2 {
			t.Errorf("%d nodes are left, want 2", len(left))
		}
		if next == "up" {
			again := write(t, topology.Name)
			up(t, again)
			for _, n := range find(topology.Name) {
				for _, old := range left {
					if n.PID == old.PID {
						t.Errorf("%s is still process %d", n.Name, n.PID)
					}
				}
			}
			continue
		}
		if n, err := Down(topology.Name); err != nil || n != 2 {
			t.Errorf("%d nodes ended, %v", n, err)
		}
		nothingLeft(t, topology.Name)
	}
}

// A node without all of its addresses waits, and says so.
func TestANodeWaitsForItsAddresses(t *testing.T) {
	topology := write(t, "runner-waits", "EXEC", "true")
	up(t, topology)
	state(t, topology, "a", Running)
	err := AwaitRunning(t.Context(), topology, 500*time.Millisecond)
	if want := "the lab runner-waits is there, but b is waiting (" + LogFile(topology.Name, "b") + ": nothing yet); mend that"; err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
	inside(t, topology, "b", "ip", "addr", "add", "10.0.0.2/30", "dev", "eth1")
	if err := AwaitRunning(t.Context(), topology, 20*time.Second); err != nil {
		t.Error(err)
	}
	inside(t, topology, "b", "sh", "-c", "kill -9 -1; kill 1")
	netlab.Eventually(t, 20*time.Second, "an error", func() error {
		if err = AwaitRunning(t.Context(), topology, 20*time.Second); err == nil {
			return errors.New("b runs")
		}
		return nil
	})
	if !strings.Contains(err.Error(), "b is ended (") || strings.Contains(err.Error(), "a is") {
		t.Errorf("%v", err)
	}
}

func TestInitIsForNodesOnly(t *testing.T) {
	if err := Init(); err == nil || !strings.Contains(err.Error(), "catchment lab up FILE") {
		t.Errorf("outside of a node: %v", err)
	}
}
