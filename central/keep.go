package central

import (
	"slices"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
	"github.com/catchment-bgp/catchment/central/store"
	"github.com/catchment-bgp/catchment/policy/fleet"
)

// keeps is who is told to leave a service announced in a hard failure.
func (w *world) keeps(f fleet.Fleet, service string, settled bool) (change, error) {
	before := w.keep.get(service)
	var leaving []string
	for _, n := range f.Nodes {
		live, _ := w.heardOf(n.Name)
		for _, want := range live.report().GetWants() {
			if want.GetService() == service {
				leaving = append(leaving, n.Name)
			}
		}
	}
	names := stillTold(f, service, before.names(), fleet.Keep(f, service, before.names(), leaving), settled)
	if slices.Equal(names, before.names()) {
		return change{}, nil
	}
	after := keepDoc{Count: before.Count + 1}
	for _, n := range names {
		since := before.since(n)
		if since == 0 {
			since = after.Count
		}
		after.Nodes = append(after.Nodes, keeper{n, since})
	}
	op, err := put(key(kindKeep, service), after)
	if err != nil {
		return change{}, err
	}
	fence, err := w.fence(service)
	return change{conds: []store.Cond{w.keep.cond(kindKeep, service), w.fences.cond(kindFence, service)}, ops: []store.Op{op, fence}}, err
}

// stillTold adds to those who are to be told whom nobody can be let go for: those of them who are
// not seen, until the centre has settled, and later as long as too few others are told. One that
// has lost its centre announces in a hard failure since it was told to, and withdraws when it
// comes back and is told so no longer. One that is back and has withdrawn is not called again.
func stillTold(f fleet.Fleet, service string, told, names []string, settled bool) []string {
	short := len(names) < max(1, f.Limits[service].MinAnnouncing)
	var out []string
	for _, name := range told {
		i := slices.IndexFunc(f.Nodes, func(n fleet.Node) bool { return n.Name == name })
		unseen := i >= 0 && !f.Nodes[i].Seen && !f.Nodes[i].Disabled
		if slices.Contains(names, name) || unseen && (!settled || short) {
			out = append(out, name)
		}
	}
	for _, name := range names {
		if !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// withoutWithdrawn takes out of what a node is to be told to keep what it says it announces no
// more: it was told before it withdrew, and nobody's word brings back what is dead.
func withoutWithdrawn(keep []string, r *centralv1.Report) []string {
	return slices.DeleteFunc(keep, func(service string) bool {
		return slices.ContainsFunc(r.GetServices(), func(s *centralv1.ServiceReport) bool {
			return s.GetName() == service && !stands(s)
		})
	})
}
