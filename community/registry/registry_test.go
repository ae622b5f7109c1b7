package registry

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/catchment-bgp/catchment/community"
)

func pattern(t testing.TB, text string) community.Pattern {
	t.Helper()
	p, err := community.ParsePattern(text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func value(t testing.TB, text string) community.Value {
	t.Helper()
	v, err := community.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func num(n uint32) *uint32 { return &n }

// carrier documents what the accounts tell of: prepends by digit and towards an AS.
func carrier(t testing.TB) []Entry {
	t.Helper()
	return []Entry{
		{Pattern: pattern(t, "65001:1101x"), Kind: KindAction, Action: &Action{Verb: Prepend, Var: "x"}, Owner: 65001, Confidence: 1,
			Targets: []Target{{Kind: AS, ASN: 174, Name: "North Carrier"}}, Meaning: "North Carrier AS174",
			Legends: []Legend{{Var: "x", Digits: "1-3", Meaning: "number of prepends"}, {Var: "x", Digits: "0", Meaning: "do not announce", Action: &Action{Verb: NoExport}}}},
		{Pattern: pattern(t, "6501n:<ASN>"), Kind: KindAction, Action: &Action{Verb: Prepend, Var: "n"}, Owner: 65001, Confidence: 0.9,
			Targets: []Target{{Kind: AS, Var: "<ASN>"}}, Meaning: "prepend n times to <ASN>"},
		{Pattern: pattern(t, "65001:5n:<ASN>"), Kind: KindAction, Action: &Action{Verb: Prepend, Var: "n"}, Owner: 65001, Confidence: 0.9,
			Targets: []Target{{Kind: AS, Var: "<ASN>"}}, Meaning: "prepend n times to <ASN>"},
		{Pattern: pattern(t, "65001:70"), Kind: KindAction, Action: &Action{Verb: LocalPref, Number: num(70)}, Owner: 65001, Confidence: 1, Meaning: "local preference 70"},
		{Pattern: pattern(t, "65001:3000"), Kind: KindAction, Action: &Action{Verb: NoExport}, Owner: 65001, Confidence: 1, Targets: []Target{{Kind: Peers}}, Meaning: "not to peers"},
		{Pattern: pattern(t, "65001:4xx"), Kind: KindInfo, Owner: 65001, Confidence: 1, Meaning: "learned in region xx"},
		{Pattern: pattern(t, "65001:41x"), Kind: KindInfo, Owner: 65001, Confidence: 1, Meaning: "learned in Moscow"},
		{Pattern: pattern(t, "65001:415"), Kind: KindInfo, Owner: 65001, Confidence: 1, Meaning: "learned at M9"},
		{Pattern: pattern(t, "65001:415"), Kind: KindInfo, Owner: 64999, Confidence: 1, Meaning: "seen at M9, another says"},
	}
}

func TestTheBestExplanationIsFirst(t *testing.T) {
	r := New(carrier(t)...)
	for v, want := range map[string][]string{
		"65001:415":      {"learned at M9", "seen at M9, another says", "learned in Moscow", "learned in region xx"},
		"65001:455":      {"learned in region xx"},
		"65001:11012":    {"North Carrier AS174; x = 2: number of prepends"},
		"65001:11010":    {"North Carrier AS174; x = 0: do not announce"},
		"65013:6939":     {"prepend n times to <ASN>"},
		"65535:0":        {"GRACEFUL_SHUTDOWN: prefer any other path, this one goes away soon"},
		"65001:9":        nil,
		"65001:52:64500": {"prepend n times to <ASN>"},
	} {
		var got []string
		for _, m := range r.Explain(value(t, v)) {
			got = append(got, m.Meaning)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", v, got, want)
		}
	}
	m := r.Explain(value(t, "65013:6939"))[0]
	if m.Action.Verb != Prepend || *m.Action.Number != 3 || m.Targets[0].ASN != 6939 {
		t.Errorf("the numbers are not put in: %+v, %+v", m.Action, m.Targets)
	}
	if m := r.Explain(value(t, "65001:11010"))[0]; m.Action.Verb != NoExport {
		t.Errorf("the legend's action is not taken: %+v", m.Action)
	}
}

func TestFindAnswersWithTheValueToSend(t *testing.T) {
	r := New(carrier(t)...)
	as := func(n uint32) Target { return Target{Kind: AS, ASN: n} }
	for _, c := range []struct {
		query Query
		want  string
	}{
		{Query{65001, Prepend, 2, as(174)}, "65001:11012 65012:174 65001:52:174"},
		{Query{65001, Prepend, 5, as(174)}, "65015:174 65001:55:174"}, // the legend has 1 to 3
		{Query{65001, Prepend, 1, as(4200000001)}, "65001:51:4200000001"},
		{Query{65001, NoExport, 0, as(174)}, "65001:11010"},
		{Query{65001, NoExport, 0, Target{Kind: Peers}}, "65001:3000"},
		{Query{65001, LocalPref, 70, Target{}}, "65001:70"},
		{Query{65001, GracefulShutdown, 0, Target{}}, "65535:0"},
		{Query{65001, LocalPref, 80, Target{}}, ""},
		{Query{65002, Prepend, 2, as(174)}, ""},
	} {
		found, nearest := r.Find(c.query)
		var got []string
		for _, f := range found {
			got = append(got, f.Value.String())
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%s: %q, want %q", c.query, s, c.want)
		}
		if len(found) > 0 && nearest != nil {
			t.Errorf("%s: found, and nearest %v", c.query, nearest)
		}
	}
	_, nearest := r.Find(Query{65001, LocalPref, 80, Target{}})
	if len(nearest) == 0 || nearest[0].Pattern.String() != "65001:70" {
		t.Errorf("nearest to local-pref 80: %v", nearest)
	}
}

func TestWhatIsFoundIsExplainedAsWhatWasAskedFor(t *testing.T) {
	r := New(carrier(t)...)
	rapid.Check(t, func(t *rapid.T) {
		q := Query{At: 65001, Verb: rapid.SampledFrom([]Verb{Prepend, NoExport, LocalPref}).Draw(t, "verb"), Number: rapid.Uint32Range(0, 9).Draw(t, "number"),
			Target: Target{Kind: AS, ASN: rapid.Uint32().Draw(t, "asn")}}
		found, _ := r.Find(q)
		for _, f := range found {
			m := r.Explain(f.Value)
			if !slices.ContainsFunc(m, func(m Match) bool {
				return m.Action != nil && m.Action.Verb == q.Verb && (!q.Verb.Numbered() || *m.Action.Number == q.Number) &&
					slices.ContainsFunc(m.Targets, func(have Target) bool { return have.ASN == q.Target.ASN })
			}) {
				t.Fatalf("%s gave %s, which is %+v", q, f.Value, m)
			}
		}
	})
}

func TestEntriesGoThroughJSON(t *testing.T) {
	for _, e := range New(carrier(t)...).Entries() {
		text, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		var again Entry
		if err := json.Unmarshal(text, &again); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		second, err := json.Marshal(again)
		if err != nil || string(second) != string(text) {
			t.Errorf("%s became %s, %v", text, second, err)
		}
	}
	for _, bad := range []string{`{"pattern":"64500:1:2","type":"std"}`, `{"pattern":"x","type":"std"}`, `[]`, `{"pattern":"64500:1","type":"std","date":"soon"}`} {
		e := Entry{Meaning: "stays"}
		if err := json.Unmarshal([]byte(bad), &e); err == nil || e.Meaning != "stays" {
			t.Errorf("%s: %v, %+v", bad, err, e)
		}
	}
}

// crowd is many patterns of many networks.
func crowd(t interface {
	Helper()
	Fatal(...any)
}, n int) []Entry {
	t.Helper()
	var out []Entry
	for i := range n {
		asn := 1000 + i%(n/20+1)
		forms := []string{"%d:%d", "%d:%dx", "%d:%[2]d-%[2]d9", "%d:1:%d", "%d:%dxx", "%d:2:nnn", "%d:[1-%[3]d]7", "%d:%d"}
		form := forms[i%len(forms)]
		text := fmt.Sprintf(form, asn, i/7%600+1, i%8+2)
		text, _, _ = strings.Cut(text, "%!(EXTRA")
		p, err := community.ParsePattern(text)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, Entry{Pattern: p, Kind: KindInfo, Meaning: fmt.Sprint("entry ", i), Owner: uint32(asn), Confidence: 1})
	}
	return out
}

func TestExplainAgreesWithASlowMatcher(t *testing.T) {
	r := New(crowd(t, 10_000)...)
	rapid.Check(t, func(t *rapid.T) {
		v := community.NewStandard(uint16(rapid.IntRange(999, 1520).Draw(t, "asn")), uint16(rapid.IntRange(0, 7000).Draw(t, "n")))
		if rapid.Bool().Draw(t, "large") {
			v = community.NewLarge(uint32(rapid.IntRange(999, 1520).Draw(t, "asn")), uint32(rapid.IntRange(1, 2).Draw(t, "f")), uint32(rapid.IntRange(0, 7000).Draw(t, "n")))
		}
		var want []string
		for _, e := range r.Entries() {
			if e.Pattern.Match(v) {
				want = append(want, e.Meaning)
			}
		}
		var got []string
		for _, m := range r.Explain(v) {
			got = append(got, m.Meaning)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%s: %q, want %q", v, got, want)
		}
	})
}

func TestLookupAllocatesNothing(t *testing.T) {
	r := New(crowd(t, 10_000)...)
	i := slices.IndexFunc(r.Entries(), func(e Entry) bool { v, ok := e.Pattern.Value(); return ok && v.Kind() == community.Standard })
	v, _ := r.Entries()[i].Pattern.Value()
	n := 0
	if allocs := testing.AllocsPerRun(100, func() { r.Lookup(v, func(*Entry) bool { n++; return true }) }); allocs != 0 || n == 0 {
		t.Errorf("%v allocations, %d found", allocs, n)
	}
}

// A look-up among 10,000 patterns, beside one in a map of the same values: x-of-map is the
// ratio. Both are timed in turn.
func BenchmarkLookup(b *testing.B) {
	r := New(crowd(b, 10_000)...)
	var values []community.Value
	bare := map[community.Value]int{}
	for i := range 1000 {
		values = append(values, community.NewStandard(uint16(1000+i%500), uint16(i%700)))
		bare[values[i]] = i
	}
	b.ReportAllocs()
	var ours, theirs time.Duration
	found, rounds := 0, 0
	for b.Loop() {
		start := time.Now()
		for _, v := range values {
			r.Lookup(v, func(*Entry) bool { found++; return true })
		}
		ours += time.Since(start)
		start = time.Now()
		for _, v := range values {
			found += bare[v]
		}
		theirs += time.Since(start)
		rounds++
	}
	if found == 0 {
		b.Error("nothing found")
	}
	b.ReportMetric(float64(ours.Nanoseconds())/float64(rounds*len(values)), "ns/lookup")
	b.ReportMetric(float64(theirs.Nanoseconds())/float64(rounds*len(values)), "ns/map")
	b.ReportMetric(ours.Seconds()/theirs.Seconds(), "x-of-map")
}

// A code of digits stands for an AS, which a legend names: 1 for AS64504.
func TestACodeThatALegendExplainsIsAnAS(t *testing.T) {
	r := New(Entry{Pattern: pattern(t, "64503:PXX"), Kind: KindAction, Owner: 64503, Confidence: 0.8, Meaning: "by code",
		Targets: []Target{{Kind: AS, Var: "P"}}, Legends: []Legend{{Var: "P", Digits: "1", Meaning: "Databig (AS64504)"}, {Var: "P", Digits: "2", Meaning: "TOWN-IX (AS64505)"},
			{Var: "XX", Digits: "00", Meaning: "do not advertise", Action: &Action{Verb: NoExport}}, {Var: "XX", Digits: "02", Meaning: "1 prepend", Action: &Action{Verb: Prepend, Number: num(1)}}}})
	found, _ := r.Find(Query{At: 64503, Verb: Prepend, Number: 1, Target: Target{Kind: AS, ASN: 64505}})
	if len(found) != 1 || found[0].Value != value(t, "64503:202") {
		t.Errorf("found %v, want 64503:202", found)
	}
	if found, _ := r.Find(Query{At: 64503, Verb: NoExport, Target: Target{Kind: AS, ASN: 1}}); len(found) != 0 {
		t.Errorf("found %v for an AS that has no code", found)
	}
	m := r.Explain(value(t, "64503:100"))
	if len(m) != 1 || len(m[0].Targets) != 1 || m[0].Targets[0].ASN != 64504 || m[0].Action == nil || m[0].Action.Verb != NoExport {
		t.Errorf("explained as %+v", m)
	}
}
