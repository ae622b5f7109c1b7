package mrt

import (
	"bytes"
	"compress/gzip"
	"slices"
	"strings"
	"testing"
)

// What stands in most of the records below; see octetsOf.
const (
	index = `00000001 000d 0001 4[ c0000201 2[ 616263 ] 0003 ` + // of "abc", with 3 peers:
		`00 0a000001 c0000202 fbf0 ` + // 192.0.2.2, AS 64496 in two octets
		`03 0a000002 20010db8000000000000000000000002 00010000 ` + // 2001:db8::2, AS 65536
		`02 0a000003 c0000204 0000fbf2 ] ` // 192.0.2.4, AS 64498
	origin   = ` 40 01 1[ 00 ] `
	path2    = ` 40 02 1[ 02 02 fbf0 fbf1 ] `                                                                 // 64496 64497, in two octets each
	path4    = ` 40 02 1[ 02 02 0000fbf0 00010001 ] `                                                         // 64496 65537, in four
	hop4     = ` 40 03 1[ c0000202 ] `                                                                        // 192.0.2.2
	standard = ` c0 08 1[ fbf00065 fbf00065 ffffff01 ] `                                                      // 64496:101, twice, no-export
	extended = ` c0 10 1[ 0002fbf000000007 ] `                                                                // rt:64496:7
	large    = ` d0 20 2[ 0000fbf0 00000001 00000002 ] `                                                      // 64496:1:2, with an extended length
	short6   = ` 80 0e 1[ 1[ 20010db8000000000000000000000009 ] ] `                                           // 2001:db8::9, as in a table
	reach6   = ` 90 0e 2[ 0002 01 1[ 20010db8000000000000000000000009 fe800000000000000000000000000001 ] 00 ` // ... and a link-local one
	v4to     = ` 0000 0001 c0000202 c0000201 `                                                                // interface, IPv4, 192.0.2.2 to 192.0.2.1
	v6to     = ` 0000 0002 20010db8000000000000000000000002 20010db8000000000000000000000001 `
	as2      = ` fbf0 fbff ` // AS 64496 to AS 64511
	as4      = ` 00010000 0000fbff `
)

// Each type of record by hand.
var goldens = []struct {
	name     string
	hex      string
	want     []string
	problems []string
}{
	{"TABLE_DUMP, IPv4",
		`00000002 000c 0001 4[ 0000 0001 cb007100 18 01 00000001 c0000202 fbf0 2[ ` + origin + path2 + hop4 + standard + ` ] ]`,
		[]string{"A|2|192.0.2.2|64496|203.0.113.0/24||64496 64497|192.0.2.2|64496:101 65535:65281|"}, nil},
	{"TABLE_DUMP, IPv6",
		`00000002 000c 0002 4[ 0000 0001 20010db8000100000000000000000000 30 01 00000001 20010db8000000000000000000000002 fbf0 2[ ` + origin + path2 + short6 + large + ` ] ]`,
		[]string{"A|2|2001:db8::2|64496|2001:db8:1::/48||64496 64497|2001:db8::9||64496:1:2"}, nil},
	{"TABLE_DUMP of 2000, with two routes and a length without the view and the number",
		`00000002 000c 0001 0000004c 0000 0001 ` +
			`cb007100 18 01 00000001 c0000202 fbf0 2[ ` + origin + path2 + hop4 + ` ] ` +
			`cb007200 18 01 00000001 c0000202 fbf0 2[ ` + origin + path2 + hop4 + ` ] ` +
			`00000003 000c 0001 4[ 0000 0002 cb007300 18 01 00000001 c0000202 fbf0 2[ ` + origin + ` ] ]`,
		[]string{"A|2|192.0.2.2|64496|203.0.113.0/24||64496 64497|192.0.2.2||", "A|2|192.0.2.2|64496|203.0.114.0/24||64496 64497|192.0.2.2||",
			"A|3|192.0.2.2|64496|203.0.115.0/24|||||"},
		nil},
	{"RIB_IPV4_UNICAST",
		index + `00000002 000d 0002 4[ 00000000 17 cb0072 0002 0000 00000001 2[ ` + origin + path4 + hop4 + standard + extended + large + ` ] 0002 00000001 2[ ` + origin + path4 + ` ] ]`,
		[]string{"A|2|192.0.2.2|64496|203.0.114.0/23||64496 65537|192.0.2.2|64496:101 65535:65281|rt:64496:7 64496:1:2", "A|2|192.0.2.4|64498|203.0.114.0/23||64496 65537|||"}, nil},
	{"RIB_IPV6_UNICAST, with the short MP_REACH_NLRI and a whole one",
		index + `00000002 000d 0004 4[ 00000000 30 20010db80001 0002 0001 00000001 2[ ` + origin + path4 + short6 + ` ] 0000 00000001 2[ ` + origin + path4 + reach6 + ` 00 ] ] ]`,
		[]string{"A|2|2001:db8::2|65536|2001:db8:1::/48||64496 65537|2001:db8::9||", "A|2|192.0.2.2|64496|2001:db8:1::/48||64496 65537|2001:db8::9||"}, nil},
	{"RIB_IPV4_UNICAST_ADDPATH",
		index + `00000002 000d 0008 4[ 00000000 00 0002 0000 00000001 00000007 2[ ` + path4 + ` ] 0000 00000001 00000008 2[ ] ]`,
		[]string{"A|2|192.0.2.2|64496|0.0.0.0/0|7|64496 65537|||", "A|2|192.0.2.2|64496|0.0.0.0/0|8||||"}, nil},
	{"RIB_IPV6_UNICAST_ADDPATH",
		index + `00000002 000d 000a 4[ 00000000 80 20010db8000000000000000000000001 0001 0001 00000001 ffffffff 2[ ` + path4 + ` ] ]`,
		[]string{"A|2|2001:db8::2|65536|2001:db8::1/128|4294967295|64496 65537|||"}, nil},
	{"RIB_GENERIC and other types are passed over, and counted",
		index + `00000002 000d 0006 4[ 00 ] 00000002 000d 0006 4[ ] 00000002 0030 0000 4[ 00 ]`,
		nil, []string{"offset 72: type 13, subtype 6: not read; 2 such records were passed over", "offset 97: type 48, subtype 0: not read; 1 such records were passed over"}},
	{"a table without its peers",
		`00000002 000d 0002 4[ 00000000 18 cb0071 0001 0000 00000001 2[ ] ] `, nil,
		[]string{"offset 0: type 13, subtype 2: a table without a PEER_INDEX_TABLE before it: nothing says whose routes these are"}},
	{"a route of a peer that is not in the index, among others",
		index + `00000002 000d 0002 4[ 00000000 18 cb0071 0003 0000 00000001 2[ ] 0003 00000001 2[ ] 0002 00000001 2[ ] ]`,
		[]string{"A|2|192.0.2.2|64496|203.0.113.0/24|||||", "A|2|192.0.2.4|64498|203.0.113.0/24|||||"},
		[]string{"offset 72: peer 3 of a PEER_INDEX_TABLE of 3; this route to 203.0.113.0/24 was left out"}},
	{"BGP4MP_MESSAGE: a withdrawal and an announcement, AS4_PATH merged",
		`00000002 0010 0001 4[ ` + as2 + v4to + ` bgp[ 02 2[ 18 c63364 ] 2[ ` + origin + `40 02 1[ 02 03 fbf0 5ba0 fbf1 ] c0 11 1[ 02 02 00010001 0000fbf1 ] ` + hop4 + ` ] 18 cb0071 11 cb0080 ] ]`,
		[]string{"W|2|192.0.2.2|64496|198.51.100.0/24|", "A|2|192.0.2.2|64496|203.0.113.0/24||64496 65537 64497|192.0.2.2||", "A|2|192.0.2.2|64496|203.0.128.0/17||64496 65537 64497|192.0.2.2||"}, nil},
	{"BGP4MP_MESSAGE_AS4, IPv6 both ways, AS4_PATH ignored",
		`00000002 0010 0004 4[ ` + as4 + v6to + ` bgp[ 02 2[ ] 2[ 80 0f 1[ 0002 01 20 20010db9 ] ` + origin + path4 + ` c0 11 1[ 02 01 00010001 ] ` + reach6 + ` 30 20010db80001 ] ] ] ]`,
		[]string{"W|2|2001:db8::2|65536|2001:db9::/32|", "A|2|2001:db8::2|65536|2001:db8:1::/48||64496 65537|2001:db8::9||"}, nil},
	{"BGP4MP_ET, IPv4 over an IPv6 next hop",
		`00000002 0011 0004 4[ 0000002a ` + as4 + v6to + ` bgp[ 02 2[ ] 2[ 90 0e 2[ 0001 01 1[ 20010db8000000000000000000000009 ] 00 18 cb0071 ] ` + path4 + ` ] ] ]`,
		[]string{"A|2.000042|2001:db8::2|65536|203.0.113.0/24||64496 65537|2001:db8::9||"}, nil},
	{"BGP4MP_MESSAGE_LOCAL and _AS4_LOCAL",
		`00000002 0010 0006 4[ ` + as2 + v4to + ` bgp[ 02 2[ ] 2[ ` + path2 + ` ] 18 cb0071 ] ] 00000002 0010 0007 4[ ` + as4 + v4to + ` bgp[ 02 2[ 18 cb0071 ] 2[ ] ] ]`,
		[]string{"A local|2|192.0.2.2|64496|203.0.113.0/24||64496 64497|||", "W local|2|192.0.2.2|65536|203.0.113.0/24|"}, nil},
	{"BGP4MP with ADD-PATH, all four subtypes",
		`00000002 0010 0008 4[ ` + as2 + v4to + ` bgp[ 02 2[ 00000001 18 cb0071 ] 2[ ` + path2 + ` ] 00000002 18 cb0071 ] ]` +
			` 00000002 0010 0009 4[ ` + as4 + v6to + ` bgp[ 02 2[ ] 2[ ` + path4 + reach6 + ` 00000003 30 20010db80001 ] ] ] ]` +
			` 00000002 0010 000a 4[ ` + as2 + v4to + ` bgp[ 02 2[ 00000004 00 ] 2[ ] ] ]` +
			` 00000002 0010 000b 4[ ` + as4 + v4to + ` bgp[ 02 2[ 00000005 20 c0000207 ] 2[ ] ] ]`,
		[]string{"W|2|192.0.2.2|64496|203.0.113.0/24|1", "A|2|192.0.2.2|64496|203.0.113.0/24|2|64496 64497|||", "A|2|2001:db8::2|65536|2001:db8:1::/48|3|64496 65537|2001:db8::9||",
			"W local|2|192.0.2.2|64496|0.0.0.0/0|4", "W local|2|192.0.2.2|65536|192.0.2.7/32|5"}, nil},
	{"other messages and families, and the end of a table, yield nothing",
		`00000002 0010 0001 4[ ` + as2 + v4to + ` bgp[ 04 ] ] 00000002 0010 0001 4[ ` + as2 + ` bgp[ 01 04 fbf0 00b4 c0000201 00 ] ] ` +
			`00000002 0010 0001 4[ ` + as2 + v4to + ` bgp[ 02 2[ ] 2[ ] ] ] ` + // End-of-RIB
			`00000002 0010 0001 4[ ` + as2 + v4to + ` bgp[ 02 2[ ] 2[ 80 0f 1[ 0001 02 18 cb0071 ] 80 0e 1[ 4004 47 1[ c0000202 ] 00 ffff ] ` + path2 + ` ] ] ]`, // multicast; link state
		nil, nil},
	{"BGP4MP_STATE_CHANGE of both forms",
		`00000002 0010 0000 4[ ` + as2 + v4to + ` 0001 0006 ] 00000002 0010 0005 4[ ` + as4 + v6to + ` 0006 0001 ]`, nil, nil},
	{"BGP4MP_ENTRY",
		`00000002 0010 0002 4[ ` + as2 + v4to + ` 0000 0001 00000001 0002 01 1[ 20010db8000000000000000000000009 ] 30 20010db80001 2[ ` + path2 + ` ] ]`,
		[]string{"A|2|192.0.2.2|64496|2001:db8:1::/48||64496 64497|2001:db8::9||"}, nil},
	{"BGP, type 5",
		`00000002 0005 0001 4[ fbf0 c0000202 fbff c0000201 2[ 18 c63364 ] 2[ ` + path2 + hop4 + ` ] 18 cb0071 ] 00000002 0005 0007 4[ ] 00000002 0005 0003 4[ fbf0 c0000202 0006 0001 ]`,
		[]string{"W|2|192.0.2.2|64496|198.51.100.0/24|", "A|2|192.0.2.2|64496|203.0.113.0/24||64496 64497|192.0.2.2||"}, nil},
	{"host bits that are set do not count",
		`00000002 0010 0001 4[ ` + as2 + v4to + ` bgp[ 02 2[ 11 cb00ff ] 2[ ] ] ]`, []string{"W|2|192.0.2.2|64496|203.0.128.0/17|"}, nil},
}

func TestGoldenRecordsAreRead(t *testing.T) {
	for _, g := range goldens {
		t.Run(g.name, func(t *testing.T) {
			b := octetsOf(t, g.hex)
			r := readerOf(b)
			same(t, "entries", lines(r.All()), g.want)
			same(t, "problems", texts(r.Problems()), g.problems)
			slow := NewReader(oneByOne(b))
			same(t, "entries, octet by octet", lines(slow.All()), g.want)
			same(t, "problems, octet by octet", texts(slow.Problems()), g.problems)
		})
	}
}

func TestMalformedRecordsAreLeftOutAndNamed(t *testing.T) {
	message := func(body string) string { return `00000002 0010 0001 4[ ` + as2 + v4to + body + ` ] ` }
	for _, c := range []struct{ name, hex, problem string }{
		{"withdrawn routes", message(`bgp[ 02 0005 18 cb0071 0000 ]`), "the record ends inside a field"},
		{"attributes", message(`bgp[ 02 2[ ] 0008 ` + origin + ` ]`), "the record ends inside a field"},
		{"an attribute", message(`bgp[ 02 2[ ] 2[ 40 02 07 02 02 fbf0 fbf1 ] 18 cb0071 ]`), "path attribute 2 of 7 octets, with 6 there"},
		{"the header of an attribute", message(`bgp[ 02 2[ ] 2[ 50 02 00 ] 18 cb0071 ]`), "path attribute 2 ends in its header"},
		{"behind the attributes", message(`bgp[ 02 2[ ] 2[ 40 02 ] 18 cb0071 ]`), "2 octets are left behind the path attributes"},
		{"a prefix", message(`bgp[ 02 2[ ] 2[ ] 18 cb00 ]`), "a prefix ends behind its field"},
		{"an IPv4 prefix", message(`bgp[ 02 2[ ] 2[ ] 21 cb00710000 ]`), "a prefix is longer than an address"},
		{"an IPv6 prefix", message(`bgp[ 02 2[ ] 2[ 80 0f 1[ 0002 01 81 ] ] ]`), "a prefix is longer than an address"},
		{"MP_REACH_NLRI", message(`bgp[ 02 2[ ] 2[ 80 0e 1[ 0002 01 10 20010db8 ] ] ]`), "MP_REACH_NLRI of 8 octets ends in its next hop"},
		{"MP_REACH_NLRI twice", message(`bgp[ 02 2[ ] 2[ ` + reach6 + ` ] ` + reach6 + ` ] ] ]`), "path attribute 14 twice"},
		{"MP_UNREACH_NLRI", message(`bgp[ 02 2[ ] 2[ 80 0f 1[ 0002 ] ] ]`), "MP_UNREACH_NLRI of 2 octets"},
		{"the length of a message", message(marked(`0018 02 0000 0000`)), "a BGP message of 24 octets, with 23 there"},
		{"the header of a message", message(`ffff`), "the record ends inside a field"},
		{"the marker", message(strings.Repeat(`00`, 19)), "a BGP message that does not start with 16 octets of 255"},
		{"the addresses", `00000002 0010 0001 4[ ` + as2 + ` 0000 0001 c0000202 ]`, "the record ends inside a field"},
		{"the family", `00000002 0010 0001 4[ ` + as2 + ` 0000 0003 c0000202 ]`, "a session of address family 3, neither 1 (IPv4) nor 2 (IPv6)"},
		{"a state", `00000002 0010 0000 4[ ` + as2 + v4to + ` 0006 ]`, "the record ends inside a field"},
		{"a state without addresses", `00000002 0010 0000 4[ ` + as2 + ` 0006 0001 ]`, "a record without the address of the peer"},
		{"microseconds", `00000002 0011 0001 4[ 0000 ]`, "the record ends inside a field"},
		{"too many microseconds", `00000002 0011 0001 4[ 000f4240 ]`, "1000000 microseconds, not less than a second"},
		{"TABLE_DUMP", `00000002 000c 0001 4[ 0000 0001 cb007100 18 01 00000001 c0000202 fbf0 0001 ]`, "the record ends inside a field"},
		{"the prefix of TABLE_DUMP", `00000002 000c 0001 4[ 0000 0001 cb007100 21 01 00000001 c0000202 fbf0 2[ ] ]`, "a prefix is longer than an address; this route was left out"},
		{"the path of TABLE_DUMP", `00000002 000c 0001 4[ 0000 0001 cb007100 18 01 00000001 c0000202 fbf0 2[ 40 02 1[ 05 01 fbf0 ] ] ]`, "AS_PATH: segment type 5; the types are 1 to 4; this route was left out"},
		{"an index", `00000001 000d 0001 4[ c0000201 2[ ] 0002 00 0a000001 c0000202 fbf0 ]`, "the record ends inside a field"},
		{"a view", `00000001 000d 0001 4[ c0000201 0009 ]`, "the record ends inside a field"},
		{"a table", index + `00000002 000d 0002 4[ 00000000 ] `, "the record ends inside a field"},
		{"the prefix of a table", index + `00000002 000d 0002 4[ 00000000 18 cb0071 00 ] `, "the record ends inside a field"},
		{"a route of a table", index + `00000002 000d 0002 4[ 00000000 18 cb0071 0001 0000 00000001 0001 ]`, "the record ends inside a field"},
		{"behind a table", index + `00000002 000d 0002 4[ 00000000 18 cb0071 0000 00 ]`, "1 octets are left behind the routes to 203.0.113.0/24, which were read"},
		{"the next hop of a table", index + `00000002 000d 0004 4[ 00000000 00 0001 0000 00000001 2[ 80 0e 1[ 05 01020304 ] ] ]`, "MP_REACH_NLRI with a next hop of 5 octets and 4 there; this route to ::/0 was left out"},
		{"BGP4MP_ENTRY", `00000002 0010 0002 4[ ` + as2 + v4to + ` 0000 0001 00000001 0001 01 00 18 cb0071 0001 ]`, "the record ends inside a field"},
		{"BGP", `00000002 0005 0001 4[ fbf0 c0000202 fbff ]`, "the record ends inside a field"},
	} {
		t.Run(c.name, func(t *testing.T) {
			// A record behind it is read all the same.
			r := readerOf(octetsOf(t, c.hex+" "+message(`bgp[ 02 2[ 18 c63364 ] 2[ ] ]`)))
			same(t, "entries", lines(r.All()), []string{"W|2|192.0.2.2|64496|198.51.100.0/24|"})
			problems := r.Problems()
			if len(problems) != 1 || !strings.HasSuffix(problems[0].Reason, c.problem) {
				t.Errorf("problems %v, want one that ends with %q", problems, c.problem)
			}
		})
	}
}

// marked is a message whose length is given.
func marked(body string) string { return strings.Repeat("ff", 16) + " " + body }

func TestRoutesWithMalformedAttributesCountAsWithdrawn(t *testing.T) {
	for _, c := range []struct{ name, attrs, problem string }{
		{"path", `40 02 1[ 02 03 fbf0 fbf1 ]`, "AS_PATH: segment of 3 ASNs in 4 octets"},
		{"rest of a path", `40 02 1[ 02 01 fbf0 02 ]`, "AS_PATH: one octet is left behind its segments"},
		{"next hop", path2 + `40 03 1[ c00002 ]`, "NEXT_HOP of 3 octets, not 4"},
		{"standard", path2 + `c0 08 1[ fbf000 ]`, "standard communities of 3 octets, no multiple of 4"},
		{"extended", path2 + `c0 10 1[ fbf00000 ]`, "extended communities of 4 octets, no multiple of 8"},
		{"large", path2 + `c0 20 1[ fbf00000 ]`, "large communities of 4 octets, no multiple of 12"},
	} {
		r := readerOf(octetsOf(t, `00000002 0010 0001 4[ `+as2+v4to+` bgp[ 02 2[ ] 2[ `+c.attrs+` ] 18 cb0071 ] ]`))
		same(t, c.name, lines(r.All()), []string{"W|2|192.0.2.2|64496|203.0.113.0/24|"})
		same(t, c.name, texts(r.Problems()), []string{"offset 0: type 16, subtype 1: " + c.problem + "; its routes count as withdrawn"})
	}
}

// gzipped returns b, compressed.
func gzipped(t testing.TB, b []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestCompressionIsToldByTheFirstOctets(t *testing.T) {
	plain := octetsOf(t, goldens[0].hex)
	// Of April 2005: its time starts with BZh, but no block of bzip2 follows.
	spring := slices.Clone(plain)
	copy(spring, "BZh9")
	// plain, packed by bzip2 -9.
	packed := octetsOf(t, bzip2Golden)
	for name, c := range map[string]struct {
		b    []byte
		time string
	}{
		"plain": {plain, "2"}, "spring": {spring, "1113221177"}, "gzip": {gzipped(t, plain), "2"},
		"two gzip members": {slices.Concat(gzipped(t, plain[:9]), gzipped(t, plain[9:])), "2"}, "bzip2": {packed, "2"},
	} {
		r := readerOf(c.b)
		same(t, name, lines(r.All()), []string{strings.Replace(goldens[0].want[0], "|2|", "|"+c.time+"|", 1)})
		same(t, name, texts(r.Problems()), nil)
	}
	for name, want := range map[string]string{
		"":                       "offset 0: no MRT in it: it is empty",
		"\xfd7zXZ\x00":           "offset 0: compressed with xz, which is not read; unpack it first",
		"\x28\xb5\x2f\xfd":       "offset 0: compressed with zstd, which is not read; unpack it first",
		"\x1f\x8b\x08":           "offset 0: unexpected EOF",
		"not a dump, but a text": "offset 0: record of type 24864, subtype 25717 and 1836067872 octets, more than 16777216: this is no MRT, or its records are out of step; nothing from here on was read",
	} {
		r := readerOf([]byte(name))
		same(t, name, lines(r.All()), nil)
		if got := texts(r.Problems()); len(got) != 1 || got[0] != want {
			t.Errorf("%q: problems %q, want %q", name, got, want)
		}
	}
}

// bzip2Golden is the first of goldens, packed by bzip2 -9.
const bzip2Golden = `425a68393141592653593c6fbf6f0000017d84fd4400400800002040000200200040086008a00040d32a3d41a36994f50a6134d01a621c1080e8b40789df842736ef29842ed8e578fa2d27e2d58e4db0556ab436fc5dc914e14240f1befdbc`
