package fleet

import (
	"fmt"
	"math"
)

// spills refuses what would make a receiver pass the brim, with the loads of now and
// with the peaks to expect.
func (f Fleet) spills(r Request, n Node) (Refusal, bool) {
	if !r.Ahead {
		if refusal, refused := f.spill(r, n, Node.now); refused {
			return refusal, true
		}
	}
	return f.spill(r, n, Node.peak)
}

// now is what the node carries. The load of one that is not seen, where it is not
// known, stands in the others' figures already, or with the node itself.
func (n Node) now() Figure {
	v := n.Load.sane()
	if !v.Known && !n.Seen {
		return Known(0)
	}
	return v
}

func (n Node) peak() Figure {
	if p := n.Peak.sane(); p.Known {
		return p
	}
	return n.Load.sane()
}

func (v Figure) sane() Figure {
	if !v.Known || !(v.Value >= 0) || math.IsInf(v.Value, 0) {
		return Figure{}
	}
	return v
}

func (f Fleet) spill(r Request, n Node, load func(Node) Figure) (Refusal, bool) {
	nodes := f.nodesOf(r.Service)
	stands := f.announcers(r.Service)
	before := newFlow(nodes, func(m Node) bool { return m.Name == n.Name || stands(m) }, load, f.shares(r.Service))
	shares := f.shares(r.Service)
	shares[n.Name] = r.share(n)
	after := newFlow(nodes, func(m Node) bool { return m.Name != n.Name && stands(m) }, load, shares)
	was, is := before.settle(f.Lands), after.settle(f.Lands)
	if !is.finite {
		return Refusal{Limit: NoRest, Reason: fmt.Sprintf("what %s sheds of %s would come to rest nowhere: the others are full", n.Name, r.Service)}, true
	}
	if j, u := after.fullest(was, is); j >= 0 && u > Brim+1e-9 {
		return Refusal{Limit: BrimLimit, Reason: fmt.Sprintf("%s would come to %.0f %% of its capacity, and the brim is %.0f %%",
			nodes[j].Name, 100*u, 100*Brim)}, true
	}
	return Refusal{}, false
}

// nodesOf returns the nodes that take part in a service.
func (f Fleet) nodesOf(service string) []Node {
	var nodes []Node
	for _, n := range f.Nodes {
		if n.takesPart(service) {
			nodes = append(nodes, n)
		}
	}
	return nodes
}

// shares returns the parts of their loads that the holders of grants shed.
func (f Fleet) shares(service string) map[string]float64 {
	shares := map[string]float64{}
	for _, g := range f.Grants {
		if g.Service == service && shares[g.Node] < 1 {
			if shares[g.Node] = max(shares[g.Node], g.Share); g.Share == 0 {
				shares[g.Node] = 1
			}
		}
	}
	return shares
}

func newFlow(nodes []Node, stands func(Node) bool, load func(Node) Figure, shares map[string]float64) flow {
	fl := flow{nodes: nodes, out: make([]bool, len(nodes)), load: make([]float64, len(nodes)), room: make([]float64, len(nodes))}
	for i, n := range nodes {
		v := load(n)
		if !v.Known {
			v.Value = max(0, n.Capacity)
		}
		fl.load[i], fl.room[i] = v.Value, n.Capacity
		if !(n.Capacity > 0) {
			fl.room[i] = math.Inf(1)
		}
		if fl.out[i] = !stands(n); fl.out[i] {
			fl.room[i] = 0
			if share := shares[n.Name]; share > 0 {
				fl.load[i] *= share
			}
		}
	}
	return fl
}

// fullest returns the receiver on which more lands than before that comes to the
// highest utilization; -1: there is none.
func (f flow) fullest(was, is landed) (int, float64) {
	best, most := -1, math.Inf(-1)
	for i := range f.nodes {
		if f.out[i] || is.in[i]-was.in[i] <= tiny(is.in[i]) {
			continue
		}
		if u := (f.load[i] + is.in[i]) / f.room[i]; u > most {
			best, most = i, u
		}
	}
	return best, most
}
