package sim

import (
	"cmp"
	"slices"
	"time"
)

// plan is what the oracle does: for each route, the rungs over time.
type plan struct {
	moves []planned // by time
}

type planned struct {
	at    time.Duration
	rungs []int // by route
}

// phase is a part of a run in which the demand does one thing.
type phase struct {
	from, to time.Duration
	demands  []float64 // by group: the most
	down     []bool    // by site
}

// shortest is the time below which a phase is joined with the next one: no route
// moves as fast.
const shortest = 5 * time.Minute

// phases divides a run at the knots of the shapes and at what happens.
func (w *routed) phases() []phase {
	knots := []time.Duration{0, w.sc.Duration}
	for _, g := range w.sc.Groups {
		for _, s := range g.Shapes {
			knots = append(knots, s.Knots()...)
		}
	}
	for _, e := range w.sc.Events {
		if e.Down != "" {
			knots = append(knots, e.At, e.At+e.For)
		}
	}
	slices.Sort(knots)
	var out []phase
	from := time.Duration(0)
	for _, to := range knots {
		if to > w.sc.Duration || to-from < shortest && to < w.sc.Duration || to == from {
			continue
		}
		out = append(out, w.phase(from, to))
		from = to
	}
	return out
}

// phase finds the most that each group wants in it.
func (w *routed) phase(from, to time.Duration) phase {
	const looks = 16
	p := phase{from: from, to: to, demands: make([]float64, len(w.groups)), down: make([]bool, len(w.sites))}
	levels := make([]float64, len(w.sc.Groups))
	for i := range w.sc.Groups {
		for j := range looks + 1 {
			levels[i] = max(levels[i], w.sc.Groups[i].level(from+(to-from)*time.Duration(j)/looks))
		}
	}
	for i := range w.groups {
		g := &w.groups[i]
		p.demands[i] = w.sc.Groups[g.spec].Demand * g.share * levels[g.spec]
	}
	for _, e := range w.sc.Events {
		if e.Down != "" && e.At < to && (e.For == 0 || e.At+e.For > from) {
			p.down[w.sc.site(e.Down)] = true
		}
	}
	return p
}

// cost orders answers: first what is lost, then what is over capacities, then over
// targets, then how much is not at home and how much had to move.
type cost struct{ lost, over, high, moved float64 }

func (a cost) compare(b cost) int {
	return cmp.Or(near(a.lost, b.lost), near(a.over, b.over), near(a.high, b.high), near(a.moved, b.moved))
}

// near compares, and takes what differs by rounding only for equal.
func near(a, b float64) int {
	if d := a - b; d > 1 || d < -1 { // bit/s
		return cmp.Compare(a, b)
	}
	return 0
}

// edge keeps the noise of the demand off the capacity.
const edge = 0.99

// judge is the cost of the rungs that stand in s, after others.
func (s *still) judge(before []int) cost {
	s.fill()
	c := cost{lost: s.lost, moved: s.away}
	for i, l := range s.loads {
		capacity := s.w.links[i].capacity
		c.over += max(0, l-capacity*edge)
		c.high += max(0, l-capacity*s.w.sc.Load.Target)
	}
	for r, rung := range s.rungs {
		if rung > 0 {
			c.moved += s.routes[r] / 5 // what need not be shed goes home
		}
		if rung != before[r] {
			c.moved += s.routes[r] / 10 // a change for nothing is worse than none
		}
	}
	return c
}

// foresee searches the ladders for each phase: all combinations of the rungs of
// one site, site after site among those that are hot or shed, until no site
// finds anything better. For one hot site that is exhaustive; for several it is
// the best, of several beginnings, that no site alone can improve.
func (w *routed) foresee() *plan {
	s := w.still()
	before := make([]int, len(w.routes))
	out := &plan{}
	var last phase
	for i, p := range w.phases() {
		s.demands, s.down = p.demands, p.down
		w.choose(s, before)
		if i == 0 || !slices.Equal(s.rungs, before) {
			at := p.from
			if i > 0 && s.serves(last, before) {
				at = max(last.from, at-w.sc.BGP.DeadMax)
			}
			out.moves = append(out.moves, planned{at, slices.Clone(s.rungs)})
		}
		copy(before, s.rungs)
		last = p
	}
	return out
}

// choose searches from several beginnings: from what there is, from nothing shed,
// and from all hot sites on the same rung.
func (w *routed) choose(s *still, before []int) {
	copy(s.rungs, before)
	best := w.search(s, before)
	found := slices.Clone(s.rungs)
	clear(s.rungs)
	s.fill()
	var hot []int
	top := 0
	for site, routes := range w.bySite {
		if w.busy(s, site) {
			hot = append(hot, routes...)
		}
	}
	for _, r := range hot {
		top = max(top, len(w.routes[r].ladder))
	}
	for level := 0; level <= top && len(hot) > 0; level++ {
		clear(s.rungs)
		for _, r := range hot {
			s.rungs[r] = min(level, len(w.routes[r].ladder))
		}
		if c := w.search(s, before); c.compare(best) < 0 {
			best = c
			copy(found, s.rungs)
		}
	}
	copy(s.rungs, found)
}

// serves says whether the rungs that stand in s overload nothing in the phase
// before, compared with those that stood there: then they may come early.
func (s *still) serves(p phase, before []int) bool {
	now, demands, down := slices.Clone(s.rungs), s.demands, s.down
	s.demands, s.down = p.demands, p.down
	a := s.judge(before)
	copy(s.rungs, before)
	b := s.judge(before)
	copy(s.rungs, now)
	s.demands, s.down = demands, down
	return near(a.lost, b.lost) <= 0 && near(a.over, b.over) <= 0 && near(a.high, b.high) <= 0
}

// search improves the rungs in s until no site can.
func (w *routed) search(s *still, before []int) cost {
	best := s.judge(before)
	for sweep := 0; sweep < 8; sweep++ {
		better := false
		for site, routes := range w.bySite {
			s.fill()
			if !w.busy(s, site) {
				continue
			}
			was := slices.Clone(s.rungs)
			if c, rungs := w.product(s, routes, before, best); c.compare(best) < 0 {
				best, better = c, true
				copy(s.rungs, rungs)
			} else {
				copy(s.rungs, was)
			}
		}
		if !better {
			break
		}
	}
	return best
}

// busy says whether a site has a link over its target, or sheds.
func (w *routed) busy(s *still, site int) bool {
	at := w.sites[site]
	for l := at.first; l < at.first+at.links; l++ {
		if s.loads[l] > w.links[l].capacity*w.sc.Load.Target {
			return true
		}
	}
	return slices.ContainsFunc(w.bySite[site], func(r int) bool { return s.rungs[r] > 0 })
}

// mostTried bounds the combinations of one site; where there are more, its
// neighbours are tried one by one.
const mostTried = 4096

// product tries all combinations of the rungs of some routes.
func (w *routed) product(s *still, routes, before []int, best cost) (cost, []int) {
	size := 1
	for _, r := range routes {
		size = min(size*(len(w.routes[r].ladder)+1), mostTried+1)
	}
	found := slices.Clone(s.rungs)
	try := func() {
		if c := s.judge(before); c.compare(best) < 0 {
			best = c
			copy(found, s.rungs)
		}
	}
	if size > mostTried {
		for _, r := range routes {
			for rung := range len(w.routes[r].ladder) + 1 {
				s.rungs[r] = rung
				try()
			}
			s.rungs[r] = found[r]
		}
		return best, found
	}
	for n := range size {
		for _, r := range routes {
			rungs := len(w.routes[r].ladder) + 1
			s.rungs[r] = n % rungs
			n /= rungs
		}
		try()
	}
	return best, found
}

// prophet follows a plan at one site.
type prophet struct {
	w    *routed
	plan *plan
	site int
}

func (p *prophet) decide(in *situation, out *answer) {
	out.wake = -1
	for _, m := range p.plan.moves {
		if m.at > in.now {
			out.wake = m.at
			return
		}
		for j, r := range p.w.bySite[p.site] {
			out.rungs[j] = m.rungs[r]
		}
	}
}

// seer refuses and moves sessions by the loads as they are now: at each step it
// has every link take new sessions until it is as full as all links together, or
// at its target. It moves current ones only from links over their capacity.
type seer struct {
	w    *world
	site int
}

func (p *seer) decide(in *situation, out *answer) {
	out.wake = in.now + p.w.sc.Step
	load, capacity := 0.0, 0.0
	for _, l := range p.w.links {
		load += l.load
		capacity += l.capacity
	}
	level := max(load/capacity, p.w.sc.Load.Target)
	const soft = 0.005
	at := p.w.sites[p.site]
	for i := range out.slow {
		u := p.w.links[at.first+i].load / p.w.links[at.first+i].capacity
		out.slow[i] = bounded((u - level + soft) / soft)
		out.drop[i] = 0
		if u > 1 && level < 1 {
			out.drop[i] = bounded((u - 1 + soft) / u * p.w.sc.Sessions.Segment.Seconds())
		}
		out.shed[i] = out.slow[i]
	}
}
