package config

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/catchment-bgp/catchment/announcer"
)

// effect is what a neighbour sees of a rung, in a form that can be compared.
type effect struct {
	prepend        int
	communities    string
	med, localPref announcer.Metric
	gshut          bool
	withdraw       bool
	prefixes       string
}

func effectOf(n *Neighbor, r *Rung) effect {
	e := effect{
		prepend:     n.Prepend,
		communities: strings.Join(r.Communities.Strings(), " "),
		med:         n.MED, localPref: n.LocalPref,
		gshut: r.GSHUT, withdraw: r.Withdraw,
		prefixes: fmt.Sprint(r.Prefixes),
	}
	if r.PrependSet {
		e.prepend = r.Prepend
	}
	if r.MED.Set {
		e.med = r.MED
	}
	if r.LocalPref.Set {
		e.localPref = r.LocalPref
	}
	return e
}

// ladder checks the rungs one by one and in their order.
func (c *checker) ladder(path string, raw []rawRung, n *Neighbor) []Rung {
	var out []Rung
	for i := range raw {
		at := item(path, i)
		if c.bad[at] {
			out = append(out, Rung{})
			continue
		}
		r := c.rung(at, &raw[i], n)
		if !c.dirty[at] && (i == 0 || !c.dirty[item(path, i-1)]) {
			before := effectOf(n, &Rung{})
			if i > 0 {
				before = effectOf(n, &out[i-1])
			}
			c.rungAfter(at, &r, out, before, n)
		}
		out = append(out, r)
	}
	return out
}

func (c *checker) rung(path string, raw *rawRung, n *Neighbor) Rung {
	steer := c.steer(join(path, "steer"), raw.Steer, n)
	r := Rung{
		Communities: c.withSteer(c.communities(join(path, "community"), raw.Community), steer),
		Steer:       steer,
		Prepend:     c.prepend(join(path, "prepend"), raw.Prepend, n),
		PrependSet:  raw.Prepend != nil,
		MED:         toMetric(raw.MED),
		LocalPref:   c.localPref(join(path, "local_pref"), raw.LocalPref, n),
		GSHUT:       value(raw.GSHUT, false),
		Withdraw:    value(raw.Withdraw, false),
		Prefixes:    c.rungPrefixes(join(path, "prefixes"), raw.Prefixes),
		Sheds:       c.fraction(join(path, "sheds"), raw.Sheds, 0, 0, 1),
		ShedsSet:    raw.Sheds != nil,
		Leaves:      value(raw.Leaves, false),
	}
	c.notEmpty(join(path, "community"), len(raw.Community), "write a community, or remove the key")
	steers := raw.Steer != nil || len(r.Communities) > 0 || r.PrependSet || r.MED.Set || r.LocalPref.Set || r.GSHUT
	switch {
	case c.dirty[path]:
	case !steers && !r.Withdraw:
		c.reject(path, "the rung does nothing; write at least one of steer, community, prepend, med, local_pref, gshut: true and withdraw: true")
	case steers && r.Withdraw:
		c.reject(join(path, "withdraw"), "a withdrawn route has no attributes; write withdraw: true in a rung of its own")
	case r.Leaves && r.Withdraw:
		c.reject(join(path, "leaves"), "a withdrawal leaves in any case; remove the key")
	}
	return r
}

func (c *checker) rungPrefixes(path string, raw []netip.Prefix) []netip.Prefix {
	c.notEmpty(path, len(raw), "write some of the service's prefixes, or remove the key for all")
	seen := map[netip.Prefix]bool{}
	for i, p := range raw {
		if p.IsValid() && seen[p] {
			c.reject(item(path, i), "%s stands there already; write it once", p)
		}
		seen[p] = true
	}
	return raw
}

// rungAfter checks a rung against rung 0 and those below it.
func (c *checker) rungAfter(path string, r *Rung, below []Rung, before effect, n *Neighbor) {
	at := join(path, "prepend")
	top := n.Prepend
	for i := range below {
		top = max(top, below[i].Prepend)
	}
	switch {
	case r.PrependSet && r.Prepend < n.Prepend:
		c.reject(at, "%d is below the %d of rung 0; prepends are totals: write %d or more", r.Prepend, n.Prepend, n.Prepend+1)
		return
	case r.PrependSet && r.Prepend < top:
		c.reject(at, "%d is below the %d of a rung before it; prepends are totals and grow: write %d or more", r.Prepend, top, top)
		return
	}
	if len(below) > 0 {
		last := &below[len(below)-1]
		if last.Withdraw && (len(last.Prefixes) == 0 || !r.Withdraw) {
			previous, _ := parent(path)
			c.reject(join(item(previous, len(below)-1), "withdraw"), "a rung stands after the withdrawal; write withdraw: true last")
			return
		}
		if r.ShedsSet && last.ShedsSet && r.Sheds < last.Sheds {
			c.warn(join(path, "sheds"), "%g is below the %g of the rung before it; a higher rung is expected to shed more", r.Sheds, last.Sheds)
		}
	}
	if effectOf(n, r) != before {
		return
	}
	if r.PrependSet {
		c.reject(at, "%d stands at the rung before it already; prepends are totals: write %d or more", r.Prepend, r.Prepend+1)
		return
	}
	c.reject(path, "the rung changes nothing after the one before it; write other values or remove it")
}

// discriminators warns of MEDs where other nodes announce to the same AS. Its routers compare the MEDs of all our routes before the
// distances to them, and take a route without one for 0 (RFC 4271, section 9.1.2.2, c and e).
func (c *checker) discriminators(path string, n *Neighbor, cfg *Config) {
	others := slices.DeleteFunc(slices.Clone(n.EdgesAtASN), func(name string) bool { return name == cfg.Node || name == cfg.Site })
	if len(others) == 0 || n.Kind == announcer.Internal {
		return
	}
	const text = "AS %d hears other nodes, too (%s), and its routers compare MED before distance: one that differs between nodes moves clients of all cities; %s"
	if n.MED.Set && n.MED.Value > 0 {
		c.warn(join(path, "med"), text, n.ASN, few(others), "write the same at all of them, or prepend")
	}
	for i, r := range n.Ladder {
		if r.MED.Set {
			c.warn(join(item(join(path, "ladder"), i), "med"), text, n.ASN, few(others), "write community or prepend in its place")
		}
	}
}
