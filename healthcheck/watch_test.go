package healthcheck

import (
	"bufio"
	"context"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// watched is c with a watch, and polls too slow to notice anything first.
func watched(c Check, grace time.Duration) Check {
	c.Watch, c.RestartGrace = true, grace
	c.Interval, c.FastInterval, c.Timeout = time.Minute, 10*time.Millisecond, 5*time.Second
	return c
}

func TestWatchNoticesThatTheServiceIsGone(t *testing.T) {
	s := newService(t, answer(answerOK))
	for name, check := range map[string]Check{"tcp": tcpCheck(s.address), "http": httpCheck(HTTP{URL: "http://" + s.address})} {
		t.Run(name, func(t *testing.T) {
			check.Fall = 3
			r := runCheck(t, watched(check, 0))
			r.until("up", isUp)
			s.awaitWatch()
			s.stop()
			seen := r.until("down", isDown)
			if refusals := countErrors(seen, "connection refused"); refusals < 3 {
				t.Errorf("down after %d refused probes, want 3: %+v", refusals, seen)
			}
			s.start()
		})
	}
}

func countErrors(seen []Status, text string) int {
	n := 0
	for _, s := range seen {
		if s.Error == text {
			n++
		}
	}
	return n
}

func TestIdleConnectionsThatTheServerClosesAreNoFailure(t *testing.T) {
	s := newService(t, hold)
	r := runCheck(t, watched(tcpCheck(s.address), 0))
	r.until("up", isUp)
	for range 5 {
		s.awaitWatch()
		s.closeConnections()
		if got := r.next(); !got.Up || got.Error != "" {
			t.Fatalf("report %+v, want a probe that passes", got)
		}
	}
}

func TestResetOfTheWatchIsNoVerdict(t *testing.T) {
	first := make(chan *net.TCPConn, 10)
	s := newService(t, func(conn net.Conn) {
		first <- conn.(*net.TCPConn)
		hold(conn)
	})
	check := watched(tcpCheck(s.address), 0)
	ended := make(chan bool, 1)
	go func() { ended <- watchAddress(s.address, check.Timeout)(t.Context()) }()
	conn := <-first
	conn.SetLinger(0)
	conn.Close()
	select {
	case lost := <-ended:
		if !lost {
			t.Error("a reset is no reason to probe")
		}
	case <-time.After(patience):
		t.Fatal("the watch did not notice the reset")
	}
}

func TestRestartWithinTheGraceIsNoFailure(t *testing.T) {
	s := newService(t, answer(answerOK))
	check := watched(httpCheck(HTTP{URL: "http://" + s.address}), patience)
	check.Fall = 1
	r := runCheck(t, check)
	r.until("up", isUp)
	for range 3 {
		s.awaitWatch()
		s.stop()
		for refusals := 0; refusals < 4; {
			got := r.next()
			if !got.Up {
				t.Fatalf("down within the grace: %+v", got)
			}
			if got.Error == "connection refused" {
				refusals++
			}
		}
		s.start()
		r.until("passing", func(s Status) bool {
			if !s.Up {
				t.Fatalf("down within the grace: %+v", s)
			}
			return s.Error == ""
		})
	}
	s.awaitWatch()
}

func TestGraceThatEndsIsAVerdict(t *testing.T) {
	const grace = 150 * time.Millisecond
	s := newService(t, hold)
	r := runCheck(t, watched(tcpCheck(s.address), grace))
	r.until("up", isUp)
	s.awaitWatch()
	stopped := time.Now()
	s.stop()
	seen := r.until("down", isDown)
	last := seen[len(seen)-1]
	if after := last.Since.Sub(stopped); after < grace || after > grace+2*time.Second {
		t.Errorf("down after %v, want %v", after, grace)
	}
	if countErrors(seen, "connection refused") < 4 {
		t.Errorf("hardly a probe during the grace: %+v", seen)
	}
}

func TestServiceThatIsThereButBrokenIsAnOrdinaryFailure(t *testing.T) {
	var broken atomic.Bool
	s := newService(t, func(conn net.Conn) {
		if broken.Load() {
			answer("HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n")(conn)
			return
		}
		answer(answerOK)(conn)
	})
	check := watched(httpCheck(HTTP{URL: "http://" + s.address}), patience)
	r := runCheck(t, check)
	r.until("up", isUp)
	s.awaitWatch()
	broken.Store(true)
	s.closeConnections()
	seen := r.until("down", isDown)
	if n := countErrors(seen, "status 503, want 200-299"); n != check.Fall || len(seen) != n {
		t.Errorf("%d failures of %d reports, want %d: the grace is for refusals only", n, len(seen), check.Fall)
	}
}

// Polls that are refused while the watch is not there yet (its connection was
// closed a moment ago) must not undercut the grace.
func TestRefusedPollWithoutAnOpenWatchIsHeld(t *testing.T) {
	s := newService(t, hold)
	check := watched(tcpCheck(s.address), patience)
	check.Fall, check.Interval, check.Timeout = 1, 20*time.Millisecond, 15*time.Millisecond
	checker, err := New(check)
	if err != nil {
		t.Fatal(err)
	}
	checker.watch = func(ctx context.Context) bool { // one that cannot be opened
		<-ctx.Done()
		return false
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	refusals := 0
	checker.Run(ctx, func(got Status) {
		switch {
		case refusals == 0 && got.Up && got.Error == "":
			s.stop()
		case !got.Up:
			t.Errorf("down within the grace: %+v", got)
			cancel()
		case got.Error == "connection refused":
			if refusals++; refusals == 5 {
				cancel()
			}
		}
	})
	if refusals != 5 {
		t.Errorf("%d refusals", refusals)
	}
}

func TestRunLeavesNoDescriptor(t *testing.T) {
	s := newService(t, answer(answerOK))
	before := sockets(t)
	r := runCheck(t, watched(httpCheck(HTTP{URL: "http://" + s.address}), 0))
	r.until("up", isUp)
	s.awaitWatch()
	r.stop()
	if open := established(t, s.address); len(open) > 0 {
		t.Errorf("still open: %v", open)
	}
	waitFor(t, "closed at both ends", func() bool { return sockets(t) == before })
}

func TestWatchToABlackHoleGivesUp(t *testing.T) {
	if watchAddress(blackHole(t), 30*time.Millisecond)(t.Context()) {
		t.Error("a watch that never opened is a reason to probe")
	}
}

// process is the test binary as a service.
type process struct {
	cmd     *exec.Cmd
	address string
}

func startProcess(t *testing.T, address string) process {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), serveVariable+"="+address)
	cmd.SysProcAttr = &unix.SysProcAttr{Pdeathsig: unix.SIGKILL}
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || strings.HasPrefix(line, "error") {
		t.Fatalf("the service did not start: %q %v", line, err)
	}
	return process{cmd, strings.TrimSpace(line)}
}

// U11: from SIGKILL of the service to the verdict in under 50 ms, in the median
// of 9 kills.
func TestKilledProcessIsDownWithin50Milliseconds(t *testing.T) {
	address := "127.0.0.1:0"
	var took []time.Duration
	for range 9 {
		service := startProcess(t, address)
		address = service.address
		r := runCheck(t, watched(httpCheck(HTTP{URL: "http://" + address, Body: "ok"}), 0))
		r.until("up", isUp)
		awaitWatch(t, address)
		killed := time.Now()
		if err := service.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		seen := r.until("down", isDown)
		took = append(took, seen[len(seen)-1].Last.Sub(killed))
		r.stop()
		service.cmd.Wait()
	}
	slices.Sort(took)
	t.Logf("from kill to verdict: %v", took)
	if median := took[len(took)/2]; median >= 50*time.Millisecond {
		t.Errorf("median %v of %v, want under 50 ms", median, took)
	}
}
