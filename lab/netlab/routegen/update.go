package routegen

import (
	"encoding/binary"
	"fmt"
	"net/netip"
)

// Path attribute types.
const (
	AttrOrigin           = 1
	AttrASPath           = 2
	AttrNextHop          = 3
	AttrMED              = 4
	AttrLocalPref        = 5
	AttrAtomicAggregate  = 6
	AttrAggregator       = 7
	AttrCommunities      = 8
	AttrMPReach          = 14
	AttrMPUnreach        = 15
	AttrExtCommunities   = 16
	AttrAS4Path          = 17 // RFC 6793
	AttrLargeCommunities = 32
	AttrOTC              = 35
)

// Attr is a path attribute as it is on the wire.
type Attr struct {
	Flags, Type byte
	Value       []byte
}

// Update is the content of an UPDATE. Prefixes of MP_REACH_NLRI and MP_UNREACH_NLRI are among the others.
type Update struct {
	Withdrawn, Announced []netip.Prefix
	NextHop              []netip.Addr // of NEXT_HOP and of MP_REACH_NLRI
	Attrs                []Attr
}

// EndOfRIB says whether the UPDATE is the marker of RFC 4724: it holds no prefix.
func (u Update) EndOfRIB() bool { return len(u.Withdrawn) == 0 && len(u.Announced) == 0 }

// Attr finds an attribute's value.
func (u Update) Attr(kind byte) ([]byte, bool) {
	for _, a := range u.Attrs {
		if a.Type == kind {
			return a.Value, true
		}
	}
	return nil, false
}

// ASPath is the path with 4-octet ASNs; segments are joined.
func (u Update) ASPath() []uint32 {
	var path []uint32
	value, _ := u.Attr(AttrASPath)
	for len(value) >= 2 {
		count := int(value[1])
		value = value[2:]
		for ; count > 0 && len(value) >= 4; count-- {
			path = append(path, binary.BigEndian.Uint32(value))
			value = value[4:]
		}
	}
	return path
}

// ParseUpdate reads the body of an UPDATE (RFC 4271 section 4.3) of a session with 4-octet ASNs and without ADD-PATH.
func ParseUpdate(body []byte) (Update, error) {
	var u Update
	withdrawn, rest, err := cut16(body)
	if err != nil {
		return u, fmt.Errorf("UPDATE: withdrawn routes: %w", err)
	}
	attrs, nlri, err := cut16(rest)
	if err != nil {
		return u, fmt.Errorf("UPDATE: attributes: %w", err)
	}
	if u.Withdrawn, err = parsePrefixes(withdrawn, false); err != nil {
		return u, fmt.Errorf("UPDATE: withdrawn routes: %w", err)
	}
	if u.Announced, err = parsePrefixes(nlri, false); err != nil {
		return u, fmt.Errorf("UPDATE: routes: %w", err)
	}
	for len(attrs) > 0 {
		var a Attr
		if a, attrs, err = cutAttr(attrs); err != nil {
			return u, fmt.Errorf("UPDATE: attribute: %w", err)
		}
		if err := u.add(a); err != nil {
			return u, fmt.Errorf("UPDATE: attribute %d: %w", a.Type, err)
		}
	}
	return u, nil
}

func (u *Update) add(a Attr) error {
	u.Attrs = append(u.Attrs, a)
	switch a.Type {
	case AttrNextHop:
		return u.addHops(a.Value, 4)
	case AttrMPReach:
		return u.addReach(a.Value)
	case AttrMPUnreach:
		if len(a.Value) < 3 {
			return fmt.Errorf("%d bytes", len(a.Value))
		}
		prefixes, err := parsePrefixes(a.Value[3:], a.Value[1] == 2)
		u.Withdrawn = append(u.Withdrawn, prefixes...)
		return err
	}
	return nil
}

// addReach reads MP_REACH_NLRI: AFI, SAFI, next hop length, next hops, a reserved byte, prefixes (RFC 4760 section 3).
func (u *Update) addReach(v []byte) error {
	if len(v) < 5 || len(v) < 5+int(v[3]) {
		return fmt.Errorf("%d bytes", len(v))
	}
	hops, rest := v[4:4+int(v[3])], v[5+int(v[3]):]
	size := 16
	if len(hops) == 4 {
		size = 4
	}
	if err := u.addHops(hops, size); err != nil {
		return err
	}
	prefixes, err := parsePrefixes(rest, v[1] == 2)
	u.Announced = append(u.Announced, prefixes...)
	return err
}

func (u *Update) addHops(v []byte, size int) error {
	if len(v)%size != 0 || len(v) == 0 {
		return fmt.Errorf("next hop of %d bytes", len(v))
	}
	for ; len(v) > 0; v = v[size:] {
		hop, _ := netip.AddrFromSlice(v[:size])
		u.NextHop = append(u.NextHop, hop)
	}
	return nil
}

// cut16 splits a part off that has its length, two bytes, before it.
func cut16(b []byte) (part, rest []byte, err error) {
	if len(b) < 2 || len(b) < 2+int(binary.BigEndian.Uint16(b)) {
		return nil, nil, fmt.Errorf("ends after %d bytes", len(b))
	}
	end := 2 + int(binary.BigEndian.Uint16(b))
	return b[2:end], b[end:], nil
}

func cutAttr(b []byte) (a Attr, rest []byte, err error) {
	if len(b) < 3 {
		return a, nil, fmt.Errorf("ends after %d bytes", len(b))
	}
	a.Flags, a.Type = b[0], b[1]
	if a.Flags&0x10 != 0 { // extended length
		a.Value, rest, err = cut16(b[2:])
		return a, rest, err
	}
	_, a.Value, rest, err = cutTLV(b[1:])
	return a, rest, err
}

func parsePrefixes(b []byte, six bool) ([]netip.Prefix, error) {
	var list []netip.Prefix
	size := 4
	if six {
		size = 16
	}
	for len(b) > 0 {
		bits := int(b[0])
		n := (bits + 7) / 8
		if bits > size*8 || len(b) < 1+n {
			return list, fmt.Errorf("prefix of %d bits in %d bytes", bits, len(b)-1)
		}
		raw := make([]byte, size)
		copy(raw, b[1:1+n])
		addr, _ := netip.AddrFromSlice(raw)
		list = append(list, netip.PrefixFrom(addr, bits).Masked())
		b = b[1+n:]
	}
	return list, nil
}

// BuildUpdate composes a whole UPDATE of IPv4 prefixes; those of IPv6 go into attributes of the caller.
func BuildUpdate(withdrawn []netip.Prefix, attrs []Attr, announced []netip.Prefix) []byte {
	part := appendPrefixes(nil, withdrawn)
	body := binary.BigEndian.AppendUint16(nil, uint16(len(part)))
	body = append(body, part...)
	part = nil
	for _, a := range attrs {
		part = a.append(part)
	}
	body = binary.BigEndian.AppendUint16(body, uint16(len(part)))
	return Frame(TypeUpdate, appendPrefixes(append(body, part...), announced))
}

func (a Attr) append(b []byte) []byte {
	if len(a.Value) > 255 || a.Flags&0x10 != 0 {
		b = append(b, a.Flags|0x10, a.Type)
		b = binary.BigEndian.AppendUint16(b, uint16(len(a.Value)))
	} else {
		b = append(b, a.Flags, a.Type, byte(len(a.Value)))
	}
	return append(b, a.Value...)
}

func appendPrefixes(b []byte, prefixes []netip.Prefix) []byte {
	for _, p := range prefixes {
		b = append(b, byte(p.Bits()))
		b = append(b, p.Addr().AsSlice()[:(p.Bits()+7)/8]...)
	}
	return b
}

// PathAttrs are the attributes that every IPv4 route has, ORIGIN IGP, AS_PATH and NEXT_HOP, and a MED.
func PathAttrs(path []uint32, nextHop netip.Addr, med uint32) []Attr {
	segment := []byte{2, byte(len(path))}
	for _, asn := range path {
		segment = binary.BigEndian.AppendUint32(segment, asn)
	}
	return []Attr{
		{0x40, AttrOrigin, []byte{0}},
		{0x40, AttrASPath, segment},
		{0x40, AttrNextHop, nextHop.AsSlice()},
		{0x80, AttrMED, binary.BigEndian.AppendUint32(nil, med)},
	}
}

// Routes makes the UPDATEs of a table that never stops changing.
type Routes struct {
	Count     int // IPv4 prefixes, /24s from 20.0.0.0 on; at most 10,000,000
	PerUpdate int // prefixes in one UPDATE, at most 1000
	Path      []uint32
	NextHop   netip.Addr
}

// Updates is the number of UPDATEs that announce the table once.
func (r Routes) Updates() int { return (r.Count + r.PerUpdate - 1) / r.PerUpdate }

// Update is the i-th UPDATE of an endless run. Each pass over the table announces every prefix with a MED that is one
// higher than in the pass before, so that every UPDATE is a change.
func (r Routes) Update(i int) []byte {
	chunk, pass := i%r.Updates(), i/r.Updates()
	first := chunk * r.PerUpdate
	prefixes := make([]netip.Prefix, 0, r.PerUpdate)
	for p := first; p < min(first+r.PerUpdate, r.Count); p++ {
		var raw [4]byte
		binary.BigEndian.PutUint32(raw[:], 20<<24+uint32(p)<<8)
		prefixes = append(prefixes, netip.PrefixFrom(netip.AddrFrom4(raw), 24))
	}
	return BuildUpdate(nil, PathAttrs(r.Path, r.NextHop, uint32(pass)), prefixes)
}
