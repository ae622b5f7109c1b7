package sim

import (
	"hash/fnv"
	"math"
	"math/rand/v2"
	"time"
)

// world is what traffic of either actuator has in common: sites and links, the
// demand, and what of it is where.
type world struct {
	sc    *Scenario
	seed  uint64
	dt    float64 // seconds per step
	now   time.Duration
	links []link
	sites []site
	near  [][]bool  // by site and site: they share clients
	specs []float64 // the product of each group's shapes, now

	// Of this step, in bit/s.
	demand  float64
	lost    float64 // of the demand: no way, or a dead node
	away    float64 // of the demand: not at its best site
	broken  float64 // sessions, since the start
	shifted float64 // sessions moved without a break, since the start
	damped  map[dampedKey]bool
	changes []change // of this step
}

// link is one link's state.
type link struct {
	site, index int // index within the site
	capacity    float64
	load        float64
	home        float64 // the load with nothing shed
}

// site is one site's state.
type site struct {
	first, links int // its links are links[first:first+links]
	down         bool
	losses       uint64 // how often it went down
}

// change is an announcement that changed.
type change struct {
	site, edge, neighbor, prefix int
	withdrawn                    bool // it was announced and is no more
}

// dampedKey names what others damped.
type dampedKey struct {
	asn    uint32
	prefix int
}

func newWorld(sc *Scenario, seed uint64) *world {
	w := &world{sc: sc, near: neighbourhood(sc), seed: seed, dt: sc.Step.Seconds(), specs: make([]float64, len(sc.Groups)),
		damped: map[dampedKey]bool{}}
	for i, s := range sc.Sites {
		w.sites = append(w.sites, site{first: len(w.links), links: len(s.Links)})
		for j, l := range s.Links {
			w.links = append(w.links, link{site: i, index: j, capacity: l.Capacity})
		}
	}
	return w
}

// random is a stream of random numbers of its own: what is drawn from it does not
// shift what others draw.
func (w *world) random(stream string) *rand.Rand {
	h := fnv.New64a()
	_, _ = h.Write([]byte(stream)) // it never fails
	return rand.New(rand.NewPCG(w.seed, h.Sum64()))
}

// begin starts a step: the demand of each group's shapes, and empty links.
func (w *world) begin(now time.Duration) {
	w.now = now
	for i := range w.sc.Groups {
		w.specs[i] = w.sc.Groups[i].level(now)
	}
	for i := range w.links {
		w.links[i].load, w.links[i].home = 0, 0
	}
	w.demand, w.lost, w.away = 0, 0, 0
	w.changes = w.changes[:0]
}

// level is the product of the shapes at a time.
func (g *Group) level(t time.Duration) float64 {
	out := 1.0
	for _, s := range g.Shapes {
		out *= s.At(t)
	}
	return out
}

// noise is a demand's deviation, as a share: it is forgotten within a minute.
type noise struct{ value float64 }

const noiseTime = 60 // seconds

// fading are the factors of one step of a noise.
func fading(dt float64) (keep, add float64) {
	keep = math.Exp(-dt / noiseTime)
	return keep, math.Sqrt(1 - keep*keep)
}
