package edge

import (
	"errors"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/catchment-bgp/catchment/announcer/host"
	"github.com/catchment-bgp/catchment/edge/config"
)

// returnKeeper holds the return paths of the neighbours with `return: symmetric`.
// A path that does not work withdraws nothing: replies leave by the routes then,
// and the status says so.
type returnKeeper struct {
	to     Returns
	dirty  bool           // what stands must be looked at again
	of     *config.Config // what want was made of
	want   host.Returns
	faults map[string]string // by neighbour
	retry  time.Time         // zero: all is as wanted
}

// returnRetry is when paths that do not work are tried again without news from the
// kernel: not all that they need is told as such (sysctls, the right to mark).
const returnRetry = 5 * time.Second

func newReturnKeeper(to Returns) returnKeeper {
	return returnKeeper{to: to, dirty: true, faults: map[string]string{}}
}

// plan takes over the neighbours and prefixes of a configuration.
func (k *returnKeeper) plan(c *config.Config) {
	if k.of == c {
		return
	}
	k.of = c
	want := returnsOf(c)
	if !slices.Equal(want.Paths, k.want.Paths) || !slices.Equal(want.Prefixes, k.want.Prefixes) {
		k.want, k.dirty = want, true
	}
}

// returnsOf gives every neighbour with the families that it is told of: also
// those that stay routed, since they may share a link.
func returnsOf(c *config.Config) host.Returns {
	var out host.Returns
	for _, svc := range c.Services {
		out.Prefixes = append(out.Prefixes, svc.Prefixes...)
		out.Prefixes = append(out.Prefixes, svc.VIPs...)
	}
	out.Prefixes = slices.Compact(slices.SortedFunc(slices.Values(out.Prefixes), netip.Prefix.Compare))
	for _, n := range c.Neighbors {
		p := host.ReturnPath{Neighbor: n.Name, Router: n.Address, Device: n.BindDevice, Routed: !n.Symmetric}
		for _, svc := range c.Services {
			if slices.Contains(svc.Neighbors, n.Name) {
				f := policyNeighbor(svc, n)
				p.IPv4, p.IPv6 = p.IPv4 || f.IPv4, p.IPv6 || f.IPv6
			}
		}
		out.Paths = append(out.Paths, p)
	}
	return out
}

// keepReturns brings the return paths to what is wanted.
func (e *Edge) keepReturns(now time.Time) {
	k := &e.returns
	k.plan(e.cfg)
	if !k.dirty && (k.retry.IsZero() || now.Before(k.retry)) {
		return
	}
	err := k.to.Set(k.want)
	e.load.sampling.mark(k.to.Marks())
	faults := k.explain(err)
	if err != nil && !maps.Equal(faults, k.faults) {
		e.log.Warn("replies do not leave as configured; it is tried again", "error", err)
	}
	if err == nil && len(k.faults) > 0 {
		e.log.Info("replies leave as configured again")
	}
	k.faults, k.dirty, k.retry = faults, false, time.Time{}
	if err != nil {
		k.retry = now.Add(returnRetry)
	}
}

// explain says which neighbours an error of Set hits.
func (k *returnKeeper) explain(err error) map[string]string {
	faults := map[string]string{}
	var failed *host.SetError
	switch {
	case err == nil:
		return faults
	case errors.As(err, &failed):
		for _, f := range failed.Failures {
			family := "IPv4: "
			if f.Prefix.Addr().Is6() {
				family = "IPv6: "
			}
			text := family + strings.ReplaceAll(f.Err.Error(), "\n", "; ")
			if before := faults[f.Neighbor]; before != "" {
				text = before + "; " + text
			}
			faults[f.Neighbor] = text
		}
	default:
		for _, p := range k.want.Paths {
			if !p.Routed {
				faults[p.Neighbor] = err.Error()
			}
		}
	}
	return faults
}

// returnPath is the local API's word on how replies leave.
func returnPath(n config.Neighbor, fault string) string {
	switch {
	case fault != "":
		return "failed: " + fault
	case n.Symmetric:
		return "symmetric"
	}
	return "routed"
}

// linkControlOff says why shedding at a neighbour cannot relieve its link; empty:
// it can. Most bytes are replies: they relieve the link that the requests leave
// only if they go with them, or if there is no other link that they could go by.
func linkControlOff(c *config.Config, n config.Neighbor, fault string) string {
	if why := linkUnrelieved(c, n, fault); why != "" {
		return why
	}
	if c.Load.Mode == config.LoadOff {
		return "load control is off; write load: {mode: pi}"
	}
	return ""
}

// linkUnrelieved is linkControlOff, whether or not a controller runs.
func linkUnrelieved(c *config.Config, n config.Neighbor, fault string) string {
	i := slices.IndexFunc(c.Links, func(l config.Link) bool { return l.Name == n.Link })
	shared := !slices.ContainsFunc(c.Neighbors, func(o config.Neighbor) bool { return o.Link != n.Link })
	switch {
	case i < 0:
		return "the neighbor names no link; write link: and the link under links:"
	case shared:
	case fault != "":
		return "replies do not leave where requests come in: " + fault
	case !n.Symmetric:
		return "replies leave by the routes of this machine, wherever requests come in; write return: symmetric"
	}
	switch l := &c.Links[i]; {
	case !l.Measured():
		return "link " + n.Link + " has no figures; write interface: or feed: under links:"
	case l.Capacity == 0 && !l.HasInterface():
		return "link " + n.Link + " has no capacity; write capacity: under links:"
	}
	return ""
}

var _ Returns = (*host.Return)(nil)
