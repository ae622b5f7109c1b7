package sim

import (
	"math/rand/v2"
	"time"
)

// feed is how the load of one link becomes known.
type feed struct {
	phase, next time.Duration // when the first, and the next figure is taken
	sum         float64       // of the loads since the last one
	steps       int
	recent      []figure // the last ones, by number
	taken       int      // how many have been taken
	silent      bool
}

const kept = 256 // figures that may be on their way at once

// feeds are those of all links. Links of one site are read at the same moment.
func feeds(w *world) []feed {
	draw := w.random("feeds")
	out := make([]feed, len(w.links))
	for _, s := range w.sites {
		phase := time.Duration(draw.Float64() * float64(w.sc.Metrics.Period)).Truncate(w.sc.Step)
		for l := s.first; l < s.first+s.links; l++ {
			out[l] = feed{phase: phase, next: phase, recent: make([]figure, kept)}
		}

	}
	return out
}

// take notes the load of a step and takes a figure when it is time for one.
func (f *feed) take(m *Metrics, now time.Duration, load float64, draw *rand.Rand) {
	f.sum += load
	f.steps++
	if now < f.next {
		return
	}
	f.next += m.Period
	if m.Mean {
		load = f.sum / float64(f.steps)
	}
	f.sum, f.steps = 0, 0
	if f.silent {
		return
	}
	if m.Noise > 0 {
		load *= max(0, 1+m.Noise*draw.NormFloat64())
	}
	f.recent[f.taken%kept] = figure{load, now}
	f.taken++
}
