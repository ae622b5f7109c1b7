package importer_test

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/catchment-bgp/catchment/community/export"
	"github.com/catchment-bgp/catchment/community/importer"
	"github.com/catchment-bgp/catchment/community/registry"
)

// What was read from any layout is written as remarks and read again.
func TestRemarksThatAreWrittenAreReadAgain(t *testing.T) {
	files, err := filepath.Glob("testdata/layouts/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		first, err := importer.Read(bytes.NewReader(text), file, importer.Auto, importer.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var latin []registry.Entry
		for _, e := range first.Entries {
			if strings.Trim(e.Meaning, " !\"#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrstuvwxyz{|}~") == "" {
				latin = append(latin, e) // others cannot stand in the RIPE database
			}
		}
		var out bytes.Buffer
		if _, err := export.RPSL(&out, latin); err != nil {
			t.Fatal(err)
		}
		again, err := importer.Read(strings.NewReader("aut-num: AS64497\n"+out.String()), file, importer.RPSL, importer.Options{})
		if err != nil {
			t.Fatal(err)
		}
		read := map[string]registry.Entry{}
		for _, e := range again.Entries {
			read[e.Pattern.String()+" "+registry.Plain(e.Meaning)] = e
		}
		for _, e := range latin {
			got, ok := read[e.Pattern.String()+" "+registry.Plain(e.Meaning)]
			if !ok || got.Kind != e.Kind || !reflect.DeepEqual(got.Action, e.Action) || !reflect.DeepEqual(got.Legends, e.Legends) || !reflect.DeepEqual(got.Targets, e.Targets) {
				t.Errorf("%s: %+v\nbecame %+v\nin\n%s", file, e, got, out.String())
			}
		}
	}
}
