package update

import (
	"net/netip"
	"slices"
	"testing"

	"github.com/catchment-bgp/catchment/internal/octets"
)

func TestTheFieldsOfAnUpdateStandInTheOrderInWhichTheyCount(t *testing.T) {
	var a Attributes
	fields, size, err := a.Fields(octets.Of(t, `2[ 18 c63364 ] 2[ 40 01 1[ 00 ] 80 0f 1[ 0002 01 30 20010db80001 ] 80 0e 1[ 0002 01 1[ 20010db8000000000000000000000001 ] 00 30 20010db80002 ] ] 18 cb0071`))
	if err != nil || size == 0 {
		t.Fatal(size, err)
	}
	var got []string
	all := Every()
	for _, f := range fields {
		if err := all.EachPrefix(f.AFI, f.NLRI, false, func(p netip.Prefix, _ uint32) {
			verb := "withdrawn "
			if f.Announced {
				verb = "announced "
			}
			got = append(got, verb+p.String())
		}); err != nil {
			t.Error(err)
		}
	}
	if want := []string{"withdrawn 198.51.100.0/24", "withdrawn 2001:db8:1::/48", "announced 2001:db8:2::/48", "announced 203.0.113.0/24"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestEndOfRIB has the forms of RFC 4724, section 2.
func TestEndOfRIB(t *testing.T) {
	for text, want := range map[string]uint16{
		`2[ ] 2[ ]`:                                    AFIv4,
		`2[ ] 2[ 80 0f 1[ 0002 01 ] ]`:                 AFIv6,
		`2[ ] 2[ 90 0f 2[ 0002 01 ] ]`:                 AFIv6,
		`2[ ] 2[ 80 0f 1[ 0001 01 ] ]`:                 AFIv4,
		`2[ ] 2[ 80 0f 1[ 0001 80 ] ]`:                 0, // a family that is not read
		`2[ 18 c63364 ] 2[ ]`:                          0,
		`2[ ] 2[ ] 18 c63364`:                          0,
		`2[ ] 2[ 40 01 1[ 00 ] ]`:                      0,
		`2[ ] 2[ 80 0f 1[ 0002 01 ] 40 01 1[ 00 ] ]`:   0,
		`2[ ] 2[ 80 0f 1[ 0002 01 30 20010db80001 ] ]`: 0,
	} {
		var a Attributes
		fields, size, err := a.Fields(octets.Of(t, text))
		if err != nil {
			t.Fatal(err)
		}
		if afi, ok := EndOfRIB(fields, size, &a); ok != (want != 0) || ok && afi != want {
			t.Errorf("%s: %d, %v; want %d", text, afi, ok, want)
		}
	}
}
