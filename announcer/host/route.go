package host

import (
	"encoding/binary"
	"net/netip"

	"golang.org/x/sys/unix"
)

// loopbackIndex is the index of lo in every network namespace.
const loopbackIndex = 1

// route is what matters here of a route of the kernel. It holds no pointer into
// the message that it was read from.
type route struct {
	dst    netip.Prefix
	table  uint8
	proto  uint8
	kind   uint8 // RTN_*
	metric uint32
	// special is set if the route is not for all packets to dst: it has a
	// source prefix or a TOS, or is a cached exception.
	special bool
	// hops has one bit for each state that some next hop is in.
	hops hopStates
	// gateway and index are those of the only, or the last, next hop.
	gateway netip.Addr
	index   int
}

// hopStates is a set of states of next hops.
type hopStates uint8

const (
	// hopLives: packets leave by it.
	hopLives hopStates = 1 << iota
	// hopLost: the kernel may choose it, but its link is down, or it is lo.
	hopLost
	// hopDead: the kernel passes over it.
	hopDead
)

// hopState reads the flags of a next hop. The kernel adds RTNH_F_DEAD to
// RTNH_F_LINKDOWN in what it shows where ignore_routes_with_linkdown is on.
func hopState(flags uint8, index int) hopStates {
	switch {
	case flags&unix.RTNH_F_DEAD != 0:
		return hopDead
	case flags&unix.RTNH_F_LINKDOWN != 0 || index == loopbackIndex:
		return hopLost
	}
	return hopLives
}

// parseRoute reads the body of RTM_NEWROUTE and RTM_DELROUTE. A default route
// has no RTA_DST or one of all zeros; both give the prefix of length zero.
func parseRoute(body []byte) (r route, ok bool) {
	if len(body) < unix.SizeofRtMsg {
		return route{}, false
	}
	dst, bits := netip.IPv4Unspecified(), int(body[1])
	switch body[0] {
	case unix.AF_INET:
	case unix.AF_INET6:
		dst = netip.IPv6Unspecified()
	default:
		return route{}, false
	}
	r.table, r.proto, r.kind = body[4], body[5], body[7]
	flags := binary.NativeEndian.Uint32(body[8:])
	r.special = body[2] != 0 || body[3] != 0 || flags&unix.RTM_F_CLONED != 0
	for kind, value := range attrs(body[unix.SizeofRtMsg:]) {
		switch kind {
		case unix.RTA_DST:
			dst, _ = netip.AddrFromSlice(value)
		case unix.RTA_PRIORITY:
			r.metric = uint32Of(value)
		case unix.RTA_OIF:
			r.index = int(uint32Of(value))
		case unix.RTA_GATEWAY, unix.RTA_VIA:
			r.gateway = gatewayOf(kind, value)
		case unix.RTA_MULTIPATH:
			r.multipath(value)
		}
	}
	if r.hops == 0 {
		r.hops = hopState(uint8(flags), r.index)
	}
	r.dst = netip.PrefixFrom(dst, bits)
	return r, r.dst.IsValid()
}

// gatewayOf reads RTA_GATEWAY, and RTA_VIA: a family and an address of it.
func gatewayOf(kind uint16, value []byte) netip.Addr {
	if kind == unix.RTA_VIA {
		value = value[min(2, len(value)):]
	}
	a, _ := netip.AddrFromSlice(value)
	return a
}

// multipath reads RTA_MULTIPATH, a list of struct rtnexthop.
func (r *route) multipath(b []byte) {
	for len(b) >= unix.SizeofRtNexthop {
		n := int(binary.NativeEndian.Uint16(b))
		if n < unix.SizeofRtNexthop || n > len(b) {
			return
		}
		r.index = int(binary.NativeEndian.Uint32(b[4:]))
		r.hops |= hopState(b[2], r.index)
		for kind, value := range attrs(b[unix.SizeofRtNexthop:n]) {
			if kind == unix.RTA_GATEWAY || kind == unix.RTA_VIA {
				r.gateway = gatewayOf(kind, value)
			}
		}
		b = b[min(align(n), len(b)):]
	}
}

// searched tells whether the kernel looks in the route's table for any packet:
// main and default, by the rules that every namespace starts with.
func (r route) searched() bool {
	return !r.special && (r.table == unix.RT_TABLE_MAIN || r.table == unix.RT_TABLE_DEFAULT)
}
