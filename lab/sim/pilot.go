package sim

import (
	"slices"
	"time"
)

// pilot is what decides at one edge. It is called when a figure has come in and
// when it has asked to be.
type pilot interface {
	// decide fills in what shall be; *answer holds the last one.
	decide(in *situation, out *answer)
}

// situation is what an edge knows.
type situation struct {
	now time.Duration
	// figures by link of the site; at < 0: there is none.
	figures []figure
	// fresh is by link: this figure is news.
	fresh  []bool
	losses uint64        // how often its node died
	others time.Duration // when another node last moved; < 0: not known
	room   float64       // what the others can take, if the centre says
	// told has what the other edges at each AS were charged, if the centre says.
	told map[uint32]float64
}

// figure is a load in bit/s at a time.
type figure struct {
	load float64
	at   time.Duration
}

// answer is what an edge does.
type answer struct {
	rungs []int     // by neighbour of the site
	slow  []float64 // by link of the site
	drop  []float64
	shed  []float64     // what it asks for, to be shown
	wake  time.Duration // when it wants to be asked again; < 0: with the next figure
}

// idle is the controller none.
type idle struct{}

func (idle) decide(*situation, *answer) {}

// greedy sheds at each node by its own load alone, a step at each figure, as
// FastRoute does (Flavel et al., NSDI 2015): more while the load is high, less
// while it is low, whatever others do and whoever damps.
type greedy struct {
	sc   *Scenario
	site *Site
	turn []int // by link: which of its neighbours moves next
}

const (
	greedyHigh = 0.90
	greedyLow  = 0.70
	greedyStep = 0.05 // of the sessions
)

func (g *greedy) decide(in *situation, out *answer) {
	for i := range g.site.Links {
		l := &g.site.Links[i]
		if !in.fresh[i] || l.Off != "" {
			continue
		}
		step := 0
		switch u := in.figures[i].load / l.Capacity; {
		case u > greedyHigh:
			step = 1
		case u < greedyLow:
			step = -1
		}
		if g.sc.Actuator == BySessions {
			out.slow[i] = bounded(out.slow[i] + greedyStep*float64(step))
			out.shed[i] = out.slow[i]
			continue
		}
		g.climb(i, step, out)
	}
}

// climb moves the next of a link's neighbours that can move by one rung.
func (g *greedy) climb(link, step int, out *answer) {
	mine, top := []int{}, 0
	for j, n := range g.site.Neighbors {
		if n.Link == g.site.Links[link].Name {
			mine = append(mine, j)
			top = max(top, out.rungs[j])
		}
	}
	for range mine {
		j := mine[g.turn[link]%len(mine)]
		g.turn[link]++
		if to := out.rungs[j] + step; step != 0 && to >= 0 && to <= len(g.site.Neighbors[j].Ladder) {
			out.rungs[j] = to
			break
		}
	}
	out.shed[link] = 0
	for _, j := range mine {
		if n := len(g.site.Neighbors[j].Ladder); n > 0 {
			out.shed[link] += float64(out.rungs[j]) / float64(n) / float64(len(mine))
		}
	}
}

// Controllers lists the controllers there are, by name; the default one is "pi".
func Controllers() []string {
	return []string{"none", "threshold", "threshold-withdraw", "curve", "damped", "pi", "greedy"}
}

// Known says whether there is a controller of a name.
func Known(controller string) bool { return slices.Contains(Controllers(), controller) }

// maker makes the pilots of a run.
type maker struct {
	controller string
	w          traffic
	sheds      [][]float64 // by route and rung: what the policy is told
	plan       *plan
}

func newMaker(controller string, w traffic) *maker {
	m := &maker{controller: controller, w: w}
	r, ok := w.(*routed)
	switch _, steers := modes[controller]; {
	case ok && steers:
		m.sheds = r.believed()
	case ok && controller == Oracle:
		m.plan = r.foresee()
	}
	return m
}

// pilot makes the pilot of an edge of a site.
func (m *maker) pilot(site, edge int) pilot {
	sc := m.w.base().sc
	switch m.controller {
	case "none":
		return idle{}
	case "greedy":
		return &greedy{sc: sc, site: &sc.Sites[site], turn: make([]int, len(sc.Sites[site].Links))}
	case Oracle:
		if r, ok := m.w.(*routed); ok {
			return &prophet{w: r, plan: m.plan, site: site}
		}
		return &seer{w: m.w.base(), site: site}
	}
	var sheds [][]float64
	if r, ok := m.w.(*routed); ok {
		for _, at := range r.bySite[site] {
			sheds = append(sheds, m.sheds[at])
		}
	}
	return newSteering(m.controller, sc, site, edge, sheds)
}
