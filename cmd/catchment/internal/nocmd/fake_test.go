package nocmd

import (
	"bytes"
	"context"
	"flag"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/centre"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/cli"
)

var rewrite = flag.Bool("update", false, "rewrite the golden files")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds every wait of these tests.
const patience = 10 * time.Second

// now is the time that the commands see.
var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func at(d time.Duration) *timestamppb.Timestamp { return timestamppb.New(now.Add(d)) }

// fakeCentre answers as it is told, by the name of the method, and remembers what
// it was asked.
type fakeCentre struct {
	answers map[string]proto.Message
	err     error
	mu      sync.Mutex
	asked   []proto.Message
}

// handle serves every method of the API.
func (f *fakeCentre) handle(_ any, stream grpc.ServerStream) error {
	full, _ := grpc.MethodFromServerStream(stream)
	name := full[strings.LastIndex(full, "/")+1:]
	request, ok := requests[name]
	if !ok {
		return status.Errorf(codes.Unimplemented, "the test has no request for %s", name)
	}
	m := proto.Clone(request)
	if err := stream.RecvMsg(m); err != nil {
		return err
	}
	f.mu.Lock()
	f.asked = append(f.asked, m)
	f.mu.Unlock()
	if f.err != nil {
		return f.err
	}
	return stream.SendMsg(f.answers[name])
}

// requests are the messages that the methods take.
var requests = map[string]proto.Message{
	"ListNodes": &centralv1.ListNodesRequest{}, "GetNode": &centralv1.GetNodeRequest{}, "TagNode": &centralv1.TagNodeRequest{},
	"UntagNode": &centralv1.UntagNodeRequest{}, "SetNode": &centralv1.SetNodeRequest{}, "CreateJoinToken": &centralv1.CreateJoinTokenRequest{},
	"AddWindow": &centralv1.AddWindowRequest{}, "ListWindows": &centralv1.ListWindowsRequest{}, "GetWindow": &centralv1.GetWindowRequest{},
	"EndWindow": &centralv1.EndWindowRequest{}, "CancelWindow": &centralv1.CancelWindowRequest{}, "ImportWindows": &centralv1.ImportWindowsRequest{},
	"ConfirmWindow": &centralv1.ConfirmWindowRequest{}, "GetFleet": &centralv1.GetFleetRequest{}, "ListFleetOverrides": &centralv1.ListFleetOverridesRequest{}, "Freeze": &centralv1.FreezeRequest{},
	"Thaw": &centralv1.ThawRequest{}, "ListGrants": &centralv1.ListGrantsRequest{}, "RevokeGrant": &centralv1.RevokeGrantRequest{},
	"Plan": &centralv1.PlanRequest{}, "History": &centralv1.HistoryRequest{}, "ListAudit": &centralv1.ListAuditRequest{},
	"VerifyAudit": &centralv1.VerifyAuditRequest{}, "SetFleetOverride": &centralv1.SetFleetOverrideRequest{},
	"ClearFleetOverride": &centralv1.ClearFleetOverrideRequest{}, "Backup": &centralv1.BackupRequest{},
	"CreateWebLogin": &centralv1.CreateWebLoginRequest{},
}

// serve starts the fake on loopback and returns its address.
func (f *fakeCentre) serve(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer(grpc.UnknownServiceHandler(f.handle))
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	t.Cleanup(func() {
		s.Stop()
		if err := <-done; err != nil {
			t.Errorf("the fake server: %v", err)
		}
	})
	return l.Addr().String()
}

// last is what was asked last.
func (f *fakeCentre) last(t *testing.T) proto.Message {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.asked) == 0 {
		t.Fatal("nothing was asked")
	}
	return f.asked[len(f.asked)-1]
}

type result struct {
	code           int
	stdout, stderr string
}

// try runs a command in this process.
func try(t *testing.T, stdin string, args ...string) result {
	t.Helper()
	var stdout, stderr bytes.Buffer
	env := &cli.Env{Stdin: strings.NewReader(stdin), Stdout: &stdout, Stderr: &stderr, Getenv: func(string) string { return "" }, Now: func() time.Time { return now }}
	client := centre.New()
	root := cli.Group("catchment", "", "", New(env, client)...)
	client.Flags(root, env.Getenv)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	code := cli.Execute(ctx, env, root, args)
	return result{code, stdout.String(), stderr.String()}
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

func someNode() *centralv1.Node {
	return &centralv1.Node{Name: "msk1", Site: "moscow", State: "steered", Reason: "load", Version: "v0.2.0", Connected: true, Asn: 57629, LastSeen: at(-3 * time.Second),
		Generation: 41, WantedGeneration: 42, NotUnderstood: []string{"window w-7: zone \"Lab/Newtown\x1b[2J\" is not known"}, Tags: []*centralv1.Tag{{Value: "57629:101", Meaning: "Moscow\x1b[2J", Shared: true, Since: at(-time.Hour), By: "noc/anna"},
			{Value: "57629:102", Meaning: "hall 2", Since: at(0), By: "noc/anna", After: at(9 * time.Minute)}},
		Services: []*centralv1.ServiceReport{{Name: "video", State: "steered", Reason: "load", Detail: "transit-a at 0.91", Since: at(-time.Minute), Hard: "up", Neighbors: proto.Int32(2)}},
		Links:    []*centralv1.LinkReport{{Name: "transit-a", Load: 9.1e9, Capacity: 10e9, Utilization: 0.91, Known: true}},
		Windows:  []*centralv1.WindowReport{{Id: "w-1", Phase: "draining", Since: at(-time.Second)}}}
}

func someWindow() *centralv1.Window {
	return &centralv1.Window{Id: "w-abcdefgh", Selector: &centralv1.Selector{Nodes: []string{"msk1"}, Services: []string{"video"}}, Start: at(time.Hour), Zone: "Europe/Moscow",
		LocalStart: "2026-03-01 16:00", Duration: durationpb.New(2 * time.Hour), Lead: durationpb.New(5 * time.Minute), Rrule: "FREQ=WEEKLY", Reason: "line card", Ticket: "T-7",
		By: "noc/anna", Created: at(0), State: "scheduled", NextStart: at(time.Hour), NextEnd: at(3 * time.Hour), Nodes: []string{"msk1"},
		Provider: &centralv1.Provider{Name: "example.com", MaintenanceId: "WO-1", Objects: []string{"C-1"}, Impact: "OUTAGE", Status: "CONFIRMED", Lacks: []string{"SEQUENCE"}},
		Progress: []*centralv1.WindowProgress{{Node: "msk1", Phase: "safe", Detail: "nothing is announced"}}}
}

func someFleet() *centralv1.FleetStatus {
	return &centralv1.FleetStatus{At: at(0), Frozen: true, FrozenReason: "backbone", Connected: 1, Summary: "video: 1 of 2 nodes announce, spb1 is away for window w-1; the fleet is frozen: backbone.",
		Services: []*centralv1.FleetService{{Name: "video", MinAnnouncing: 1, MaxWithdrawn: 0.5, Announcing: 1, Nodes: 2, Capacity: 10e9, Load: 9.1e9, WithdrawnCapacity: 0.5}},
		Grants:   someGrants(), Nodes: []*centralv1.Node{someNode(), {Name: "spb1", State: "unseen", Disabled: true}},
		Views: []*centralv1.OutsideView{{Name: "transit-a-rr", Connected: true, Since: at(-time.Hour), Router: "rr1", Peers: 3, Complete: []string{"ipv4", "ipv6"}, Sees: []string{"msk1", "spb1"}},
			{Name: "transit-b", Since: at(-time.Minute), Reason: "the router closed the connection", Sees: []string{"msk1"}}},
		Overrides: []*centralv1.FleetOverride{{Id: "o-1", Verb: "drain", Selector: &centralv1.Selector{Sites: []string{"spb"}}, Reason: "fire", By: "noc/anna", Until: at(time.Hour)}},
		Warnings:  []string{"AS 65001 hears no MED from msk1, MED 50 from spb1"}}
}

func someGrants() []*centralv1.Grant {
	return []*centralv1.Grant{{Id: "win-1", Node: "spb1", Service: "video", Kind: "window", Window: "w-1", State: "held", Issued: at(-time.Minute),
		Ttl: durationpb.New(time.Minute), Revision: 12, OverrideSafety: true}}
}
