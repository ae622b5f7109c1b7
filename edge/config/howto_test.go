package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/catchment-bgp/catchment/internal/pages"
)

// A block that begins with a node is a whole file.
func TestWholeFilesInTheDocumentationAreAccepted(t *testing.T) {
	root, err := pages.Root()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]int{}
	all, err := pages.Tree(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range all {
		dir := t.TempDir() // with the other files that the page shows
		for _, b := range p.Blocks() {
			if b.File != "" && b.Lang != "yaml" {
				if err := os.WriteFile(filepath.Join(dir, filepath.Base(b.File)), []byte(b.Text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}
		for _, b := range p.Blocks() {
			if b.Lang != "yaml" || !strings.HasPrefix(b.Text, "node:") {
				continue
			}
			found[p.Path]++
			_, warnings, err := Parse(p.Path, []byte(b.Text), Options{Getenv: func(string) (string, bool) { return "secret", true }, ReadFile: os.ReadFile, Dir: dir})
			if err != nil {
				t.Errorf("%s:%d: %v", p.Path, b.Line, err)
			}
			for _, w := range warnings {
				// A /32 within a site is what some examples are about.
				if !strings.Contains(w.String(), "which most networks drop") {
					t.Errorf("%s:%d: %s", p.Path, b.Line, w)
				}
			}
		}
	}
	howtos, err := filepath.Glob(filepath.Join(root, "docs/howto/*.md"))
	if err != nil || len(howtos) == 0 {
		t.Fatalf("%v, %v", howtos, err)
	}
	for _, path := range howtos {
		// Those that are about an edge node and nothing else.
		base := filepath.Base(path)
		node := base == "first-node.md" || strings.HasPrefix(base, "from-")
		if name := "docs/howto/" + base; node && found[name] == 0 {
			t.Errorf("%s shows no whole file", name)
		}
	}
}
