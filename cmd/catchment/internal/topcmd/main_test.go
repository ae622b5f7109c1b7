package topcmd

import (
	"context"
	"flag"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/protobuf/types/known/timestamppb"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
	edgev1 "github.com/catchment-bgp/catchment/api/edge/v1"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/centre"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/cli"
)

var rewrite = flag.Bool("update", false, "rewrite the golden files")

// asProgram has the test's binary be the command itself, for those tests that need a
// process of its own on a terminal of its own.
const asProgram = "CATCHMENT_TOP_TEST"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		code := run(ctx, cli.NewEnv(os.Stdin, os.Stdout, os.Stderr), os.Args[1:]...)
		stop()
		os.Exit(code)
	}
	goleak.VerifyTestMain(m)
}

func run(ctx context.Context, env *cli.Env, args ...string) int {
	client := centre.New()
	root := cli.Group("catchment", "", "", New(env, client))
	client.Flags(root, env.Getenv)
	return cli.Execute(ctx, env, root, append([]string{"top"}, args...))
}

// patience bounds every wait of these tests.
const patience = 20 * time.Second

// now is the time that the commands see.
var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func at(d time.Duration) *timestamppb.Timestamp { return timestamppb.New(now.Add(d)) }

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *rewrite {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
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

// theFleet has a node in each state.
func theFleet() *centralv1.FleetStatus {
	link := func(name string, load float64) *centralv1.LinkReport {
		return &centralv1.LinkReport{Name: name, Load: load * 1e10, Capacity: 1e10, Utilization: load, Known: true}
	}
	up := func(names ...string) (out []*centralv1.NeighborReport) {
		for _, n := range names {
			out = append(out, &centralv1.NeighborReport{Name: n, Session: "established"})
		}
		return out
	}
	service := func(state, reason, detail string) []*centralv1.ServiceReport {
		return []*centralv1.ServiceReport{{Name: "video", State: state, Reason: reason, Detail: detail, Since: at(-time.Hour)}}
	}
	return &centralv1.FleetStatus{
		At: at(0), Summary: "video: 2 of 5 nodes announce; msk2 is withdrawn for window w-1.", Connected: 4,
		Warnings: []string{"msk1 and spb1 have different MEDs towards AS 65001"},
		Grants:   []*centralv1.Grant{{Id: "g1", Node: "msk2", Service: "video", Kind: "window", Window: "w-1", State: "held"}},
		Nodes: []*centralv1.Node{
			{Name: "msk1", Site: "moscow", State: "announced", Reason: "normal", Connected: true, Asn: 57629, Version: "1.0", LastSeen: at(-time.Second),
				Links: []*centralv1.LinkReport{link("transit-a", 0.41), link("ix", 0.87)}, Sessions: up("a", "b"), Services: service("announced", "normal", ""),
				Tags: []*centralv1.Tag{{Value: "57629:101", Meaning: "Moscow"}}},
			{Name: "msk2", Site: "moscow", State: "withdrawn", Reason: "maintenance", Connected: true, Sessions: up("a"), Services: service("withdrawn", "maintenance", "window w-1"),
				Links: []*centralv1.LinkReport{link("transit-a", 0)}, Windows: []*centralv1.WindowReport{{Id: "w-1", Phase: "safe"}}},
			{Name: "spb1", Site: "spb", State: "steered", Reason: "load", Connected: true, Sessions: append(up("a"), &centralv1.NeighborReport{Name: "b", Session: "connect"}),
				Links: []*centralv1.LinkReport{{Name: "transit-a", Load: 9.7e9, Capacity: 1e10, Known: true, Target: 0.5}}, Services: service("steered", "load", "transit-a at 97%")},
			{Name: "東京1", Site: "東京", State: "announced", Reason: "normal", Connected: true, Sessions: up("a"), Services: service("announced", "normal", ""),
				Links: []*centralv1.LinkReport{{Name: "a", Load: 3e9, Capacity: 1e10, Known: true, Stale: true}}},
			{Name: "old", State: "unseen", Reason: "", Connected: false},
		},
	}
}

// theNode has a service that is dead at one of two neighbours.
func theNode() *edgev1.StatusResponse {
	used := 0.9
	return &edgev1.StatusResponse{Node: "msk1", Central: "connected", Version: "1.0", Started: at(-time.Hour), WayBack: &edgev1.WayBack{Required: true, Ipv4: "up", Ipv6: "down"},
		LoadMode: "pi", Services: []*edgev1.Service{{Name: "video", State: "steered", Reason: "load", Since: at(-time.Minute),
			Checks: []*edgev1.Check{{Name: "web", Up: true, Scope: "hard", Last: at(-time.Second)}, {Name: "origin", Scope: "soft", Error: "connection refused"}},
			Neighbors: []*edgev1.Neighbor{
				{Name: "transit-a", Session: "established", Rung: 1, Rungs: 4, Settled: true, State: "steered", Reason: "load", RungReason: "load over the target for 20s",
					Link: &edgev1.Link{Name: "transit-a", Utilization: &used}, LinkControl: "on", Routes: []*edgev1.Route{{Prefix: "198.51.100.0/24", NextHop: "10.77.1.1", Prepend: 1}}},
				{Name: "ix", Session: "connect", Settled: true, State: "announced", Reason: "normal", LastError: "connection refused"},
			}}}}
}

func clockOf() time.Time { return now }
