package host

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// The marks of an address that is ours.
const (
	// protoCatchment goes into IFA_PROTO, for both families, on Linux 5.18 and
	// later. The kernel itself uses 1 to 3.
	protoCatchment = 0xCA
	// An IPv4 address also has a label; the longer suffix where it fits.
	longSuffix  = ":catchment"
	shortSuffix = ":ctch"

	ifaProto     = 11 // IFA_PROTO of linux/if_addr.h
	labelBytes   = 15 // IFNAMSIZ less its zero
	foreverValid = 0xFFFFFFFF
)

// label is the mark of an IPv4 address, at most 15 bytes: lo:catchment, or
// enp129s0f1np1 cut short, enp129s0f1:ctch.
func label(iface string) string {
	if len(iface)+len(longSuffix) <= labelBytes {
		return iface + longSuffix
	}
	return iface[:min(len(iface), labelBytes-len(shortSuffix))] + shortSuffix
}

func isOurLabel(s string) bool {
	return strings.HasSuffix(s, longSuffix) || strings.HasSuffix(s, shortSuffix)
}

// CheckVIP tells whether p can be a VIP: one unicast address, /32 or /128,
// neither loopback nor link-local. A shorter prefix would make other addresses
// local too, or take other addresses of its subnet with it when it is removed.
func CheckVIP(p netip.Prefix) error {
	a := p.Addr()
	switch {
	case !p.IsValid() || a.Zone() != "":
		return fmt.Errorf("not an address: %s", p)
	case !p.IsSingleIP():
		return fmt.Errorf("%s is not a single address: write %s", p, netip.PrefixFrom(a, a.BitLen()))
	case !a.IsGlobalUnicast() || a.Is4In6():
		return fmt.Errorf("%s is not a unicast address that others can reach", a)
	}
	return nil
}

// entry is an address as the kernel lists it.
type entry struct {
	index    int
	addr     netip.Addr
	bits     int
	label    string
	proto    uint8
	hasProto bool
	// unpreferred is set if it looks as addAddress makes it: an IPv4 address of
	// scope host, an IPv6 address whose preferred lifetime is zero.
	unpreferred bool
}

func (e entry) prefix() netip.Prefix { return netip.PrefixFrom(e.addr, e.bits) }

// parseAddress reads the body of RTM_NEWADDR and RTM_DELADDR. IFA_LOCAL is the
// address where both stand: IFA_ADDRESS may be the peer's.
func parseAddress(body []byte) (e entry, ok bool) {
	if len(body) < unix.SizeofIfAddrmsg {
		return entry{}, false
	}
	e.bits = int(body[1])
	e.index = int(binary.NativeEndian.Uint32(body[4:]))
	flags := uint32(body[2])
	var local, far netip.Addr
	for kind, value := range attrs(body[unix.SizeofIfAddrmsg:]) {
		switch kind {
		case unix.IFA_LOCAL:
			local, _ = netip.AddrFromSlice(value)
		case unix.IFA_ADDRESS:
			far, _ = netip.AddrFromSlice(value)
		case unix.IFA_LABEL:
			e.label = unix.ByteSliceToString(value)
		case unix.IFA_FLAGS:
			flags = uint32Of(value)
		case ifaProto:
			e.hasProto = len(value) == 1
			if e.hasProto {
				e.proto = value[0]
			}
		}
	}
	e.addr = local
	if !local.IsValid() {
		e.addr = far
	}
	e.unpreferred = flags&unix.IFA_F_DEPRECATED != 0
	if e.addr.Is4() {
		e.unpreferred = body[3] == unix.RT_SCOPE_HOST
	}
	return e, e.addr.IsValid()
}

func family(a netip.Addr) int {
	if a.Is4() {
		return unix.AF_INET
	}
	return unix.AF_INET6
}

// addressMessage says which address is meant.
func addressMessage(index int, p netip.Prefix) (*nl.IfAddrmsg, *nl.RtAttr, *nl.RtAttr) {
	head := nl.NewIfAddrmsg(family(p.Addr()))
	head.Index = uint32(index)
	head.Prefixlen = uint8(p.Bits())
	raw := p.Addr().AsSlice()
	return head, nl.NewRtAttr(unix.IFA_LOCAL, raw), nl.NewRtAttr(unix.IFA_ADDRESS, raw)
}

// addAddress adds p with our marks, so that the kernel never chooses it as the
// source of a connection that names none: an IPv4 address has scope host
// (inet_select_addr skips it for destinations elsewhere, also where it looks at
// lo because the interface of the route has no address), an IPv6 address has
// preferred lifetime zero (RFC 6724, section 5, rule 3). A socket bound to it
// answers from it all the same. Of IPv6 addresses there is no duplicate
// detection, since all sites have the VIP, and no route but the local one.
func (s *socket) addAddress(iface string, index int, p netip.Prefix, proto bool) error {
	head, local, far := addressMessage(index, p)
	data := []nl.NetlinkRequestData{head, local, far}
	if p.Addr().Is4() {
		head.Scope = unix.RT_SCOPE_HOST
		data = append(data, nl.NewRtAttr(unix.IFA_LABEL, nl.ZeroTerminated(label(iface))))
	} else {
		life := nl.IfaCacheInfo{IfaCacheinfo: unix.IfaCacheinfo{Valid: foreverValid}}
		data = append(data,
			nl.NewRtAttr(unix.IFA_FLAGS, uint32Bytes(unix.IFA_F_NODAD|unix.IFA_F_NOPREFIXROUTE)),
			nl.NewRtAttr(unix.IFA_CACHEINFO, life.Serialize()))
	}
	if proto {
		data = append(data, nl.NewRtAttr(ifaProto, nl.Uint8Attr(protoCatchment)))
	}
	return addressError(iface, p, s.do(unix.RTM_NEWADDR, unix.NLM_F_CREATE|unix.NLM_F_EXCL, data...))
}

// deliveryTime bounds awaitDelivery.
const deliveryTime = 250 * time.Millisecond

// awaitDelivery waits until packets to a are for this machine; false: they are
// not. The kernel adds the local route of an IPv6 address a moment after the
// address, and until then refuses what comes.
func (s *socket) awaitDelivery(a netip.Addr) bool {
	for end := time.Now().Add(deliveryTime); ; time.Sleep(time.Millisecond) {
		if s.delivers(a) {
			return true
		}
		if time.Now().After(end) {
			return false
		}
	}
}

// delivers asks the kernel for its route to a.
func (s *socket) delivers(a netip.Addr) bool {
	head := &nl.RtMsg{RtMsg: unix.RtMsg{Family: uint8(family(a)), Dst_len: uint8(a.BitLen())}}
	data := []nl.NetlinkRequestData{head, nl.NewRtAttr(unix.RTA_DST, a.AsSlice())}
	local := false
	err := s.request(unix.RTM_GETROUTE, unix.NLM_F_ACK, data, func(m message) {
		local = len(m.body) >= unix.SizeofRtMsg && m.body[7] == unix.RTN_LOCAL
	})
	return err == nil && local
}

// removeAddress is content if the address is not there.
func (s *socket) removeAddress(iface string, index int, p netip.Prefix) error {
	head, local, far := addressMessage(index, p)
	err := s.do(unix.RTM_DELADDR, 0, head, local, far)
	if errors.Is(err, unix.EADDRNOTAVAIL) || errors.Is(err, unix.ENODEV) {
		return nil
	}
	return addressError(iface, p, err)
}

// addressError says what to do about what the kernel refused.
func addressError(iface string, p netip.Prefix, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, unix.EPERM):
		return fmt.Errorf("%w: changing addresses needs CAP_NET_ADMIN", err)
	case errors.Is(err, unix.EACCES) && p.Addr().Is6():
		return fmt.Errorf("%w: IPv6 is off on %s (sysctl net.ipv6.conf.%s.disable_ipv6)", err, iface, iface)
	case errors.Is(err, unix.ENODEV):
		return fmt.Errorf("%w: interface %s is gone", err, iface)
	}
	return err
}

// addresses lists all addresses.
func (s *socket) addresses() (list []entry, err error) {
	err = retryInterrupted(func() error {
		list = list[:0]
		return s.dump(unix.RTM_GETADDR, nl.NewIfAddrmsg(unix.AF_UNSPEC), func(body []byte) {
			if e, ok := parseAddress(body); ok {
				list = append(list, e)
			}
		})
	})
	if err != nil {
		return nil, fmt.Errorf("list addresses: %w", err)
	}
	return list, nil
}

// retryInterrupted repeats a dump that the kernel calls inconsistent, a few
// times: the last answer is then as good as can be had.
func retryInterrupted(dump func() error) error {
	var err error
	for range 5 {
		if err = dump(); !errors.Is(err, errInterrupted) {
			return err
		}
	}
	return nil
}

// link is an interface.
type link struct {
	index int
	name  string
	up    bool // administratively
}

// links lists all interfaces by name.
func (s *socket) links() (map[string]link, error) {
	list := map[string]link{}
	err := retryInterrupted(func() error {
		clear(list)
		return s.dump(unix.RTM_GETLINK, nl.NewIfInfomsg(unix.AF_UNSPEC), func(body []byte) {
			if l, ok := parseLink(body); ok {
				list[l.name] = l
			}
		})
	})
	if err != nil {
		return nil, fmt.Errorf("list interfaces: %w", err)
	}
	return list, nil
}

func parseLink(body []byte) (l link, ok bool) {
	if len(body) < unix.SizeofIfInfomsg {
		return link{}, false
	}
	l.index = int(binary.NativeEndian.Uint32(body[4:]))
	l.up = binary.NativeEndian.Uint32(body[8:])&unix.IFF_UP != 0
	for kind, value := range attrs(body[unix.SizeofIfInfomsg:]) {
		if kind == unix.IFLA_IFNAME {
			l.name = unix.ByteSliceToString(value)
		}
	}
	return l, l.name != ""
}
