package web

import (
	"slices"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
)

// duringView is how many nodes announce a service now, and would with a window open that
// takes all that it names.
type duringView struct {
	Name                   string
	Now, During, Of, Least int32
	Tone                   tone
}

// during counts, of each service that a window takes nodes away from, who would be left of
// those that announce now. Of a window for neighbours nothing is said: its nodes stay
// announced at others.
func during(f *centralv1.FleetStatus, w *centralv1.Window) []duringView {
	sel := w.GetSelector()
	if len(sel.GetNeighbors()) > 0 || len(sel.GetLabels()) > 0 {
		return nil
	}
	var out []duringView
	for _, s := range f.GetServices() {
		if named := sel.GetServices(); len(named) > 0 && !slices.Contains(named, s.GetName()) {
			continue
		}
		v := duringView{Name: s.GetName(), Now: s.GetAnnouncing(), During: s.GetAnnouncing(), Of: s.GetNodes(), Least: s.GetMinAnnouncing(), Tone: calm}
		for _, n := range f.GetNodes() {
			if slices.Contains(w.GetNodes(), n.GetName()) && counts(n, s.GetName()) {
				v.During = max(0, v.During-1)
			}
		}
		switch {
		case v.During == 0 || v.During < v.Least:
			v.Tone = hot
		case v.During == v.Least:
			v.Tone = warm
		}
		if v.During < v.Now {
			out = append(out, v)
		}
	}
	return out
}

// counts reports whether a node is one of those that announce a service.
func counts(n *centralv1.Node, service string) bool {
	return n.GetConnected() && n.GetNoCapacity() == "" && slices.ContainsFunc(n.GetServices(), func(r *centralv1.ServiceReport) bool {
		return r.GetName() == service && announces(r.GetState())
	})
}
