package host

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net/netip"
	"slices"
	"sync"

	"golang.org/x/sys/unix"
)

// The mark of our routes: the protocol bgp and one of these metrics. They are
// higher than those of static routes (0, in IPv6 1024) and of DHCP and router
// advertisements (100 to 1024), so that a default that the operator set wins
// while it stands.
const (
	// FirstMetric is the metric of the first default route that we install.
	FirstMetric = 17900
	// LastMetric bounds how many can be installed of one family.
	LastMetric = FirstMetric + 99
)

// Default is the next hops of the default routes that a neighbour announced. An
// invalid address means none. IPv4 may be an IPv6 address (RFC 8950). A
// link-local address needs its zone, the name of the interface.
type Default struct{ IPv4, IPv6 netip.Addr }

// DefaultsOptions says where Defaults works.
type DefaultsOptions struct {
	// Namespace is where the routes are.
	Namespace Namespace
	// Log gets a line for each route installed or removed. Nil: none is written.
	Log *slog.Logger
}

// Defaults keeps default routes learnt by BGP in the kernel's table main, with
// protocol bgp (186). Each next hop has a route of its own with a metric from
// FirstMetric on, the one that came first the lowest: so the route in use is not
// disturbed by another that comes or goes, traffic is not split over neighbours,
// and when a neighbour takes its default back the next one is there already.
//
// Routes of protocol bgp with such a metric are ours, also those of a run before
// us; no other is ever removed. Its methods may be called by several goroutines.
type Defaults struct {
	log    *slog.Logger
	ns     Namespace
	socket *socket

	mu   sync.Mutex
	want map[hopKey]string // to the neighbour's name
	// absent is the interfaces that next hops named and that were not there.
	absent []string
}

// NewDefaults prepares; routes change with Set only.
func NewDefaults(o DefaultsOptions) (*Defaults, error) {
	s, err := openSocket(o.Namespace)
	if err != nil {
		return nil, fmt.Errorf("default routes: %w", err)
	}
	return &Defaults{log: logger(o.Log), ns: o.Namespace, socket: s}, nil
}

// Close frees the socket; the routes stay. Set(nil) takes them away.
func (d *Defaults) Close() error { return d.socket.Close() }

// Set makes want, next hops by neighbour, all default routes of ours that stand:
// it installs what is missing, then removes what is ours and not wanted; nil
// removes all that is ours. A next hop must be on a network of this machine,
// and not its own.
//
// If a route does not stand afterwards the error is a *SetError that names each;
// the others stand all the same. If the kernel's tables cannot be read the error
// is another one, and nothing was changed. Call Set again to retry; Watch says
// when.
func (d *Defaults) Set(want map[string]Default) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	links, err := d.socket.links()
	if err != nil {
		return fmt.Errorf("default routes: %w", err)
	}
	routes, err := d.socket.defaultRoutes()
	if err != nil {
		return fmt.Errorf("default routes: %w", err)
	}
	addrs, err := d.socket.addresses()
	if err != nil {
		return fmt.Errorf("default routes: %w", err)
	}
	failures := d.remember(want, links, addrs)
	taken := map[metricKey]bool{}
	for _, r := range routes {
		taken[metricKey{r.dst.Addr().Is6(), r.metric}] = true
	}
	for _, k := range slices.SortedFunc(maps.Keys(d.want), compareHops) {
		if slices.ContainsFunc(routes, k.is) {
			continue
		}
		metric, err := freeMetric(taken, k.ipv6)
		if err == nil {
			err = d.socket.addDefault(k, metric)
		}
		if err != nil {
			failures = append(failures, Failure{Neighbor: d.want[k], Prefix: k.prefix(), Err: hopError(k, err)})
			continue
		}
		d.log.Info("default route installed", "neighbor", d.want[k], "prefix", k.prefix(), "next_hop", k.gateway, "metric", metric)
	}
	failures = append(failures, d.removeOthers(routes)...)
	return setError(failures)
}

// metricKey is what no two default routes of the table share.
type metricKey struct {
	ipv6   bool
	metric uint32
}

// freeMetric takes the lowest free metric of ours.
func freeMetric(taken map[metricKey]bool, ipv6 bool) (uint32, error) {
	for m := uint32(FirstMetric); m <= LastMetric; m++ {
		if k := (metricKey{ipv6, m}); !taken[k] {
			taken[k] = true
			return m, nil
		}
	}
	return 0, fmt.Errorf("all metrics from %d to %d are taken", FirstMetric, LastMetric)
}

// remember turns next hops into the routes that are wanted. Two neighbours with
// one next hop share a route. A next hop of our own would lead nowhere, though the
// kernel takes it (RFC 4271, section 6.3, forbids it).
func (d *Defaults) remember(want map[string]Default, links map[string]link, addrs []entry) (failures []Failure) {
	d.want, d.absent = map[hopKey]string{}, nil
	for _, name := range slices.Sorted(maps.Keys(want)) {
		hops := want[name]
		for _, k := range []hopKey{{gateway: hops.IPv4}, {ipv6: true, gateway: hops.IPv6}} {
			if !k.gateway.IsValid() {
				continue
			}
			err := d.resolve(&k, links)
			if slices.ContainsFunc(addrs, func(e entry) bool { return e.addr == k.gateway }) {
				err = fmt.Errorf("next hop %s is an address of this machine", k.gateway)
			}
			if err != nil {
				failures = append(failures, Failure{Neighbor: name, Prefix: k.prefix(), Err: err})
			} else if _, shared := d.want[k]; !shared {
				d.want[k] = name
			}
		}
	}
	return failures
}

// resolve replaces a zone with the index of the interface.
func (d *Defaults) resolve(k *hopKey, links map[string]link) error {
	zone := k.gateway.Zone()
	switch {
	case k.ipv6 && k.gateway.Is4(), k.gateway.Is4In6():
		return fmt.Errorf("next hop %s is of the wrong family", k.gateway)
	case zone == "" && k.gateway.Is6() && k.gateway.IsLinkLocalUnicast():
		return fmt.Errorf("next hop %s is link-local: its interface must be named", k.gateway)
	case zone == "":
		return nil
	}
	l, ok := links[zone]
	if !ok {
		d.absent = append(d.absent, zone)
		return fmt.Errorf("next hop %s: there is no interface %s", k.gateway, zone)
	}
	k.gateway, k.index = k.gateway.WithZone(""), l.index
	return nil
}

func (d *Defaults) removeOthers(routes []route) (failures []Failure) {
	for _, r := range routes {
		if !r.isOurs() || d.wants(r) {
			continue
		}
		if err := d.socket.removeDefault(r); err != nil {
			failures = append(failures, Failure{Prefix: r.dst, Err: fmt.Errorf("via %s cannot be removed: %w", r.gateway, err)})
			continue
		}
		d.log.Info("default route removed", "prefix", r.dst, "next_hop", r.gateway, "metric", r.metric)
	}
	return failures
}

func (d *Defaults) wants(r route) bool {
	for k := range d.want {
		if k.is(r) {
			return true
		}
	}
	return false
}

// Watch signals when Set has something to do again: a wanted route is gone, as
// with its link, or one that could not be installed is worth another try.
// Signals are merged while nobody listens. The channel is closed after ctx has
// ended.
func (d *Defaults) Watch(ctx context.Context) (<-chan struct{}, error) {
	groups := []uint{
		unix.RTNLGRP_LINK, unix.RTNLGRP_IPV4_IFADDR, unix.RTNLGRP_IPV6_IFADDR,
		unix.RTNLGRP_IPV4_ROUTE, unix.RTNLGRP_IPV6_ROUTE,
	}
	return watch(ctx, d.ns, groups, d.log, aboutDefault, d.stale)
}

// aboutDefault leaves out the routes of a full table.
func aboutDefault(m message) bool {
	if m.kind != unix.RTM_NEWROUTE && m.kind != unix.RTM_DELROUTE {
		return true
	}
	r, ok := parseRoute(m.body)
	return ok && r.dst.Bits() == 0
}

func (d *Defaults) stale() (bool, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	links, err := d.socket.links()
	if err != nil {
		return false, err
	}
	routes, err := d.socket.defaultRoutes()
	if err != nil {
		return false, err
	}
	for k := range d.want {
		if !slices.ContainsFunc(routes, k.is) {
			return true, nil
		}
	}
	return slices.ContainsFunc(d.absent, func(name string) bool {
		_, there := links[name]
		return there
	}), nil
}
