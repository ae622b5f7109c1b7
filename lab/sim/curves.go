package sim

import (
	"cmp"
	"slices"
	"time"
)

// curves are what one controller made of one run, thinned out to be drawn.
type curves struct {
	controller string
	links      []curve
	marks      []mark
	figures    Figures
}

// curve is one link's.
type curve struct {
	name                         string
	at                           []time.Duration
	load, home, slow, drop, rung []float64 // loads in shares of the capacity
	peak                         float64
}

// mark is a change of a link's rung.
type mark struct {
	link     int
	at       time.Duration
	load     float64
	from, to int
}

// points is how many of them a curve has, about.
const points = 480

// draw plays one run for its curves.
func draw(sc *Scenario, controller string, seed uint64) *curves {
	c := &curves{controller: controller}
	every := max(1, int(sc.Duration/sc.Step)/points)
	step := 0
	rungs := []int{}
	c.figures = Run(sc, controller, seed, func(s *Snapshot) {
		for i := range s.Links {
			l := &s.Links[i]
			if step == 0 {
				c.links = append(c.links, curve{name: l.Site + "/" + l.Link})
				rungs = append(rungs, 0)
			}
			at := &c.links[i]
			load := l.Load / l.Capacity
			at.peak = max(at.peak, load)
			if l.Rung != rungs[i] {
				c.marks = append(c.marks, mark{i, s.Now, load, rungs[i], l.Rung})
				rungs[i] = l.Rung
			}
			if step%every == 0 {
				at.at = append(at.at, s.Now)
				at.load, at.home = append(at.load, load), append(at.home, l.Home/l.Capacity)
				at.slow, at.drop = append(at.slow, l.Slowdown), append(at.drop, l.Drop)
				at.rung = append(at.rung, float64(l.Rung))
			}
		}
		step++
	})
	return c
}

// shown is how many links a page shows of a scenario.
const shown = 6

// choose finds the links that tell most: those with the highest demand or load.
func choose(all []*curves) []int {
	type candidate struct {
		link int
		peak float64
	}
	var out []candidate
	for i := range all[0].links {
		c := candidate{link: i, peak: slices.Max(all[0].links[i].home)}
		for _, r := range all {
			if r.controller != "none" && r.controller != "greedy" && r.controller != "threshold-withdraw" {
				c.peak = max(c.peak, r.links[i].peak)
			}
		}
		out = append(out, c)
	}
	slices.SortStableFunc(out, func(a, b candidate) int { return cmp.Compare(b.peak, a.peak) })
	var links []int
	for _, c := range out[:min(shown, len(out))] {
		links = append(links, c.link)
	}
	slices.Sort(links)
	return links
}
