package update

import (
	"encoding/binary"
	"errors"
	"net/netip"
)

// ErrShort is that of a record whose fields need more octets than it has.
var ErrShort = errors.New("the record ends inside a field")

// Cursor reads the fields of B one by one. After one that is not there it is
// Short, and all that follow are zero.
type Cursor struct {
	B     []byte // what is left
	Short bool
}

// Bytes returns the next n octets; nil if they are not there.
func (c *Cursor) Bytes(n int) []byte {
	if c.Short || len(c.B) < n {
		c.Short, c.B = true, nil
		return nil
	}
	b := c.B[:n:n]
	c.B = c.B[n:]
	return b
}

// U8 reads one octet.
func (c *Cursor) U8() byte {
	if b := c.Bytes(1); b != nil {
		return b[0]
	}
	return 0
}

// U16 reads two octets.
func (c *Cursor) U16() uint16 {
	if b := c.Bytes(2); b != nil {
		return binary.BigEndian.Uint16(b)
	}
	return 0
}

// U32 reads four octets.
func (c *Cursor) U32() uint32 {
	if b := c.Bytes(4); b != nil {
		return binary.BigEndian.Uint32(b)
	}
	return 0
}

// Asn reads an ASN of width octets.
func (c *Cursor) ASN(width int) uint32 {
	if width == 2 {
		return uint32(c.U16())
	}
	return c.U32()
}

// Addr reads an address.
func (c *Cursor) Addr(afi uint16) netip.Addr {
	n := 4
	if afi == AFIv6 {
		n = 16
	}
	a, _ := netip.AddrFromSlice(c.Bytes(n)) // the zero Addr of nil
	return a
}
