package policy

// nodeHot says whether the node's own resources want more shed than there is.
func (r *round) nodeHot() bool {
	return r.node.Known && !r.node.Stale && r.node.wants(&r.next.Load.Node) && r.lasted(&r.next.Load.Node, anyPeriod)
}

// heatAll takes all links for hot, for the sake of the node.
func (r *round) heatAll() (first int, all bool) {
	for l := range r.out.Links {
		if r.c.Load.Links[l].Off == "" && r.fresh(l) {
			r.b.heat[l] = hot
		}
	}
	return r.pick(), len(r.out.Links) > 1
}

// upForNode moves the one climber whose step brings the node what it wants, and
// of several the cheapest. It says whether there was one.
func (r *round) upForNode() bool {
	var best candidate
	for i := range r.c.Load.Climbers {
		l := r.linkOf(i)
		if l < 0 || r.c.Load.Links[l].Off != "" || !r.fresh(l) || r.ready(l, i).Hindrance != Content {
			continue
		}
		for rung := r.next.Load.Climbers[i].Rung + 1; rung <= len(r.c.Load.Climbers[i].Rungs); rung++ {
			shed := r.nodeInForce(i, rung)
			if shed < r.node.Shed || r.mayTake(l, i, rung, r.adds(l, i, rung), true).Hindrance != Content {
				continue
			}
			if c := (candidate{climber: i, rung: rung, covers: true, cost: shed}); c.better(best) {
				best = c
			}
			break
		}
	}
	if best.rung > 0 {
		r.move(best.climber, best.rung, r.next.Load.Links[r.linkOf(best.climber)].Control.At)
	}
	return best.rung > 0
}

// nodeInForce is what the rungs are believed to shed of the node's demand, were
// climber i on another rung; -1: as they are. What one neighbour sheds alone lands
// on others of the node as far as its link says, and only what leaves counts.
func (r *round) nodeInForce(i, rung int) float64 {
	total, sum := 0.0, 0.0
	least := 1.0
	for j := range r.c.Load.Climbers {
		shed, share := r.shedOf(j, i, rung)
		if least = min(least, shed); share > 0 {
			total += share
		}
	}
	for j := range r.c.Load.Climbers {
		shed, share := r.shedOf(j, i, rung)
		landing := 0.0
		if l := r.linkOf(j); l >= 0 && len(r.c.Load.Links) > 1 {
			landing = r.c.Load.Links[l].Landing
		}
		sum += share * (least + (shed-least)*(1-landing))
	}
	if total == 0 {
		return 0
	}
	return clamp01(sum / total)
}

// shedOf is what climber j sheds of its demand, with climber i on another rung, and
// its share of the node's demand, in no particular unit.
func (r *round) shedOf(j, i, rung int) (shed, share float64) {
	c, st := &r.c.Load.Climbers[j], &r.next.Load.Climbers[j]
	if j != i {
		rung = st.counts()
	}
	l := r.linkOf(j)
	if l < 0 {
		return 0, 0
	}
	link := &r.next.Load.Links[l]
	shed, _ = c.believed(st, rung, link.Control.At)
	return shed, r.weight(j) * max(link.Control.Out.Demand*link.Capacity, 1e-9)
}
