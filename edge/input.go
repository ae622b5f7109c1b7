package edge

import (
	"slices"
	"time"

	"github.com/catchment-bgp/catchment/announcer"
	"github.com/catchment-bgp/catchment/edge/config"
	"github.com/catchment-bgp/catchment/policy"
)

// input collects what is the case.
func (e *Edge) input(now time.Time, c *config.Config) policy.Input {
	in := policy.Input{Now: now, Overrides: e.overrides, Health: map[string]policy.Health{}, Pins: e.pins}
	for _, svc := range c.Services {
		h := e.checks.health(svc, service(e.cfg, svc.Name))
		if fault := e.vips.fault(svc.Name); fault != "" {
			h.Hard, h.HardDetail = policy.Down, fault
		}
		in.Health[svc.Name] = h
	}
	in.WayBack4, in.WayBack6 = e.wayBackVerdicts(c)
	in.Samples, in.Sessions = e.trusted(c), e.load.sessions
	if n := e.load.figures.node; !n.At.IsZero() {
		in.Node = policy.Sample{Load: n.Utilization, Capacity: 1, At: n.At}
	}
	e.fleetInput(&in)
	return in
}

func (e *Edge) wayBackVerdicts(c *config.Config) (v4, v6 policy.Verdict) {
	verdict := func(there bool) policy.Verdict {
		if there {
			return policy.Up
		}
		return policy.Down
	}
	switch {
	case !c.WayBack.Required:
		return policy.Up, policy.Up
	case e.wayBack == nil:
		return policy.Unknown, policy.Unknown
	}
	return verdict(e.wayBack.IPv4), verdict(e.wayBack.IPv6)
}

// policyConfig is policyConfig of the running configuration.
func (e *Edge) policyConfig() policy.Config {
	if e.policyOf != e.cfg {
		e.policyOf, e.policyCfg = e.cfg, e.shared(policyConfig(e.cfg))
		if e.opt.Flap != nil {
			e.policyCfg.Load.Flap = *e.opt.Flap
		}
	}
	return e.policyCfg
}

// policyConfig is what the policy needs of a configuration.
func policyConfig(c *config.Config) policy.Config {
	pc := policy.Config{ReturnAfter: c.ReturnAfter, Grace: c.WayBack.Grace, Load: loadConfig(c)}
	for _, svc := range c.Services {
		ps := policy.Service{Name: svc.Name, Prefixes: svc.Prefixes}
		for _, n := range c.Neighbors {
			if slices.Contains(svc.Neighbors, n.Name) {
				ps.Neighbors = append(ps.Neighbors, policyNeighbor(svc, n))
			}
		}
		pc.Services = append(pc.Services, ps)
	}
	return pc
}

func policyNeighbor(svc config.Service, n config.Neighbor) policy.Neighbor {
	out := policy.Neighbor{Name: n.Name}
	for _, p := range svc.Prefixes {
		out.IPv4 = out.IPv4 || p.Addr().Is4() && carries(n, p)
		out.IPv6 = out.IPv6 || p.Addr().Is6() && carries(n, p)
	}
	return out
}

func (e *Edge) stored() stored {
	return stored{Overrides: append([]policy.Override{}, e.overrides...), Pins: append([]policy.Pin{}, e.pins...), Policy: e.state, Centre: e.centre.stored(), Ladders: e.ladders()}
}

// ladders is ladders of the running configuration.
func (e *Edge) ladders() map[string][]step {
	if e.laddersOf != e.cfg {
		e.laddersOf, e.ladderSteps = e.cfg, ladders(e.cfg)
	}
	return e.ladderSteps
}

func (e *Edge) local(c *config.Config) announcer.Local {
	return announcer.Local{ASN: c.ASN, RouterID: c.RouterID}
}

func sessions(c *config.Config) []announcer.Neighbor {
	out := make([]announcer.Neighbor, 0, len(c.Neighbors))
	for _, n := range c.Neighbors {
		out = append(out, n.Neighbor)
	}
	return out
}
