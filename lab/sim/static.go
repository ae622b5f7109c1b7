package sim

import (
	"math"
	"slices"
)

// still is the world as it would be if it stood still: every group at a demand,
// every route on a rung, all news heard.
type still struct {
	w       *routed
	demands []float64 // by group, bit/s
	down    []bool    // by site
	rungs   []int     // by route
	loads   []float64 // by link
	routes  []float64 // by route
	codes   []uint8   // by route and prefix: what is heard
	away    float64   // bit/s not at their best site, or lost
	lost    float64   // bit/s without a way
	ties    [][]int   // by group and prefix: the routes where it is
}

func (w *routed) still() *still {
	return &still{w: w, demands: make([]float64, len(w.groups)), down: make([]bool, len(w.sites)),
		rungs: make([]int, len(w.routes)), loads: make([]float64, len(w.links)), routes: make([]float64, len(w.routes)),
		codes: make([]uint8, len(w.routes)*len(w.prefixes)), ties: make([][]int, len(w.groups)*len(w.prefixes))}
}

// set puts all routes on rungs and finds the loads.
func (s *still) set(rungs []int) {
	copy(s.rungs, rungs)
	clear(s.loads)
	clear(s.routes)
	s.away, s.lost = 0, 0
	for at := range s.w.routes {
		s.say(at)
	}
	for i := range s.w.groups {
		for k, weight := range s.w.prefixes {
			s.find(i, k)
			s.put(i, k, s.demands[i]*weight)
		}
	}
}

// turn puts one route on a rung, and changes the loads by what that changes.
func (s *still) turn(at, rung int) {
	if s.rungs[at] == rung {
		return
	}
	s.rungs[at] = rung
	s.say(at)
	for _, u := range s.w.routes[at].users {
		for k, weight := range s.w.prefixes {
			d := s.demands[u.group] * weight
			s.put(u.group, k, -d)
			s.find(u.group, k)
			s.put(u.group, k, d)
		}
	}
}

// say notes what is heard of a route.
func (s *still) say(at int) {
	r := &s.w.routes[at]
	for k := range s.w.prefixes {
		code := r.code(s.rungs[at], k)
		if s.down[r.site] {
			code = gone
		}
		s.codes[at*len(s.w.prefixes)+k] = code
	}
}

// find finds where a group's traffic of a prefix goes. It is place, without what
// only a moving world has.
func (s *still) find(group, k int) {
	g := &s.w.groups[group]
	ties := s.ties[group*len(s.w.prefixes)+k][:0]
	top, shortest := 0, 0
	for i := range g.cands {
		c := &g.cands[i]
		if len(ties) > 0 && (c.preference < top || c.preference == top && c.path > shortest) {
			break // they come in order, and rungs make none of them better
		}
		preference, path, ok := s.w.seen(c, s.codes[c.route*len(s.w.prefixes)+k])
		if !ok {
			continue
		}
		if len(ties) == 0 || preference > top || preference == top && path < shortest {
			top, shortest, ties = preference, path, ties[:0]
		}
		if preference == top && path == shortest {
			ties = append(ties, c.route)
		}
	}
	s.ties[group*len(s.w.prefixes)+k] = ties
}

// put adds a demand, or takes it away, where its group is.
func (s *still) put(group, k int, d float64) {
	ties := s.ties[group*len(s.w.prefixes)+k]
	if len(ties) == 0 {
		s.lost += d
		s.away += d
		return
	}
	home := s.w.groups[group].home[k]
	share := 1 / float64(len(ties))
	for i, at := range ties {
		r := &s.w.routes[at]
		s.loads[r.link] += d * share
		s.routes[at] += d * share
		first, here := true, 0.0
		for j, other := range ties {
			if s.w.routes[other].site == r.site {
				first = first && j >= i
				here += share
			}
		}
		if first {
			s.away += d * max(0, here-shareAt(home, r.site))
		}
	}
}

// sheds finds what each rung of each neighbour sheds of the neighbour's demand
// while all others are as configured.
func (w *routed) sheds() [][]float64 {
	s := w.still()
	for i := range w.groups {
		g := &w.groups[i]
		s.demands[i] = w.sc.Groups[g.spec].Demand * g.share
	}
	s.set(s.rungs)
	before := slices.Clone(s.routes)
	out := make([][]float64, len(w.routes))
	for r := range w.routes {
		for rung := 1; rung <= len(w.routes[r].ladder); rung++ {
			s.turn(r, rung)
			shed := 0.0
			if before[r] > 0 {
				shed = min(max(0, 1-s.routes[r]/before[r]), 1)
			}
			out[r] = append(out[r], shed)
		}
		s.turn(r, 0)
	}
	return out
}

// believed is what the controllers are told of the ladders: what the scenario
// says, else the truth with its error, too high at some neighbours and too low at
// others.
func (w *routed) believed() [][]float64 {
	out := w.sheds()
	draw := w.random("errors")
	for r := range out {
		factor := 1 + w.sc.Load.Error
		if draw.IntN(2) == 0 {
			factor = 1 - w.sc.Load.Error
		}
		for k := range out[r] {
			if told := w.routes[r].ladder[k].Sheds; !math.IsNaN(told) {
				out[r][k] = told
			} else {
				out[r][k] = min(1, out[r][k]*factor)
			}
		}
	}
	return out
}
