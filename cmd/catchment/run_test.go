package main

import (
	"bytes"
	"os"
	"runtime"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/catchment-bgp/catchment/cmd/catchment/internal/exit"
)

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
	}
	goleak.VerifyTestMain(m)
}

func try(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(t.Context(), args, strings.NewReader(""), &out, &errs)
	return code, out.String(), errs.String()
}

func TestVersionIsData(t *testing.T) {
	code, stdout, stderr := try(t, "version")
	if want := "catchment dev " + runtime.Version() + " "; code != exit.OK || !strings.HasPrefix(stdout, want) || stderr != "" {
		t.Errorf("exit %d, stdout %q, stderr %q", code, stdout, stderr)
	}
	if code, flagged, stderr := try(t, "--version"); code != exit.OK || flagged != stdout || stderr != "" {
		t.Errorf("--version: exit %d, stdout %q, stderr %q", code, flagged, stderr)
	}
	if code, _, stderr := try(t, "version", "now"); code != exit.Usage || !strings.Contains(stderr, "takes no argument") {
		t.Errorf("exit %d, stderr %q", code, stderr)
	}
}

func TestEdgeIsReachedThroughTheRoot(t *testing.T) {
	code, stdout, stderr := try(t, "edge", "status", "--edge", "unix:///nonexistent/edge.sock")
	if code != exit.Failed || stdout != "" || !strings.Contains(stderr, "catchment: there is no socket /nonexistent/edge.sock") {
		t.Errorf("exit %d, stdout %q, stderr %q", code, stdout, stderr)
	}
	if code, _, stderr := try(t); code != exit.Usage || !strings.Contains(stderr, "needs a command: audit, central, community, completion, demo, doctor, edge, fleet, health, lab, maintenance, node, pki, sim, support-bundle, top, version, web") {
		t.Errorf("exit %d, stderr %q", code, stderr)
	}
}
