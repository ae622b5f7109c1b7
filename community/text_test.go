package community

import (
	"encoding/json"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
	"pgregory.net/rapid"
)

func TestParseReadsEveryFormAndStringPrintsTheCanonicalOne(t *testing.T) {
	tests := []struct {
		text, canonical string
		want            Value
	}{
		{"57629:101", "", NewStandard(57629, 101)},
		{"0:0", "", NewStandard(0, 0)},
		{"65535:65535", "", NewStandard(65535, 65535)},
		{"57629:1:101", "", NewLarge(57629, 1, 101)},
		{"0:0:0", "", NewLarge(0, 0, 0)},
		{"4294967295:4294967295:4294967295", "", NewLarge(1<<32-1, 1<<32-1, 1<<32-1)},
		{"rt:57629:101", "", NewExtended([8]byte{0, 2, 0xE1, 0x1D, 0, 0, 0, 101})},
		{"rt:0:0", "", NewExtended([8]byte{0, 2})},
		{"ro:57629:101", "", NewExtended([8]byte{0, 3, 0xE1, 0x1D, 0, 0, 0, 101})},
		{"soo:57629:101", "ro:57629:101", NewExtended([8]byte{0, 3, 0xE1, 0x1D, 0, 0, 0, 101})},
		{"rt:192.0.2.1:5", "", NewExtended([8]byte{1, 2, 192, 0, 2, 1, 0, 5})},
		{"soo:192.0.2.1:5", "ro:192.0.2.1:5", NewExtended([8]byte{1, 3, 192, 0, 2, 1, 0, 5})},
		{"rt:65535:65536", "", NewExtended([8]byte{0, 2, 0xFF, 0xFF, 0, 1, 0, 0})},
		{"rt:65536:65535", "", NewExtended([8]byte{2, 2, 0, 1, 0, 0, 0xFF, 0xFF})},
		// A known form may be written as hex, too.
		{"0x0002e11d00000065", "rt:57629:101", NewExtended([8]byte{0, 2, 0xE1, 0x1D, 0, 0, 0, 101})},
		// Hex stays hex: link bandwidth, opaque, and a route target that is not transitive.
		{"0x4004E11D4E9502F9", "0x4004e11d4e9502f9", NewExtended([8]byte{0x40, 4, 0xE1, 0x1D, 0x4E, 0x95, 0x02, 0xF9})},
		{"0x0000000000000000", "", NewExtended([8]byte{})},
		{"0x4002e11d00000065", "", NewExtended([8]byte{0x40, 2, 0xE1, 0x1D, 0, 0, 0, 101})},
		// RFC 5668: the same ASN in four octets is another community.
		{"0x02020000e11d0065", "", NewExtended([8]byte{2, 2, 0, 0, 0xE1, 0x1D, 0, 101})},
		{"graceful-shutdown", "65535:0", GracefulShutdown},
	}
	for _, test := range tests {
		t.Run(test.text, func(t *testing.T) {
			v, err := Parse(test.text)
			if err != nil {
				t.Fatal(err)
			}
			if v != test.want {
				t.Errorf("parsed as %#v, want %#v", v, test.want)
			}
			canonical := test.canonical
			if canonical == "" {
				canonical = test.text
			}
			if v.String() != canonical {
				t.Errorf("printed as %s, want %s", v, canonical)
			}
		})
	}
}

func TestParseRefusesAndSaysWhatToWrite(t *testing.T) {
	const form = "not a community; write for example 57629:101, 57629:1:101, rt:57629:101 or no-export"
	tests := []struct{ text, err string }{
		// U18: never truncated, and the large community is named.
		{"65536:100", "65536:100: AS 65536 does not fit a standard community; write 65536:0:100"},
		{"4200000000:1", "4200000000:1: AS 4200000000 does not fit a standard community; write 4200000000:0:1"},
		{"65536:65536", "65536:65536: AS 65536 does not fit a standard community; write 65536:0:65536"},
		{"57629:65536", "57629:65536: 65536 does not fit a standard community (0..65535); write 57629:0:65536"},
		{"4294967296:1", "4294967296:1: 4294967296 is out of range; the largest number is 4294967295"},
		{"1:4294967296:1", "1:4294967296:1: 4294967296 is out of range; the largest number is 4294967295"},
		{"1:1:99999999999999999999", "1:1:99999999999999999999: 99999999999999999999 is out of range; the largest number is 4294967295"},
		{"rt:65536:65536", "rt:65536:65536: 65536 is out of range; beside the 4-octet AS 65536 write 0..65535"},
		{"rt:57629:4294967296", "rt:57629:4294967296: 4294967296 is out of range; the largest number is 4294967295"},
		{"ro:192.0.2.1:65536", "ro:192.0.2.1:65536: 65536 is out of range; beside an IPv4 address write 0..65535"},
		{"rt:192.0.2:5", "rt:192.0.2:5: 192.0.2 is no IPv4 address; write for example rt:192.0.2.1:5"},
		{"rt:192.0.2.256:5", "rt:192.0.2.256:5: 192.0.2.256 is no IPv4 address; write for example rt:192.0.2.1:5"},
		{"soo:192.000.2.1:5", "soo:192.000.2.1:5: 192.000.2.1 is no IPv4 address; write for example soo:192.0.2.1:5"},
		{"rt:57629", "rt:57629: write rt:ASN:number or rt:IPv4:number, for example rt:57629:101"},
		{"rt:1:2:3", "rt:1:2:3: write rt:ASN:number or rt:IPv4:number, for example rt:57629:101"},
		{"rt", "rt: write rt:ASN:number or rt:IPv4:number, for example rt:57629:101"},
		// One number has one spelling.
		{"057629:101", "057629:101: 057629 has leading zeros; write 57629"},
		{"57629:00", "57629:00: 00 has leading zeros; write 0"},
		{"57629:1:007", "57629:1:007: 007 has leading zeros; write 7"},
		{"+1:2", "+1:2: +1 is no number; write digits only"},
		{"1:-2", "1:-2: -2 is no number; write digits only"},
		{"57629:1xx", "57629:1xx: 1xx is no number; write digits only"},
		{"1.5:3", "1.5:3: 1.5 is no number; write digits only"},
		{"٣:1", `"٣:1": "٣" is no number; write digits only`},
		{"57629: 101", `"57629: 101": " 101" is no number; write digits only`},
		{" 57629:101", `" 57629:101": write 57629:101`},
		{"57629:101\n", `"57629:101\n": write 57629:101`},
		{"57629:", "57629:: a number is missing beside a colon"},
		{":101", ":101: a number is missing beside a colon"},
		{"::", "::: a number is missing beside a colon"},
		{"", `"": ` + form},
		{"57629", "57629: " + form},
		{"1:2:3:4", "1:2:3:4: " + form},
		{"(57629,1,101)", `"(57629,1,101)": ` + form},
		{"no-exports", "no-exports: " + form},
		{"NO_EXPORT", "NO_EXPORT: write no-export"},
		{"No-Export", "No-Export: write no-export"},
		{"RT:57629:101", "RT:57629:101: write rt:57629:101"},
		{"0X030b000000000064", "0X030b000000000064: write 0x030b000000000064"},
		{"0x030b00000000006", "0x030b00000000006: write an extended community as 0x and 16 hexadecimal digits"},
		{"0x030b0000000000640", "0x030b0000000000640: write an extended community as 0x and 16 hexadecimal digits"},
		{"0x030b00000000006g", "0x030b00000000006g: write an extended community as 0x and 16 hexadecimal digits"},
		{"0x+30b000000000064", "0x+30b000000000064: write an extended community as 0x and 16 hexadecimal digits"},
		{"0x030b_0000_0000_0", "0x030b_0000_0000_0: write an extended community as 0x and 16 hexadecimal digits"},
		{strings.Repeat("1", 1000) + ":1", `"` + strings.Repeat("1", 64) + `"...: ` + form},
	}
	for _, test := range tests {
		t.Run(test.text, func(t *testing.T) {
			v, err := Parse(test.text)
			if err == nil || v != (Value{}) {
				t.Fatalf("parsed as %v, error %v", v, err)
			}
			if err.Error() != test.err {
				t.Errorf("error %s\n want %s", err, test.err)
			}
		})
	}
}

func TestTheSuggestionForAFourOctetASParses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		asn, n := rapid.Uint32Min(65536).Draw(t, "asn"), rapid.Uint32().Draw(t, "n")
		large := NewLarge(asn, 0, n)
		_, err := Parse(strings.Replace(large.String(), ":0:", ":", 1))
		if err == nil {
			t.Fatalf("AS %d was accepted in a standard community", asn)
		}
		_, advice, _ := strings.Cut(err.Error(), "; write ")
		if v, err := Parse(advice); err != nil || v != large {
			t.Fatalf("the advice %q gives %v, %v", advice, v, err)
		}
	})
}

func TestStringParsesBackToTheSameValue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := values().Draw(t, "v")
		back, err := Parse(v.String())
		if err != nil || back != v {
			t.Fatalf("%v came back as %v, %v", v, back, err)
		}
	})
}

func TestWellKnownNamesAndNumbers(t *testing.T) {
	want := map[string]struct {
		value Value
		text  string
	}{
		"graceful-shutdown":   {GracefulShutdown, "65535:0"},
		"accept-own":          {AcceptOwn, "65535:1"},
		"llgr-stale":          {LLGRStale, "65535:6"},
		"no-llgr":             {NoLLGR, "65535:7"},
		"standby-pe":          {StandbyPE, "65535:9"},
		"blackhole":           {Blackhole, "65535:666"},
		"no-export":           {NoExport, "65535:65281"},
		"no-advertise":        {NoAdvertise, "65535:65282"},
		"no-export-subconfed": {NoExportSubconfed, "65535:65283"},
		"no-peer":             {NoPeer, "65535:65284"},
	}
	if len(wellKnown) != len(want) {
		t.Errorf("%d well-known communities, want %d", len(wellKnown), len(want))
	}
	for name, w := range want {
		if v, err := Parse(name); err != nil || v != w.value {
			t.Errorf("Parse(%s) = %v, %v", name, v, err)
		}
		if w.value.Name() != name || w.value.String() != w.text {
			t.Errorf("%s is named %q and printed %q, want %q", name, w.value.Name(), w.value, w.text)
		}
	}
	for _, v := range []Value{NewStandard(57629, 101), NewLarge(65535, 0, 0), NewExtended([8]byte{0xFF, 0xFF})} {
		if v.Name() != "" {
			t.Errorf("%v is named %q", v, v.Name())
		}
	}
}

func TestValuesTravelAsTextInJSONAndYAML(t *testing.T) {
	type doc struct {
		One Value           `json:"one" yaml:"one"`
		By  map[Value]Value `json:"by" yaml:"by"`
	}
	in := doc{One: NewStandard(57629, 101), By: map[Value]Value{NewLarge(57629, 1, 101): GracefulShutdown}}
	text, err := json.Marshal(in)
	if want := `{"one":"57629:101","by":{"57629:1:101":"65535:0"}}`; err != nil || string(text) != want {
		t.Errorf("JSON %s, %v; want %s", text, err, want)
	}
	var out doc
	if err := json.Unmarshal(text, &out); err != nil || out.One != in.One || out.By[NewLarge(57629, 1, 101)] != GracefulShutdown {
		t.Errorf("JSON came back as %v, %v", out, err)
	}
	if text, err = yaml.Marshal(in); err != nil {
		t.Fatal(err)
	}
	out = doc{}
	if err := yaml.Unmarshal(text, &out); err != nil || out.One != in.One || out.By[NewLarge(57629, 1, 101)] != GracefulShutdown {
		t.Errorf("YAML came back as %v, %v from %s", out, err, text)
	}
	// Unquoted, YAML 1.1 would read the first as a number in base 60 and the second as hex.
	for _, plain := range []string{"57629:10", "0x030b000000000064", "no-export"} {
		if err := yaml.Unmarshal([]byte("one: "+plain), &out); err != nil || out.One != mustParse(t, plain) {
			t.Errorf("YAML %s was read as %v, %v", plain, out.One, err)
		}
	}
}

func TestBadTextLeavesTheValueAlone(t *testing.T) {
	v := NewStandard(57629, 101)
	if err := v.UnmarshalText([]byte("65536:1")); err == nil || v != NewStandard(57629, 101) {
		t.Errorf("%v, error %v", v, err)
	}
	if err := json.Unmarshal([]byte(`57629`), &v); err == nil {
		t.Errorf("a JSON number was read as %v", v)
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"57629:101", "65536:100", "57629:1:101", "rt:57629:101", "soo:192.0.2.1:5", "rt:4200000000:5", "0x030b000000000064", "no-export", "NO_PEER", "::", ""} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		v, err := Parse(s)
		if err != nil {
			if v != (Value{}) || len(err.Error()) > 512 {
				t.Fatalf("%q: %v, error of %d octets", s, v, len(err.Error()))
			}
			return
		}
		if back, err := Parse(v.String()); err != nil || back != v {
			t.Fatalf("%q is %v, which came back as %v, %v", s, v, back, err)
		}
		if back, err := FromWire(v.Kind(), v.AppendWire(nil)); err != nil || back != v {
			t.Fatalf("%q is %v, and came from the wire as %v, %v", s, v, back, err)
		}
	})
}
