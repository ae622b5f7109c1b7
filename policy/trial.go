package policy

import (
	"math"
	"slices"
	"time"

	"github.com/catchment-bgp/catchment/policy/flap"
)

const (
	// futile is the share of what was expected below which a step did nothing.
	futile = 0.25
	// giveUp is how long climbing is not tried again after such a step: twice as long
	// after each further one, up to giveUpMost.
	giveUp     = time.Hour
	giveUpMost = 24 * time.Hour
	// settle is how much longer than the dead time a measurement waits.
	settle = 15 * time.Second
	// trace is a demand too small to measure anything by.
	trace = 1e-6
	// drift is by how much of itself a demand may change within the dead time for
	// a step's effect to be told from it.
	drift = 0.10
)

// Trial is a step whose effect is to be measured.
type Trial struct {
	At   time.Time // zero: none
	From int       // the rung before
	// Demand and InForce are what was believed of the link before.
	Demand, InForce float64
	Steady          bool // the demand was
}

// begin remembers what is the case before a climber's step.
func (r *round) begin(i int, at time.Time) Trial {
	l := r.linkOf(i)
	if l < 0 || r.next.Load.Climbers[i].Pinned {
		return Trial{}
	}
	link := &r.next.Load.Links[l]
	return Trial{at, r.next.Load.Climbers[i].Rung, link.Control.Trend.Level, link.InForce, steady(link, r.deadTime())}
}

// measure ends the trials of a link whose dead time is over, before a new figure
// is taken in: what a step has shed is learned, unless others moved meanwhile or
// the demand did. A step up that did next to nothing, as when all nodes are hot and
// shed onto each other, says nothing of its rung: the climber counts as being where
// it was, and climbing is not tried again for a while.
func (r *round) measure(l int) {
	at := r.next.Load.Links[l].Control.At
	for i := range r.next.Load.Climbers {
		st := &r.next.Load.Climbers[i]
		t := st.Trial
		if r.linkOf(i) != l || t.At.IsZero() || at.Before(t.At.Add(r.deadTime()+settle)) {
			continue
		}
		st.Trial = Trial{}
		switch {
		case !r.telling(i, t):
		case st.Rung > t.From:
			r.measureUp(i, t, at)
		case st.Rung < t.From:
			r.measureDown(i, t, at)
		}
	}
}

// telling says whether a trial's outcome is that of its step alone.
func (r *round) telling(i int, t Trial) bool {
	link := &r.next.Load.Links[r.linkOf(i)]
	return t.Steady && t.Demand > trace && link.Control.Trend.Level > trace && steady(link, r.deadTime()) &&
		r.next.Load.Climbers[i].Since.Equal(t.At) && link.Moved.Equal(t.At) &&
		!r.in.OthersMoved.After(t.At.Add(-r.deadTime())) && r.sees(i)
}

// sees says whether it would be known if another node had moved at a climber's AS.
func (r *round) sees(i int) bool {
	c := &r.c.Load.Climbers[i]
	return c.Share.Edges <= 1 || r.in.Now.Sub(r.in.Told[c.ASN].At) <= flap.ToldFresh
}

// measureUp learns what the rung that was climbed to sheds.
func (r *round) measureUp(i int, t Trial, at time.Time) {
	c, st, l := &r.c.Load.Climbers[i], &r.next.Load.Climbers[i], r.linkOf(i)
	link := &r.next.Load.Links[l]
	obtained := 1 - link.Control.Trend.Level*(1-link.InForce)/t.Demand - t.InForce
	if !(obtained >= futile*(link.InForce-t.InForce)) {
		st.Futile, st.Idle, st.Back = at.Add(st.givesUp()), true, t.From
		st.Futiles++
	} else if obtained > 0 {
		before, _ := c.believed(st, t.From, at)
		st.Learned = learn(st.Learned, st.Rung, len(c.Rungs), clamp01(before+obtained/r.weight(i)), at)
		r.learnLanding(l, obtained*t.Demand*link.Capacity)
	}
}

// givesUp is how long a climber gives up for after a futile step.
func (s *ClimberState) givesUp() time.Duration {
	return min(giveUp<<min(max(s.Futiles, 0), 5), giveUpMost)
}

// hope forgets how often the climbers of a link moved in vain once its load is below
// the target: what comes next is another matter. The wait that is under way stays.
func (r *round) hope(l int) {
	if !r.fresh(l) || r.out.Links[l].Utilization >= r.cc.Target {
		return
	}
	for i := range r.next.Load.Climbers {
		if r.linkOf(i) == l {
			r.next.Load.Climbers[i].Futiles = 0
		}
	}
}

// measureDown learns what the rung that was left has shed, by what came back.
func (r *round) measureDown(i int, t Trial, at time.Time) {
	c, st, l := &r.c.Load.Climbers[i], &r.next.Load.Climbers[i], r.linkOf(i)
	link := &r.next.Load.Links[l]
	back := 1 - t.Demand*(1-t.InForce)/link.Control.Trend.Level - link.InForce
	if back > futile*(t.InForce-link.InForce) && t.From <= len(c.Rungs) {
		after, _ := c.believed(st, st.Rung, at)
		st.Learned = learn(st.Learned, t.From, len(c.Rungs), clamp01(after+back/r.weight(i)), at)
	}
}

// learnLanding takes in on which other links what a link has shed has landed.
func (r *round) learnLanding(l int, amount float64) {
	from := &r.next.Load.Links[l]
	for o := range r.next.Load.Links {
		to := &r.next.Load.Links[o]
		recent := !to.Control.At.Before(from.Control.At.Add(-r.c.Load.Links[o].lasts()))
		if o == l || !recent || !steady(to, r.deadTime()) || to.Moved.Equal(from.Moved) {
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
