package sim

import (
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// slotTime is the width of a cohort: sessions that began together.
const slotTime = 10 * time.Second

// crowded is traffic made of sessions that are refused and moved by the links'
// servers. Sessions are a fluid, in cohorts by age.
type crowded struct {
	*world
	groups []audience
	slow   []float64 // by link: the share of new sessions refused
	drop   []float64 // by link: the share of current ones moved, at each segment
	slots  int
	lasts  []float64 // by age in slots: the share that outlives one more step
	dice   *rand.Rand
	jitter *rand.Rand
}

// audience is the sessions of a group, by first choice.
type audience struct {
	spec    int
	noise   noise
	classes []class
}

// class is the sessions of one first choice.
type class struct {
	share   float64
	order   []int       // links: the first choice, then the others
	here    [][]float64 // by position in order, and slot of birth: sessions
	at      []float64   // by position: their sum
	waiting float64     // refused by all: they try again after a segment
}

func newCrowded(sc *Scenario, seed uint64) *crowded {
	w := &crowded{world: newWorld(sc, seed)}
	w.dice, w.jitter = w.random("choices"), w.random("noise")
	w.slow, w.drop = make([]float64, len(w.links)), make([]float64, len(w.links))
	w.slots = int(sc.Sessions.Max/slotTime) + 2
	for i := range w.slots {
		age := time.Duration(i) * slotTime
		w.lasts = append(w.lasts, outlives(&sc.Sessions, age, age+sc.Step))
	}
	for i, g := range sc.Groups {
		a := audience{spec: i}
		var links []int
		for _, c := range g.First {
			l, _ := sc.link(c.Link)
			links = append(links, l)
		}
		for j, c := range g.First {
			cl := class{share: c.Share, order: slices.Concat(links[j:], links[:j]), at: make([]float64, len(links))}
			for range links {
				cl.here = append(cl.here, make([]float64, w.slots))
			}
			a.classes = append(a.classes, cl)
		}
		a.fill(w, g.Demand*g.level(0)/sc.Sessions.Bitrate)
		w.groups = append(w.groups, a)
	}
	return w
}

// outlives is the share of the sessions of an age that reach another.
func outlives(s *Sessions, age, later time.Duration) float64 {
	left := func(age time.Duration) float64 {
		switch {
		case age <= s.Min:
			return 1
		case age >= s.Max:
			return 0
		}
		return float64(s.Max-age) / float64(s.Max-s.Min)
	}
	if left(age) == 0 {
		return 0
	}
	return left(later) / left(age)
}

// fill starts a group in its steady state: sessions of all ages at their first
// choice.
func (a *audience) fill(w *crowded, sessions float64) {
	ages := make([]float64, w.slots)
	sum := 0.0
	for i := range ages {
		ages[i] = outlives(&w.sc.Sessions, 0, time.Duration(i)*slotTime)
		sum += ages[i]
	}
	for c := range a.classes {
		cl := &a.classes[c]
		for i, x := range ages {
			slot := (w.slots - i) % w.slots
			cl.here[0][slot] += sessions * cl.share * x / sum
		}
	}
}

// set has a link's servers refuse and move sessions.
func (w *crowded) set(link int, slowdown, drop float64) {
	w.slow[link], w.drop[link] = bounded(slowdown), bounded(drop)
}

// refuses is the share of new sessions that a link's servers refuse; dead ones
// refuse all, and lose what they had at the next segment.
func (w *crowded) refuses(link int) float64 {
	if w.sites[w.links[link].site].down {
		return 1
	}
	return w.slow[link]
}

func (w *crowded) moves(link int) float64 {
	if w.sites[w.links[link].site].down {
		return 1
	}
	return w.drop[link]
}

func bounded(x float64) float64 {
	if math.IsNaN(x) {
		return 0
	}
	return min(max(x, 0), 1)
}

// advance is one step: sessions end, move and begin.
func (w *crowded) advance(int) {
	keep, add := fading(w.dt)
	slot := int(w.now/slotTime) % w.slots
	fetch := min(1, w.sc.Step.Seconds()/w.sc.Sessions.Segment.Seconds())
	for i := range w.groups {
		a := &w.groups[i]
		spec := &w.sc.Groups[a.spec]
		a.noise.value = a.noise.value*keep + spec.Noise*add*w.jitter.NormFloat64()
		want := spec.Demand * w.specs[a.spec] * max(0, 1+a.noise.value) / w.sc.Sessions.Bitrate
		for c := range a.classes {
			w.end(&a.classes[c], slot)
			w.shift(&a.classes[c], fetch)
		}
		w.arrive(a, want, slot, fetch)
		w.count(a, want)
	}
}

// end takes away the sessions that are over.
func (w *crowded) end(c *class, slot int) {
	for p := range c.here {
		here := c.here[p]
		sum := 0.0
		for s := range here {
			age := slot - s
			if age < 0 {
				age += w.slots
			}
			here[s] *= w.lasts[age]
			sum += here[s]
		}
		c.at[p] = sum
	}
}

// shift moves current sessions: those that are dropped, and without stickiness
// those that find their first choice free again.
func (w *crowded) shift(c *class, fetch float64) {
	n := len(c.order)
	for p := range c.order {
		d := w.moves(c.order[p])
		if !w.sc.Sessions.Sticky { // each segment chooses anew
			d = max(d, w.refuses(c.order[p]))
		}
		if d > 0 {
			w.pass(c, p, fetch*d)
		}
		if p > 0 && !w.sc.Sessions.Sticky {
			w.carry(c, p, 0, fetch*(1-w.refuses(c.order[0])))
		}
	}
	for p := range n {
		c.at[p] = 0
		for _, x := range c.here[p] {
			c.at[p] += x
		}
	}
}

// pass has the other links take a share of the sessions of one; those that none
// takes are broken, and wait.
func (w *crowded) pass(c *class, from int, share float64) {
	for i := 1; i < len(c.order) && share > 0; i++ {
		to := (from + i) % len(c.order)
		taken := share * (1 - w.refuses(c.order[to]))
		w.carry(c, from, to, taken)
		share = (share - taken) / max(1-taken, 1e-12) // of those that are still there
	}
	lost := 0.0
	for s := range c.here[from] {
		x := c.here[from][s] * share
		c.here[from][s] -= x
		lost += x
	}
	c.waiting += lost
	w.broken += lost
}

// carry moves a share of the sessions of one link to another, with their ages.
func (w *crowded) carry(c *class, from, to int, share float64) {
	if share <= 0 {
		return
	}
	for s, x := range c.here[from] {
		x *= share
		c.here[from][s] -= x
		c.here[to][s] += x
		w.shifted += x
	}
}

// arrive lets sessions begin until there are as many as wanted. When too many are
// there, viewers leave everywhere.
func (w *crowded) arrive(a *audience, want float64, slot int, fetch float64) {
	there := 0.0
	for c := range a.classes {
		cl := &a.classes[c]
		for p := range cl.at {
			there += cl.at[p]
		}
		there += cl.waiting
	}
	if there > want {
		a.leave(want / there)
		there = want
	}
	fresh := w.split(a, want-there)
	for i := range a.classes {
		cl := &a.classes[i]
		again := cl.waiting * fetch
		cl.waiting -= again
		left := fresh[i] + again
		for p, l := range cl.order {
			taken := left * (1 - w.refuses(l))
			cl.here[p][slot] += taken
			cl.at[p] += taken
			left -= taken
		}
		cl.waiting += left
	}
}

// leave keeps a share of all sessions.
func (a *audience) leave(keep float64) {
	for c := range a.classes {
		cl := &a.classes[c]
		cl.waiting *= keep
		for p := range cl.here {
			cl.at[p] *= keep
			for s := range cl.here[p] {
				cl.here[p][s] *= keep
			}
		}
	}
}

// split divides new sessions among the first choices. Each session chooses for
// itself, so the parts vary as those of a multinomial do.
func (w *crowded) split(a *audience, n float64) []float64 {
	out := make([]float64, len(a.classes))
	share := 1.0
	for i := range a.classes {
		p := min(1, a.classes[i].share/max(share, 1e-12))
		x := n * p
		if i < len(a.classes)-1 {
			most := min(x, n-x) // alike in both directions, or it would favour one
			x += min(max(math.Sqrt(n*p*(1-p))*w.dice.NormFloat64(), -most), most)
		}
		out[i] = x
		n -= out[i]
		share -= a.classes[i].share
	}
	return out
}

// count fills the links.
func (w *crowded) count(a *audience, want float64) {
	rate := w.sc.Sessions.Bitrate
	w.demand += want * rate
	for i := range a.classes {
		c := &a.classes[i]
		for p, l := range c.order {
			w.links[l].load += c.at[p] * rate
			if p > 0 {
				w.away += c.at[p] * rate
			}
		}
		w.links[c.order[0]].home += want * c.share * rate
		w.lost += c.waiting * rate
		w.away += c.waiting * rate
	}
}
