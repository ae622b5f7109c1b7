package fleet

import (
	"maps"
	"math"
	"slices"
	"time"
)

// Share is an edge's part of what the routers of an AS tolerate: it is number Index,
// from 0, of Edges that announce there.
type Share struct {
	ASN          uint32
	Edges, Index int
}

// Shares divides the budget at each AS over the edges that announce there: edges has
// the ASes of each edge's neighbours. The parts go by the order of the names, those
// of an edge by the order of the ASNs.
func Shares(edges map[string][]uint32) map[string][]Share {
	at := map[uint32][]string{}
	for _, edge := range slices.Sorted(maps.Keys(edges)) {
		for _, asn := range unique(edges[edge]) {
			at[asn] = append(at[asn], edge)
		}
	}
	out := map[string][]Share{}
	for _, asn := range slices.Sorted(maps.Keys(at)) {
		for i, edge := range at[asn] {
			out[edge] = append(out[edge], Share{ASN: asn, Edges: len(at[asn]), Index: i})
		}
	}
	return out
}

func unique(asns []uint32) []uint32 {
	return slices.Compact(slices.Sorted(slices.Values(asns)))
}

// Change is a change of attributes, such as a tag, at one edge.
type Change struct {
	Node string
	ASNs []uint32 // of its neighbours
}

// Damping is what routers that damp charge and tolerate (RFC 2439), in points.
type Damping struct {
	// Charge is for one change of attributes, Limit the penalty that must not be
	// passed, below the one at which a prefix is suppressed.
	Charge, Limit float64
	HalfLife      time.Duration
	// Penalty is what the routers of each AS keep of us now.
	Penalty map[uint32]float64
}

// Stagger returns for each change how long it waits, in their order: nobody, where
// the routers of all its ASes tolerate it now. Edges that share no AS do not wait for
// each other.
func Stagger(changes []Change, d Damping) []time.Duration {
	type mark struct {
		at      time.Duration
		penalty float64
	}
	marks := map[uint32]mark{}
	for asn, p := range d.Penalty {
		marks[asn] = mark{penalty: p}
	}
	waits := make([]time.Duration, len(changes))
	half := max(d.HalfLife.Seconds(), 1)
	room := max(d.Limit-d.Charge, 1) // what may be left when the next is charged
	for i, c := range changes {
		asns := unique(c.ASNs)
		var wait time.Duration
		for _, asn := range asns {
			m := marks[asn]
			if m.penalty > room {
				m.at += time.Duration(half * math.Log2(m.penalty/room) * float64(time.Second))
			}
			wait = max(wait, m.at)
		}
		for _, asn := range asns {
			m := marks[asn]
			left := m.penalty * math.Exp2(-(wait-m.at).Seconds()/half)
			marks[asn] = mark{at: wait, penalty: left + d.Charge}
		}
		waits[i] = wait
	}
	return waits
}
