package host

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// macBytes is the length of an Ethernet address, the only kind that is matched.
const macBytes = 6

// nearKey is an address on a link.
type nearKey struct {
	index int
	addr  netip.Addr
}

// near is an entry of the neighbour tables (ARP, NDP); mac is empty where it is
// not known.
type near struct {
	nearKey
	mac string
}

// resolved are the states in which the kernel has a link-layer address.
const resolved = unix.NUD_REACHABLE | unix.NUD_STALE | unix.NUD_DELAY | unix.NUD_PROBE | unix.NUD_NOARP | unix.NUD_PERMANENT

// parseNear reads the body of RTM_NEWNEIGH and RTM_DELNEIGH, a struct ndmsg and
// NDA_*.
func parseNear(body []byte) (n near, ok bool) {
	if len(body) < unix.SizeofNdMsg || body[0] != unix.AF_INET && body[0] != unix.AF_INET6 {
		return near{}, false
	}
	n.index = int(binary.NativeEndian.Uint32(body[4:]))
	state := binary.NativeEndian.Uint16(body[8:])
	for kind, value := range attrs(body[unix.SizeofNdMsg:]) {
		switch {
		case kind == unix.NDA_DST:
			n.addr, _ = netip.AddrFromSlice(value)
		case kind == unix.NDA_LLADDR && state&resolved != 0 && len(value) == macBytes:
			n.mac = string(value)
		}
	}
	return n, n.addr.IsValid()
}

// octets is a part of a request in its own bytes.
type octets []byte

func (o octets) Len() int          { return len(o) }
func (o octets) Serialize() []byte { return o }

func ndmsg(family uint8, index int, flags uint8) octets {
	b := make(octets, unix.SizeofNdMsg)
	b[0], b[10] = family, flags
	binary.NativeEndian.PutUint32(b[4:], uint32(index))
	return b
}

// nears lists what the kernel knows of its neighbours.
func (s *socket) nears() (map[nearKey]string, error) {
	list := map[nearKey]string{}
	err := retryInterrupted(func() error {
		clear(list)
		return s.dump(unix.RTM_GETNEIGH, ndmsg(unix.AF_UNSPEC, 0, 0), func(body []byte) {
			if n, ok := parseNear(body); ok && n.mac != "" {
				list[n.nearKey] = n.mac
			}
		})
	})
	if err != nil {
		return nil, fmt.Errorf("list neighbours: %w", err)
	}
	return list, nil
}

// seek has the kernel ask for a neighbour's link-layer address (ARP, NDP). What
// comes of it is seen in nears.
func (s *socket) seek(k nearKey) error {
	return s.do(unix.RTM_NEWNEIGH, unix.NLM_F_CREATE,
		ndmsg(uint8(family(k.addr)), k.index, unix.NTF_USE), nl.NewRtAttr(unix.NDA_DST, k.addr.AsSlice()))
}

// usualLinkLocal is the link-local address that most routers make of their MAC
// address (RFC 4291, appendix A).
func usualLinkLocal(mac string) netip.Addr {
	return netip.AddrFrom16([16]byte{0xfe, 0x80, 8: mac[0] ^ 2, mac[1], mac[2], 0xff, 0xfe, mac[3], mac[4], mac[5]})
}

// sameRouter finds an IPv6 address on a link by its MAC address: whatever has it
// takes packets for that router. The router's own are link-local ones first.
func sameRouter(list map[nearKey]string, index int, mac string) netip.Addr {
	var found []netip.Addr
	for k, m := range list {
		if k.index == index && k.addr.Is6() && m == mac && !k.addr.IsMulticast() {
			found = append(found, k.addr)
		}
	}
	if len(found) == 0 {
		return netip.Addr{}
	}
	return slices.MinFunc(found, func(a, b netip.Addr) int {
		if c := compareBool(b.IsLinkLocalUnicast(), a.IsLinkLocalUnicast()); c != 0 {
			return c
		}
		return a.Compare(b)
	})
}

// interest is what news of neighbours can matter for.
type interest struct {
	// macs is what is known of addresses that matter; empty: not known.
	macs map[nearKey]string
	// seeks has the links on which an IPv6 address of a router is not known.
	seeks map[int]bool
}

func (in *interest) changedBy(n near) bool {
	if known, matters := in.macs[n.nearKey]; matters {
		return n.mac != "" && n.mac != known
	}
	return n.mac != "" && n.addr.Is6() && in.seeks[n.index]
}

// strictFilter is the value of rp_filter that drops what comes in by another
// interface than the way back.
const strictFilter = 1

// filters gives rp_filter as it counts for each interface, by index: the greater
// of its own and that of all (Documentation/networking/ip-sysctl).
func (s *socket) filters() (map[int]int, error) {
	const all, netconfaIndex, netconfaFilter = -1, 1, 3 // of linux/netconf.h
	list := map[int]int{}
	err := retryInterrupted(func() error {
		clear(list)
		return s.dump(unix.RTM_GETNETCONF, octets{unix.AF_INET, 0, 0, 0}, func(body []byte) {
			if len(body) < 4 || body[0] != unix.AF_INET {
				return
			}
			index, filter := 0, 0
			for kind, value := range attrs(body[4:]) {
				switch kind {
				case netconfaIndex:
					index = int(int32(uint32Of(value)))
				case netconfaFilter:
					filter = int(uint32Of(value))
				}
			}
			list[index] = filter
		})
	})
	if err != nil {
		return nil, fmt.Errorf("list rp_filter: %w", err)
	}
	for index := range list {
		list[index] = max(list[index], list[all])
	}
	return list, nil
}
