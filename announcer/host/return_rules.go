package host

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// tabled is a route with its table's whole number.
type tabled struct {
	route
	table uint32
}

func parseTabled(body []byte) (t tabled, ok bool) {
	if t.route, ok = parseRoute(body); !ok {
		return t, false
	}
	t.table = uint32(t.route.table)
	for kind, value := range attrs(body[unix.SizeofRtMsg:]) {
		if kind == unix.RTA_TABLE {
			t.table = uint32Of(value)
		}
	}
	return t, true
}

// ownTable tells whether a table's number is in our range; it may be another's
// all the same.
func ownTable(table uint32) bool { return table > ReturnTable && table <= ReturnTable+255 }

// rule is a rule of the kernel.
type rule struct {
	ipv6           bool
	priority       uint32
	mark, mask     uint32
	table          uint32
	proto          uint8
	lookup, invert bool
}

func (u rule) isOurs() bool { return u.proto == protoCatchment && u.lookup && ownTable(u.table) }

// parseRule reads the body of RTM_NEWRULE, a struct fib_rule_hdr and FRA_*.
func parseRule(body []byte) (u rule, ok bool) {
	if len(body) < unix.SizeofRtMsg || body[0] != unix.AF_INET && body[0] != unix.AF_INET6 {
		return rule{}, false
	}
	u.ipv6, u.table = body[0] == unix.AF_INET6, uint32(body[4])
	u.lookup = body[7] == unix.FR_ACT_TO_TBL
	u.invert = binary.NativeEndian.Uint32(body[8:])&unix.FIB_RULE_INVERT != 0
	for kind, value := range attrs(body[unix.SizeofRtMsg:]) {
		switch kind {
		case unix.FRA_PRIORITY:
			u.priority = uint32Of(value)
		case unix.FRA_FWMARK:
			u.mark = uint32Of(value)
		case unix.FRA_FWMASK:
			u.mask = uint32Of(value)
		case unix.FRA_TABLE:
			u.table = uint32Of(value)
		case unix.FRA_PROTOCOL:
			if len(value) == 1 {
				u.proto = value[0]
			}
		}
	}
	return u, true
}

// strict asks the kernel to filter dumps as their headers say (Linux 4.20); an
// older one gives all, which readers filter in any case.
func (s *socket) strict() {
	_ = s.conn.Control(func(fd uintptr) {
		_ = unix.SetsockoptInt(int(fd), unix.SOL_NETLINK, unix.NETLINK_GET_STRICT_CHK, 1)
	})
}

var families = []int{unix.AF_INET, unix.AF_INET6}

func (s *socket) rules() (list []rule, err error) {
	for _, f := range families {
		var part []rule
		err = retryInterrupted(func() error {
			part = part[:0]
			return s.dump(unix.RTM_GETRULE, &nl.RtMsg{RtMsg: unix.RtMsg{Family: uint8(f)}}, func(body []byte) {
				// A kernel without the family answers with all families.
				if u, ok := parseRule(body); ok && body[0] == uint8(f) {
					part = append(part, u)
				}
			})
		})
		if err != nil && !errors.Is(err, unix.EAFNOSUPPORT) && !errors.Is(err, unix.EOPNOTSUPP) {
			return nil, fmt.Errorf("list rules: %w", err)
		}
		list = append(list, part...)
	}
	return list, nil
}

// ownRoutes lists the routes of our protocol in tables of our range.
func (s *socket) ownRoutes() ([]tabled, error) {
	return s.routesLike(unix.RtMsg{Protocol: protoCatchment}, 0, func(t tabled) bool {
		return t.proto == protoCatchment && ownTable(t.table) && t.dst.Bits() == 0
	})
}

// foreignIn tells whether a table holds a route that is not ours.
func (s *socket) foreignIn(table uint32) (bool, error) {
	list, err := s.routesLike(unix.RtMsg{}, table, func(t tabled) bool { return t.table == table && t.proto != protoCatchment })
	return len(list) > 0, err
}

func (s *socket) routesLike(head unix.RtMsg, table uint32, keep func(tabled) bool) (list []tabled, err error) {
	for _, f := range families {
		head.Family = uint8(f)
		var part []tabled
		err = retryInterrupted(func() error {
			part = part[:0]
			data := []nl.NetlinkRequestData{&nl.RtMsg{RtMsg: head}}
			if table != 0 {
				data = append(data, nl.NewRtAttr(unix.RTA_TABLE, uint32Bytes(table)))
			}
			return s.request(unix.RTM_GETROUTE, unix.NLM_F_DUMP, data, func(m message) {
				if t, ok := parseTabled(m.body); ok && m.body[0] == uint8(f) && keep(t) {
					part = append(part, t)
				}
			})
		})
		// ENOENT: there is no such table.
		if err != nil && !errors.Is(err, unix.ENOENT) && !errors.Is(err, unix.EAFNOSUPPORT) {
			return nil, fmt.Errorf("list routes: %w", err)
		}
		list = append(list, part...)
	}
	return list, nil
}

func (l leg) isRoute(t tabled) bool {
	return t.table == l.table() && t.kind == unix.RTN_UNICAST && !t.special &&
		t.dst == l.hop().prefix() && t.gateway == l.gateway && t.index == l.index
}

func (l leg) rule() rule {
	return rule{ipv6: l.ipv6, priority: ReturnPriority, mark: l.mark(), mask: ReturnMask, table: l.table(), proto: protoCatchment, lookup: true}
}

func (l leg) isRule(u rule) bool { return u == l.rule() }

// addReturnRoute adds the route beside one with another next hop that may stand
// there still: that goes after the rules.
func (s *socket) addReturnRoute(l leg) error {
	head, data := returnRoute(l.hop(), l.table())
	head.Scope = unix.RT_SCOPE_UNIVERSE
	return s.do(unix.RTM_NEWROUTE, unix.NLM_F_CREATE|unix.NLM_F_APPEND, data...)
}

func returnRoute(k hopKey, table uint32) (*nl.RtMsg, []nl.NetlinkRequestData) {
	head, data := defaultMessage(k, 0)
	head.Table, head.Protocol = unix.RT_TABLE_UNSPEC, protoCatchment
	return head, append(data, nl.NewRtAttr(unix.RTA_TABLE, uint32Bytes(table)))
}

func (s *socket) addReturnRule(l leg) error {
	return s.do(unix.RTM_NEWRULE, unix.NLM_F_CREATE|unix.NLM_F_EXCL, l.rule().message()...)
}

func (u rule) message() []nl.NetlinkRequestData {
	f := unix.AF_INET
	if u.ipv6 {
		f = unix.AF_INET6
	}
	return []nl.NetlinkRequestData{
		&nl.RtMsg{RtMsg: unix.RtMsg{Family: uint8(f), Type: unix.FR_ACT_TO_TBL}},
		nl.NewRtAttr(unix.FRA_PRIORITY, uint32Bytes(u.priority)),
		nl.NewRtAttr(unix.FRA_FWMARK, uint32Bytes(u.mark)),
		nl.NewRtAttr(unix.FRA_FWMASK, uint32Bytes(u.mask)),
		nl.NewRtAttr(unix.FRA_TABLE, uint32Bytes(u.table)),
		nl.NewRtAttr(unix.FRA_PROTOCOL, []byte{u.proto}),
	}
}

// spare is a rule or a route of ours that no leg wants.
type spare struct {
	rule  *rule
	route *tabled
}

func (p spare) ipv6() bool {
	if p.rule != nil {
		return p.rule.ipv6
	}
	return p.route.dst.Addr().Is6()
}

func (p spare) String() string {
	if p.rule != nil {
		return fmt.Sprintf("%s rule to table %d", familyName(p.rule.ipv6), p.rule.table)
	}
	return fmt.Sprintf("%s route via %s in table %d", familyName(p.ipv6()), p.route.gateway, p.route.table)
}

// remove is content if it is gone already.
func (p spare) remove(s *socket) error {
	var err error
	if p.rule != nil {
		err = s.do(unix.RTM_DELRULE, 0, p.rule.message()...)
	} else {
		head, data := returnRoute(hopKey{p.route.dst.Addr().Is6(), p.route.gateway, p.route.index}, p.route.table)
		head.Scope = unix.RT_SCOPE_NOWHERE // any
		err = s.do(unix.RTM_DELROUTE, 0, data...)
	}
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ESRCH) {
		return nil
	}
	return err
}

// spare lists what is ours and no leg's, rules before routes.
func (f returnFacts) spare(legs []leg) (list []spare) {
	for _, u := range f.rules {
		if u.isOurs() && !slices.ContainsFunc(legs, func(l leg) bool { return l.isRule(u) }) {
			list = append(list, spare{rule: &u})
		}
	}
	for _, t := range f.routes {
		if !slices.ContainsFunc(legs, func(l leg) bool { return l.isRoute(t) }) {
			list = append(list, spare{route: &t})
		}
	}
	return list
}

func (f returnFacts) has(l leg) bool {
	return slices.ContainsFunc(f.rules, l.isRule) && slices.ContainsFunc(f.routes, l.isRoute)
}

// lookup is where the kernel sends a packet that this machine makes.
type lookup struct {
	to, from netip.Addr // from may be invalid
	index    int        // of the interface; 0: any
	mark     uint32
}

func (s *socket) lookup(q lookup) (r route, err error) {
	head := &nl.RtMsg{RtMsg: unix.RtMsg{Family: uint8(family(q.to)), Dst_len: uint8(q.to.BitLen())}}
	data := []nl.NetlinkRequestData{head, nl.NewRtAttr(unix.RTA_DST, q.to.AsSlice())}
	if q.from.IsValid() {
		head.Src_len = uint8(q.from.BitLen())
		data = append(data, nl.NewRtAttr(unix.RTA_SRC, q.from.AsSlice()))
	}
	if q.index != 0 {
		data = append(data, nl.NewRtAttr(unix.RTA_OIF, uint32Bytes(uint32(q.index))))
	}
	if q.mark != 0 {
		data = append(data, nl.NewRtAttr(unix.RTA_MARK, uint32Bytes(q.mark)))
	}
	err = s.request(unix.RTM_GETROUTE, unix.NLM_F_ACK, data, func(m message) { r, _ = parseRoute(m.body) })
	return r, err
}
