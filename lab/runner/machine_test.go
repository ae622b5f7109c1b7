package runner

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/catchment-bgp/catchment/lab/netlab"
)

// absent checks that the machine has not got a file.
func absent(t *testing.T, path string) {
	t.Helper()
	if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the machine has %s: %v", path, err)
	}
}

// /var/run is a link to /run on most machines.
func TestABindBehindALinkStaysInItsNode(t *testing.T) {
	topology := write(t, "runner-link", "/etc/deep/note.txt", "/var/run/catchment-lab-test/note.txt")
	up(t, topology)
	absent(t, "/run/catchment-lab-test")
	if got := inside(t, topology, "a", "cat", "/var/run/catchment-lab-test/note.txt"); got != "a note" {
		t.Errorf("a reads %q", got)
	}
}

func TestANodeHasDevicesOfItsOwn(t *testing.T) {
	topology := write(t, "runner-devices")
	up(t, topology)
	inside(t, topology, "a", "touch", "/dev/catchment-lab-test", "/dev/shm/catchment-lab-test")
	absent(t, "/dev/catchment-lab-test")
	absent(t, "/dev/shm/catchment-lab-test")
	inside(t, topology, "a", "sh", "-c", "set -e; head -c 1 /dev/urandom /dev/zero >/dev/null; echo x >/dev/fd/1; echo x >/dev/stderr; test -c /dev/ptmx")
	inside(t, topology, "b", "test", "!", "-e", "/dev/shm/catchment-lab-test")
}

func TestAReadOnlyFolderHasReadOnlyMounts(t *testing.T) {
	topology := write(t, "runner-mounts", "note.txt:/etc/deep/note.txt:ro", "./:/etc/deep:ro")
	below := filepath.Join(filepath.Dir(topology.File), "below")
	if err := os.Mkdir(below, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("tmpfs", below, "tmpfs", 0, "size=1m"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(below, 0); err != nil {
			t.Error(err)
		}
	})
	up(t, topology)
	inside(t, topology, "a", "sh", "-c", "test -d /etc/deep/below && ! touch /etc/deep/below/x /etc/deep/x")
	absent(t, filepath.Join(below, "x"))
}

func TestACommandOfTheTopologyMaySayMuchAndLeaveSomethingRunning(t *testing.T) {
	topology := write(t, "runner-says-much", "EXEC", "sh -c 'head -c 50000000 /dev/zero; exit 3'")
	if err := Up(t.Context(), topology, options()); err == nil || len(err.Error()) > 10_000 || !strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("%.200v", err)
	}
	nothingLeft(t, topology.Name)

	topology = write(t, "runner-leaves", "EXEC", "sh -c 'ip addr add 10.0.0.2/30 dev eth1; sleep 600 &'")
	up(t, topology)
	inside(t, topology, "b", "pgrep", "-fx", "sleep 600")
}

// What a node says of itself is read by commands for any lab: it may be anything.
func TestANodeCannotHoldUpWhoAsksForItsState(t *testing.T) {
	topology := write(t, "runner-lies")
	up(t, topology)
	state(t, topology, "a", Running)
	for _, command := range []string{"mkfifo", "ln -s /dev/zero", "ln -s /etc/hostname", "mkdir"} {
		inside(t, topology, "a", "sh", "-c", "rm -rf /run/lab/state; "+command+" /run/lab/state")
		said := make(chan string, 1)
		go func() { said <- List(topology)[0].State }()
		select {
		case got := <-said:
			if got != Waiting {
				t.Errorf("%s: the state is %q", command, got)
			}
		case <-time.After(20 * time.Second):
			t.Fatalf("%s: no answer", command)
		}
	}
}

// A number of a process that has ended may be another's by now, and that one may be of the machine itself.
func TestAnotherProcessIsNeverTakenForANode(t *testing.T) {
	netlab.Require(t, netlab.Root)
	n := Node{Lab: "runner-none", Name: "a", PID: os.Getpid()}
	if err := n.enter(); err == nil || !strings.Contains(err.Error(), "node a of the lab runner-none has ended") {
		t.Errorf("entered: %v", err)
	}
	end([]Node{n}, time.Second) // this test would not live on
	topology := write(t, "runner-taken")
	up(t, topology)
	n = List(topology)[0]
	n.born = "1"
	end([]Node{n}, time.Second)
	if got := List(topology)[0]; got.PID != n.PID {
		t.Errorf("a process of another birth was ended: %+v", got)
	}
}
