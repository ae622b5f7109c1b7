package edgecmd

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	edgev1 "github.com/catchment-bgp/catchment/api/edge/v1"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/exit"
)

func TestTheTranscriptIsWrittenAsItCame(t *testing.T) {
	content := "{\"version\":1}\n\x00not text\n"
	s := at((&fakeEdge{script: &edgev1.TranscriptResponse{Content: []byte(content)}}).serve(t))
	if r := s.run(limited(t), "why", "--transcript", "-"); r.code != exit.OK || r.stdout != content {
		t.Errorf("to stdout: exit %d, %q", r.code, r.stdout)
	}
	file := filepath.Join(t.TempDir(), "t.json")
	if r := s.run(limited(t), "why", "--transcript", file); r.code != exit.OK || r.stdout != "" || !strings.Contains(r.stderr, file) {
		t.Errorf("to a file: exit %d, %q, %q", r.code, r.stdout, r.stderr)
	}
	if got, err := os.ReadFile(file); err != nil || string(got) != content {
		t.Errorf("the file: %q, %v", got, err)
	}
}

func TestATranscriptReplacesNoFile(t *testing.T) {
	file := configFileAt(t, "mine")
	r := at((&fakeEdge{script: &edgev1.TranscriptResponse{Content: []byte("new")}}).serve(t)).run(limited(t), "why", "--transcript", file)
	if got, _ := os.ReadFile(file); r.code != exit.Usage || string(got) != "mine" {
		t.Errorf("exit %d, stderr %q, the file has %q", r.code, r.stderr, got)
	}
}

func TestNoMoreDecisionsThanAskedForAreShown(t *testing.T) {
	s := at((&fakeEdge{why: someDecisions()}).serve(t))
	r := s.run(limited(t), "why", "-n", "2")
	if n := strings.Count(r.stdout, "ago)"); n != 2 || !strings.Contains(r.stdout, "rung 0 -> 2") || !strings.Contains(r.stdout, "withdrawn (hard_failure)") {
		t.Errorf("%d decisions:\n%s", n, r.stdout)
	}
}
