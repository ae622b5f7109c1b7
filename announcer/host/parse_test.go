package host

import (
	"encoding/hex"
	"net/netip"
	"strings"
	"testing"

	"github.com/osrg/gobgp/v3/pkg/packet/bgp"
)

// ours is the ASN of the tests: AS57629 is 0xe11d.
const ours = 57629

var dual = DefaultParams{IPv4: true, IPv6: true, LocalASN: ours}

// bytesOf takes hex with spaces.
func bytesOf(t testing.TB, text string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(text, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// The attributes of the golden bytes: ORIGIN IGP, AS_PATH 65001, NEXT_HOP
// 192.0.2.1; and with the next hop 2001:db8::1, MP_REACH_NLRI for ::/0.
const (
	gOrigin = "400101 00"
	gPath   = "400206 0201 0000fde9"
	gHop    = "400304 c0000201"
	gGlobal = "20010db8000000000000000000000001"
	gLink   = "fe800000000000000000000000000001"
	gReach6 = "800e16 000201 10" + gGlobal + "00 00"
)

func comes(hop string) FamilyChange {
	return FamilyChange{Change: Announced, NextHop: netip.MustParseAddr(hop)}
}

func comesWith(hop, linkLocal string) FamilyChange {
	return FamilyChange{Announced, netip.MustParseAddr(hop), netip.MustParseAddr(linkLocal)}
}

var goes = FamilyChange{Change: Withdrawn}

func TestParseDefaultGolden(t *testing.T) {
	extended := dual
	extended.ExtendedNextHop = true
	two := dual
	two.TwoOctetAS = true
	only4 := DefaultParams{IPv4: true, LocalASN: ours}
	for _, tc := range []struct {
		name string
		hex  string
		p    DefaultParams
		want DefaultChange
	}{
		{"End-of-RIB, IPv4", "0000 0000", dual, DefaultChange{}},
		{"End-of-RIB, IPv6", "0000 0006 800f03 000201", dual, DefaultChange{}},
		{"announced", "0000 0014" + gOrigin + gPath + gHop + "00", dual, DefaultChange{IPv4: comes("192.0.2.1")}},
		{"announced among others", "0000 0014" + gOrigin + gPath + gHop + "18cb0071 00 08 0a", dual, DefaultChange{IPv4: comes("192.0.2.1")}},
		{"others only", "0000 0014" + gOrigin + gPath + gHop + "18cb0071 080a", dual, DefaultChange{}},
		{"withdrawn", "0001 00 0000", dual, DefaultChange{IPv4: goes}},
		{"withdrawn among others", "0006 080a 00 10 0a01 0000", dual, DefaultChange{IPv4: goes}},
		{"withdrawn and announced", "0001 00 0014" + gOrigin + gPath + gHop + "00", dual, DefaultChange{IPv4: comes("192.0.2.1")}},
		{"IPv6", "0000 0026" + gOrigin + gPath + gReach6, dual, DefaultChange{IPv6: comes("2001:db8::1")}},
		{"IPv6 with link-local", "0000 0036" + gOrigin + gPath + "800e26 000201 20" + gGlobal + gLink + "00 00", dual, DefaultChange{IPv6: comesWith("2001:db8::1", "fe80::1")}},
		{"IPv6, :: and link-local", "0000 0036" + gOrigin + gPath + "800e26 000201 20" + strings.Repeat("00", 16) + gLink + "00 00", dual, DefaultChange{IPv6: comesWith("fe80::1", "fe80::1")}},
		{"IPv6, link-local alone", "0000 0026" + gOrigin + gPath + "800e16 000201 10" + gLink + "00 00", dual, DefaultChange{IPv6: comesWith("fe80::1", "fe80::1")}},
		{"IPv6, second address is none", "0000 0036" + gOrigin + gPath + "800e26 000201 20" + gGlobal + strings.Repeat("00", 16) + "00 00", dual, DefaultChange{IPv6: comes("2001:db8::1")}},
		{"IPv6 withdrawn", "0000 0007 800f04 000201 00", dual, DefaultChange{IPv6: goes}},
		{"IPv4 in MP_UNREACH_NLRI", "0000 0007 800f04 000101 00", dual, DefaultChange{IPv4: goes}},
		{"IPv4 in MP_REACH_NLRI", "0000 001a" + gOrigin + gPath + "800e0a 000101 04c0000201 00 00", dual, DefaultChange{IPv4: comes("192.0.2.1")}},
		{"IPv4 over IPv6", "0000 0026" + gOrigin + gPath + "800e16 000101 10" + gGlobal + "00 00", extended, DefaultChange{IPv4: comes("2001:db8::1")}},
		{"both families", "0000 002d" + gOrigin + gPath + gHop + gReach6 + "00", dual, DefaultChange{IPv4: comes("192.0.2.1"), IPv6: comes("2001:db8::1")}},
		{"IPv6 not of the session", "0000 002d" + gOrigin + gPath + gHop + gReach6 + "00", only4, DefaultChange{IPv4: comes("192.0.2.1")}},
		{"multicast SAFI", "0000 0026" + gOrigin + gPath + "800e16 000202 10" + gGlobal + "00 00", dual, DefaultChange{}},
		{"VPN", "0000 0007 800f04 000280 00", dual, DefaultChange{}},
		{"loop", "0000 0018" + gOrigin + "40020a 0202 0000fde9 0000e11d" + gHop + "00", dual, DefaultChange{IPv4: goes}},
		{"loop in an AS_SET", "0000 001a" + gOrigin + "40020c 0201 0000fde9 0101 0000e11d" + gHop + "00", dual, DefaultChange{IPv4: goes}},
		{"loop of a route that is not the default", "0000 0018" + gOrigin + "40020a 0202 0000fde9 0000e11d" + gHop + "080a", dual, DefaultChange{}},
		{"loop, two octets", "0000 0014" + gOrigin + "400206 0202 fde9 e11d" + gHop + "00", two, DefaultChange{IPv4: goes}},
		{"loop, AS4_PATH", "0000 001b" + gOrigin + "400204 0201 fde9" + gHop + "c01106 0201 0000e11d" + "00", two, DefaultChange{IPv4: goes}},
		{"malformed AS4_PATH", "0000 001b" + gOrigin + "400204 0201 fde9" + gHop + "c01106 0209 0000e11d" + "00", two, DefaultChange{IPv4: comes("192.0.2.1")}},
		{"empty AS_PATH (iBGP)", "0000 000e" + gOrigin + "400200" + gHop + "00", dual, DefaultChange{IPv4: comes("192.0.2.1")}},
		{"extended length", "0000 0015" + gOrigin + "50020006 0201 0000fde9" + gHop + "00", dual, DefaultChange{IPv4: comes("192.0.2.1")}},
		{"unknown attribute, also twice", "0000 001c" + gOrigin + gPath + gHop + "c0ff01 aa c0ff01 bb" + "00", dual, DefaultChange{IPv4: comes("192.0.2.1")}},
		{"next hop 0.0.0.0", "0000 0014" + gOrigin + gPath + "400304 00000000" + "00", dual, DefaultChange{IPv4: goes}},
		{"next hop 127.0.0.1", "0000 0014" + gOrigin + gPath + "400304 7f000001" + "00", dual, DefaultChange{IPv4: goes}},
		{"next hop 224.0.0.1", "0000 0014" + gOrigin + gPath + "400304 e0000001" + "00", dual, DefaultChange{IPv4: goes}},
		{"next hop 255.255.255.255", "0000 0014" + gOrigin + gPath + "400304 ffffffff" + "00", dual, DefaultChange{IPv4: goes}},
		{"next hop ::ffff:192.0.2.1", "0000 0026" + gOrigin + gPath + "800e16 000201 10 00000000000000000000ffffc0000201 00 00", dual, DefaultChange{IPv6: goes}},
		{"next hop ff02::1", "0000 0026" + gOrigin + gPath + "800e16 000201 10 ff020000000000000000000000000001 00 00", dual, DefaultChange{IPv6: goes}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := bytesOf(t, tc.hex)
			got, ok := ParseDefault(b, tc.p)
			if !ok || got != tc.want {
				t.Errorf("%+v, %v; want %+v", got, ok, tc.want)
			}
			if slow, slowOK := slowParseDefault(b, tc.p); slow != got || slowOK != ok {
				t.Errorf("the oracle says %+v, %v", slow, slowOK)
			}
		})
	}
}

func TestMalformedUpdateGivesNothing(t *testing.T) {
	for name, text := range map[string]string{
		"empty":                         "",
		"one octet":                     "00",
		"no attribute length":           "0000 00",
		"withdrawn too long":            "0005 00 0000",
		"withdrawn prefix cut short":    "0005 080a 00 100a 0000",
		"withdrawn prefix of 33 bits":   "0006 21cb007100 00 0000",
		"attributes too long":           "0001 00 0004 4001",
		"attribute cut short":           "0001 00 0002 4001",
		"attribute length beyond":       "0001 00 0004 400105 00",
		"extended length cut short":     "0001 00 0003 500200",
		"NLRI cut short":                "0001 00 0014" + gOrigin + gPath + gHop + "18cb00",
		"NLRI of 33 bits":               "0001 00 0014" + gOrigin + gPath + gHop + "21cb00710000",
		"no ORIGIN":                     "0000 0010" + gPath + gHop + "00",
		"no AS_PATH":                    "0000 000b" + gOrigin + gHop + "00",
		"no NEXT_HOP":                   "0000 000d" + gOrigin + gPath + "00",
		"no AS_PATH beside MP_REACH":    "0000 001d" + gOrigin + gReach6,
		"ORIGIN twice":                  "0000 0018" + gOrigin + gOrigin + gPath + gHop + "00",
		"ORIGIN 3":                      "0000 0014 400101 03" + gPath + gHop + "00",
		"ORIGIN of two octets":          "0000 0015 400102 0000" + gPath + gHop + "00",
		"ORIGIN optional":               "0000 0014 c00101 00" + gPath + gHop + "00",
		"AS_PATH partial":               "0000 0014" + gOrigin + "600206 0201 0000fde9" + gHop + "00",
		"AS_PATH segment of type 9":     "0000 0014" + gOrigin + "400206 0901 0000fde9" + gHop + "00",
		"AS_PATH segment of none":       "0000 0010" + gOrigin + "400202 0200" + gHop + "00",
		"AS_PATH segment too long":      "0000 0014" + gOrigin + "400206 0202 0000fde9" + gHop + "00",
		"AS_PATH one octet over":        "0000 0015" + gOrigin + "400207 0201 0000fde9 02" + gHop + "00",
		"AS_PATH of two octets":         "0000 0012" + gOrigin + "400204 0201 fde9" + gHop + "00",
		"NEXT_HOP of five octets":       "0000 0015" + gOrigin + gPath + "400305 c000020100" + "00",
		"MP_REACH twice":                "0000 003f" + gOrigin + gPath + gReach6 + gReach6,
		"MP_REACH transitive":           "0000 0026" + gOrigin + gPath + "c00e16 000201 10" + gGlobal + "00 00",
		"MP_REACH of two octets":        "0000 0005 800e02 0002",
		"MP_REACH without NLRI part":    "0000 0024" + gOrigin + gPath + "800e14 000201 10" + gGlobal,
		"MP_REACH next hop too long":    "0000 0026" + gOrigin + gPath + "800e16 000201 20" + gGlobal + "00 00",
		"MP_REACH next hop of 24":       "0000 002e" + gOrigin + gPath + "800e1e 000201 18 0000000000000000" + gGlobal + "00 00",
		"MP_REACH prefix of 129 bits":   "0000 0026" + gOrigin + gPath + "800e16 000201 10" + gGlobal + "00 81",
		"MP_REACH prefix cut short":     "0000 0027" + gOrigin + gPath + "800e17 000201 10" + gGlobal + "00 10 20",
		"IPv4 over IPv6 not negotiated": "0000 0026" + gOrigin + gPath + "800e16 000101 10" + gGlobal + "00 00",
		"IPv6 with 4 octets of hop":     "0000 001a" + gOrigin + gPath + "800e0a 000201 04c0000201 00 00",
		"MP_UNREACH twice":              "0000 000d 800f04 000201 00 800f03 000201",
		"MP_UNREACH of two octets":      "0001 00 0005 800f02 0002",
		"MP_UNREACH prefix cut short":   "0001 00 0008 800f05 000201 00 10",
	} {
		t.Run(name, func(t *testing.T) {
			b := bytesOf(t, text)
			if got, ok := ParseDefault(b, dual); ok || got != (DefaultChange{}) {
				t.Errorf("%+v, %v; want nothing", got, ok)
			}
			if slow, ok := slowParseDefault(b, dual); ok || slow != (DefaultChange{}) {
				t.Errorf("the oracle says %+v, %v", slow, ok)
			}
		})
	}
}

// gobgpBody builds the body of an UPDATE with GoBGP's packet library.
func gobgpBody(t *testing.T, withdrawn, nlri []string, attrs ...bgp.PathAttributeInterface) []byte {
	t.Helper()
	prefixes := func(list []string) (out []*bgp.IPAddrPrefix) {
		for _, s := range list {
			p := netip.MustParsePrefix(s)
			out = append(out, bgp.NewIPAddrPrefix(uint8(p.Bits()), p.Addr().String()))
		}
		return out
	}
	b, err := bgp.NewBGPUpdateMessage(prefixes(withdrawn), attrs, prefixes(nlri)).Serialize()
	must(t, err)
	return b[19:]
}

func TestParseDefaultReadsWhatGoBGPWrites(t *testing.T) {
	path := func(asns ...uint32) bgp.PathAttributeInterface {
		return bgp.NewPathAttributeAsPath([]bgp.AsPathParamInterface{bgp.NewAs4PathParam(bgp.BGP_ASPATH_ATTR_TYPE_SEQ, asns)})
	}
	base := func(asns ...uint32) []bgp.PathAttributeInterface {
		return []bgp.PathAttributeInterface{
			bgp.NewPathAttributeOrigin(0), path(asns...),
			bgp.NewPathAttributeMultiExitDisc(50), bgp.NewPathAttributeCommunities([]uint32{65001<<16 | 100}),
			bgp.NewPathAttributeLargeCommunities([]*bgp.LargeCommunity{{ASN: 4200000001, LocalData1: 1, LocalData2: 2}}),
		}
	}
	v6 := func(s string) []bgp.AddrPrefixInterface {
		p := netip.MustParsePrefix(s)
		return []bgp.AddrPrefixInterface{bgp.NewIPv6AddrPrefix(uint8(p.Bits()), p.Addr().String())}
	}
	for _, tc := range []struct {
		name string
		body []byte
		want DefaultChange
	}{
		{"IPv4", gobgpBody(t, nil, []string{"203.0.113.0/24", "0.0.0.0/0"}, append(base(65001, 4200000001), bgp.NewPathAttributeNextHop("192.0.2.1"))...),
			DefaultChange{IPv4: comes("192.0.2.1")}},
		{"IPv4 loop", gobgpBody(t, nil, []string{"0.0.0.0/0"}, append(base(65001, ours, 65002), bgp.NewPathAttributeNextHop("192.0.2.1"))...),
			DefaultChange{IPv4: goes}},
		{"IPv4 withdrawn", gobgpBody(t, []string{"203.0.113.0/24", "0.0.0.0/0"}, nil), DefaultChange{IPv4: goes}},
		{"IPv6", gobgpBody(t, nil, nil, append(base(65001), bgp.NewPathAttributeMpReachNLRI("2001:db8::1", v6("::/0")))...),
			DefaultChange{IPv6: comes("2001:db8::1")}},
		{"IPv6, another route", gobgpBody(t, nil, nil, append(base(65001), bgp.NewPathAttributeMpReachNLRI("2001:db8::1", v6("2001:db8:9::/48")))...),
			DefaultChange{}},
		{"IPv6 withdrawn", gobgpBody(t, nil, nil, bgp.NewPathAttributeMpUnreachNLRI(v6("::/0"))), DefaultChange{IPv6: goes}},
	} {
		if got, ok := ParseDefault(tc.body, dual); !ok || got != tc.want {
			t.Errorf("%s: %+v, %v; want %+v\n%x", tc.name, got, ok, tc.want, tc.body)
		}
	}
}

func TestParseDefaultDoesNotAllocate(t *testing.T) {
	b := bytesOf(t, "0001 00 002d"+gOrigin+gPath+gHop+gReach6+"00")
	var got DefaultChange
	if n := testing.AllocsPerRun(100, func() { got, _ = ParseDefault(b, dual) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
	if got.IPv6.Change != Announced {
		t.Errorf("%+v", got)
	}
}

func BenchmarkParseDefault(b *testing.B) {
	body := bytesOf(b, "0000 0014"+gOrigin+gPath+gHop+strings.Repeat("18cb0071", 900))
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if _, ok := ParseDefault(body, dual); !ok {
			b.Fatal("malformed")
		}
	}
}
