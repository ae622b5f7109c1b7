package labcmd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"sync"

	"github.com/catchment-bgp/catchment/cmd/catchment/internal/output"
	"github.com/catchment-bgp/catchment/lab/clab"
	"github.com/catchment-bgp/catchment/lab/router"
	"github.com/catchment-bgp/catchment/lab/runner"
)

// nodes is what is needed of a lab's nodes to ask them. It may be used by several at once.
type nodes interface {
	// living are the names of the nodes that run.
	living(ctx context.Context) (map[string]bool, error)
	// run runs a command in a node, see router.Run.
	run(ctx context.Context, node string, command ...string) (string, error)
}

// nodesOf are the nodes of a topology, whoever made them.
func (l *lab) nodesOf(t *clab.Topology) nodes {
	if l.runtime == docker {
		return containers{t}
	}
	return spaces{t}
}

// spaces are nodes that the runner made.
type spaces struct{ t *clab.Topology }

func (s spaces) living(context.Context) (map[string]bool, error) {
	if err := runner.Root(); err != nil {
		return nil, err
	}
	living := map[string]bool{}
	for _, n := range runner.List(s.t) {
		living[n.Name] = n.State != runner.Ended
	}
	return living, nil
}

func (s spaces) run(ctx context.Context, node string, command ...string) (string, error) {
	return capture(func(out, errs io.Writer) (int, error) {
		return runner.Exec(ctx, s.t, node, runner.Streams{Out: out, Err: errs}, command...)
	})
}

// containers are nodes that containerlab made.
type containers struct{ t *clab.Topology }

func (c containers) living(ctx context.Context) (map[string]bool, error) {
	text, err := dockerSays(ctx, "ps", "--filter", "label=containerlab="+c.t.Name, "--format", "{{.Names}}")
	if err != nil {
		return nil, err
	}
	living := map[string]bool{}
	for name := range strings.FieldsSeq(text) {
		if node, ok := strings.CutPrefix(name, "clab-"+c.t.Name+"-"); ok {
			living[node] = true
		}
	}
	return living, nil
}

func (c containers) run(ctx context.Context, node string, command ...string) (string, error) {
	return dockerSays(ctx, append([]string{"exec", "clab-" + c.t.Name + "-" + node}, command...)...)
}

// dockerSays is what a command of docker wrote.
func dockerSays(ctx context.Context, args ...string) (string, error) {
	return capture(func(out, errs io.Writer) (int, error) {
		cmd := exec.CommandContext(ctx, "docker", args...)
		cmd.Stdout, cmd.Stderr = out, errs
		err := cmd.Run()
		var ended *exec.ExitError
		if errors.As(err, &ended) && ctx.Err() == nil {
			return ended.ExitCode(), nil
		}
		return 0, err
	})
}

// capture keeps what a command writes, as much as a router may answer and a little of its messages. What it wrote to
// stdout and stderr stands in the error when its exit code is not 0.
func capture(run func(out, errs io.Writer) (int, error)) (string, error) {
	out, errs := &limited{most: router.AnswerMost + 1}, &limited{most: 4 << 10}
	code, err := run(out, errs)
	if err == nil && code != 0 {
		err = fmt.Errorf("exit %d: %s", code, strings.TrimSpace(errs.String()+" "+tail(out.String())))
	}
	return out.String(), err
}

// tail is the end of an answer, for an error.
func tail(text string) string {
	const most = 500
	if len(text) > most {
		return "..." + text[len(text)-most:]
	}
	return text
}

// limited is a buffer that drops what is too much.
type limited struct {
	bytes.Buffer
	most int
}

func (l *limited) Write(p []byte) (int, error) {
	l.Buffer.Write(p[:min(len(p), max(0, l.most-l.Len()))])
	return len(p), nil
}

// askAtOnce is how many nodes are asked at the same time.
const askAtOnce = 8

// routers are the nodes of a lab that tell routes, in the topology's order.
type routers struct {
	lab    *lab
	nodes  nodes
	list   []clab.Node
	living map[string]bool
}

// routersOf finds them; a lab of which no node lives does not run.
func (l *lab) routersOf(ctx context.Context, t *clab.Topology, nodes nodes) (routers, error) {
	living, err := nodes.living(ctx)
	if err != nil {
		return routers{}, err
	}
	r := routers{lab: l, nodes: nodes, living: living}
	for _, n := range t.Nodes {
		if router.Speaks(n.Role()) {
			r.list = append(r.list, n)
		}
	}
	if !slices.ContainsFunc(t.Nodes, func(n clab.Node) bool { return living[n.Name] }) {
		return r, errNotRunning
	}
	return r, nil
}

var errNotRunning = errors.New("the lab does not run")

// ask calls f for each router, several at once, says on stderr which of them failed and why, and returns their names.
func (r routers) ask(ctx context.Context, f func(ctx context.Context, i int, reader router.Reader) error) []string {
	errs := make([]error, len(r.list))
	slots := make(chan struct{}, askAtOnce)
	var wait sync.WaitGroup
	for i := range r.list {
		slots <- struct{}{}
		wait.Go(func() {
			defer func() { <-slots }()
			errs[i] = r.one(ctx, i, f)
		})
	}
	wait.Wait()
	failed := []string{}
	for i, err := range errs {
		if err != nil {
			failed = append(failed, r.list[i].Name)
			_ = r.lab.say("%s: %s", r.list[i].Name, output.OneLine(err.Error())) // stderr is gone: nobody to tell
		}
	}
	return failed
}

func (r routers) one(ctx context.Context, i int, f func(ctx context.Context, i int, reader router.Reader) error) error {
	n := r.list[i]
	if !r.living[n.Name] {
		return errors.New("the node does not run")
	}
	reader, err := router.Open(n.Role(), func(ctx context.Context, command ...string) (string, error) {
		return r.nodes.run(ctx, n.Name, command...)
	})
	if err != nil {
		return err
	}
	return f(ctx, i, reader)
}
