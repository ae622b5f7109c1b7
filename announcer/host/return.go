package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// What Return uses of this machine. Everything there that carries protocol 202
// (0xCA), and the table of nftables, is ours; nothing else is ever changed.
const (
	// ReturnMask is the bits of packet marks and connection marks that are ours;
	// the other bits are left as they are.
	ReturnMask = 0xFF000000
	// ReturnTable plus N is the routing table of the path number N, 1 to 255, whose
	// mark is N << 24. Numbers that others use are passed over.
	ReturnTable = 17900
	// ReturnPriority is the priority of all our rules (`ip rule`): before main
	// (32766) and before what is usually added without a priority.
	ReturnPriority = 1790
	// ReturnNftables is our table of nftables, family inet.
	ReturnNftables = "catchment"
)

// ReturnPath is one neighbour's router.
type ReturnPath struct {
	// Neighbor names the path in errors and logs.
	Neighbor string
	// Router is the neighbour's address, on a network of this machine. A
	// link-local address needs its zone, or Device.
	Router netip.Addr
	// Device is the interface to the router; empty: the one whose network it is on.
	Device string
	// IPv4 and IPv6 are the families whose requests come by this router.
	IPv4, IPv6 bool
	// Routed is set if replies shall leave by the routes of this machine: then the
	// path only says that its router shares the link.
	Routed bool
}

// Returns is everything that Return keeps.
type Returns struct {
	// Prefixes are the services': only packets to and from them are marked.
	Prefixes []netip.Prefix
	// Paths are all neighbours, Routed ones too.
	Paths []ReturnPath
}

// ReturnOptions says where Return works.
type ReturnOptions struct {
	// Namespace is where the interfaces are.
	Namespace Namespace
	// Log gets a line for each path that is set up, changed or taken down. Nil:
	// none is written.
	Log *slog.Logger
}

// Return makes replies leave where requests came in. A request to a service is
// known by the interface that it comes in by and, where several routers share
// that, by the router's MAC address; its connection is marked (connmark). Packets
// from the service get the mark of their connection, and a rule of the kernel
// sends them to that router. A connection whose requests come in elsewhere later
// follows them with its next packet; one whose requests come by no path of ours
// loses its mark and leaves by the routes, and so does everything while a link
// is down.
//
// It tracks connections (nf_conntrack), also where nothing did so before: see
// that net.netfilter.nf_conntrack_max holds the services' connections. It covers
// services on this machine, not ones that it forwards to. Packets that something
// exempts from tracking (notrack) leave by the routes.
//
// Its methods may be called by several goroutines.
type Return struct {
	log    *slog.Logger
	ns     Namespace
	socket *socket
	// interest is what notifications on neighbours can matter for.
	interest atomic.Pointer[interest]

	mu   sync.Mutex
	want Returns
	ids  map[string]uint8 // by neighbour, kept while it is wanted
	macs map[string]string
	// failed is the failures of the last Set, to tell news.
	failed string
}

// NewReturn prepares; the kernel changes with Set only.
func NewReturn(o ReturnOptions) (*Return, error) {
	s, err := openSocket(o.Namespace)
	if err != nil {
		return nil, fmt.Errorf("return paths: %w", err)
	}
	s.strict()
	return &Return{log: logger(o.Log), ns: o.Namespace, socket: s, ids: map[string]uint8{}, macs: map[string]string{}}, nil
}

// Close frees the socket; the paths stay. Set of nothing takes them away.
func (r *Return) Close() error { return r.socket.Close() }

// Set makes want all return paths of ours: it sets up what is missing, then takes
// down what is ours and not wanted, also what a run before us left. Without a path
// that is not Routed, nothing of ours stays.
//
// If a family of a path does not work afterwards the error is a *SetError that
// names each, with what to do; the others work all the same. If the kernel's
// tables cannot be read the error is another one, and nothing was changed. Call
// Set again to retry; Watch says when.
func (r *Return) Set(want Returns) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	have, err := r.read(want)
	if err != nil {
		return fmt.Errorf("return paths: %w", err)
	}
	r.want = want
	legs, failures := r.plan(want, have)
	failures = append(failures, r.apply(legs, have)...)
	err = setError(failures)
	r.failed = fmt.Sprint(err)
	return err
}

// Marks says which neighbour each connection mark of ours, under ReturnMask, stands
// for since the last Set.
func (r *Return) Marks() map[uint32]string {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make(map[uint32]string, len(r.ids))
	for name, id := range r.ids {
		out[leg{id: id}.mark()] = name
	}
	return out
}

// apply brings the kernel to the legs. New routes stand before the rules that
// lead to them, and rules before the marks; the other way round where they go.
func (r *Return) apply(legs []leg, have returnFacts) (failures []Failure) {
	var good []leg
	for _, l := range legs {
		if err := r.raise(l, have); err != nil {
			failures = append(failures, l.failure(err))
			continue
		}
		good = append(good, l)
	}
	if err := r.setMarks(good, have); err != nil {
		return append(failures, failAll(legs, err)...)
	}
	failures = append(failures, r.lowerOthers(good, have)...)
	for _, l := range good {
		if err := r.verify(l, have); err != nil {
			failures = append(failures, l.failure(err))
		}
	}
	return failures
}

// failAll gives every leg, or where there is none the whole, an error.
func failAll(legs []leg, err error) (failures []Failure) {
	for _, l := range legs {
		failures = append(failures, l.failure(err))
	}
	if len(failures) == 0 {
		failures = append(failures, Failure{Return: true, Err: err})
	}
	return failures
}

// Watch signals when Set has something to do or to say again: something of ours is
// gone, as when `nft flush ruleset` was run, or the interface or the MAC address of
// a router has changed, or one that was not known now is, or a rule of others' now
// comes before ours, or rp_filter was set. Signals are merged while
// nobody listens. The channel is closed after ctx has ended.
func (r *Return) Watch(ctx context.Context) (<-chan struct{}, error) {
	groups := []uint{
		unix.RTNLGRP_LINK, unix.RTNLGRP_NEIGH, unix.RTNLGRP_IPV4_IFADDR, unix.RTNLGRP_IPV6_IFADDR,
		unix.RTNLGRP_IPV4_ROUTE, unix.RTNLGRP_IPV6_ROUTE, unix.RTNLGRP_IPV4_RULE, unix.RTNLGRP_IPV6_RULE,
		unix.RTNLGRP_IPV4_NETCONF,
	}
	inside, cancel := context.WithCancel(ctx)
	kernel, err := watch(inside, r.ns, groups, r.log, r.matters, r.stale)
	if err != nil {
		cancel()
		return nil, err
	}
	tables, err := r.watchNftables(inside)
	if err != nil { // without CAP_NET_ADMIN, which Set needs as well
		r.log.Debug("changes of nftables go unseen", "error", err)
		closed := make(chan struct{})
		close(closed)
		tables = closed
	}
	signal := make(chan struct{}, 1)
	go func() {
		defer close(signal)
		defer cancel()
		for kernel != nil || tables != nil {
			var open bool
			select {
			case _, open = <-kernel:
				if !open {
					kernel = nil
				}
			case _, open = <-tables:
				if !open {
					tables = nil
				}
			}
			if open {
				offer(signal)
			}
		}
	}()
	return signal, nil
}

// matters leaves out what has nothing to do with return paths.
func (r *Return) matters(m message) bool {
	switch m.kind {
	case unix.RTM_NEWROUTE, unix.RTM_DELROUTE:
		t, ok := parseTabled(m.body)
		// A default route decides what rp_filter drops.
		return ok && (ownTable(t.table) || t.dst.Bits() == 0)
	case unix.RTM_NEWNEIGH, unix.RTM_DELNEIGH:
		n, ok := parseNear(m.body)
		in := r.interest.Load()
		return ok && in != nil && in.changedBy(n)
	}
	return true
}

// stale tells whether a Set with the same want would do anything.
func (r *Return) stale() (bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	have, err := r.read(r.want)
	if err != nil {
		return false, err
	}
	legs, failures := r.plan(r.want, have)
	for _, l := range legs {
		if !have.has(l) {
			return true, nil
		}
	}
	if len(have.spare(legs)) > 0 || !have.marks.equal(marksOf(legs, r.want.Prefixes)) {
		return true, nil
	}
	for _, l := range legs { // others' rules, routes and sysctls decide as well
		if err := r.verify(l, have); err != nil {
			failures = append(failures, l.failure(err))
		}
	}
	return fmt.Sprint(setError(failures)) != r.failed, nil
}

// leg is one family of a path: where its requests come in and its replies go.
type leg struct {
	neighbor string
	ipv6     bool
	id       uint8
	index    int
	iface    string
	gateway  netip.Addr
	// mac, six octets, is set where the interface alone does not tell the router.
	mac string
}

func (l leg) mark() uint32   { return uint32(l.id) << 24 }
func (l leg) table() uint32  { return ReturnTable + uint32(l.id) }
func (l leg) hop() hopKey    { return hopKey{l.ipv6, l.gateway, l.index} }
func (l leg) family() string { return familyName(l.ipv6) }

func (l leg) failure(err error) Failure { return returnFailure(l.neighbor, l.ipv6, err) }

func returnFailure(neighbor string, ipv6 bool, err error) Failure {
	return Failure{Neighbor: neighbor, Prefix: hopKey{ipv6: ipv6}.prefix(), Return: true, Err: err}
}

func returnFailureText(f Failure) string {
	if f.Neighbor == "" {
		return fmt.Sprintf("return paths: %v", f.Err)
	}
	return fmt.Sprintf("return path of %s: %s: %v", f.Neighbor, familyName(f.Prefix.Addr().Is6()), f.Err)
}

func familyName(ipv6 bool) string {
	if ipv6 {
		return "IPv6"
	}
	return "IPv4"
}

func compareLegs(a, b leg) int {
	return cmp.Or(cmp.Compare(a.id, b.id), compareBool(a.ipv6, b.ipv6))
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// raise makes the route and the rule of a leg stand.
func (r *Return) raise(l leg, have returnFacts) error {
	if !slices.ContainsFunc(have.routes, l.isRoute) {
		if err := r.socket.addReturnRoute(l); err != nil {
			return hopError(l.hop(), err)
		}
		r.log.Info("replies to a neighbour's requests leave by it", "neighbor", l.neighbor, "family", l.family(),
			"interface", l.iface, "next_hop", l.gateway, "table", l.table(), "mark", fmt.Sprintf("%#x/%#x", l.mark(), uint32(ReturnMask)))
	}
	if !slices.ContainsFunc(have.rules, l.isRule) {
		err := r.socket.addReturnRule(l)
		if err != nil && !errors.Is(err, unix.EEXIST) {
			return fmt.Errorf("rule of priority %d: %w", ReturnPriority, permission(err))
		}
	}
	return nil
}

// lowerOthers removes rules, then routes, that are ours and no leg's.
func (r *Return) lowerOthers(legs []leg, have returnFacts) (failures []Failure) {
	for _, s := range have.spare(legs) {
		if err := s.remove(r.socket); err != nil {
			failures = append(failures, returnFailure("", s.ipv6(), fmt.Errorf("%s cannot be removed: %w", s, permission(err))))
			continue
		}
		r.log.Info("return path: removed", "what", s.String())
	}
	return failures
}
