package edge

import (
	"net/netip"
	"slices"
	"time"

	"github.com/catchment-bgp/catchment/announcer/host"
	"github.com/catchment-bgp/catchment/edge/config"
	"github.com/catchment-bgp/catchment/load"
)

// measurements is what there is to measure by a configuration; false: nothing,
// since nothing is steered by load.
func measurements(c *config.Config) (load.Config, bool) {
	if c.Load.Mode == config.LoadOff {
		return load.Config{}, false
	}
	out := load.Config{Resources: c.Load.Node}
	for i := range c.Links {
		if l := &c.Links[i]; l.Measured() {
			out.Links = append(out.Links, measuredLink(l))
		}
	}
	served := addresses(c)
	if out.Resources.Sessions > 0 {
		out.Resources.VIPs = served
	}
	if c.Load.Quality > 0 {
		out.Quality = load.QualityConfig{Period: c.Load.Quality, VIPs: served, Mask: host.ReturnMask}
	}
	return out, len(out.Links) > 0 || config.Watched(out.Resources) || c.Load.Quality > 0
}

// addresses are those at which clients arrive: the VIPs, and the prefixes of
// services whose addresses are the kernel's.
func addresses(c *config.Config) []netip.Prefix {
	var out []netip.Prefix
	for _, svc := range c.Services {
		if len(svc.VIPs) > 0 {
			out = append(out, svc.VIPs...)
		} else {
			out = append(out, svc.Prefixes...)
		}
	}
	return slices.Compact(slices.SortedFunc(slices.Values(out), netip.Prefix.Compare))
}

// measuredLink is a link with its one or two sources. What stands at the link
// itself is the source that fast and exact leave.
func measuredLink(l *config.Link) load.Link {
	out := load.Link{Name: l.Name, Capacity: float64(l.Capacity), Smooth: l.Smooth, Fast: source(l.Fast), Exact: source(l.Exact)}
	var own *load.Source
	switch {
	case l.Feed != nil:
		own = &load.Source{Feed: feed(l.Feed), Direction: l.Direction}
	case l.Interface != "":
		own = &load.Source{Interface: l.Interface, Direction: l.Direction}
	}
	switch {
	case own == nil:
	case out.Fast == nil:
		out.Fast = own
	case l.Feed != nil && out.Exact == nil:
		out.Exact = own
	default:
		out.Device = l.Interface
	}
	return out
}

func source(s *config.Source) *load.Source {
	if s == nil {
		return nil
	}
	out := &load.Source{Interface: s.Interface, Feed: feed(s.Feed), Direction: s.Direction, Delay: s.Delay, Average: s.Average}
	if p := s.Prometheus; p != nil {
		out.Prometheus = &load.Prometheus{URL: p.URL, Query: p.Query, Period: p.Period}
	}
	return out
}

func feed(f *config.Feed) *load.Feed {
	if f == nil {
		return nil
	}
	return &load.Feed{URL: f.URL, Period: f.Period}
}

// period is the time between a link's figures; those that come between two
// decisions wait for the next one.
func period(c *config.Config, l *config.Link) time.Duration {
	return max(measuredLink(l).Period(), c.Load.Interval)
}
