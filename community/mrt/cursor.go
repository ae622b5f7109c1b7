package mrt

import (
	"encoding/binary"
	"errors"
	"net/netip"
)

// errShort is that of a record whose fields need more octets than it has.
var errShort = errors.New("the record ends inside a field")

// cursor reads fields. After one that is not there it is short, and all that follow are zero.
type cursor struct {
	b     []byte
	short bool
}

// bytes returns the next n octets; nil if they are not there.
func (c *cursor) bytes(n int) []byte {
	if c.short || len(c.b) < n {
		c.short, c.b = true, nil
		return nil
	}
	b := c.b[:n:n]
	c.b = c.b[n:]
	return b
}

func (c *cursor) u8() byte {
	if b := c.bytes(1); b != nil {
		return b[0]
	}
	return 0
}

func (c *cursor) u16() uint16 {
	if b := c.bytes(2); b != nil {
		return binary.BigEndian.Uint16(b)
	}
	return 0
}

func (c *cursor) u32() uint32 {
	if b := c.bytes(4); b != nil {
		return binary.BigEndian.Uint32(b)
	}
	return 0
}

// asn reads an ASN of width octets.
func (c *cursor) asn(width int) uint32 {
	if width == 2 {
		return uint32(c.u16())
	}
	return c.u32()
}

// addr reads an address.
func (c *cursor) addr(afi uint16) netip.Addr {
	n := 4
	if afi == afiIPv6 {
		n = 16
	}
	a, _ := netip.AddrFromSlice(c.bytes(n)) // the zero Addr of nil
	return a
}
