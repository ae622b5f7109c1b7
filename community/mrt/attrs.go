package mrt

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"

	"github.com/catchment-bgp/catchment/community"
)

// The path attributes that are read (RFC 4271, 1997, 4360, 4760, 6793, 8092).
const (
	attrASPath        = 2
	attrNextHop       = 3
	attrAggregator    = 7
	attrCommunities   = 8
	attrReach         = 14
	attrUnreach       = 15
	attrExtended      = 16
	attrAS4Path       = 17
	attrAS4Aggregator = 18
	attrLarge         = 32
	attrLast          = attrLarge
)

// flagExtended is the flag of an attribute whose length has two octets.
const flagExtended = 0x10

// asTrans stands for an ASN that does not fit into two octets (RFC 6793, section 9).
const asTrans = 23456

// attributes are the values of the path attributes of one route, none decoded; nil where
// there is none. Of one that is there twice the first counts (RFC 7606, section 3 g).
type attributes [attrLast + 1][]byte

// split finds the attributes in b. It allocates nothing.
func (a *attributes) split(b []byte) error {
	*a = attributes{}
	for len(b) > 0 {
		if len(b) < 3 {
			return fmt.Errorf("%d octets are left behind the path attributes", len(b))
		}
		flags, kind, size, head := b[0], b[1], int(b[2]), 3
		if flags&flagExtended != 0 {
			if len(b) < 4 {
				return fmt.Errorf("path attribute %d ends in its header", kind)
			}
			size, head = int(binary.BigEndian.Uint16(b[2:])), 4
		}
		if len(b)-head < size {
			return fmt.Errorf("path attribute %d of %d octets, with %d there", kind, size, len(b)-head)
		}
		if kind <= attrLast {
			if a[kind] == nil {
				a[kind] = b[head : head+size : head+size]
			} else if kind == attrReach || kind == attrUnreach {
				return fmt.Errorf("path attribute %d twice", kind)
			}
		}
		b = b[head+size:]
	}
	return nil
}

// route is what the attributes of a route say.
type route struct {
	path        Path
	nextHop     netip.Addr
	communities community.Set
}

// decode reads the attributes of a route that stands in NLRI or, with mp, in MP_REACH_NLRI;
// width is the octets of an ASN in AS_PATH.
func (a *attributes) decode(width int, mp bool) (r route, err error) {
	if r.path, err = a.path(width); err != nil {
		return route{}, err
	}
	if r.nextHop, err = a.hop(mp); err != nil {
		return route{}, err
	}
	if r.communities, err = a.communities(); err != nil {
		return route{}, err
	}
	return r, nil
}

// path returns AS_PATH with AS4_PATH merged into it.
func (a *attributes) path(width int) (Path, error) {
	p, err := parsePath(a[attrASPath], width)
	if err != nil {
		return nil, fmt.Errorf("AS_PATH: %w", err)
	}
	// A peer with 4-octet ASNs must not send AS4_PATH (RFC 6793, section 4.1), and it is
	// ignored from any with AS4_AGGREGATOR if AGGREGATOR has an ASN of its own (4.2.3).
	if width == 4 || a[attrAS4Path] == nil {
		return p, nil
	}
	if agg := a[attrAggregator]; a[attrAS4Aggregator] != nil && len(agg) >= 2 && binary.BigEndian.Uint16(agg) != asTrans {
		return p, nil
	}
	as4, err := parsePath(a[attrAS4Path], 4)
	if err != nil {
		return p, nil // discarded as if not there (section 6)
	}
	return merge(p, as4), nil
}

// hop returns the next hop.
func (a *attributes) hop(mp bool) (netip.Addr, error) {
	if mp {
		m, err := parseReach(a[attrReach], true)
		return m.hop, err
	}
	switch b := a[attrNextHop]; len(b) {
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
func (a *attributes) communities() (community.Set, error) {
	std, ext, large := a[attrCommunities], a[attrExtended], a[attrLarge]
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

// reach is what stands in MP_REACH_NLRI, or MP_UNREACH_NLRI without a next hop.
type reach struct {
	afi  uint16
	safi byte
	hop  netip.Addr
	nlri []byte
}

// parseReach reads MP_REACH_NLRI (RFC 4760, section 3), or with short perhaps the form that
// tables have, the next hop alone (RFC 6396, section 4.3.4). The first octet tells: it is
// the length of a next hop, or the upper octet of an AFI that is below 256.
func parseReach(b []byte, short bool) (reach, error) {
	if len(b) == 0 {
		return reach{}, nil
	}
	if short && b[0] != 0 {
		if len(b) != 1+int(b[0]) {
			return reach{}, fmt.Errorf("MP_REACH_NLRI with a next hop of %d octets and %d there", b[0], len(b)-1)
		}
		hop, err := parseHop(b[1:])
		return reach{hop: hop}, err
	}
	if len(b) < 5 || len(b) < 5+int(b[3]) {
		return reach{}, fmt.Errorf("MP_REACH_NLRI of %d octets ends in its next hop", len(b))
	}
	m := reach{afi: binary.BigEndian.Uint16(b), safi: b[2], nlri: b[5+int(b[3]):]}
	if m.safi != safiUnicast || m.afi != afiIPv4 && m.afi != afiIPv6 {
		return m, nil // its next hop may be of another form
	}
	var err error
	m.hop, err = parseHop(b[4 : 4+int(b[3])])
	return m, err
}

// errHop is that of a next hop of another length.
var errHop = errors.New("MP_REACH_NLRI with a next hop of neither 4, 16 nor 32 octets")

// parseHop reads a next hop: an address, or a global and a link-local one.
func parseHop(b []byte) (netip.Addr, error) {
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

// parseUnreach reads MP_UNREACH_NLRI (RFC 4760, section 4).
func parseUnreach(b []byte) (reach, error) {
	if b == nil {
		return reach{}, nil
	}
	if len(b) < 3 {
		return reach{}, fmt.Errorf("MP_UNREACH_NLRI of %d octets", len(b))
	}
	return reach{afi: binary.BigEndian.Uint16(b), safi: b[2], nlri: b[3:]}, nil
}
