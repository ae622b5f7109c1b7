package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/catchment-bgp/catchment/lab/netlab"
)

// GoBGP, which plays the neighbours of nodes, leaves these behind when it is stopped.
var (
	goBGP         = goleak.IgnoreAnyFunction("github.com/osrg/gobgp/v3/pkg/server.(*BgpServer).Serve")
	goBGPListener = goleak.IgnoreAnyFunction("github.com/osrg/gobgp/v3/pkg/server.newTCPListener.func2")
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goBGP, goBGPListener, goleak.Cleanup(func(code int) {
		netlab.RemoveBinaries()
		os.Exit(code)
	}))
}

func TestFlagsThatCannotBeObeyedAreUsage(t *testing.T) {
	config := filepath.Join(t.TempDir(), "central.yaml")
	if err := os.WriteFile(config, []byte("data: state\nservices: [{name: video, min_announcing: 2}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		args string
		code int
		text string
	}{
		{"", exitUsage, "--config FILE is needed"},
		{"--dev", exitUsage, "--dev needs --data FOLDER"},
		{"--dev --config x", exitUsage, "not both"},
		{"--config x --data d", exitUsage, "--data goes with --dev"},
		{"--config x y", exitUsage, `unexpected argument "y"`},
		{"--bogus", exitUsage, "flag provided but not defined"},
		{"--config /nonexistent/central.yaml", exitUsage, "no such file"},
		{"--dev --data d --listen 0.0.0.0:7179", exitUsage, "not loopback"},
		{"--dev --data d --http 192.0.2.1:7180", exitUsage, "not loopback"},
		{"--config " + config + " --check", exitDone, "OK"},
		{"--version", exitDone, "catchment-central dev"},
	} {
		var stdout, stderr bytes.Buffer
		code := run(strings.Fields(tt.args), &stdout, &stderr)
		if code != tt.code || !strings.Contains(stdout.String()+stderr.String(), tt.text) {
			t.Errorf("%q: exit %d, %s%s; want %d, %s", tt.args, code, stdout.String(), stderr.String(), tt.code, tt.text)
		}
	}
}

// freePort returns an address that nobody listens on just now.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// get asks until the centre answers.
func get(ctx context.Context, t *testing.T, url string) []byte {
	t.Helper()
	for {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := http.DefaultClient.Do(request)
		if err == nil {
			body, err := io.ReadAll(answer.Body)
			_ = answer.Body.Close() // it has been read
			if err != nil || answer.StatusCode != http.StatusOK {
				t.Fatalf("%s: %s, %v: %s", url, answer.Status, err, body)
			}
			return body
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			t.Fatalf("%s: %v", url, err)
		}
	}
}

func TestDevServesJSONOnLoopbackAndKeepsWhatWasSaid(t *testing.T) {
	binary, cli := netlab.Binary(t, "./cmd/catchment-central"), netlab.Binary(t, "./cmd/catchment")
	data, listen, web := t.TempDir(), freePort(t), freePort(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	defer http.DefaultClient.CloseIdleConnections()
	for round := range 2 {
		daemon := exec.CommandContext(ctx, binary, "--dev", "--data", data, "--listen", listen, "--http", web)
		var logs bytes.Buffer
		daemon.Stderr = &logs
		if err := daemon.Start(); err != nil {
			t.Fatal(err)
		}
		var nodes struct{ Nodes []any }
		if err := json.Unmarshal(get(ctx, t, "http://"+web+"/v1/nodes"), &nodes); err != nil || nodes.Nodes == nil || len(nodes.Nodes) != 0 {
			t.Errorf("nodes: %+v, %v", nodes, err)
		}
		out, err := exec.CommandContext(ctx, cli, "--central", listen, "node", "list", "-o", "json").Output()
		if err != nil || strings.TrimSpace(string(out)) != "[]" {
			t.Errorf("node list: %s, %v", out, err)
		}
		if round == 0 {
			if out, err := exec.CommandContext(ctx, cli, "--central", listen, "fleet", "freeze", "--reason", "test").CombinedOutput(); err != nil {
				t.Errorf("freeze: %s, %v", out, err)
			}
		} else if !bytes.Contains(get(ctx, t, "http://"+web+"/v1/fleet"), []byte(`"frozen":true`)) {
			t.Error("what was said is gone after the restart")
		}
		if !bytes.Contains(get(ctx, t, "http://"+web+"/metrics"), []byte("catchment_central_frozen")) {
			t.Error("no metrics")
		}
		if err := daemon.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if err := daemon.Wait(); err != nil {
			t.Errorf("the daemon ends with %v:\n%s", err, logs.String())
		}
	}
}
