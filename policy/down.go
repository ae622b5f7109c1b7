package policy

import (
	"hash/fnv"
	"time"

	"github.com/catchment-bgp/catchment/policy/control"
)

const (
	// low is the load that a step down must not lead over.
	low = 0.75
	// jitter is by how much a dwell before a step down is stretched at most.
	jitter = 0.20
)

// down makes at most one step down, by one rung.
func (r *round) down() {
	best, least := -1, 0.0
	for i := range r.c.Load.Climbers {
		st, l := &r.next.Load.Climbers[i], r.linkOf(i)
		if st.Rung == 0 || st.Pinned || l < 0 {
			continue
		}
		if !r.fresh(l) {
			st.LowSince = time.Time{}
			continue
		}
		added, why := r.descend(l, i)
		if r.b.heat[l] == cool {
			r.out.Climbers[i].Restraint = why
		}
		if why.Hindrance == Content && (best < 0 || added < least) {
			best, least = i, added
		}
	}
	if best >= 0 {
		r.move(best, r.next.Load.Climbers[best].below(), r.next.Load.Links[r.linkOf(best)].Control.At)
	}
}

// descend says whether a climber may step down now, and what that adds to the load.
func (r *round) descend(l, i int) (added float64, why Restraint) {
	st := &r.next.Load.Climbers[i]
	at := r.next.Load.Links[l].Control.At
	added, after := r.afterStepDown(l, i)
	left := r.next.Load.Links[l].InForce + r.adds(l, i, st.below())
	safe := after <= low && r.out.Links[l].Shed <= left+hysteresis // else it would step up again
	if r.cc.Mode == control.Threshold {
		safe = r.out.Links[l].Utilization < r.cc.Low
	}
	if r.gap(l) {
		st.LowSince = time.Time{}
	}
	st.LowSince = since(st.LowSince, at, safe)
	if no := r.dwelling(l, st, r.dwellDown(st.Since)); no.Hindrance != Content {
		return added, no
	}
	if !st.Idle {
		end := st.LowSince.Add(r.c.Load.DownAfter)
		switch {
		case st.LowSince.IsZero():
			return added, Restraint{Hindrance: StillNeeded}
		case at.Before(end):
			return added, Restraint{Gathering, end, ""}
		}
	}
	if no := r.others(st, at); no.Hindrance != Content {
		return added, no
	}
	return added, r.affordable(l, i, st.below())
}

// afterStepDown is by how much the climber's link would be fuller after a step
// down, and how full it, or the node, would be.
func (r *round) afterStepDown(l, i int) (added, after float64) {
	st, link := &r.next.Load.Climbers[i], &r.next.Load.Links[l]
	demand := r.out.Links[l].Demand
	if t := link.Control.Trend; !t.Moving {
		demand = max(demand, t.Level)
	}
	added = -r.adds(l, i, st.below()) * demand
	after = demand*(1-link.InForce) + added + r.landsBack(l, link.InForce-added/max(demand, trace))
	if n := &r.node; n.Known {
		after = max(after, n.Demand*(1-r.nodeInForce(i, st.below())))
	}
	return added, after
}

// dwellDown is the least time on a rung before a step down: not the same at all
// nodes, so that they do not return all at once.
func (r *round) dwellDown(since time.Time) time.Duration {
	h := fnv.New32a()
	_, _ = h.Write([]byte(r.c.Load.Seed))
	var at [8]byte
	for i, n := 0, uint64(since.Unix()); i < len(at); i, n = i+1, n>>8 {
		at[i] = byte(n)
	}
	_, _ = h.Write(at[:])
	part := float64(h.Sum32()) / float64(1<<32)
	return r.c.Load.DwellDown + time.Duration(jitter*part*float64(r.c.Load.DwellDown))
}

// landsBack is how much fuller a link would get by what our other links shed, were
// it to shed less than they do.
func (r *round) landsBack(l int, level float64) float64 {
	sum := 0.0
	for o := range r.out.Links {
		from := &r.next.Load.Links[o]
		if more := min(from.InForce, r.next.Load.Links[l].InForce) - level; o != l && more > 0 {
			sum += more * r.out.Links[o].Demand * from.Capacity * r.landing(o, l) / r.next.Load.Links[l].Capacity
		}
	}
	return sum
}
