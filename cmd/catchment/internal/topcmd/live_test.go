package topcmd

import (
	"bytes"
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/cli"
)

// fakeCentre streams what it is given.
type fakeCentre struct {
	centralv1.UnimplementedFleetServer
	statuses chan *centralv1.FleetStatus
}

func (f *fakeCentre) Watch(_ *centralv1.GetFleetRequest, stream grpc.ServerStreamingServer[centralv1.FleetStatus]) error {
	for {
		select {
		case m, open := <-f.statuses:
			if !open {
				return nil
			}
			if err := stream.Send(m); err != nil {
				return err
			}
		case <-stream.Context().Done():
			return nil
		}
	}
}

// serve returns the address of a centre with the fleet in its stream.
func serve(t *testing.T) (string, *fakeCentre) {
	t.Helper()
	f := &fakeCentre{statuses: make(chan *centralv1.FleetStatus, 8)}
	f.statuses <- theFleet()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer()
	centralv1.RegisterFleetServer(s, f)
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	t.Cleanup(func() {
		s.Stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return l.Addr().String(), f
}

// program starts the command as a process of its own on the terminal.
func program(t *testing.T, p *pty, env []string, args ...string) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var stderr bytes.Buffer
	c := exec.CommandContext(t.Context(), self, args...)
	c.Env = append(append(os.Environ(), asProgram+"=1", "TERM=xterm", "NO_COLOR="), env...)
	c.Stdin, c.Stdout, c.Stderr = p.slave, p.slave, &stderr
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	return c, &stderr
}

func TestTopOnATerminalFromStartToQuit(t *testing.T) {
	address, f := serve(t)
	p := openPTY(t, 100, 16)
	before := p.settings(t)
	c, stderr := program(t, p, nil, "--central", address)
	p.await(t, "video: 2 of 5 nodes announce", "> old", "msk2   withdrawn", "q quit")
	if !strings.HasPrefix(p.written(), enterScreen) || !strings.Contains(p.written(), "\x1b[32m") {
		t.Error("it has not taken the other screen, or it has no colours")
	}
	p.press(t, "j\x1b[B")
	p.await(t, "> msk2")
	p.press(t, "\r")
	p.await(t, "msk2  withdrawn (maintenance)  site moscow", "enter back")
	next := proto.CloneOf(theFleet())
	next.Summary = "video: 3 of 5 nodes announce."
	f.statuses <- next
	p.await(t, "video: 3 of 5 nodes announce.")
	p.press(t, "\r/spb")
	p.await(t, "filter: spb_", "> spb1")
	p.press(t, "\r")
	p.resize(t, 60, 9)
	p.await(t, "q quit  ↑↓ j k ")
	p.press(t, "q")
	if err := c.Wait(); err != nil || stderr.Len() > 0 {
		t.Errorf("%v, %q", err, stderr.String())
	}
	if after := p.settings(t); after != before {
		t.Errorf("the terminal's settings are %+v, were %+v", after, before)
	}
	p.awaitLeft(t)
}

func TestSignalsGiveTheTerminalBack(t *testing.T) {
	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT} {
		t.Run(s.String(), func(t *testing.T) {
			address, _ := serve(t)
			p := openPTY(t, 80, 24)
			before := p.settings(t)
			c, stderr := program(t, p, []string{"NO_COLOR=1"}, "--central", address)
			p.await(t, "> old")
			if strings.Contains(p.written(), "\x1b[32m") || strings.Contains(p.written(), reverse) {
				t.Error("NO_COLOR is set, and it has colours")
			}
			if err := c.Process.Signal(s); err != nil {
				t.Fatal(err)
			}
			if err := c.Wait(); err != nil || stderr.Len() > 0 {
				t.Errorf("%v, %q", err, stderr.String())
			}
			if p.settings(t) != before {
				t.Error("the terminal is not as it was")
			}
			p.awaitLeft(t)
		})
	}
}

// scripted gives one board, then does what it is told.
type scripted struct {
	then func(ctx context.Context) error
	once sync.Once
}

func (*scripted) name() string { return "test" }

func (s *scripted) watch(ctx context.Context, say func(board) bool) error {
	s.once.Do(func() { say(fleetModel().board) })
	return s.then(ctx)
}

func TestAPanicGivesTheTerminalBack(t *testing.T) {
	p := openPTY(t, 80, 24)
	before := p.settings(t)
	err := live(t.Context(), &scripted{then: func(context.Context) error { panic("boom") }}, p.slave, p.slave, clockOf, false)
	if err == nil || !strings.Contains(err.Error(), "this is a bug of catchment, please report it: boom") {
		t.Errorf("%v", err)
	}
	if p.settings(t) != before {
		t.Error("the terminal is not as it was")
	}
	p.awaitLeft(t)
}

func TestAWriteErrorGivesTheTerminalBack(t *testing.T) {
	p := openPTY(t, 80, 24)
	before := p.settings(t)
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	err = live(t.Context(), &scripted{then: func(ctx context.Context) error { <-ctx.Done(); return nil }}, p.slave, full, clockOf, false)
	if !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("%v, want that nothing can be written", err)
	}
	if p.settings(t) != before {
		t.Error("the terminal is not as it was")
	}
}

func TestASourceThatIsAwayIsTriedAgainAndNamed(t *testing.T) {
	p := openPTY(t, 80, 24)
	ended := make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		ended <- live(ctx, &scripted{then: func(context.Context) error { return errors.New("no\x1b[2J route") }}, p.slave, p.slave, clockOf, false)
	}()
	p.await(t, `no news since 12:00:00, trying again: no\x1b[2J route`, "> old")
	p.press(t, "q")
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestASourceThatNeverAnswersEndsTheCommand(t *testing.T) {
	p := openPTY(t, 80, 24)
	s := &scripted{then: func(context.Context) error { return errors.New("denied") }}
	s.once.Do(func() {}) // no board
	if err := live(t.Context(), s, p.slave, p.slave, clockOf, false); err == nil || err.Error() != "denied" {
		t.Errorf("%v", err)
	}
}

func TestWithoutATerminalEachChangeIsALine(t *testing.T) {
	address, f := serve(t)
	out := &lockedBuffer{}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan int, 1)
	go func() {
		ended <- run(ctx, &cli.Env{Stdin: strings.NewReader(""), Stdout: out, Stderr: out, Getenv: func(string) string { return "" }, Now: clockOf}, "--central", address)
	}()
	stamp := "2026-03-01T12:00:00Z "
	await := func(text string) {
		t.Helper()
		eventually(t, func() string {
			if strings.Contains(out.String(), text) {
				return ""
			}
			return "missing: " + text + "\nin:\n" + out.String()
		})
	}
	await(stamp + "node msk2: withdrawn; video withdrawn (maintenance); sessions 1/1; grants: video window; maintenance; video: window w-1; window w-1 safe\n")
	await(stamp + "fleet: video: 2 of 5 nodes announce; msk2 is withdrawn for window w-1.; warning: msk1 and spb1")
	next := proto.CloneOf(theFleet())
	next.Nodes = next.Nodes[1:]
	next.Nodes[0].Reason = "load\x1b[2J"
	next.Nodes[1].Links[0].Load = 5e9 // no news
	f.statuses <- next
	await(stamp + "node msk1: gone\n")
	await(`; load\x1b[2J; `)
	if n := strings.Count(out.String(), "node spb1:"); n != 1 {
		t.Errorf("spb1, of which there is no news, has %d lines", n)
	}
	close(f.statuses)
	await(" fleet at " + address + ": away: the centre ended the watch")
	cancel()
	if code := <-ended; code != 0 {
		t.Errorf("exit %d: %s", code, out.String())
	}
}

func TestWrongUsageIsTold(t *testing.T) {
	for args, want := range map[string]string{
		"--target 2":                           "--target 2: write a share",
		"--target NaN":                         "write a share",
		"--edge unix:/x --central 127.0.0.1:1": "write one of them",
		"x":                                    `takes no argument: what is "x"?`,
		"--edge tcp:1":                         "is not the address of a unix socket",
		"--central nowhere":                    "is no address",
	} {
		out := &lockedBuffer{}
		code := run(t.Context(), &cli.Env{Stdin: strings.NewReader(""), Stdout: out, Stderr: out, Getenv: func(string) string { return "" }, Now: clockOf}, strings.Fields(args)...)
		if code != 2 || !strings.Contains(out.String(), want) {
			t.Errorf("%s: exit %d, %s", args, code, out.String())
		}
	}
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
