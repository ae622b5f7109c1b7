package edge

import (
	"fmt"
	"hash/fnv"
	"slices"

	"github.com/catchment-bgp/catchment/edge/config"
	"github.com/catchment-bgp/catchment/policy"
	"github.com/catchment-bgp/catchment/policy/control"
	"github.com/catchment-bgp/catchment/policy/flap"
)

// modes are the controllers by their names in the configuration.
var modes = map[config.LoadMode]control.Mode{
	config.LoadOff: control.Off, config.LoadThreshold: control.Threshold, config.LoadCurve: control.Curve,
	config.LoadDamped: control.Damped, config.LoadPI: control.PI,
}

var profiles = map[config.FlapProfile]func() flap.Profile{config.FlapCisco: flap.Cisco, config.FlapJuniper: flap.Juniper}

// loadConfig is what load control needs of a configuration. Nodes of one site move
// alike, so their seed is the site's name.
func loadConfig(c *config.Config) policy.LoadConfig {
	l := &c.Load
	out := policy.LoadConfig{
		Control: control.Config{Mode: modes[l.Mode], Target: l.Target, DeadTime: l.DeadTime, Slowdown: shape(l.Slowdown), Drop: shape(l.Drop)},
		Flap:    flap.Config{Exploration: l.Flap.Exploration, Margin: l.Flap.Margin},
		DwellUp: l.DwellUp, DwellDown: l.DwellDown, DownAfter: l.DownAfter,
		AllowWithdraw: l.AllowWithdraw && c.Central == nil, // else by the centre's leave
		Seed:          c.Node,
	}
	if c.Site != "" {
		out.Seed = c.Site
	}
	for _, p := range l.Flap.Profiles {
		out.Flap.Profiles = append(out.Flap.Profiles, profiles[p]())
	}
	for i := range c.Links {
		out.Links = append(out.Links, policyLink(c, &c.Links[i]))
	}
	for i := range c.Neighbors {
		out.Climbers = append(out.Climbers, climber(c, &c.Neighbors[i]))
	}
	return out
}

// shape is a curve; nil: the controller's own.
func shape(in []config.Point) control.Shape {
	var out control.Shape
	for _, p := range in {
		out = append(out, control.Point(p))
	}
	return out
}

// policyLink is a link. It is off where no neighbour there can relieve it, for the
// reason of the first.
func policyLink(c *config.Config, l *config.Link) policy.Link {
	out := policy.Link{Name: l.Name, Capacity: float64(l.Capacity), Landing: l.Landing, Period: period(c, l)}
	first := "no neighbor names the link; write link: at one"
	for i, n := 0, 0; i < len(c.Neighbors); i++ {
		if c.Neighbors[i].Link != l.Name {
			continue
		}
		why := linkUnrelieved(c, c.Neighbors[i], "")
		if why == "" {
			return out
		}
		if n++; n == 1 {
			first = c.Neighbors[i].Name + ": " + why
		}
	}
	out.Off = first
	return out
}

// climber is a neighbour with its ladder. One whose link it cannot relieve has
// none: pins still move it.
func climber(c *config.Config, n *config.Neighbor) policy.Climber {
	out := policy.Climber{Name: n.Name, ASN: n.ASN, Share: share(c, n), Epoch: epoch(n)}
	if linkUnrelieved(c, *n, "") == "" {
		out.Link, out.Weight = n.Link, weight(c, n)
	}
	for i := range n.Ladder {
		r := &n.Ladder[i]
		out.Rungs = append(out.Rungs, policy.Rung{Sheds: sheds(n.Ladder, i), Withdraw: r.Withdraw, Leave: r.MayWithdraw(), Prefixes: r.Prefixes})
	}
	return out
}

// sheds is what a rung is expected to shed. Where the configuration does not say,
// it stands evenly between the rungs around it.
func sheds(ladder []config.Rung, i int) float64 {
	at := func(i int) (float64, bool) {
		switch {
		case i < 0:
			return 0, true
		case i >= len(ladder):
			return 1, true
		case ladder[i].Withdraw && len(ladder[i].Prefixes) == 0 && !ladder[i].ShedsSet:
			return 1, true
		}
		return ladder[i].Sheds, ladder[i].ShedsSet
	}
	below, above := i, i
	from, known := at(below)
	for !known {
		below--
		from, known = at(below)
	}
	to, known := at(above)
	for !known {
		above++
		to, known = at(above)
	}
	if above == below {
		return from
	}
	return from + (to-from)*float64(i-below)/float64(above-below)
}

// share is the node's part of the flap budget at the neighbour's AS. The nodes take
// their turns in the order of their names.
func share(c *config.Config, n *config.Neighbor) flap.Share {
	if len(n.EdgesAtASN) == 0 {
		return flap.Share{}
	}
	at := slices.Index(n.EdgesAtASN, c.Node)
	if at < 0 {
		at = slices.Index(n.EdgesAtASN, c.Site)
	}
	return flap.Share{Edges: len(n.EdgesAtASN), Index: at}
}

// weight is the neighbour's share of its link's traffic.
func weight(c *config.Config, n *config.Neighbor) float64 {
	sum := 0.0
	for i := range c.Neighbors {
		if c.Neighbors[i].Link == n.Link {
			sum += c.Neighbors[i].Weight
		}
	}
	return n.Weight / sum
}

// epoch names a neighbour as it is: where it changes, what was learned of the
// ladder is of another one.
func epoch(n *config.Neighbor) string {
	h := fnv.New64a()
	fmt.Fprint(h, n.Address, n.Port, n.ASN, n.Kind, n.Prepend, n.MED, n.LocalPref, n.Communities.Strings(), n.Link)
	for i := range n.Ladder {
		fmt.Fprint(h, effect(n, i+1))
	}
	return fmt.Sprintf("%016x", h.Sum64())
}

// effect is what a rung makes of a route, in words that can be compared.
func effect(n *config.Neighbor, rung int) string {
	r := &n.Ladder[rung-1]
	prepend := n.Prepend
	if r.PrependSet {
		prepend = r.Prepend
	}
	return fmt.Sprint(prepend, r.Communities.Strings(), r.MED, r.LocalPref, r.GSHUT, r.Withdraw, r.Prefixes)
}
