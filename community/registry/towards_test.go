package registry

import (
	"reflect"
	"strings"
	"testing"

	"github.com/catchment-bgp/catchment/community"
)

func TestTowardsIsAnASManyOrAName(t *testing.T) {
	for text, want := range map[string][]Target{
		"AS174":      {{Kind: AS, ASN: 174}},
		"as70000":    {{Kind: AS, ASN: 70000}},
		"peers":      {{Kind: Peers}},
		"all":        {{Kind: All}},
		"Europe":     {{Kind: Region, Name: "Europe"}, {Kind: Exchange, Name: "Europe"}, {Kind: AS, Name: "Europe"}},
		"North West": {{Kind: Region, Name: "North West"}, {Kind: Exchange, Name: "North West"}, {Kind: AS, Name: "North West"}},
	} {
		if got, err := ParseTowards(text); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, error %v; want %v", text, got, err, want)
		} else if got[0].String() != strings.Replace(text, "as", "AS", 1) {
			t.Errorf("%s is written %s", text, got[0])
		}
	}
	for text, want := range map[string]string{
		"": "names nobody", " peers": "names nobody", "AS0": "is no AS number", "AS4294967296": "is no AS number",
	} {
		if got, err := ParseTowards(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, error %v; want %q", text, got, err, want)
		}
	}
}

func TestATargetByAVariableIsWrittenWithIt(t *testing.T) {
	for want, target := range map[string]Target{
		"AS nnn": {Kind: AS, Var: "nnn"}, "region x": {Kind: Region, Var: "x"}, "all": {Kind: All}, "DE-CIX": {Kind: Exchange, Name: "DE-CIX"},
	} {
		if got := target.String(); got != want {
			t.Errorf("%#v is written %q, want %q", target, got, want)
		}
	}
}

func TestEveryVerbIsReadByItsNameAndNoOther(t *testing.T) {
	for _, v := range Verbs() {
		if got, err := ParseVerb(string(v)); err != nil || got != v {
			t.Errorf("%s: %s, error %v", v, got, err)
		}
	}
	for _, name := range []string{"", "Prepend", "drop"} {
		if got, err := ParseVerb(name); err == nil || got != "" || !strings.Contains(err.Error(), "write one of prepend, no-export,") {
			t.Errorf("%q: %s, error %v", name, got, err)
		}
	}
}

func TestTheFirstReadingOfATargetThatIsDocumentedCounts(t *testing.T) {
	pattern, err := community.ParsePattern("65001:200")
	if err != nil {
		t.Fatal(err)
	}
	times := uint32(2)
	r := New(Entry{Pattern: pattern, Kind: KindAction, Action: &Action{Verb: Prepend, Number: &times}, Owner: 65001,
		Confidence: 1, Targets: []Target{{Kind: Exchange, Name: "Frankfurt"}}, Meaning: "prepend twice at Frankfurt"})
	readings, err := ParseTowards("Frankfurt")
	if err != nil {
		t.Fatal(err)
	}
	asked, found, nearest := r.FindFirst(Query{At: 65001, Verb: Prepend, Number: 2}, readings)
	if len(found) != 1 || found[0].Value.String() != "65001:200" || asked.Target != readings[1] || nearest != nil {
		t.Errorf("%v: %v, nearest %v", asked, found, nearest)
	}
	_, found, nearest = r.FindFirst(Query{At: 65001, Verb: Prepend, Number: 3}, readings)
	if len(found) != 0 || len(nearest) != 1 || nearest[0].Pattern.String() != "65001:200" {
		t.Errorf("three times: %v, nearest %v", found, nearest)
	}
}
