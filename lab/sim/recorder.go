package sim

import (
	"math"
	"time"
)

// recorder measures a run as it goes.
type recorder struct {
	w      *world
	target float64
	step   time.Duration

	over      []float64 // seconds, by site
	excess    float64
	peak      float64
	high      float64 // seconds
	under     float64
	apart     float64
	links     []linkRecord
	pairs     []pair
	rungs     []turns // by edge and neighbour
	shares    []turns // by link
	hours     map[change]*hour
	demand    float64
	away      float64
	lost      float64
	secondary int
	needed    time.Duration // when a link last needed to shed
	strange   time.Duration // when anything was last not at home
}

// linkRecord is what is kept of one link.
type linkRecord struct {
	low, high float64 // utilization in the window
	secondary bool
}

// pair is two links of one site, and the sums that their correlation needs.
type pair struct {
	a, b                int
	n, x, y, xx, yy, xy float64
}

// turns counts how often a value changes its direction by more than a step.
type turns struct {
	extreme float64
	rising  int // 1, -1, or 0 at first
	count   int
}

// hour holds when an announcement changed, and was withdrawn, within an hour.
type hour struct {
	updates, withdrawals []time.Duration
	most, mostWithdrawn  int
}

const (
	swing      = 0.05  // a shed that turns by less has not turned
	stillness  = 0.005 // a standard deviation below which a link does not swing
	awayAtHome = 0.001 // a share of the traffic that counts as none
)

func newRecorder(w *world) *recorder {
	r := &recorder{w: w, target: w.sc.Load.Target, step: w.sc.Step, over: make([]float64, len(w.sites)),
		links: make([]linkRecord, len(w.links)), shares: make([]turns, len(w.links)), hours: map[change]*hour{},
		needed: -1, strange: -1}
	for i := range r.links {
		r.links[i].low = math.Inf(1)
	}
	for _, s := range w.sites {
		for a := s.first; a < s.first+s.links; a++ {
			for b := a + 1; b < s.first+s.links; b++ {
				r.pairs = append(r.pairs, pair{a: a, b: b})
			}
		}
	}
	return r
}

// take in one step, after the traffic has moved. shed is by link what its
// controllers ask for; quiet says that no rung and no shed is in force.
func (r *recorder) take(shed []float64, quiet bool) {
	w := r.w
	window := w.now >= w.sc.Window.From && w.now < w.sc.Window.To
	high := false
	over := -1
	for i := range w.links {
		l := &w.links[i]
		u, home := l.load/l.capacity, l.home/l.capacity
		r.peak = max(r.peak, u)
		if u > 1 {
			r.excess += (l.load - l.capacity) * w.dt / 8
			if over != l.site {
				over = l.site
				r.over[over] += w.dt
			}
		}
		r.relapse(&r.links[i], u, home)
		if home > r.target {
			r.needed = w.now
		}
		if window {
			rec := &r.links[i]
			rec.low, rec.high = min(rec.low, u), max(rec.high, u)
			high = high || u > 0.95
			if shed[i] > 0 && home > r.target {
				r.under = max(r.under, r.target-u)
				r.apart = max(r.apart, math.Abs(u-r.target))
			}
		}
		if w.sc.Actuator == BySessions {
			r.shares[i].take(shed[i], swing)
		}
	}
	for i := range w.sites {
		if w.sites[i].down {
			r.needed = w.now
		}
	}
	if high {
		r.high += w.dt
	}
	if window {
		r.correlate()
	}
	r.demand += w.demand * w.dt
	r.away += w.away * w.dt
	r.lost += w.lost * w.dt
	if !quiet || w.away > awayAtHome*w.demand {
		r.strange = w.now
	}
	for _, c := range w.changes {
		r.change(c)
	}
}

// relapse counts overloads that shedding brought about.
func (r *recorder) relapse(l *linkRecord, u, home float64) {
	switch {
	case u > 1 && home <= 1 && !l.secondary:
		l.secondary = true
		r.secondary++
	case u < 0.95:
		l.secondary = false
	}
}

func (r *recorder) correlate() {
	for i := range r.pairs {
		p := &r.pairs[i]
		x := r.w.links[p.a].load / r.w.links[p.a].capacity
		y := r.w.links[p.b].load / r.w.links[p.b].capacity
		p.n++
		p.x += x
		p.y += y
		p.xx += x * x
		p.yy += y * y
		p.xy += x * y
	}
}

// correlation is 0 where either link hardly moves.
func (p *pair) correlation() float64 {
	if p.n == 0 {
		return 0
	}
	vx, vy := p.xx/p.n-p.x*p.x/p.n/p.n, p.yy/p.n-p.y*p.y/p.n/p.n
	if vx < stillness*stillness || vy < stillness*stillness {
		return 0
	}
	return (p.xy/p.n - p.x*p.y/p.n/p.n) / math.Sqrt(vx*vy)
}

// take in a value; it turns when it goes back by at least a step.
func (t *turns) take(v, step float64) {
	d := v - t.extreme
	switch {
	case t.rising >= 0 && d > 0, t.rising < 0 && d < 0:
		if t.rising == 0 {
			if d < step {
				return
			}
			t.rising = 1
		}
		t.extreme = v
	case math.Abs(d) >= step:
		if t.rising != 0 {
			t.count++
		}
		t.rising, t.extreme = -t.rising, v
		if t.rising == 0 {
			t.rising = 1
		}
	}
}

func (r *recorder) change(c change) {
	key := c
	key.withdrawn = false
	h := r.hours[key]
	if h == nil {
		h = &hour{}
		r.hours[key] = h
	}
	h.updates = within(append(h.updates, r.w.now), r.w.now)
	h.most = max(h.most, len(h.updates))
	if c.withdrawn {
		h.withdrawals = within(append(h.withdrawals, r.w.now), r.w.now)
		h.mostWithdrawn = max(h.mostWithdrawn, len(h.withdrawals))
	}
}

// within drops the times that are over an hour ago.
func within(ts []time.Duration, now time.Duration) []time.Duration {
	for len(ts) > 0 && now-ts[0] >= time.Hour {
		ts = ts[1:]
	}
	return ts
}

// figures are those of the run that has ended.
func (r *recorder) figures() Figures {
	var out Figures
	w := r.w
	for _, s := range r.over {
		out[OverloadSeconds] = max(out[OverloadSeconds], s)
	}
	out[ExcessBytes], out[Peak], out[Undershoot] = r.excess, r.peak, r.under
	out[SettledError], out[SettledHighSeconds] = r.apart, r.high
	for _, l := range r.links {
		out[PeakToPeak] = max(out[PeakToPeak], l.high-l.low)
	}
	out[Antiphase] = math.NaN()
	for i := range r.pairs {
		if c := r.pairs[i].correlation(); i == 0 || c < out[Antiphase] {
			out[Antiphase] = c
		}
	}
	for _, t := range append(r.rungs, r.shares...) {
		out[Reversals] = max(out[Reversals], float64(t.count))
	}
	for _, h := range r.hours {
		out[UpdatesPerHour] = max(out[UpdatesPerHour], float64(h.most))
		out[WithdrawalsPerHour] = max(out[WithdrawalsPerHour], float64(h.mostWithdrawn))
	}
	out[PrefixesDamped] = float64(len(w.damped))
	out[SessionsBroken], out[SessionsMoved] = w.broken, w.shifted
	if r.demand > 0 {
		out[AwayShare], out[UnservedShare] = r.away/r.demand, r.lost/r.demand
	}
	if r.strange > r.needed && r.needed >= 0 {
		out[HomeSeconds] = (r.strange - r.needed).Seconds()
	}
	out[SecondaryOverloads] = float64(r.secondary)
	return out
}
