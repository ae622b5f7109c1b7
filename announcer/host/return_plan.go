package host

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"

	"golang.org/x/sys/unix"
)

// returnFacts is what the kernel holds.
type returnFacts struct {
	links  map[string]link
	names  map[int]string
	addrs  []entry
	nears  map[nearKey]string
	rules  []rule
	routes []tabled // ours
	marks  marks
	// filters is rp_filter by interface, or why it is not known.
	filters   map[int]int
	filterErr error
}

// read takes stock. Where nothing is wanted it needs no right, and leaves out what
// only paths need.
func (r *Return) read(want Returns) (f returnFacts, err error) {
	if f.rules, err = r.socket.rules(); err != nil {
		return f, err
	}
	if f.routes, err = r.socket.ownRoutes(); err != nil {
		return f, err
	}
	wanted := slices.ContainsFunc(want.Paths, func(p ReturnPath) bool { return !p.Routed })
	f.marks, err = r.marks()
	if err != nil && !wanted && len(f.spare(nil)) == 0 {
		err = nil // without the right to look, nothing of ours can be there
	}
	if err != nil || !wanted {
		return f, err
	}
	if f.links, err = r.socket.links(); err != nil {
		return f, err
	}
	f.names = namesOf(f.links)
	if f.addrs, err = r.socket.addresses(); err != nil {
		return f, err
	}
	f.filters, f.filterErr = r.socket.filters()
	f.nears, err = r.socket.nears()
	return f, err
}

// located is a path with its link.
type located struct {
	ReturnPath
	index int
	// crowded says of each family (IPv6: true) that other routers share the link.
	crowded map[bool]bool
}

// plan says what shall stand, and what cannot.
func (r *Return) plan(want Returns, have returnFacts) (legs []leg, failures []Failure) {
	in := &interest{macs: map[nearKey]string{}, seeks: map[int]bool{}}
	paths, failures := r.locate(want.Paths, have)
	r.forget(want.Paths)
	for _, p := range paths {
		if p.Routed {
			continue
		}
		for _, ipv6 := range []bool{false, true} {
			if ipv6 && !p.IPv6 || !ipv6 && !p.IPv4 {
				continue
			}
			l, err := r.leg(p, ipv6, have, in)
			if err != nil {
				failures = append(failures, returnFailure(p.Neighbor, ipv6, err))
				continue
			}
			legs = append(legs, l)
		}
	}
	r.interest.Store(in)
	legs, taken := r.number(legs, have)
	slices.SortFunc(legs, compareLegs)
	return legs, append(failures, taken...)
}

// forget drops what is known of neighbours that are gone.
func (r *Return) forget(paths []ReturnPath) {
	gone := func(name string) bool {
		return !slices.ContainsFunc(paths, func(p ReturnPath) bool { return p.Neighbor == name && !p.Routed })
	}
	maps.DeleteFunc(r.ids, func(name string, _ uint8) bool { return gone(name) })
	maps.DeleteFunc(r.macs, func(name string, _ string) bool { return gone(name) })
}

// locate finds the link of each path, and which are shared.
func (r *Return) locate(paths []ReturnPath, have returnFacts) (found []located, failures []Failure) {
	routers := map[share]map[netip.Addr]bool{}
	wanted := slices.ContainsFunc(paths, func(p ReturnPath) bool { return !p.Routed })
	for _, p := range paths {
		if !wanted {
			break
		}
		index, err := r.linkOf(p, have)
		if err != nil {
			if !p.Routed {
				failures = append(failures, p.failures(err)...)
			}
			continue
		}
		for _, ipv6 := range p.families() {
			k := share{index, ipv6}
			if routers[k] == nil {
				routers[k] = map[netip.Addr]bool{}
			}
			routers[k][p.Router] = true
		}
		found = append(found, located{ReturnPath: p, index: index})
	}
	for i, p := range found {
		found[i].crowded = map[bool]bool{
			false: len(routers[share{p.index, false}]) > 1,
			true:  len(routers[share{p.index, true}]) > 1,
		}
	}
	return found, failures
}

// share is a family on a link.
type share struct {
	index int
	ipv6  bool
}

func (p ReturnPath) families() (list []bool) {
	if p.IPv4 {
		list = append(list, false)
	}
	if p.IPv6 {
		list = append(list, true)
	}
	return list
}

func (p ReturnPath) failures(err error) (list []Failure) {
	for _, ipv6 := range p.families() {
		list = append(list, returnFailure(p.Neighbor, ipv6, err))
	}
	return list
}

// linkOf asks the kernel for the interface to a router: replies can be handed
// only to one that is on a network of this machine.
func (r *Return) linkOf(p ReturnPath, have returnFacts) (int, error) {
	q := lookup{to: p.Router.WithZone("")}
	name := p.Device
	if name == "" {
		name = p.Router.Zone()
	}
	if name != "" {
		l, ok := have.links[name]
		if !ok {
			return 0, fmt.Errorf("there is no interface %s: create it, or correct `bind_device`", name)
		}
		if !l.up {
			return 0, fmt.Errorf("interface %s is down: `ip link set %s up`", name, name)
		}
		q.index = l.index
	} else if p.Router.Is6() && p.Router.IsLinkLocalUnicast() {
		return 0, fmt.Errorf("%s is link-local: its interface must be named", p.Router)
	}
	way, err := r.socket.lookup(q)
	switch {
	case err != nil && !errors.Is(err, unix.ENETUNREACH) && !errors.Is(err, unix.EHOSTUNREACH):
		return 0, fmt.Errorf("no way to %s: %w", p.Router, err)
	case err != nil || way.kind == unix.RTN_UNICAST && way.gateway.IsValid() || way.hops&hopLives == 0 && way.kind == unix.RTN_UNICAST:
		return 0, fmt.Errorf("%s is on no network of this machine, or its link is down; replies can be handed only to a directly connected router: set return: routed for others", p.Router)
	case way.kind != unix.RTN_UNICAST || way.index == loopbackIndex:
		return 0, fmt.Errorf("%s is no other machine's address", p.Router)
	}
	return way.index, nil
}

// leg works one family of a path out.
func (r *Return) leg(p located, ipv6 bool, have returnFacts, in *interest) (leg, error) {
	l := leg{neighbor: p.Neighbor, ipv6: ipv6, index: p.index, iface: have.names[p.index], gateway: p.Router.WithZone("")}
	foreignFamily := ipv6 && l.gateway.Is4()
	if !p.crowded[ipv6] && !foreignFamily {
		return l, nil
	}
	mac, err := r.macOf(p, l, have, in)
	if err != nil {
		return l, err
	}
	if p.crowded[ipv6] {
		l.mac = mac
	}
	if foreignFamily {
		l.gateway, err = r.sixOf(l, mac, have, in)
	}
	return l, err
}

// macOf is the router's MAC address: as the kernel knows it, or as it was last.
func (r *Return) macOf(p located, l leg, have returnFacts, in *interest) (string, error) {
	k := nearKey{l.index, l.gateway}
	mac, known := have.nears[k]
	if !known {
		mac = r.macs[p.Neighbor]
	}
	in.macs[k] = mac
	if mac != "" {
		r.macs[p.Neighbor] = mac
		return mac, nil
	}
	err := fmt.Errorf("the router's MAC address on %s is not known: it does not answer for %s, or %s is no Ethernet", l.iface, l.gateway, l.iface)
	return "", errors.Join(err, permission(r.socket.seek(k)))
}

// sixOf is an IPv6 address of a router whose session is over IPv4: the one that
// its route has, or one that the kernel knows with its MAC address.
func (r *Return) sixOf(l leg, mac string, have returnFacts, in *interest) (netip.Addr, error) {
	if id, ok := r.ids[l.neighbor]; ok {
		for _, t := range have.routes {
			if t.table == ReturnTable+uint32(id) && t.index == l.index && t.gateway.Is6() && t.dst.Addr().Is6() {
				if m, known := have.nears[nearKey{l.index, t.gateway}]; !known || m == mac {
					in.macs[nearKey{l.index, t.gateway}] = mac
					return t.gateway, nil
				}
			}
		}
	}
	if six := sameRouter(have.nears, l.index, mac); six.IsValid() {
		in.macs[nearKey{l.index, six}] = mac
		return six, nil
	}
	in.seeks[l.index] = true
	err := errors.New("the session is over IPv4, and no IPv6 address of the router is known yet on " + l.iface +
		": it is taken from the first IPv6 packet of the router; a session over IPv6 tells it at once")
	return netip.Addr{}, errors.Join(err, permission(r.socket.seek(nearKey{l.index, usualLinkLocal(mac)})))
}

// number gives each neighbour its number: the one that it has, the one under which
// a run before us left its route, or the lowest that nobody uses.
func (r *Return) number(legs []leg, have returnFacts) (numbered []leg, failures []Failure) {
	used := map[uint8]bool{}
	for _, id := range r.ids {
		used[id] = true
	}
	for _, l := range legs {
		if _, known := r.ids[l.neighbor]; known {
			continue
		}
		for _, t := range have.routes {
			id := uint8(t.table - ReturnTable)
			if t.dst == l.hop().prefix() && t.gateway == l.gateway && t.index == l.index && !used[id] {
				r.ids[l.neighbor], used[id] = id, true
				break
			}
		}
	}
	for _, l := range legs {
		if _, known := r.ids[l.neighbor]; !known {
			id, err := r.freeNumber(used, have)
			if err != nil {
				failures = append(failures, l.failure(err))
				continue
			}
			r.ids[l.neighbor], used[id] = id, true
		}
		l.id = r.ids[l.neighbor]
		numbered = append(numbered, l)
	}
	return numbered, failures
}

// freeNumber passes over tables and marks that somebody else uses, and over those
// of our own routes, which may be wanted again.
func (r *Return) freeNumber(used map[uint8]bool, have returnFacts) (uint8, error) {
	for id := 1; id <= 255; id++ {
		l := leg{id: uint8(id)}
		ours := func(t tabled) bool { return t.table == l.table() }
		if used[l.id] || slices.ContainsFunc(have.routes, ours) || slices.ContainsFunc(have.rules, l.clashes) {
			continue
		}
		foreign, err := r.socket.foreignIn(l.table())
		if err != nil {
			return 0, err
		}
		if !foreign {
			return l.id, nil
		}
	}
	return 0, fmt.Errorf("all tables from %d to %d, or their marks, are in use", ReturnTable+1, ReturnTable+255)
}

// clashes tells whether somebody else's rule is for our table, or for our mark.
func (l leg) clashes(u rule) bool {
	if u.isOurs() {
		return false
	}
	bits := u.mark & u.mask & ReturnMask
	return u.lookup && u.table == l.table() || bits != 0 && l.mark()&u.mask == bits
}

// The addresses that verify asks the kernel about: of benchmarks (RFC 2544, RFC
// 5180), which are nowhere and so are routed as the Internet is.
var (
	anywhere4 = netip.MustParseAddr("198.18.255.254")
	anywhere6 = netip.MustParseAddr("2001:2::fffe")
	// Where routes to every network stand in place of a default route those have
	// none; a root name server (a.root-servers.net) has.
	somewhere4 = netip.MustParseAddr("198.41.0.4")
	somewhere6 = netip.MustParseAddr("2001:503:ba3e::2:30")
)

// verify asks the kernel whether replies would go where the leg says, and whether
// requests get in.
func (r *Return) verify(l leg, have returnFacts) error {
	q := lookup{to: anywhere4, mark: l.mark(), from: r.source(l, have)}
	if l.ipv6 {
		q.to = anywhere6
	}
	way, err := r.socket.lookup(q)
	if err != nil {
		return fmt.Errorf("the kernel has no way for replies with mark %#x: %w", l.mark(), err)
	}
	if way.index != l.index || way.gateway != l.gateway {
		return fmt.Errorf("replies would leave by %s via %v: a rule of `ip rule` stands before ours (priority %d); give it a higher number, or let it pass marks of %#x",
			have.names[way.index], way.gateway, ReturnPriority, uint32(ReturnMask))
	}
	q.mark = 0
	way, err = r.socket.lookup(q)
	if err != nil && !r.routed(l.ipv6) {
		return fmt.Errorf("the kernel drops replies before they can be marked: this machine has no route for them: %w: add a default route of %s, whatever its metric", err, l.family())
	}
	if l.ipv6 {
		return nil // the kernel has no rp_filter for IPv6
	}
	if have.filterErr != nil || have.filters[l.index] != strictFilter {
		return have.filterErr
	}
	if err == nil && way.index == l.index {
		return nil
	}
	return fmt.Errorf("rp_filter is strict, and drops requests that come in by %s while the default route is elsewhere: `sysctl net.ipv4.conf.%s.rp_filter=2` (and net.ipv4.conf.all.rp_filter, if 1)", l.iface, l.iface)
}

// routed says whether this machine has a route to a known place of the Internet.
func (r *Return) routed(ipv6 bool) bool {
	to := somewhere4
	if ipv6 {
		to = somewhere6
	}
	_, err := r.socket.lookup(lookup{to: to})
	return err == nil
}

// source is an address of this machine in a service's prefix, as replies have it;
// invalid where there is none yet.
func (r *Return) source(l leg, have returnFacts) netip.Addr {
	for _, e := range have.addrs {
		for _, p := range r.want.Prefixes {
			if p.Contains(e.addr) && e.addr.Is6() == l.ipv6 {
				return e.addr
			}
		}
	}
	return netip.Addr{}
}
