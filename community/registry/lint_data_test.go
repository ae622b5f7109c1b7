//go:build data

package registry_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/catchment-bgp/catchment/community/importer"
	"github.com/catchment-bgp/catchment/community/registry"
)

func TestDataTheClashesOfAnObjectAreTold(t *testing.T) {
	file, err := os.Open(filepath.Join(os.Getenv("CATCHMENT_DATA"), "communities", "derived", "d23-clashes.txt"))
	if err != nil {
		t.Fatalf("%v; set CATCHMENT_DATA to the folder of the data", err)
	}
	defer file.Close()
	got, err := importer.Read(file, "d23", importer.RPSL, importer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	told := map[registry.LintCode][]string{}
	for _, d := range registry.Lint(got.Entries, nil, registry.LintOptions{Problems: got.Problems}) {
		told[d.Code] = append(told[d.Code], d.Pattern)
	}
	for code, want := range map[registry.LintCode][]string{
		registry.Clash:    {"64519:100"},
		registry.Shadowed: {"64519:1xx", "64519:1x0", "64519:10-19"},
		registry.Overlap:  nil,
		registry.WideASN:  {"64519:70000", "70000:1", "64519:65536"},
	} {
		if len(told[code]) != len(want) {
			t.Errorf("%s: %v, want %v", code, told[code], want)
			continue
		}
		for i := range want {
			if told[code][i] != want[i] {
				t.Errorf("%s: %v, want %v", code, told[code], want)
			}
		}
	}
}
