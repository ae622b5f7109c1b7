package importer

import (
	"path/filepath"
	"testing"
)

func TestEachLayoutGivesWhatItExpectsAndNothingElse(t *testing.T) {
	files, err := filepath.Glob("testdata/layouts/*.txt")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d files, error %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			check(t, file, Auto)
		})
	}
}
