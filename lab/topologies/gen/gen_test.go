package main

import (
	"os"
	"path/filepath"
	"testing"
)

const topologies = ".."

func TestTheFilesAreThoseThatGenWrites(t *testing.T) {
	written, err := all()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range written {
		got, err := os.ReadFile(filepath.Join(topologies, name))
		if err != nil || string(got) != want {
			t.Errorf("lab/topologies/%s is not what gen writes (%v); run go generate ./lab/topologies/gen", name, err)
		}
	}
	for _, name := range []string{"fleet", "national", "national-local"} {
		files, err := filepath.Glob(filepath.Join(topologies, name, "*"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s has no files (%v)", name, err)
		}
		for _, file := range files {
			if _, ok := written[filepath.Join(name, filepath.Base(file))]; !ok {
				t.Errorf("nothing needs lab/topologies/%s/%s", name, filepath.Base(file))
			}
		}
	}
}
