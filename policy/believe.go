package policy

import (
	"math"
	"time"
)

const (
	// doubt is how far a configured shed may be off, as a share of it.
	doubt = 0.10
	// forget is the time in which half of what was learned is forgotten.
	forget = 7 * 24 * time.Hour
	// mostSeen bounds what earlier measurements weigh against a new one.
	mostSeen = 4
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
			shed, _ := c.believed(st, st.counts(), r.next.Load.Links[l].Control.At)
			sum += r.weight(i) * shed
		}
	}
	return min(1, sum)
}
