package edgecmd

import (
	"context"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/catchment-bgp/catchment/cmd/catchment/internal/cli"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/exit"
)

func TestMissingSocketIsExplained(t *testing.T) {
	r := at("/nonexistent/edge.sock").run(limited(t), "status")
	if r.code != exit.Failed || !strings.Contains(r.stderr, "there is no socket /nonexistent/edge.sock: is catchment-edge running?") {
		t.Errorf("exit %d, stderr %q", r.code, r.stderr)
	}
}

func TestSocketWithoutDaemonIsExplained(t *testing.T) {
	path := filepath.Join(t.TempDir(), "edge.sock")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	for _, verb := range []string{"status", "status -w"} {
		r := at(path).run(limited(t), split(verb)...)
		if r.code != exit.Failed || !strings.Contains(r.stderr, "nobody answers on socket "+path) {
			t.Errorf("%s: exit %d, stderr %q", verb, r.code, r.stderr)
		}
	}
}

func TestForbiddenSocketIsExplained(t *testing.T) {
	path := (&fakeEdge{}).serve(t)
	if err := os.Chmod(path, 0); err != nil {
		t.Fatal(err)
	}
	s := at(path)
	s.tweak = func(g *group) { g.node.Dial = dialUnprivileged }
	r := s.run(limited(t), "status")
	if r.code != exit.Failed || !strings.Contains(r.stderr, "no permission to open socket "+path+": become a member of the group") {
		t.Errorf("exit %d, stderr %q", r.code, r.stderr)
	}
}

// dialUnprivileged connects as a user who is not root, also when root runs the
// test. The thread is never given back, so the change ends with it.
func dialUnprivileged(_ context.Context, path string) (net.Conn, error) {
	type result struct {
		conn net.Conn
		err  error
	}
	done := make(chan result)
	go func() {
		runtime.LockOSThread()
		if os.Geteuid() == 0 {
			if err := unix.Setfsuid(65534); err != nil {
				done <- result{nil, err}
				return
			}
		}
		conn, err := net.Dial("unix", path)
		done <- result{conn, err}
	}()
	r := <-done
	return r.conn, r.err
}

func TestPathThatIsNoSocketIsExplained(t *testing.T) {
	file := configFileAt(t, "no socket")
	r := at(file+"/edge.sock").run(limited(t), "status")
	if r.code != exit.Failed || !strings.Contains(r.stderr, "cannot reach catchment-edge: ") || !strings.Contains(r.stderr, "not a directory") {
		t.Errorf("exit %d, stderr %q", r.code, r.stderr)
	}
}

func TestSilentNodeMeetsTheDeadline(t *testing.T) {
	s := at((&fakeEdge{hang: true}).serve(t))
	s.tweak = func(g *group) { g.node.Timeout = 50 * time.Millisecond }
	r := s.run(limited(t), "drain", "video", "--reason", "r")
	if r.code != exit.Failed || !strings.Contains(r.stderr, "did not answer within 50ms: a change may have been made") {
		t.Errorf("exit %d, stderr %q", r.code, r.stderr)
	}
}

func TestEveryCallHasADeadlineOfTenSeconds(t *testing.T) {
	if g := newGroup(&cli.Env{}); g.node.Timeout != 10*time.Second {
		t.Errorf("timeout %s", g.node.Timeout)
	}
}

func TestInterruptedCallSaysThatAChangeMayStand(t *testing.T) {
	f := &fakeEdge{hang: true}
	s := at(f.serve(t))
	ctx, cancel := context.WithCancel(limited(t))
	go func() {
		defer cancel()
		for len(f.requests()) == 0 && ctx.Err() == nil {
			runtime.Gosched()
		}
	}()
	r := s.run(ctx, "confirm")
	if r.code != exit.Failed || !strings.Contains(r.stderr, "interrupted before catchment-edge on") {
		t.Errorf("exit %d, stderr %q", r.code, r.stderr)
	}
}

func TestInterruptEndsTheWaitForStdin(t *testing.T) {
	ctx, cancel := context.WithCancel(limited(t))
	r, w := io.Pipe()
	defer w.Close() // ends the reader that was left behind
	cancel()
	g := newGroup(&cli.Env{Stdin: r})
	_, err := g.readConfig(ctx, "-")
	if err == nil || !strings.Contains(err.Error(), "interrupted before the configuration was read") {
		t.Errorf("error %v", err)
	}
}
