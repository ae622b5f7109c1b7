package netlab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/catchment-bgp/catchment/internal/procstat"
)

// Proc is a process that a node started. It leads a process group of its own.
type Proc struct {
	name string
	cmd  *exec.Cmd
	log  string
	done chan struct{} // closed when the process has ended and was waited for
}

// Start starts a command in the background. name is for messages; stdout and stderr go to a file, which is shown when
// the test fails.
func (n *Node) Start(name string, command ...string) *Proc {
	n.lab.t.Helper()
	p, err := n.startProc(name, nil, command)
	if err != nil {
		n.lab.t.Fatalf("node %s: starting %s: %v", n.name, name, err)
	}
	return p
}

// StartEnv is Start with variables ("KEY=value") added to the environment.
func (n *Node) StartEnv(name string, env []string, command ...string) *Proc {
	n.lab.t.Helper()
	p, err := n.startProc(name, env, command)
	if err != nil {
		n.lab.t.Fatalf("node %s: starting %s: %v", n.name, name, err)
	}
	return p
}

func (n *Node) startProc(name string, env, command []string) (*Proc, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	path := filepath.Join(n.logDir(), fmt.Sprintf("%02d-%s.log", len(n.procs), name))
	out, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stdout, cmd.Stderr = out, out
	cmd.Env = append(os.Environ(), env...)
	if err := n.start(cmd); err != nil {
		return nil, err
	}
	p := &Proc{name: name, cmd: cmd, log: path, done: make(chan struct{})}
	n.procs = append(n.procs, p)
	go func() {
		defer close(p.done)
		_ = cmd.Wait() // Wait reports through ProcessState
	}()
	return p, nil
}

// PID is the process's number, the same inside and outside the node.
func (p *Proc) PID() int { return p.cmd.Process.Pid }

// Log is what the process has written to stdout and stderr so far.
func (p *Proc) Log() string {
	text, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// Signal sends a signal to the process alone. It is an error when the process has ended.
func (p *Proc) Signal(signal os.Signal) error { return p.cmd.Process.Signal(signal) }

// Kill sends SIGKILL to the process's group, which holds its children too, and waits until all of them are gone.
func (p *Proc) Kill() {
	select {
	case <-p.done:
		return
	default:
	}
	_ = unix.Kill(-p.PID(), unix.SIGKILL)
	<-p.done
	_ = poll(context.Background(), stopWait, func() error {
		if groupLives(p.PID()) {
			return errors.New("the process's children live")
		}
		return nil
	})
}

// groupLives says whether a process group has a member that runs. Zombies do not: they hold no socket any more.
func groupLives(pgid int) bool {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range stats {
		text, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		fields := procstat.Fields(string(text))
		if len(fields) > 2 && fields[2] == strconv.Itoa(pgid) && fields[0] != "Z" && fields[0] != "X" {
			return true
		}
	}
	return false
}

// Done is closed when the process has ended.
func (p *Proc) Done() <-chan struct{} { return p.done }

// Wait waits for the process to end and returns its exit code; 128+N when signal N ended it, as in a shell. It is an
// error when the process has not ended in time.
func (p *Proc) Wait(within time.Duration) (int, error) {
	timer := time.NewTimer(within)
	defer timer.Stop()
	select {
	case <-p.done:
	case <-timer.C:
		return 0, fmt.Errorf("%s (pid %d) has not ended in %v", p.name, p.PID(), within)
	}
	if status, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal()), nil
	}
	return p.cmd.ProcessState.ExitCode(), nil
}

// await polls check, until the process ends at most.
func (p *Proc) await(within time.Duration, check func() error) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		defer cancel()
		select {
		case <-p.done:
		case <-ctx.Done():
		}
	}()
	err := poll(ctx, within, check)
	if err == nil {
		return nil
	}
	select {
	case <-p.done:
		return fmt.Errorf("%s has ended: %s", p.name, tail(p.Log(), 2<<10))
	default:
		return err
	}
}

// RSS is the memory that the process holds now, in bytes (VmRSS).
func (p *Proc) RSS() (uint64, error) { return p.status("VmRSS:") }

// PeakRSS is the most memory that the process has held, in bytes (VmHWM).
func (p *Proc) PeakRSS() (uint64, error) { return p.status("VmHWM:") }

// status reads a value in kB from /proc/PID/status.
func (p *Proc) status(key string) (uint64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.PID()))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, key); ok {
			kb, err := strconv.ParseUint(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			return kb << 10, err
		}
	}
	return 0, fmt.Errorf("%s (pid %d): no %s: the process has ended", p.name, p.PID(), key)
}

// CPU is the processor time that the process has used, in user and kernel mode, to 10 ms.
func (p *Proc) CPU() (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.PID()))
	if err != nil {
		return 0, err
	}
	return cpuTime(string(text))
}

// cpuTime adds utime and stime, fields 14 and 15 of /proc/PID/stat, in ticks of 1/100 s.
func cpuTime(stat string) (time.Duration, error) {
	fields := procstat.Fields(stat)
	if len(fields) < 13 {
		return 0, errors.New("/proc/PID/stat is too short")
	}
	user, err := strconv.ParseInt(fields[11], 10, 64)
	if err != nil {
		return 0, err
	}
	system, err := strconv.ParseInt(fields[12], 10, 64)
	return time.Duration(user+system) * 10 * time.Millisecond, err
}
