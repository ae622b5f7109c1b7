package guard

import (
	"encoding/binary"
	"fmt"
	"net/netip"
)

const (
	bgpVersion = 4
	asTrans    = 23456 // RFC 6793, section 9

	paramCapabilities = 2   // RFC 5492
	paramExtended     = 255 // RFC 9072

	capMultiprotocol   = 1
	capRefresh         = 2
	capExtendedNextHop = 5
	capRole            = 9
	capFourOctet       = 65
)

// open is what an OPEN says, as far as a guard wants to know.
type open struct {
	asn       uint32 // of capability 65, else of the fixed field
	hold      uint16 // seconds
	id        netip.Addr
	families  familySet
	refresh   bool
	fourOctet bool
	extended  bool // IPv4 unicast with an IPv6 next hop
	role      Role
	// Of capabilities that only the parser sees:
	unknownRole   bool // a value that RFC 9234 does not define
	roleConflict  bool // several values
	multiprotocol bool // at least one capability 1
}

// familySet holds one bit for each Family.
type familySet uint8

func (s familySet) has(f Family) bool { return s&(1<<f) != 0 }

func (s *familySet) add(f Family) { *s |= 1 << f }

func (s familySet) list() []Family {
	var out []Family
	for f := IPv4; f <= IPv6; f++ {
		if s.has(f) {
			out = append(out, f)
		}
	}
	return out
}

// append appends the whole message to b.
func (o open) append(b []byte) []byte {
	caps := o.appendCapabilities(nil)
	params := 0
	if len(caps) > 0 {
		params = 2 + len(caps)
	}
	b = appendHeader(b, typeOpen, 10+params)
	short := uint16(asTrans)
	if o.asn <= 0xffff {
		short = uint16(o.asn)
	}
	b = append(b, bgpVersion)
	b = binary.BigEndian.AppendUint16(b, short)
	b = binary.BigEndian.AppendUint16(b, o.hold)
	id := o.id.As4()
	b = append(b, id[:]...)
	b = append(b, byte(params))
	if params > 0 {
		b = append(b, paramCapabilities, byte(len(caps)))
	}
	return append(b, caps...)
}

func (o open) appendCapabilities(b []byte) []byte {
	b = appendMultiprotocol(b, o.families)
	if o.refresh {
		b = append(b, capRefresh, 0)
	}
	if o.extended {
		b = append(b, capExtendedNextHop, 6, 0, byte(IPv4), 0, safiUnicast, 0, byte(IPv6))
	}
	if o.role != NoRole {
		b = append(b, capRole, 1, o.role.capability())
	}
	if o.fourOctet {
		b = append(b, capFourOctet, 4)
		b = binary.BigEndian.AppendUint32(b, o.asn)
	}
	return b
}

func appendMultiprotocol(b []byte, families familySet) []byte {
	for _, f := range families.list() {
		b = append(b, capMultiprotocol, 4, 0, byte(f), 0, safiUnicast)
	}
	return b
}

// parseOpen takes the body of an OPEN apart. The body has at least the 10
// bytes that checkHeader asks for. Faults are those of RFC 4271, section 6.2.
func parseOpen(body []byte) (open, *fault) {
	if body[0] != bgpVersion {
		return open{}, openFault(openVersion, []byte{0, bgpVersion}, "neighbour speaks BGP version %d, not 4", body[0])
	}
	o := open{
		asn:  uint32(binary.BigEndian.Uint16(body[1:3])),
		hold: binary.BigEndian.Uint16(body[3:5]),
		id:   netip.AddrFrom4([4]byte(body[5:9])),
	}
	size, params := int(body[9]), body[10:]
	wide := false
	// RFC 9072, section 2: a first parameter of type 255 announces two-octet
	// lengths, whatever (nonzero) value the one-octet length has.
	if size != 0 && len(params) >= 3 && params[0] == paramExtended {
		size, params, wide = int(binary.BigEndian.Uint16(params[1:3])), params[3:], true
	}
	if size != len(params) {
		return open{}, malformed("optional parameters of %d bytes where %d follow", size, len(params))
	}
	if f := o.parseParameters(params, wide); f != nil {
		return open{}, f
	}
	if !o.multiprotocol {
		o.families.add(IPv4) // RFC 4760, section 8: what a speaker without it carries
	}
	return o, nil
}

func (o *open) parseParameters(b []byte, wide bool) *fault {
	head := 2
	if wide {
		head = 3
	}
	for len(b) > 0 {
		if len(b) < head {
			return malformed("an optional parameter is cut off")
		}
		kind, size := b[0], int(b[1])
		if wide {
			size = int(binary.BigEndian.Uint16(b[1:3]))
		}
		b = b[head:]
		if size > len(b) {
			return malformed("optional parameter %d is cut off", kind)
		}
		if kind != paramCapabilities {
			return openFault(openParameter, nil, "neighbour sent the optional parameter %d, which is not known", kind)
		}
		if f := o.parseCapabilities(b[:size]); f != nil {
			return f
		}
		b = b[size:]
	}
	return nil
}

func (o *open) parseCapabilities(b []byte) *fault {
	for len(b) > 0 {
		if len(b) < 2 || int(b[1]) > len(b)-2 {
			return malformed("a capability is cut off")
		}
		code, value := b[0], b[2:2+int(b[1])]
		if !o.parseCapability(code, value) {
			return malformed("capability %d has the impossible length %d", code, len(value))
		}
		b = b[2+len(value):]
	}
	return nil
}

// parseCapability reports whether the length fits the code. Codes that a guard
// has no use for are passed over (RFC 5492, section 3).
func (o *open) parseCapability(code byte, v []byte) bool {
	switch code {
	case capMultiprotocol:
		if len(v) != 4 {
			return false
		}
		o.multiprotocol = true
		if f, ok := familyOf(binary.BigEndian.Uint16(v), v[3]); ok {
			o.families.add(f)
		}
	case capRefresh:
		o.refresh = true
		return len(v) == 0
	case capExtendedNextHop:
		return o.parseExtendedNextHop(v)
	case capRole:
		if len(v) != 1 {
			return false
		}
		o.parseRole(v[0])
	case capFourOctet:
		if len(v) != 4 {
			return false
		}
		o.fourOctet, o.asn = true, binary.BigEndian.Uint32(v)
	}
	return true
}

// parseExtendedNextHop reads triples of AFI, two-octet SAFI and next hop AFI
// (RFC 8950, section 4).
func (o *open) parseExtendedNextHop(v []byte) bool {
	if len(v)%6 != 0 {
		return false
	}
	for ; len(v) > 0; v = v[6:] {
		if [6]byte(v) == [6]byte{0, byte(IPv4), 0, safiUnicast, 0, byte(IPv6)} {
			o.extended = true
		}
	}
	return true
}

// parseRole keeps one role and remembers a second, different one (RFC 9234,
// section 4.2).
func (o *open) parseRole(v byte) {
	r, known := NoRole, v <= Peer.capability()
	if known {
		r = Role(v + 1)
	}
	if o.role != NoRole && (r != o.role || !known) || o.unknownRole && known {
		o.roleConflict = true
	}
	o.role, o.unknownRole = r, !known
}

func openFault(subcode byte, data []byte, format string, args ...any) *fault {
	return &fault{
		reason: fmt.Sprintf(format, args...),
		notify: &notification{code: codeOpen, subcode: subcode, data: data},
	}
}

func malformed(format string, args ...any) *fault {
	return openFault(openUnspecific, nil, "neighbour sent a malformed OPEN: "+format, args...)
}
