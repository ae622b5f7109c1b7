package edge

import (
	"net/netip"
	"slices"

	"github.com/catchment-bgp/catchment/announcer"
	"github.com/catchment-bgp/catchment/community"
	"github.com/catchment-bgp/catchment/edge/config"
	"github.com/catchment-bgp/catchment/policy"
)

// Routes renders a decision: everything that each neighbour of the configuration
// shall know. A neighbour that shall know nothing has an empty list.
func Routes(c *config.Config, d policy.Decision) map[string][]announcer.Route {
	out := make(map[string][]announcer.Route, len(c.Neighbors))
	neighbors := make(map[string]config.Neighbor, len(c.Neighbors))
	for _, n := range c.Neighbors {
		out[n.Name], neighbors[n.Name] = []announcer.Route{}, n
	}
	for _, sd := range d.Services {
		svc := service(c, sd.Name)
		if svc == nil {
			continue
		}
		for _, nd := range sd.Neighbors {
			if n, ok := neighbors[nd.Name]; ok {
				out[nd.Name] = append(out[nd.Name], serviceRoutes(svc, n, nd)...)
			}
		}
	}
	return out
}

// rendering is what Routes made of a decision. Most events change nothing that
// it depends on, and with many services and neighbours it is most of the work.
type rendering struct {
	config   *config.Config
	services []policy.ServiceDecision
	routes   map[string][]announcer.Route
}

// routes is Routes for the running configuration.
func (e *Edge) routes(d policy.Decision) map[string][]announcer.Route {
	if r := &e.rendered; r.config != e.cfg || !slices.EqualFunc(r.services, d.Services, renderAlike) {
		*r = rendering{e.cfg, d.Services, e.render(e.cfg, d)}
	}
	return e.rendered.routes
}

// render is Routes with the tags that the centre adds to every route.
func (e *Edge) render(c *config.Config, d policy.Decision) map[string][]announcer.Route {
	out := Routes(c, d)
	tags := e.tags()
	if len(tags) == 0 {
		return out
	}
	for _, routes := range out {
		for i := range routes {
			routes[i].Communities = routes[i].Communities.Union(tags)
		}
	}
	return out
}

// renderAlike says whether the routes of two decisions on a service are the same.
func renderAlike(a, b policy.ServiceDecision) bool {
	return a.Name == b.Name && slices.EqualFunc(a.Neighbors, b.Neighbors, func(a, b policy.NeighborDecision) bool {
		return a.Name == b.Name && a.Rung == b.Rung && sameRoutes(a.IPv4, b.IPv4) && sameRoutes(a.IPv6, b.IPv6)
	})
}

// sameRoutes says whether two causes make the same of a route on one rung.
func sameRoutes(a, b policy.Cause) bool {
	return a.Severity == b.Severity && (a.Severity != policy.Steered || (a.Reason == policy.Load) == (b.Reason == policy.Load))
}

func service(c *config.Config, name string) *config.Service {
	i := slices.IndexFunc(c.Services, func(s config.Service) bool { return s.Name == name })
	if i < 0 {
		return nil
	}
	return &c.Services[i]
}

// carries says whether the neighbour's session can be told of a prefix.
func carries(n config.Neighbor, p netip.Prefix) bool {
	if p.Addr().Is6() {
		return n.IPv6 && n.NextHop6.IsValid()
	}
	return n.IPv4 && n.NextHop4.IsValid()
}

func serviceRoutes(svc *config.Service, n config.Neighbor, d policy.NeighborDecision) []announcer.Route {
	var out []announcer.Route
	for _, p := range svc.Prefixes {
		cause := d.IPv4
		if p.Addr().Is6() {
			cause = d.IPv6
		}
		if cause.Severity == policy.Withdrawn || !carries(n, p) {
			continue
		}
		r := base(svc, n, p)
		i := governs(n, d.Rung, p)
		switch {
		case i > 0 && n.Ladder[i-1].Withdraw:
			continue
		case cause.Severity == policy.Steered && cause.Reason != policy.Load:
			deprefer(&r, n) // at least as high a rung
		case i > 0:
			climb(&r, n.Ladder[i-1])
		}
		if cause.Severity == policy.Draining {
			drain(&r, n)
		}
		out = append(out, r)
	}
	return out
}

// governs is the rung whose values hold for a prefix while the neighbour stands on
// a rung: the highest up to there that touches it; 0: as configured.
func governs(n config.Neighbor, rung int, p netip.Prefix) int {
	for i := min(rung, len(n.Ladder)); i > 0; i-- {
		if touches(n.Ladder[i-1], p) {
			return i
		}
	}
	return 0
}

func touches(r config.Rung, p netip.Prefix) bool {
	return len(r.Prefixes) == 0 || slices.Contains(r.Prefixes, p)
}

// base is the route at rung 0: as configured.
func base(svc *config.Service, n config.Neighbor, p netip.Prefix) announcer.Route {
	r := announcer.Route{
		Prefix: p, NextHop: n.NextHop4, Prepend: n.Prepend, MED: n.MED, LocalPref: n.LocalPref,
		Communities: svc.Communities.Union(n.Communities),
	}
	if p.Addr().Is6() {
		r.NextHop = n.NextHop6
	}
	return r
}

// drain asks the neighbour to prefer other routes: GSHUT (RFC 8326), and over
// iBGP, where routers need not honour it, LOCAL_PREF 0 as well.
func drain(r *announcer.Route, n config.Neighbor) {
	r.Communities = r.Communities.Union(community.NewSet(community.GracefulShutdown))
	if n.Kind == announcer.Internal {
		r.LocalPref = announcer.Metric{Value: 0, Set: true}
	}
}

// depreferPrepend is used where a neighbour has no ladder but may be prepended to.
const depreferPrepend = 3

// deprefer makes the route less preferred without taking it away: the highest
// rung of the neighbour's ladder that touches it and does not withdraw. Without:
// prepends on direct links; GSHUT across an exchange, where a longer path would
// just lose, and over iBGP.
func deprefer(r *announcer.Route, n config.Neighbor) {
	if i := steeredRung(n, &r.Prefix); i > 0 {
		climb(r, n.Ladder[i-1])
		return
	}
	if n.Kind == announcer.Transit || n.Kind == announcer.Peer {
		r.Prepend = max(r.Prepend, depreferPrepend)
		return
	}
	drain(r, n)
}

// steeredRung is the highest rung that does not withdraw and touches the prefix
// (nil: any); 0: there is none.
func steeredRung(n config.Neighbor, p *netip.Prefix) int {
	for i, rung := range slices.Backward(n.Ladder) {
		if (p == nil || touches(rung, *p)) && !rung.Withdraw {
			return i + 1
		}
	}
	return 0
}

// climb puts a rung's values over those of rung 0.
func climb(r *announcer.Route, rung config.Rung) {
	r.Communities = r.Communities.Union(rung.Communities)
	if rung.PrependSet {
		r.Prepend = rung.Prepend
	}
	if rung.MED.Set {
		r.MED = rung.MED
	}
	if rung.LocalPref.Set {
		r.LocalPref = rung.LocalPref
	}
	if rung.GSHUT {
		r.Communities = r.Communities.Union(community.NewSet(community.GracefulShutdown))
	}
}
