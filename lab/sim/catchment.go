package sim

import (
	"math/rand/v2"
	"slices"
	"time"
)

// routed is traffic that follows routes: a world in which groups of clients are
// drawn to sites by what is announced.
type routed struct {
	*world
	prefixes []float64 // their shares of the traffic
	routes   []route
	bySite   [][]int // routes of each site
	groups   []client
	cities   []city   // by group of the scenario
	ring     [][]news // what groups hear, by the step in which they do
	step     int
	seq      uint32
	delays   *rand.Rand
	jitter   *rand.Rand
	damping  []dampedAt
	scratch  []part
	movers   []int     // groups that heard something in this step
	shares   []float64 // by link
}

// route is one neighbour of one site.
type route struct {
	site, neighbor int
	link           int
	asn            uint32
	ladder         []Rung
	touches        [][]bool // by rung and prefix
	edges          []int    // the rung of each edge
	told           []uint8  // by prefix: what the neighbour hears of the best edge
	users          []user   // who has it among its candidates
}

// user is a group, and which of its candidates is meant.
type user struct{ group, candidate int }

// gone is what is heard of a withdrawn route; otherwise it is the rung.
const gone = 255

// client is one group of clients.
type client struct {
	spec   int
	share  float64 // of the spec's demand
	cands  []candidate
	heard  []heard  // by candidate and prefix
	parts  [][]part // by prefix: where it is
	home   [][]part // by prefix: where it is with nothing shed
	dirty  []bool   // by prefix
	asns   []uint32 // of its candidates, if it damps
	damper []damper // by ASN and prefix
	maker  *makerDefaults
}

// city is all groups that a group of the scenario is divided into: their demand,
// and where it goes.
type city struct {
	noise       noise
	demand      float64
	from, to    int    // its groups
	there, home []flow // now, and with nothing shed
	away, lost  float64
	moving      bool
}

// flow is a share of a city's demand on a link.
type flow struct {
	link, site int
	share      float64
}

// candidate is a route that a group can use.
type candidate struct {
	route, asn       int // asn is an index into asns, if the group damps
	preference, path int
	steered          float64 // it is steered away by communities that steer a greater share
}

type heard struct {
	code uint8
	seq  uint32
}

// part is a share of a group's traffic.
type part struct {
	route, site, link int
	share             float64
}

// news is what a group comes to hear.
type news struct {
	user
	prefix int
	heard
}

// dampedAt is a prefix that is damped at a group.
type dampedAt struct{ group, asn, prefix int }

func newRouted(sc *Scenario, seed uint64) *routed {
	w := &routed{world: newWorld(sc, seed)}
	w.delays, w.jitter = w.random("delays"), w.random("noise")
	total := 0.0
	for _, p := range sc.Prefixes {
		total += p.Weight
	}
	for _, p := range sc.Prefixes {
		w.prefixes = append(w.prefixes, p.Weight/total)
	}
	w.shares = make([]float64, len(w.links))
	w.ring = make([][]news, int(sc.BGP.DeadMax/sc.Step)+2)
	w.addRoutes()
	w.addGroups()
	for g := range w.groups {
		for k := range w.prefixes {
			w.groups[g].parts[k] = w.place(g, k, nil)
			w.groups[g].home[k] = slices.Clone(w.groups[g].parts[k])
			w.listen(g, k)
		}
	}
	for i := range w.cities {
		w.sum(&w.cities[i])
		w.cities[i].home = slices.Clone(w.cities[i].there)
	}
	return w
}

func (w *routed) addRoutes() {
	for i, s := range w.sc.Sites {
		var mine []int
		for j, n := range s.Neighbors {
			r := route{site: i, neighbor: j, asn: n.ASN, ladder: n.Ladder,
				edges: make([]int, s.Edges), told: make([]uint8, len(w.prefixes))}
			r.link = w.sites[i].first + slices.IndexFunc(s.Links, func(l Link) bool { return l.Name == n.Link })
			for _, g := range n.Ladder {
				touches := make([]bool, len(w.prefixes))
				for k, p := range w.sc.Prefixes {
					touches[k] = len(g.Prefixes) == 0 || slices.Contains(g.Prefixes, p.Prefix)
				}
				r.touches = append(r.touches, touches)
			}
			mine = append(mine, len(w.routes))
			w.routes = append(w.routes, r)
		}
		w.bySite = append(w.bySite, mine)
	}
}

// code is what a neighbour hears of a prefix by the rung of an edge: that of the
// highest rung up to there that touches the prefix.
func (r *route) code(rung, prefix int) uint8 {
	for rung > 0 && !r.touches[rung-1][prefix] {
		rung--
	}
	if rung > 0 && r.ladder[rung-1].Withdraw {
		return gone
	}
	return uint8(rung)
}

// set puts an edge's neighbour on a rung. The neighbour takes the best of what
// its edges announce, so it hears no change before the last of them moves.
func (w *routed) set(site, edge, neighbor, rung int) {
	at := w.bySite[site][neighbor]
	r := &w.routes[at]
	if rung < 0 || rung > len(r.ladder) {
		return
	}
	before := r.edges[edge]
	if before == rung {
		return
	}
	r.edges[edge] = rung
	for k := range w.prefixes {
		if was, is := r.code(before, k), r.code(rung, k); was != is {
			w.changes = append(w.changes, change{site, edge, neighbor, k, is == gone})
		}
	}
	w.tell(at)
}

// tell lets the groups hear what has changed on a route.
func (w *routed) tell(at int) {
	r := &w.routes[at]
	for k := range w.prefixes {
		best := uint8(gone)
		for _, rung := range r.edges {
			best = min(best, r.code(rung, k))
		}
		if w.sites[r.site].down {
			best = gone
		}
		if best == r.told[k] {
			continue
		}
		r.told[k] = best
		w.seq++
		for _, u := range r.users {
			span := w.sc.BGP.DeadMax - w.sc.BGP.DeadMin
			delay := w.sc.BGP.DeadMin + time.Duration(w.delays.Float64()*float64(span))
			when := (w.step + max(1, int(delay/w.sc.Step))) % len(w.ring)
			w.ring[when] = append(w.ring[when], news{u, k, heard{best, w.seq}})
		}
	}
}

// advance is one step: groups hear, move, and fill the links.
func (w *routed) advance(step int) {
	w.step = step
	slot := step % len(w.ring)
	for _, n := range w.ring[slot] {
		h := &w.groups[n.group].heard[n.candidate*len(w.prefixes)+n.prefix]
		if n.seq > h.seq { // BGP keeps the newest, whichever came first
			*h = n.heard
			w.heed(n.group, n.prefix)
		}
	}
	w.ring[slot] = w.ring[slot][:0]
	w.reuse()
	keep, add := fading(w.dt)
	for i := range w.cities {
		c := &w.cities[i]
		spec := &w.sc.Groups[i]
		c.noise.value = c.noise.value*keep + spec.Noise*add*w.jitter.NormFloat64()
		c.demand = spec.Demand * w.specs[i] * max(0, 1+c.noise.value)
	}
	for _, i := range w.movers {
		w.react(i)
	}
	w.movers = w.movers[:0]
	for i := range w.cities {
		w.fill(&w.cities[i])
	}
}

// react has a group that heard something go where it now leads.
func (w *routed) react(group int) {
	g := &w.groups[group]
	for k, dirty := range g.dirty {
		if !dirty {
			continue
		}
		g.dirty[k] = false
		w.listen(group, k)
		to := w.place(group, k, w.scratch[:0])
		w.scratch = to
		// Sessions do not follow to another site.
		c := &w.cities[g.spec]
		w.broken += c.demand * g.share * w.prefixes[k] / w.sc.Sessions.Bitrate * moved(g.parts[k], to)
		g.parts[k] = append(g.parts[k][:0], to...)
		c.moving = true
	}
}

// heed marks a group that heard something.
func (w *routed) heed(group, k int) {
	w.groups[group].dirty[k] = true
	w.movers = append(w.movers, group)
}

// fill puts a city's demand onto the links.
func (w *routed) fill(c *city) {
	if c.moving {
		w.sum(c)
	}
	w.demand += c.demand
	w.lost += c.demand * c.lost
	w.away += c.demand * c.away
	for _, f := range c.there {
		if w.sites[f.site].down {
			w.lost += c.demand * f.share // what goes to a dead site
			continue
		}
		w.links[f.link].load += c.demand * f.share
	}
	for _, f := range c.home {
		w.links[f.link].home += c.demand * f.share
	}
}

// sum adds up where a city's groups are.
func (w *routed) sum(c *city) {
	c.moving, c.away, c.lost = false, 0, 0
	shares := w.shares
	clear(shares)
	for i := c.from; i < c.to; i++ {
		g := &w.groups[i]
		for k, weight := range w.prefixes {
			d := g.share * weight
			c.away += d * moved(g.home[k], g.parts[k])
			if len(g.parts[k]) == 0 {
				c.lost += d
			}
			for _, p := range g.parts[k] {
				shares[p.link] += d * p.share
			}
		}
	}
	c.there = c.there[:0]
	for l, share := range shares {
		if share > 0 {
			c.there = append(c.there, flow{l, w.links[l].site, share})
		}
	}
}

// moved is the share that is at other sites than it was, or nowhere.
func moved(from, to []part) float64 {
	out := 0.0
	for i, p := range from {
		if slices.ContainsFunc(from[:i], func(o part) bool { return o.site == p.site }) {
			continue
		}
		if d := shareAt(from, p.site) - shareAt(to, p.site); d > 0 {
			out += d
		}
	}
	return out
}

func shareAt(parts []part, site int) float64 {
	sum := 0.0
	for _, p := range parts {
		if p.site == site {
			sum += p.share
		}
	}
	return sum
}
