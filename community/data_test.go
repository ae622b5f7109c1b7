//go:build data

package community

import (
	"bufio"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The files of NLNOG's looking glass hold what networks document, one
// "value,meaning" a line. Patterns such as 65001:1xx or 1-5:2 are no values, and
// are left out.
func TestDataEveryLiteralValueInTheWildIsReadAndPrintedAlike(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(os.Getenv("CATCHMENT_DATA"), "communities", "nlnog", "*.txt"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no files, error %v; set CATCHMENT_DATA to the folder of the data", err)
	}
	literal := regexp.MustCompile(`^((rt|ro|soo)[ :])?[0-9]+(:[0-9]+){1,2}$`)
	zeros := regexp.MustCompile(`(^|:)0[0-9]`)
	count := map[Kind]int{}
	for _, name := range files {
		file, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(file)
		for n := 1; lines.Scan(); n++ {
			text, _, _ := strings.Cut(lines.Text(), ",")
			if !literal.MatchString(text) {
				continue
			}
			text = strings.Replace(text, " ", ":", 1)
			v, err := Parse(text)
			if zeros.MatchString(text) {
				if err == nil || !strings.Contains(err.Error(), "has leading zeros; write ") {
					t.Errorf("%s:%d: %s was read as %v, error %v", filepath.Base(name), n, text, v, err)
				}
				continue
			}
			if want := strings.Replace(text, "soo:", "ro:", 1); err != nil || v.String() != want {
				t.Errorf("%s:%d: %s was read as %v, error %v", filepath.Base(name), n, text, v, err)
			}
			count[v.Kind()]++
		}
		if err := lines.Err(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := file.Close(); err != nil {
			t.Error(err)
		}
	}
	for _, k := range []Kind{Standard, Extended, Large} {
		if count[k] == 0 {
			t.Errorf("no %s community in the files", k)
		}
		t.Logf("%d %s", count[k], k)
	}
}
