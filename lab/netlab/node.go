package netlab

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/catchment-bgp/catchment/internal/osthread"
)

// ownDirs are the folders that each node has to itself. /run is the last to be mounted, since it hides the lab's folder.
var ownDirs = []string{"/etc/frr", "/var/lib", "/var/log", "/run"}

// Node is one machine of a lab.
type Node struct {
	lab  *Lab
	name string
	dir  string // the node's own folders, as the host sees them
	net  *os.File

	starts chan startRequest // to the thread that lives in both namespaces
	quit   chan struct{}     // closed to end that thread
	ended  chan struct{}     // closed when it is gone

	mu    sync.Mutex
	procs []*Proc
}

// startRequest asks the node's thread to start a command.
type startRequest struct {
	cmd  *exec.Cmd
	done chan error
}

// Name is the node's name.
func (n *Node) Name() string { return n.name }

// Namespace is the path of the node's network namespace, for `ip netns` and netlink.
func (n *Node) Namespace() string { return filepath.Join(netnsDir, netnsName(n.lab.id, n.name)) }

// HostPath says where the host finds a file of the node: /run/x.sock in the node is another file on the host. Only
// /run, /etc/frr, /var/lib and /var/log differ; other paths come back unchanged.
func (n *Node) HostPath(path string) string {
	path = filepath.Clean(path)
	if rest, ok := strings.CutPrefix(path, "/var/run/"); ok {
		path = "/run/" + rest
	}
	for _, own := range ownDirs {
		if path == own || strings.HasPrefix(path, own+"/") {
			return n.dir + path
		}
	}
	return path
}

// WriteFile writes a file of the node, with the folders above it.
func (n *Node) WriteFile(path, content string) {
	n.lab.t.Helper()
	if err := n.writeFile(path, content); err != nil {
		n.lab.t.Fatalf("node %s: %v", n.name, err)
	}
}

func (n *Node) writeFile(path, content string) error {
	at := n.HostPath(path)
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		return err
	}
	return os.WriteFile(at, []byte(content), 0o644)
}

// open makes the namespaces and the node's thread.
func (n *Node) open() error {
	for _, own := range ownDirs {
		if err := os.MkdirAll(n.dir+own, 0o755); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(n.logDir(), 0o755); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	add := exec.CommandContext(ctx, ipTool, "netns", "add", netnsName(n.lab.id, n.name))
	if out, err := add.CombinedOutput(); err != nil {
		return fmt.Errorf("ip netns add: %w: %s", err, out)
	}
	var err error
	if n.net, err = os.Open(n.Namespace()); err != nil {
		return err
	}
	ready := make(chan error, 1)
	n.starts, n.quit, n.ended = make(chan startRequest), make(chan struct{}), make(chan struct{})
	go osthread.Own(func() { n.thread(ready) })
	if err := <-ready; err != nil {
		return err
	}
	return n.Do(setupNetwork)
}

func (n *Node) logDir() string { return filepath.Join(n.dir, "log") }

// thread is the node's foot in its namespaces: one OS thread that starts all of the node's processes. They are told to
// die with it (PR_SET_PDEATHSIG), so that a test that is killed leaves few behind.
func (n *Node) thread(ready chan<- error) {
	defer close(n.ended)
	err := n.enter()
	ready <- err
	if err != nil {
		return
	}
	for {
		select {
		case request := <-n.starts:
			request.done <- request.cmd.Start()
		case <-n.quit:
			return
		}
	}
}

// enter moves the calling thread into the node's network namespace and a mount namespace of its own.
func (n *Node) enter() error {
	if err := unix.Setns(int(n.net.Fd()), unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("setns: %w", err)
	}
	if err := unix.Unshare(unix.CLONE_FS | unix.CLONE_NEWNS); err != nil {
		return fmt.Errorf("unshare: %w", err)
	}
	// Slave: a namespace that another lab unmounts on the host goes here too, but nothing goes the other way.
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_SLAVE, ""); err != nil {
		return fmt.Errorf("making mounts a slave of the host's: %w", err)
	}
	for _, own := range ownDirs {
		if err := unix.Mount(n.dir+own, own, "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("own %s: %w", own, err)
		}
	}
	return nil
}

// start starts a command inside the node's namespaces.
func (n *Node) start(cmd *exec.Cmd) error {
	cmd.SysProcAttr = &unix.SysProcAttr{Setpgid: true, Pdeathsig: unix.SIGKILL}
	request := startRequest{cmd: cmd, done: make(chan error, 1)}
	select {
	case n.starts <- request:
		return <-request.done
	case <-n.ended:
		return errors.New("the node is closed")
	}
}

// Run runs a command inside the node and returns what it wrote to stdout and stderr. It is killed when ctx ends.
func (n *Node) Run(ctx context.Context, command ...string) (string, error) {
	var out strings.Builder
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.Cancel = func() error { return unix.Kill(-cmd.Process.Pid, unix.SIGKILL) }
	cmd.WaitDelay = time.Second
	if err := n.start(cmd); err != nil {
		return "", fmt.Errorf("node %s: %s: %w", n.name, command[0], err)
	}
	if err := cmd.Wait(); err != nil {
		return out.String(), fmt.Errorf("node %s: %s: %w: %s", n.name, strings.Join(command, " "), err, tail(out.String(), 1<<10))
	}
	return out.String(), nil
}

// MustRun is Run for at most 10 s; it ends the test on an error.
func (n *Node) MustRun(command ...string) string {
	n.lab.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	out, err := n.Run(ctx, command...)
	if err != nil {
		n.lab.t.Fatalf("%v", err)
	}
	return out
}

// Do calls f on a thread inside the node's network namespace, and waits for it. Sockets that f opens belong to the node
// for ever. Goroutines that f starts do not run there; nor does a dial to a host name. f must not end the test.
func (n *Node) Do(f func() error) error {
	err := errors.New("the function ended its goroutine")
	done := make(chan struct{})
	go osthread.Own(func() {
		defer close(done)
		if e := unix.Setns(int(n.net.Fd()), unix.CLONE_NEWNET); e != nil {
			err = fmt.Errorf("node %s: setns: %w", n.name, e)
			return
		}
		err = f()
	})
	<-done
	return err
}

// DialContext dials an address, not a host name, from inside the node: for http.Transport and gRPC clients in tests.
func (n *Node) DialContext(ctx context.Context, network, address string) (conn net.Conn, err error) {
	err = n.Do(func() (err error) {
		conn, err = (&net.Dialer{}).DialContext(ctx, network, address)
		return err
	})
	return conn, err
}

// Listen listens inside the node.
func (n *Node) Listen(network, address string) (listener net.Listener, err error) {
	err = n.Do(func() (err error) {
		listener, err = net.Listen(network, address)
		return err
	})
	return listener, err
}

func (n *Node) processes() []*Proc {
	n.mu.Lock()
	defer n.mu.Unlock()
	return append([]*Proc(nil), n.procs...)
}

// terminate asks the node's processes to end, the last one started first.
func (n *Node) terminate() {
	procs := n.processes()
	for i := len(procs) - 1; i >= 0; i-- {
		_ = procs[i].Signal(unix.SIGTERM)
	}
}

// killAll ends every process of the node that has not ended by the deadline.
func (n *Node) killAll(deadline time.Time) error {
	for _, p := range n.processes() {
		if _, err := p.Wait(max(time.Until(deadline), 0)); err != nil {
			p.Kill()
		}
	}
	if n.net == nil {
		return nil
	}
	return killInside(n.Namespace())
}

// close removes the node's namespaces.
func (n *Node) close() error {
	if n.quit != nil {
		close(n.quit)
		<-n.ended
	}
	if n.net == nil {
		return nil
	}
	return errors.Join(n.net.Close(), removeNamespace(n.Namespace()))
}
