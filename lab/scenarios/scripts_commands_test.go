package scenarios

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"

	"github.com/catchment-bgp/catchment/lab/runner"
)

// command is one of the scripts' own commands: it returns what it wrote, or why the test fails.
type command func(w *world, words []string) (answer, error)

// condition is something that can be true of a lab. Its parser takes the words of a command and returns the question and
// how long it may take to become true.
type condition func(w *world, words []string) (check func() error, within time.Duration, err error)

// conditions are the commands that wait, and that holds takes.
var conditions = map[string]condition{
	"route":    (*world).route,
	"gone":     (*world).gone,
	"serves":   (*world).serves,
	"unserved": (*world).unserved,
	"agree":    (*world).agree,
	"session":  (*world).session,
	"sessions": (*world).sessions,
	"state":    (*world).state,
	"kept":     (*world).kept,
	"alive":    (*world).alive,
	"broken":   (*world).broken,
	"answers":  (*world).answers,
	"prints":   (*world).prints,
}

// actions are the commands that do something once.
var actions = map[string]command{
	"lab":      (*world).lab,
	"node":     (*world).nodeCommand,
	"edge":     (*world).edge,
	"edge!":    mustExit((*world).edge),
	"noc":      (*world).noc,
	"noc!":     mustExit((*world).noc),
	"status":   (*world).status,
	"daemon":   (*world).daemon,
	"put":      (*world).put,
	"mark":     (*world).mark,
	"poweroff": (*world).poweroff,
	"freeze":   (*world).freeze,
	"thaw":     (*world).thaw,
	"cut":      (*world).cut,
	"join":     (*world).join,
	"download": (*world).download,
	"holds":    (*world).holds,
}

// commands are all of them, as testscript wants them.
func commands() map[string]func(ts *testscript.TestScript, neg bool, args []string) {
	all := map[string]func(ts *testscript.TestScript, neg bool, args []string){}
	for name, c := range conditions {
		all[name] = func(ts *testscript.TestScript, neg bool, args []string) {
			if neg {
				ts.Fatalf("! %s: a condition waits until it is true; say what shall be true instead", name)
			}
			check, within, err := c(worldOf(ts), args)
			if err == nil {
				err = until(within, check)
			}
			ts.Check(err)
		}
	}
	for name, c := range actions {
		all[name] = func(ts *testscript.TestScript, neg bool, args []string) {
			a, err := c(worldOf(ts), args)
			_, _ = fmt.Fprint(ts.Stdout(), a.stdout) // into a buffer
			_, _ = fmt.Fprint(ts.Stderr(), a.stderr)
			ts.Check(err)
			if neg != (a.code != 0) {
				ts.Fatalf("%s: exit code %d", name, a.code)
			}
		}
	}
	return all
}

func worldOf(ts *testscript.TestScript) *world { return ts.Value(worldKey{}).(*world) }

// mustExit turns a command into one whose first word is the exit code that it must end with.
func mustExit(c command) command {
	return func(w *world, words []string) (answer, error) {
		if len(words) < 2 {
			return answer{}, errors.New("write the exit code first")
		}
		code, err := strconv.Atoi(words[0])
		if err != nil {
			return answer{}, err
		}
		a, err := c(w, words[1:])
		if err == nil && a.code != code {
			err = fmt.Errorf("exit code %d, not %d", a.code, code)
		}
		a.code = 0
		return a, err
	}
}

// lab TOPOLOGY
func (w *world) lab(words []string) (answer, error) {
	if len(words) != 1 {
		return answer{}, errors.New("write: lab TOPOLOGY")
	}
	start := time.Now()
	if err := w.up(words[0]); err != nil {
		return answer{}, err
	}
	made := time.Since(start)
	check, _, err := w.sessions(nil)
	if err == nil {
		err = until(sessionsWait, check)
	}
	return answer{stdout: fmt.Sprintf("made in %.1f s, all sessions established after %.1f s\n", made.Seconds(), time.Since(start).Seconds())}, err
}

// node NODE COMMAND...
func (w *world) nodeCommand(words []string) (answer, error) {
	if len(words) < 2 {
		return answer{}, errors.New("write: node NODE COMMAND...")
	}
	return w.run(words[0], words[1:]...)
}

// put FILE NODE PATH: a file of the script's folder becomes one of the node.
func (w *world) put(words []string) (answer, error) {
	if len(words) != 3 {
		return answer{}, errors.New("write: put FILE NODE PATH")
	}
	text, err := os.ReadFile(filepath.Join(w.dir, words[0]))
	if err != nil {
		return answer{}, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), askWait)
	defer cancel()
	return w.runContext(ctx, words[1], bytes.NewReader(text), "sh", "-c", `cat >"$0"`, words[2])
}

// edge NODE VERB...
func (w *world) edge(words []string) (answer, error) {
	if len(words) < 2 {
		return answer{}, errors.New("write: edge NODE VERB...")
	}
	return w.run(words[0], append([]string{"catchment", "edge"}, words[1:]...)...)
}

// noc ARGS...
func (w *world) noc(words []string) (answer, error) {
	if w.topology == nil {
		return answer{}, errors.New("there is no lab yet; write: lab TOPOLOGY")
	}
	centres := w.ofRole("catchment-central")
	if len(centres) == 0 {
		return answer{}, errors.New("the lab has no centre")
	}
	return w.run(centres[0], append([]string{"catchment"}, words...)...)
}

// status NODE
func (w *world) status(words []string) (answer, error) {
	if len(words) != 1 {
		return answer{}, errors.New("write: status NODE; `state NODE STATE` waits for one")
	}
	return w.run(words[0], "catchment", "edge", "status", "-o", "json")
}

// daemon NODE stop [SIGNAL] | start
func (w *world) daemon(words []string) (answer, error) {
	if len(words) < 2 || len(words) > 3 {
		return answer{}, errors.New("write: daemon NODE stop [SIGNAL], or: daemon NODE start")
	}
	return w.run(words[0], append([]string{"/lab/daemon"}, words[1:]...)...)
}

// poweroff NODE: all its processes end at once, and its ends of all cables are gone.
func (w *world) poweroff(words []string) (answer, error) {
	if len(words) != 1 {
		return answer{}, errors.New("write: poweroff NODE")
	}
	if _, err := w.node(words[0]); err != nil {
		return answer{}, err
	}
	for _, n := range runner.List(w.topology) {
		if n.Name == words[0] && n.PID > 0 {
			return answer{}, unix.Kill(n.PID, unix.SIGKILL)
		}
	}
	return answer{}, fmt.Errorf("%s does not run", words[0])
}

func (w *world) freeze(words []string) (answer, error) { return w.toDaemon("STOP", words) }
func (w *world) thaw(words []string) (answer, error)   { return w.toDaemon("CONT", words) }

func (w *world) toDaemon(signal string, words []string) (answer, error) {
	if len(words) != 1 {
		return answer{}, errors.New("write: freeze NODE, or: thaw NODE")
	}
	return w.signal(words[0], signal)
}

// signal sends a signal to a node's daemon.
func (w *world) signal(node, signal string) (answer, error) {
	return w.run(node, "sh", "-c", "kill -"+signal+" $(cat /run/lab/pid)")
}

// cut A B: the cable between them is pulled. The interface of A goes down, so that B has no carrier.
func (w *world) cut(words []string) (answer, error) {
	return answer{}, w.eachLink(words, func(node, device string) error {
		_, err := w.must(node, "ip", "link", "set", device, "down")
		return err
	})
}

// join A B: it is put back, with the addresses and routes of A that the kernel has forgotten.
func (w *world) join(words []string) (answer, error) {
	err := w.eachLink(words, func(node, device string) error {
		_, err := w.must(node, "ip", "link", "set", device, "up")
		return err
	})
	if err != nil {
		return answer{}, err
	}
	n, err := w.node(words[0])
	if err != nil {
		return answer{}, err
	}
	for _, line := range n.Exec {
		if line[0] != "ip" {
			continue
		}
		again := strings.Replace(strings.Join(line, " "), " add ", " replace ", 1)
		if _, err := w.must(n.Name, strings.Fields(again)...); err != nil {
			return answer{}, err
		}
	}
	return answer{}, nil
}

// eachLink calls f with the interfaces of the first node on links between two nodes.
func (w *world) eachLink(words []string, f func(node, device string) error) error {
	if len(words) != 2 {
		return errors.New("write: cut A B, or: join A B")
	}
	if _, err := w.node(words[0]); err != nil {
		return err
	}
	found := false
	for _, l := range w.topology.Links {
		a, b := l.A, l.B
		if a.Node != words[0] {
			a, b = b, a
		}
		if a.Node != words[0] || b.Node != words[1] {
			continue
		}
		found = true
		if err := f(a.Node, a.Interface); err != nil {
			return err
		}
	}
	if !found {
		return fmt.Errorf("there is no link between %s and %s", words[0], words[1])
	}
	return nil
}

// holds DURATION CONDITION...
func (w *world) holds(words []string) (answer, error) {
	if len(words) < 2 || conditions[words[1]] == nil {
		return answer{}, errors.New("write: holds 5s CONDITION...")
	}
	during, err := positive(words[0])
	if err != nil {
		return answer{}, err
	}
	check, _, err := conditions[words[1]](w, words[2:])
	if err != nil {
		return answer{}, err
	}
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for start := time.Now(); time.Since(start) < during; <-tick.C {
		if err := check(); err != nil {
			return answer{}, fmt.Errorf("did not hold after %v: %w", time.Since(start).Round(10*time.Millisecond), err)
		}
	}
	return answer{}, nil
}
