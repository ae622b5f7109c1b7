//go:build data

package communitycmd

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/catchment-bgp/catchment/lab/netlab"
)

// imported is what the built command reads of some files.
func imported(t *testing.T, program string, files []string) document {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, append([]string{"community", "import", "-o", "json"}, files...)...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil || stderr.Len() > 0 {
		t.Fatalf("%s: %v, %s", files, err, stderr.String())
	}
	var d document
	if err := json.Unmarshal(stdout.Bytes(), &d); err != nil || d.Entries == nil || d.Problems == nil {
		t.Fatalf("%s: %v, %.200s", files, err, stdout.String())
	}
	return d
}

// place is a line of a file.
type place struct {
	file string
	line int
}

// told are the lines that an answer says something of.
func told(t *testing.T, d document, files []string) map[place]bool {
	t.Helper()
	out := map[place]bool{}
	for _, e := range d.Entries {
		out[place{e.File, e.Line}] = true
		if e.Pattern == "" || !slices.Contains(files, e.File) || e.Line < 1 || e.Confidence <= 0 || e.Confidence > 1 {
			t.Errorf("%+v", e)
		}
	}
	for _, p := range d.Problems {
		out[place{p.File, p.Line}] = true
		if p.Reason == "" || !slices.Contains(files, p.File) || p.Line < 1 {
			t.Errorf("%+v", p)
		}
	}
	return out
}

func TestDataEveryFileIsImportedOrSaysWhyNot(t *testing.T) {
	t.Cleanup(netlab.RemoveBinaries)
	program := netlab.Binary(t, "./cmd/catchment")
	root := filepath.Join(os.Getenv("CATCHMENT_DATA"), "communities")
	for _, folder := range []string{"autnum", "derived", "nlnog", "pages"} {
		files, err := filepath.Glob(filepath.Join(root, folder, "*"))
		files = slices.DeleteFunc(files, func(file string) bool { return strings.HasSuffix(file, ".tsv") }) // what is expected, and which files are others again
		if err != nil || len(files) == 0 {
			t.Fatalf("no files in %s, error %v; set CATCHMENT_DATA to the folder of the data", folder, err)
		}
		d := imported(t, program, files)
		understood := told(t, d, files)
		t.Logf("%s: %d files, %d entries, %d problems: %.1f %% understood", folder, len(files), len(d.Entries), len(d.Problems),
			100*float64(len(d.Entries))/float64(max(1, len(d.Entries)+len(d.Problems))))
		if folder == "nlnog" {
			everyLine(t, files, understood)
		}
	}
}

// everyLine wants each line that is no comment to be an entry or a problem.
func everyLine(t *testing.T, files []string, told map[place]bool) {
	t.Helper()
	lines := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		no := 0
		for line := range strings.Lines(string(text)) {
			no++
			if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
				continue
			}
			if lines++; !told[place{file, no}] {
				t.Errorf("%s:%d: neither an entry nor a problem: %s", file, no, line)
			}
		}
	}
	t.Logf("nlnog: %d lines, each an entry or a problem", lines)
}
