package edge

import (
	"maps"
	"net/netip"
	"slices"
	"time"

	"github.com/catchment-bgp/catchment/announcer/host"
	"github.com/catchment-bgp/catchment/edge/config"
)

// defaultNews is what a neighbour says of the default route.
type defaultNews struct {
	neighbor string
	change   host.DefaultChange
}

// defaultKeeper holds the default routes that neighbours announced.
type defaultKeeper struct {
	by    map[string]host.Default // by neighbour
	dirty bool
	fault string
	retry time.Time // zero: they stand
}

func newDefaultKeeper() defaultKeeper { return defaultKeeper{by: map[string]host.Default{}} }

// forget drops what a neighbour announced.
func (k *defaultKeeper) forget(neighbor string) {
	if _, known := k.by[neighbor]; known {
		delete(k.by, neighbor)
		k.dirty = true
	}
}

// hearDefault takes what a neighbour says of the default route to the loop.
func (e *Edge) hearDefault(neighbor string, change host.DefaultChange) {
	select {
	case e.defaults <- defaultNews{neighbor, change}:
	case <-e.leaving:
	}
}

// learn takes in what a neighbour said; keepDefaults acts on it.
func (e *Edge) learn(d defaultNews) {
	k := &e.learnt
	i := slices.IndexFunc(e.cfg.Neighbors, func(n config.Neighbor) bool { return n.Name == d.neighbor && n.AcceptDefault })
	if i < 0 {
		k.forget(d.neighbor) // said before a reload took it away
		return
	}
	zone := e.cfg.Neighbors[i].BindDevice
	if zone == "" {
		zone = e.cfg.Neighbors[i].Address.Zone()
	}
	now := k.by[d.neighbor]
	now.IPv4 = nextHop(now.IPv4, d.change.IPv4, zone)
	now.IPv6 = nextHop(now.IPv6, d.change.IPv6, zone)
	if now == (host.Default{}) {
		k.forget(d.neighbor)
		return
	}
	k.by[d.neighbor], k.dirty = now, true
}

// nextHop is a family's next hop after a change. A link-local one gets the zone.
func nextHop(was netip.Addr, c host.FamilyChange, zone string) netip.Addr {
	switch c.Change {
	case host.Announced:
		if c.NextHop.IsLinkLocalUnicast() && c.NextHop.Is6() {
			return c.NextHop.WithZone(zone)
		}
		return c.NextHop
	case host.Withdrawn:
		return netip.Addr{}
	}
	return was
}

// keepDefaults installs the default routes that neighbours announced. What fails
// is tried again after retryAfter.
func (e *Edge) keepDefaults(now time.Time) {
	k := &e.learnt
	if !k.dirty && (k.retry.IsZero() || now.Before(k.retry)) {
		return
	}
	fault := ""
	k.dirty, k.retry = false, time.Time{}
	if err := e.opt.Defaults.Set(maps.Clone(k.by)); err != nil {
		fault, k.retry = err.Error(), now.Add(retryAfter)
	}
	if fault != k.fault && fault != "" {
		e.log.Error("a default route could not be installed; it is tried again", "error", fault)
	}
	k.fault = fault
}

// leftoverTime is how long the default routes of an earlier run stand while the
// sessions that they came by may bring them anew.
const leftoverTime = time.Minute

// adoptDefaults has the default routes that an earlier run left taken away: at
// once where no neighbour may give one, else when the sessions had their time.
func (e *Edge) adoptDefaults() {
	if acceptsDefault(e.cfg) {
		e.learnt.retry = e.started.Add(leftoverTime)
		return
	}
	e.learnt.dirty = true
}

func acceptsDefault(c *config.Config) bool {
	return slices.ContainsFunc(c.Neighbors, func(n config.Neighbor) bool { return n.AcceptDefault })
}
