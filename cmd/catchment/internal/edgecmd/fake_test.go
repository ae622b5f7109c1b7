package edgecmd

import (
	"bytes"
	"context"
	"flag"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	edgev1 "github.com/catchment-bgp/catchment/api/edge/v1"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/cli"
)

var rewrite = flag.Bool("update", false, "rewrite the golden files")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds every wait of these tests.
const patience = 10 * time.Second

// now is the time that the commands see.
var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// fakeEdge answers as it is told and remembers what it was asked.
type fakeEdge struct {
	edgev1.UnimplementedEdgeServer
	err    error                       // answers everything, when set
	hang   bool                        // answers nothing
	status *edgev1.StatusResponse      // nil: an empty one
	why    *edgev1.WhyResponse         // likewise
	plan   *edgev1.PlanResponse        // likewise
	over   *edgev1.OverrideResponse    // likewise
	apply  *edgev1.ApplyResponse       // likewise
	pins   *edgev1.PinResponse         // likewise
	script *edgev1.TranscriptResponse  // likewise
	watch  chan *edgev1.StatusResponse // closed: the stream ends
	mu     sync.Mutex
	asked  []proto.Message
}

func answer[M proto.Message](ctx context.Context, f *fakeEdge, request proto.Message, m M) (M, error) {
	f.mu.Lock()
	f.asked = append(f.asked, request)
	f.mu.Unlock()
	if f.hang {
		<-ctx.Done()
		return m, ctx.Err()
	}
	return m, f.err
}

func (f *fakeEdge) requests() []proto.Message {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]proto.Message(nil), f.asked...)
}

func (f *fakeEdge) Status(ctx context.Context, r *edgev1.StatusRequest) (*edgev1.StatusResponse, error) {
	return answer(ctx, f, r, orEmpty(f.status))
}

func (f *fakeEdge) Why(ctx context.Context, r *edgev1.WhyRequest) (*edgev1.WhyResponse, error) {
	return answer(ctx, f, r, orEmpty(f.why))
}

func (f *fakeEdge) SetOverride(ctx context.Context, r *edgev1.SetOverrideRequest) (*edgev1.OverrideResponse, error) {
	return answer(ctx, f, r, orEmpty(f.over))
}

func (f *fakeEdge) ClearOverride(ctx context.Context, r *edgev1.ClearOverrideRequest) (*edgev1.OverrideResponse, error) {
	return answer(ctx, f, r, orEmpty(f.over))
}

func (f *fakeEdge) SetPin(ctx context.Context, r *edgev1.SetPinRequest) (*edgev1.PinResponse, error) {
	return answer(ctx, f, r, orEmpty(f.pins))
}

func (f *fakeEdge) ClearPin(ctx context.Context, r *edgev1.ClearPinRequest) (*edgev1.PinResponse, error) {
	return answer(ctx, f, r, orEmpty(f.pins))
}

func (f *fakeEdge) Transcript(ctx context.Context, r *edgev1.TranscriptRequest) (*edgev1.TranscriptResponse, error) {
	return answer(ctx, f, r, orEmpty(f.script))
}

func (f *fakeEdge) Plan(ctx context.Context, r *edgev1.PlanRequest) (*edgev1.PlanResponse, error) {
	return answer(ctx, f, r, orEmpty(f.plan))
}

func (f *fakeEdge) Apply(ctx context.Context, r *edgev1.ApplyRequest) (*edgev1.ApplyResponse, error) {
	return answer(ctx, f, r, orEmpty(f.apply))
}

func (f *fakeEdge) Confirm(ctx context.Context, r *edgev1.ConfirmRequest) (*edgev1.ApplyResponse, error) {
	return answer(ctx, f, r, orEmpty(f.apply))
}

func (f *fakeEdge) Rollback(ctx context.Context, r *edgev1.RollbackRequest) (*edgev1.ApplyResponse, error) {
	return answer(ctx, f, r, orEmpty(f.apply))
}

func (f *fakeEdge) Watch(r *edgev1.StatusRequest, stream grpc.ServerStreamingServer[edgev1.StatusResponse]) error {
	if _, err := answer(stream.Context(), f, r, r); err != nil {
		return err
	}
	for {
		select {
		case m, open := <-f.watch:
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

func orEmpty[T any](m *T) *T {
	if m == nil {
		return new(T)
	}
	return m
}

// serve starts the fake on a socket and returns its path.
func (f *fakeEdge) serve(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "edge.sock")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer()
	edgev1.RegisterEdgeServer(s, f)
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	t.Cleanup(func() {
		s.Stop()
		if err := <-served; err != nil {
			t.Errorf("the fake server: %v", err)
		}
	})
	return path
}

// shell runs the command in this process.
type shell struct {
	env   map[string]string
	stdin string
	tty   bool
	tweak func(*group)
	out   io.Writer // nil: result.stdout
}

type result struct {
	code           int
	stdout, stderr string
}

func (s shell) run(ctx context.Context, args ...string) result {
	return s.exec(ctx, append([]string{"edge"}, args...))
}

// complete asks for proposals for the last of args, as a shell does.
func (s shell) complete(ctx context.Context, args ...string) result {
	return s.exec(ctx, append([]string{cobra.ShellCompRequestCmd, "edge"}, args...))
}

func (s shell) exec(ctx context.Context, args []string) result {
	var stdout, stderr bytes.Buffer
	env := &cli.Env{
		Stdin: strings.NewReader(s.stdin), Stdout: &stdout, Stderr: &stderr,
		Getenv: func(k string) string { return s.env[k] },
		Now:    func() time.Time { return now }, Terminal: s.tty,
	}
	if s.out != nil {
		env.Stdout = s.out
	}
	g := newGroup(env)
	if s.tweak != nil {
		s.tweak(g)
	}
	root := cli.Group("catchment", "", "", g.command())
	code := cli.Execute(ctx, env, root, args)
	return result{code, stdout.String(), stderr.String()}
}

// at is a shell whose commands speak to the socket at path.
func at(path string) shell {
	return shell{env: map[string]string{"CATCHMENT_EDGE": "unix://" + path}}
}

func limited(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *rewrite {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v (go test -update writes it)", err)
	}
	if got != string(want) {
		t.Errorf("%s differs (go test -update rewrites it).\ngot:\n%s\nwant:\n%s", file, got, want)
	}
}
