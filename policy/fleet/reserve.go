package fleet

import (
	"cmp"
	"math"
	"slices"
	"time"
)

const (
	// ReserveStays is the least time for which a reserve announces.
	ReserveStays = 15 * time.Minute
	// easy is the utilization that must be left without a reserve for it to go.
	easy = 0.75
)

// Reserve returns the standby nodes that shall announce: those that do, and one more
// where nothing else absorbs: too few announce a service, or what stands above the
// brim somewhere would bring a receiver over it. One at a time: what the first
// takes is seen before the next is called. One that is no longer needed goes after
// ReserveStays.
func Reserve(f Fleet) []string {
	var active, idle []Node
	for _, n := range f.Nodes {
		switch {
		case !n.Standby:
		case !n.Activated.IsZero():
			active = append(active, n)
		case n.Seen && !n.Disabled && f.Frozen == "":
			idle = append(idle, n)
		}
	}
	byName := func(a, b Node) int { return cmp.Compare(a.Name, b.Name) }
	slices.SortFunc(active, byName)
	slices.SortFunc(idle, byName)
	for _, n := range idle {
		if slices.ContainsFunc(sortedServices(n), f.lacks) {
			return slices.Sorted(slices.Values(append(names(active), n.Name)))
		}
	}
	for i, n := range active {
		if f.Frozen == "" && f.Now.Sub(n.Activated) >= ReserveStays && !f.misses(n) {
			return names(slices.Delete(slices.Clone(active), i, i+1))
		}
	}
	return names(active)
}

// lacks reports whether nothing that announces a service absorbs its load.
func (f Fleet) lacks(service string) bool {
	if f.Count(service).Announcing < f.Limits[service].least() {
		return true
	}
	nodes := f.nodesOf(service)
	flow := newFlow(nodes, f.announcers(service), Node.now, f.shares(service))
	var hot bool
	brim := flow
	brim.room = slices.Clone(flow.room)
	for i := range nodes {
		if brim.room[i] *= Brim; !flow.out[i] && flow.load[i] > brim.room[i] {
			hot = true
		}
	}
	if !hot {
		return false
	}
	res := brim.settle(f.Lands)
	j, u := flow.fullest(landed{in: make([]float64, len(nodes))}, res)
	return !res.finite || j >= 0 && u > Brim+1e-9
}

// misses reports whether the fleet would miss an active reserve.
func (f Fleet) misses(n Node) bool {
	for _, service := range sortedServices(n) {
		if f.count(service, n.Name).Announcing < f.Limits[service].least() {
			return true
		}
		var load, room float64
		for _, m := range f.nodesOf(service) {
			load += m.now().Value
			if m.Name == n.Name || !f.announcing(m, service) {
				continue
			}
			if room += m.Capacity; !(m.Capacity > 0) {
				room = math.Inf(1)
			}
		}
		if load > easy*room {
			return true
		}
	}
	return false
}
