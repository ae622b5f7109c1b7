package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/catchment-bgp/catchment/internal/pages"
)

const checkPage = "docs/howto/check-a-node.md"

// TestCheckANodePrintsWhatItShows runs the page's commands on its files. Which kernel
// settings it finds is this machine's affair, so the page leaves those out with "...":
// each line that it has must be printed, in that order.
func TestCheckANodePrintsWhatItShows(t *testing.T) {
	page, err := pages.Read(checkPage)
	if err != nil {
		t.Fatal(err)
	}
	text := page.Text("")
	for _, s := range page.Sections() {
		text += page.Text(s)
	}
	t.Chdir(t.TempDir())
	t.Setenv("CATCHMENT_EDGE", "")
	files := 0
	blocks := page.Blocks()
	for i, name := range []string{"edge.yaml", "vrps.csv", "irr.txt"} {
		if !strings.Contains(text, "in `"+name+"`:") && !strings.Contains(text, "In `"+name+"`:") || i >= len(blocks) {
			t.Fatalf("the page does not show %s", name)
		}
		if err := os.WriteFile(name, []byte(blocks[i].Text), 0o600); err != nil {
			t.Fatal(err)
		}
		files++
	}
	shown := 0
	for _, b := range blocks[files:] {
		if b.Lang != "console" {
			continue
		}
		command, want, _ := strings.Cut(strings.TrimPrefix(b.Text, "$ "), "\n")
		var stdout, stderr bytes.Buffer
		run(t.Context(), strings.Fields(command)[1:], strings.NewReader(""), &stdout, &stderr)
		rest := stdout.String()
		for line := range strings.Lines(want) {
			if line == "...\n" {
				continue
			}
			_, after, ok := strings.Cut(rest, figures.ReplaceAllString(line, "$1"))
			if !ok {
				t.Errorf("%s:%d: it prints no %q:\n%s%s", page.Path, b.Line, line, stdout.String(), stderr.String())
			}
			rest = after
		}
		shown++
	}
	if shown != 2 {
		t.Errorf("the page shows %d commands", shown)
	}
	noSecretIn(t, "msk1.tar.gz", "hunter22")
}

// figures of the bundle depend on what is installed.
var figures = regexp.MustCompile(`^(\S+\.tar\.gz: )\d+ files, .*\n`)

func noSecretIn(t *testing.T, file, secret string) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	r := tar.NewReader(z)
	for n := 0; ; n++ {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			if n < 5 {
				t.Errorf("%d files are in it", n)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil || bytes.Contains(text, []byte(secret)) {
			t.Errorf("%s has the secret (%v)", h.Name, err)
		}
	}
}
