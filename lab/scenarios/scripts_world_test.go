package scenarios

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/catchment-bgp/catchment/lab/clab"
	"github.com/catchment-bgp/catchment/lab/netlab"
	"github.com/catchment-bgp/catchment/lab/router"
	"github.com/catchment-bgp/catchment/lab/runner"
)

const (
	topologiesDir = "../topologies"
	// labPrefix begins the names of the scripts' labs; this process's number and a count follow.
	labPrefix = "script-"
	// upWait bounds the making of a lab, askWait one command in a node.
	upWait  = 60 * time.Second
	askWait = 60 * time.Second
	// sessionsWait bounds the way from there to all sessions.
	sessionsWait = 60 * time.Second
)

// reporter is what a world uses of the test that it belongs to.
type reporter interface {
	Failed() bool
	Errorf(format string, args ...any)
	Logf(format string, args ...any)
}

// world is the lab of one script.
type world struct {
	t        reporter
	dir      string // the script's work folder, where its topology's files are
	programs string

	topology   *clab.Topology
	downloads  map[string]*download
	tags       map[string]string // node by community, as far as was seen
	marked     time.Time         // when the command mark ran last
	sessionsAt map[string]int    // sessions of each router that were established then
}

// labs counts the labs of this process.
var labs atomic.Int32

// up makes the lab of a topology from a copy in the script's folder, whose own files stay.
func (w *world) up(topology string) error {
	if w.topology != nil {
		return errors.New("the script has a lab already")
	}
	if err := overlay(w.dir, topologiesDir, topology); err != nil {
		return err
	}
	return w.upFile(filepath.Join(w.dir, topology+".clab.yml"))
}

func (w *world) upFile(file string) error {
	t, err := clab.Load(file)
	if err != nil {
		return err
	}
	t.Name = fmt.Sprintf("%s%d-%d", labPrefix, os.Getpid(), labs.Add(1))
	ctx, cancel := context.WithTimeout(context.Background(), upWait)
	defer cancel()
	init := []string{filepath.Join(w.programs, "catchment"), "lab", "node-init"}
	if err := runner.Up(ctx, t, runner.Options{Init: init, Programs: w.programs}); err != nil {
		return err
	}
	w.topology, w.downloads, w.tags = t, map[string]*download{}, map[string]string{}
	return nil
}

// overlay copies the files of a topology to a folder, but for those that are there already.
func overlay(to, from, topology string) error {
	files := []string{topology + ".clab.yml"}
	err := filepath.WalkDir(filepath.Join(from, topology), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		relative, err := filepath.Rel(from, path)
		files = append(files, relative)
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, name := range files {
		target := filepath.Join(to, name)
		if _, err := os.Stat(target); err == nil {
			continue
		}
		text, err := os.ReadFile(filepath.Join(from, name))
		if err != nil {
			return err
		}
		if err := errors.Join(os.MkdirAll(filepath.Dir(target), 0o755), os.WriteFile(target, text, 0o644)); err != nil {
			return err
		}
	}
	return nil
}

// down ends the lab, after it has told what there was if the test has failed, and fails the test when anything is left.
func (w *world) down() {
	if w.topology == nil {
		return
	}
	if w.t.Failed() {
		w.explain()
	}
	for _, d := range w.downloads {
		d.stop()
	}
	for _, n := range w.topology.Nodes {
		_, _ = w.signal(n.Name, "CONT") // a frozen daemon cannot leave
	}
	before := holdersOf(w.topology)
	if _, err := runner.Down(w.topology.Name); err != nil {
		w.t.Errorf("down: %v", err)
	}
	if left := w.remains(before, soon); len(left) > 0 {
		w.t.Errorf("of the lab %s there is left: %s", w.topology.Name, strings.Join(left, ", "))
	}
	w.topology = nil
}

// run runs a command in a node and tells how it ended; an error is that it could not be run.
func (w *world) run(node string, command ...string) (answer, error) {
	ctx, cancel := context.WithTimeout(context.Background(), askWait)
	defer cancel()
	return w.runContext(ctx, node, nil, command...)
}

func (w *world) runContext(ctx context.Context, node string, in io.Reader, command ...string) (answer, error) {
	if w.topology == nil {
		return answer{}, errors.New("there is no lab yet; write: lab TOPOLOGY")
	}
	var out, errs bytes.Buffer
	code, err := runner.Exec(ctx, w.topology, node, runner.Streams{In: in, Out: &out, Err: &errs}, command...)
	return answer{out.String(), errs.String(), code}, err
}

// must is run for a command that has to succeed; it returns what that wrote.
func (w *world) must(node string, command ...string) (string, error) {
	a, err := w.run(node, command...)
	if err == nil && a.code != 0 {
		err = fmt.Errorf("%s: %s: exit code %d: %s", node, strings.Join(command, " "), a.code, strings.TrimSpace(a.stdout+a.stderr))
	}
	return a.stdout, err
}

// reader asks a router of the lab.
func (w *world) reader(node string) (router.Reader, error) {
	n, err := w.node(node)
	if err != nil {
		return nil, err
	}
	return router.Open(n.Role(), func(ctx context.Context, command ...string) (string, error) {
		a, err := w.runContext(ctx, node, nil, command...)
		if err == nil && a.code != 0 {
			err = fmt.Errorf("exit code %d: %s", a.code, strings.TrimSpace(a.stderr))
		}
		return a.stdout, err
	})
}

func (w *world) node(name string) (clab.Node, error) {
	if w.topology == nil {
		return clab.Node{}, errors.New("there is no lab yet; write: lab TOPOLOGY")
	}
	n, ok := w.topology.Node(name)
	if !ok {
		return n, fmt.Errorf("the lab has no node %q", name)
	}
	return n, nil
}

// ofRole lists the nodes of a role.
func (w *world) ofRole(role string) []string {
	var names []string
	for _, n := range w.topology.Nodes {
		if n.Role() == role {
			names = append(names, n.Name)
		}
	}
	return names
}

// addresses are a node's, as exec: lines give them, whether they are there now or not.
func (w *world) addresses(node string) ([]netip.Addr, error) {
	n, err := w.node(node)
	if err != nil {
		return nil, err
	}
	var list []netip.Addr
	for _, command := range n.Exec {
		if at := slices.Index(command, "add"); command[0] == "ip" && at > 0 && at+1 < len(command) && slices.Contains(command[:at], "addr") {
			if p, err := netip.ParsePrefix(command[at+1]); err == nil {
				list = append(list, p.Addr())
			}
		}
	}
	return list, nil
}

// removeOrphans ends labs whose process was killed.
func removeOrphans(t testing.TB) {
	t.Helper()
	for _, n := range runner.Labs() {
		number, _, found := strings.Cut(strings.TrimPrefix(n.Lab, labPrefix), "-")
		pid, err := strconv.Atoi(number)
		if !strings.HasPrefix(n.Lab, labPrefix) || !found || err != nil || processLives(pid) {
			continue
		}
		if _, err := runner.Down(n.Lab); err != nil {
			t.Logf("an old lab: %v", err)
		}
	}
}

func processLives(pid int) bool {
	_, err := os.Stat(fmt.Sprintf("/proc/%d", pid))
	return err == nil
}

// until calls check until it returns nil, and returns check's last error when it has not in time.
func until(within time.Duration, check func() error) error {
	every := min(max(within/20, netlab.PollEvery), 200*time.Millisecond)
	tick := time.NewTicker(every)
	defer tick.Stop()
	for start := time.Now(); ; <-tick.C {
		err := check()
		if err == nil {
			return nil
		}
		if time.Since(start) > within {
			return fmt.Errorf("waited %v: %w", within, err)
		}
	}
}
