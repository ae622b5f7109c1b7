package host

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// hopKey is one default route: its family and its next hop. index is zero where
// the kernel shall find the interface.
type hopKey struct {
	ipv6    bool
	gateway netip.Addr
	index   int
}

func compareHops(a, b hopKey) int {
	return cmp.Or(a.prefix().Addr().Compare(b.prefix().Addr()), a.gateway.Compare(b.gateway), cmp.Compare(a.index, b.index))
}

func (k hopKey) prefix() netip.Prefix {
	if k.ipv6 {
		return netip.PrefixFrom(netip.IPv6Unspecified(), 0)
	}
	return netip.PrefixFrom(netip.IPv4Unspecified(), 0)
}

// is tells whether r is our route of k.
func (k hopKey) is(r route) bool {
	return r.isOurs() && k.prefix() == r.dst && k.gateway == r.gateway && (k.index == 0 || k.index == r.index)
}

// isOurs tells whether a default route of the table main carries our mark.
func (r route) isOurs() bool {
	return r.proto == unix.RTPROT_BGP && r.metric >= FirstMetric && r.metric <= LastMetric &&
		r.kind == unix.RTN_UNICAST && !r.special
}

// defaultRoutes lists the default routes of the table main, of both families.
func (s *socket) defaultRoutes() (list []route, err error) {
	err = retryInterrupted(func() error {
		list = list[:0]
		return s.dump(unix.RTM_GETROUTE, &nl.RtMsg{}, func(body []byte) {
			if r, ok := parseRoute(body); ok && r.table == unix.RT_TABLE_MAIN && r.dst.Bits() == 0 {
				list = append(list, r)
			}
		})
	})
	if err != nil {
		return nil, fmt.Errorf("list routes: %w", err)
	}
	return list, nil
}

func (s *socket) addDefault(k hopKey, metric uint32) error {
	head, data := defaultMessage(k, metric)
	head.Scope = unix.RT_SCOPE_UNIVERSE
	return s.do(unix.RTM_NEWROUTE, unix.NLM_F_CREATE|unix.NLM_F_EXCL, data...)
}

// removeDefault names everything of r, so that the kernel removes no other. It
// is content if r is not there.
func (s *socket) removeDefault(r route) error {
	head, data := defaultMessage(hopKey{r.dst.Addr().Is6(), r.gateway, r.index}, r.metric)
	head.Scope = unix.RT_SCOPE_NOWHERE // any
	err := s.do(unix.RTM_DELROUTE, 0, data...)
	if errors.Is(err, unix.ESRCH) {
		return nil
	}
	return permission(err)
}

func defaultMessage(k hopKey, metric uint32) (*nl.RtMsg, []nl.NetlinkRequestData) {
	head := &nl.RtMsg{RtMsg: unix.RtMsg{
		Family:   uint8(family(k.prefix().Addr())),
		Table:    unix.RT_TABLE_MAIN,
		Protocol: unix.RTPROT_BGP,
		Type:     unix.RTN_UNICAST,
	}}
	data := []nl.NetlinkRequestData{head, nl.NewRtAttr(unix.RTA_PRIORITY, uint32Bytes(metric))}
	if k.ipv6 == k.gateway.Is6() {
		data = append(data, nl.NewRtAttr(unix.RTA_GATEWAY, k.gateway.AsSlice()))
	} else {
		via := binary.NativeEndian.AppendUint16(nil, uint16(family(k.gateway)))
		data = append(data, nl.NewRtAttr(unix.RTA_VIA, append(via, k.gateway.AsSlice()...)))
	}
	if k.index != 0 {
		data = append(data, nl.NewRtAttr(unix.RTA_OIF, uint32Bytes(uint32(k.index))))
	}
	return head, data
}

// hopError says what to do about a route that the kernel refused.
func hopError(k hopKey, err error) error {
	if errors.Is(err, unix.ENETUNREACH) || errors.Is(err, unix.EHOSTUNREACH) {
		return fmt.Errorf("next hop %s is on no network of this machine, or its link is down: %w", k.gateway, err)
	}
	return fmt.Errorf("next hop %s: %w", k.gateway, permission(err))
}

func permission(err error) error {
	if errors.Is(err, unix.EPERM) {
		return fmt.Errorf("%w: changing routes needs CAP_NET_ADMIN", err)
	}
	return err
}
