package policy

import (
	"time"

	"github.com/catchment-bgp/catchment/policy/control"
)

const (
	// hysteresis is by how much the shed wanted must pass that in force.
	hysteresis = 0.03
	// upAfter is how long it must where nothing else is configured.
	upAfter = 20 * time.Second
	// missed figures make a link stale.
	missed = 3
	// future is how far a figure may be ahead of our clock.
	future = 5 * time.Second
	// anyPeriod is the time between figures where none is configured, as for those
	// of the node's own resources.
	anyPeriod = 10 * time.Second
)

func (r *round) deadTime() time.Duration { return r.cc.DeadTime }

// observe takes the newest figure of each link in.
func (r *round) observe() {
	links := r.c.Load.Links
	r.next.Load.Links = resize(r.next.Load.Links, len(links))
	r.out.Links = resize(r.out.Links, len(links))
	for l := range links {
		st := &r.next.Load.Links[l]
		if was := find(r.was.Load.Links, l, links[l].Name, nameOfLink); was != nil {
			*st = *was
		} else {
			*st = LinkState{Name: links[l].Name}
		}
	}
	for l := range links {
		st := &r.next.Load.Links[l]
		r.look(&links[l], st, &r.out.Links[l], r.in.Samples[links[l].Name], func() float64 {
			r.measure(l)
			return r.inForce(l)
		})
	}
	r.next.Load.Node = r.was.Load.Node
	r.node = LinkDecision{}
	r.look(&Link{Name: "node", Capacity: 1}, &r.next.Load.Node, &r.node, r.in.Node, func() float64 { return r.nodeInForce(-1, 0) })
}

// look takes one link's figure in, and asks the controller. What is in force is
// judged anew with each new figure and not between them, so that it does not matter
// how often a node looks.
func (r *round) look(l *Link, st *LinkState, d *LinkDecision, s Sample, inForce func() float64) {
	*d = LinkDecision{Name: l.Name}
	capacity := l.Capacity
	if s.Capacity > 0 && (capacity == 0 || s.Capacity < capacity) {
		capacity = s.Capacity
	}
	r.wake(s.At.Add(-future))
	if s.At.IsZero() || !(capacity > 0) || !(s.Load >= 0) || s.At.After(r.in.Now.Add(future)) {
		s.At = time.Time{}
	}
	isNew := s.At.After(st.Control.At)
	if isNew {
		st.Capacity, st.InForce = capacity, inForce()
	}
	d.InForce = st.InForce
	in := control.Sample{
		Load: s.Load / capacity, At: s.At, Now: r.in.Now, Hold: r.held(s.At),
		InForce: st.InForce, Before: st.Before, Moved: st.Moved,
	}
	out := st.Control.Take(&r.cc, in)
	at := st.Control.At
	if d.Known = !at.IsZero(); !d.Known {
		return
	}
	stale := at.Add(l.lasts())
	d.Stale = !r.in.Now.Before(stale)
	r.wake(stale)
	r.wake(out.Until)
	d.Utilization, d.Age = st.Control.Load, max(0, r.in.Now.Sub(at))
	d.Demand, d.Forecast = out.Demand, out.Forecast
	d.Shed, d.Slowdown, d.Drop = out.Shed, out.Slowdown, out.Drop
	if isNew && st.Control.Spacing > l.lasts() {
		st.OverSince = time.Time{}
	}
	if isNew {
		st.OverSince = since(st.OverSince, at, d.wants(st))
	}
}

// lasts is how long a figure of the link is good for.
func (l *Link) lasts() time.Duration {
	if l.Period <= 0 {
		return missed * anyPeriod
	}
	return missed * l.Period
}

// gap says whether figures were missing before the newest one: what lasted until
// then need not have lasted through.
func (r *round) gap(l int) bool {
	return r.next.Load.Links[l].Control.Spacing > r.c.Load.Links[l].lasts()
}

// since keeps the time at which something began, while it lasts.
func since(began, now time.Time, is bool) time.Time {
	switch {
	case !is:
		return time.Time{}
	case began.IsZero() || now.Before(began):
		return now
	}
	return began
}

// wants says whether more should be shed than is.
func (d *LinkDecision) wants(st *LinkState) bool { return d.Shed > st.InForce+hysteresis }

// fresh says whether a link's load is known well enough to move.
func (r *round) fresh(l int) bool {
	return r.out.Links[l].Known && !r.out.Links[l].Stale
}

// held says whether integrals are frozen at the time of a figure: while what this
// node or another one moved has not landed.
func (r *round) held(at time.Time) bool {
	return at.Before(r.was.Load.Moved.Add(r.deadTime())) || at.Before(r.in.OthersMoved.Add(r.deadTime()))
}
