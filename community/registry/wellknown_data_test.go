//go:build data

package registry

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/catchment-bgp/catchment/community"
)

// The list of IANA's registry "BGP Well-known Communities" that stands with the data.
func TestDataTheWellKnownCommunitiesAreIANAs(t *testing.T) {
	file, err := os.Open(filepath.Join(os.Getenv("CATCHMENT_DATA"), "communities", "db", "well-known.tsv"))
	if err != nil {
		t.Fatalf("%v; set CATCHMENT_DATA to the folder of the data", err)
	}
	defer file.Close()
	have := map[string]Entry{}
	for _, e := range wellKnown() {
		have[e.Pattern.String()] = e
	}
	lines, n := bufio.NewScanner(file), 0
	for lines.Scan() {
		field := strings.Split(lines.Text(), "\t")
		if len(field) != 4 || field[0] == "value" {
			continue
		}
		n++
		v, err := community.Parse(field[0])
		if err != nil {
			t.Fatal(err)
		}
		bits, _ := v.Standard()
		e, ok := have[field[0]]
		if !ok || e.Source.File != field[3] || !strings.EqualFold(field[1], fmt.Sprintf("0x%08X", bits)) {
			t.Errorf("%v is here %+v", field, e)
		}
		name := strings.NewReplacer("_", " ", "-", " ").Replace(strings.ToLower(field[2]))
		if !strings.HasPrefix(strings.NewReplacer("_", " ", "-", " ").Replace(strings.ToLower(e.Meaning)), name) {
			t.Errorf("%s is called %q here, and %q there", field[0], e.Meaning, field[2])
		}
	}
	if n != len(have) {
		t.Errorf("%d communities there, %d here", n, len(have))
	}
}
