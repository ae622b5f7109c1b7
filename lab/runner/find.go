package runner

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/catchment-bgp/catchment/internal/procstat"
)

// State of a node.
const (
	// Waiting: the start script waits for interfaces and addresses.
	Waiting = "waiting"
	// Running: its daemon runs.
	Running = "running"
	// Stopped: its daemon was stopped by /lab/daemon stop.
	Stopped = "stopped"
	// Restarting: its daemon has ended and will be started again.
	Restarting = "restarting"
	// Ended: the node's first process is gone, and all else with it.
	Ended = "ended"
)

// Node is a node of a running lab.
type Node struct {
	Lab, Name string
	// Kind is the role of its image: "frr".
	Kind string
	// State is one of the states above.
	State string
	// PID is its first process, as the machine counts; 0 when that has ended.
	PID int
	// File is the topology it was made from.
	File string
	born string // of PID
}

// find lists the living nodes of a lab, or of all labs when it is empty, by lab and name. A node's first process is known by
// its environment, and by being number 1 in a pid namespace that is not ours.
func find(lab string) []Node {
	entries, _ := os.ReadDir("/proc")
	var nodes []Node
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() || !firstInside(pid) {
			continue
		}
		began := born(pid)
		env := environ(pid)
		n := Node{Lab: env[labelLab], Name: env[labelNode], Kind: env[labelRole], File: env[labelFile], PID: pid, born: began}
		if n.Lab == "" || n.Name == "" || lab != "" && n.Lab != lab {
			continue
		}
		n.State = stateOf(pid)
		nodes = append(nodes, n)
	}
	slices.SortFunc(nodes, func(a, b Node) int { return cmp.Or(cmp.Compare(a.Lab, b.Lab), cmp.Compare(a.Name, b.Name)) })
	return nodes
}

// firstInside says whether a process is number 1 of a pid namespace below ours, and root's.
func firstInside(pid int) bool {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "status"))
	if err != nil {
		return false
	}
	inner, root := false, false
	for line := range strings.Lines(string(text)) {
		key, value, _ := strings.Cut(line, ":")
		fields := strings.Fields(value)
		switch key {
		case "NSpid":
			inner = len(fields) == 2 && fields[1] == "1"
		case "Uid":
			root = len(fields) > 0 && fields[0] == "0"
		case "State":
			if len(fields) > 0 && fields[0] == "Z" {
				return false
			}
		}
	}
	return inner && root
}

// environ is the labels of a process. One that is just executing a program has no environment for a moment: that is after it
// has closed what [Up] waits for.
func environ(pid int) map[string]string {
	var text []byte
	for range 50 {
		var err error
		if text, err = os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "environ")); err != nil || len(text) > 0 {
			break
		}
		time.Sleep(time.Millisecond)
	}
	env := map[string]string{}
	for _, item := range bytes.Split(text, []byte{0}) {
		if key, value, ok := strings.Cut(string(item), "="); ok && strings.HasPrefix(key, labelLab) {
			env[key] = value
		}
	}
	return env
}

// stateOf reads what the node's start script says of itself.
func stateOf(pid int) string {
	// The file is the node's: a link may lead to the machine's files, and a pipe or a device has no end.
	f, err := os.OpenFile(filepath.Join("/proc", strconv.Itoa(pid), "root/run/lab/state"), os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return Waiting
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return Waiting
	}
	text, err := io.ReadAll(io.LimitReader(f, 64))
	state := strings.TrimSpace(string(text))
	if err != nil || !slices.Contains([]string{Waiting, Running, Stopped, Restarting}, state) {
		return Waiting
	}
	return state
}

// end asks nodes to end, and ends those that have not in time. One that still waits has nothing to leave, and does not listen
// yet.
func end(nodes []Node, within time.Duration) {
	for _, n := range nodes {
		signal := unix.SIGTERM
		if n.State == Waiting {
			signal = unix.SIGKILL
		}
		n.signal(signal)
	}
	lives := func() bool {
		return slices.ContainsFunc(nodes, Node.lives)
	}
	await(within, lives)
	for _, n := range nodes {
		n.signal(unix.SIGKILL)
	}
	await(within, lives)
}

// lives reports whether the process of that number is the node still, and not one that came after it. A node that this
// process has started itself has no time of birth: any first process of a namespace passes for it, and none of the machine's.
func (n Node) lives() bool { return firstInside(n.PID) && (n.born == "" || born(n.PID) == n.born) }

// born is when a process began, in the kernel's ticks; empty: it is not there.
func born(pid int) string {
	text, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if fields := procstat.Fields(string(text)); len(fields) > 19 {
		return fields[19] // starttime, field 22
	}
	return ""
}

// open returns a descriptor of the node's first process, which never becomes that of another one.
func (n Node) open() (fd int, err error) {
	if fd, err = unix.PidfdOpen(n.PID, 0); err != nil {
		return -1, fmt.Errorf("process %d of node %s: %w", n.PID, n.Name, err)
	}
	if !n.lives() { // looked up after the descriptor was opened: else that is of whom we looked at
		_ = unix.Close(fd)
		return -1, fmt.Errorf("node %s of the lab %s has ended; look at %s", n.Name, n.Lab, LogFile(n.Lab, n.Name))
	}
	return fd, nil
}

// signal sends the node's first process a signal, if that lives.
func (n Node) signal(signal unix.Signal) {
	if fd, err := n.open(); err == nil {
		_ = unix.PidfdSendSignal(fd, signal, nil, 0) // it may have ended
		_ = unix.Close(fd)
	}
}

// await waits until a condition is over.
func await(within time.Duration, lasts func() bool) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(within); lasts() && time.Now().Before(deadline); {
		<-tick.C
	}
}
