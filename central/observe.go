package central

import (
	"context"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
	"github.com/catchment-bgp/catchment/central/bmp"
	"github.com/catchment-bgp/catchment/central/store"
	"github.com/catchment-bgp/catchment/community"
	"github.com/catchment-bgp/catchment/community/update"
	"github.com/catchment-bgp/catchment/policy/fleet"
)

// askPause is the least time between two requests to a view: the answer to the first
// takes as long to be known.
const askPause = 10 * time.Second

// observes writes down what the views have, as long as that is news, and asks those
// again that must tell it once more.
func (f *Fleet) observes(ctx context.Context) {
	station := f.settings.Outside.Station
	if station == nil {
		return
	}
	tick := time.NewTicker(tickEvery)
	defer tick.Stop()
	asked := map[string]time.Time{}
	for {
		now := time.Now()
		f.mu.RLock()
		station.Want(f.w.wanted())
		c := f.w.observed(station.States(now), now)
		ask := f.w.ask()
		news := f.news
		f.mu.RUnlock()
		if len(c.ops) > 0 {
			if err := f.commit(ctx, c); err != nil && ctx.Err() == nil {
				f.log.Warn("what the views from outside have cannot be written", "views", len(c.ops), "error", err)
			}
		}
		for _, view := range ask {
			if now.Sub(asked[view]) >= askPause && station.Again(view, now) {
				asked[view] = now
				f.log.Info("a BMP view is asked to tell all it has once more, since it lacks what is announced", "view", view)
			}
		}
		worked := time.Since(now)
		if !pause(ctx, tickMin+9*worked) {
			return
		}
		select {
		case <-station.Changed():
		case <-news:
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// wanted are the prefixes of the nodes that each view must see.
func (w *world) wanted() map[string][]netip.Prefix {
	out := map[string][]netip.Prefix{}
	for _, v := range w.settings.Outside.Views {
		for _, node := range v.Sees {
			h := w.nodes.get(node).hello()
			for _, service := range servicesOf(h) {
				for _, prefixes := range prefixesOf(h, service) {
					out[v.Name] = append(out[v.Name], prefixes...)
				}
			}
		}
	}
	return out
}

// ask are the views that must tell all once more.
func (w *world) ask() []string {
	var out []string
	for _, s := range w.sights {
		out = append(out, s.Ask...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// observed is the change that writes down what is news of the views.
func (w *world) observed(states []bmp.State, now time.Time) change {
	var c change
	tags := w.fleetTags(now)
	sees := map[string][]string{}
	for _, v := range w.settings.Outside.Views {
		sees[v.Name] = v.Sees
	}
	for _, s := range states {
		d := outsideDoc{Up: s.Up, Since: s.Since, Why: s.Why, Router: s.Router, Peers: s.Peers}
		for _, f := range bmp.Families {
			if s.Done[f] {
				d.Done = append(d.Done, f.String())
			}
			if s.Spoke[f] {
				d.Spoke = append(d.Spoke, f.String())
			}
		}
		d.Sees = w.sees(s, sees[s.Name], tags)
		name := w.settings.Replica + "/" + s.Name
		if before, has := w.outside[name]; has && before.doc.same(d) || len(c.ops) == store.MaxOps/2 {
			continue
		}
		if op, err := put(key(kindOutside, name), d); err == nil { // plain values can be written
			c.ops = append(c.ops, op)
		}
	}
	return c
}

// sees is which services of the nodes a view has, in which families. Each route is read once, however many nodes there are:
// a router may tell of very many.
func (w *world) sees(s bmp.State, nodes []string, tags fleetTags) map[string][]string {
	by := map[netip.Prefix]*sighted{}
	reach := false // tags reach the view
	for _, r := range s.Routes {
		if by[r.Prefix] == nil {
			by[r.Prefix] = &sighted{tags: map[community.Value]bool{}}
		}
		tagged := by[r.Prefix].add(r, tags)
		reach = reach || tagged
	}
	out := map[string][]string{}
	for _, node := range nodes {
		h := w.nodes.get(node).hello()
		has := func(p netip.Prefix) bool { return by[p] != nil && tags.of(node, h, by[p], reach) }
		for _, service := range servicesOf(h) {
			prefixes := prefixesOf(h, service)
			for _, family := range slices.Sorted(maps.Keys(prefixes)) {
				if slices.ContainsFunc(prefixes[family], has) {
					out[node+"/"+service] = append(out[node+"/"+service], family)
				}
			}
		}
	}
	return out
}

// sighted is what a view has of a prefix.
type sighted struct {
	tags map[community.Value]bool // of the fleet, on any of its routes
	bare []bmp.Route              // those without one
	// heard are the AS that have the bare ones of us, by our AS, as far as that was asked.
	heard map[uint32]map[uint32]bool
}

// add takes a route in, and reports whether it has a tag of the fleet.
func (s *sighted) add(r bmp.Route, tags fleetTags) (tagged bool) {
	for _, c := range r.Communities {
		if tags.all[c] {
			tagged, s.tags[c] = true, true
		}
	}
	if !tagged {
		s.bare = append(s.bare, r)
	}
	return tagged
}

// at are the AS that have the bare routes of us; 0 is none.
func (s *sighted) at(us uint32) map[uint32]bool {
	if s.heard[us] == nil {
		if s.heard == nil {
			s.heard = map[uint32]map[uint32]bool{}
		}
		s.heard[us] = map[uint32]bool{}
		for _, r := range s.bare {
			s.heard[us][heardBy(r, us)] = true
		}
		delete(s.heard[us], 0)
	}
	return s.heard[us]
}

// fleetTags are the tags on routes: of each node, and of all.
type fleetTags struct {
	by  map[string]map[community.Value]bool
	all map[community.Value]bool
}

func (w *world) fleetTags(now time.Time) fleetTags {
	t := fleetTags{by: map[string]map[community.Value]bool{}, all: map[community.Value]bool{}}
	for name, n := range w.nodes {
		for _, tag := range n.doc.Tags {
			v, err := community.Parse(tag.Value)
			if err != nil || tag.After.After(now) || !tag.Until.IsZero() && now.After(tag.Until) {
				continue
			}
			if t.by[name] == nil {
				t.by[name] = map[community.Value]bool{}
			}
			t.by[name][v], t.all[v] = true, true
		}
	}
	return t
}

// of reports whether a view has a route of a node: one with a tag of the node. Of a node
// without one, and where tags do not reach the view, the path is all that tells: that of
// a route which the node announces, and no tag of another's.
func (t fleetTags) of(node string, h *centralv1.Hello, s *sighted, reach bool) bool {
	own := t.by[node]
	for tag := range own {
		if s.tags[tag] {
			return true
		}
	}
	if len(own) > 0 && reach {
		return false
	}
	heard := s.at(h.GetAsn())
	return slices.ContainsFunc(h.GetNeighbors(), func(n *centralv1.EdgeNeighbor) bool { return heard[n.GetAsn()] })
}

// heardBy is the AS that has a route of us, or 0 where it is not ours: the last one in
// the path before us, the view's own if there is none, and us where we announced it
// within our AS. FRR 8 puts its own AS before the path of what it has of others, which
// comes to the same.
func heardBy(r bmp.Route, us uint32) uint32 {
	var path []uint32
	for _, s := range r.Path {
		switch s.Type {
		case update.Sequence:
			path = append(path, s.ASNs...)
		case update.Set:
			path = append(path, 0) // nobody's
		}
	}
	n := len(path)
	for n > 0 && path[n-1] == us {
		n--
	}
	switch {
	case len(path) == 0 && r.LocalASN == us && us != 0:
		return us
	case n == len(path):
		return 0
	case n == 0:
		return r.LocalASN
	}
	return path[n-1]
}

// logSights tells what has changed of who is unseen.
func (f *Fleet) logSights(before, after map[sightKey]fleet.Sight) {
	for _, k := range sortedSights(before, after) {
		was, is := before[k], after[k]
		switch {
		case is.Unseen && !was.Unseen:
			f.log.Warn("a node announces and is unseen from outside: it is no capacity", "node", k.node, "service", k.service, "family", k.family,
				"views", strings.Join(is.Views, ","), "since", is.Since)
		case was.Unseen && !is.Unseen:
			f.log.Info("a node is not unseen any more", "node", k.node, "service", k.service, "family", k.family)
		}
	}
}

func sortedSights(maps ...map[sightKey]fleet.Sight) []sightKey {
	var out []sightKey
	for _, m := range maps {
		for k := range m {
			out = append(out, k)
		}
	}
	slices.SortFunc(out, func(a, b sightKey) int {
		return strings.Compare(a.node+"/"+a.service+"/"+a.family, b.node+"/"+b.service+"/"+b.family)
	})
	return slices.Compact(out)
}
