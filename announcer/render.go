package announcer

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"
	"time"

	api "github.com/osrg/gobgp/v3/api"
	"github.com/osrg/gobgp/v3/pkg/apiutil"
	"github.com/osrg/gobgp/v3/pkg/packet/bgp"

	"github.com/catchment-bgp/catchment/community"
)

// attrOTC is the Only to Customer attribute (RFC 9234, section 5).
const attrOTC = bgp.BGPAttrType(35)

// Equal says whether two routes look the same on the wire.
func (r Route) Equal(o Route) bool {
	return r.Prefix == o.Prefix && r.NextHop == o.NextHop && r.Prepend == o.Prepend &&
		r.MED == o.MED && r.LocalPref == o.LocalPref && r.Communities.Equal(o.Communities)
}

// check refuses a route that could not be sent as it stands.
func (r Route) check(n Neighbor) error {
	family, carried := "IPv4", n.IPv4
	if r.Prefix.Addr().Is6() {
		family, carried = "IPv6", n.IPv6
	}
	switch {
	case !r.Prefix.IsValid() || r.Prefix != r.Prefix.Masked():
		return fmt.Errorf("announcer: %s to %s: the prefix has host bits or is not valid", r.Prefix, n.Name)
	case !carried:
		return fmt.Errorf("announcer: %s to %s: the session does not carry %s", r.Prefix, n.Name, family)
	case !r.NextHop.IsValid() || r.NextHop.IsUnspecified():
		return fmt.Errorf("announcer: %s to %s: no next hop", r.Prefix, n.Name)
	case r.Prefix.Addr().Is6() && !r.NextHop.Is6():
		return fmt.Errorf("announcer: %s to %s: IPv4 next hop %s for an IPv6 prefix", r.Prefix, n.Name, r.NextHop)
	case r.Prefix.Addr().Is4() && r.NextHop.Is6() && !n.ExtendedNextHop:
		return fmt.Errorf("announcer: %s to %s: IPv6 next hop %s needs ExtendedNextHop (RFC 8950)", r.Prefix, n.Name, r.NextHop)
	case r.Prepend < 0 || r.Prepend > maxPrepend:
		return fmt.Errorf("announcer: %s to %s: prepend %d is not in 0..%d", r.Prefix, n.Name, r.Prepend, maxPrepend)
	case r.Prepend > 0 && n.Kind == Internal:
		return fmt.Errorf("announcer: %s to %s: prepends over iBGP make the neighbour drop the path", r.Prefix, n.Name)
	case r.LocalPref.Set && n.Kind != Internal:
		return fmt.Errorf("announcer: %s to %s: LOCAL_PREF is not sent to external neighbours (RFC 4271, section 5.1.5)", r.Prefix, n.Name)
	}
	return nil
}

// maxPrepend is the hard cap on extra copies of our ASN in a path.
const maxPrepend = 10

// render turns a route that passed check into what GoBGP takes.
func render(r Route, n Neighbor, localASN uint32) (*api.Path, error) {
	bits := uint8(r.Prefix.Bits())
	var nlri bgp.AddrPrefixInterface = bgp.NewIPAddrPrefix(bits, r.Prefix.Addr().String())
	if r.Prefix.Addr().Is6() {
		nlri = bgp.NewIPv6AddrPrefix(bits, r.Prefix.Addr().String())
	}
	attrs := []bgp.PathAttributeInterface{bgp.NewPathAttributeOrigin(bgp.BGP_ORIGIN_ATTR_TYPE_IGP)}
	if r.Prepend > 0 {
		own := slices.Repeat([]uint32{localASN}, r.Prepend)
		attrs = append(attrs, bgp.NewPathAttributeAsPath([]bgp.AsPathParamInterface{
			bgp.NewAs4PathParam(bgp.BGP_ASPATH_ATTR_TYPE_SEQ, own)}))
	}
	if r.NextHop.Is4() {
		attrs = append(attrs, bgp.NewPathAttributeNextHop(r.NextHop.String()))
	} else {
		attrs = append(attrs, bgp.NewPathAttributeMpReachNLRI(r.NextHop.String(), []bgp.AddrPrefixInterface{nlri}))
	}
	if r.MED.Set {
		attrs = append(attrs, bgp.NewPathAttributeMultiExitDisc(r.MED.Value))
	}
	if r.LocalPref.Set {
		attrs = append(attrs, bgp.NewPathAttributeLocalPref(r.LocalPref.Value))
	}
	attrs, err := appendCommunities(attrs, r.Communities)
	if err != nil {
		return nil, fmt.Errorf("announcer: %s to %s: %w", r.Prefix, n.Name, err)
	}
	if n.Kind == Peer || n.Kind == IX {
		// RFC 9234, section 5: "If a route is to be advertised to a Customer, a
		// Peer, or an RS-Client [...] an OTC Attribute MUST be added with a value
		// equal to the AS number of the local AS."
		attrs = append(attrs, bgp.NewPathAttributeUnknown(
			bgp.BGP_ATTR_FLAG_OPTIONAL|bgp.BGP_ATTR_FLAG_TRANSITIVE, attrOTC,
			binary.BigEndian.AppendUint32(nil, localASN)))
	}
	p, err := apiutil.NewPath(nlri, false, attrs, time.Unix(0, 0))
	if err != nil {
		return nil, fmt.Errorf("announcer: %s to %s: %w", r.Prefix, n.Name, err)
	}
	return p, nil
}

func appendCommunities(attrs []bgp.PathAttributeInterface, set community.Set) ([]bgp.PathAttributeInterface, error) {
	var standard []uint32
	var extended []bgp.ExtendedCommunityInterface
	var large []*bgp.LargeCommunity
	for _, c := range set {
		if v, ok := c.Standard(); ok {
			standard = append(standard, v)
		} else if v, ok := c.Large(); ok {
			large = append(large, bgp.NewLargeCommunity(v[0], v[1], v[2]))
		} else if v, ok := c.Extended(); ok {
			e, err := bgp.ParseExtended(v[:])
			if err != nil {
				return nil, fmt.Errorf("extended community %s: %w", c, err)
			}
			extended = append(extended, e)
		}
	}
	if standard != nil {
		attrs = append(attrs, bgp.NewPathAttributeCommunities(standard))
	}
	if extended != nil {
		attrs = append(attrs, bgp.NewPathAttributeExtendedCommunities(extended))
	}
	if large != nil {
		attrs = append(attrs, bgp.NewPathAttributeLargeCommunities(large))
	}
	return attrs, nil
}

// sent is what one UPDATE of ours told the neighbour.
type sent struct {
	withdrawn []netip.Prefix
	announced []Route
}

// readSent reads an UPDATE that our own GoBGP server wrote.
func readSent(message []byte, internal bool) (sent, error) {
	var s sent
	m, err := bgp.ParseBGPMessage(message)
	if err != nil {
		return s, fmt.Errorf("announcer: read back our own UPDATE: %w", err)
	}
	u, ok := m.Body.(*bgp.BGPUpdate)
	if !ok {
		return s, fmt.Errorf("announcer: read back our own UPDATE: it is a %T", m.Body)
	}
	for _, w := range u.WithdrawnRoutes {
		s.withdrawn = append(s.withdrawn, toPrefix(w))
	}
	var shape Route
	nlri := make([]bgp.AddrPrefixInterface, 0, len(u.NLRI))
	for _, n := range u.NLRI {
		nlri = append(nlri, n)
	}
	for _, attr := range u.PathAttributes {
		switch a := attr.(type) {
		case *bgp.PathAttributeMpUnreachNLRI:
			for _, w := range a.Value {
				s.withdrawn = append(s.withdrawn, toPrefix(w))
			}
		case *bgp.PathAttributeMpReachNLRI:
			shape.NextHop, _ = netip.AddrFromSlice(a.Nexthop)
			nlri = append(nlri, a.Value...)
		case *bgp.PathAttributeNextHop:
			shape.NextHop, _ = netip.AddrFromSlice(a.Value)
		default:
			readAttr(&shape, attr, internal)
		}
	}
	if shape.NextHop.Is4In6() {
		shape.NextHop = shape.NextHop.Unmap()
	}
	for _, n := range nlri {
		r := shape
		r.Prefix = toPrefix(n)
		s.announced = append(s.announced, r)
	}
	return s, nil
}

func readAttr(r *Route, attr bgp.PathAttributeInterface, internal bool) {
	switch a := attr.(type) {
	case *bgp.PathAttributeAsPath:
		n := 0
		for _, p := range a.Value {
			n += p.ASLen()
		}
		if !internal {
			n-- // the one that eBGP always adds
		}
		r.Prepend = n
	case *bgp.PathAttributeMultiExitDisc:
		r.MED = Metric{a.Value, true}
	case *bgp.PathAttributeLocalPref:
		r.LocalPref = Metric{a.Value, true}
	case *bgp.PathAttributeCommunities:
		for _, c := range a.Value {
			r.Communities = r.Communities.Union(community.NewSet(community.NewStandard(uint16(c>>16), uint16(c))))
		}
	case *bgp.PathAttributeLargeCommunities:
		for _, c := range a.Values {
			r.Communities = r.Communities.Union(community.NewSet(community.NewLarge(c.ASN, c.LocalData1, c.LocalData2)))
		}
	case *bgp.PathAttributeExtendedCommunities:
		for _, c := range a.Value {
			if b, err := c.Serialize(); err == nil && len(b) == 8 {
				r.Communities = r.Communities.Union(community.NewSet(community.NewExtended([8]byte(b))))
			}
		}
	}
}

func toPrefix(n bgp.AddrPrefixInterface) netip.Prefix {
	p, _ := netip.ParsePrefix(n.String())
	return p
}

// sortRoutes puts routes into a stable order: IPv4 first, then by prefix.
func sortRoutes(rs []Route) {
	slices.SortFunc(rs, func(a, b Route) int {
		return cmp.Or(a.Prefix.Addr().Compare(b.Prefix.Addr()), cmp.Compare(a.Prefix.Bits(), b.Prefix.Bits()))
	})
}
