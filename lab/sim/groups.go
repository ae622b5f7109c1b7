package sim

import (
	"cmp"
	"slices"
)

// addGroups draws each group's paths: to a site one AS more for each nearer site,
// and by each neighbour's AS none or one more.
func (w *routed) addGroups() {
	draw := w.random("paths")
	for i, spec := range w.sc.Groups {
		w.cities = append(w.cities, city{from: len(w.groups), to: len(w.groups) + spec.Count})
		for range spec.Count {
			c := client{spec: i, share: 1 / float64(spec.Count)}
			detour := map[uint32]int{}
			loyal := draw.Float64() < spec.Loyal
			for rank, name := range spec.Near {
				mine := w.bySite[w.sc.site(name)]
				favourite := mine[draw.IntN(len(mine))]
				steered := draw.Float64()
				for _, r := range mine {
					asn := w.routes[r].asn
					if _, drawn := detour[asn]; !drawn {
						detour[asn] = draw.IntN(2)
					}
					cand := candidate{route: r, preference: 100, path: 2 + rank + detour[asn], steered: steered}
					if loyal && rank == 0 && r == favourite {
						cand.preference = 200
					}
					c.cands = append(c.cands, cand)
				}
			}
			for _, v := range spec.Via {
				s := w.sc.site(v.Site)
				steered := draw.Float64()
				for _, r := range w.bySite[s] {
					if w.sc.Sites[s].Neighbors[w.routes[r].neighbor].Name == v.Neighbor {
						c.cands = append(c.cands, candidate{route: r, preference: v.Preference, path: v.Path, steered: steered})
					}
				}
			}
			w.addGroup(c, draw.Float64())
		}
	}
}

// addGroup adds a group; lot, 0..1, decides whether it damps.
func (w *routed) addGroup(c client, lot float64) {
	k := len(w.prefixes)
	c.heard = make([]heard, len(c.cands)*k)
	c.parts, c.home, c.dirty = make([][]part, k), make([][]part, k), make([]bool, k)
	for _, d := range w.sc.BGP.Damping {
		if lot -= d.Share; lot < 0 {
			m := makerFigures[d.Maker]
			c.maker = &m
			break
		}
	}
	slices.SortStableFunc(c.cands, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.preference, a.preference), cmp.Compare(a.path, b.path))
	})
	for i := range c.cands {
		r := &w.routes[c.cands[i].route]
		r.users = append(r.users, user{len(w.groups), i})
		if c.maker == nil {
			continue
		}
		at := slices.Index(c.asns, r.asn)
		if at < 0 {
			at, c.asns = len(c.asns), append(c.asns, r.asn)
		}
		c.cands[i].asn = at
	}
	c.damper = make([]damper, len(c.asns)*k)
	w.groups = append(w.groups, c)
}
