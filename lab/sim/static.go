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
	ties    []int     // routes
}

func (w *routed) still() *still {
	return &still{w: w, demands: make([]float64, len(w.groups)), down: make([]bool, len(w.sites)),
		rungs: make([]int, len(w.routes)), loads: make([]float64, len(w.links)), routes: make([]float64, len(w.routes)),
		codes: make([]uint8, len(w.routes)*len(w.prefixes))}
}

// fill finds the loads.
func (s *still) fill() {
	clear(s.loads)
	clear(s.routes)
	s.away, s.lost = 0, 0
	for at := range s.w.routes {
		r := &s.w.routes[at]
		for k := range s.w.prefixes {
			code := r.code(s.rungs[at], k)
			if s.down[r.site] {
				code = gone
			}
			s.codes[at*len(s.w.prefixes)+k] = code
		}
	}
	for i := range s.w.groups {
		for k, weight := range s.w.prefixes {
			s.put(&s.w.groups[i], k, s.demands[i]*weight)
		}
	}
}

// put finds where a group's demand for a prefix goes. It is place, without what
// only a moving world has.
func (s *still) put(g *client, k int, d float64) {
	top, shortest, n := 0, 0, 0
	for i := range g.cands {
		c := &g.cands[i]
		preference, path, ok := s.w.seen(c, s.codes[c.route*len(s.w.prefixes)+k])
		if !ok {
			continue
		}
		if n == 0 || preference > top || preference == top && path < shortest {
			top, shortest, n = preference, path, 0
		}
		if preference == top && path == shortest {
			if n == len(s.ties) {
				s.ties = append(s.ties, 0)
			}
			s.ties[n] = c.route
			n++
		}
	}
	if n == 0 {
		s.lost += d
		s.away += d
		return
	}
	share := d / float64(n)
	for _, at := range s.ties[:n] {
		r := &s.w.routes[at]
		s.loads[r.link] += share
		s.routes[at] += share
		s.away += share * s.foreign(g, k, r.site, float64(n))
	}
}

// foreign is the share of what goes to a site, in one of n equal parts, that is
// not there with nothing shed.
func (s *still) foreign(g *client, k, site int, n float64) float64 {
	home := at(g.home[k], site)
	if home >= 1 {
		return 0
	}
	here := 0.0
	for _, r := range s.ties[:int(n)] {
		if s.w.routes[r].site == site {
			here += 1 / n
		}
	}
	return max(0, here-home) / here
}

// sheds finds what each rung of each neighbour sheds of the neighbour's demand
// while all others are as configured.
func (w *routed) sheds() [][]float64 {
	s := w.still()
	for i := range w.groups {
		g := &w.groups[i]
		s.demands[i] = w.sc.Groups[g.spec].Demand * g.share
	}
	s.fill()
	before := slices.Clone(s.routes)
	out := make([][]float64, len(w.routes))
	for r := range w.routes {
		for rung := 1; rung <= len(w.routes[r].ladder); rung++ {
			s.rungs[r] = rung
			s.fill()
			shed := 0.0
			if before[r] > 0 {
				shed = min(max(0, 1-s.routes[r]/before[r]), 1)
			}
			out[r] = append(out[r], shed)
		}
		s.rungs[r] = 0
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
