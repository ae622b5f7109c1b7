package edge

import (
	"slices"
	"time"

	"github.com/catchment-bgp/catchment/announcer/host"
	"github.com/catchment-bgp/catchment/edge/config"
)

// hearDefault takes what a neighbour says of the default route to the loop.
func (e *Edge) hearDefault(neighbor string, change host.DefaultChange) {
	select {
	case e.defaults <- defaultNews{neighbor, change}:
	case <-e.gone:
	}
}

// learn installs the default routes that neighbours announced.
func (e *Edge) learn(d defaultNews) {
	now := e.learnt[d.neighbor]
	now.IPv4 = nextHop(now.IPv4, d.change.IPv4)
	now.IPv6 = nextHop(now.IPv6, d.change.IPv6)
	if now == (host.Default{}) {
		delete(e.learnt, d.neighbor)
	} else {
		e.learnt[d.neighbor] = now
	}
	e.installDefaults()
}

func (e *Edge) installDefaults() {
	if e.opt.Defaults == nil {
		return
	}
	if err := e.opt.Defaults.Set(e.learnt); err != nil {
		e.log.Error("a default route could not be installed; it is tried again", "error", err)
		e.retry = earliest(e.retry, time.Now().Add(retryAfter))
	}
}

// needDefaults makes what installs default routes when a configuration first
// asks for it.
func (e *Edge) needDefaults(c *config.Config) error {
	if e.opt.Defaults != nil || !slices.ContainsFunc(c.Neighbors, func(n config.Neighbor) bool { return n.AcceptDefault }) {
		return nil
	}
	d, err := host.NewDefaults(host.DefaultsOptions{Log: e.log})
	if err != nil {
		return err
	}
	e.opt.Defaults = d
	return nil
}
