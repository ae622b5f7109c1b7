package sim

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// siteWorld is one site that becomes too hot, with edges and neighbours as the
// test asks, and one with room.
func siteWorld(edges, neighbors int) string {
	text := fmt.Sprintf(`name: site
duration: 3h
metrics: {period: 5s, delay: 2s, mean: true}
load: {centre: true}
sites:
  - name: hot
    edges: %d
    links: [{name: up, capacity: 100Gbps}]
    neighbors:
`, edges)
	for i := range neighbors {
		text += fmt.Sprintf("      - {name: n%d, asn: %d, link: up, ladder: [{steer: 0.15}, {steer: 0.3}, {steer: 0.5}, {prepend: 2, steer: 0.5}]}\n", i, 65001+i)
	}
	return text + `  - name: cool
    links: [{name: up, capacity: 200Gbps}]
    neighbors: [{name: n0, asn: 65010, link: up}]
groups:
  - {name: clients, count: 200, demand: 60Gbps, near: [hot, cool], shapes: [{crowd: {at: 30m, rise: 10m, factor: 2, hold: 45m, fall: 15m}}]}
window: {from: 55m, to: 85m}
`
}

func TestSiblingsMoveAlike(t *testing.T) {
	sc := parse(t, "site", siteWorld(4, 1))
	for seed := uint64(1); seed <= 5; seed++ {
		r := newRun(sc, "pi", seed)
		r.workers = 1
		apart, longest, most := time.Duration(0), time.Duration(0), 0
		for step := range int(sc.Duration / sc.Step) {
			r.step(step)
			var rungs []int
			for i := range r.nodes {
				if n := &r.nodes[i]; n.site == 0 {
					rungs = append(rungs, n.out.rungs[0])
				}
			}
			most = max(most, slices.Max(rungs))
			if apart += sc.Step; slices.Max(rungs) == slices.Min(rungs) {
				apart = 0
			}
			longest = max(longest, apart)
		}
		if longest > 11*time.Second {
			t.Errorf("seed %d: siblings stood on different rungs for %s; they read each figure within 10s of each other", seed, longest)
		}
		if most == 0 {
			t.Errorf("seed %d: none moved", seed)
		}
	}
}

func TestASiteShedsOnceHoweverManyShareItsLink(t *testing.T) {
	for _, tc := range []struct{ edges, neighbors int }{{1, 1}, {4, 1}, {1, 2}, {2, 2}} {
		sc := parse(t, "site", siteWorld(tc.edges, tc.neighbors))
		for seed := uint64(1); seed <= 5; seed++ {
			f := Run(sc, "pi", seed, nil)
			what := fmt.Sprintf("%d edges, %d neighbours, seed %d", tc.edges, tc.neighbors, seed)
			if f[Undershoot] > 0.30 { // a rung is up to a quarter of the capacity; twice what is needed is far more
				t.Errorf("%s: the link was %.2f below its target while it shed", what, f[Undershoot])
			}
			if f[SettledHighSeconds] > 0 || f[Reversals] > 2 {
				t.Errorf("%s: %.0f s over 0.95, %.0f reversals", what, f[SettledHighSeconds], f[Reversals])
			}
		}
	}
}
