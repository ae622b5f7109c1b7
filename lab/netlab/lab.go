package netlab

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"time"
)

// BaseDir holds one folder for each running lab. It is on /run so that the paths of Unix sockets stay short.
const BaseDir = "/run/catchment-lab"

// stopWait is how long a process may take to end after SIGTERM before it gets SIGKILL.
const stopWait = 3 * time.Second

// Lab is one network: nodes and the links between them. Its methods end the test on failure; they belong to the test's
// own goroutine. Nodes, routers and processes may be used by several goroutines at once.
type Lab struct {
	t    TB
	id   string
	dir  string
	lock *os.File

	mu    sync.Mutex
	nodes []*Node
}

// New makes an empty lab that lives until the test ends, after Require(t, Root, wanted...). It first removes what killed
// tests have left on this machine.
func New(t TB, wanted ...Need) *Lab {
	t.Helper()
	Require(t, append([]Need{Root}, wanted...)...)
	if err := sweep(BaseDir); err != nil {
		t.Logf("leftovers of an earlier lab: %v", err)
	}
	l, err := newLab(t)
	if err != nil {
		t.Fatalf("making a lab: %v", err)
		return nil
	}
	t.Cleanup(l.close)
	return l
}

func newLab(t TB) (*Lab, error) {
	id, lock, err := claim(BaseDir)
	if err != nil {
		return nil, err
	}
	l := &Lab{t: t, id: id, lock: lock, dir: filepath.Join(BaseDir, id)}
	if err := os.Mkdir(l.dir, 0o755); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return l, nil
}

// ID is the lab's name on this machine: six hex digits, in the names of its namespaces and of its folder.
func (l *Lab) ID() string { return l.id }

var nodeName = regexp.MustCompile(`^[a-z][a-z0-9-]{0,11}$`)

// Node makes a node: its namespaces, with lo up. The name is at most 12 of a-z, 0-9 and "-", since it also names
// interfaces.
func (l *Lab) Node(name string) *Node {
	l.t.Helper()
	n, err := l.node(name)
	if err != nil {
		l.t.Fatalf("node %q: %v", name, err)
	}
	return n
}

func (l *Lab) node(name string) (*Node, error) {
	if !nodeName.MatchString(name) {
		return nil, errors.New("the name must be 1 to 12 of a-z, 0-9 and -, and begin with a letter")
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, n := range l.nodes {
		if n.name == name {
			return nil, errors.New("the lab has one already")
		}
	}
	n := &Node{lab: l, name: name, dir: filepath.Join(l.dir, name)}
	l.nodes = append(l.nodes, n)
	return n, n.open()
}

// close takes the lab away and checks that it is gone. It runs as the test's cleanup.
func (l *Lab) close() {
	l.t.Helper()
	if l.t.Failed() {
		l.showLogs()
	}
	var errs []error
	for _, n := range l.nodes {
		n.terminate()
	}
	deadline := time.Now().Add(stopWait)
	for _, n := range l.nodes {
		errs = append(errs, n.killAll(deadline))
	}
	for _, n := range l.nodes {
		errs = append(errs, n.close())
	}
	errs = append(errs, os.RemoveAll(l.dir))
	if left := remains(BaseDir, l.id); len(left) > 0 {
		errs = append(errs, fmt.Errorf("left behind: %v", left))
	}
	errs = append(errs, os.Remove(l.lock.Name()), l.lock.Close())
	if err := errors.Join(errs...); err != nil {
		l.t.Errorf("removing lab %s: %v", l.id, err)
	}
}

// showLogs puts the end of every process's output into the test's log.
func (l *Lab) showLogs() {
	for _, n := range l.nodes {
		for _, p := range n.processes() {
			l.t.Logf("---- %s: %s (pid %d)\n%s", n.name, p.name, p.PID(), tail(p.Log(), 8<<10))
		}
	}
}

func tail(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return "...\n" + text[len(text)-n:]
}
