package bmp

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/catchment-bgp/catchment/community/update"
)

// open is what is wanted of an OPEN.
type open struct {
	asn uint32
	// sends and receives are the families with path identifiers (RFC 7911, section 4).
	sends, receives [2]bool
}

// The optional parameters and capabilities that are read (RFC 5492; RFC 6793; RFC 7911;
// RFC 9072).
const (
	paramCapabilities = 2
	paramExtended     = 255
	capFourOctet      = 65
	capAddPath        = 69
)

// message returns the body of the BGP message of a type that b starts with, and the rest.
func message(b []byte, kind byte) (body, rest []byte, err error) {
	if len(b) < bgpHeader {
		return nil, nil, errShort
	}
	if !bytes.HasPrefix(b, marker) {
		return nil, nil, errors.New("a BGP message that does not start with 16 octets of 255")
	}
	n := int(binary.BigEndian.Uint16(b[16:]))
	if n < bgpHeader || n > len(b) {
		return nil, nil, fmt.Errorf("a BGP message of %d octets, with %d there", n, len(b))
	}
	if b[18] != kind {
		return nil, nil, fmt.Errorf("a BGP message of type %d where one of type %d must be", b[18], kind)
	}
	return b[bgpHeader:n], b[n:], nil
}

// marker leads each BGP message (RFC 4271, section 4.1).
var marker = bytes.Repeat([]byte{0xff}, 16)

// readOpen reads an OPEN behind its header (RFC 4271, section 4.2).
func readOpen(b []byte) (o open, err error) {
	c := update.Cursor{B: b}
	c.U8() // version
	o.asn = uint32(c.U16())
	c.Bytes(2 + 4) // hold time, router ID
	size, width := int(c.U8()), 1
	if size == 255 && len(c.B) > 0 && c.B[0] == paramExtended { // RFC 9072, section 2
		c.U8()
		size, width = int(c.U16()), 2
	}
	params := update.Cursor{B: c.Bytes(size)}
	if c.Short {
		return o, errShort
	}
	for len(params.B) > 0 {
		kind := params.U8()
		n := int(params.U8())
		if width == 2 {
			n = n<<8 | int(params.U8())
		}
		value := params.Bytes(n)
		if params.Short {
			return o, errShort
		}
		if kind == paramCapabilities {
			if err := o.capabilities(value); err != nil {
				return o, err
			}
		}
	}
	return o, nil
}

func (o *open) capabilities(b []byte) error {
	for c := (update.Cursor{B: b}); len(c.B) > 0; {
		kind := c.U8()
		value := c.Bytes(int(c.U8()))
		if c.Short {
			return errShort
		}
		switch {
		case kind == capFourOctet && len(value) == 4:
			o.asn = binary.BigEndian.Uint32(value)
		case kind == capAddPath && len(value)%4 == 0:
			o.addPath(value)
		case kind == capFourOctet || kind == capAddPath:
			return fmt.Errorf("capability %d of %d octets", kind, len(value))
		}
	}
	return nil
}

// addPath reads ADD-PATH: per family 1 for who can receive, 2 for who can send, 3 for both.
func (o *open) addPath(b []byte) {
	for ; len(b) >= 4; b = b[4:] {
		f, ok := familyOf(binary.BigEndian.Uint16(b), b[2])
		if ok && b[3] >= 1 && b[3] <= 3 {
			o.receives[f], o.sends[f] = b[3]&1 != 0, b[3]&2 != 0
		}
	}
}

// opens are those of a Peer Up.
func opens(c *update.Cursor) (sent, received open, err error) {
	c.Bytes(16 + 2 + 2) // the local address, and the ports
	if c.Short {
		return sent, received, errShort
	}
	rest := c.B
	for _, o := range []*open{&sent, &received} {
		var body []byte
		if body, rest, err = message(rest, bgpOpen); err != nil {
			return sent, received, err
		}
		if *o, err = readOpen(body); err != nil {
			return sent, received, fmt.Errorf("OPEN: %w", err)
		}
	}
	return sent, received, nil
}
