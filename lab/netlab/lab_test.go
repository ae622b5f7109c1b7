package netlab

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestNodesReachEachOtherOverALink(t *testing.T) {
	lab := New(t)
	a, b := lab.Node("a"), lab.Node("b")
	ifA, ifB := lab.Link(a, b, []string{"10.9.0.1/30", "fd09::1/64"}, []string{"10.9.0.2/30", "fd09::2/64"})
	if second, _ := lab.Link(a, b, nil, nil); ifA != "b" || ifB != "a" || second != "b2" {
		t.Errorf("interfaces %q, %q and %q", ifA, ifB, second)
	}
	for _, address := range []string{"10.9.0.2:7000", "[fd09::2]:7000"} {
		listener, err := b.Listen("tcp", address)
		if err != nil {
			t.Fatal(err) // at once: an address that is still tentative could not be bound
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		conn, err := a.DialContext(ctx, "tcp", address)
		cancel()
		if err != nil {
			t.Fatal(err)
		}
		_, _ = conn.Close(), listener.Close()
		if _, err := net.Listen("tcp", address); err == nil {
			t.Errorf("the test's own namespace has %s", address)
		}
	}
}

func TestNodeHasItsOwnRunFolder(t *testing.T) {
	lab := New(t)
	a, b := lab.Node("a"), lab.Node("b")
	a.WriteFile("/run/who", "a")
	b.WriteFile("/var/run/who", "b") // a link to /run on Debian
	for _, n := range []*Node{a, b} {
		if got := n.MustRun("cat", "/run/who"); got != n.Name() {
			t.Errorf("node %s reads %q", n.Name(), got)
		}
		if text, err := os.ReadFile(n.HostPath("/run/who")); err != nil || string(text) != n.Name() {
			t.Errorf("the host reads %q of node %s: %v", text, n.Name(), err)
		}
	}
	if _, err := os.Stat("/run/who"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the machine's /run has the file: %v", err)
	}
}

func TestNodesDoNotMoveTheTestItself(t *testing.T) {
	before, err := os.Readlink("/proc/self/ns/net")
	if err != nil {
		t.Fatal(err)
	}
	lab := New(t)
	for i := range 5 {
		n := lab.Node("n" + strconv.Itoa(i))
		inside := ""
		if err := n.Do(func() (err error) { inside, err = os.Readlink("/proc/thread-self/ns/net"); return err }); err != nil {
			t.Fatal(err)
		}
		if inside == before {
			t.Errorf("node %d is in the test's namespace", i)
		}
	}
	if after, err := os.Readlink("/proc/self/ns/net"); err != nil || after != before {
		t.Errorf("the process is now in %s, was in %s: %v", after, before, err)
	}
}

func TestDoGivesErrorsBack(t *testing.T) {
	n := New(t).Node("a")
	want := errors.New("mine")
	if err := n.Do(func() error { return want }); err != want {
		t.Errorf("error %v", err)
	}
}

func TestRunIsBoundedByItsContext(t *testing.T) {
	n := New(t).Node("a")
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	start := time.Now()
	if _, err := n.Run(ctx, "sh", "-c", "sleep 60; true"); err == nil || time.Since(start) > 5*time.Second {
		t.Errorf("ended after %v: %v", time.Since(start), err)
	}
	if _, err := n.Run(t.Context(), "sh", "-c", "echo trouble >&2; exit 3"); err == nil || !strings.Contains(err.Error(), "trouble") {
		t.Errorf("error %v", err)
	}
}

func TestProcTellsHowItEnded(t *testing.T) {
	n := New(t).Node("a")
	for script, want := range map[string]int{"exit 0": 0, "exit 7": 7, "kill -9 $$": 137} {
		if code, err := n.Start("sh", "sh", "-c", script).Wait(5 * time.Second); err != nil || code != want {
			t.Errorf("%q: code %d, %v", script, code, err)
		}
	}
	p := n.StartEnv("sh", []string{"WHO=me"}, "sh", "-c", "trap 'echo bye $WHO; exit 4' TERM; echo hello; while :; do read x < /dev/zero; done & wait")
	Eventually(t, 5*time.Second, "hello in the log", func() error {
		if strings.Contains(p.Log(), "hello") {
			return nil
		}
		return fmt.Errorf("log %q", p.Log())
	})
	if _, err := p.Wait(10 * time.Millisecond); err == nil {
		t.Error("a wait for a living process is no error")
	}
	if rss, err := p.RSS(); err != nil || rss < 100<<10 || rss > 1<<30 {
		t.Errorf("RSS %d, %v", rss, err)
	}
	if peak, err := p.PeakRSS(); err != nil || peak < 100<<10 {
		t.Errorf("peak RSS %d, %v", peak, err)
	}
	if err := p.Signal(unix.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code, err := p.Wait(5 * time.Second); err != nil || code != 4 || !strings.Contains(p.Log(), "bye me") {
		t.Errorf("code %d, %v, log %q", code, err, p.Log())
	}
	if err := p.Signal(unix.SIGTERM); err == nil {
		t.Error("a signal to an ended process is no error")
	}
	if _, err := p.RSS(); err == nil {
		t.Error("an ended process has memory")
	}
}

func TestCPUCountsWork(t *testing.T) {
	n := New(t).Node("a")
	p := n.Start("busy", "sh", "-c", "while :; do :; done")
	Eventually(t, 10*time.Second, "50 ms of CPU", func() error {
		cpu, err := p.CPU()
		if err == nil && cpu < 50*time.Millisecond {
			err = fmt.Errorf("%v", cpu)
		}
		return err
	})
	p.Kill()
	if code, err := p.Wait(time.Second); err != nil || code != 137 {
		t.Errorf("code %d, %v", code, err)
	}
}

func TestNginxDiesWithItsWorkersAndComesBack(t *testing.T) {
	n := New(t, NginxServer).Node("a")
	nginx := n.Nginx("0.0.0.0:8080", "[::]:8080")
	client := &http.Client{Timeout: 2 * time.Second, Transport: &http.Transport{DialContext: n.DialContext, DisableKeepAlives: true}}
	get := func(host string) error {
		response, err := client.Get("http://" + host + ":8080/health")
		if err != nil {
			return err
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		if err == nil && (response.StatusCode != 200 || string(body) != "ok\n") {
			err = fmt.Errorf("%s: %q", response.Status, body)
		}
		return err
	}
	healthy := func() {
		t.Helper()
		if err := errors.Join(get("127.0.0.1"), get("[::1]")); err != nil {
			t.Error(err)
		}
	}
	healthy()
	nginx.Kill()
	if err := get("127.0.0.1"); !errors.Is(err, unix.ECONNREFUSED) {
		t.Errorf("after Kill: %v", err)
	}
	Eventually(t, 5*time.Second, "the workers' end", func() error {
		pids, err := inside(n.Namespace())
		if err == nil && len(pids) > 0 {
			err = fmt.Errorf("processes %v", pids)
		}
		return err
	})
	if err := nginx.Start(); err != nil {
		t.Fatal(err)
	}
	healthy()
	if err := nginx.Restart(); err != nil {
		t.Fatal(err)
	}
	healthy()
	if err := nginx.Stop(); err != nil {
		t.Error(err)
	}
}

func TestEverythingIsGoneAtTheEnd(t *testing.T) {
	var id string
	var pids []int
	r := &recorder{}
	r.run(func() {
		lab := New(r)
		id = lab.ID()
		n := lab.Node("a")
		lab.Link(n, lab.Node("b"), []string{"10.9.0.1/30"}, nil)
		stubborn := n.Start("stubborn", "sh", "-c", "trap '' TERM; setsid sleep 1000 & while :; do sleep 1; done")
		pids = append(pids, stubborn.PID())
		Eventually(r, 5*time.Second, "a process that left the group", func() error {
			all, err := inside(n.Namespace())
			if err == nil && len(all) < 3 {
				err = fmt.Errorf("processes %v", all)
			}
			pids = append(pids, all...)
			return err
		})
		if left := remains(BaseDir, id); len(left) < 3 {
			t.Errorf("the check sees only %q of a living lab", left)
		}
	})
	if r.failed {
		t.Errorf("cleaning up: %s", r.text())
	}
	if left := remains(BaseDir, id); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
	for _, pid := range pids {
		if alive(pid) {
			t.Errorf("process %d of %v lives", pid, pids)
		}
	}
}

// alive is false for a zombie, which only its parent can remove.
func alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !bytes.Contains(stat, []byte(") Z "))
}

func TestFailureShowsLogs(t *testing.T) {
	r := &recorder{}
	r.run(func() {
		n := New(r).Node("a")
		p := n.Start("talker", "echo", "famous last words")
		_, _ = p.Wait(5 * time.Second)
		r.Fatalf("the test fails")
	})
	if !strings.Contains(r.text(), "famous last words") {
		t.Errorf("said %q", r.text())
	}
}

func TestMistakesInALabEndTheTest(t *testing.T) {
	for name, body := range map[string]func(*Lab){
		"name":    func(l *Lab) { l.Node("Not A Name") },
		"twice":   func(l *Lab) { l.Node("a"); l.Node("a") },
		"loop":    func(l *Lab) { n := l.Node("a"); l.Link(n, n, nil, nil) },
		"address": func(l *Lab) { l.Link(l.Node("a"), l.Node("b"), []string{"10.0.0.1"}, nil) },
		"command": func(l *Lab) { l.Node("a").MustRun("false") },
		"program": func(l *Lab) { l.Node("a").Start("x", "/no/such/program") },
	} {
		r := &recorder{}
		r.run(func() {
			body(New(r))
			t.Errorf("%s: went on", name)
		})
		if !r.failed || len(r.log) == 0 || strings.Contains(r.text(), "removing lab") {
			t.Errorf("%s: failed %v, said %q", name, r.failed, r.text())
		}
	}
}

// crash runs in a process of its own: it makes a lab, tells its name and a process in it, and is killed.
func crash() {
	r := &recorder{}
	r.run(func() {
		lab := New(r, NginxServer)
		n := lab.Node("a")
		n.Nginx("127.0.0.1:8080")
		n.Start("escape", "sh", "-c", "setsid sleep 1000 & echo $! > /run/pid; wait")
		Eventually(r, 5*time.Second, "a process that outlives us", func() error {
			pid, err := os.ReadFile(n.HostPath("/run/pid"))
			if err == nil && len(pid) == 0 {
				err = errors.New("empty")
			}
			if err == nil {
				fmt.Printf("%s %s", lab.ID(), pid)
			}
			return err
		})
		_ = unix.Kill(os.Getpid(), unix.SIGKILL)
	})
	fmt.Fprintln(os.Stderr, r.text())
	os.Exit(1)
}

func TestKilledTestIsCleanedUpByTheNextOne(t *testing.T) {
	Require(t, Root, NginxServer)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	var out bytes.Buffer
	child := exec.CommandContext(ctx, os.Args[0])
	child.Env = append(os.Environ(), crashVariable+"=1")
	child.Stdout, child.Stderr = &out, &out
	err := child.Run()
	var ended *exec.ExitError
	if !errors.As(err, &ended) || ended.Sys().(syscall.WaitStatus).Signal() != unix.SIGKILL {
		t.Fatalf("the child: %v: %s", err, &out)
	}
	fields := strings.Fields(out.String())
	if len(fields) != 2 {
		t.Fatalf("the child said %q", &out)
	}
	pid, err := strconv.Atoi(fields[1])
	if err != nil {
		t.Fatal(err)
	}
	New(t)
	// Another test on this machine may be at it, too.
	Eventually(t, 10*time.Second, "the end of what the killed test left", func() error {
		if left := remains(BaseDir, fields[0]); len(left) > 0 {
			return fmt.Errorf("left: %q", left)
		}
		if alive(pid) {
			return fmt.Errorf("process %d lives", pid)
		}
		return nil
	})
}

func TestSweepLeavesLivingLabsAlone(t *testing.T) {
	lab := New(t)
	n := lab.Node("a")
	p := n.Start("sleep", "sleep", "1000")
	if err := sweep(BaseDir); err != nil {
		t.Error(err)
	}
	if !alive(p.PID()) || len(remains(BaseDir, lab.ID())) == 0 {
		t.Error("the sweep removed a lab that is in use")
	}
	n.MustRun("true")
}
