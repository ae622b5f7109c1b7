package scenarios

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/catchment-bgp/catchment/lab/netlab/routegen"
)

// hostile is one case of the corpus: what a neighbour does on a session of its own, and what must come of that session.
type hostile struct {
	name string
	// open takes the place of the speaker's OPEN; nil: a proper handshake comes first.
	open []byte
	send [][]byte
	// quits: the neighbour closes the connection after that.
	quits bool
	want  outcome
}

// outcome says how the session must be afterwards.
type outcome struct {
	lives bool // it is established and answers
	open  bool // whatever our OPEN comes to: up, or refused with an OPEN Message Error
	// code and subcodes are of the NOTIFICATION that must end it; no subcodes: any; 0: it ends, with or without one.
	code     byte
	subcodes []byte
}

func (o outcome) String() string {
	switch {
	case o.lives:
		return "lives"
	case o.open:
		return "is up, or refused with 2/x"
	}
	return fmt.Sprintf("ends with %d/%v", o.code, o.subcodes)
}

var (
	lives = outcome{lives: true}
	ends  = outcome{}
)

func notified(code byte, subcodes ...byte) outcome { return outcome{code: code, subcodes: subcodes} }

// seed makes every run of the corpus send the same bytes.
const seed = 57629

// corpus is every case, for a session with a speaker whose next hop is given.
func corpus(nextHop netip.Addr) []hostile {
	random := rand.New(rand.NewPCG(seed, seed))
	return slices.Concat(headers(random), attributes(random, nextHop), updates(random, nextHop), opens(random), order(nextHop),
		notifications(random), refreshes(random))
}

func noise(r *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

// header is a message whose 19 bytes say what they should not; size is what its length field says.
func header(kind byte, size int, body []byte) []byte {
	m := routegen.Frame(kind, body)
	binary.BigEndian.PutUint16(m[16:], uint16(size))
	return m
}

// headers are faults of RFC 4271 section 6.1, and what is no BGP at all.
func headers(r *rand.Rand) []hostile {
	var cases []hostile
	add := func(name string, want outcome, raw ...[]byte) {
		cases = append(cases, hostile{name: "header: " + name, send: raw, want: want})
	}
	for _, at := range []int{0, 7, 15} {
		m := routegen.Frame(routegen.TypeKeepalive, nil)
		m[at] = 0xfe
		add(fmt.Sprintf("marker wrong at byte %d", at), notified(1, 1), m)
	}
	add("marker of zeros", notified(1, 1), make([]byte, 19))
	for _, size := range []int{0, 1, 18, 4097, 65535} {
		for kind := range byte(6) {
			add(fmt.Sprintf("type %d of length %d", kind, size), notified(1, 2), header(kind, size, make([]byte, 64)))
		}
	}
	for kind, size := range map[byte]int{1: 28, 2: 22, 3: 20, 4: 20, 5: 22} {
		add(fmt.Sprintf("type %d of length %d", kind, size), notified(1, 2), routegen.Frame(kind, make([]byte, size-19)))
	}
	for kind := range 256 {
		if kind == 0 || kind > 5 {
			add(fmt.Sprintf("type %d", kind), notified(1, 3), routegen.Frame(byte(kind), noise(r, kind%50)))
		}
	}
	add("more than 4096 bytes", notified(1, 2), routegen.Frame(routegen.TypeUpdate, noise(r, 4097-19)))
	add("4096 bytes", lives, routegen.Frame(routegen.TypeUpdate, noise(r, 4096-19)))
	cases = append(cases, hostile{name: "header: no body where one is announced", quits: true, want: ends,
		send: [][]byte{header(routegen.TypeUpdate, 4096, noise(r, 100))}})
	add("noise", notified(1, 1), noise(r, 64<<10))
	add("HTTP", notified(1, 1), []byte("GET / HTTP/1.1\r\nHost: example.net\r\n\r\n"))
	add("two good messages, then a bad one, in one write", notified(1, 1),
		bytes.Join([][]byte{routegen.Frame(4, nil), routegen.Frame(2, make([]byte, 4)), make([]byte, 19)}, nil))
	return cases
}

// update is an UPDATE with raw attributes before or after those that a route needs.
func update(before, after []byte, nextHop netip.Addr) []byte {
	plain := routegen.BuildUpdate(nil, routegen.PathAttrs([]uint32{rawASN}, nextHop, 1), []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")})[19:]
	size := int(binary.BigEndian.Uint16(plain[2:]))
	body := binary.BigEndian.AppendUint16([]byte{0, 0}, uint16(size+len(before)+len(after)))
	return routegen.Frame(routegen.TypeUpdate, slices.Concat(body, before, plain[4:4+size], after, plain[4+size:]))
}

// attribute is one with any length field.
func attribute(flags, kind byte, size int, value []byte) []byte {
	if flags&0x10 != 0 {
		return append(binary.BigEndian.AppendUint16([]byte{flags, kind}, uint16(size)), value...)
	}
	return append([]byte{flags, kind, byte(size)}, value...)
}

// attributes has one case for each attribute type: all classes of flags and many lengths of random content, first, last,
// alone, and cut short.
func attributes(r *rand.Rand, nextHop netip.Addr) []hostile {
	var cases []hostile
	for kind := range 256 {
		c := hostile{name: fmt.Sprintf("attribute %d", kind), want: lives}
		for _, flags := range []byte{0x00, 0x40, 0x80, 0xc0, 0xe0, 0xd0, 0xff} {
			for _, n := range []int{0, 1, 2, 3, 4, 5, 8, 16, 21, 64, 255} {
				raw := attribute(flags, byte(kind), n, noise(r, n))
				c.send = append(c.send, update(raw, nil, nextHop), update(nil, raw, nextHop),
					routegen.Frame(2, slices.Concat([]byte{0, 0, 0, byte(len(raw))}, raw)),
					update(nil, attribute(flags, byte(kind), n+1+int(r.Uint32N(250)), noise(r, n)), nextHop))
			}
		}
		c.send = append(c.send, update(attribute(0xd0, byte(kind), 3900, noise(r, 3900)), nil, nextHop))
		cases = append(cases, c)
	}
	return cases
}

// updates are UPDATEs that ended other speakers, or might.
func updates(r *rand.Rand, nextHop netip.Addr) []hostile {
	var cases []hostile
	add := func(name string, raw ...[]byte) {
		cases = append(cases, hostile{name: "UPDATE: " + name, send: raw, want: lives})
	}
	as4 := attribute(0xc0, routegen.AttrAS4Path, 6, []byte{2, 1, 0, 0, 0xfd, 0xf2})
	add("AS4_PATH first", update(as4, nil, nextHop), update(attribute(0xc0, routegen.AttrAS4Path, 0, nil), nil, nextHop))
	for _, sid := range []string{
		"010007000000000000", "0100070000000000", "0300080000c00000000001", "05002201001e00fd77000000000000000000000000000100003900010006281810001040",
		"05ffff", "0500", "ff", "", "050005010002", "01000700000000000a030008000000003e80001f40",
	} {
		raw := []byte(unhex(sid))
		add("Prefix-SID "+sid, update(attribute(0xc0, 40, len(raw), raw), nil, nextHop), update(nil, attribute(0xe0, 40, len(raw), raw), nextHop))
	}
	reach := slices.Concat([]byte{0, 2, 1, 32}, netip.MustParseAddr("fd78::1").AsSlice(), netip.MustParseAddr("fe80::1").AsSlice(),
		[]byte{0, 48, 0x20, 1, 0xd, 0xb8, 9, 0})
	var cut [][]byte
	for n := range len(reach) {
		cut = append(cut, update(nil, attribute(0x80, routegen.AttrMPReach, n, reach[:n]), nextHop),
			update(nil, attribute(0x90, routegen.AttrMPUnreach, n, reach[:n]), nextHop))
	}
	add("MP_REACH_NLRI and MP_UNREACH_NLRI cut short", cut...)
	var families [][]byte
	for afi := range 30 {
		for _, safi := range []byte{0, 1, 2, 4, 5, 65, 70, 71, 73, 85, 128, 129, 132, 133, 134, 255} {
			raw := slices.Concat([]byte{byte(afi >> 8), byte(afi), safi, 4}, nextHop.AsSlice(), []byte{0}, noise(r, 40))
			families = append(families, update(nil, attribute(0x80, routegen.AttrMPReach, len(raw), raw), nextHop))
		}
	}
	add("families that nobody agreed to", families...)
	add("lengths that do not agree", routegen.Frame(2, []byte{0xff, 0xff, 0, 0}), routegen.Frame(2, []byte{0, 0, 0xff, 0xff}),
		routegen.Frame(2, []byte{0, 1, 0, 0}), routegen.Frame(2, []byte{0, 5, 33, 1, 2, 3, 4, 0, 0}), routegen.Frame(2, []byte{0, 0, 0, 0, 255}),
		routegen.Frame(2, []byte{0, 0, 0, 2, 0x40, 1}))
	add("the smallest", routegen.Frame(2, make([]byte, 4)))
	var wild [][]byte
	for range 3000 {
		wild = append(wild, routegen.Frame(2, noise(r, 4+int(r.Uint32N(300)))))
	}
	add("noise", wild...)
	add("one byte at a time", slices.Collect(slices.Chunk(update(as4, nil, nextHop), 1))...)
	return cases
}

// openBody is the body of a proper OPEN with other bytes at some places, and these optional parameters.
func openBody(at map[int]byte, parameters []byte) []byte {
	body := []byte{4, rawASN >> 8, rawASN & 0xff, 0, 9, 10, 255, 255, 1, byte(len(parameters))}
	for i, b := range at {
		body[i] = b
	}
	return append(body, parameters...)
}

// capabilities is the optional parameter that holds them.
func capabilities(raw ...[]byte) []byte {
	all := bytes.Join(raw, nil)
	return append([]byte{2, byte(len(all))}, all...)
}

// opens are OPENs with faults of RFC 4271 section 6.2, RFC 5492, RFC 9072 and RFC 9234.
func opens(r *rand.Rand) []hostile {
	var cases []hostile
	add := func(name string, want outcome, body []byte) {
		cases = append(cases, hostile{name: "OPEN: " + name, open: routegen.Frame(routegen.TypeOpen, body), want: want})
	}
	for _, version := range []byte{0, 3, 5, 255} {
		add(fmt.Sprintf("version %d", version), notified(2, 1), openBody(map[int]byte{0: version}, nil))
	}
	add("another AS", notified(2, 2), openBody(map[int]byte{2: 1}, nil))
	add("AS 0", notified(2, 2), openBody(map[int]byte{1: 0, 2: 0}, nil))
	add("router ID 0.0.0.0", notified(2, 3), openBody(map[int]byte{5: 0, 6: 0, 7: 0, 8: 0}, nil))
	for _, hold := range []byte{0, 1, 2} {
		add(fmt.Sprintf("hold time %d", hold), notified(2, 6), openBody(map[int]byte{4: hold}, nil))
	}
	for _, kind := range []byte{0, 1, 3, 254} {
		add(fmt.Sprintf("optional parameter %d", kind), notified(2, 4), openBody(nil, []byte{kind, 2, 1, 1}))
	}
	add("parameters longer than the message", notified(2), openBody(map[int]byte{9: 255}, []byte{2, 0}))
	add("parameters shorter than the message", notified(2), openBody(map[int]byte{9: 0}, []byte{2, 0}))
	add("a parameter cut short", notified(2), openBody(nil, []byte{2, 10, 1}))
	add("a capability cut short", notified(2), openBody(nil, capabilities([]byte{1, 4, 0, 1})))
	add("RFC 9072 with lengths that do not agree", notified(2), openBody(map[int]byte{9: 255}, []byte{255, 0x0f, 0xff, 2, 0, 0}))
	add("RFC 9072, proper", lives, openBody(map[int]byte{9: 255},
		slices.Concat([]byte{255, 0, 11}, []byte{2, 0, 8}, []byte{1, 4, 0, 1, 0, 1, 2, 0})))
	wide := make([]byte, 4096-19-10-3)
	binary.BigEndian.PutUint16(wide[1:], uint16(len(wide)-3))
	wide[0] = 2
	add("4096 bytes of capabilities", outcome{open: true}, openBody(map[int]byte{9: 255},
		append(binary.BigEndian.AppendUint16([]byte{255}, uint16(len(wide))), wide...)))
	for code := range 256 {
		var raw []byte
		for _, n := range []int{0, 1, 4, 6} {
			raw = append(raw, append([]byte{byte(code), byte(n)}, noise(r, n)...)...)
		}
		add(fmt.Sprintf("capability %d", code), outcome{open: true}, openBody(nil, capabilities(raw)))
	}
	for role := range byte(5) {
		if role != 0 { // provider is what fits our customer
			add(fmt.Sprintf("role %d", role), notified(2, 11), openBody(nil, capabilities([]byte{9, 1, role})))
		}
	}
	add("role 200", notified(2, 11), openBody(nil, capabilities([]byte{9, 1, 200})))
	add("two roles", notified(2, 11), openBody(nil, capabilities([]byte{9, 1, 0}, []byte{9, 1, 4})))
	for range 50 {
		add("noise", notified(2), openBody(nil, capabilities([]byte{65, byte(5 + r.Uint32N(200))}, noise(r, 50))))
	}
	return cases
}

// order has proper messages when none of them is due (RFC 6608).
func order(nextHop netip.Addr) []hostile {
	open := routegen.Frame(routegen.TypeOpen, openBody(nil, nil))
	some := update(nil, nil, nextHop)
	refresh := routegen.Frame(routegen.TypeRouteRefresh, []byte{0, 1, 0, 1})
	cases := []hostile{
		{name: "an OPEN in a session", send: [][]byte{open}, want: notified(5, 3)},
		{name: "UPDATE and KEEPALIVE one after the other", send: slices.Repeat([][]byte{some, routegen.Frame(4, nil)}, 500), want: lives},
	}
	for name, first := range map[string][]byte{"UPDATE": some, "KEEPALIVE": routegen.Frame(4, nil), "ROUTE-REFRESH": refresh} {
		cases = append(cases, hostile{name: name + " in place of OPEN", open: first, want: notified(5, 1)})
	}
	cases = append(cases,
		hostile{name: "NOTIFICATION in place of OPEN", open: routegen.Frame(3, []byte{6, 2}), want: ends},
		hostile{name: "UPDATE in place of the first KEEPALIVE", open: slices.Concat(open, some), want: notified(5, 2)},
		hostile{name: "OPEN twice", open: slices.Concat(open, open), want: notified(5, 2)})
	return cases
}

// notifications are ends with texts that must reach no terminal as they are.
func notifications(r *rand.Rand) []hostile {
	var cases []hostile
	add := func(name string, body []byte) {
		cases = append(cases, hostile{name: "NOTIFICATION: " + name, send: [][]byte{routegen.Frame(3, body)}, want: ends})
	}
	text := func(s string) []byte { return append([]byte{6, 4, byte(len(s))}, s...) }
	add("escape sequences", text("\x1b[2J\x1b]0;owned\a\x1b[31mred"))
	add("several lines", text("one\ntwo\r\nlevel=ERROR msg=forged\x00"))
	add("no UTF-8", text("\xff\xfe\xc3\x28\x80"))
	add("text longer than the message", []byte{6, 4, 200, 'a'})
	add("text shorter than the message", append([]byte{6, 4, 1}, strings.Repeat("b", 100)...))
	add("right to left", text("\u202egnihton ereh"))
	add("4096 bytes", append([]byte{6, 4}, noise(r, 4096-21)...))
	for _, code := range [][2]byte{{0, 0}, {1, 0}, {2, 255}, {3, 77}, {4, 9}, {5, 0}, {6, 0}, {6, 77}, {7, 1}, {8, 0}, {99, 99}, {255, 255}} {
		add(fmt.Sprintf("%d/%d", code[0], code[1]), append(code[:], noise(r, 40)...))
	}
	return cases
}

// refreshes are ROUTE-REFRESHes of all families and kinds but IPv4 unicast, which the runner asks for to see whether the
// session lives, and of all lengths.
func refreshes(r *rand.Rand) []hostile {
	var families, lengths [][]byte
	for afi := range 300 {
		for _, safi := range []byte{0, 1, 2, 4, 128, 133, 255} {
			for _, subtype := range []byte{0, 1, 2, 3, 255} {
				if afi != 1 || safi != 1 || subtype != 0 {
					families = append(families, routegen.Frame(5, []byte{byte(afi >> 8), byte(afi), subtype, safi}))
				}
			}
		}
	}
	for n := 5; n <= 4096-19; n += 1 + n/50 { // RFC 5291 puts filters there
		lengths = append(lengths, routegen.Frame(5, append([]byte{0, 1, 0, 1}, noise(r, n-4)...)))
	}
	return []hostile{
		{name: "ROUTE-REFRESH of all families", send: families, want: lives},
		{name: "ROUTE-REFRESH of all lengths", send: lengths, want: lives},
	}
}

// unhex decodes digits of the corpus; an odd one at the end is left out.
func unhex(s string) []byte {
	var out []byte
	for ; len(s) >= 2; s = s[2:] {
		var b byte
		if _, err := fmt.Sscanf(s[:2], "%02x", &b); err == nil {
			out = append(out, b)
		}
	}
	return out
}

// patience is how long a session may take to come up or to end in a case.
const patience = 10 * time.Second
