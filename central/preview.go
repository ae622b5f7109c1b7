package central

import (
	"context"
	"fmt"
	"time"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
	"github.com/catchment-bgp/catchment/maintenance"
	"github.com/catchment-bgp/catchment/policy/fleet"
)

// previewWindow decides on a window and does nothing: the refusal is the one that making
// it would meet, and is not audited.
func (a *api) previewWindow(ctx context.Context, r *centralv1.AddWindowRequest) (*centralv1.AddWindowResponse, error) {
	if err := needReason(r.GetReason()); err != nil {
		return nil, failed(err)
	}
	by := caller(ctx)
	return read(a, func(w *world, now time.Time) (*centralv1.AddWindowResponse, error) {
		d, notes, _, err := w.addWindow(r, by, "preview", "", now)
		if err != nil {
			return nil, err
		}
		out := &centralv1.AddWindowResponse{Window: w.windowProto(d, now), Warnings: notes}
		out.Window.Id = ""
		out.Landings, out.UnknownLandings, err = w.landings(d, now)
		return out, err
	})
}

// landings is how full the nodes that go on are during the first occurrence of a window,
// beside the other windows of that time, and of what that cannot be said.
func (w *world) landings(d windowDoc, now time.Time) (out []*centralv1.Landing, unknown []string, err error) {
	c, err := maintenance.New([]maintenance.Window{confirmed(d.Window)})
	if err != nil {
		return nil, nil, badInput{err}
	}
	occurrences := c.Occurrences(now, now.Add(admitAhead))
	if len(occurrences) == 0 {
		return nil, []string{fmt.Sprintf("it begins in more than %d days: no load is expected of them yet", int(admitAhead/maintenance.Day))}, nil
	}
	at := occurrences[0]
	selectors := []maintenance.Selector{d.Select}
	for _, other := range w.otherWindows(d) {
		oc, err := maintenance.New([]maintenance.Window{other.Window})
		if err == nil && len(oc.Occurrences(at.Begin, at.End)) > 0 {
			selectors = append(selectors, other.Select)
		}
	}
	f := w.ahead(at, now)
	away := emptied(f, w.targets(""), selectors)
	parts, unknown := w.parted(f, d.Select, selectors, away)
	if len(away)+len(parts) == 0 {
		return nil, unknown, nil
	}
	for i := range f.Nodes {
		if n := &f.Nodes[i]; n.Peak.Known {
			n.Load = n.Peak
		}
	}
	for _, l := range fleet.Land(f, away, parts) {
		out = append(out, &centralv1.Landing{Node: l.Node, Utilization: l.Utilization, WouldBe: l.WouldBe})
	}
	return out, unknown, nil
}

// emptied are the nodes of which selectors leave no service announced.
func emptied(f fleet.Fleet, targets []maintenance.Target, selectors []maintenance.Selector) []string {
	whole, _ := covered(targets, selectors)
	gone := map[string]int{}
	for _, p := range whole {
		gone[p.node]++
	}
	var out []string
	for _, n := range f.Nodes {
		if len(n.Services) > 0 && gone[n.Name] == len(n.Services) {
			out = append(out, n.Name)
		}
	}
	return out
}
