package sim

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	measured "github.com/catchment-bgp/catchment/load"
)

// sources are how the two sources of a link see it.
type sources struct {
	seen  float64       // share of the traffic that the fast source sees
	noise float64       // of one fast figure, as a share of it
	late  time.Duration // how old an exact figure is when it comes
	// fastGone and exactGone are spans of time without figures.
	fastGone, exactGone [2]time.Duration
}

// filtered is how far off the truth each way of knowing a link's load was, in each
// second: root mean squares over a span, in shares of the capacity.
type filtered struct{ fast, exact, both float64 }

func silent(span [2]time.Duration, at time.Duration) bool { return at >= span[0] && at < span[1] }

// filter has the estimator follow the load of one link through a run. Each way of
// knowing it goes by its newest figure.
func filter(truth []float64, step time.Duration, capacity float64, s sources, from, to time.Duration) filtered {
	const minute = time.Minute
	link := measured.Link{Name: "l", Capacity: capacity,
		Fast:   &measured.Source{Interface: "eth0"},
		Exact:  &measured.Source{Feed: &measured.Feed{URL: "http://router.example/", Period: minute}, Average: minute},
		Smooth: 10 * time.Second}
	e := measured.NewEstimator(link)
	start := time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)
	draw := rand.New(rand.NewPCG(1, 2))
	var fast, exact, both float64 // the newest figures
	var sum filtered
	n := 0.0
	take := func(f measured.Sample, ok bool) {
		if ok {
			both = f.Load
		}
	}
	for i, load := range truth {
		at := time.Duration(i) * step
		if !silent(s.fastGone, at) {
			fast = load * s.seen * (1 + s.noise*draw.NormFloat64())
			take(e.Fast(measured.Sample{Load: max(0, fast), Capacity: capacity, At: start.Add(at)}))
		}
		if end := at - s.late; end >= minute && end%minute == 0 && !silent(s.exactGone, at) {
			exact = mean(truth[(end-minute)/step : end/step])
			take(e.Exact(measured.Sample{Load: exact, Capacity: capacity, At: start.Add(end)}, start.Add(at)))
		}
		if at >= from && at < to {
			sum.fast += square((fast - load) / capacity)
			sum.exact += square((exact - load) / capacity)
			sum.both += square((both - load) / capacity)
			n++
		}
	}
	return filtered{math.Sqrt(sum.fast / n), math.Sqrt(sum.exact / n), math.Sqrt(sum.both / n)}
}

func square(v float64) float64 { return v * v }

func mean(vs []float64) float64 {
	sum := 0.0
	for _, v := range vs {
		sum += v
	}
	return sum / float64(len(vs))
}

// truth is the load of a scenario's first link, step by step, without load control.
func truth(sc *Scenario, controller string) []float64 {
	var out []float64
	Run(sc, controller, 1, func(s *Snapshot) { out = append(out, s.Links[0].Load) })
	return out
}

// TestTwoSourcesTellTheTruthBetterThanEither: a fast source that misses a quarter of the
// traffic, and an exact one that is a mean over a minute and a minute late, together.
func TestTwoSourcesTellTheTruthBetterThanEither(t *testing.T) {
	sc := load(t, "flash-crowd")
	step, capacity := sc.Step, sc.Sites[0].Links[0].Capacity
	loads := map[string][]float64{"without load control": truth(sc, "none"), "with load control": truth(sc, "pi")}
	usual := sources{seen: 0.75, noise: 0.05, late: time.Minute}
	noExact, noFast := usual, usual
	// The surge comes from 30 to 35 min and goes from 80 to 95 min.
	noExact.exactGone = [2]time.Duration{28 * time.Minute, 38 * time.Minute}
	noFast.fastGone = [2]time.Duration{28 * time.Minute, 38 * time.Minute}
	for _, tc := range []struct {
		name     string
		s        sources
		from, to time.Duration
		// The most of each one's error that the estimate has.
		ofFast, ofExact float64
	}{
		{"all of it", usual, 5 * time.Minute, 3 * time.Hour, 0.1, 0.45},
		{"the surge", usual, 30 * time.Minute, 37 * time.Minute, 0.33, 0.4},
		// The correction is of before: what is missed of the surge is not seen.
		{"no exact figures in the surge", noExact, 28 * time.Minute, 38 * time.Minute, 0.5, 0.33},
		{"after exact figures came back", noExact, 41 * time.Minute, 60 * time.Minute, 0.05, 1},
		// The estimate is the exact source's own figure.
		{"no fast figures in the surge", noFast, 28 * time.Minute, 38 * time.Minute, 0.35, 1.001},
		{"after fast figures came back", noFast, 41 * time.Minute, 60 * time.Minute, 0.06, 1},
	} {
		for name, load := range loads {
			got := filter(load, step, capacity, tc.s, tc.from, tc.to)
			t.Logf("%s, %s: off by %.4f; fast alone %.4f, exact alone %.4f", tc.name, name, got.both, got.fast, got.exact)
			if got.both > tc.ofFast*got.fast || got.both > tc.ofExact*got.exact {
				t.Errorf("%s, %s: the estimate is off by %.4f of the capacity; want at most %.2f of the fast source's %.4f, and %.2f of the exact one's %.4f",
					tc.name, name, got.both, tc.ofFast, got.fast, tc.ofExact, got.exact)
			}
		}
	}
}
