package fleet

import (
	"cmp"
	"slices"
)

// Keep returns the nodes to be told that a hard failure leaves a service announced,
// on their top rung: as many as must announce, so that one bad check pushed to every
// edge does not end the service. told is what Keep returned before, in its order;
// leaving are nodes that ask for a grant or are about to be taken away.
//
// A keeper that fails, or leaves, is let go only once its successors have confirmed
// (Standing.Keeps) while they were healthy: of nodes that fail together none is let
// go. A keeper that recovers meanwhile stays, and one that has been replaced does
// not come back, so that flapping moves nothing. One that is Unseen announces all the
// same: what routers outside say, or fail to say, lets nobody go before that.
func Keep(f Fleet, service string, told, leaving []string) []string {
	k := keeping{service: service, need: f.Limits[service].least(), leaving: leaving}
	var current, others []Node
	announcing := f.announcers(service)
	for _, n := range f.Nodes {
		if !announcing(n) && !f.unheard(n, service) {
			continue
		}
		if slices.Contains(told, n.Name) {
			current = append(current, n)
		} else {
			others = append(others, n)
		}
	}
	slices.SortStableFunc(current, func(a, b Node) int {
		return cmp.Compare(slices.Index(told, a.Name), slices.Index(told, b.Name))
	})
	return names(k.release(append(current, k.recruit(current, others)...)))
}

// unheard reports whether a node announces a service, and only routers outside deny it.
func (f Fleet) unheard(n Node, service string) bool {
	return n.takesPart(service) && n.Seen && !n.Disabled && n.Services[service].Reason == Unseen && !f.granted(n.Name, service)
}

type keeping struct {
	service string
	need    int
	leaving []string
}

// sound reports whether a node can be counted on.
func (k keeping) sound(n Node) bool {
	st := n.Services[k.service]
	return st.Healthy && st.Reason != Unseen && !slices.Contains(k.leaving, n.Name)
}

// recruit picks whom to tell besides those told: sound ones first, from sites that
// have none, then whoever announces at all.
func (k keeping) recruit(current, others []Node) []Node {
	var picked []Node
	sound := 0
	sites := map[string]bool{}
	for _, n := range current {
		if k.sound(n) {
			sound++
			sites[n.Site] = true
		}
	}
	rest := slices.SortedFunc(slices.Values(others), func(a, b Node) int { return cmp.Compare(a.Name, b.Name) })
	pick := func(want func(Node) bool) {
		rest = slices.DeleteFunc(rest, func(n Node) bool {
			if sound >= k.need && k.sound(n) || len(current)+len(picked) >= k.need && !k.sound(n) || !want(n) {
				return false
			}
			if k.sound(n) {
				sound++
			}
			sites[n.Site] = true
			picked = append(picked, n)
			return true
		})
	}
	pick(func(n Node) bool { return k.sound(n) && (n.Site == "" || !sites[n.Site]) })
	pick(k.sound)
	pick(func(Node) bool { return true })
	return picked
}

// release lets go whom the confirmed ones replace.
func (k keeping) release(all []Node) []Node {
	var keep, waiting, rest []Node
	for _, n := range all {
		switch confirmed := n.Services[k.service].confirmed(); {
		case confirmed && k.sound(n):
			keep = append(keep, n)
		case confirmed:
			rest = append(rest, n)
		default:
			waiting = append(waiting, n)
		}
	}
	if len(keep) >= k.need {
		return keep[:k.need]
	}
	lack := k.need - len(keep)
	if len(rest) > lack {
		rest = rest[:lack]
	}
	return slices.Concat(keep, rest, waiting)
}

func names(nodes []Node) []string {
	out := make([]string, len(nodes))
	for i, n := range nodes {
		out[i] = n.Name
	}
	return out
}
