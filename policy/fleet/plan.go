package fleet

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Landed is what a plan would do to a node that goes on announcing.
type Landed struct {
	Node string
	// Utilization is now, WouldBe after it, in shares of the capacity, by the loads
	// of now.
	Utilization, WouldBe float64
}

// Plan says whether nodes could be taken away together, all services of each, and
// what would land where. Of nodes whose capacity is not known no utilization is
// told. No nodes is an error, told as a refusal.
func Plan(f Fleet, drain []string) (Answer, []Landed) {
	if len(drain) == 0 {
		return Answer{Refusal: Refusal{Limit: Unknown, Reason: "no node is named"}}, nil
	}
	return f.admitAll(drain), f.lands(drain, nil)
}

// Part is what leaves a node that goes on announcing, such as one of its links.
type Part struct {
	Node string
	// Share of the node's load that leaves, 0..1.
	Share float64
	// Capacity that goes with it, in bit/s.
	Capacity float64
}

// Land says what would land where if some nodes were taken away and parts of others were,
// by the loads of now. Who takes a part is not known: the node that it is of may keep it on
// its other links, and what Lands says is of whole nodes. So it lands on the one receiver
// that it hurts most.
func Land(f Fleet, drain []string, parts []Part) []Landed { return f.lands(drain, parts) }

// admitAll asks for one service of one node after the other, each beside the ones
// before.
func (f Fleet) admitAll(drain []string) Answer {
	f.Grants = slices.Clone(f.Grants)
	for _, name := range drain {
		n, ok := f.node(name)
		if !ok {
			return Answer{Refusal: Refusal{Limit: Unknown, Reason: fmt.Sprintf("there is no node %q", name)}}
		}
		for _, service := range sortedServices(n) {
			r := Request{ID: "plan", Node: name, Service: service, Kind: Override, Ahead: true}
			answer := Admit(f, r)
			if !answer.OK {
				return answer
			}
			f.Grants = append(f.Grants, r.Grant(f, answer))
		}
	}
	return Answer{OK: true}
}

func (f Fleet) lands(drain []string, parts []Part) []Landed {
	standsAtAll := func(n Node) bool {
		return slices.ContainsFunc(sortedServices(n), func(s string) bool { return f.announcing(n, s) })
	}
	nodes := slices.DeleteFunc(slices.Clone(f.Nodes), Node.idle)
	stays := func(n Node) bool { return standsAtAll(n) && !slices.Contains(drain, n.Name) }
	before := newFlow(nodes, standsAtAll, Node.now, nil)
	was := before.settle(f.Lands)
	after := newFlow(without(nodes, parts, stays), stays, Node.now, nil)
	is := after.settle(f.Lands)
	var out []Landed
	for i, n := range nodes {
		if after.out[i] || math.IsInf(after.room[i], 1) {
			continue
		}
		// What was away before has landed before: it stands in the load of now.
		more := max(0, is.in[i]-was.in[i])
		out = append(out, Landed{Node: n.Name, Utilization: before.load[i] / before.room[i], WouldBe: (after.load[i] + more) / after.room[i]})
	}
	slices.SortFunc(out, func(a, b Landed) int {
		return cmp.Or(cmp.Compare(b.WouldBe, a.WouldBe), cmp.Compare(a.Node, b.Node))
	})
	return out
}

// without takes parts off the nodes that stay, and puts each behind them as a node that
// has gone, of which nothing is known.
func without(nodes []Node, parts []Part, stays func(Node) bool) []Node {
	out := slices.Clone(nodes)
	for k, p := range parts {
		i := slices.IndexFunc(nodes, func(n Node) bool { return n.Name == p.Node })
		load := Figure{}
		if i >= 0 {
			load = nodes[i].now()
		}
		if i < 0 || !load.Known || !stays(nodes[i]) {
			continue // what goes as a whole has no parts
		}
		gone := min(1, max(0, p.Share)) * load.Value
		n := &out[i]
		n.Load = Known(max(0, n.now().Value-gone))
		if n.Capacity -= p.Capacity; n.Capacity <= tiny(nodes[i].Capacity) {
			n.Capacity = 0 // the rest has none that is known
		}
		out = append(out, Node{Name: fmt.Sprintf("%s\x00%d", p.Node, k), Load: Known(gone)})
	}
	return out
}

// MayWithdraw is how many nodes more the limits allow a service to lose now, the
// largest first; loads are not looked at.
func MayWithdraw(f Fleet, service string) int {
	weight, limits := f.weigh(service), f.Limits[service]
	announcing := f.announcers(service)
	var weights []float64
	var all, gone float64
	for _, n := range f.nodesOf(service) {
		w := weight(n)
		all += w
		if announcing(n) {
			weights = append(weights, w)
		} else {
			gone += w
		}
	}
	slices.SortFunc(weights, func(a, b float64) int { return cmp.Compare(b, a) })
	may := 0
	for i, w := range weights {
		if gone += w; len(weights)-i-1 < limits.least() || gone > all*(limits.share()+1e-9) {
			break
		}
		may++
	}
	return may
}
