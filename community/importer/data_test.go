//go:build data

package importer

import (
	"os"
	"path/filepath"
	"testing"
)

func dataFiles(t *testing.T, folder, glob string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(os.Getenv("CATCHMENT_DATA"), "communities", folder, glob))
	if err != nil || len(files) == 0 {
		t.Fatalf("no files, error %v; set CATCHMENT_DATA to the folder of the data", err)
	}
	return files
}

func TestDataCatalogueGivesWhatItExpectsAndNothingElse(t *testing.T) {
	for _, file := range dataFiles(t, "derived", "d*.txt") {
		t.Run(filepath.Base(file), func(t *testing.T) {
			check(t, file, Auto)
		})
	}
}
