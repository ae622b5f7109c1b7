package host

import (
	"encoding/binary"
	"errors"
	"net/netip"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// slowParseDefault does the work of ParseDefault in the plainest way: it takes
// the whole UPDATE apart into lists, then asks them.
func slowParseDefault(body []byte, p DefaultParams) (DefaultChange, bool) {
	u, err := slowUpdate(body, p)
	if err != nil {
		return DefaultChange{}, false
	}
	d4, d6 := netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("::/0")
	var out DefaultChange
	for _, f := range []struct {
		wanted bool
		dst    netip.Prefix
		into   *FamilyChange
	}{{p.IPv4, d4, &out.IPv4}, {p.IPv6, d6, &out.IPv6}} {
		if !f.wanted {
			continue
		}
		if slices.Contains(u.withdrawn, f.dst) {
			*f.into = FamilyChange{Change: Withdrawn}
		}
		// The classic field comes last in the list, and wins.
		for _, r := range u.announced {
			if r.dst != f.dst {
				continue
			}
			*f.into = FamilyChange{Announced, r.hop, r.linkLocal}
			if slices.Contains(u.path, p.LocalASN) || !slowPlausible(r.hop) {
				*f.into = FamilyChange{Change: Withdrawn}
			}
		}
	}
	return out, true
}

func slowPlausible(a netip.Addr) bool {
	for _, s := range []string{"0.0.0.0/8", "127.0.0.0/8", "224.0.0.0/4", "240.0.0.0/4", "::/8", "ff00::/8"} {
		if netip.MustParsePrefix(s).Contains(a) {
			return false
		}
	}
	return !a.Is4In6()
}

type slowRoute struct {
	dst            netip.Prefix
	hop, linkLocal netip.Addr
}

type slowParts struct {
	withdrawn []netip.Prefix
	announced []slowRoute
	path      []uint32
}

// cutter takes octets off its front; past the end it fails for good.
type cutter struct {
	b   []byte
	err error
}

func (c *cutter) take(n int) []byte {
	if c.err != nil || n > len(c.b) {
		c.err = errors.New("too short")
		return make([]byte, n)
	}
	head := c.b[:n]
	c.b = c.b[n:]
	return head
}

func (c *cutter) byte() int   { return int(c.take(1)[0]) }
func (c *cutter) uint16() int { return int(binary.BigEndian.Uint16(c.take(2))) }

func (c *cutter) prefixes(v6 bool) (out []netip.Prefix) {
	width := 4
	if v6 {
		width = 16
	}
	for len(c.b) > 0 && c.err == nil {
		bits := c.byte()
		if bits > width*8 {
			c.err = errors.New("prefix too long")
			return nil
		}
		full := make([]byte, width)
		copy(full, c.take((bits+7)/8))
		a, _ := netip.AddrFromSlice(full)
		out = append(out, netip.PrefixFrom(a, bits))
	}
	return out
}

func slowUpdate(body []byte, p DefaultParams) (u slowParts, err error) {
	c := &cutter{b: body}
	withdrawn := &cutter{b: c.take(c.uint16())}
	attrs := &cutter{b: c.take(c.uint16())}
	u.withdrawn = withdrawn.prefixes(false)
	classic := c.prefixes(false)
	if c.err != nil || withdrawn.err != nil {
		return u, errors.New("bad fields")
	}
	values, err := slowAttributes(attrs)
	if err != nil {
		return u, err
	}
	mp, err := slowMP(values, p, &u)
	if err != nil {
		return u, err
	}
	_, hasOrigin := values[1]
	_, hasPath := values[2]
	hop, hasHop := values[3]
	if mp+len(classic) > 0 && !(hasOrigin && hasPath) || len(classic) > 0 && !hasHop {
		return u, errors.New("attribute missing")
	}
	for _, dst := range classic {
		u.announced = append(u.announced, slowRoute{dst: dst, hop: netip.AddrFrom4([4]byte(hop))})
	}
	width := 4
	if p.TwoOctetAS {
		width = 2
		u.path, _ = slowPath(values[17], 4)
	}
	path, err := slowPath(values[2], width)
	u.path = append(u.path, path...)
	return u, err
}

func slowAttributes(c *cutter) (map[int][]byte, error) {
	values := map[int][]byte{}
	flagsOf := map[int]int{1: 0x40, 2: 0x40, 3: 0x40, 14: 0x80, 15: 0x80, 17: 0xC0}
	for len(c.b) > 0 && c.err == nil {
		flags, kind := c.byte(), c.byte()
		n := 0
		if flags&0x10 != 0 {
			n = c.uint16()
		} else {
			n = c.byte()
		}
		value := c.take(n)
		flag, wanted := flagsOf[kind]
		if !wanted {
			continue
		}
		mask := 0xE0
		if kind == 17 {
			mask = 0xC0 // may be partial
		}
		_, twice := values[kind]
		if twice || flags&mask != flag || kind == 3 && n != 4 || kind == 1 && (n != 1 || value[0] > 2) {
			return nil, errors.New("bad attribute")
		}
		values[kind] = value
	}
	return values, c.err
}

func slowPath(b []byte, width int) (asns []uint32, err error) {
	c := &cutter{b: b}
	for len(c.b) > 0 && c.err == nil {
		kind, n := c.byte(), c.byte()
		if kind < 1 || kind > 4 || n == 0 {
			return nil, errors.New("bad segment")
		}
		for range n {
			asn := append(make([]byte, 4-width), c.take(width)...)
			asns = append(asns, binary.BigEndian.Uint32(asn))
		}
	}
	if c.err != nil {
		return nil, c.err
	}
	return asns, nil
}

// slowMP reads both multiprotocol attributes into u, and counts the routes that
// the first announces.
func slowMP(values map[int][]byte, p DefaultParams, u *slowParts) (int, error) {
	wanted := func(c *cutter) (v6, ok bool) {
		afi, safi := c.uint16(), c.byte()
		return afi == 2, c.err == nil && safi == 1 && (afi == 1 && p.IPv4 || afi == 2 && p.IPv6)
	}
	if b, ok := values[15]; ok {
		c := &cutter{b: b}
		if v6, ok := wanted(c); ok {
			u.withdrawn = append(u.withdrawn, c.prefixes(v6)...)
		}
		if c.err != nil {
			return 0, c.err
		}
	}
	b, ok := values[14]
	if !ok {
		return 0, nil
	}
	c := &cutter{b: b}
	v6, ok := wanted(c)
	if !ok {
		return 0, c.err
	}
	hop := c.take(c.byte())
	c.byte()
	list := c.prefixes(v6)
	if c.err != nil {
		return 0, c.err
	}
	r := slowRoute{}
	switch {
	case len(hop) == 4 && !v6:
		r.hop, _ = netip.AddrFromSlice(hop)
	case (len(hop) == 16 || len(hop) == 32) && (v6 || p.ExtendedNextHop):
		r.hop, _ = netip.AddrFromSlice(hop[:16])
		last, _ := netip.AddrFromSlice(hop[len(hop)-16:])
		if last.IsLinkLocalUnicast() {
			r.linkLocal = last
		} else if r.hop.IsLinkLocalUnicast() {
			r.linkLocal = r.hop
		}
		if r.hop == netip.IPv6Unspecified() && r.linkLocal.IsValid() {
			r.hop = r.linkLocal
		}
	default:
		return 0, errors.New("bad next hop")
	}
	for _, r.dst = range list {
		u.announced = append(u.announced, r)
	}
	return len(list), nil
}

func TestParseDefaultAgreesWithTheOracle(t *testing.T) {
	wellFormed, changes := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		p := params(t)
		width := 4
		if p.TwoOctetAS {
			width = 2
		}
		b := drawUpdate(t, width)
		got, ok := ParseDefault(b, p)
		want, wantOK := slowParseDefault(b, p)
		if got != want || ok != wantOK {
			t.Fatalf("%x with %+v:\n%+v, %v\noracle: %+v, %v", b, p, got, ok, want, wantOK)
		}
		if ok {
			wellFormed++
		}
		if got != (DefaultChange{}) {
			changes++
		}
	})
	t.Logf("%d well-formed UPDATEs, %d with a default", wellFormed, changes)
	if wellFormed == 0 || changes == 0 {
		t.Error("the test shows nothing")
	}
}

func FuzzParseDefault(f *testing.F) {
	for _, text := range []string{
		"0000 0000", "0001 00 0000",
		"0000 0014" + gOrigin + gPath + gHop + "00",
		"0000 002d" + gOrigin + gPath + gHop + gReach6 + "00",
		"0000 0036" + gOrigin + gPath + "800e26 000201 20" + gGlobal + gLink + "00 00",
		"0000 0007 800f04 000201 00",
		"0000 001b" + gOrigin + "400204 0201 fde9" + gHop + "c01106 0201 0000e11d" + "00",
	} {
		f.Add(bytesOf(f, text), uint8(0xFF))
	}
	f.Fuzz(func(t *testing.T, b []byte, flags uint8) {
		p := DefaultParams{
			IPv4: flags&1 != 0, IPv6: flags&2 != 0, ExtendedNextHop: flags&4 != 0, TwoOctetAS: flags&8 != 0, LocalASN: ours,
		}
		before := slices.Clone(b)
		got, ok := ParseDefault(b, p)
		want, wantOK := slowParseDefault(b, p)
		if got != want || ok != wantOK {
			t.Errorf("%+v, %v; oracle: %+v, %v", got, ok, want, wantOK)
		}
		for _, c := range []FamilyChange{got.IPv4, got.IPv6} {
			if (c.Change == Announced) != plausible(c.NextHop) || c.Change != Announced && c != (FamilyChange{Change: c.Change}) {
				t.Errorf("%+v: a next hop if and only if announced", c)
			}
		}
		if !slices.Equal(before, b) {
			t.Error("the UPDATE was changed")
		}
	})
}
