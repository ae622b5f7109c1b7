package community

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
)

// Kind is the path attribute that a value travels in. The zero Kind is that of
// the zero Value, which is no community.
type Kind uint8

// The kinds, in the order in which a Set sorts them.
const (
	Standard Kind = iota + 1 // COMMUNITIES, attribute type 8 (RFC 1997)
	Extended                 // EXTENDED COMMUNITIES, attribute type 16 (RFC 4360)
	Large                    // LARGE_COMMUNITY, attribute type 32 (RFC 8092)
)

// String returns "standard", "extended" or "large".
func (k Kind) String() string {
	switch k {
	case Standard:
		return "standard"
	case Extended:
		return "extended"
	case Large:
		return "large"
	}
	return fmt.Sprintf("Kind(%d)", uint8(k))
}

// Size is the number of octets of one value on the wire: 4, 8 or 12, and 0 for
// what is no kind.
func (k Kind) Size() int {
	switch k {
	case Standard:
		return 4
	case Extended:
		return 8
	case Large:
		return 12
	}
	return 0
}

// Value is one community of any kind. Two Values are equal by == exactly if
// they are the same community. The zero Value is no community.
type Value struct {
	kind Kind
	// wire holds the octets in network order, then zeros. Equal values thus have
	// equal arrays, and the order of the octets is the order of the numbers.
	wire [12]byte
}

// NewStandard returns the standard community asn:v.
func NewStandard(asn, v uint16) Value {
	return standard(uint32(asn)<<16 | uint32(v))
}

// standard returns the standard community of the 32 bits n.
func standard(n uint32) Value {
	v := Value{kind: Standard}
	binary.BigEndian.PutUint32(v.wire[:], n)
	return v
}

// NewExtended returns the extended community of eight octets in network order:
// type, most often a sub-type, value (RFC 4360, section 2).
func NewExtended(octets [8]byte) Value {
	v := Value{kind: Extended}
	copy(v.wire[:], octets[:])
	return v
}

// NewLarge returns the large community global:local1:local2 (RFC 8092, section 3).
func NewLarge(global, local1, local2 uint32) Value {
	v := Value{kind: Large}
	binary.BigEndian.PutUint32(v.wire[0:], global)
	binary.BigEndian.PutUint32(v.wire[4:], local1)
	binary.BigEndian.PutUint32(v.wire[8:], local2)
	return v
}

// Kind returns the kind of v; zero for the zero Value.
func (v Value) Kind() Kind { return v.kind }

// Standard returns the 32 bits of a standard community, the ASN in the upper
// half; false if v is of another kind.
func (v Value) Standard() (uint32, bool) {
	if v.kind != Standard {
		return 0, false
	}
	return binary.BigEndian.Uint32(v.wire[:]), true
}

// Extended returns the octets of an extended community in network order; false
// if v is of another kind.
func (v Value) Extended() ([8]byte, bool) {
	if v.kind != Extended {
		return [8]byte{}, false
	}
	return [8]byte(v.wire[:8]), true
}

// Large returns the Global Administrator and the two Local Data Parts of a large
// community (RFC 8092, section 3); false if v is of another kind.
func (v Value) Large() ([3]uint32, bool) {
	if v.kind != Large {
		return [3]uint32{}, false
	}
	return [3]uint32{
		binary.BigEndian.Uint32(v.wire[0:]),
		binary.BigEndian.Uint32(v.wire[4:]),
		binary.BigEndian.Uint32(v.wire[8:]),
	}, true
}

// Compare orders values: standard, extended, large, and numerically within a
// kind. It returns a negative number, zero or a positive one, as [cmp.Compare].
func Compare(a, b Value) int {
	if c := cmp.Compare(a.kind, b.kind); c != 0 {
		return c
	}
	return bytes.Compare(a.wire[:], b.wire[:])
}

// Admin is the global administrator of an extended community of an ASN, transitive or
// not (RFC 4360, section 3.1; RFC 5668, section 2), the ASN; false if v is no such
// community.
func (v Value) Admin() (uint32, bool) {
	if v.kind != Extended {
		return 0, false
	}
	switch v.wire[0] &^ nonTransitive {
	case typeTwoOctetAS:
		return uint32(binary.BigEndian.Uint16(v.wire[2:])), true
	case typeFourOctetAS:
		return binary.BigEndian.Uint32(v.wire[2:]), true
	}
	return 0, false
}
