package edge

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os/user"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	edgev1 "github.com/catchment-bgp/catchment/api/edge/v1"
	"github.com/catchment-bgp/catchment/healthcheck"
)

// eventually waits until a condition holds; outside of a bubble only.
func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	poll := time.NewTicker(time.Millisecond)
	defer poll.Stop()
	for !holds() {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within 10 s", what)
		}
		<-poll.C
	}
}

// served is a node in real time, on which all is well, and a client of its socket.
func served(t *testing.T) (*world, edgev1.EdgeClient) {
	t.Helper()
	w := newWorld(t)
	listener, err := ListenControl(w.dir + "/edge.sock")
	if err != nil {
		t.Fatal(err)
	}
	w.start("leave_hold: 2s", "leave_hold: 500ms")
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- w.node.Serve(ctx, listener) }()
	conn, err := grpc.NewClient("unix://"+w.dir+"/edge.sock", grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		conn.Close()
		w.leave()
		<-w.node.Gone()
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	w.wellInTime()
	return w, edgev1.NewEdgeClient(conn)
}

// wellInTime is well outside of a bubble.
func (w *world) wellInTime() {
	w.t.Helper()
	checks := []string{"web", "origin", "resolver"}
	eventually(w.t, "the checks run", func() bool {
		return !slices.ContainsFunc(checks, func(c string) bool { return w.started(c) == 0 })
	})
	for _, c := range checks {
		w.report(c, "")
	}
	w.wayBack <- wellBack
	eventually(w.t, "announced", func() bool { return len(w.told("transit")) == 3 && len(w.told("ix")) == 2 })
}

// soon is a context for one request.
func soon(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func pick(services ...string) *edgev1.Selector { return &edgev1.Selector{Services: services} }

func TestErrorsHaveTheirCodes(t *testing.T) {
	w, client := served(t)
	file := func(edits ...string) *edgev1.ConfigFile {
		return &edgev1.ConfigFile{Name: "new.yaml", Content: []byte(w.text(append([]string{"leave_hold: 2s", "leave_hold: 500ms"}, edits...)...))}
	}
	override := func(r *edgev1.SetOverrideRequest) func() error {
		return func() error { _, err := client.SetOverride(soon(t), r); return err }
	}
	pinned := func(r *edgev1.SetPinRequest) func() error {
		return func() error { _, err := client.SetPin(soon(t), r); return err }
	}
	apply := func(r *edgev1.ApplyRequest) func() error {
		return func() error { _, err := client.Apply(soon(t), r); return err }
	}
	w.report("web", "refused")
	eventually(t, "withdrawn", func() bool { return len(w.told("ix")) == 0 })
	for _, tt := range []struct {
		name string
		call func() error
		code codes.Code
		text string
	}{
		{"no verb", override(&edgev1.SetOverrideRequest{Selector: pick("video"), Reason: "x"}), codes.InvalidArgument, "write drain, withdraw or announce"},
		{"no selector", override(&edgev1.SetOverrideRequest{Verb: "drain", Reason: "x"}), codes.InvalidArgument, "nothing is selected"},
		{"no reason", override(&edgev1.SetOverrideRequest{Selector: pick("video"), Verb: "drain"}), codes.InvalidArgument, "a reason is needed"},
		{"no time", override(&edgev1.SetOverrideRequest{Selector: pick("video"), Verb: "drain", Reason: "x", Duration: durationpb.New(0)}), codes.InvalidArgument, "--for 0s"},
		{"too long", override(&edgev1.SetOverrideRequest{Selector: pick("video"), Verb: "drain", Reason: "x", Duration: durationpb.New(1<<63 - 1)}), codes.InvalidArgument, "--for"},
		{"dead", override(&edgev1.SetOverrideRequest{Selector: pick("video"), Verb: "announce", Reason: "x"}), codes.FailedPrecondition, "--even-if-dead"},
		{"wrong number", override(&edgev1.SetOverrideRequest{Selector: &edgev1.Selector{All: true, Expect: 7}, Verb: "drain", Reason: "x"}), codes.FailedPrecondition, "expected: 7"},
		{"pin of nobody", pinned(&edgev1.SetPinRequest{Neighbor: "nobody", Rung: 1, Reason: "x"}), codes.InvalidArgument, "there is no neighbour"},
		{"pin on no rung", pinned(&edgev1.SetPinRequest{Neighbor: "transit", Rung: 9, Reason: "x"}), codes.InvalidArgument, "has no rung 9"},
		{"pin for no time", pinned(&edgev1.SetPinRequest{Neighbor: "transit", Rung: 1, Reason: "x", Duration: durationpb.New(0)}), codes.InvalidArgument, "--for 0s"},
		{"pin that withdraws", pinned(&edgev1.SetPinRequest{Neighbor: "transit", Rung: 3, Reason: "x"}), codes.FailedPrecondition, "load.allow_withdraw"},
		{"unpin of nobody", func() error {
			_, err := client.ClearPin(soon(t), &edgev1.ClearPinRequest{Neighbor: "nobody", Reason: "x"})
			return err
		}, codes.InvalidArgument, "there is no neighbour"},
		{"auto of nothing", func() error {
			_, err := client.ClearOverride(soon(t), &edgev1.ClearOverrideRequest{Reason: "x"})
			return err
		}, codes.InvalidArgument, "nothing is selected"},
		{"why of an unknown service", func() error { _, err := client.Why(soon(t), &edgev1.WhyRequest{Service: "vidoe"}); return err }, codes.InvalidArgument, `no service "vidoe"`},
		{"a plan of a broken file", func() error {
			_, err := client.Plan(soon(t), &edgev1.PlanRequest{Config: &edgev1.ConfigFile{Name: "new.yaml", Content: []byte("nodes: x")}})
			return err
		}, codes.InvalidArgument, "new.yaml:1: nodes: unknown key"},
		{"a plan for another node", func() error {
			_, err := client.Plan(soon(t), &edgev1.PlanRequest{Config: file("node: msk1", "node: msk2")})
			return err
		}, codes.InvalidArgument, "node cannot change"},
		{"no file at all", apply(&edgev1.ApplyRequest{}), codes.InvalidArgument, ""},
		{"no time to confirm", apply(&edgev1.ApplyRequest{Config: file(), ConfirmWithin: durationpb.New(-time.Second)}), codes.InvalidArgument, "--confirm-within -1s"},
		{"applied, to be confirmed", apply(&edgev1.ApplyRequest{Config: file(), ConfirmWithin: durationpb.New(time.Hour)}), codes.OK, ""},
		{"another before that", apply(&edgev1.ApplyRequest{Config: file()}), codes.FailedPrecondition, "confirm it or roll it back first"},
		{"rolled back", func() error { _, err := client.Rollback(soon(t), &edgev1.RollbackRequest{}); return err }, codes.OK, ""},
		{"nothing to confirm", func() error { _, err := client.Confirm(soon(t), &edgev1.ConfirmRequest{}); return err }, codes.InvalidArgument, "nothing waits"},
	} {
		err := tt.call()
		if status.Code(err) != tt.code || err != nil && !strings.Contains(err.Error(), tt.text) {
			t.Errorf("%s: %v, want %v %q", tt.name, err, tt.code, tt.text)
		}
	}
}

func TestWhoeverSaysAWordIsNamed(t *testing.T) {
	w, client := served(t)
	r, err := client.SetOverride(soon(t), &edgev1.SetOverrideRequest{
		Selector: &edgev1.Selector{Services: []string{"video"}, Neighbors: []string{"ix"}}, Verb: "drain", Reason: "circuit work", Duration: durationpb.New(time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	o := r.GetOverrides()[0]
	if want := fmt.Sprintf("%s (uid %s)", me.Username, me.Uid); o.GetBy() != want {
		t.Errorf("by %q, want %q", o.GetBy(), want)
	}
	if r.GetChanged() != 1 || o.GetVerb() != "drain" || o.GetNeighbor() != "ix" || o.GetReason() != "circuit work" || o.GetUntil().AsTime().Sub(o.GetSince().AsTime()) != time.Hour {
		t.Errorf("%v", r)
	}
	eventually(t, "drained", func() bool { return slices.Equal(w.told("ix"), []string{gshut(ix4), gshut(ix6)}) })
	cleared, err := client.ClearOverride(soon(t), &edgev1.ClearOverrideRequest{Selector: pick("video"), Reason: "done"})
	if err != nil || cleared.GetChanged() != 1 || len(cleared.GetOverrides()) != 0 {
		t.Errorf("%v, %v", cleared, err)
	}
}

func TestWatchSendsChangesOnlyAndEndsWithTheNode(t *testing.T) {
	w, client := served(t)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	stream, err := client.Watch(ctx, &edgev1.StatusRequest{})
	if err != nil {
		t.Fatal(err)
	}
	receive := func(want string) {
		t.Helper()
		s, err := stream.Recv()
		if err != nil {
			t.Fatal(err)
		}
		if got := s.GetServices()[0].GetState() + " " + s.GetServices()[0].GetDetail(); strings.TrimSpace(got) != want {
			t.Fatalf("received %q, want %q", got, want)
		}
	}
	receive("announced")
	probes := func(fault string) {
		for range 20 {
			was := w.snapshot().Checks["video"][0].Last
			w.report("web", fault)
			eventually(t, "the probe is seen", func() bool { return w.snapshot().Checks["video"][0].Last.After(was) })
		}
	}
	probes("")
	w.report("web", "refused")
	receive("withdrawn web: refused") // and nothing for the probes
	probes("refused")
	w.report("web", "timeout")
	receive("withdrawn web: timeout")
	w.leave()
	if _, err := stream.Recv(); status.Code(err) != codes.Unavailable {
		t.Errorf("when the node leaves: %v", err)
	}
	if _, err := client.Status(soon(t), &edgev1.StatusRequest{}); status.Code(err) != codes.Unavailable {
		t.Errorf("a request while it leaves: %v", err)
	}
}

func TestWhatChangesAtEveryProbeIsNoChange(t *testing.T) {
	up(t, func(t *testing.T, w *world) {
		was := w.snapshot().proto()
		w.pass(time.Second)
		w.probe("web", healthcheck.Status{Up: true, Decided: true})
		w.rest()
		is := w.snapshot().proto()
		if proto.Equal(was, is) || !proto.Equal(lasting(was), lasting(is)) {
			t.Errorf("%v\n%v", was, is)
		}
		w.report("web", "refused")
		w.rest()
		if proto.Equal(lasting(is), lasting(w.snapshot().proto())) {
			t.Error("a failure is no change")
		}
	})
}

func TestAWatcherDoesNotKeepTheLoopBusy(t *testing.T) {
	w, client := served(t)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	stream, err := client.Watch(ctx, &edgev1.StatusRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Recv(); err != nil {
		t.Fatal(err)
	}
	news := w.node.News()
	for range 100 {
		w.snapshot()
	}
	select {
	case <-news:
		t.Error("the loop decides again and again")
	default:
	}
}

func TestStatusWhyAndPlanTravel(t *testing.T) {
	w, client := served(t)
	s, err := client.Status(soon(t), &edgev1.StatusRequest{})
	if err != nil || s.GetNode() != "msk1" || len(s.GetServices()) != 2 {
		t.Errorf("%v, %v", s, err)
	}
	why, err := client.Why(soon(t), &edgev1.WhyRequest{})
	if err != nil || len(why.GetDecisions()) == 0 {
		t.Fatalf("%v, %v", why, err)
	}
	if d := why.GetDecisions()[0]; d.GetService() == "" || d.GetFrom() == "" || d.GetTo() != "announced (normal)" || len(d.GetInputs()) < 3 || d.GetAt() == nil {
		t.Errorf("%v", d)
	}
	plan, err := client.Plan(soon(t), &edgev1.PlanRequest{Config: &edgev1.ConfigFile{Content: []byte(w.text(
		dnsPart, "", `["57629:101"]`, `["57629:102"]`, "prefixes: [198.51.100.0/24, ", "prefixes: [198.51.100.0/24, 192.0.2.0/25, "))}})
	if err != nil {
		t.Fatal(err)
	}
	p := plan.GetNeighbors()[0]
	if p.GetName() != "transit" || p.GetSession() != "kept" || len(p.GetAnnounced()) != 1 || len(p.GetChanged()) != 2 || len(p.GetWithdrawn()) != 1 {
		t.Errorf("%v", p)
	}
	if c := p.GetChanged()[0]; c.GetFrom().GetCommunities()[0] != "57629:101" || c.GetTo().GetCommunities()[0] != "57629:102" {
		t.Errorf("%v", c)
	}
	if d := plan.GetDifferences(); !plan.GetCompared() || !slices.Contains(d, "services.video.prefixes: another list") || !slices.Contains(d, "services.dns: taken away") {
		t.Errorf("it differs in %q", d)
	}
	if same, err := client.Plan(soon(t), &edgev1.PlanRequest{Config: &edgev1.ConfigFile{Content: []byte(w.text("leave_hold: 2s", "leave_hold: 500ms"))}}); err != nil || !same.GetCompared() || len(same.GetDifferences()) != 0 {
		t.Errorf("the file in force differs in %q, %v", same.GetDifferences(), err)
	}
	if len(plan.GetWarnings()) == 0 {
		t.Error("a /25 is too long for the Internet, and no warning says so")
	}
}

func TestErrorsOfOtherKindsHaveCodesToo(t *testing.T) {
	for want, err := range map[codes.Code]error{
		codes.OK: nil, codes.Canceled: context.Canceled, codes.DeadlineExceeded: fmt.Errorf("x: %w", context.DeadlineExceeded),
		codes.Internal: errors.New("disk full"), codes.Unavailable: errLeaving,
	} {
		if got := status.Code(failed(err)); got != want {
			t.Errorf("%v: %v, want %v", err, got, want)
		}
	}
}

func TestACallerOverTCPIsNamedByItsAddress(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_, info, err := peerCredentials{}.ServerHandshake(c)
	if err != nil || info.(callerInfo) != callerInfo(l.Addr().String()) {
		t.Errorf("%v, %v", info, err)
	}
	if got := caller(context.Background()); got != "" {
		t.Errorf("a call from nowhere is by %q", got)
	}
}
