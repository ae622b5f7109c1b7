package edgecmd

import (
	"errors"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	edgev1 "github.com/catchment-bgp/catchment/api/edge/v1"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/exit"
)

func TestAnswersArePrinted(t *testing.T) {
	full := &fakeEdge{status: fullStatus(), why: someDecisions(), over: twoOverrides(),
		plan: &edgev1.PlanResponse{Neighbors: somePlan(), Warnings: []string{"203.0.113.0/24 has no VIP"},
			NeedsLeave: []*edgev1.Loss{{Service: "video", Prefixes: []string{"198.51.100.0/24"}, Vips: []string{"198.51.100.1/32"}}}},
		apply: &edgev1.ApplyResponse{Neighbors: somePlan(), Warnings: []string{"203.0.113.0/24 has no VIP"},
			RevertsAt: after(2 * time.Minute)},
		pins: &edgev1.PinResponse{Changed: true, Pins: somePins()}}
	unpinned := &fakeEdge{pins: &edgev1.PinResponse{Changed: true}}
	empty := &fakeEdge{}
	same := &fakeEdge{plan: &edgev1.PlanResponse{Neighbors: []*edgev1.NeighborPlan{{Name: "transit-a", Session: "kept"}}}}
	for _, tt := range []struct {
		name string
		f    *fakeEdge
		args string
	}{
		{"status", full, "status"},
		{"status_empty", empty, "status"},
		{"why", full, "why"},
		{"why_empty", empty, "why"},
		{"drain", full, "drain video --reason r"},
		{"auto_nothing", empty, "auto video dns --reason r"},
		{"auto_all", empty, "auto --all --expect 2 --reason r"},
		{"auto_rest", full, "auto video dns --neighbor transit-b --reason r"},
		{"pin", full, "pin transit-a 2 --reason r"},
		{"unpin", unpinned, "unpin transit-a --reason r"},
		{"unpin_nothing", empty, "unpin transit-a --reason r"},
		{"plan", full, "plan --config -"},
		{"plan_empty", empty, "plan --config -"},
		{"plan_same", same, "plan --config -"},
		{"apply", full, "apply --config - --confirm-within 2m"},
		{"confirm", empty, "confirm"},
		{"rollback", empty, "rollback"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := at(tt.f.serve(t))
			s.stdin = someConfig
			for _, format := range []string{"table", "json", "yaml"} {
				r := s.run(limited(t), append(split(tt.args), "-o", format)...)
				if r.code != exit.OK || r.stderr != "" {
					t.Errorf("%s: exit %d, stderr %q", format, r.code, r.stderr)
				}
				golden(t, tt.name+"."+format, r.stdout)
			}
		})
	}
}

func TestColourIsForTerminalsThatWantIt(t *testing.T) {
	s := at((&fakeEdge{status: fullStatus()}).serve(t))
	plain := s.run(limited(t), "status").stdout
	s.tty = true
	coloured := s.run(limited(t), "status").stdout
	golden(t, "status_coloured.table", coloured)
	s.env["NO_COLOR"] = "1"
	if got := s.run(limited(t), "status").stdout; got != plain {
		t.Errorf("with NO_COLOR:\n%s", got)
	}
	if strings.Contains(plain, "\x1b") {
		t.Errorf("escape sequences without a terminal:\n%q", plain)
	}
}

func TestNeighboursTextCannotReachTheTerminal(t *testing.T) {
	hostile := status.Error(codes.Internal, "peer said \x1b]0;owned\x07\r and\nmore")
	r := at((&fakeEdge{err: hostile}).serve(t)).run(limited(t), "status")
	if want := "catchment: peer said \\x1b]0;owned\\x07\\x0d and\nmore\n"; r.stderr != want {
		t.Errorf("stderr %q, want %q", r.stderr, want)
	}
}

func TestNodesCodeBecomesTheExitCode(t *testing.T) {
	for _, tt := range []struct {
		code codes.Code
		want int
		text string
	}{
		{codes.FailedPrecondition, exit.Refused, "catchment: refused by a safety rule: the text\n"},
		{codes.InvalidArgument, exit.Usage, "catchment: the text\n"},
		{codes.NotFound, exit.Usage, "catchment: the text\n"},
		{codes.Internal, exit.Failed, "catchment: the text\n"},
		{codes.Unimplemented, exit.Failed, "of another version than this program: the text\n"},
		{codes.Unavailable, exit.Failed, "ended the connection: the text\n"},
	} {
		s := at((&fakeEdge{err: status.Error(tt.code, "the text")}).serve(t))
		s.stdin = someConfig
		for _, verb := range []string{"status", "status --watch", "why", "drain video --reason r", "withdraw video --reason r",
			"announce video --reason r", "auto video --reason r", "pin a 1 --reason r", "unpin a --reason r", "why --transcript -", "plan --config -", "apply --config -", "confirm", "rollback"} {
			r := s.run(limited(t), split(verb)...)
			if r.code != tt.want || !strings.HasSuffix(r.stderr, tt.text) || r.stdout != "" {
				t.Errorf("%s with %v: exit %d, stdout %q, stderr %q", verb, tt.code, r.code, r.stdout, r.stderr)
			}
		}
	}
}

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

func TestAnswerThatCannotBeWrittenIsAFailure(t *testing.T) {
	f := &fakeEdge{status: fullStatus(), watch: make(chan *edgev1.StatusResponse, 1)}
	f.watch <- fullStatus()
	s := at(f.serve(t))
	s.out = brokenPipe{}
	for _, args := range []string{"status", "status -o json", "status -o yaml", "confirm", "why", "status --watch"} {
		r := s.run(limited(t), split(args)...)
		if r.code != exit.Failed || !strings.Contains(r.stderr, "no space left on device") {
			t.Errorf("%s: exit %d, stderr %q", args, r.code, r.stderr)
		}
	}
}
