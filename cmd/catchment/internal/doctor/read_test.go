package doctor

import (
	"fmt"
	"io"
	"net/netip"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

var ours = []netip.Prefix{netip.MustParsePrefix("198.51.100.0/24"), netip.MustParsePrefix("2001:db8:100::/48")}

func TestVRPsAreReadAsEachValidatorWritesThem(t *testing.T) {
	want := "[AS57629 198.51.100.0/24-24 AS57629 2001:db8::/32-48]"
	for name, text := range map[string]string{
		"rpki-client json": `{"metadata": {"buildmachine": "x", "roas": 3}, "roas": [
			{ "asn": 57629, "prefix": "198.51.100.0/24", "maxLength": 24, "ta": "ripe", "expires": 1700000000 },
			{ "asn": 64500, "prefix": "192.0.2.0/24", "maxLength": 24, "ta": "ripe" },
			{ "asn": 57629, "prefix": "2001:db8::/32", "maxLength": 48, "ta": "ripe" } ], "bgpsec_keys": []}`,
		"routinator json": `{"metadata": {"generated": 1}, "roas": [{"asn": "AS57629", "prefix": "198.51.100.0/24", "maxLength": 24, "ta": "ripe"},
			{"asn": "AS57629", "prefix": "2001:db8::/32", "maxLength": 48, "ta": "ripe"}]}`,
		"routinator csv":  "ASN,IP Prefix,Max Length,Trust Anchor\nAS57629,198.51.100.0/24,24,ripe\nAS64500,192.0.2.0/24,24,ripe\nAS57629,2001:db8::/32,48,ripe\n",
		"rpki-client csv": "ASN,IP Prefix,Max Length,Trust Anchor,Expires\r\nAS57629,198.51.100.0/24,24,ripe,1700000000\r\nAS57629,2001:db8::/32,48,ripe,1\r\n",
		"csv with URIs":   "URI,ASN,IP Prefix,Max Length,Not Before,Not After\nrsync://rpki/1.roa,AS57629,198.51.100.0/24,,,\nrsync://rpki/2.roa,AS57629,2001:db8::/32,48,,\n",
		"validity": `{"validated_route": {"route": {"origin_asn": "AS57629", "prefix": "198.51.100.0/24"}, "validity": {"state": "valid", "description": "x",
			"VRPs": {"matched": [{"asn": "AS57629", "prefix": "198.51.100.0/24", "max_length": "24"}], "unmatched_as": [],
			"unmatched_length": [{"asn": "AS57629", "prefix": "2001:db8::/32", "max_length": "48"}]}}}}`,
	} {
		got, err := ReadVRPs(strings.NewReader(text), ours)
		if err != nil || fmt.Sprint(got) != want {
			t.Errorf("%s: %v %v, want %s", name, got, err, want)
		}
	}
}

func TestWhatIsNoExportIsRefused(t *testing.T) {
	for text, want := range map[string]string{
		"":                   "it is empty",
		"{}":                 "it holds no VRP",
		`{"roas": {}}`:       `"roas" is no list`,
		`{"roas": [{}]}`:     "is no AS number",
		`{"roas": [`:         "EOF",
		"<html>\n":           "it holds no VRP",
		"AS1,10.0.0.0/8\n":   "line 1 has 2 fields",
		"AS1,10.0.0.0/33,24": "is no prefix",
		"AS1,10.0.0.0/8,7":   `"7" is no length for 10.0.0.0/8`,
		"AS1,10.0.0.0/8,33":  "is no length",
		"AS1,10.0.0.0/8,x":   "is no length",
		"AS1\n,\"":           "",
	} {
		if got, err := ReadVRPs(strings.NewReader(text), ours); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, %v; want %q", text, got, err, want)
		}
	}
}

// RFC 6811, section 2, word by word.
func slowValidity(p netip.Prefix, origin uint32, vrps []VRP) Validity {
	covered := false
	for _, v := range vrps {
		if v.Prefix.Addr().Is4() != p.Addr().Is4() || v.Prefix.Bits() > p.Bits() || p.Addr().String() != "" && netip.PrefixFrom(p.Addr(), v.Prefix.Bits()).Masked() != v.Prefix {
			continue
		}
		covered = true
		if p.Bits() <= v.MaxLength && origin == v.ASN && origin != 0 {
			return Valid
		}
	}
	if covered {
		return "invalid"
	}
	return NotFound
}

func TestRouteStatesAreThoseOfRFC6811(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		prefix := func(label string) netip.Prefix {
			a := netip.AddrFrom4([4]byte{10, byte(rapid.IntRange(0, 3).Draw(t, label+" b")), byte(rapid.IntRange(0, 3).Draw(t, label+" c")), 0})
			return netip.PrefixFrom(a, rapid.IntRange(8, 26).Draw(t, label+" bits")).Masked()
		}
		var vrps []VRP
		for range rapid.IntRange(0, 5).Draw(t, "n") {
			p := prefix("vrp")
			vrps = append(vrps, VRP{uint32(rapid.IntRange(0, 2).Draw(t, "as")), p, rapid.IntRange(p.Bits(), 32).Draw(t, "max")})
		}
		p, origin := prefix("route"), uint32(rapid.IntRange(0, 2).Draw(t, "origin"))
		got, covering := Validate(p, origin, vrps)
		want := slowValidity(p, origin, vrps)
		if kind, _, _ := strings.Cut(string(got), ":"); kind != string(want) || (len(covering) > 0) == (want == NotFound) {
			t.Fatalf("%s from AS%d is %s by %v, want %s; covering %v", p, origin, got, vrps, want, covering)
		}
		ours := false
		for _, v := range covering {
			ours = ours || v.ASN == origin && origin != 0
		}
		if got == InvalidLength != (want == "invalid" && ours) {
			t.Fatalf("%s from AS%d is %s by %v", p, origin, got, covering)
		}
	})
}

func TestRouteObjectsAreReadFromRPSL(t *testing.T) {
	text := `% This is the RIPE Database

route:          198.51.100.0/24   # ours
descr:          video
origin:         AS57629
mnt-by:         X-MNT
remarks:        one
+               origin: AS1
                origin: AS2

route6: 2001:db8::/32
ORIGIN: as57629

route:  192.0.2.0/24
origin: AS3

inetnum: 198.51.100.0 - 198.51.100.255
origin:  AS4

route:  198.51.100.0/24
origin: AS4294967296

route:  198.51.100.0/24
origin: AS64500
`
	got, err := ReadRoutes(strings.NewReader(text), ours)
	if want := "[{198.51.100.0/24 57629} {2001:db8::/32 57629} {198.51.100.0/24 64500}]"; err != nil || fmt.Sprint(got) != want {
		t.Errorf("%v %v, want %s", got, err, want)
	}
	for _, bad := range []string{"", "% nothing\n", "<html>"} {
		if got, err := ReadRoutes(strings.NewReader(bad), ours); err == nil {
			t.Errorf("%q: %v", bad, got)
		}
	}
	if _, err := ReadRoutes(strings.NewReader("route: "+strings.Repeat("x", longestLine+1)), ours); err == nil {
		t.Error("a line without an end is read")
	}
}

func FuzzReadVRPs(f *testing.F) {
	f.Add(`{"roas":[{"asn":"AS1","prefix":"198.51.100.0/24","maxLength":24}]}`)
	f.Add("ASN,IP Prefix,Max Length\nAS1,198.51.100.0/24,24\n")
	f.Fuzz(func(t *testing.T, text string) {
		got, err := ReadVRPs(strings.NewReader(text), ours)
		for _, v := range got {
			if err != nil || !v.Prefix.IsValid() || v.MaxLength < v.Prefix.Bits() || v.MaxLength > v.Prefix.Addr().BitLen() {
				t.Fatalf("%v of %q (%v)", v, text, err)
			}
		}
	})
}

func FuzzReadRoutes(f *testing.F) {
	f.Add("route: 198.51.100.0/24\norigin: AS1\n\n")
	f.Fuzz(func(t *testing.T, text string) {
		got, err := ReadRoutes(strings.NewReader(text), ours)
		for _, r := range got {
			if err != nil || !r.Prefix.IsValid() {
				t.Fatalf("%v of %q (%v)", r, text, err)
			}
		}
	})
}

func TestOneValueThatNeverEndsIsNotHeld(t *testing.T) {
	for _, head := range []string{`{"metadata":"`, `{"roas":[{"asn":"`, "AS1,192.0.2.0/24,24\n", `"`, "# "} {
		read := &counting{}
		_, err := ReadVRPs(io.MultiReader(strings.NewReader(head), read), nil)
		if err == nil || !strings.Contains(err.Error(), "without a VRP") {
			t.Errorf("after %q: %v", head, err)
		}
		if read.n > 2*longestValue {
			t.Errorf("after %q %d octets were read", head, read.n)
		}
	}
}

// counting has no end.
type counting struct{ n int }

func (c *counting) Read(b []byte) (int, error) {
	if c.n > 1<<30 {
		return 0, io.EOF
	}
	for i := range b {
		b[i] = 'a'
	}
	c.n += len(b)
	return len(b), nil
}
