package bmp

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"

	"github.com/catchment-bgp/catchment/community/update"
)

// MaxMessage is how many octets a message has at most: more than any of one BGP
// message (RFC 8654) or two OPENs.
const MaxMessage = 256 << 10

const (
	version    = 3 // RFC 7854, section 4.1
	headSize   = 6
	bgpHeader  = 19
	bgpOpen    = 1
	bgpUpdate  = 2
	peerHeader = 42
)

// The types of messages (RFC 7854, section 4.1).
const (
	typeRoutes      = 0
	typeStatistics  = 1
	typePeerDown    = 2
	typePeerUp      = 3
	typeInitiation  = 4
	typeTermination = 5
	typeMirroring   = 6
)

// The types of TLVs (RFC 7854, sections 4.4 and 4.5).
const (
	tlvText   = 0
	tlvName   = 2
	tlvReason = 1 // in a Termination
)

// The types of peers (RFC 7854, section 4.2; RFC 9069, section 4.1).
const (
	peerLast   = 2
	peerLocRIB = 3
)

// The flags of a peer (RFC 7854, section 4.2; RFC 8671, section 4).
const (
	flagIPv6   = 0x80
	flagPost   = 0x40
	flagTwo    = 0x20 // AS_PATH has two octets an ASN
	flagRIBOut = 0x10
)

// head returns the type and the size of the message behind these six octets.
func head(b [headSize]byte) (kind byte, size int, err error) {
	if b[0] != version {
		return 0, 0, fmt.Errorf("version %d of BMP, not 3", b[0])
	}
	n := binary.BigEndian.Uint32(b[1:])
	if n < headSize || n > MaxMessage {
		return 0, 0, fmt.Errorf("a message of %d octets, not %d to %d", n, headSize, MaxMessage)
	}
	return b[5], int(n) - headSize, nil
}

// errShort is that of a message with less octets than its fields need.
var errShort = errors.New("it ends inside a field")

// peerKey tells peers of a router apart (RFC 7854, section 4.2).
type peerKey struct {
	kind          byte
	distinguisher [8]byte
	addr          [16]byte
}

// perPeer is the header of messages about one peer.
type perPeer struct {
	key   peerKey
	flags byte
	asn   uint32
}

func readPeer(c *update.Cursor) (p perPeer, err error) {
	p.key.kind, p.flags = c.U8(), c.U8()
	copy(p.key.distinguisher[:], c.Bytes(8))
	copy(p.key.addr[:], c.Bytes(16))
	p.asn = c.U32()
	c.Bytes(4 + 4 + 4) // its router ID, and when
	if c.Short {
		return p, errShort
	}
	if p.key.kind > peerLocRIB {
		return p, fmt.Errorf("a peer of type %d; the types are 0 to 3", p.key.kind)
	}
	return p, nil
}

// address is that of the peer; IPv4 stands in the last four octets.
func (p perPeer) address() netip.Addr {
	switch {
	case p.key.kind == peerLocRIB:
		return netip.Addr{}
	case p.flags&flagIPv6 != 0:
		return netip.AddrFrom16(p.key.addr)
	}
	return netip.AddrFrom4([4]byte(p.key.addr[12:]))
}

// width is the octets of an ASN in AS_PATH.
func (p perPeer) width() int {
	if p.key.kind != peerLocRIB && p.flags&flagTwo != 0 {
		return 2
	}
	return 4
}

// eachTLV calls found for each TLV of an Initiation or a Termination.
func eachTLV(b []byte, found func(kind uint16, value []byte)) error {
	for c := (update.Cursor{B: b}); len(c.B) > 0; {
		kind := c.U16()
		value := c.Bytes(int(c.U16()))
		if c.Short {
			return errShort
		}
		found(kind, value)
	}
	return nil
}

// reasons of a Termination (RFC 7854, section 4.5).
var reasons = map[uint16]string{0: "administratively closed", 1: "unspecified", 2: "out of resources", 3: "redundant connection", 4: "permanently closed"}

// maxText bounds a text of a router.
const maxText = 256

// readTermination returns why the router ends the session.
func readTermination(b []byte) (why string, err error) {
	err = eachTLV(b, func(kind uint16, value []byte) {
		switch {
		case kind == tlvText && len(value) > 0:
			why = text(value)
		case kind == tlvReason && len(value) == 2 && why == "":
			why = reasons[binary.BigEndian.Uint16(value)]
		}
	})
	if why == "" {
		why = "no reason given"
	}
	return why, err
}

// text is a text of a router, of printable ASCII and not too long.
func text(b []byte) string {
	out := make([]byte, min(len(b), maxText))
	for i := range out {
		if out[i] = b[i]; b[i] < ' ' || b[i] > '~' {
			out[i] = '?'
		}
	}
	return string(out)
}
