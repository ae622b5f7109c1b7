package export

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/catchment-bgp/catchment/community"
	"github.com/catchment-bgp/catchment/community/importer"
	"github.com/catchment-bgp/catchment/community/registry"
)

var update = flag.Bool("update", false, "write the golden files")

func pattern0(t testing.TB, text string) community.Pattern {
	t.Helper()
	p, err := community.ParsePattern(text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// fleet is what the golden files are made of.
func fleet(t testing.TB) []registry.Entry {
	t.Helper()
	var out []registry.Entry
	for i, row := range []struct {
		pattern string
		kind    registry.Kind
		meaning string
	}{
		{"64515:1xx", registry.KindInfo, "anycast node xx"},
		{"64515:103", registry.KindInfo, "Новосибирск, узел М9"},
		{"64515:101", registry.KindInfo, "Moscow node"},
		{"64515:2:NNN", registry.KindInfo, "announced towards upstream NNN"},
		{"64515:1:101", registry.KindInfo, "Moscow node | <b>&"},
		{"64515:65000", registry.KindAction, "withdraw soon: " + strings.Repeat("this text is long and goes on over several lines ", 3)},
		{"64515:30x", registry.KindAction, "prepend x times"},
		{"0:<peer ASN>", registry.KindAction, "do not announce to the AS"},
		{"64515:104", registry.KindInfo, "東京"},
		{"rt:64515:nnn", registry.KindUnknown, "of customer nnn"},
		{"64515:{7,9-11}", registry.KindUnknown, "laboratory"},
		{"64515:dec(Continent/3=210;Prepend/1=[1-5])", registry.KindAction, "prepend to Europe"},
	} {
		out = append(out, registry.Entry{Pattern: pattern0(t, row.pattern), Kind: row.kind, Meaning: row.meaning, Owner: 64515,
			Source: registry.Source{File: "tags", Line: i + 1}, Confidence: 1})
	}
	three := uint32(3)
	out[6].Action = &registry.Action{Verb: registry.Prepend, Var: "x"}
	out[6].Legends = []registry.Legend{{Var: "x", Digits: "9", Meaning: "do not announce", Action: &registry.Action{Verb: registry.NoExport}}, {Var: "x", Digits: "1-3", Meaning: "so many times"}}
	out[6].Targets = []registry.Target{{Kind: registry.Peers}}
	out[11].Name = "PREPEND-EU"
	out[11].Action = &registry.Action{Verb: registry.Prepend, Number: &three}
	out[11].Legends = []registry.Legend{{Var: "Continent", Digits: "210", Meaning: "Europe"}, {Var: "Prepend", Meaning: "*"}}
	return out
}

func TestTheFormatsAreAsTheGoldenFilesHaveThem(t *testing.T) {
	set := Set{ASN: 64515, Serial: 2026113001, Description: "Communities of Example"}
	for _, f := range []Format{FormatRPSL, FormatYANG, FormatNLNOG, FormatMarkdown, FormatJSON} {
		var out bytes.Buffer
		problems, err := Write(&out, f, fleet(t), set)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range problems {
			fmt.Fprintf(&out, "! %s\n", p)
		}
		name := filepath.Join("testdata", "fleet."+string(f))
		if *update {
			if err := os.WriteFile(name, out.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if out.String() != string(want) {
			t.Errorf("%s: got\n%s", name, &out)
		}
	}
	if _, err := Write(&bytes.Buffer{}, "xml", nil, Set{}); err == nil || !strings.Contains(err.Error(), "write rpsl, yang") {
		t.Errorf("an unknown format: %v", err)
	}
	if _, err := ParseFormat("yang"); err != nil {
		t.Error(err)
	}
}

func TestEveryFormatOfNothingIsValid(t *testing.T) {
	for _, f := range []Format{FormatRPSL, FormatYANG, FormatNLNOG, FormatMarkdown, FormatJSON} {
		var out bytes.Buffer
		if problems, err := Write(&out, f, nil, Set{}); err != nil || len(problems) > 0 {
			t.Errorf("%s: %v, %v", f, problems, err)
		}
		if f == FormatJSON && out.String() != "{\n  \"entries\": [],\n  \"problems\": []\n}\n" {
			t.Errorf("JSON of nothing is %s", &out)
		}
	}
}

// drawEntries draws entries of each form of pattern.
func drawEntries(t *rapid.T) []registry.Entry {
	patterns := rapid.SampledFrom([]string{"64515:%d", "64515:1%dxx", "64515:%d-60000", "64515:{%d,64000}", "64515:%d:<peer ASN>", "64515:%d:1xx", "rt:64515:%d",
		"0x40:0x08:64515:%d", "64515:dec(A/2=12;B/3=.*)", "64515:bin(A/8=00001111;B/8=1.*)", "64515:[1-4]+", "64515:%d:nnn", "64515:0xx", "64515:xxx", "64515:1*0"})
	words := rapid.SampledFrom([]string{"node", "Moscow", "Москва", "a,b", "64500:1", "x=1:", "|", "öäü", "--", "prepend", "\"q\"", "東京", strings.Repeat("w", 50), "#1"})
	var out []registry.Entry
	for i := range rapid.IntRange(0, 8).Draw(t, "entries") {
		text := patterns.Draw(t, "pattern")
		if strings.Contains(text, "%d") {
			text = fmt.Sprintf(text, rapid.IntRange(0, 99).Draw(t, "number"))
		}
		p, err := community.ParsePattern(text)
		if err != nil {
			t.Fatal(err)
		}
		e := registry.Entry{Pattern: p, Kind: rapid.SampledFrom([]registry.Kind{registry.KindInfo, registry.KindAction, registry.KindUnknown}).Draw(t, "kind"),
			Meaning: strings.Join(rapid.SliceOfN(words, 1, 12).Draw(t, "meaning"), " "), Owner: 64515, Source: registry.Source{File: "drawn", Line: i + 1}, Confidence: 0.5}
		if names := p.Names(); len(names) > 0 && rapid.Bool().Draw(t, "legend") {
			e.Legends = []registry.Legend{{Var: names[0], Digits: "1-3", Meaning: strings.Join(rapid.SliceOfN(words, 1, 9).Draw(t, "legend's"), " ")}}
		}
		out = append(out, e)
	}
	return out
}

// kept are the entries of which no problem was told.
func kept(entries []registry.Entry, problems []registry.Problem) []registry.Entry {
	lost := map[int]bool{}
	for _, p := range problems {
		lost[p.Line] = true
	}
	var out []registry.Entry
	for _, s := range sections(entries) {
		for _, e := range s.entries {
			if !lost[e.Source.Line] {
				out = append(out, e)
			}
		}
	}
	return out
}

// remark is an entry as a reader of the remarks has it.
type remark struct {
	pattern, meaning string
	kind             registry.Kind
	legends          []string
}

// readRemarks reads what RPSL writes, by its columns.
func readRemarks(t *rapid.T, text string) []remark {
	var out []remark
	var kind registry.Kind
	width := 0
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if utf8.RuneCountInString(line) > 80 || strings.ContainsFunc(line, func(r rune) bool { return r > 0xFF }) {
			t.Fatalf("a line of %d columns, or not Latin-1: %s", utf8.RuneCountInString(line), line)
		}
		body, ok := strings.CutPrefix(line, remarks)
		if !ok {
			body, ok = strings.CutPrefix(line, fold)
		}
		if !ok {
			t.Fatalf("no remark: %q", line)
		}
		rest := strings.TrimLeft(body, " ")
		blanks := len(body) - len(rest)
		head, meaning, both := strings.Cut(body, "  ")
		switch {
		case strings.Trim(body, "-") == "" && len(body) == room:
			width = 0
		case blanks == 0 && strings.HasSuffix(body, " BGP communities"):
			for _, title := range titles {
				if title.title == body {
					kind = title.kind
				}
			}
		case blanks == 0:
			out = append(out, remark{pattern: head, kind: kind, meaning: strings.TrimSpace(meaning)})
			if both {
				width = utf8.RuneCountInString(body) - utf8.RuneCountInString(strings.TrimSpace(meaning))
			}
		default:
			last := &out[len(out)-1]
			if width == 0 {
				width = blanks
			}
			switch n := len(last.legends); blanks - width {
			case 0:
				last.meaning = strings.TrimSpace(last.meaning + " " + rest)
			case 2:
				last.legends = append(last.legends, rest)
			case 4:
				last.legends[n-1] += " " + rest
			default:
				t.Fatalf("%d blanks, width %d: %q", blanks, width, line)
			}
		}
	}
	return out
}

func latin(text string) string {
	text, _ = registry.Latin1(text)
	return oneLine(text)
}

func TestRemarksAreReadBackAsTheyWereWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		entries := drawEntries(t)
		var out bytes.Buffer
		problems, err := RPSL(&out, entries)
		if err != nil {
			t.Fatal(err)
		}
		got, want := readRemarks(t, out.String()), kept(entries, problems)
		if len(got) != len(want) || strings.Contains(out.String(), "?") {
			t.Fatalf("%d entries of %d:\n%s", len(got), len(want), &out)
		}
		for i, e := range want {
			if text, _ := pattern(e); got[i].pattern != text || got[i].meaning != latin(e.Meaning) || got[i].kind != e.Kind || len(got[i].legends) != len(e.Legends) {
				t.Fatalf("%+v was %+v in\n%s", got[i], e, &out)
			}
			for j, l := range e.Legends {
				if got[i].legends[j] != latin(l.String()) {
					t.Fatalf("the legend %q was %+v", got[i].legends[j], l)
				}
			}
		}
		for _, p := range problems {
			texts := entries[p.Line-1].Meaning + fmt.Sprint(entries[p.Line-1].Legends)
			if !strings.Contains(texts, "東京") && !strings.Contains(texts, "wwww") && p.Reason != noSpelling {
				t.Fatalf("left out: %v", p)
			}
		}
	})
}

func TestNLNOGIsReadBackAsItWasWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		entries := drawEntries(t)
		var out bytes.Buffer
		problems, err := NLNOG(&out, entries)
		if err != nil {
			t.Fatal(err)
		}
		want := kept(entries, problems)
		for line := range strings.Lines(out.String()) {
			if strings.HasPrefix(line, "#") {
				continue
			}
			text, meaning, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ",")
			p, err := community.ParsePattern(text)
			if err != nil || len(want) == 0 {
				t.Fatalf("%s: %v", line, err)
			}
			if e := want[0]; !strings.HasPrefix(meaning, oneLine(e.Meaning)) || !p.Same(e.Pattern) {
				t.Fatalf("%q was %+v", line, e)
			}
			want = want[1:]
		}
		if len(want) > 0 {
			t.Fatalf("%v is not written", want)
		}
	})
}

func TestYANGIsValidAndReadBackAsItWasWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		entries := drawEntries(t)
		var out bytes.Buffer
		problems, err := YANG(&out, entries, Set{ASN: 64515, Serial: 1, URI: "https://example.net/c.json"})
		if err != nil || len(problems) > 0 {
			t.Fatal(problems, err)
		}
		got, problems, err := importer.ReadYANG(&out, "out.json", 0, time.Time{})
		if err != nil || len(problems) > 0 || len(got) != len(entries) {
			t.Fatalf("%d of %d, %v, %v", len(got), len(entries), problems, err)
		}
		for _, e := range got {
			var twin *registry.Entry
			for i, o := range entries {
				if o.Pattern.Same(e.Pattern) &&
					o.Kind == e.Kind && strings.HasPrefix(e.Meaning, o.Meaning) {
					twin = &entries[i]
				}
			}
			if twin == nil {
				t.Fatalf("%+v is of none of %v", e, entries)
			}
		}
	})
}

func TestYANGRefusesWhatTheModuleCannotCarry(t *testing.T) {
	for text, want := range map[string]string{
		"0:nnn":                  "neither private nor the AS of the set",
		"174:1":                  "global-admin is AS174",
		"6451x:1":                "not one AS",
		"nnn:1:2":                "not one AS",
		"64515:1[^a]":            "lack",
		"0x02:0x02:64515:1":      "",
		"0x02:0x02:64512:1":      "neither private",
		"4200000001:1:{1,2,5-9}": "",
		"rt:4200000001:nnn":      "",
	} {
		var out bytes.Buffer
		entry := registry.Entry{Pattern: pattern0(t, text), Meaning: "x", Source: registry.Source{Line: 7}}
		problems, err := YANG(&out, []registry.Entry{entry}, Set{ASN: 64515})
		switch {
		case err != nil:
			t.Error(err)
		case want == "" && len(problems) > 0:
			t.Errorf("%s is refused: %v", text, problems)
		case want != "" && (len(problems) != 1 || !strings.Contains(problems[0].Reason, want) || problems[0].Line != 7):
			t.Errorf("%s: %v, want %q", text, problems, want)
		}
		if _, problems, err := importer.ReadYANG(&out, "out", 0, time.Time{}); err != nil || len(problems) > 0 {
			t.Errorf("%s: the output breaks rules: %v, %v", text, problems, err)
		}
	}
}

func TestJSONLosesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		entries := drawEntries(t)
		var out bytes.Buffer
		if err := JSON(&out, entries); err != nil {
			t.Fatal(err)
		}
		var doc document
		if err := json.Unmarshal(out.Bytes(), &doc); err != nil {
			t.Fatal(err)
		}
		if ds := registry.Diff(entries, doc.Entries); len(ds) > 0 || len(doc.Entries) != len(entries) {
			t.Fatalf("%v", ds)
		}
		for i := range entries {
			want, _ := json.Marshal(entries[i])
			got, _ := json.Marshal(doc.Entries[i])
			if !bytes.Equal(want, got) {
				t.Fatalf("%s became %s", want, got)
			}
		}
	})
}

func TestRPSLSaysWhatItLeavesOut(t *testing.T) {
	for meaning, want := range map[string]string{
		"東京":                     "question marks",
		"":                       "no meaning",
		strings.Repeat("w", 100): "longer than a line",
		"bell \x07":              "question marks",
	} {
		var out bytes.Buffer
		problems, err := RPSL(&out, []registry.Entry{{Pattern: pattern0(t, "64515:1"), Meaning: meaning}})
		if err != nil || len(problems) != 1 || !strings.Contains(problems[0].Reason, want) || out.Len() > 0 {
			t.Errorf("%q: %v, %v, want %q; written %q", meaning, problems, err, want, &out)
		}
	}
	long := "64515:{" + strings.Repeat("1,", 40) + "2}"
	if problems, err := RPSL(&bytes.Buffer{}, []registry.Entry{{Pattern: pattern0(t, long), Meaning: "x"}}); err != nil || len(problems) != 1 {
		t.Errorf("%v, %v", problems, err)
	}
}

func TestMarkdownIsTextInItsCells(t *testing.T) {
	var out bytes.Buffer
	if err := Markdown(&out, fleet(t), Set{}); err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile(`^\| [^|]*(\\\|[^|]*)* \| [^|]*(\\\|[^|]*)* \|$`)
	for line := range strings.Lines(out.String()) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "|") && !row.MatchString(line) {
			t.Errorf("no row of two cells: %s", line)
		}
	}
	if strings.Contains(out.String(), "<b>") {
		t.Error("HTML of a meaning is HTML of the page")
	}
}

func TestNLNOGWritesALineOnce(t *testing.T) {
	var entries []registry.Entry
	for i, text := range []string{"64515:55:<peer ASN>", "64515:55:nnn", "64515:55:nnn"} {
		p, err := community.ParsePattern(text)
		if err != nil {
			t.Fatal(err)
		}
		entries = append(entries, registry.Entry{Pattern: p, Kind: registry.KindInfo, Meaning: []string{"learned there", "learned there", "learned elsewhere"}[i], Source: registry.Source{File: "drawn", Line: i + 1}})
	}
	var out bytes.Buffer
	problems, err := NLNOG(&out, entries)
	if err != nil {
		t.Fatal(err)
	}
	if len(problems) != 1 || problems[0].Line != 2 || problems[0].Reason != "the form writes it like 64515:55:<peer ASN>" {
		t.Errorf("left out: %v", problems)
	}
	want := "# Informational BGP communities\n64515:55:nnn,learned there\n64515:55:nnn,learned elsewhere\n"
	if out.String() != want {
		t.Errorf("written:\n%swant:\n%s", &out, want)
	}
}
