package healthcheck

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Exec runs a program. It passes by its exit code alone; what it prints is the
// reason in the error. When the Timeout ends, SIGKILL goes to its process group,
// and the probe waits up to one second more for its end. Whatever is left of the
// group is killed after an ordinary end, too.
type Exec struct {
	// Command is the program's absolute path and its arguments. No shell reads
	// them.
	Command []string
	// Exit are the codes that pass, 0..255; empty: 0.
	Exit []int
	// Environment is what the program's environment holds besides PATH: NAME=VALUE,
	// or NAME for the value that it has in ours, if any.
	Environment []string
	// Directory is where it runs, absolute; empty: the root.
	Directory string
}

const (
	maxOutput = 4 << 10 // bytes of a program's output that are kept
	execPath  = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
	// pipeDelay is how long the output is read on after the program's end, when a
	// process outside its group holds it open.
	pipeDelay = 100 * time.Millisecond
	// killGrace is how long a killed program may take to be gone.
	killGrace = time.Second
)

var variableRE = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*(=[^\x00]*)?$`)

// execProbe is the kind exec.
type execProbe struct {
	Exec
	kill  func(group int) error
	delay time.Duration // pipeDelay
	grace time.Duration // killGrace
	alone alone
}

func execTarget(c Check) (*target, []error) {
	if c.Exec == nil {
		return nil, nil
	}
	p := &execProbe{Exec: *c.Exec, kill: killGroup, delay: pipeDelay, grace: killGrace}
	if len(p.Exec.Exit) == 0 {
		p.Exec.Exit = []int{0}
	}
	if p.Directory == "" {
		p.Directory = "/"
	}
	return &target{probe: p.attempt}, p.validate()
}

func (p *execProbe) validate() []error {
	var errs []error
	refuse := func(bad bool, format string, args ...any) {
		if bad {
			errs = append(errs, fmt.Errorf("exec."+format, args...))
		}
	}
	refuse(len(p.Command) == 0, "command: there is none: write [/path/of/program, argument]")
	if len(p.Command) > 0 {
		refuse(!filepath.IsAbs(p.Command[0]), "command: %q is not an absolute path: write for example /usr/local/bin/check", p.Command[0])
	}
	for _, word := range p.Command {
		refuse(strings.Contains(word, "\x00"), "command: %q holds a zero byte: remove it", word)
	}
	for _, code := range p.Exec.Exit {
		refuse(code < 0 || code > 255, "exit: %d is not an exit code: write 0 to 255", code)
	}
	for _, entry := range p.Environment {
		name, _, _ := strings.Cut(entry, "=") // the value may be a secret
		refuse(!variableRE.MatchString(entry), "environment: %q is not a variable: write NAME=VALUE or NAME", name)
	}
	refuse(!filepath.IsAbs(p.Directory), "directory: %q is not an absolute path: write for example /var/lib/check", p.Directory)
	return errs
}

func (p *execProbe) attempt(ctx context.Context) error {
	return p.alone.do(ctx, p.grace, func() error {
		reach(p.Directory)
		reach(p.Command[0])
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return p.run(ctx)
	})
}

// reach returns when a path can be looked at and, where it is a file, read. Start
// must not be the first to find out that a file server is dead: between fork and
// exec it holds a processor of the Go runtime, and with it the whole daemon. What
// else is wrong Start says.
func reach(path string) {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return
	}
	defer f.Close()
	f.Read(make([]byte, 1))
}

// run starts the program in a process group of its own and returns when the
// program is reaped and its group is killed, however it went.
func (p *execProbe) run(ctx context.Context) error {
	output := &head{size: maxOutput}
	group := &processGroup{kill: p.kill}
	cmd := exec.CommandContext(ctx, p.Command[0], p.Command[1:]...)
	cmd.Dir, cmd.Env = p.Directory, p.environment()
	cmd.Stdout, cmd.Stderr = output, output
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = p.delay
	cmd.Cancel = func() error { return group.end(cmd.Process.Pid) }
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("cannot start %s: %s", p.Command[0], explain(err))
	}
	awaitExit(cmd.Process.Pid)
	group.close(cmd.Process.Pid)
	err := cmd.Wait()
	buryGroup(cmd.Process.Pid)
	text := plain(string(output.bytes))
	switch {
	case ctx.Err() != nil:
		return progress(text)
	case cmd.ProcessState == nil:
		return fmt.Errorf("cannot wait for %s: %s", p.Command[0], explain(err))
	case cmd.ProcessState.Exited() && slices.Contains(p.Exec.Exit, cmd.ProcessState.ExitCode()):
		return nil
	case text == "":
		return errors.New(cmd.ProcessState.String())
	}
	return fmt.Errorf("%v: %s", cmd.ProcessState, text)
}

func (p *execProbe) environment() []string {
	env := []string{execPath}
	for _, entry := range p.Environment {
		if strings.Contains(entry, "=") {
			env = append(env, entry)
		} else if value, ok := os.LookupEnv(entry); ok {
			env = append(env, entry+"="+value)
		}
	}
	return env
}

// awaitExit returns when the child has ended, and leaves it to be reaped: until
// then no other process or group can have its number.
func awaitExit(pid int) {
	for unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
	}
}

// processGroup kills the group of a child while the number is certain to be its
// own.
type processGroup struct {
	mu     sync.Mutex
	kill   func(group int) error
	closed bool
}

// end kills the group.
func (g *processGroup) end(id int) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return os.ErrProcessDone
	}
	return g.kill(id)
}

// close is the last end, before the child is reaped.
func (g *processGroup) close(id int) {
	g.end(id) // an error means that the group has no other members
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
}

// buryGroup reaps what a killed group had left, where that has become our child: if
// we are process 1, as in a container. Otherwise there is nothing to wait for.
func buryGroup(group int) {
	for {
		if _, err := unix.Wait4(-group, nil, 0, nil); err != nil && err != unix.EINTR {
			return
		}
	}
}

func killGroup(group int) error {
	err := unix.Kill(-group, unix.SIGKILL)
	if errors.Is(err, unix.ESRCH) {
		return os.ErrProcessDone
	}
	return err
}
