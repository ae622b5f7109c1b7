package config

import (
	"slices"
	"time"
)

// load reads the controller's configuration. Where a link has a capacity the
// controller runs, unless the file says otherwise.
func (c *checker) load(r rawLoad, links []Link) LoadControl {
	l := LoadControl{
		Mode:          value(r.Mode, defaultMode(links)),
		Target:        value(r.Target, defaultTarget),
		Interval:      c.duration("load.interval", r.Interval, defaultLoadInterval, 100*time.Millisecond, time.Hour),
		AllowWithdraw: value(r.AllowWithdraw, false),
		DwellUp:       c.duration("load.dwell_up", r.DwellUp, defaultDwellUp, time.Second, day),
		DwellDown:     c.duration("load.dwell_down", r.DwellDown, defaultDwellDown, time.Second, day),
		DownAfter:     c.duration("load.down_after", r.DownAfter, defaultDownAfter, time.Second, day),
		DeadTime:      c.duration("load.dead_time", r.DeadTime, defaultDeadTime, time.Second, time.Hour),
		Slowdown:      c.curve("load.slowdown", r.Slowdown),
		Drop:          c.curve("load.drop", r.Drop),
		Flap:          c.flap(value(r.Flap, rawFlap{})),
		Node:          c.resources("load.node", r.Node),
		Quality:       c.quality("load.quality", r.Quality),
	}
	if l.Target <= 0 || l.Target > 1 {
		c.reject("load.target", "%g is out of range; write a number above 0 and up to 1, such as %g", l.Target, defaultTarget)
	}
	if l.Mode != LoadOff && c.usable("load.mode") {
		c.unmeasured(links)
	}
	return l
}

// unmeasured warns of links whose load nobody tells, where load control was asked
// for.
func (c *checker) unmeasured(links []Link) {
	if len(links) == 0 && !c.bad["links"] {
		c.warn("load.mode", "there are no links, so nothing is steered by load; write links: with their figures, or mode: \"off\"")
	}
	for i := range links {
		if path := item("links", i); !links[i].Measured() && !c.dirty[path] {
			c.warn(path, "the link has no figures, so nothing is steered by its load; write interface: or feed: there")
		}
	}
}

func defaultMode(links []Link) LoadMode {
	if slices.ContainsFunc(links, func(l Link) bool { return l.Capacity > 0 }) {
		return LoadPI
	}
	return LoadOff
}

// maxLoad is far above any load, in shares of a capacity.
const maxLoad = 10

// curve reads the corners of a curve: more load never sheds less.
func (c *checker) curve(path string, raw []rawPoint) []Point {
	c.notEmpty(path, len(raw), "write at least one {load: 0.85, share: 0.15}, or remove the key")
	var out []Point
	for i, r := range raw {
		at := item(path, i)
		if c.bad[at] {
			continue
		}
		loads, shares := join(at, "load"), join(at, "share")
		ok := c.need(at, "load", "a share of the capacity, such as 0.85")
		ok = c.need(at, "share", "what shall go elsewhere, 0 to 1") && ok
		p := Point{c.fraction(loads, r.Load, 0, 0, maxLoad), c.fraction(shares, r.Share, 0, 0, 1)}
		if ok && len(out) > 0 {
			switch last := out[len(out)-1]; {
			case p.Load <= last.Load:
				c.reject(loads, "%g is not above the %g of the point before it; write the points in the order of their loads", p.Load, last.Load)
			case p.Share < last.Share:
				c.reject(shares, "%g is below the %g of the point before it; more load never sheds less", p.Share, last.Share)
			}
		}
		out = append(out, p)
	}
	return out
}

func (c *checker) flap(r rawFlap) Flap {
	f := Flap{
		Profiles:    r.Profiles,
		Exploration: c.fraction("load.flap.exploration", r.Exploration, defaultExploration, 1, 10),
		Margin:      c.fraction("load.flap.margin", r.Margin, defaultMargin, 0, 0.9),
	}
	const at = "load.flap.profiles"
	if !c.has(at) {
		f.Profiles = defaultProfiles()
	}
	c.notEmpty(at, len(r.Profiles), "write the makers whose defaults others may use: [cisco, juniper]")
	for i, p := range f.Profiles {
		if slices.Contains(f.Profiles[:i], p) && p != "" {
			c.reject(item(at, i), "%s stands there already; write it once", p)
		}
	}
	return f
}

// edges reads the names of the nodes, or of sites whose nodes step alike, that
// announce to one AS.
func (c *checker) edges(path string, raw []string, cfg *Config) []string {
	c.notEmpty(path, len(raw), "write the names of all nodes that announce to this AS, this one too, or remove the key")
	var out []string
	for i := range raw {
		at := item(path, i)
		if c.bad[at] {
			continue
		}
		name := c.name(at, &raw[i])
		if slices.Contains(out, name) && !c.bad[at] {
			c.reject(at, "%s stands there already; write it once", name)
		}
		out = append(out, name)
	}
	node, site := slices.Contains(out, cfg.Node), cfg.Site != "" && slices.Contains(out, cfg.Site)
	switch {
	case len(out) == 0 || c.dirty[path] || cfg.Node == "":
	case !node && !site:
		c.reject(path, "this node, %s, is not among them; write the names of all nodes (or of sites whose nodes step alike) that announce to this AS, the same at each of them", cfg.Node)
	case node && site && cfg.Node != cfg.Site:
		c.reject(path, "both this node, %s, and its site, %s, stand there; write one of them", cfg.Node, cfg.Site)
	}
	slices.Sort(out)
	return out
}

// sameEdges checks that sessions with one AS name the same nodes: they draw on one
// budget.
func (c *checker) sameEdges(ns []Neighbor) {
	first := map[uint32]int{}
	for i := range ns {
		path := item("neighbors", i)
		if ns[i].ASN == 0 || c.bad[path] || c.dirty[join(path, "edges_at_asn")] {
			continue
		}
		j, known := first[ns[i].ASN]
		if !known {
			first[ns[i].ASN] = i
			continue
		}
		if !slices.Equal(ns[i].EdgesAtASN, ns[j].EdgesAtASN) {
			at := join(path, "edges_at_asn")
			c.reject(at, "AS %d has other nodes at %s (line %d); write the same at all neighbours of one AS", ns[i].ASN, item("neighbors", j), c.where(item("neighbors", j)).line)
		}
	}
}
