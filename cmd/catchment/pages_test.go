package main

import (
	"context"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/timestamppb"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
	"github.com/catchment-bgp/catchment/internal/pages"
	"github.com/catchment-bgp/catchment/lab/netlab"
)

// shellPages are the pages whose commands need nothing but a folder and the programs; and a centre, if nodes are named.
var shellPages = []struct {
	path  string
	nodes []string
	least int // so many commands
}{
	{"docs/howto/write-a-ladder.md", nil, 7},
	{"docs/howto/join-an-exchange.md", nil, 3},
	{"docs/howto/several-centres.md", nil, 4},
	{"docs/howto/plan-a-maintenance.md", []string{"msk1", "spb1", "ekb1"}, 8},
}

func TestPagesPrintWhatTheyShow(t *testing.T) {
	programs := filepath.Dir(netlab.Binary(t, "./cmd/catchment"))
	netlab.Binary(t, "./cmd/catchment-edge")
	netlab.Binary(t, "./cmd/catchment-central")
	for _, p := range shellPages {
		t.Run(filepath.Base(p.path), func(t *testing.T) {
			page, err := pages.Read(p.path)
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			dir := t.TempDir()
			shell, err := pages.NewShell(ctx, dir, programs)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = shell.Close() }() // the last command may have failed
			if p.nodes != nil {
				address := startCentre(t)
				announce(t, address, p.nodes)
				if _, _, err := shell.Do("export CATCHMENT_CENTRAL=" + address); err != nil {
					t.Fatal(err)
				}
			}
			looks := regexp.MustCompile(`fleet status|node list`)
			played, err := pages.Player{
				Page: page, Run: func(c pages.Command) (string, error) {
					out, err := shell.Run(c)
					return strings.ReplaceAll(out, dir, "/root"), err
				}, Write: shell.Write, Update: *rewriteHowto,
				Looks:    func(c pages.Command) bool { return looks.MatchString(c.Line) },
				Patience: howtoPatience, Pause: 100 * time.Millisecond, Settle: 2 * time.Second,
			}.Play(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if played < p.least {
				t.Errorf("%s has %d commands", p.path, played)
			}
		})
	}
}

// announce has nodes tell a centre that they announce video, with the circuit MSK-0042 at msk1, until the test ends.
func announce(t *testing.T, centre string, nodes []string) {
	t.Helper()
	conn, err := grpc.NewClient(centre, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	neighbors, up := int32(1), "up"
	for _, node := range nodes {
		stream, err := centralv1.NewEdgesClient(conn).Connect(t.Context(), grpc.WaitForReady(true))
		if err != nil {
			t.Fatal(err)
		}
		transit := &centralv1.EdgeNeighbor{Name: "transit", Asn: 65001, Kind: "transit", Labels: map[string]string{"circuit": node}}
		if node == "msk1" {
			transit.Labels["circuit"] = "MSK-0042"
		}
		now := timestamppb.Now()
		for _, m := range []*centralv1.EdgeMessage{
			{Hello: &centralv1.Hello{Node: node, Version: "v1.0.0", Asn: 57629, Neighbors: []*centralv1.EdgeNeighbor{transit},
				Services: []*centralv1.EdgeService{{Name: "video", Prefixes: []string{"198.51.100.0/24"}}}}},
			{Report: &centralv1.Report{Number: 1, Clock: now, ClockSynchronised: true,
				Services:  []*centralv1.ServiceReport{{Name: "video", State: "announced", Reason: "normal", Since: now, Hard: up, Neighbors: &neighbors}},
				Neighbors: []*centralv1.NeighborReport{{Name: "transit", Session: "established"}}}},
		} {
			if err := stream.Send(m); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := stream.Recv(); err != nil { // then the node is known
			t.Fatal(err)
		}
	}
}

func TestTheREADMEsCommunitiesPrintWhatItShows(t *testing.T) {
	readme, err := pages.Read("README.md")
	if err != nil {
		t.Fatal(err)
	}
	page, err := readme.Alone("What communities mean")
	if err != nil {
		t.Fatal(err)
	}
	shell, err := pages.NewShell(t.Context(), t.TempDir(), filepath.Dir(netlab.Binary(t, "./cmd/catchment")))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = shell.Close() }() // the last command may have failed
	shown := page.Blocks()[0].Commands()
	file, ok := strings.CutPrefix(shown[0].Line, "cat ")
	if !ok {
		t.Fatalf("the README begins with %q", shown[0].Line)
	}
	if err := shell.Write(file, shown[0].Output); err != nil {
		t.Fatal(err)
	}
	if n, err := (pages.Player{Page: page, Run: shell.Run}).Play(t.Context()); err != nil || n < 3 {
		t.Errorf("%d commands: %v", n, err)
	}
}
