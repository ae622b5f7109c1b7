//go:build data

package importer

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
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

// share reads every file of a folder and prints how many of the lines that hold a
// community gave an entry. All other ones must be named with a reason.
func share(t *testing.T, folder, glob string, f Format) (parsed, all int) {
	t.Helper()
	reasons := map[string]int{}
	for _, file := range dataFiles(t, folder, glob) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Read(bytes.NewReader(text), filepath.Base(file), f, Options{})
		if err != nil {
			t.Fatal(err)
		}
		entry, named := map[int]bool{}, map[int]bool{}
		for _, e := range got.Entries {
			entry[e.Source.Line] = true
		}
		for _, p := range got.Problems {
			named[p.Line] = true
			reasons[p.Reason]++
			t.Log(p)
		}
		for n := range entry {
			parsed++
			all++
			delete(named, n)
		}
		all += len(named)
		if f == NLNOG {
			everyLine(t, file, string(text), entry, named, got)
		}
	}
	return parsed, all
}

// everyLine checks that each line of an NLNOG file is an entry, a problem, or one that
// says again what another one has said.
func everyLine(t *testing.T, file, text string, entry, named map[int]bool, got Result) {
	t.Helper()
	said := map[string]bool{}
	for _, e := range got.Entries {
		said[e.Pattern.String()] = true
	}
	n := 0
	for l := range strings.Lines(text) {
		n++
		l = strings.TrimSpace(l)
		if l == "" || l[0] == '#' || entry[n] || named[n] {
			continue
		}
		value, _, _ := strings.Cut(l, ",")
		if p, err := nlnogPattern(value); err != nil || !said[p.String()] {
			t.Errorf("%s:%d: neither an entry nor a problem: %s", filepath.Base(file), n, l)
		}
	}
}

func TestDataEveryLineOfNLNOGIsReadOrNamed(t *testing.T) {
	parsed, all := share(t, "nlnog", "*.txt", NLNOG)
	t.Logf("nlnog: %d of %d lines read, %.2f %%", parsed, all, 100*float64(parsed)/float64(all))
	if parsed < all*99/100 {
		t.Errorf("%d of %d lines only", parsed, all)
	}
}

func TestDataNLNOGFilesAreFoundOut(t *testing.T) {
	for _, file := range dataFiles(t, "nlnog", "*.txt") {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if f := detect(text[:min(len(text), 64<<10)]); f != NLNOG {
			t.Errorf("%s was taken for %s", filepath.Base(file), f)
		}
	}
}

func TestDataObjectsOfTheWild(t *testing.T) {
	parsed, all := share(t, "autnum", "*.txt", Auto)
	t.Logf("autnum: %d of %d lines with a community read, %.2f %%", parsed, all, 100*float64(parsed)/float64(all))
	if parsed < all*9/10 {
		t.Errorf("%d of %d lines only", parsed, all)
	}
}

func TestDataPagesOfTheWild(t *testing.T) {
	parsed, all := share(t, "pages", "*", Auto)
	t.Logf("pages: %d of %d lines with a community read, %.2f %%", parsed, all, 100*float64(parsed)/float64(all))
	if parsed < all*9/10 {
		t.Errorf("%d of %d lines only", parsed, all)
	}
}
