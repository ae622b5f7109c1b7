package host

import (
	"encoding/binary"
	"net/netip"
)

// loops tells whether our ASN stands in the path; ok is false for a malformed
// AS_PATH. A malformed AS4_PATH is ignored (RFC 6793, section 6).
func (a *attributes) loops(p DefaultParams) (found, ok bool) {
	if !p.TwoOctetAS {
		return pathHolds(a.value[asPath], 4, p.LocalASN)
	}
	found, ok = pathHolds(a.value[asPath], 2, p.LocalASN)
	if !found {
		found, _ = pathHolds(a.value[as4Path], 4, p.LocalASN)
	}
	return found, ok
}

// pathHolds walks the segments of an AS_PATH (RFC 4271, section 4.3; confederation
// segments of RFC 5065 count as any other). ok is false for a malformed path,
// which holds nothing.
func pathHolds(b []byte, width int, asn uint32) (found, ok bool) {
	for len(b) > 0 {
		if len(b) < 2 || b[0] < 1 || b[0] > 4 || b[1] == 0 {
			return false, false
		}
		end := 2 + int(b[1])*width
		if len(b) < end {
			return false, false
		}
		for i := 2; i < end; i += width {
			found = found || readASN(b[i:i+width]) == asn
		}
		b = b[end:]
	}
	return found, true
}

func readASN(b []byte) uint32 {
	if len(b) == 2 {
		return uint32(binary.BigEndian.Uint16(b))
	}
	return binary.BigEndian.Uint32(b)
}

// Address families (RFC 4760): AFI and the unicast SAFI.
const (
	afiIPv4     = 1
	afiIPv6     = 2
	safiUnicast = 1
)

// mpFamily reads AFI and SAFI. wanted is false for a family that the session
// does not carry, which is ignored.
func mpFamily(b []byte, p DefaultParams) (ipv6, wanted, ok bool) {
	if len(b) < 3 {
		return false, false, false
	}
	afi := binary.BigEndian.Uint16(b)
	if b[2] != safiUnicast {
		return false, false, true
	}
	return afi == afiIPv6, afi == afiIPv4 && p.IPv4 || afi == afiIPv6 && p.IPv6, true
}

func maxBits(ipv6 bool) byte {
	if ipv6 {
		return 128
	}
	return 32
}

type unreach struct{ ipv4, ipv6 bool }

// parseUnreach reads MP_UNREACH_NLRI (RFC 4760, section 4); nil: absent.
func parseUnreach(b []byte, p DefaultParams) (unreach, bool) {
	if b == nil {
		return unreach{}, true
	}
	ipv6, wanted, ok := mpFamily(b, p)
	if !ok || !wanted {
		return unreach{}, ok
	}
	found, ok := hasDefault(b[3:], maxBits(ipv6))
	return unreach{ipv4: found && !ipv6, ipv6: found && ipv6}, ok
}

// reach is an MP_REACH_NLRI: whether it has routes, and the default among them.
type reach struct {
	routes, found, ipv6 bool
	hop                 hops
}

// parseReach reads MP_REACH_NLRI (RFC 4760, section 3); nil: absent. The octet
// after the next hop is reserved and ignored.
func parseReach(b []byte, p DefaultParams) (reach, bool) {
	if b == nil {
		return reach{}, true
	}
	ipv6, wanted, ok := mpFamily(b, p)
	if !ok || !wanted {
		return reach{}, ok
	}
	if len(b) < 4 || len(b) < 4+int(b[3])+1 {
		return reach{}, false
	}
	n := int(b[3])
	hop, ok := parseHops(b[4:4+n], ipv6, p)
	if !ok {
		return reach{}, false
	}
	nlri := b[4+n+1:]
	found, ok := hasDefault(nlri, maxBits(ipv6))
	return reach{routes: len(nlri) > 0, found: found, ipv6: ipv6, hop: hop}, ok
}

// hops is a next hop: the address to use, and its link-local one if known.
type hops struct{ main, linkLocal netip.Addr }

// parseHops reads 4 octets for IPv4 routes (RFC 4760), and 16 or 32 for IPv6
// routes (RFC 2545, section 3) and for IPv4 ones under RFC 8950. In 32 octets
// the second address is link-local; routers without a global address on the
// link put :: or the link-local address in the first place.
func parseHops(b []byte, ipv6 bool, p DefaultParams) (h hops, ok bool) {
	switch {
	case len(b) == 4 && !ipv6:
		return hops{main: netip.AddrFrom4([4]byte(b))}, true
	case !ipv6 && !p.ExtendedNextHop:
		return hops{}, false
	case len(b) != 16 && len(b) != 32:
		return hops{}, false
	}
	h.main = netip.AddrFrom16([16]byte(b[:16]))
	if len(b) == 32 {
		h.linkLocal = netip.AddrFrom16([16]byte(b[16:]))
	}
	if !h.linkLocal.IsLinkLocalUnicast() {
		h.linkLocal = netip.Addr{}
	}
	if h.main.IsLinkLocalUnicast() && !h.linkLocal.IsValid() {
		h.linkLocal = h.main
	}
	if h.main.IsUnspecified() && h.linkLocal.IsValid() {
		h.main = h.linkLocal
	}
	return h, true
}

// plausible tells whether a router can have the address: unicast, and neither
// loopback nor of the reserved ranges 0.0.0.0/8, 240.0.0.0/4 and ::/8 (which
// holds the IPv4-mapped addresses).
func plausible(a netip.Addr) bool {
	if a.Is4() {
		first := a.As4()[0]
		return first != 0 && first < 240 && !a.IsLoopback() && !a.IsMulticast()
	}
	return a.IsValid() && a.As16()[0] != 0 && !a.IsMulticast()
}
