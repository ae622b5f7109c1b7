package maintenance

import "slices"

// Scope is a part of one node: a service, a neighbour, or one service at one neighbour.
// Its zero value is the whole node.
type Scope struct{ Neighbor, Service string }

// Scopes says with as few words as it can which of a node's targets are hit: the node,
// else whole neighbours, whole services, and of what is left each target. None hit: none.
func Scopes(targets []Target, hit func(Target) bool) []Scope {
	whole := func(in func(Target) bool) bool {
		some := false
		for _, t := range targets {
			if in(t) {
				if !hit(t) {
					return false
				}
				some = true
			}
		}
		return some
	}
	if whole(func(Target) bool { return true }) {
		return []Scope{{}}
	}
	var out []Scope
	add := func(s Scope) {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	for _, t := range targets {
		if !hit(t) {
			continue
		}
		neighbor := whole(func(o Target) bool { return o.Neighbor == t.Neighbor })
		service := whole(func(o Target) bool { return o.Service == t.Service })
		if neighbor {
			add(Scope{Neighbor: t.Neighbor})
		}
		if service {
			add(Scope{Service: t.Service})
		}
		if !neighbor && !service {
			add(Scope{Neighbor: t.Neighbor, Service: t.Service})
		}
	}
	return out
}
