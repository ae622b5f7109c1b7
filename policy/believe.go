package policy

import (
	"math"
	"slices"
	"time"
)

const (
	// doubt is how far a configured shed may be off, as a share of it.
	doubt = 0.10
	// forget is the time in which half of what was learned is forgotten.
	forget = 7 * 24 * time.Hour
	// mostSeen bounds what earlier measurements weigh against a new one.
	mostSeen = 4
	// futile is the share of what was expected below which a step did nothing.
	futile = 0.25
	// giveUp is how long climbing is not tried again after such a step.
	giveUp = time.Hour
	// settle is how much longer than the dead time a measurement waits.
	settle = 15 * time.Second
	// drift is by how much of itself a demand may change within the dead time for
	// a step's effect to be told from it.
	drift = 0.10
)

// expected is what a rung is configured to shed.
func (r Rung) expected() float64 {
	if r.Withdraw && r.Sheds == 0 {
		return 1
	}
	return r.Sheds
}

// believed is what a rung is thought to shed of the neighbour's demand, and how
// far off that may be: the configured share, and with each measurement more what
// was seen. Along a ladder it never falls.
func (c *Climber) believed(st *ClimberState, rung int, now time.Time) (shed, off float64) {
	for r := 1; r <= min(rung, len(c.Rungs)); r++ {
		p := c.Rungs[r-1].expected()
		o := doubt * p
		if r <= len(st.Learned) && st.Learned[r-1].Weight > 0 {
			l := st.Learned[r-1]
			w := l.Weight * math.Exp2(-float64(max(0, now.Sub(l.At)))/float64(forget))
			p, o = (p+2*w*l.Shed)/(1+2*w), (o+2*w*l.Off)/(1+2*w)
		}
		if p >= shed {
			shed, off = p, o
		}
	}
	return shed, off
}

// learn takes in what a rung was seen to shed. It never changes what it was given.
func learn(ls []Learned, rung, rungs int, shed float64, now time.Time) []Learned {
	out := make([]Learned, rungs)
	copy(out, ls)
	l := &out[rung-1]
	if l.Weight == 0 {
		l.Shed = shed
	}
	part := 1 / (1 + l.Weight)
	l.Off += part * (math.Abs(shed-l.Shed) - l.Off)
	l.Shed += part * (shed - l.Shed)
	l.Weight, l.At = min(mostSeen, l.Weight+1), now
	return out
}

// measure ends the trials whose dead time is over: what a step up has shed is
// learned, unless others moved meanwhile or the demand did. A step that did next
// to nothing, as when all nodes are hot and shed onto each other, says nothing of
// its rung; it is not tried again for a while.
func (r *round) measure(i int) {
	st, c := &r.next.Load.Climbers[i], &r.c.Load.Climbers[i]
	l := r.linkOf(i)
	if st.Trial.At.IsZero() || l < 0 || !r.fresh(l) {
		return
	}
	link := &r.next.Load.Links[l]
	at := link.Control.At
	if at.Before(st.Trial.At.Add(r.deadTime() + settle)) {
		return
	}
	t := st.Trial
	st.Trial = Trial{}
	alone := st.Since.Equal(t.At) && link.Moved.Equal(t.At) && !r.in.OthersMoved.After(t.At.Add(-r.deadTime()))
	if !alone || !t.Steady || !steady(link, r.deadTime()) || c.Share.Edges > 1 || st.Rung == 0 {
		return
	}
	obtained := 1 - link.Control.Trend.Level*(1-link.InForce)/t.Demand - t.InForce
	asked := link.InForce - t.InForce
	if obtained < futile*asked {
		st.Futile = at.Add(giveUp)
		return
	}
	shed := clamp01(t.Shed + obtained/r.weight(i))
	st.Learned = learn(st.Learned, st.Rung, len(c.Rungs), shed, at)
	link.InForce = r.inForce(l)
	r.learnLanding(l, obtained*t.Demand*link.Capacity)
}

// learnLanding takes in on which other links what a link has shed has landed.
func (r *round) learnLanding(l int, amount float64) {
	from := &r.next.Load.Links[l]
	for o := range r.next.Load.Links {
		to := &r.next.Load.Links[o]
		if o == l || !r.fresh(o) || !steady(to, r.deadTime()) {
			continue
		}
		share := clamp01((to.Control.Trend.Level - to.Then) * to.Capacity / amount)
		from.Landed = landed(from.Landed, to.Name, share)
	}
}

// landed takes in one measurement. It never changes what it was given.
func landed(ls []Landed, link string, share float64) []Landed {
	out := slices.Clone(ls)
	i := slices.IndexFunc(out, func(l Landed) bool { return l.Link == link })
	if i < 0 {
		return append(out, Landed{link, share, 1})
	}
	l := &out[i]
	l.Weight = min(mostSeen, l.Weight+1)
	l.Share += (share - l.Share) / l.Weight
	return out
}

func clamp01(v float64) float64 { return max(0, min(v, 1)) }

// steady says whether a link's demand changes little within a dead time.
func steady(l *LinkState, deadTime time.Duration) bool {
	t := l.Control.Trend
	return math.Abs(t.Slope)*deadTime.Seconds() <= drift*max(t.Level, 0.1)
}

// places finds where each climber is. Those without a weight share evenly what the
// others of their link leave.
func (r *round) places() {
	cs, links := r.c.Load.Climbers, r.c.Load.Links
	r.b.places = resize(r.b.places, len(cs))
	for i := range cs {
		p := &r.b.places[i]
		p.link = -1
		if i < len(links) && links[i].Name == cs[i].Link { // most likely
			p.link = i
			continue
		}
		for l := range links {
			if links[l].Name == cs[i].Link {
				p.link = l
				break
			}
		}
	}
	for i := range cs {
		p := &r.b.places[i]
		if p.weight = min(1, cs[i].Weight); p.weight > 0 {
			continue
		}
		left, without := 1.0, 0
		for j := range cs {
			if r.b.places[j].link != p.link {
				continue
			}
			if left -= max(0, cs[j].Weight); !(cs[j].Weight > 0) {
				without++
			}
		}
		p.weight = max(0, left) / float64(without)
	}
}

// weight is a climber's share of its link's demand.
func (r *round) weight(i int) float64 { return r.b.places[i].weight }

// linkOf is the index of a climber's link; -1: it has none.
func (r *round) linkOf(i int) int { return r.b.places[i].link }

// inForce is what the rungs of a link's climbers are believed to shed of it.
func (r *round) inForce(l int) float64 {
	sum := 0.0
	for i := range r.c.Load.Climbers {
		if c := &r.c.Load.Climbers[i]; r.linkOf(i) == l {
			st := &r.next.Load.Climbers[i]
			shed, _ := c.believed(st, st.Rung, r.next.Load.Links[l].Control.At)
			sum += r.weight(i) * shed
		}
	}
	return min(1, sum)
}
