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
	found, others := map[string]int{}, map[string]int{}
	all, err := pages.Tree(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range all {
		for _, b := range p.Blocks() {
			if b.Lang != "yaml" || !strings.HasPrefix(b.Text, "node:") {
				if b.Lang == "yaml" {
					others[p.Path]++
				}
				continue
			}
			found[p.Path]++
			_, warnings, err := Parse(p.Path, []byte(b.Text), Options{Getenv: func(string) (string, bool) { return "secret", true }, ReadFile: os.ReadFile})
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
		// That of the centre shows a centre's file, and some show none.
		if name := "docs/howto/" + filepath.Base(path); found[name] == 0 && others[name] > 0 && name != "docs/howto/first-centre.md" {
			t.Errorf("%s shows no whole file", name)
		}
	}
}
