package community

import (
	"encoding/hex"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// values draws communities of every kind; the extended ones are often of the
// types that have a text form of their own.
func values() *rapid.Generator[Value] {
	octet := rapid.OneOf(rapid.Byte(), rapid.ByteRange(0, 3))
	return rapid.Custom(func(t *rapid.T) Value {
		switch rapid.SampledFrom([]Kind{Standard, Extended, Large}).Draw(t, "kind") {
		case Standard:
			if rapid.Bool().Draw(t, "well-known") {
				return rapid.SampledFrom(wellKnown).Draw(t, "name").value
			}
			return NewStandard(rapid.Uint16().Draw(t, "asn"), rapid.Uint16().Draw(t, "value"))
		case Extended:
			var octets [8]byte
			for i := range octets {
				octets[i] = octet.Draw(t, "octet")
			}
			return NewExtended(octets)
		}
		return NewLarge(rapid.Uint32().Draw(t, "global"), rapid.Uint32().Draw(t, "local1"), rapid.Uint32().Draw(t, "local2"))
	})
}

func TestWireOctetsAreThoseOfTheRFCs(t *testing.T) {
	tests := []struct {
		text string
		kind Kind
		wire string
	}{
		// RFC 1997: the ASN in the first two octets.
		{"57629:101", Standard, "e11d 0065"},
		{"0:6939", Standard, "0000 1b1b"},
		{"65535:0", Standard, "ffff 0000"},
		{"no-export", Standard, "ffff ff01"},
		// RFC 8092, section 3: three times four octets.
		{"57629:1:101", Large, "0000e11d 00000001 00000065"},
		{"4294967295:0:4294967295", Large, "ffffffff 00000000 ffffffff"},
		// RFC 4360, sections 3.1 and 4: type 0x00, two octets of ASN.
		{"rt:57629:101", Extended, "00 02 e11d 00000065"},
		{"rt:65535:4294967295", Extended, "00 02 ffff ffffffff"},
		// RFC 4360, section 5.
		{"ro:57629:101", Extended, "00 03 e11d 00000065"},
		// RFC 4360, section 3.2: type 0x01, four octets of address.
		{"rt:192.0.2.1:5", Extended, "01 02 c0000201 0005"},
		{"ro:192.0.2.1:65535", Extended, "01 03 c0000201 ffff"},
		// RFC 5668, section 2: type 0x02, four octets of ASN.
		{"rt:65536:5", Extended, "02 02 00010000 0005"},
		{"ro:4200000000:65535", Extended, "02 03 fa56ea00 ffff"},
		{"0x030b000000000064", Extended, "03 0b 000000000064"},
	}
	for _, test := range tests {
		t.Run(test.text, func(t *testing.T) {
			v, err := Parse(test.text)
			if err != nil {
				t.Fatal(err)
			}
			want := unhex(t, test.wire)
			if v.Kind() != test.kind {
				t.Errorf("kind %s, want %s", v.Kind(), test.kind)
			}
			if got := v.AppendWire([]byte{0xAA}); !slices.Equal(got, append([]byte{0xAA}, want...)) {
				t.Errorf("wire aa + %x, want aa + %x", got[1:], want)
			}
			back, err := FromWire(test.kind, want)
			if err != nil || back != v {
				t.Errorf("FromWire gives %v, %v; want %v", back, err, v)
			}
		})
	}
}

func unhex(t *testing.T, spaced string) []byte {
	t.Helper()
	b, err := hex.DecodeString(string(slices.DeleteFunc([]byte(spaced), func(c byte) bool { return c == ' ' })))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestWireRoundTripKeepsEveryValue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := values().Draw(t, "v")
		wire := v.AppendWire(nil)
		if len(wire) != v.Kind().Size() {
			t.Fatalf("%d octets, want %d", len(wire), v.Kind().Size())
		}
		back, err := FromWire(v.Kind(), wire)
		if err != nil || back != v {
			t.Fatalf("%v came back as %v, %v", v, back, err)
		}
	})
}

func TestFromWireRefusesEveryOtherLength(t *testing.T) {
	for _, k := range []Kind{Standard, Extended, Large} {
		for n := range 26 {
			v, err := FromWire(k, make([]byte, n))
			if (err == nil) != (n == k.Size()) {
				t.Errorf("%s, %d octets: error %v", k, n, err)
			}
			if err != nil && v != (Value{}) {
				t.Errorf("%s, %d octets: %v beside an error", k, n, v)
			}
		}
	}
	if _, err := FromWire(Large, make([]byte, 8)); err == nil || err.Error() != "large community: 8 octets, want 12" {
		t.Errorf("error %v", err)
	}
	for _, k := range []Kind{0, Large + 1, 255} {
		if _, err := FromWire(k, nil); err == nil {
			t.Errorf("kind %d was accepted", uint8(k))
		}
	}
}

func TestAccessorsAnswerForTheirOwnKindOnly(t *testing.T) {
	standard, extended, large := NewStandard(57629, 101), NewExtended([8]byte{1, 2, 3, 4, 5, 6, 7, 8}), NewLarge(57629, 1, 101)
	if n, ok := standard.Standard(); !ok || n != 57629<<16|101 {
		t.Errorf("Standard: %d, %t", n, ok)
	}
	if octets, ok := extended.Extended(); !ok || octets != [8]byte{1, 2, 3, 4, 5, 6, 7, 8} {
		t.Errorf("Extended: %v, %t", octets, ok)
	}
	if parts, ok := large.Large(); !ok || parts != [3]uint32{57629, 1, 101} {
		t.Errorf("Large: %v, %t", parts, ok)
	}
	for _, v := range []Value{{}, standard, extended, large} {
		_, s := v.Standard()
		_, e := v.Extended()
		_, l := v.Large()
		if s != (v.Kind() == Standard) || e != (v.Kind() == Extended) || l != (v.Kind() == Large) {
			t.Errorf("%v of kind %s: Standard %t, Extended %t, Large %t", v, v.Kind(), s, e, l)
		}
	}
}

func TestTheZeroValueIsNoCommunity(t *testing.T) {
	var zero Value
	if zero.String() != "" || zero.Name() != "" || zero.Kind() != 0 || len(zero.AppendWire(nil)) != 0 {
		t.Errorf("zero Value: %q, %q, %s, %x", zero, zero.Name(), zero.Kind(), zero.AppendWire(nil))
	}
	if zero == NewStandard(0, 0) {
		t.Error("the zero Value equals 0:0")
	}
	if text, err := zero.MarshalText(); err == nil {
		t.Errorf("MarshalText gives %q", text)
	}
}

func TestCompareOrdersByKindThenNumber(t *testing.T) {
	sorted := []string{
		"0:1", "1:0", "256:0", "57629:2", "57629:10", "65535:0", // text would put 10 before 2
		"rt:1:1", "ro:1:1", "rt:192.0.2.1:5", "rt:65536:1", "0x030b000000000064",
		"0:0:1", "1:0:0", "57629:1:2", "57629:1:10", "4294967295:0:0",
	}
	for i, a := range sorted {
		for j, b := range sorted {
			got, want := Compare(mustParse(t, a), mustParse(t, b)), i-j
			if (got < 0) != (want < 0) || (got > 0) != (want > 0) {
				t.Errorf("Compare(%s, %s) = %d", a, b, got)
			}
		}
	}
}

func TestCompareAgreesWithEquality(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := values().Draw(t, "a"), values().Draw(t, "b")
		if (Compare(a, b) == 0) != (a == b) || Compare(a, b) != -Compare(b, a) {
			t.Fatalf("Compare(%v, %v) = %d, back %d, equal %t", a, b, Compare(a, b), Compare(b, a), a == b)
		}
	})
}

func TestKindsHaveNames(t *testing.T) {
	want := map[Kind]string{Standard: "standard", Extended: "extended", Large: "large", 0: "Kind(0)", 9: "Kind(9)"}
	for k, name := range want {
		if k.String() != name {
			t.Errorf("%d is %q, want %q", uint8(k), k.String(), name)
		}
	}
}

// mustParse parses what the test itself wrote.
func mustParse(t testing.TB, s string) Value {
	t.Helper()
	v, err := Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return v
}
