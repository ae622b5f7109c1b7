package healthcheck

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// scriptFile writes a shell script and returns its path.
func scriptFile(t testing.TB, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "check")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

func execCheck(e Exec) Check {
	return Check{Name: "script", Exec: &e, Interval: 20 * time.Second, Timeout: 10 * time.Second, Rise: 1, Fall: 2}
}

// noChildren fails if this process has children, zombies included.
func noChildren(t *testing.T) {
	t.Helper()
	if err := unix.Waitid(unix.P_ALL, 0, nil, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil); !errors.Is(err, unix.ECHILD) {
		t.Errorf("a child is left: %v", err)
	}
}

func TestExecProbe(t *testing.T) {
	t.Setenv("HEALTHCHECK_TEST_KEY", "from outside")
	for _, c := range []struct {
		name, script string
		exec         Exec
		want         string
	}{
		{"exit 0 passes, whatever is printed", "echo CRITICAL; exit 0", Exec{}, ""},
		{"exit 2 fails with what is printed", "echo; echo '  CRITICAL:\tdisk full '; exit 2", Exec{}, "exit status 2: CRITICAL: disk full"},
		{"errors are shown, too", "echo no disk >&2; exit 1", Exec{}, "exit status 1: no disk"},
		{"silence is an exit status", "exit 1", Exec{}, "exit status 1"},
		{"other codes can pass", "exit 3", Exec{Exit: []int{0, 3}}, ""},
		{"0 can fail", "exit 0", Exec{Exit: []int{3}}, "exit status 0"},
		{"a signal fails", "echo last words; kill -9 $$", Exec{}, "signal: killed: last words"},
		{"a signal is no exit code", "kill -TERM $$", Exec{Exit: []int{0, 15, 143, 255}}, "signal: terminated"},
		{"the environment is minimal", "env | grep -v '^PWD=\\|^_=\\|^SHLVL='; exit 1", Exec{}, "exit status 1: " + execPath},
		{"variables are set, and passed on by name", `echo "$A-$HEALTHCHECK_TEST_KEY-${HEALTHCHECK_TEST_NONE-none}"; exit 1`,
			Exec{Environment: []string{"A=b=c", "HEALTHCHECK_TEST_KEY", "HEALTHCHECK_TEST_NONE"}}, "exit status 1: b=c-from outside-none"},
		{"PATH can be set", `echo "$PATH"; exit 1`, Exec{Environment: []string{"PATH=/nowhere"}}, "exit status 1: /nowhere"},
		{"it runs in the root", "pwd; exit 1", Exec{}, "exit status 1: /"},
		{"or where it is told to", "pwd; exit 1", Exec{Directory: "/proc"}, "exit status 1: /proc"},
		{"arguments are not a shell's", `echo "$#:$1:$2"; exit 1`, Exec{Command: []string{"a b; $HOME", "*"}}, "exit status 1: 2:a b; $HOME:*"},
		{"nothing can be read", "read line && exit 0; exit 7", Exec{Exit: []int{7}}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.exec.Command = append([]string{scriptFile(t, c.script)}, c.exec.Command...)
			if got := oneProbe(t, execCheck(c.exec)); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
			noChildren(t)
		})
	}
}

func TestExecThatCannotStartFails(t *testing.T) {
	dir := t.TempDir()
	plainFile := filepath.Join(dir, "plain")
	if err := os.WriteFile(plainFile, []byte("#!/bin/sh\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for want, e := range map[string]Exec{
		"cannot start " + dir + "/none: no such file or directory": {Command: []string{dir + "/none"}},
		"cannot start " + plainFile + ": permission denied":        {Command: []string{plainFile}},
		"cannot start /bin/true: no such file or directory":        {Command: []string{"/bin/true"}, Directory: dir + "/none"},
	} {
		if got := oneProbe(t, execCheck(e)); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	noChildren(t)
}

// U19: a hung script is a failure. It, and what it started, is gone afterwards.
func TestExecHungIsFailedAndItsGroupKilled(t *testing.T) {
	pids := filepath.Join(t.TempDir(), "pids")
	for name, script := range map[string]string{
		"by itself":            "echo $$ >> " + pids + "; echo so far; exec sleep 1000",
		"waiting for a child":  "sleep 1000 & echo $! $$ >> " + pids + "; echo so far; wait",
		"deaf to polite words": "trap '' TERM INT HUP; sleep 1000 & echo $! $$ >> " + pids + "; echo so far; while :; do wait; done",
	} {
		t.Run(name, func(t *testing.T) {
			check := execCheck(Exec{Command: []string{scriptFile(t, script)}})
			check.Timeout = 300 * time.Millisecond
			if got := oneProbe(t, check); got != "timeout after 300ms: so far" {
				t.Errorf("%q, want a timeout", got)
			}
			noChildren(t)
			allGone(t, pids)
		})
	}
}

// allGone waits until no process of the numbers in a file lives; that of a zombie
// whose reaper is another's counts as gone.
func allGone(t *testing.T, file string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil || len(text) == 0 {
		t.Fatalf("the script noted no process: %v", err)
	}
	for _, pid := range strings.Fields(string(text)) {
		waitFor(t, "gone: process "+pid, func() bool { return !lives(pid) })
	}
}

func lives(pid string) bool {
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(rest, "Z") && !strings.HasPrefix(rest, "X")
}

func TestExecLeavesNoProcessOfItsGroup(t *testing.T) {
	pids := filepath.Join(t.TempDir(), "pids")
	script := scriptFile(t, "sleep 1000 & echo $! > "+pids+"; exit 0")
	began := time.Now()
	if got := oneProbe(t, execCheck(Exec{Command: []string{script}})); got != "" {
		t.Errorf("a script that leaves a child behind fails: %s", got)
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("the child held the probe for %v", took)
	}
	allGone(t, pids)
	noChildren(t)
}

// The orphans of process 1 are its children, and stay zombies until it reaps them.
func TestExecBuriesItsGroupWhereOrphansAreOurs(t *testing.T) {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0) })
	for script, want := range map[string]string{
		"sleep 1000 & sleep 1000 & exit 0": "",
		"sleep 1000 & exit 1":              "exit status 1",
		"(sleep 1000 & sleep 1000) & wait": "timeout after 300ms",
	} {
		check := execCheck(Exec{Command: []string{scriptFile(t, script)}})
		check.Timeout = 300 * time.Millisecond
		if got := oneProbe(t, check); got != want {
			t.Errorf("%s: %q, want %q", script, got, want)
		}
		noChildren(t)
	}
}

// A process in a session of its own is not ours to kill, and must not hold the
// probe by the pipe that it inherited.
func TestExecIsNotHeldByAPipe(t *testing.T) {
	if _, err := os.Stat("/usr/bin/setsid"); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("no setsid: apt-get install util-linux")
		}
		t.Skip("no setsid: apt-get install util-linux")
	}
	pids := filepath.Join(t.TempDir(), "pids")
	t.Cleanup(func() {
		text, _ := os.ReadFile(pids)
		for _, pid := range strings.Fields(string(text)) {
			if n, err := strconv.Atoi(pid); err == nil {
				unix.Kill(n, unix.SIGKILL)
			}
		}
	})
	daemon := "setsid sh -c 'echo $$ >> " + pids + "; exec sleep 1000' & until [ -s " + pids + " ]; do :; done; "
	for name, c := range map[string]struct {
		script, want string
		timeout      time.Duration
	}{
		"after an end": {daemon + "echo done; exit 1", "exit status 1: done", 8 * time.Second},
		"after a pass": {daemon + "exit 0", "", 8 * time.Second},
		"at a timeout": {daemon + "echo so far; exec sleep 1000", "timeout after 500ms: so far", 500 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			os.Remove(pids)
			check := execCheck(Exec{Command: []string{scriptFile(t, c.script)}})
			check.Timeout = c.timeout
			began := time.Now()
			if got := oneProbe(t, check); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
			if took := time.Since(began); took > 5*time.Second {
				t.Errorf("took %v", took)
			}
			text, err := os.ReadFile(pids)
			if pid := strings.TrimSpace(string(text)); err != nil || !lives(pid) {
				t.Errorf("the process in its own session is gone: %v", err)
			} else if n, err := strconv.Atoi(pid); err == nil {
				unix.Kill(n, unix.SIGKILL)
			}
		})
	}
}

// A process in uninterruptible sleep outlives SIGKILL. The probe fails in time all
// the same, and no second process joins the first.
func TestExecThatCannotBeKilledIsLeftBehindOnce(t *testing.T) {
	starts := filepath.Join(t.TempDir(), "starts")
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	p := &execProbe{
		Exec:  Exec{Command: []string{scriptFile(t, "echo x >> "+starts+"; read line < "+pipe)}, Exit: []int{0}, Directory: "/"},
		kill:  func(int) error { return nil }, // as if
		delay: time.Hour,                      // os/exec would kill, too
		grace: time.Millisecond,
	}
	checker := &Checker{check: execCheck(p.Exec), probe: p.attempt}
	checker.check.Timeout = 200 * time.Millisecond
	if got := explain(checker.attempt(t.Context())); got != "timeout after 200ms" {
		t.Errorf("%q, want a timeout", got)
	}
	for range 3 {
		if got := explain(checker.attempt(t.Context())); got != errStuck.Error() {
			t.Errorf("%q, want %q", got, errStuck)
		}
	}
	text, err := os.ReadFile(starts)
	if err != nil || string(text) != "x\n" {
		t.Errorf("started %q times, want once (%v)", text, err)
	}
	// A writer's open ends as soon as a reader is there; its close ends the read.
	f, err := os.OpenFile(pipe, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	<-p.alone.last
	noChildren(t)
}

func TestExecKeeps4KiBOfOutput(t *testing.T) {
	p := &execProbe{Exec: Exec{Command: []string{scriptFile(t, "yes 0123456789 | head -c 1000000; exit 1")}, Exit: []int{0}, Directory: "/"}, kill: killGroup, delay: pipeDelay}
	err := p.run(t.Context())
	if err == nil || len(err.Error()) < maxOutput-10 || len(err.Error()) > maxOutput+50 {
		t.Errorf("an error of %d bytes, want about %d", len(err.Error()), maxOutput)
	}
}

func TestExecEndsWithItsContext(t *testing.T) {
	p := &execProbe{Exec: Exec{Command: []string{"/bin/sleep", "1000"}, Exit: []int{0}, Directory: "/"}, kill: killGroup, delay: pipeDelay, grace: killGrace}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	begin := time.Now()
	if err := p.attempt(ctx); err == nil || time.Since(begin) > 3*time.Second {
		t.Errorf("%v after %v", err, time.Since(begin))
	}
	noChildren(t)
}

func TestNewRefusesBadExec(t *testing.T) {
	ok := Exec{Command: []string{"/bin/true"}}
	for _, c := range []struct {
		change func(*Exec)
		want   string
	}{
		{func(e *Exec) { e.Command = nil }, `exec.command: there is none: write [/path/of/program, argument]`},
		{func(e *Exec) { e.Command = []string{"true"} }, `exec.command: "true" is not an absolute path: write for example /usr/local/bin/check`},
		{func(e *Exec) { e.Command = []string{"/bin/true", "a\x00"} }, `exec.command: "a\x00" holds a zero byte: remove it`},
		{func(e *Exec) { e.Exit = []int{256} }, `exec.exit: 256 is not an exit code: write 0 to 255`},
		{func(e *Exec) { e.Environment = []string{"A B=secret"} }, `exec.environment: "A B" is not a variable: write NAME=VALUE or NAME`},
		{func(e *Exec) { e.Environment = []string{"=x"} }, `exec.environment: "" is not a variable: write NAME=VALUE or NAME`},
		{func(e *Exec) { e.Directory = "x" }, `exec.directory: "x" is not an absolute path: write for example /var/lib/check`},
	} {
		e := ok
		c.change(&e)
		refusedWith(t, execCheck(e), c.want)
	}
}
