package export

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/catchment-bgp/catchment/community"
	"github.com/catchment-bgp/catchment/community/importer"
	"github.com/catchment-bgp/catchment/community/registry"
)

// drawPlain draws entries that say by their words what they are, as ours do.
func drawPlain(t *rapid.T) []registry.Entry {
	patterns := rapid.SampledFrom([]string{"64515:%d", "64515:1%dxx", "64515:%d-60000", "64515:{%d,64000}", "64515:%d:<peer ASN>", "64515:%d:1xx", "rt:64515:%d",
		"64515:[1-4]+", "64515:%d:nnn", "64515:dec(City/3=2%d;Kind/1=[1-5])"})
	words := rapid.SampledFrom([]string{"Moscow", "Москва", "a, b", "Frankfurt", "öäü", "city", "Berlin", "AS174", "level", "foo"})
	var out []registry.Entry
	seen := map[string]bool{}
	for i := range rapid.IntRange(0, 8).Draw(t, "entries") {
		text := patterns.Draw(t, "pattern")
		if strings.Contains(text, "%d") {
			text = fmt.Sprintf(text, rapid.IntRange(10, 99).Draw(t, "number"))
		}
		p, err := community.ParsePattern(text)
		if err != nil {
			t.Fatal(err)
		}
		if seen[text] {
			continue
		}
		seen[text] = true
		kind, head := registry.KindInfo, "learned at "
		if rapid.Bool().Draw(t, "action") {
			kind, head = registry.KindAction, "do not announce to "
		}
		out = append(out, registry.Entry{Pattern: p, Kind: kind, Meaning: head + strings.Join(rapid.SliceOfN(words, 1, 9).Draw(t, "meaning"), " "),
			Owner: 64515, Source: registry.Source{File: "drawn", Line: i + 1}, Confidence: 1})
	}
	return out
}

func TestTheImporterReadsTheExportAndVerifyIsClean(t *testing.T) {
	for _, f := range []Format{FormatRPSL, FormatNLNOG, FormatYANG} {
		t.Run(string(f), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				entries := drawPlain(t)
				var out bytes.Buffer
				if f == FormatRPSL {
					out.WriteString("aut-num:        AS64515\nas-name:        EXAMPLE\n")
				}
				problems, err := Write(&out, f, entries, Set{ASN: 64515})
				if err != nil {
					t.Fatal(err)
				}
				if f == FormatRPSL {
					out.WriteString("source:         RIPE\n")
				}
				text := out.String()
				got, err := importer.Read(&out, "back", importer.Format(f), importer.Options{Owner: 64515})
				if err != nil || len(got.Problems) > 0 {
					t.Fatalf("%v, %v\n%s", err, got.Problems, text)
				}
				want := kept(entries, problems)
				if f == FormatNLNOG { // which has no kinds
					for i := range want {
						want[i].Kind = registry.KindUnknown
					}
				}
				if ds := registry.Verify(got.Entries, want); len(ds) > 0 {
					t.Fatalf("%v\n%s", ds, text)
				}
			})
		})
	}
}

func TestVerifyNamesTheLineThatWasChanged(t *testing.T) {
	entries := fleet(t)[:3]
	var out bytes.Buffer
	out.WriteString("aut-num:        AS64515\n")
	if _, err := RPSL(&out, entries); err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(out.String(), "Novosibirsk", "Krasnoyarsk", 1) + "source: RIPE\n"
	got, err := importer.Read(strings.NewReader(text), "published.txt", importer.RPSL, importer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ds := registry.Verify(got.Entries, entries)
	if len(ds) != 1 || ds[0].Code != registry.Wrong || ds[0].Pattern != "64515:103" || !strings.Contains(ds[0].String(), "(published.txt:6; tags:2)") {
		t.Errorf("%v", ds)
	}
}
