package update

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"

	"github.com/catchment-bgp/catchment/community"
)

// The path attributes that are read (RFC 4271, 1997, 4360, 4760, 6793, 8092).
const (
	AttrASPath        = 2
	AttrNextHop       = 3
	AttrAggregator    = 7
	AttrCommunities   = 8
	AttrReach         = 14
	AttrUnreach       = 15
	AttrExtended      = 16
	AttrAS4Path       = 17
	AttrAS4Aggregator = 18
	AttrLarge         = 32
	AttrLast          = AttrLarge
)

// FlagExtended is the flag of an attribute whose length has two octets.
const FlagExtended = 0x10

// ASTrans stands for an ASN that does not fit into two octets (RFC 6793, section 9).
const ASTrans = 23456

// Attributes are the values of the path attributes of one route, none decoded; nil where
// there is none. Of one that is there twice the first counts (RFC 7606, section 3 g).
type Attributes [AttrLast + 1][]byte

// Split finds the attributes in b. It allocates nothing.
func (a *Attributes) Split(b []byte) error {
	*a = Attributes{}
	for len(b) > 0 {
		if len(b) < 3 {
			return fmt.Errorf("%d octets are left behind the path attributes", len(b))
		}
		flags, kind, size, head := b[0], b[1], int(b[2]), 3
		if flags&FlagExtended != 0 {
			if len(b) < 4 {
				return fmt.Errorf("path attribute %d ends in its header", kind)
			}
			size, head = int(binary.BigEndian.Uint16(b[2:])), 4
		}
		if len(b)-head < size {
			return fmt.Errorf("path attribute %d of %d octets, with %d there", kind, size, len(b)-head)
		}
		if kind <= AttrLast {
			if a[kind] == nil {
				a[kind] = b[head : head+size : head+size]
			} else if kind == AttrReach || kind == AttrUnreach {
				return fmt.Errorf("path attribute %d twice", kind)
			}
		}
		b = b[head+size:]
	}
	return nil
}

// Route is what the attributes of a route say.
type Route struct {
	Path        Path
	NextHop     netip.Addr
	Communities community.Set
}

// Decode reads the attributes of a route that stands in NLRI or, with mp, in MP_REACH_NLRI;
// width is the octets of an ASN in AS_PATH.
func (a *Attributes) Decode(width int, mp bool) (r Route, err error) {
	if r.Path, err = a.Path(width); err != nil {
		return Route{}, err
	}
	if r.NextHop, err = a.hop(mp); err != nil {
		return Route{}, err
	}
	if r.Communities, err = a.communities(); err != nil {
		return Route{}, err
	}
	return r, nil
}

// Path returns AS_PATH with AS4_PATH merged into it.
func (a *Attributes) Path(width int) (Path, error) {
	p, err := parsePath(a[AttrASPath], width)
	if err != nil {
		return nil, fmt.Errorf("AS_PATH: %w", err)
	}
	// A peer with 4-octet ASNs must not send AS4_PATH (RFC 6793, section 4.1), and it is
	// ignored from any with AS4_AGGREGATOR if AGGREGATOR has an ASN of its own (4.2.3).
	if width == 4 || a[AttrAS4Path] == nil {
		return p, nil
	}
	if agg := a[AttrAggregator]; a[AttrAS4Aggregator] != nil && len(agg) >= 2 && binary.BigEndian.Uint16(agg) != ASTrans {
		return p, nil
	}
	as4, err := parsePath(a[AttrAS4Path], 4)
	if err != nil {
		return p, nil // discarded as if not there (section 6)
	}
	return merge(p, as4), nil
}

// hop returns the next hop.
func (a *Attributes) hop(mp bool) (netip.Addr, error) {
	if mp {
		m, err := ParseReach(a[AttrReach], true)
		return m.Hop, err
	}
	switch b := a[AttrNextHop]; len(b) {
	case 4:
		addr, _ := netip.AddrFromSlice(b)
		return addr, nil
	case 0:
		return netip.Addr{}, nil
	default:
		return netip.Addr{}, fmt.Errorf("NEXT_HOP of %d octets, not 4", len(b))
	}
}

// communities returns those of all kinds.
func (a *Attributes) communities() (community.Set, error) {
	std, ext, large := a[AttrCommunities], a[AttrExtended], a[AttrLarge]
	n := len(std)/4 + len(ext)/8 + len(large)/12
	if n == 0 && len(std)+len(ext)+len(large) == 0 {
		return nil, nil
	}
	values := make([]community.Value, 0, n)
	for _, attr := range []struct {
		kind community.Kind
		b    []byte
	}{{community.Standard, std}, {community.Extended, ext}, {community.Large, large}} {
		size := attr.kind.Size()
		if len(attr.b)%size != 0 {
			return nil, fmt.Errorf("%s communities of %d octets, no multiple of %d", attr.kind, len(attr.b), size)
		}
		for b := attr.b; len(b) > 0; b = b[size:] {
			v, err := community.FromWire(attr.kind, b[:size])
			if err != nil {
				return nil, err
			}
			values = append(values, v)
		}
	}
	return community.NewSet(values...), nil
}

// Reach is what stands in MP_REACH_NLRI, or MP_UNREACH_NLRI without a next hop.
type Reach struct {
	AFI  uint16
	SAFI byte
	Hop  netip.Addr
	NLRI []byte
}

// ParseReach reads MP_REACH_NLRI (RFC 4760, section 3), or with short perhaps the form that
// tables have, the next hop alone (RFC 6396, section 4.3.4). The first octet tells: it is
// the length of a next hop, or the upper octet of an AFI that is below 256.
func ParseReach(b []byte, short bool) (Reach, error) {
	if len(b) == 0 {
		return Reach{}, nil
	}
	if short && b[0] != 0 {
		if len(b) != 1+int(b[0]) {
			return Reach{}, fmt.Errorf("MP_REACH_NLRI with a next hop of %d octets and %d there", b[0], len(b)-1)
		}
		hop, err := ParseHop(b[1:])
		return Reach{Hop: hop}, err
	}
	if len(b) < 5 || len(b) < 5+int(b[3]) {
		return Reach{}, fmt.Errorf("MP_REACH_NLRI of %d octets ends in its next hop", len(b))
	}
	m := Reach{AFI: binary.BigEndian.Uint16(b), SAFI: b[2], NLRI: b[5+int(b[3]):]}
	if m.SAFI != SAFIUnicast || m.AFI != AFIv4 && m.AFI != AFIv6 {
		return m, nil // its next hop may be of another form
	}
	var err error
	m.Hop, err = ParseHop(b[4 : 4+int(b[3])])
	return m, err
}

// errHop is that of a next hop of another length.
var errHop = errors.New("MP_REACH_NLRI with a next hop of neither 4, 16 nor 32 octets")

// ParseHop reads a next Hop: an address, or a global and a link-local one.
func ParseHop(b []byte) (netip.Addr, error) {
	switch len(b) {
	case 0:
		return netip.Addr{}, nil
	case 4, 16:
		addr, _ := netip.AddrFromSlice(b)
		return addr, nil
	case 32:
		return netip.AddrFrom16([16]byte(b[:16])), nil
	}
	return netip.Addr{}, errHop
}

// ParseUnreach reads MP_UNREACH_NLRI (RFC 4760, section 4).
func ParseUnreach(b []byte) (Reach, error) {
	if b == nil {
		return Reach{}, nil
	}
	if len(b) < 3 {
		return Reach{}, fmt.Errorf("MP_UNREACH_NLRI of %d octets", len(b))
	}
	return Reach{AFI: binary.BigEndian.Uint16(b), SAFI: b[2], NLRI: b[3:]}, nil
}
