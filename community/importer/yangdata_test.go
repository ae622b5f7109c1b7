//go:build data

package importer

import (
	"bufio"
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/catchment-bgp/catchment/community"
	"github.com/catchment-bgp/catchment/community/registry"
)

// The draft's own examples: what its parser says of each value.
func TestDataTheDraftsExamplesAreExplainedAsItSays(t *testing.T) {
	dir := filepath.Join(os.Getenv("CATCHMENT_DATA"), "draft-yang")
	wants, err := filepath.Glob(filepath.Join(dir, "examples-*.out"))
	if err != nil || len(wants) == 0 {
		t.Fatalf("no files, error %v; set CATCHMENT_DATA to the folder of the data", err)
	}
	for _, name := range wants {
		base := strings.TrimSuffix(name, ".out")
		text, err := os.ReadFile(base + ".json")
		if err != nil {
			t.Fatal(err)
		}
		entries, problems, err := ReadYANG(bytes.NewReader(text), filepath.Base(base)+".json", 0, time.Time{})
		if err != nil || len(problems) > 0 {
			t.Fatalf("%s: %v, %v", base, problems, err)
		}
		values, err := os.Open(base + ".txt")
		if err != nil {
			t.Fatal(err)
		}
		defer values.Close()
		var got strings.Builder
		lines := bufio.NewScanner(values)
		for lines.Scan() {
			text, _, _ := strings.Cut(lines.Text(), "#")
			if text = strings.TrimSpace(text); text == "" {
				continue
			}
			v, err := community.Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			got.WriteString(registry.DraftLine(entries, v) + "\n")
		}
		want, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if got.String() != string(want) {
			t.Errorf("%s: got\n%s\nwant\n%s", filepath.Base(name), got.String(), want)
		}
	}
}
