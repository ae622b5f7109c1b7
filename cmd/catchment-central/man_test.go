package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/catchment-bgp/catchment/internal/pages"
)

func TestTheManPageHasTheFlagsThatHelpShows(t *testing.T) {
	var stdout, stderr bytes.Buffer
	if code := run([]string{"-help"}, &stdout, &stderr); code != exitDone {
		t.Fatalf("exit code %d: %s", code, stderr.String())
	}
	var want, got []string
	for _, m := range regexp.MustCompile(`(?m)^  -(\S+) ?(.*)\n    \t(.*)$`).FindAllStringSubmatch(stderr.String(), -1) {
		want = append(want, m[1]+"|"+m[2]+"|"+m[3])
	}
	root, err := pages.Root()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, "cmd/catchment/internal/mancmd/catchment-central.8.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`(?m)^\*\*--([a-z-]+)\*\*(?: \*(.*)\*)?\n: (.*)$`).FindAllSubmatch(text, -1) {
		got = append(got, fmt.Sprintf("%s|%s|%s", m[1], m[2], m[3]))
	}
	if len(want) < 4 || fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
		t.Errorf("the flags are\n%q, -help shows\n%q", got, want)
	}
}
