package update

import (
	"encoding/binary"
	"fmt"
	"strconv"
)

// SegmentType is the type of a segment of an AS_PATH.
type SegmentType uint8

// The types (RFC 4271, section 4.3; RFC 5065, section 3).
const (
	Set            SegmentType = 1 // AS_SET, in no order
	Sequence       SegmentType = 2 // AS_SEQUENCE, the neighbour first
	ConfedSequence SegmentType = 3 // AS_CONFED_SEQUENCE
	ConfedSet      SegmentType = 4 // AS_CONFED_SET
)

// Segment is one segment of an AS_PATH.
type Segment struct {
	Type SegmentType
	ASNs []uint32
}

// Path is an AS_PATH.
type Path []Segment

// marks are what stands around and between the ASNs of a segment in text.
var marks = map[SegmentType][3]string{
	Set:            {"{", "}", ","},
	Sequence:       {"", "", " "},
	ConfedSequence: {"(", ")", " "},
	ConfedSet:      {"[", "]", ","},
}

// String returns the path as bgpdump and most routers print it: 64500 64501 {64502,64503}
// with a set at the end, (65001 65002) for a sequence inside a confederation and [65001,65002]
// for a set there; "" if it is empty.
func (p Path) String() string {
	var b []byte
	for i, s := range p {
		if i > 0 {
			b = append(b, ' ')
		}
		m := marks[s.Type]
		b = append(b, m[0]...)
		for i, asn := range s.ASNs {
			if i > 0 {
				b = append(b, m[2]...)
			}
			b = strconv.AppendUint(b, uint64(asn), 10)
		}
		b = append(b, m[1]...)
	}
	return string(b)
}

// MarshalText returns the text of String.
func (p Path) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// hops is how many ASNs are counted: of a set one, of a confederation none (RFC 4271,
// section 9.1.2.2; RFC 5065, section 5.3).
func (p Path) hops() int {
	n := 0
	for _, s := range p {
		switch s.Type {
		case Sequence:
			n += len(s.ASNs)
		case Set:
			n++
		}
	}
	return n
}

// parsePath reads AS_PATH, or AS4_PATH, with ASNs of width octets.
func parsePath(b []byte, width int) (Path, error) {
	var p Path
	for len(b) > 0 {
		if len(b) < 2 {
			return nil, fmt.Errorf("one octet is left behind its segments")
		}
		kind, n := SegmentType(b[0]), int(b[1])
		if kind < Set || kind > ConfedSet {
			return nil, fmt.Errorf("segment type %d; the types are 1 to 4", kind)
		}
		if b = b[2:]; len(b) < n*width {
			return nil, fmt.Errorf("segment of %d ASNs in %d octets", n, len(b))
		}
		asns := make([]uint32, n)
		for i := range asns {
			if width == 2 {
				asns[i] = uint32(binary.BigEndian.Uint16(b[2*i:]))
			} else {
				asns[i] = binary.BigEndian.Uint32(b[4*i:])
			}
		}
		p, b = append(p, Segment{kind, asns}), b[n*width:]
	}
	return p, nil
}

// merge returns the path that a peer with 2-octet ASNs sent as AS_PATH and AS4_PATH (RFC 6793,
// section 4.2.3): as many ASNs of the leading part of p as make it as long as p is, then as4. It
// is p if as4 is longer.
func merge(p, as4 Path) Path {
	kept := make(Path, 0, len(as4))
	for _, s := range as4 {
		if s.Type == Set || s.Type == Sequence { // others MUST be discarded (section 6)
			kept = append(kept, s)
		}
	}
	lead := p.hops() - kept.hops()
	if lead < 0 || len(kept) == 0 {
		return p
	}
	var out Path
	for _, s := range p {
		// A segment of a confederation is prepended if it leads the path or is
		// adjacent to one that is; what comes here is.
		if s.Type == ConfedSequence || s.Type == ConfedSet {
			out = append(out, s)
			continue
		}
		if lead == 0 {
			break
		}
		if s.Type == Set {
			lead--
		} else {
			s.ASNs = s.ASNs[:min(lead, len(s.ASNs))]
			lead -= len(s.ASNs)
		}
		out = append(out, s)
	}
	return append(out, kept...).joined()
}

// joined returns p with neighbouring sequences as one.
func (p Path) joined() Path {
	var out Path
	for _, s := range p {
		if last := len(out) - 1; last >= 0 && s.Type == Sequence && out[last].Type == Sequence {
			asns := out[last].ASNs
			out[last].ASNs = append(asns[:len(asns):len(asns)], s.ASNs...)
			continue
		}
		out = append(out, s)
	}
	return out
}
