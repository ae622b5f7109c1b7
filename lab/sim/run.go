package sim

import (
	"math/rand/v2"
	"runtime"
	"strings"
	"time"
)

// traffic is a world that an actuator moves.
type traffic interface {
	base() *world
	begin(now time.Duration)
	advance(step int)
	// obey has the site's routers or servers do what an edge decided.
	obey(site, edge int, a *answer)
	// fall takes a site down or brings it back.
	fall(site int, down bool)
	// rung is the rung of a link's neighbour that sheds most; 0 for sessions.
	rung(link int) int
}

func newTraffic(sc *Scenario, seed uint64) traffic {
	if sc.Actuator == BySessions {
		return newCrowded(sc, seed)
	}
	return newRouted(sc, seed)
}

func (w *world) base() *world { return w }

func (w *routed) obey(site, edge int, a *answer) {
	for j, rung := range a.rungs {
		w.set(site, edge, j, rung)
	}
}

func (w *routed) fall(site int, down bool) {
	w.sites[site].down = down
	if down {
		w.sites[site].losses++
	}
	for _, r := range w.bySite[site] {
		w.tell(r)
	}
}

func (w *routed) rung(link int) int {
	top := 0
	for _, r := range w.bySite[w.links[link].site] {
		if w.routes[r].link == link {
			for _, rung := range w.routes[r].edges {
				top = max(top, rung)
			}
		}
	}
	return top
}

func (w *crowded) obey(site, edge int, a *answer) {
	if edge > 0 {
		return // all edges of a site decide alike
	}
	for i := range a.slow {
		w.set(w.sites[site].first+i, a.slow[i], a.drop[i])
	}
}

func (w *crowded) fall(site int, down bool) {
	w.sites[site].down = down
	if down {
		w.sites[site].losses++
	}
}

func (w *crowded) rung(int) int { return 0 }

// node is one edge in a run.
type node struct {
	site, edge int
	pilot      pilot
	in         situation
	out        answer
	read       []int         // by link: how many figures have been read
	lag        time.Duration // how late it reads them
	said       []string      // by neighbour: what was last noted
}

// Observer sees each step of a run, for traces and plots.
type Observer func(s *Snapshot)

// Snapshot is one moment of a run. It is valid during the call only.
type Snapshot struct {
	Now   time.Duration
	Links []LinkState
	// Notes say in words what was decided anew, where and why.
	Notes []string
}

// explainer is a pilot that can say why a neighbour stands where it stands; kind
// is the same as long as there is no news.
type explainer interface {
	explain(neighbor int) (text, kind string)
}

// LinkState is a link at one moment. Load and Capacity are in bit/s.
type LinkState struct {
	Site, Link                 string
	Load, Capacity             float64
	Rung                       int
	Shed, Slowdown, Drop, Home float64
}

// run is one run.
type run struct {
	w     traffic
	base  *world
	feeds []feed
	nodes []node
	rec   *recorder
	noise *rand.Rand
	moved []time.Duration // by site: when it last moved; -1: never
	near  [][]bool        // by site and site: they share clients
	shed  []float64       // by link
	due   []*node         // those that decide in this step
	// workers is how many nodes may decide at once: each decides by what was known
	// before the step, so their order makes no difference.
	workers int
}

// Run plays a scenario once. see may be nil.
func Run(sc *Scenario, controller string, seed uint64, see Observer) Figures {
	return play(sc, controller, seed, runtime.GOMAXPROCS(0), see)
}

func play(sc *Scenario, controller string, seed uint64, workers int, see Observer) Figures {
	r := newRun(sc, controller, seed)
	r.workers = workers
	var snap *Snapshot
	if see != nil {
		snap = newSnapshot(sc)
	}
	steps := int(sc.Duration / sc.Step)
	for step := range steps {
		r.step(step)
		if see != nil {
			r.show(snap)
			see(snap)
		}
	}
	return r.rec.figures()
}

func newRun(sc *Scenario, controller string, seed uint64) *run {
	w := newTraffic(sc, seed)
	r := &run{w: w, base: w.base(), noise: w.base().random("figures"), near: w.base().near}
	r.feeds = feeds(r.base)
	r.rec = newRecorder(r.base)
	r.shed = make([]float64, len(r.base.links))
	pilots := newMaker(controller, w)
	lags := r.base.random("lags")
	for i, s := range sc.Sites {
		r.moved = append(r.moved, -1)
		for e := range s.Edges {
			n := node{site: i, edge: e, pilot: pilots.pilot(i, e), read: make([]int, len(s.Links))}
			n.in = situation{figures: make([]figure, len(s.Links)), fresh: make([]bool, len(s.Links)), others: -1}
			for l := range n.in.figures {
				n.in.figures[l].at = -1
			}
			n.out = answer{rungs: make([]int, len(s.Neighbors)), slow: make([]float64, len(s.Links)),
				drop: make([]float64, len(s.Links)), shed: make([]float64, len(s.Links))}
			if e > 0 { // the others read the same figures at moments of their own
				n.lag = time.Duration(lags.Float64() * float64(min(sc.Metrics.Period, 10*time.Second)))
			}
			r.nodes = append(r.nodes, n)
		}
	}
	r.rec.rungs = make([]turns, r.turnCount())
	return r
}

func (r *run) turnCount() int {
	n := 0
	for i := range r.nodes {
		n += len(r.nodes[i].out.rungs)
	}
	return n
}

// neighbourhood says which sites share clients.
func neighbourhood(sc *Scenario) [][]bool {
	out := make([][]bool, len(sc.Sites))
	for i := range out {
		out[i] = make([]bool, len(sc.Sites))
	}
	for _, g := range sc.Groups {
		var sites []int
		for _, name := range g.Near {
			sites = append(sites, sc.site(name))
		}
		for _, v := range g.Via {
			sites = append(sites, sc.site(v.Site))
		}
		for _, a := range sites {
			for _, b := range sites {
				out[a][b] = true
			}
		}
	}
	return out
}

func (r *run) step(step int) {
	now := time.Duration(step) * r.base.sc.Step
	r.w.begin(now)
	r.events(now)
	r.w.advance(step)
	for i := range r.feeds {
		r.feeds[i].take(&r.base.sc.Metrics, now, r.base.links[i].load, r.noise)
	}
	r.decide(now)
	quiet := true
	turn := 0
	for i := range r.nodes {
		n := &r.nodes[i]
		for _, rung := range n.out.rungs {
			r.rec.rungs[turn].take(float64(rung), 1)
			turn++
			quiet = quiet && rung == 0
		}
		if n.edge == 0 {
			first := r.base.sites[n.site].first
			for l, s := range n.out.shed {
				if s = max(s, n.out.slow[l], n.out.drop[l]); !r.acts(n, l) {
					s = 0
				}
				r.shed[first+l] = s
				quiet = quiet && (s == 0 || r.base.sc.Actuator == ByRoutes)
			}
		}
	}
	r.rec.take(r.shed, quiet)
}

// acts says whether anything is in force on a link of a node's site.
func (r *run) acts(n *node, l int) bool {
	if r.base.sc.Actuator == BySessions {
		return n.out.slow[l] > 0 || n.out.drop[l] > 0
	}
	link := r.base.sc.Sites[n.site].Links[l].Name
	for j, nb := range r.base.sc.Sites[n.site].Neighbors {
		if nb.Link == link && n.out.rungs[j] > 0 {
			return true
		}
	}
	return false
}

// events are those that begin or end now.
func (r *run) events(now time.Duration) {
	for _, e := range r.base.sc.Events {
		begins, ends := now == e.At.Truncate(r.base.sc.Step), now == (e.At+e.For).Truncate(r.base.sc.Step)
		if e.For == 0 {
			ends = false
		}
		if !begins && !ends {
			continue
		}
		if e.Down != "" {
			r.w.fall(r.base.sc.site(e.Down), begins)
			continue
		}
		name, one, single := strings.Cut(e.Silent, "/")
		i := r.base.sc.site(name)
		s := &r.base.sites[i]
		for l := s.first; l < s.first+s.links; l++ {
			if !single || r.base.sc.Sites[i].Links[l-s.first].Name == one {
				r.feeds[l].silent = begins
			}
		}
	}
}

func newSnapshot(sc *Scenario) *Snapshot {
	s := &Snapshot{}
	for _, site := range sc.Sites {
		for _, l := range site.Links {
			s.Links = append(s.Links, LinkState{Site: site.Name, Link: l.Name, Capacity: l.Capacity})
		}
	}
	return s
}

// show fills in a snapshot.
func (r *run) show(s *Snapshot) {
	s.Now, s.Notes = r.base.now, r.notes()
	for i := range s.Links {
		l := &s.Links[i]
		l.Load, l.Home, l.Rung, l.Shed = r.base.links[i].load, r.base.links[i].home, r.w.rung(i), r.shed[i]
	}
	for i := range r.nodes {
		n := &r.nodes[i]
		if n.edge == 0 {
			for l := range n.out.slow {
				at := &s.Links[r.base.sites[n.site].first+l]
				at.Slowdown, at.Drop = n.out.slow[l], n.out.drop[l]
			}
		}
	}
}
