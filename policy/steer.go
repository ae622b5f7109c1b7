package policy

import (
	"time"

	"github.com/catchment-bgp/catchment/policy/control"
)

// load decides on which rung each climber stands.
func (r *round) load() {
	lc, next := &r.c.Load, &r.next.Load
	r.cc = lc.Control.Complete()
	next.Ledger = r.was.Load.Ledger.Resume(r.in.Now)
	if r.ahead(r.was.Load.Moved) {
		next.Ledger = next.Ledger.SetBack(r.in.Now)
	}
	next.Moved = r.been(r.was.Load.Moved)
	r.places()
	r.b.plan, r.b.keys = r.b.plan[:0], r.b.keys[:0]
	next.Climbers = resize(next.Climbers, len(lc.Climbers))
	r.out.Climbers = resize(r.out.Climbers, len(lc.Climbers))
	for i := range lc.Climbers {
		next.Climbers[i] = r.recall(i)
	}
	r.observe()
	for l := range r.out.Links {
		r.hope(l)
	}
	for i := range lc.Climbers {
		c := &lc.Climbers[i]
		r.out.Climbers[i] = ClimberDecision{Name: c.Name, Rungs: len(c.Rungs), Restraint: r.standing(i)}
		r.obeyPin(i)
	}
	if r.controls() && !r.moved() {
		if r.up(); !r.moved() {
			r.down()
		}
	}
	for i := range lc.Climbers {
		r.report(i)
	}
	for l := range lc.Links {
		r.unrelieved(l)
	}
}

// controls says whether rungs are changed for the load.
func (r *round) controls() bool { return r.cc.Mode != control.Off && !r.cc.Sessions }

// moved says whether this decision has changed a rung.
func (r *round) moved() bool {
	for i := range r.out.Climbers {
		if r.out.Climbers[i].Moved {
			return true
		}
	}
	return false
}

// recall returns what is remembered of a climber, as far as it still holds.
func (r *round) recall(i int) ClimberState {
	c := &r.c.Load.Climbers[i]
	was := find(r.was.Load.Climbers, i, c.Name, nameOfClimber)
	if was == nil {
		return ClimberState{Name: c.Name, Epoch: c.Epoch}
	}
	st := *was
	if st.Epoch != c.Epoch {
		st.Epoch, st.Learned, st.Trial, st.Futile, st.Futiles, st.Idle = c.Epoch, nil, Trial{}, time.Time{}, 0, false
	}
	st.Rung = max(0, min(st.Rung, len(c.Rungs)))
	st.setBack(r)
	return st
}

// standing is what keeps a climber on its rung before any wish to move is looked at.
func (r *round) standing(i int) Restraint {
	l := r.linkOf(i)
	switch {
	case r.cc.Mode == control.Off:
		return Restraint{Hindrance: NoController}
	case r.cc.Sessions:
		return Restraint{Hindrance: SessionsAct}
	case len(r.c.Load.Climbers[i].Rungs) == 0:
		return Restraint{Hindrance: NoLadder}
	case l < 0:
		return Restraint{Hindrance: Uncontrollable, Word: "it names no link"}
	case r.c.Load.Links[l].Off != "":
		return Restraint{Hindrance: Uncontrollable, Word: r.c.Load.Links[l].Off}
	case !r.out.Links[l].Known:
		return Restraint{Hindrance: NoFigure}
	case r.out.Links[l].Stale:
		return Restraint{Hindrance: Stale}
	case !r.next.Load.Links[l].OverSince.IsZero():
		return Restraint{Hindrance: Gathering}
	}
	return Restraint{}
}

// obeyPin puts the climber where an operator wants it. Where nobody else would
// bring it down again, it returns to "as configured" with the end of the pin; and
// from a rung that load has no leave for to the next one below.
func (r *round) obeyPin(i int) {
	c, st, d := &r.c.Load.Climbers[i], &r.next.Load.Climbers[i], &r.out.Climbers[i]
	rung := st.Rung
	pin := r.pin(c.Name)
	switch l := r.linkOf(i); {
	case pin != nil:
		rung = max(0, min(pin.Rung, len(c.Rungs)))
		r.wake(pin.Until)
		d.Restraint = Restraint{Pinned, pin.Until, pin.Reason}
	case !r.controls(), l < 0, r.c.Load.Links[l].Off != "":
		rung = 0
	}
	if pin == nil || !pin.OverrideSafety {
		rung = r.permitted(i, rung)
	}
	st.Pinned = pin != nil
	if rung != st.Rung {
		r.move(i, rung, r.in.Now)
	}
}

// permitted is the rung, or where load has no leave for it the next one below that
// needs none.
func (r *round) permitted(i, rung int) int {
	c := &r.c.Load.Climbers[i]
	for rung > 0 && c.Rungs[rung-1].leaves() && !r.mayAscend(i) {
		rung--
	}
	return rung
}

// below is the rung of a climber's next step down.
func (r *round) below(i int) int {
	return r.permitted(i, r.next.Load.Climbers[i].below())
}

// pin is the latest word of an operator on a neighbour's rung; nil: none.
func (r *round) pin(neighbor string) *Pin {
	for i := len(r.in.Pins) - 1; i >= 0; i-- {
		if p := &r.in.Pins[i]; p.Neighbor == neighbor && p.Active(r.in.Now) {
			return p
		}
	}
	return nil
}

// move puts a climber on another rung, at the time of the figure that it is for.
func (r *round) move(i, rung int, at time.Time) {
	st := &r.next.Load.Climbers[i]
	st.Trial, st.Idle = r.begin(i, at), false
	if l := r.linkOf(i); l >= 0 {
		link := &r.next.Load.Links[l]
		if !link.Moved.Equal(at) {
			link.Before, link.Moved = link.InForce, at
		}
		st.Rung = rung
		link.InForce, link.OverSince = r.inForce(l), time.Time{}
		r.out.Links[l].InForce = link.InForce
	}
	if node := &r.next.Load.Node; !node.Moved.Equal(at) {
		node.Before, node.Moved, node.OverSince = node.InForce, at, time.Time{}
	}
	for l := range r.next.Load.Links {
		other := &r.next.Load.Links[l]
		other.Then = other.Control.Trend.Level
	}
	st.Rung, st.Since, st.Changed, st.LowSince = rung, at, r.in.Now, time.Time{}
	r.next.Load.Moved = at
	r.out.Climbers[i].Moved = true
	if !st.Pinned {
		r.out.Climbers[i].Restraint = Restraint{}
	}
}

// report fills in where a climber stands.
func (r *round) report(i int) {
	c, st, d := &r.c.Load.Climbers[i], &r.next.Load.Climbers[i], &r.out.Climbers[i]
	d.Rung = st.Rung
	d.Shed, _ = c.believed(st, st.counts(), r.in.Now)
}

// unrelieved says of a link at which nothing can be shed whether it takes more than
// it should. No climber need name such a link.
func (r *round) unrelieved(l int) {
	c, st, d := &r.c.Load.Links[l], &r.next.Load.Links[l], &r.out.Links[l]
	if c.Off == "" {
		return
	}
	d.Restraint = Restraint{Hindrance: Uncontrollable, Word: c.Off}
	d.Absorb = r.controls() && r.fresh(l) && d.wants(st) && r.lasted(st, c.Period)
}
