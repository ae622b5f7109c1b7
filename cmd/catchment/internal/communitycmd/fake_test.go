package communitycmd

import (
	"bytes"
	"context"
	"flag"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/centre"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/cli"
)

var rewrite = flag.Bool("update", false, "rewrite the golden files")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds every wait of these tests.
const patience = 20 * time.Second

// fleet is a centre that knows nodes and their tags.
type fleet struct {
	centralv1.UnimplementedFleetServer
	nodes []*centralv1.Node
}

func (f *fleet) ListNodes(context.Context, *centralv1.ListNodesRequest) (*centralv1.ListNodesResponse, error) {
	return &centralv1.ListNodesResponse{Nodes: f.nodes}, nil
}

func someTags() []*centralv1.Node {
	since := timestamppb.New(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	tag := func(value, meaning string) *centralv1.Tag {
		return &centralv1.Tag{Value: value, Meaning: meaning, Since: since}
	}
	return []*centralv1.Node{
		{Name: "msk1", Asn: 57629, Tags: []*centralv1.Tag{tag("57629:101", "Moscow"), tag("57629:1:101", "Moscow, hall 2"), tag("57629:7", "anycast")}},
		{Name: "spb1", Asn: 57629, Tags: []*centralv1.Tag{tag("57629:102", "Санкт-Петербург"), tag("57629:7", "anycast")}},
	}
}

// serve starts the centre on loopback and returns its address.
func (f *fleet) serve(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer()
	centralv1.RegisterFleetServer(s, f)
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

// nowhere is an address where nobody listens.
func nowhere(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return l.Addr().String()
}

type result struct {
	code           int
	stdout, stderr string
}

// try runs a command in this process; words with blanks stand in single quotes.
func try(t *testing.T, stdin, line string) result {
	t.Helper()
	return tryClient(t, centre.New(), stdin, line)
}

func tryClient(t *testing.T, client *centre.Client, stdin, line string) result {
	t.Helper()
	var stdout, stderr bytes.Buffer
	e := &cli.Env{Stdin: strings.NewReader(stdin), Stdout: &stdout, Stderr: &stderr, Getenv: func(string) string { return "" }, Now: time.Now}
	root := cli.Group("catchment", "", "", New(e, client))
	client.Flags(root, e.Getenv)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var args []string
	for i, part := range strings.Split(line, "'") {
		if i%2 == 1 {
			args = append(args, part)
			continue
		}
		args = append(args, strings.Fields(part)...)
	}
	code := cli.Execute(ctx, e, root, append([]string{"community"}, args...))
	return result{code, stdout.String(), stderr.String()}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", "golden", name)
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

// temp writes a file and returns its path.
func temp(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
