package importer

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/catchment-bgp/catchment/community"
	"github.com/catchment-bgp/catchment/community/registry"
)

func TestYANGBecomesEntriesInThePublishedOrder(t *testing.T) {
	text, err := os.ReadFile("testdata/yang.json")
	if err != nil {
		t.Fatal(err)
	}
	date := time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)
	entries, problems, err := ReadYANG(bytes.NewReader(text), "yang.json", 0, date)
	if err != nil || len(problems) > 0 {
		t.Fatalf("%v, %v", err, problems)
	}
	want := []struct {
		pattern, name, meaning string
		kind                   registry.Kind
		line                   int
	}{
		{"64500:dec(Kind/2=10;City/3=[0-9]+)", "ORIGIN", "Where a route comes from", registry.KindInfo, 9},
		{"64500:dec(All=^(1|22)$)", "SHORT", "SHORT", registry.KindUnknown, 21},
		{"64512:bin(Class/4=1010;Reserved/4=0{4};Whom/8=.*)", "BITS", "Do not announce", registry.KindAction, 26},
		{"0x42:0x08:4200000001:dec(Node=[1-9])", "STAYS", "STAYS", registry.KindUnknown, 42},
		{"64500:dec(Do=4):dec(ASN=.*)", "TO-AS", "TO-AS", registry.KindAction, 51},
	}
	if len(entries) != len(want) {
		t.Fatalf("%d entries, want %d", len(entries), len(want))
	}
	for i, w := range want {
		e := entries[i]
		if e.Pattern.String() != w.pattern || e.Name != w.name || e.Meaning != w.meaning || e.Kind != w.kind || e.Source.Line != w.line {
			t.Errorf("entry %d is %s %s %q %s in line %d, want %+v", i, e.Pattern, e.Name, e.Meaning, e.Kind, e.Source.Line, w)
		}
		if e.Owner != 64500 || e.Source.File != "yang.json" || !e.Source.Date.Equal(date) || e.Confidence != 1 {
			t.Errorf("entry %d is of AS %d, %v, confidence %v", i, e.Owner, e.Source, e.Confidence)
		}
	}
	for text, want := range map[string]string{
		"64500:10007":            "64500:10007 - ORIGIN/informational (64500:Kind=learned,City=007)",
		"64500:22":               "64500:22 - SHORT (64500:)",
		"64512:40967":            "64512:40967 - BITS/action (64512:Class=no export,Whom=00000111)",
		"0x42:0x08:4200000001:7": "0x42:0x08:4200000001:7 - STAYS (4200000001:Node=7)",
		"64500:4:174":            "64500:4:174 - TO-AS/action (64500:Do=no export:ASN=174)",
		"0x02:0x08:4200000001:7": "0x02:0x08:4200000001:7 - Unknown",
		"64500:10":               "64500:10 - Unknown",
	} {
		v, err := community.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := registry.DraftLine(entries, v); got != want {
			t.Errorf("%s is explained %s, want %s", text, got, want)
		}
	}
}

// instance is a set with one entry of a kind.
func instance(set, kind, entry string) string {
	if set != "" {
		set += ","
	}
	return `{"ietf-bgp-communities:bgp-communities":{` + set + `"` + kind + `":[` + entry + `]}}`
}

const (
	decimal = `"local-admin":{"field":[{"name":"a","pattern":"1"}]}`
	good    = `{"name":"A","global-admin":64500,` + decimal + `}`
)

func TestYANGRulesAreProblemsWithTheirPath(t *testing.T) {
	const top = "/ietf-bgp-communities:bgp-communities"
	for _, c := range []struct{ text, path, reason string }{
		{instance(`"serial":0`, "regular", good), top + "/serial", "must not be 0"},
		{instance(`"serial":"1"`, "regular", good), top + "/serial", "a string, not a number"},
		{instance(`"colour":1`, "regular", good), top + "/colour", `no "colour" here`},
		{instance(`"contact":[{"name":"x"}]`, "regular", good), top + "/contact[0]", "email-address is missing"},
		{instance(`"autonomous-system-id":64501`, "regular", `{"name":"A","global-admin":64496,`+decimal+`}`), top + "/regular[0]/global-admin", "private ASN or match"},
		{instance("", "regular", good+","+good), top + "/regular[1]/name", "twice"},
		{instance("", "regular", `{"global-admin":64500,`+decimal+`}`), top + "/regular[0]", "name is missing"},
		{instance("", "regular", `{"name":"A B","global-admin":64500,`+decimal+`}`), top + "/regular[0]/name", "no blanks"},
		{instance("", "regular", `{"name":"A","category":"both","global-admin":64500,`+decimal+`}`), top + "/regular[0]/category", "informational or action"},
		{instance("", "regular", `{"name":"A","global-admin":65536,`+decimal+`}`), top + "/regular[0]/global-admin", "no integer of 0..65535"},
		{instance("", "regular", `{"name":"A","global-admin":1.5,`+decimal+`}`), top + "/regular[0]/global-admin", "no integer"},
		{instance("", "regular", `{"name":"A",`+decimal+`}`), top + "/regular[0]", "global-admin is missing"},
		{instance("", "regular", `{"name":"A","global-admin":64500}`), top + "/regular[0]", "local-admin is missing"},
		{instance("", "regular", `{"name":"A","global-admin":64500,"local-admin":{}}`), top + "/regular[0]/local-admin", "no field"},
		{instance("", "regular", `{"name":"A","global-admin":64500,"local-admin":{"format":"hex","field":[{"name":"a","pattern":"1"}]}}`), top + "/regular[0]/local-admin/format", "decimal or binary"},
		{instance("", "regular", `{"name":"A","global-admin":64500,"local-admin":{"field":[{"name":"a","pattern":"1"},{"name":"b","pattern":"1","length":1}]}}`), top + "/regular[0]", "has no length"},
		{instance("", "regular", `{"name":"A","global-admin":64500,"local-admin":{"field":[{"name":"a","length":4,"pattern":"1234"},{"name":"b","pattern":"12","length":2}]}}`), top + "/regular[0]", "6 digits together, the number has 5"},
		{instance("", "regular", `{"name":"A","global-admin":64500,"local-admin":{"field":[{"name":"a","length":0,"pattern":"1"}]}}`), top + "/regular[0]/local-admin/field[0]/length", "at least one"},
		{instance("", "regular", `{"name":"A","global-admin":64500,"local-admin":{"field":[{"name":"a","pattern":"a"}]}}`), top + "/regular[0]/local-admin/field[0]/pattern", "a pattern has digits"},
		{instance("", "regular", `{"name":"A","global-admin":64500,"local-admin":{"field":[{"name":"a","pattern":"(1"}]}}`), top + "/regular[0]", "no POSIX ERE"},
		{instance("", "regular", `{"name":"A","global-admin":64500,"local-admin":{"field":[{"name":"a","pattern":"1","description":"two **"}]}}`), top + "/regular[0]/local-admin/field[0]/description", "has no *"},
		{instance("", "regular", `{"name":"A","global-admin":64500,"local-admin":{"field":[{"name":"a","pattern":""}]}}`), top + "/regular[0]/local-admin/field[0]/pattern", "0 characters"},
		{instance("", "extended", `{"name":"A","type":1,"subtype":2,"asn":64500,`+decimal+`}`), top + "/extended[0]/type", "0, 2, 64 or 66"},
		{instance("", "extended", `{"name":"A","type":2,"subtype":2,"asn":64500,`+decimal+`}`), top + "/extended[0]/asn", "Two-Octet"},
		{instance("", "extended", `{"name":"A","type":64,"subtype":2,"asn4":64500,`+decimal+`}`), top + "/extended[0]/asn4", "Four-Octet"},
		{instance("", "extended", `{"name":"A","type":0,"subtype":2,"asn":64500,"asn4":64500,`+decimal+`}`), top + "/extended[0]/asn4", "a choice"},
		{instance("", "extended", `{"name":"A","type":0,"subtype":2,`+decimal+`}`), top + "/extended[0]", "asn or asn4 is missing"},
		{instance("", "large", `{"name":"A","global-admin":64500,"local-data-part-1":{"field":[{"name":"a","pattern":"1"}]}}`), top + "/large[0]", "local-data-part-2 is missing"},
		{instance("", "large", `7`), top + "/large[0]", "a number, not an object"},
	} {
		entries, problems, err := ReadYANG(strings.NewReader(c.text), "x.json", 0, time.Time{})
		if err != nil || len(problems) != 1 || problems[0].Text != c.path || !strings.Contains(problems[0].Reason, c.reason) {
			t.Errorf("%s\n%v, %v\nwant one problem at %s with %q", c.text, problems, err, c.path, c.reason)
		}
		// A rule of the set does not take its entries away, one of an entry only that.
		want := 0
		if strings.Contains(c.text, good) {
			want = 1
		}
		if len(entries) != want {
			t.Errorf("%s: %d entries, want %d", c.text, len(entries), want)
		}
	}
}

func TestYANGOfEachRevisionIsRead(t *testing.T) {
	public := `{"name":"A","global-admin":64496,` + decimal + `}`
	for _, c := range []struct {
		text  string
		given uint32
		owner uint32
	}{
		{instance("", "regular", public), 0, 64496},                                                                   // 2025-07-04: no autonomous-system-id
		{instance("", "regular", public), 64501, 64501},                                                               // the caller knows better
		{instance(`"autonomous-system-id":64496`, "regular", public), 64501, 64496},                                   // 2026-01-05
		{instance(`"autonomous-system-id":64496`, "ietf-bgp-communities:regular", public), 0, 64496},                  // qualified, though it need not be
		{instance(`"autonomous-system-id":64501`, "regular", strings.ReplaceAll(public, "64496", "64512")), 0, 64501}, // private
	} {
		entries, problems, err := ReadYANG(strings.NewReader(c.text), "x.json", c.given, time.Time{})
		if err != nil || len(problems) > 0 || len(entries) != 1 || entries[0].Owner != c.owner {
			t.Errorf("%s: %v, %v, %v, want owner %d", c.text, entries, problems, err, c.owner)
		}
	}
}

func TestAMemberOfAnotherModuleIsSaidAndHarmless(t *testing.T) {
	text := instance("", "regular", `{"name":"A","example:note":"x","global-admin":64500,`+decimal+`}`)
	entries, problems, err := ReadYANG(strings.NewReader(text), "x.json", 0, time.Time{})
	if err != nil || len(entries) != 1 || len(problems) != 1 || !strings.Contains(problems[0].Reason, "another module") {
		t.Errorf("%v, %v, %v", entries, problems, err)
	}
}

func TestWhatIsNoYANGInstanceIsAnError(t *testing.T) {
	for text, want := range map[string]string{
		"":                                "ends too early",
		"{":                               "ends too early",
		"[]":                              "a list, not an object",
		"{}":                              "no ietf-bgp-communities:bgp-communities",
		"{}{}":                            "behind the JSON value",
		"{\n\"a\":1,\n\"a\":2}":           "line 3: /a stands there twice",
		`{"a":` + strings.Repeat("[", 40): "in each other",
		"{\n\n\"a\": tru":                 "line 3",
	} {
		entries, problems, err := ReadYANG(strings.NewReader(text), "x.json", 0, time.Time{})
		if err == nil || !strings.Contains(err.Error(), want) || entries != nil || problems != nil {
			t.Errorf("%q: %v, want an error with %q", text, err, want)
		}
	}
}

func FuzzReadYANG(f *testing.F) {
	text, err := os.ReadFile("testdata/yang.json")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte(instance(`"serial":1`, "regular", good)))
	f.Add([]byte(instance("", "extended", `{"name":"A","type":0,"subtype":2,"asn":64500,"local-admin":{"format":"binary","field":[{"name":"a","pattern":"[(]|1+"}]}}`)))
	f.Add([]byte(`{"ietf-bgp-communities:bgp-communities":{"large":[{"name":"A"}]}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		entries, problems, err := ReadYANG(bytes.NewReader(text), "x.json", 0, time.Time{})
		if err != nil && (entries != nil || problems != nil) {
			t.Fatalf("an error, and %v, %v", entries, problems)
		}
		for _, p := range problems {
			if p.Line < 1 || p.Text == "" || p.Reason == "" {
				t.Fatalf("problem %+v", p)
			}
		}
		for i := range entries {
			e := &entries[i]
			again, err := community.ParsePattern(e.Pattern.String())
			if err != nil || again.Compare(e.Pattern) != 0 || again.Kind() != e.Pattern.Kind() {
				t.Fatalf("%s is read again as %s, %v", e.Pattern, again, err)
			}
			if v, ok := e.Pattern.Value(); ok && !strings.Contains(registry.DraftLine(entries[i:i+1], v), " - ") {
				t.Fatalf("%s is not explained", v)
			}
		}
	})
}
