package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/catchment-bgp/catchment/lab/clab"
)

// Options of [Up].
type Options struct {
	// Init is the command that calls [Init]; the file first.
	Init []string
	// Programs is a folder of programs that nodes find first (catchment-edge); empty for none.
	Programs string
}

const (
	// endWait is how long nodes may take to end by themselves: a catchment-edge withdraws first.
	endWait = 10 * time.Second
	// execWait bounds each command of exec: in a topology.
	execWait = 30 * time.Second
)

// Root is an error unless this process is root's: nobody else can make nodes, end them or see them.
func Root() error {
	if os.Geteuid() != 0 {
		return errors.New("a lab of namespaces needs root; write sudo, or --runtime docker with containerlab")
	}
	return nil
}

// Up makes a lab. When it returns without an error all nodes run, with all links, and all commands of exec: have succeeded;
// daemons may still be starting. On an error, or when ctx ends, nothing is left of the lab. A lab of that name that is there
// is an error, unless its runner died halfway: then that is removed first.
func Up(ctx context.Context, t *clab.Topology, o Options) (err error) {
	if err := Root(); err != nil {
		return err
	}
	specs := make([]spec, len(t.Nodes))
	for i, n := range t.Nodes {
		if specs[i], err = specOf(t, n, o.Programs); err != nil {
			return err
		}
	}
	lock, err := lockLab(t.Name)
	if err != nil {
		return err
	}
	defer lock.Close()
	if there := find(t.Name); len(there) > 0 && complete(t.Name) {
		return fmt.Errorf("the lab %s is up already (%d nodes); write `catchment lab down %s` first", t.Name, len(there), there[0].File)
	}
	if err := remove(t.Name); err != nil {
		return err
	}
	var pids []int
	defer func() {
		if err != nil {
			err = errors.Join(err, ended(t, pids), remove(t.Name), os.Remove(lock.Name()))
		}
	}()
	if err := os.MkdirAll(labDir(t.Name), 0o755); err != nil {
		return err
	}
	if pids, err = startAll(ctx, t, specs, o); err != nil {
		return err
	}
	if err := connect(ctx, t, pids); err != nil {
		return err
	}
	if err := runExecs(ctx, t, pids); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(labDir(t.Name), completeFile), []byte(t.File+"\n"), 0o644)
}

// ended tells which nodes were started and have ended, which is often why a neighbour's link is not there, and what they
// wrote last.
func ended(t *clab.Topology, pids []int) error {
	gone := func(pid int) bool { return pid != 0 && !firstInside(pid) }
	// The kernel ends a node's other processes first: what they were asked fails a moment before the node is gone.
	await(500*time.Millisecond, func() bool { return !slices.ContainsFunc(pids, gone) })
	var errs []error
	for i, pid := range pids {
		if !gone(pid) {
			continue
		}
		errs = append(errs, fmt.Errorf("node %s has ended; its last words: %s", t.Nodes[i].Name, lastWords(t.Name, t.Nodes[i].Name)))
	}
	return errors.Join(errs...)
}

// lastWords are the last lines of a node's log; empty when it has written none.
func lastWords(lab, node string) string {
	lines := strings.Split(strings.TrimSpace(lastOf(LogFile(lab, node))), "\n")
	return strings.Join(lines[max(len(lines)-3, 0):], " | ")
}

// lastOf is the end of a file, which may be of any size; empty when it cannot be read.
func lastOf(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	const most = 4 << 10
	if info, err := f.Stat(); err == nil && info.Size() > most {
		_, _ = f.Seek(-most, io.SeekEnd) // else the beginning has to do
	}
	text, _ := io.ReadAll(io.LimitReader(f, most)) // what could be read
	return string(text)
}

// completeFile stands in the folder of a lab that was made to its end.
const completeFile = "complete"

func complete(lab string) bool {
	_, err := os.Lstat(filepath.Join(labDir(lab), completeFile))
	return err == nil
}

// lockLab keeps other runners away from a lab while its nodes are made or ended.
func lockLab(lab string) (*os.File, error) {
	if err := os.MkdirAll(BaseDir, 0o755); err != nil {
		return nil, err
	}
	path := filepath.Join(BaseDir, lab+".lock")
	for {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|unix.O_CLOEXEC, 0o600)
		if err != nil {
			return nil, err
		}
		if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
			return nil, errors.Join(fmt.Errorf("another runner is making or ending the lab %s; wait for it", lab), f.Close())
		}
		// Another runner may have removed the file before it was locked.
		mine, err := f.Stat()
		if named, e := os.Stat(path); err == nil && e == nil && os.SameFile(mine, named) {
			return f, nil
		}
		_ = f.Close()
	}
}

// eachNode calls f for the nodes, some at once, and joins the errors. When one fails the rest is not begun.
func eachNode(ctx context.Context, count int, f func(ctx context.Context, i int) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	errs := make([]error, count)
	places := make(chan struct{}, 4)
	var wg sync.WaitGroup
	for i := range count {
		wg.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			if errs[i] = ctx.Err(); errs[i] == nil {
				if errs[i] = f(ctx, i); errs[i] != nil {
					cancel()
				}
			}
		})
	}
	wg.Wait()
	said := slices.DeleteFunc(slices.Clone(errs), func(err error) bool { return err == nil || errors.Is(err, context.Canceled) })
	if len(said) > 0 {
		return errors.Join(said...)
	}
	return errors.Join(errs...)
}

// startAll starts the nodes' first processes.
func startAll(ctx context.Context, t *clab.Topology, specs []spec, o Options) ([]int, error) {
	pids := make([]int, len(specs))
	err := eachNode(ctx, len(specs), func(_ context.Context, i int) (err error) {
		if pids[i], err = startNode(t.Name, specs[i], o); err != nil {
			return fmt.Errorf("node %s: %w", specs[i].Node, err)
		}
		return nil
	})
	return pids, err
}

// startNode starts the first process of a node and waits until that has become the start script.
func startNode(lab string, s spec, o Options) (pid int, err error) {
	log, err := os.OpenFile(LogFile(lab, s.Node), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return 0, err
	}
	defer log.Close()
	specIn, specOut, err := os.Pipe()
	if err != nil {
		return 0, err
	}
	defer specIn.Close()
	defer specOut.Close()
	readyIn, readyOut, err := os.Pipe()
	if err != nil {
		return 0, err
	}
	defer readyIn.Close()
	cmd := exec.Command(o.Init[0], o.Init[1:]...)
	cmd.Env = s.Env
	cmd.Stdout, cmd.Stderr = log, log
	cmd.ExtraFiles = []*os.File{specIn, readyOut} // descriptors specFD and readyFD
	cmd.SysProcAttr = &unix.SysProcAttr{
		Setsid:     true,
		Cloneflags: unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC,
	}
	err = cmd.Start()
	_ = readyOut.Close()
	if err != nil {
		return 0, fmt.Errorf("making namespaces: %w", err)
	}
	go func() { _ = cmd.Wait() }() // while the runner lives; then the machine's first process does it
	if err := s.write(specOut); err != nil {
		return 0, err
	}
	said, err := io.ReadAll(readyIn)
	if err != nil || len(said) > 0 {
		return 0, errors.Join(err, errors.New(string(said)))
	}
	return cmd.Process.Pid, nil
}

// runExecs runs the commands of exec:, those of one node one after the other.
func runExecs(ctx context.Context, t *clab.Topology, pids []int) error {
	return eachNode(ctx, len(t.Nodes), func(ctx context.Context, i int) error {
		for _, command := range t.Nodes[i].Exec {
			var out head
			within, cancel := context.WithTimeout(ctx, execWait)
			err := run(within, Node{Lab: t.Name, Name: t.Nodes[i].Name, PID: pids[i]}, command, nil, &out, &out)
			if errors.Is(err, exec.ErrWaitDelay) {
				err = nil // that is success, and something that goes on with the same output
			} else if err != nil && ctx.Err() != nil {
				err = ctx.Err() // killed since another node's command failed, which is what is told
			} else if err != nil && within.Err() != nil {
				err = fmt.Errorf("does not end within %s", execWait)
			}
			cancel()
			if err != nil {
				return fmt.Errorf("%s:%d: node %s: exec %q: %w: %s", t.File, t.Nodes[i].Line, t.Nodes[i].Name,
					strings.Join(command, " "), err, strings.TrimSpace(string(out)))
			}
		}
		return nil
	})
}

// head keeps the beginning of what is written to it, for a message.
type head []byte

func (h *head) Write(p []byte) (int, error) {
	const most = 4 << 10
	*h = append(*h, p[:min(len(p), most-len(*h))]...)
	return len(p), nil
}

// Down ends a lab and takes away all that there is of it; a lab that is not there is no error. It returns the number of nodes
// that were there.
func Down(lab string) (int, error) {
	if err := Root(); err != nil {
		return 0, err
	}
	lock, err := lockLab(lab)
	if err != nil {
		return 0, err
	}
	defer lock.Close()
	count := len(find(lab))
	return count, errors.Join(remove(lab), os.Remove(lock.Name()))
}

func remove(lab string) error {
	end(find(lab), endWait)
	if left := find(lab); len(left) > 0 {
		return fmt.Errorf("node %s (process %d) does not end", left[0].Name, left[0].PID)
	}
	return os.RemoveAll(labDir(lab))
}

// List gives the nodes of a lab as its topology has them; those that do not live are Ended.
func List(t *clab.Topology) []Node {
	living := find(t.Name)
	nodes := make([]Node, len(t.Nodes))
	for i, n := range t.Nodes {
		nodes[i] = Node{Lab: t.Name, Name: n.Name, Kind: n.Role(), State: Ended, File: t.File}
		if at := slices.IndexFunc(living, func(l Node) bool { return l.Name == n.Name }); at >= 0 {
			nodes[i] = living[at]
		}
	}
	return nodes
}

// Labs lists the living nodes of all labs on this machine, by lab and name.
func Labs() []Node { return find("") }

// AwaitRunning waits until the daemons of all nodes run, or have been stopped on purpose. It is an error, which names the
// nodes and their logs, when they do not in time, or when one ends.
func AwaitRunning(ctx context.Context, t *clab.Topology, within time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		var behind, over []Node
		for _, n := range List(t) {
			if n.State != Running && n.State != Stopped {
				behind = append(behind, n)
			}
			if n.State == Ended {
				over = append(over, n)
			}
		}
		if len(behind) == 0 {
			return nil
		}
		select {
		case <-tick.C:
			if len(over) == 0 {
				continue
			}
			behind = over // the others have had no time yet
		case <-ctx.Done():
		}
		var all []string
		for _, n := range behind {
			all = append(all, fmt.Sprintf("%s is %s (%s: %s)", n.Name, n.State, LogFile(t.Name, n.Name), cmp.Or(lastWords(t.Name, n.Name), "nothing yet")))
		}
		return fmt.Errorf("the lab %s is there, but %s; mend that, write `catchment lab down %s`, and begin again", t.Name, strings.Join(all, ", "), t.File)
	}
}

// Warnings are what the start scripts of a lab warn of in their logs, such as lines of a configuration that a router refuses.
func Warnings(t *clab.Topology) []string {
	var all []string
	for _, n := range t.Nodes {
		text, _ := os.ReadFile(LogFile(t.Name, n.Name))
		for line := range strings.Lines(string(text)) {
			if said, ok := strings.CutPrefix(line, "lab: warning: "); ok {
				all = append(all, fmt.Sprintf("%s: %s (%s)", n.Name, strings.TrimSpace(said), LogFile(t.Name, n.Name)))
			}
		}
	}
	return all
}
