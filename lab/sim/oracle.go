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
	return cmp.Or(order(a.lost, b.lost), order(a.over, b.over), order(a.high, b.high), order(a.moved, b.moved))
}

// order compares, and takes what differs by rounding only for equal.
func order(a, b float64) int {
	if d := a - b; d > 1 || d < -1 { // bit/s
		return cmp.Compare(a, b)
	}
	return 0
}

// edge keeps the noise of the demand off the capacity.
const edge = 0.99

// judge is the cost of the rungs that s is set to, after others.
func (s *still) judge(before []int) cost {
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

// foresee searches the ladders for each phase.
func (w *routed) foresee() *plan {
	s := w.still()
	before := make([]int, len(w.routes))
	out := &plan{}
	var last phase
	for i, p := range w.phases() {
		if i > 0 && slices.Equal(p.demands, last.demands) && slices.Equal(p.down, last.down) {
			continue // nothing new
		}
		s.demands, s.down = p.demands, p.down
		rungs := w.choose(s, before)
		if i == 0 || !slices.Equal(rungs, before) {
			at := p.from
			if i > 0 && w.serves(s, last, rungs, before) {
				at = max(last.from, at-w.sc.BGP.DeadMax)
			}
			out.moves = append(out.moves, planned{at, rungs})
		}
		before, last = rungs, p
	}
	return out
}

// serves says whether rungs overload nothing in the phase before that those that
// stand there do not: then they may come early.
func (w *routed) serves(s *still, p phase, rungs, before []int) bool {
	s.demands, s.down = p.demands, p.down
	s.set(rungs)
	a := s.judge(before)
	s.set(before)
	b := s.judge(before)
	return order(a.lost, b.lost) <= 0 && order(a.over, b.over) <= 0 && order(a.high, b.high) <= 0
}

// mostTried bounds the combinations of rungs that are tried at once.
const mostTried = 4096

// choose finds the rungs for a phase. Where all combinations of the ladders that
// can matter are few, it tries them all. Else it tries all those of one site, and
// then of two, again and again until nothing is better: from what there is, from
// nothing shed, and from all hot sites on one rung.
func (w *routed) choose(s *still, before []int) []int {
	s.set(make([]int, len(w.routes)))
	hot, near := w.hot(s)
	best := search{w: w, s: s, before: before, rungs: slices.Clone(s.rungs), cost: s.judge(before)}
	if len(hot) == 0 {
		best.start(before)
		best.climb()
		return best.rungs
	}
	if all := w.ladders(slices.Concat(hot, near)); w.combinations(all) <= mostTried {
		best.product(all)
		return best.rungs
	}
	best.start(before)
	best.climb()
	level := make([]int, len(w.routes))
	for rung := 0; rung < 8; rung++ {
		other := best
		for _, r := range w.ladders(hot) {
			level[r] = min(rung, len(w.routes[r].ladder))
		}
		other.rungs, other.cost = nil, cost{lost: 1e300}
		other.start(level)
		other.climb()
		if other.cost.compare(best.cost) < 0 {
			best = other
		}
	}
	if best.cost.over > 0 || best.cost.high > 0 {
		best.pairs(hot)
	}
	return best.rungs
}

// hot are the sites with a link over its target, and those near them.
func (w *routed) hot(s *still) (hot, near []int) {
	for i := range w.sites {
		if w.busy(s, i) {
			hot = append(hot, i)
		}
	}
	for i := range w.sites {
		if !slices.Contains(hot, i) && slices.ContainsFunc(hot, func(h int) bool { return w.near[h][i] }) {
			near = append(near, i)
		}
	}
	return hot, near
}

// ladders are the routes of some sites that have rungs.
func (w *routed) ladders(sites []int) []int {
	var out []int
	for _, site := range sites {
		for _, r := range w.bySite[site] {
			if len(w.routes[r].ladder) > 0 && !slices.Contains(out, r) {
				out = append(out, r)
			}
		}
	}
	return out
}

// combinations is how many there are of the rungs of some routes, or mostTried+1.
func (w *routed) combinations(routes []int) int {
	n := 1
	for _, r := range routes {
		n = min(n*(len(w.routes[r].ladder)+1), mostTried+1)
	}
	return n
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

// search is the best that has been found.
type search struct {
	w      *routed
	s      *still
	before []int
	rungs  []int
	cost   cost
}

// start takes rungs to begin with, if they are better.
func (b *search) start(rungs []int) {
	b.s.set(rungs)
	b.take()
}

// take keeps what s is set to, if it is better.
func (b *search) take() bool {
	c := b.s.judge(b.before)
	if b.rungs != nil && c.compare(b.cost) >= 0 {
		return false
	}
	b.cost, b.rungs = c, append(b.rungs[:0:0], b.s.rungs...)
	return true
}

// sweeps bounds how often the sites are gone through.
const sweeps = 8

// climb tries the combinations of each busy site until nothing is better.
func (b *search) climb() {
	for range sweeps {
		better := false
		for site := range b.w.sites {
			b.s.set(b.rungs)
			if b.w.busy(b.s, site) {
				better = b.product(b.w.ladders([]int{site})) || better
			}
		}
		if !better {
			return
		}
	}
}

// pairs tries the combinations of each hot site with each that shares clients with
// it, until nothing is better.
func (b *search) pairs(hot []int) {
	for range sweeps {
		better := false
		for _, site := range hot {
			for other := range b.w.sites {
				if other != site && b.w.near[site][other] {
					better = b.product(b.w.ladders([]int{site, other})) || better
				}
			}
		}
		if !better {
			return
		}
	}
}

// product tries all combinations of the rungs of some routes, the others as they
// are; where there are too many, one route after the other.
func (b *search) product(routes []int) bool {
	if b.w.combinations(routes) > mostTried {
		better := false
		for _, r := range routes {
			better = b.product([]int{r}) || better
		}
		return better
	}
	start := slices.Clone(b.rungs)
	for _, r := range routes {
		start[r] = 0
	}
	b.s.set(start)
	better := b.take()
	// A Gray code: from each combination to the next, one route moves by one rung
	// (Knuth, The Art of Computer Programming, 7.2.1.1, algorithm H).
	n := len(routes)
	digits, focus, step := make([]int, n), make([]int, n+1), make([]int, n)
	for j := range n {
		focus[j], step[j] = j, 1
	}
	focus[n] = n
	for {
		j := focus[0]
		focus[0] = 0
		if j == n {
			return better
		}
		digits[j] += step[j]
		if digits[j] == 0 || digits[j] == len(b.w.routes[routes[j]].ladder) {
			step[j] = -step[j]
			focus[j], focus[j+1] = focus[j+1], j+1
		}
		b.s.turn(routes[j], digits[j])
		better = b.take() || better
	}
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
