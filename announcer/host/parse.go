package host

import (
	"encoding/binary"
	"net/netip"
)

// Change is what an UPDATE does to the default route of one family.
type Change uint8

// The changes. The zero Change is NoChange.
const (
	NoChange Change = iota
	Announced
	Withdrawn
)

// FamilyChange is what an UPDATE says on the default route of one family.
// NextHop is valid if and only if Change is Announced. It is an IPv6 address
// for 0.0.0.0/0, too, where RFC 8950 was negotiated. LinkLocal is the
// link-local address of the next hop where the neighbour gave one; it equals
// NextHop where it gave no other. Neither has a zone.
type FamilyChange struct {
	Change             Change
	NextHop, LinkLocal netip.Addr
}

// DefaultChange is what an UPDATE says on 0.0.0.0/0 and ::/0.
type DefaultChange struct{ IPv4, IPv6 FamilyChange }

// DefaultParams is what ParseDefault must know of the session.
type DefaultParams struct {
	// IPv4 and IPv6 are the unicast families of the session; what an UPDATE
	// says on another family is ignored.
	IPv4, IPv6 bool
	// ExtendedNextHop allows IPv6 next hops for IPv4 routes (RFC 8950).
	ExtendedNextHop bool
	// TwoOctetAS is set if the neighbour did not offer four-octet AS numbers
	// (RFC 6793): its AS_PATH then has two octets per AS.
	TwoOctetAS bool
	// LocalASN is ours; a path that holds it is a loop.
	LocalASN uint32
}

// ParseDefault takes from the body of an UPDATE (RFC 4271, section 4.3, without
// the 19 octets of the header) what it says on the default routes; other routes
// are skipped. A default that is announced with our own ASN in its path, or with
// a next hop that no router can have, replaces the one before as any
// announcement does (RFC 4271, section 9.1) but cannot be used: it comes out as
// Withdrawn. A default both announced and withdrawn counts as announced (section
// 4.3).
//
// ok is false if the UPDATE is malformed; then nothing may be taken from it. It
// is stricter than RFC 7606 asks: an attribute of those read here that stands
// twice, or with wrong flags, is malformed, and so is a route without ORIGIN,
// AS_PATH or next hop. It neither allocates nor keeps body.
func ParseDefault(body []byte, p DefaultParams) (change DefaultChange, ok bool) {
	withdrawn, attrs, nlri, ok := splitUpdate(body)
	if !ok {
		return DefaultChange{}, false
	}
	a, ok := readAttributes(attrs)
	if !ok {
		return DefaultChange{}, false
	}
	gone4, ok1 := hasDefault(withdrawn, 32)
	come4, ok2 := hasDefault(nlri, 32)
	mpGone, ok3 := parseUnreach(a.value[mpUnreach], p)
	mpCome, ok4 := parseReach(a.value[mpReach], p)
	if !ok1 || !ok2 || !ok3 || !ok4 {
		return DefaultChange{}, false
	}
	if (len(nlri) > 0 || mpCome.routes) && !a.usable(len(nlri) > 0) {
		return DefaultChange{}, false
	}
	loop, ok := a.loops(p)
	if !ok {
		return DefaultChange{}, false
	}

	var v4, v6 FamilyChange
	if gone4 || mpGone.ipv4 {
		v4.Change = Withdrawn
	}
	if mpGone.ipv6 {
		v6.Change = Withdrawn
	}
	if mpCome.found {
		if mpCome.ipv6 {
			v6 = announced(mpCome.hop, loop)
		} else {
			v4 = announced(mpCome.hop, loop)
		}
	}
	if come4 {
		hop := netip.AddrFrom4([4]byte(a.value[nextHop]))
		v4 = announced(hops{main: hop}, loop)
	}
	if p.IPv4 {
		change.IPv4 = v4
	}
	if p.IPv6 {
		change.IPv6 = v6
	}
	return change, true
}

func announced(h hops, loop bool) FamilyChange {
	if loop || !plausible(h.main) {
		return FamilyChange{Change: Withdrawn}
	}
	return FamilyChange{Change: Announced, NextHop: h.main, LinkLocal: h.linkLocal}
}

func splitUpdate(body []byte) (withdrawn, attrs, nlri []byte, ok bool) {
	withdrawn, rest, ok := cutLength16(body)
	if !ok {
		return nil, nil, nil, false
	}
	attrs, nlri, ok = cutLength16(rest)
	return withdrawn, attrs, nlri, ok
}

func cutLength16(b []byte) (head, rest []byte, ok bool) {
	if len(b) < 2 {
		return nil, nil, false
	}
	n := int(binary.BigEndian.Uint16(b))
	if len(b) < 2+n {
		return nil, nil, false
	}
	return b[2 : 2+n], b[2+n:], true
}

// hasDefault walks prefixes in wire form (RFC 4271, section 4.3: a length in
// bits and as few octets as hold them).
func hasDefault(b []byte, maxBits byte) (found, ok bool) {
	for len(b) > 0 {
		bits := b[0]
		octets := (int(bits) + 7) / 8
		if bits > maxBits || len(b) < 1+octets {
			return false, false
		}
		found = found || bits == 0
		b = b[1+octets:]
	}
	return found, true
}

// The path attributes that are read (RFC 4271, RFC 4760, RFC 6793).
const (
	origin    = 1
	asPath    = 2
	nextHop   = 3
	mpReach   = 14
	mpUnreach = 15
	as4Path   = 17
	attrLimit = 18
)

// attributes holds the values of the attributes that are read; nil: absent. An
// attribute of no octets is not nil.
type attributes struct{ value [attrLimit][]byte }

// Attribute flags (RFC 4271, section 4.3).
const (
	flagOptional   = 0x80
	flagTransitive = 0x40
	flagPartial    = 0x20
	flagExtended   = 0x10
)

func readAttributes(b []byte) (a attributes, ok bool) {
	for len(b) > 0 {
		if len(b) < 3 {
			return a, false
		}
		flags, kind, n, head := b[0], b[1], int(b[2]), 3
		if flags&flagExtended != 0 {
			if len(b) < 4 {
				return a, false
			}
			n, head = int(binary.BigEndian.Uint16(b[2:])), 4
		}
		if len(b) < head+n {
			return a, false
		}
		value := b[head : head+n : head+n]
		b = b[head+n:]
		if !read(kind) {
			continue
		}
		if a.value[kind] != nil || !shaped(flags, kind, value) {
			return a, false
		}
		a.value[kind] = value
	}
	return a, true
}

func read(kind byte) bool {
	switch kind {
	case origin, asPath, nextHop, mpReach, mpUnreach, as4Path:
		return true
	}
	return false
}

// shaped checks the flags of an attribute that is read, and what its value must
// be whatever the session.
func shaped(flags, kind byte, value []byte) bool {
	class := flags & (flagOptional | flagTransitive)
	switch kind {
	case origin:
		return class == flagTransitive && flags&flagPartial == 0 && len(value) == 1 && value[0] <= 2
	case asPath:
		return class == flagTransitive && flags&flagPartial == 0
	case nextHop:
		return class == flagTransitive && flags&flagPartial == 0 && len(value) == 4
	case mpReach, mpUnreach:
		return class == flagOptional && flags&flagPartial == 0
	default:
		return class == flagOptional|flagTransitive
	}
}

// usable tells whether what a route must come with is there (RFC 4271, section
// 5; RFC 4760, section 3: no NEXT_HOP is needed beside MP_REACH_NLRI).
func (a *attributes) usable(classic bool) bool {
	return a.value[origin] != nil && a.value[asPath] != nil && (!classic || a.value[nextHop] != nil)
}
