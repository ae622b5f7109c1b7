package policy

import (
	"slices"
	"time"

	"github.com/catchment-bgp/catchment/policy/control"
)

const (
	// coarse is by how much a step may shed more than is wanted, if the load is
	// bearable without it.
	coarse = 0.15
	// ample is that load.
	ample = 0.92
	// nearFull is the load from which a link is relieved at the cost of others of
	// the node that are not yet hot.
	nearFull = 0.95
	// courtesy is for how long after others moved it is borne.
	courtesy = 15 * time.Minute
)

// heat says of a link whether it wants more shed than it has.
type heat uint8

const (
	cool heat = iota
	hot
	tried // hot, and nothing can be done
)

// candidate is a step up that may be made.
type candidate struct {
	climber, rung int
	covers        bool
	gain          float64 // of the link's shed, less what is doubtful
	cost          float64
}

// better says whether c is to be preferred: what covers, then the cheapest; of
// those that do not cover, what brings most.
func (c candidate) better(o candidate) bool {
	switch {
	case o.rung == 0:
		return c.rung > 0
	case c.rung == 0, c.covers != o.covers:
		return c.rung > 0 && c.covers
	case c.covers || c.gain == o.gain:
		return c.cost < o.cost
	}
	return c.gain > o.gain
}

// up makes at most one step up, of one climber; or, when everything that this node
// could shed onto is as hot, one of a climber of each link, which counts as one:
// then nothing lands on ourselves.
func (r *round) up() {
	first, all := r.heat()
	if first < 0 && r.nodeHot() {
		if r.upForNode() {
			return
		}
		first, all = r.heatAll()
	}
	if first < 0 {
		return
	}
	if all {
		r.upTogether(-1)
		return
	}
	for l := first; l >= 0 && !r.upAlone(l); l = r.pick() {
		if r.out.Links[l].Restraint.Hindrance == WouldLand && r.heatWarm(l) {
			r.level, r.urgent = r.wanted(l), r.out.Links[l].Utilization > full
			r.upTogether(l)
			return
		}
		r.b.heat[l] = tried
	}
}

// heatWarm takes the links that stand in the way of what a hot one would shed for
// hot, too, if they are nearly so, or the hot one is nearly full. It says whether
// those are all that do: then a step of all lands on none of them.
func (r *round) heatWarm(l int) bool {
	inTheWay := func(o int) bool {
		return o != l && r.out.Links[o].Known && r.c.Load.Links[o].Off == "" &&
			!r.room(l, o, r.wanted(l)-r.next.Load.Links[l].InForce)
	}
	for o := range r.out.Links {
		willMove := r.fresh(o) && (r.out.Links[o].Utilization >= low || r.out.Links[l].Utilization >= nearFull)
		if inTheWay(o) && !willMove {
			return false
		}
	}
	for o := range r.out.Links {
		if inTheWay(o) {
			r.b.heat[o] = hot
		}
	}
	return true
}

// heat finds the links that want more shed than they have. It returns the hottest
// one, -1 if there is none, and whether all of two or more do.
func (r *round) heat() (first int, all bool) {
	r.b.heat = resize(r.b.heat, len(r.out.Links))
	n, others := 0, 0
	for l := range r.out.Links {
		st := &r.next.Load.Links[l]
		r.b.heat[l] = cool
		switch {
		case r.c.Load.Links[l].Off != "" || !r.out.Links[l].Known:
			// Nothing is known of it, and nothing asked of it.
		case r.fresh(l) && r.wanted(l) > st.InForce+hysteresis && r.lasted(st, r.c.Load.Links[l].Period) && r.pressing(l):
			r.b.heat[l] = hot
			n++
		default:
			others++
		}
	}
	return r.pick(), n > 1 && others == 0
}

// pressing says whether a step is due: while the load is below the target and what
// comes can be borne, the step is made later and of the right size, for each is
// dear.
func (r *round) pressing(l int) bool {
	d := &r.out.Links[l]
	return d.Utilization >= r.cc.Target || d.Forecast > ample || r.cc.Mode != control.PI
}

// adds is what a climber's step to another rung would add to its link's shed.
func (r *round) adds(l, i, rung int) float64 {
	c, st, at := &r.c.Load.Climbers[i], &r.next.Load.Climbers[i], r.next.Load.Links[l].Control.At
	here, _ := c.believed(st, st.counts(), at)
	there, _ := c.believed(st, rung, at)
	return r.weight(i) * (there - here)
}

// lasted says whether a link has wanted more for long enough. A figure speaks for
// the whole period before it.
func (r *round) lasted(st *LinkState, period time.Duration) bool {
	wait := r.c.Load.UpAfter
	if wait <= 0 {
		wait = upAfter
	}
	return !st.OverSince.IsZero() && st.Control.At.Sub(st.OverSince) >= wait-period
}

// pick returns the hottest of the hot links; -1: none is left.
func (r *round) pick() int {
	best := -1
	for l, heat := range r.b.heat {
		if heat == hot && (best < 0 || r.out.Links[l].Forecast > r.out.Links[best].Forecast) {
			best = l
		}
	}
	return best
}

// upAlone moves the best climber of a link.
func (r *round) upAlone(l int) bool {
	best := r.best(l, true)
	if best.rung == 0 {
		return false
	}
	r.move(best.climber, best.rung, r.next.Load.Links[l].Control.At)
	return true
}

// upTogether moves the best climber of each hot link, as far as it may and nothing
// lands on a link that stays. If it is for the sake of one link (-1: of all), that
// one must be among them.
func (r *round) upTogether(sake int) {
	var at time.Time
	for l := range r.out.Links {
		if r.b.heat[l] != hot {
			continue
		}
		if t := r.next.Load.Links[l].Control.At; t.After(at) {
			at = t
		}
		if best := r.best(l, false); best.rung > 0 {
			r.b.keys, _ = r.touched(r.b.keys, best.climber, best.rung)
			r.b.plan = append(r.b.plan, best)
		}
	}
	r.even()
	for k := 0; k < len(r.b.plan); k++ {
		if !r.fit(k) {
			r.b.plan = slices.Delete(r.b.plan, k, k+1)
			k = -1 // one that stays may stand in the way of others
		}
	}
	if sake >= 0 && r.planned(sake) == 0 {
		return
	}
	for _, c := range r.b.plan {
		r.move(c.climber, c.rung, at)
	}
}

// even puts the planned steps on one rung: the lowest that sheds as much of the
// site as they would. Between links on rungs that differ clients move, so that one
// fills what another sheds.
func (r *round) even() {
	if len(r.b.plan) < 2 || r.cc.Mode == control.Threshold {
		return
	}
	low, high, want := len(r.c.Load.Climbers[r.b.plan[0].climber].Rungs), 0, 0.0
	for _, c := range r.b.plan {
		low, high = min(low, c.rung), max(high, c.rung)
		want += r.amount(r.linkOf(c.climber), c.cost)
	}
	for rung := low; rung <= high; rung++ {
		sum := 0.0
		for _, c := range r.b.plan {
			if !r.plain(c.climber, rung) {
				return
			}
			l := r.linkOf(c.climber)
			sum += r.amount(l, r.adds(l, c.climber, rung))
		}
		if sum < want && rung < high {
			continue
		}
		for k := range r.b.plan {
			c := &r.b.plan[k]
			c.rung, c.cost = rung, r.adds(r.linkOf(c.climber), c.climber, rung)
		}
		return
	}
}

// plain says whether a climber's step up to a rung needs no leave and is charged
// as any other would be.
func (r *round) plain(i, rung int) bool {
	c, from := &r.c.Load.Climbers[i], r.next.Load.Climbers[i].Rung
	if rung <= from || rung > c.plainTop() || c.Rungs[rung-1].leaves() || rung == c.plainTop() && rung > 1 {
		return false
	}
	for _, g := range c.Rungs[from:rung] {
		if len(g.Prefixes) > 0 {
			return false
		}
	}
	return true
}

// amount is how much of a link's demand a shed is, in the unit of its samples.
func (r *round) amount(l int, shed float64) float64 {
	return shed * r.out.Links[l].Demand * r.next.Load.Links[l].Capacity
}

// fit lowers a planned step until nothing of it lands where there is no room. It
// says whether any is left.
func (r *round) fit(k int) bool {
	c := &r.b.plan[k]
	l := r.linkOf(c.climber)
	for {
		to := r.landsOn(l, c.cost)
		if to < 0 {
			return true
		}
		rungs := r.c.Load.Climbers[c.climber].Rungs
		for c.rung--; c.rung > 0 && (rungs[c.rung-1].Withdraw || rungs[c.rung-1].Leave); c.rung-- {
			// these need more than was asked for
		}
		if c.rung <= r.next.Load.Climbers[c.climber].Rung {
			why := Restraint{WouldLand, time.Time{}, r.c.Load.Links[to].Name}
			r.out.Climbers[c.climber].Restraint, r.out.Links[l].Restraint, r.out.Links[l].Absorb = why, why, true
			return false
		}
		c.cost = r.adds(l, c.climber, c.rung)
	}
}

// best is the best step up of a link's climbers; rung 0: there is none. It notes
// what keeps each from moving, and whether the link has to absorb its load.
func (r *round) best(l int, alone bool) (best candidate) {
	link := &r.out.Links[l]
	link.Restraint, link.Absorb = Restraint{Hindrance: NoLadder}, true
	for i := range r.c.Load.Climbers {
		if r.linkOf(i) != l {
			continue
		}
		c, why := r.climb(l, i, alone)
		if c.rung > 0 {
			why = Restraint{Hindrance: NotChosen}
		}
		if c.better(best) {
			best = c
		}
		r.out.Climbers[i].Restraint = why
		link.Restraint, link.Absorb = why, link.Absorb && why.lasting()
	}
	if best.rung > 0 {
		link.Restraint, link.Absorb = Restraint{}, false
	}
	return best
}

// climb finds the best rung above for a climber; rung 0: none, and why.
func (r *round) climb(l, i int, alone bool) (best candidate, why Restraint) {
	c, st := &r.c.Load.Climbers[i], &r.next.Load.Climbers[i]
	if why = r.ready(l, i); why.Hindrance != Content {
		return candidate{}, why
	}
	why = Restraint{Hindrance: TopRung}
	top := len(c.Rungs)
	if r.cc.Mode == control.Threshold {
		top = min(top, st.Rung+1)
	}
	need := r.wanted(l) - r.next.Load.Links[l].InForce
	var less candidate // the one before the best
	for rung := st.Rung + 1; rung <= top && !best.covers; rung++ {
		cand := r.candidate(l, i, rung, need)
		if no := r.mayTake(l, i, rung, cand.cost, alone); no.Hindrance != Content {
			if why.Hindrance == TopRung {
				why = no
			}
			continue
		}
		if cand.better(best) {
			less, best = best, cand
		}
	}
	if best.covers && best.gain-need > coarse && !r.urgent && r.cc.Mode != control.Threshold && r.leaves(l, less.gain) <= ample {
		best, why = less, Restraint{Hindrance: TooMuch}
	}
	if why.Hindrance == WouldLand && best.gain < need/2 { // not worth a change
		return candidate{}, why
	}
	if best.rung > 0 {
		return best, Restraint{}
	}
	return best, why
}

// candidate is a climber's step to a rung.
func (r *round) candidate(l, i, rung int, need float64) candidate {
	_, off := r.c.Load.Climbers[i].believed(&r.next.Load.Climbers[i], rung, r.next.Load.Links[l].Control.At)
	adds := r.adds(l, i, rung)
	gain := adds - r.weight(i)*off
	return candidate{climber: i, rung: rung, gain: gain, cost: adds, covers: gain >= need}
}

// leaves is what load is to be expected of a link that sheds so much more.
func (r *round) leaves(l int, more float64) float64 {
	d, in := &r.out.Links[l], r.next.Load.Links[l].InForce
	demand := d.Demand
	if in < 1 {
		demand = max(demand, d.Forecast/(1-in))
	}
	return demand * (1 - in - more)
}

// wanted is what is to be shed of a link, for its own sake or the node's. While
// others have just shed, perhaps onto this node, it takes on more before it sheds
// in turn: what all pass on comes back. Links that step together shed alike.
func (r *round) wanted(l int) float64 {
	want := r.out.Links[l].Shed
	if n := &r.node; n.Known && !n.Stale && n.wants(&r.next.Load.Node) {
		want = max(want, n.Shed)
	}
	if at := r.next.Load.Links[l].Control.At; at.Before(r.in.OthersMoved.Add(courtesy)) {
		want = clamp01(1 - (1-want)*max(1, ample/r.cc.Target))
	}
	return max(want, r.level)
}
