package importer

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/catchment-bgp/catchment/community"
	"github.com/catchment-bgp/catchment/community/registry"
)

// seed adds the layouts' files and some pieces.
func seed(f *testing.F, pieces ...string) {
	f.Helper()
	files, err := filepath.Glob("testdata/layouts/*.txt")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	for _, p := range pieces {
		f.Add(p)
	}
}

// sound checks what holds for any text: entries have a pattern that reads as itself, a
// meaning, a line of the text and a confidence, and an action only if that is their kind.
func sound(t *testing.T, text string, f Format) {
	r, err := Read(strings.NewReader(text), "fuzz.txt", f, Options{})
	if err != nil {
		if len(r.Entries)+len(r.InUse)+len(r.Problems) > 0 {
			t.Fatalf("error %v beside a result", err)
		}
		return
	}
	lines := strings.Count(text, "\n") + 1
	for _, e := range r.Entries {
		again, err := community.ParsePattern(e.Pattern.String())
		if err != nil || again.String() != e.Pattern.String() {
			t.Fatalf("pattern %q reads as %q, error %v", e.Pattern, again, err)
		}
		if e.Source.Line < 1 || e.Source.Line > lines || e.Meaning == "" || e.Confidence <= 0 || e.Confidence > 1 || e.Kind == "" {
			t.Fatalf("entry %+v", e)
		}
		if e.Action != nil && e.Kind != registry.KindAction {
			t.Fatalf("an action of kind %s: %+v", e.Kind, e)
		}
		if _, err := e.MarshalJSON(); err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range r.Problems {
		if p.Line < 1 || p.Line > lines || p.Reason == "" {
			t.Fatalf("problem %+v of %d lines", p, lines)
		}
	}
	registry.New(r.Entries...)
}

func FuzzRPSL(f *testing.F) {
	seed(f, "aut-num: AS1\nremarks: 1:2 x\n+ y\n", "remarks:\t(x=0)\n\n%\n")
	f.Fuzz(func(t *testing.T, text string) { sound(t, text, RPSL) })
}

func FuzzPage(f *testing.F) {
	seed(f, "| a | b |\n|---|---|\n| 64499:1 | x |\n", "<table><tr><td>64499:1<td>x</table>", "[a](b) &lt;ASN&gt; <ASN>")
	f.Fuzz(func(t *testing.T, text string) { sound(t, text, Page) })
}

func FuzzNLNOG(f *testing.F) {
	seed(f, "64499:1,x\n# y\nrt 1:2,z\n")
	f.Fuzz(func(t *testing.T, text string) { sound(t, text, NLNOG) })
}

func FuzzValues(f *testing.F) {
	seed(f, `{"community":{"string":"64499:1","list":["64499:1"]}}`, "BGP.community: (64499,1) (generic, 0x1, 0x2)", "Community: 64499:1 no-export", `[["rt","1","2"]]`)
	f.Fuzz(func(t *testing.T, text string) {
		found, problems := Values(strings.NewReader(text))
		lines := strings.Count(text, "\n") + 1
		for _, v := range found {
			again, err := community.Parse(v.Value.String())
			if err != nil || again != v.Value || v.Line < 1 || v.Line > lines || v.Text == "" {
				t.Fatalf("found %+v, read again as %v, error %v", v, again, err)
			}
		}
		for _, p := range problems {
			if p.Line < 0 || p.Line > lines || p.Reason == "" {
				t.Fatalf("problem %+v", p)
			}
		}
	})
}
