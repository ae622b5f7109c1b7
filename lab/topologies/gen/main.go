// Command gen writes the topologies of lab/topologies that are too large to be
// written by hand, each with the configurations of its nodes.
//
// Nothing goes in but its own tables; out come files below the folder that is its
// one argument. Files that it does not write it does not touch. A test fails when
// the files in the repository are not those that it would write.
package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
)

//go:generate go run . ..

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: gen lab/topologies")
		os.Exit(2)
	}
	files, err := all()
	if err != nil {
		fail(err)
	}
	for name, text := range files {
		file := filepath.Join(os.Args[1], name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			fail(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			fail(err)
		}
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "gen:", err)
	os.Exit(1)
}

// all is what the topologies consist of, by the names of the files.
func all() (map[string]string, error) {
	files := map[string]string{}
	for _, t := range []*topology{newFleet(), newNational(true), newNational(false)} {
		if t.problem != nil {
			return nil, t.problem
		}
		maps.Copy(files, t.output())
	}
	return files, nil
}
