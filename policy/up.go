package policy

import (
	"time"

	"github.com/catchment-bgp/catchment/policy/control"
	"github.com/catchment-bgp/catchment/policy/flap"
)

const (
	// brim is the load that a move may not lift another link of ours over.
	brim = 0.85
	// full is the load over which the next step may come sooner.
	full = 1.0
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
	if first < 0 {
		return
	}
	if all {
		r.upTogether()
		return
	}
	for l := first; l >= 0 && !r.upAlone(l); l = r.pick() {
		r.b.heat[l] = tried
	}
}

// heat finds the links that want more shed than they have. It returns the hottest
// one, -1 if there is none, and whether all of two or more do.
func (r *round) heat() (first int, all bool) {
	r.b.heat = resize(r.b.heat, len(r.out.Links))
	n, others := 0, 0
	nodeHot := r.node.Known && !r.node.Stale && r.node.wants(&r.next.Load.Node) && r.lasted(&r.next.Load.Node, anyPeriod)
	for l := range r.out.Links {
		st, d := &r.next.Load.Links[l], &r.out.Links[l]
		r.b.heat[l] = cool
		switch {
		case r.c.Load.Links[l].Off != "" || !d.Known:
			// Nothing is known of it, and nothing asked of it.
		case r.fresh(l) && (d.wants(st) && r.lasted(st, r.c.Load.Links[l].Period) || nodeHot):
			r.b.heat[l] = hot
			n++
		default:
			others++
		}
	}
	return r.pick(), n > 1 && others == 0
}

// lasted says whether a link has wanted more for long enough. A figure speaks for
// the whole period before it.
func (r *round) lasted(st *LinkState, period time.Duration) bool {
	return !st.OverSince.IsZero() && st.Control.At.Sub(st.OverSince) >= gather-period
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
	r.b.keys = r.b.keys[:0]
	best := r.best(l, true)
	if best.rung == 0 {
		return false
	}
	r.move(best.climber, best.rung, r.next.Load.Links[l].Control.At)
	return true
}

// upTogether moves the best climber of each link, as far as it may.
func (r *round) upTogether() {
	var at time.Time
	r.b.keys, r.b.plan = r.b.keys[:0], r.b.plan[:0]
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
	for _, c := range r.b.plan {
		r.move(c.climber, c.rung, at)
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
		link.Restraint, link.Absorb = why, link.Absorb && why.Hindrance.lasting()
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
	link := &r.next.Load.Links[l]
	here, _ := c.believed(st, st.Rung, link.Control.At)
	need := r.wanted(l) - link.InForce
	for rung := st.Rung + 1; rung <= top; rung++ {
		shed, off := c.believed(st, rung, link.Control.At)
		part := r.weight(i)
		cand := candidate{climber: i, rung: rung, gain: part * (shed - off - here), cost: part * shed}
		cand.covers = cand.gain >= need
		if no := r.mayTake(l, i, rung, part*(shed-here), alone); no.Hindrance != Content {
			why = no
			continue
		}
		if cand.better(best) {
			best = cand
		}
		if cand.covers {
			break
		}
	}
	if best.rung > 0 {
		return best, Restraint{}
	}
	return best, why
}

// wanted is what is to be shed of a link, for its own sake or the node's.
func (r *round) wanted(l int) float64 {
	want := r.out.Links[l].Shed
	if n := &r.node; n.Known && !n.Stale && n.wants(&r.next.Load.Node) {
		want = max(want, n.Shed)
	}
	return want
}

// ready says whether a climber may step up at all now.
func (r *round) ready(l, i int) Restraint {
	c, st := &r.c.Load.Climbers[i], &r.next.Load.Climbers[i]
	at := r.next.Load.Links[l].Control.At
	switch {
	case st.Pinned:
		return r.out.Climbers[i].Restraint
	case len(c.Rungs) == 0:
		return Restraint{Hindrance: NoLadder}
	case at.Before(st.Futile):
		return Restraint{Futile, st.Futile, ""}
	}
	dwell := r.c.Load.DwellUp
	if r.out.Links[l].Utilization > full {
		dwell /= 2
	}
	if no := r.dwelling(l, st, dwell); no.Hindrance != Content {
		return no
	}
	return r.others(st, at)
}

// dwelling says whether a climber must stay because of its own last change: by the
// time of the figures, and by our clock, lest figures of a clock that was set
// shorten it.
func (r *round) dwelling(l int, st *ClimberState, dwell time.Duration) Restraint {
	until := st.Since.Add(dwell)
	if r.next.Load.Links[l].Control.At.Before(until) || r.in.Now.Before(st.Changed.Add(dwell-r.c.Load.Links[l].Period)) {
		return Restraint{Dwelling, until, ""}
	}
	return Restraint{}
}

// others says whether a climber must wait for what another one moved.
func (r *round) others(st *ClimberState, at time.Time) Restraint {
	if end := r.next.Load.Moved.Add(r.deadTime()); at.Before(end) && !st.Since.Equal(r.next.Load.Moved) {
		return Restraint{OtherMover, end, ""}
	}
	if end := r.in.OthersMoved.Add(r.deadTime()); r.in.Now.Before(end) {
		r.wake(end)
		return Restraint{OtherMover, end, ""}
	}
	return Restraint{}
}

// mayTake says whether a step up would be accepted: by the leave we have, by what
// it does to our other links, and by the ledger.
func (r *round) mayTake(l, i, rung int, sheds float64, alone bool) Restraint {
	g := r.c.Load.Climbers[i].Rungs[rung-1]
	if (g.Withdraw || g.Leave || r.leavesNone(i, rung)) && !r.c.Load.AllowWithdraw {
		return Restraint{Hindrance: NeedsGrant}
	}
	if to := r.landsOn(l, sheds); alone && to >= 0 {
		return Restraint{WouldLand, time.Time{}, r.c.Load.Links[to].Name}
	}
	return r.affordable(i, rung)
}

// landsOn returns a link that what is shed from another would lift over the brim;
// -1: none. Where it lands is not known: each may get up to twice its even part.
func (r *round) landsOn(l int, sheds float64) int {
	from, others := &r.next.Load.Links[l], len(r.out.Links)-1
	if others == 0 {
		return -1
	}
	landing := r.c.Load.Links[l].Landing * min(1, 2/float64(others))
	amount := sheds * landing * r.out.Links[l].Demand * from.Capacity
	for o := range r.out.Links {
		to, d := &r.next.Load.Links[o], &r.out.Links[o]
		if o == l || !d.Known {
			continue
		}
		if after := max(d.Forecast, d.Utilization) + amount/to.Capacity; amount > 0 && after > brim {
			return o
		}
	}
	return -1
}

// leavesNone says whether with this step every neighbour would stand on its top
// rung of those that keep announcing: others may then withdraw for it.
func (r *round) leavesNone(i, rung int) bool {
	cs := r.c.Load.Climbers
	if len(cs) < 2 {
		return false
	}
	for j := range cs {
		stands := r.next.Load.Climbers[j].Rung
		if j == i {
			stands = rung
		}
		if top := cs[j].plainTop(); top < 2 || stands < top {
			return false
		}
	}
	return true
}

// plainTop is the highest rung that keeps announcing.
func (c *Climber) plainTop() int {
	top := len(c.Rungs)
	for top > 0 && (c.Rungs[top-1].Withdraw || c.Rungs[top-1].Leave) {
		top--
	}
	return top
}

// affordable asks the ledger for a change of a climber's rung.
func (r *round) affordable(i, rung int) Restraint {
	keys, event := r.touched(r.b.keys, i, rung)
	ok, next := r.next.Load.Ledger.Allow(r.c.Load.Flap, r.c.Load.Climbers[i].Share, r.in.Now, event, keys...)
	r.b.keys = keys[:len(r.b.keys)]
	if ok {
		return Restraint{}
	}
	r.wake(next)
	return Restraint{Ledger, next, ""}
}

// touched appends the ledger's keys of what a change of rung touches, and says how
// the dearest of it is charged.
func (r *round) touched(keys []flap.Key, i, rung int) ([]flap.Key, flap.Event) {
	c, was := &r.c.Load.Climbers[i], r.next.Load.Climbers[i].Rung
	event := flap.AttributeChange
	if rung > was && r.leavesNone(i, rung) {
		event = flap.Withdrawal
	}
	for s := range r.c.Services {
		svc := &r.c.Services[s]
		n := find(svc.Neighbors, i, c.Name, func(n *Neighbor) string { return n.Name })
		if n == nil {
			continue
		}
		for _, p := range svc.Prefixes {
			if !n.carries(p) {
				continue
			}
			from, to := c.Governs(was, p), c.Governs(rung, p)
			if from == to {
				continue
			}
			keys = append(keys, flap.Key{ASN: c.ASN, Prefix: p})
			if e := c.charged(from, to); e != flap.AttributeChange {
				event = e
			}
		}
	}
	return keys, event
}

// charged is how others may charge a prefix's change from one rung to another.
func (c *Climber) charged(from, to int) flap.Event {
	switch {
	case to > 0 && (c.Rungs[to-1].Withdraw || c.Rungs[to-1].Leave):
		return flap.Withdrawal
	case from > 0 && c.Rungs[from-1].Withdraw:
		return flap.Readvertisement
	}
	return flap.AttributeChange
}
