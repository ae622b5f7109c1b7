package registry

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/catchment-bgp/catchment/community"
)

// lines are entries of AS 64519, one a line: PATTERN MEANING.
func lines(t testing.TB, text string) []Entry {
	t.Helper()
	var out []Entry
	for i, line := range strings.Split(strings.TrimSpace(text), "\n") {
		p, meaning, _ := strings.Cut(line, " ")
		out = append(out, Entry{Pattern: pattern(t, p), Kind: KindInfo, Meaning: meaning, Owner: 64519, Source: Source{File: "d.txt", Line: i + 1}, Confidence: 1})
	}
	return out
}

// told is what Lint says, without words.
func told(defects []Defect) string {
	var out []string
	for _, d := range defects {
		s := fmt.Sprintf("%d %s %s %s", d.At.Line, d.Level, d.Code, d.Pattern)
		if d.Other != nil {
			s += fmt.Sprintf(" %d", d.Other.Line)
		}
		out = append(out, s)
	}
	return strings.Join(out, "\n")
}

// quiet leaves out what depends on more than meanings.
var quiet = LintOptions{Without: []LintCode{NoYANG}}

func TestLintTellsClashesFromRepetitionsAndFromExceptions(t *testing.T) {
	defects := Lint(lines(t, `
64519:100 learned from customer
64519:100 learned from transit
64519:1xx learned in Europe
64519:1x0 learned at an exchange
64519:10-19 lab
64519:15 production
64519:200 Peer route
64519:200   peer  route.
64519:007 leading zeros
64519:7 no leading zeros
64519:1x5 fives
64519:11x tens
64519:2[0-9][0-9] two hundreds
64519:2xx 200 to 299
64519:0 originated
64519:65535 last`), nil, quiet)
	want := strings.TrimSpace(`
2 error clash 64519:100 1
3 note shadowed 64519:1xx 4
4 note shadowed 64519:1x0 1
5 note shadowed 64519:10-19 6
10 error clash 64519:7 9
12 warning overlap 64519:11x 4
12 warning overlap 64519:11x 11
13 note shadowed 64519:2[0-9][0-9] 7
14 error clash 64519:2xx 13
14 note shadowed 64519:2xx 7`)
	if got := told(defects); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	for _, d := range defects {
		if d.Words == "" || !strings.Contains(d.String(), "d.txt:") {
			t.Errorf("%+v", d)
		}
	}
}

func TestLintTellsWhatCannotBeCarried(t *testing.T) {
	entries := lines(t, `
64519:1 Москва
64519:2 東京
0:nnn do not announce
174:990 as AS174 has it
64519:3 plain
64519:4xx node x`)
	entries[5].Legends = []Legend{{Var: "xx", Digits: "1", Meaning: "one"}, {Var: "y", Digits: "1", Meaning: "two"}, {Var: "y", Digits: "2", Meaning: "three"}}
	entries[5].Action, entries[5].Kind = &Action{Verb: Prepend, Var: "n"}, KindAction
	want := strings.TrimSpace(`
1 warning no-latin1 64519:1
2 warning no-latin1 64519:2
3 note no-yang 0:nnn
4 warning foreign-asn 174:990
4 note no-yang 174:990
6 error no-variable 64519:4xx
6 error no-variable 64519:4xx`)
	if got := told(Lint(entries, nil, LintOptions{})); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestLintComparesWithWhatIsInUse(t *testing.T) {
	entries := lines(t, "64519:1 one\n64519:2xx twos\n64519:3 three")
	var inUse []Use
	for i, text := range []string{"64519:1", "64519:217", "64519:9", "64519:9", "65535:666", "64519:4-5"} {
		inUse = append(inUse, Use{pattern(t, text), Source{File: "table", Line: i + 1}})
	}
	want := strings.TrimSpace(`
3 note unused 64519:3
3 warning undocumented 64519:9
6 warning undocumented 64519:4-5`)
	if got := told(Lint(entries, inUse, quiet)); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestLintTellsOfASNsThatDoNotFit(t *testing.T) {
	entries := lines(t, "65000:nnn do not announce to nnn\n65001:nnn prepend to nnn")
	for i, verb := range []Verb{NoExport, Prepend} {
		entries[i].Kind, entries[i].Action, entries[i].Targets = KindAction, &Action{Verb: verb}, []Target{{Kind: AS, Var: "nnn"}}
	}
	twin := lines(t, "64519:1:nnn prepend to nnn")[0]
	twin.Action, twin.Source.Line = &Action{Verb: Prepend}, 3
	problems := []Problem{{"d.txt", 9, "remarks: 70000:1 impossible first half, not 1:70000:2", "out of range"}, {"d.txt", 10, "12:30 - 13:45", "a time"}}
	want := strings.TrimSpace(`
1 note wide-asn 65000:nnn
9 error wide-asn 70000:1`)
	defects := Lint(append(entries, twin), nil, LintOptions{Without: []LintCode{NoYANG}, Problems: problems})
	if got := told(defects); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := defects[1].Words; !strings.Contains(got, "70000:0:1") {
		t.Errorf("no advice in %q", got)
	}
}

func TestLintTellsOfAPatternWhoseValuesAllHaveEntries(t *testing.T) {
	text := "64519:7-9 these\n64519:9 nine\n64519:7 seven\n64519:7 Seven.\n64519:8 these"
	want := "1 warning shadowed 64519:7-9 3"
	if got := told(Lint(lines(t, text), nil, quiet)); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	want = "1 note shadowed 64519:7-9 2"
	if got := told(Lint(lines(t, strings.TrimSuffix(text, "\n64519:8 these")), nil, quiet)); got != want && got != "1 note shadowed 64519:7-9 3" {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestValuesOfATypeAreExplained(t *testing.T) {
	r := New(lines(t, "0x00:0x08:64519:bin(A/16=0*;B/16=.*) bits\n0x42:0x08:4200000001:dec(A=.*) stays")...)
	for text, want := range map[string]string{"0x00:0x08:64519:7": "bits", "0x42:0x08:4200000001:7": "stays", "0x40:0x08:64519:7": ""} {
		got := ""
		for _, m := range r.Explain(value(t, text)) {
			got += m.Meaning
		}
		if got != want {
			t.Errorf("%s is explained %q, want %q", text, got, want)
		}
	}
}

func TestLintObeysThePublishedOrderOfYANG(t *testing.T) {
	entries := lines(t, "64519:dec(A/1=1;B/2=.*) all\n64519:dec(A/1=1;B/2=07) seven\n64519:dec(A=200) two hundred")
	want := "2 warning shadowed 64519:dec(A/1=1;B/2=07) 1"
	if got := told(Lint(entries, nil, LintOptions{})); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestLintOfNothingIsAnEmptyList(t *testing.T) {
	for _, v := range []any{Lint(nil, nil, LintOptions{}), Diff(nil, nil), Verify(nil, nil)} {
		if text, err := json.Marshal(v); err != nil || string(text) != "[]" {
			t.Errorf("%s, %v", text, err)
		}
	}
	text, err := json.Marshal(Lint(lines(t, "64519:1 one\n64519:1 two"), nil, LintOptions{}))
	const want = `[{"code":"clash","level":"error","pattern":"64519:1","text":"\"two\" here, and \"one\" there; one value has one meaning","file":"d.txt","line":2,"other":{"file":"d.txt","line":1}}]`
	if err != nil || string(text) != want {
		t.Errorf("%s, %v\nwant %s", text, err, want)
	}
}

// many are entries of one owner: values, templates, ranges and placeholders.
func many(t testing.TB, n int) []Entry {
	t.Helper()
	out := make([]Entry, 0, n)
	for i := range n {
		text := fmt.Sprintf("64519:%d:%d", i%300, i)
		switch i % 10 {
		case 0:
			text = fmt.Sprintf("64519:%d:%dxx", i%300, i+100)
		case 1:
			text = fmt.Sprintf("64519:%d:%d-%d", i%300, i, i+2000)
		case 2:
			text = fmt.Sprintf("64519:%d:<ASN>", i)
		case 3:
			text = fmt.Sprintf("64519:[0-9]*%d:%d", i%10, i)
		}
		out = append(out, Entry{Pattern: pattern(t, text), Kind: KindInfo, Meaning: fmt.Sprint("meaning ", i), Owner: 64519, Source: Source{File: "many", Line: i + 1}})
	}
	return out
}

func TestLintComparesAnEntryWithThoseAroundItOnly(t *testing.T) {
	for _, n := range []int{100, 1000, 10000} {
		l := &linter{entries: many(t, n)}
		l.pairs()
		if l.compared > n*mostAround || l.compared == 0 || n > 100 && len(l.defects) == 0 {
			t.Errorf("of %d entries %d pairs were compared, %d defects", n, l.compared, len(l.defects))
		}
	}
}

func BenchmarkVerify10000(b *testing.B) {
	entries := many(b, 10000)
	for b.Loop() {
		Verify(entries, entries)
	}
}

func BenchmarkLint10000(b *testing.B) {
	entries := many(b, 10000)
	for b.Loop() {
		Lint(entries, nil, LintOptions{})
	}
}

func TestDiffAndVerify(t *testing.T) {
	a := lines(t, "64519:1 Moskva\n64519:2 two\n64519:3 three\n64519:007 seven\n64519:4 four\n64519:4 vier")
	b := lines(t, "64519:5 five\n64519:1 Москва.\n64519:2 two too\n64519:7 seven\n64519:4 vier\n64519:4 four")
	a[1].Kind = KindUnknown
	got := func(ds []Difference) string {
		var out []string
		for _, d := range ds {
			out = append(out, string(d.Code)+" "+d.Pattern)
			if d.Words == "" || !strings.Contains(d.String(), "d.txt:") {
				t.Errorf("%+v", d)
			}
		}
		return strings.Join(out, ", ")
	}
	if got, want := got(Diff(a, b)), "changed 64519:1, changed 64519:2, removed 64519:3, added 64519:5"; got != want {
		t.Errorf("Diff: %s, want %s", got, want)
	}
	if got, want := got(Verify(a, b)), "wrong 64519:2, stale 64519:3, missing 64519:5"; got != want {
		t.Errorf("Verify: %s, want %s", got, want)
	}
	if ds := Verify(lines(t, "64519:1xx x\n0:<AS> y\nrt:64519:nnn z"), lines(t, "64519:100-199 x\n0:nnn y\n0x00:0x02:64519:dec(A=.*) z")); len(ds) != 0 {
		t.Errorf("other spellings differ: %v", ds)
	}
	if ds := Verify(a, a); len(ds) != 0 {
		t.Errorf("the same differs: %v", ds)
	}
	text, err := json.Marshal(Verify(a[:1], nil))
	if err != nil || !strings.HasPrefix(string(text), `[{"code":"stale","pattern":"64519:1","text":"Moskva","a":{"pattern":"64519:1"`) || !strings.HasSuffix(string(text), `"b":null}]`) {
		t.Errorf("%s, %v", text, err)
	}
	one, two := uint32(1), uint32(2)
	x, y := a[0], a[0]
	x.Kind, x.Action, y.Kind, y.Action = KindAction, &Action{Verb: Prepend, Number: &one}, KindAction, &Action{Verb: Prepend, Number: &two}
	if ds := Verify([]Entry{x}, []Entry{y}); len(ds) != 1 || !strings.Contains(ds[0].Words, "prepend 1, ours prepend 2") {
		t.Errorf("another number of prepends: %v", ds)
	}
}

func TestLatin1KeepsWhatItHasAndTransliteratesCyrillic(t *testing.T) {
	for text, want := range map[string]string{
		"Москва, узел М9": "Moskva, uzel M9",
		"Санкт-Петербург": "Sankt-Peterburg",
		"Щёлково ЩИТ":     "Shchyolkovo SHCHIT",
		"Київ — вузол":    "Kiyiv - vuzol",
		"«Zürich» é × ½":  "«Zürich» é × ½",
		"“a” … ’b’":       `"a" ... 'b'`,
		"a\tb":            "a b",
	} {
		if got, odd := Latin1(text); got != want || len(odd) > 0 {
			t.Errorf("%s is %s, %q, want %s", text, got, odd, want)
		}
	}
	if got, odd := Latin1("東京 東\x01"); got != "東京 東\x01" || string(odd) != "東京\x01" {
		t.Errorf("%q, %q", got, odd)
	}
}

func TestDraftLineOfOtherPatternsShowsTheirVariables(t *testing.T) {
	entries := []Entry{{Pattern: pattern(t, "6451x:1NN"), Kind: KindInfo, Meaning: "node"}, {Pattern: pattern(t, "64519:7"), Name: "SEVEN"}}
	for text, want := range map[string]string{
		"64519:107": "64519:107 - 6451x:1NN/informational (64519:x=9:NN=07)",
		"64519:7":   "64519:7 - SEVEN (64519:)",
		"rt:1:2":    "0x00:0x02:1:2 - Unknown",
	} {
		if got := DraftLine(entries, value(t, text)); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	var zero community.Value
	if got := DraftLine(entries, zero); got != " - Unknown" {
		t.Errorf("the zero value is %q", got)
	}
}
