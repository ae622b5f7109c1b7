package runner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/catchment-bgp/catchment/internal/osthread"
	"github.com/catchment-bgp/catchment/lab/clab"
)

// Streams are what a command reads and writes.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// Exec runs a command in a node of a running lab; no shell reads it. It returns the command's exit code: 127 when there is no
// such command, 128+N when signal N ended it. The command is killed when ctx ends, which is an error.
func Exec(ctx context.Context, t *clab.Topology, node string, s Streams, command ...string) (int, error) {
	if _, ok := t.Node(node); !ok {
		return 0, fmt.Errorf("the lab %s has no node %q", t.Name, node)
	}
	for _, n := range find(t.Name) {
		if n.Name == node {
			err := run(ctx, n, command, s.In, s.Out, s.Err)
			var exit *exec.ExitError
			switch {
			case ctx.Err() != nil:
				return 0, fmt.Errorf("node %s: %s: %w", node, command[0], ctx.Err())
			case !errors.As(err, &exit):
				return 0, err
			}
			if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
				return 128 + int(status.Signal()), nil
			}
			return exit.ExitCode(), nil
		}
	}
	if err := Root(); err != nil {
		return 0, err
	}
	return 0, fmt.Errorf("node %s of the lab %s does not run; write `catchment lab up %s` first", node, t.Name, t.File)
}

// run runs a command in the namespaces of a node's first process.
func run(ctx context.Context, n Node, command []string, in io.Reader, out, errs io.Writer) error {
	// env looks the command up inside; process 1's PATH and labels are its own.
	cmd := exec.CommandContext(ctx, "/usr/bin/env", append([]string{"--"}, command...)...)
	cmd.Dir = "/"
	cmd.Env = nodeEnv(n.PID)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, out, errs
	cmd.WaitDelay = 5 * time.Second // a busy machine may need some for the last bytes
	started := make(chan error, 1)
	go osthread.Own(func() {
		err := n.enter()
		if err == nil {
			err = cmd.Start()
		}
		started <- err
	})
	if err := <-started; err != nil {
		return err
	}
	return cmd.Wait()
}

// nodeEnv is the environment that process 1 of a node was started with.
func nodeEnv(pid int) []string {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	return strings.FieldsFunc(string(text), func(r rune) bool { return r == 0 })
}

// enter moves the calling thread into the namespaces of the node.
func (n Node) enter() error {
	fd, err := n.open()
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err := unix.Unshare(unix.CLONE_FS); err != nil {
		return fmt.Errorf("unshare: %w", err)
	}
	if err := unix.Setns(fd, unix.CLONE_NEWNS|unix.CLONE_NEWPID|unix.CLONE_NEWNET|unix.CLONE_NEWUTS|unix.CLONE_NEWIPC); err != nil {
		return fmt.Errorf("setns: %w", err)
	}
	return nil
}
