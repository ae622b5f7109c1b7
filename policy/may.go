package policy

import (
	"math"
	"time"

	"github.com/catchment-bgp/catchment/policy/flap"
)

const (
	// brim is the load that a move may not lift another link of ours over.
	brim = 0.85
	// moreLands is what is added to the share that was once seen to land.
	moreLands = 0.2
	// full is the load over which the next step may come sooner.
	full = 1.0
	// roomLasts is how long what was said of the other nodes' room holds.
	roomLasts = time.Minute
)

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
	if (g.leaves() || r.leavesNone(i, rung)) && !r.mayAscend(i) {
		return Restraint{Hindrance: NeedsGrant}
	}
	if alone {
		if to := r.landsOn(l, sheds); to >= 0 {
			return Restraint{WouldLand, time.Time{}, r.c.Load.Links[to].Name}
		}
	}
	if r.away(l, sheds) > r.elsewhere() {
		return Restraint{Hindrance: NoRoom}
	}
	return r.affordable(l, i, rung)
}

// away is how much a step of a link, and those planned beside it, shed, in the unit
// of the samples.
func (r *round) away(l int, sheds float64) float64 {
	sum := r.amount(l, sheds)
	for _, c := range r.b.plan {
		if o := r.linkOf(c.climber); o != l {
			sum += r.amount(o, c.cost)
		}
	}
	return sum
}

// elsewhere is how much a step may shed onto other nodes: without bounds where
// nobody says what they can take. Where it lands is not known, so that half of it
// counts; but what is lost here already may fill them, as long as less is lost.
func (r *round) elsewhere() float64 {
	if r.in.RoomAt.IsZero() || r.in.Now.Sub(r.in.RoomAt) > roomLasts {
		return math.Inf(1)
	}
	lost := 0.0
	for l := range r.out.Links {
		if d := &r.out.Links[l]; d.Known && d.Utilization > full {
			lost += (d.Utilization - full) * r.next.Load.Links[l].Capacity
		}
	}
	if lost == 0 {
		return r.in.Room / 2
	}
	return r.in.Room + min(r.in.Room, lost)
}

// landsOn returns a link that what is shed from another would lift over the brim;
// -1: none.
func (r *round) landsOn(l int, sheds float64) int {
	for o := range r.out.Links {
		if o != l && r.out.Links[o].Known && !r.alike(l, o) && !r.room(l, o, sheds) {
			return o
		}
	}
	return -1
}

// alike says whether steps to the same rung are planned for two links: clients see
// no difference between them then.
func (r *round) alike(l, o int) bool {
	here, there := 0, -1
	for _, c := range r.b.plan {
		switch r.linkOf(c.climber) {
		case l:
			here = c.rung
		case o:
			there = c.rung
		}
	}
	return here == there
}

// room says whether what of a link's shed lands on another stays below the brim.
// What the other sheds, too, does not land there: clients see no difference.
func (r *round) room(l, o int, sheds float64) bool {
	from, to, d := &r.next.Load.Links[l], &r.next.Load.Links[o], &r.out.Links[o]
	planned := r.planned(o)
	lands := from.InForce + sheds - max(from.InForce, to.InForce+planned)
	if lands <= 0 {
		return true
	}
	lands *= r.out.Links[l].Demand * from.Capacity * r.landing(l, o) / to.Capacity
	most := brim
	if planned > 0 { // it moves as well: it need only not get fuller
		most = max(brim, d.Utilization)
	}
	return !(lands > 0) || max(d.Forecast, d.Utilization)-planned*d.Demand+lands <= most
}

// planned is what the step that is planned for a link sheds of it.
func (r *round) planned(l int) float64 {
	sum := 0.0
	for _, c := range r.b.plan {
		if r.linkOf(c.climber) == l {
			sum += c.cost
		}
	}
	return sum
}

// landing is the share of what one link sheds that may land on another: as it was
// seen to, and some more; where it was not seen, up to twice its even part.
func (r *round) landing(l, o int) float64 {
	for _, seen := range r.next.Load.Links[l].Landed {
		if seen.Link == r.c.Load.Links[o].Name {
			return clamp01(seen.Share + moreLands/seen.Weight)
		}
	}
	return r.c.Load.Links[l].Landing * min(1, 2/float64(len(r.out.Links)-1))
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
		for _, planned := range r.b.plan {
			if planned.climber == j {
				stands = planned.rung
			}
		}
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
	for top > 0 && c.Rungs[top-1].leaves() {
		top--
	}
	return top
}

// affordable asks the ledger for a change of a climber's rung.
//
// What the controller changes is charged at the time of the figure that it was
// changed for, and asked for by that of the newest one, so that nodes which see
// the same figures are answered alike whenever they look. A figure may have been
// that much older then than now: as long as one is good for. Edges that take turns
// by the clock go by the clock, whether they are told of each other or not.
func (r *round) affordable(l, i, rung int) Restraint {
	share, now, late := r.c.Load.Climbers[i].Share, r.in.Now, time.Duration(0)
	if share.Edges <= 1 {
		late = r.c.Load.Links[l].lasts()
		now = r.next.Load.Links[l].Control.At.Add(-late)
	}
	keys, event := r.touched(r.b.keys, i, rung)
	ok, next := r.next.Load.Ledger.AllowTold(r.c.Load.Flap, share, r.in.Told[r.c.Load.Climbers[i].ASN], now, event, keys...)
	r.b.keys = keys[:len(r.b.keys)]
	switch {
	case ok:
		return Restraint{}
	case next.IsZero():
		return Restraint{Hindrance: Ledger}
	case share.Edges > 1:
		r.wake(next)
	}
	return Restraint{Ledger, next.Add(late), ""}
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
	case to > 0 && c.Rungs[to-1].leaves():
		return flap.Withdrawal
	case from > 0 && c.Rungs[from-1].Withdraw:
		return flap.Readvertisement
	}
	return flap.AttributeChange
}
