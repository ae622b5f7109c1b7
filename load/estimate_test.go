package load

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// curve is a load over time: a straight line between knots, and level outside.
type curve struct {
	at    []float64 // seconds
	value []float64
}

func (c curve) of(t float64) float64 {
	if t <= c.at[0] {
		return c.value[0]
	}
	for i := 1; i < len(c.at); i++ {
		if t <= c.at[i] {
			return c.value[i-1] + (c.value[i]-c.value[i-1])*(t-c.at[i-1])/(c.at[i]-c.at[i-1])
		}
	}
	return c.value[len(c.value)-1]
}

// steepest is the greatest slope, per second.
func (c curve) steepest() (most float64) {
	for i := 1; i < len(c.at); i++ {
		most = max(most, math.Abs(c.value[i]-c.value[i-1])/(c.at[i]-c.at[i-1]))
	}
	return most
}

func drawCurve(t *rapid.T, name string, length, lowest, highest float64) (c curve) {
	for at := 0.0; at <= length; {
		c.at = append(c.at, at)
		c.value = append(c.value, rapid.Float64Range(lowest, highest).Draw(t, name))
		at += rapid.Float64Range(30, 300).Draw(t, name+" for")
	}
	return c
}

// world is a link with two sources: the router sees all, the node its own.
type world struct {
	own, other    curve
	period, delay float64 // of the exact source, in seconds
	average       float64
}

// exactAt is what the router says of a time: an average, if it gives those.
func (w world) exactAt(at float64) float64 {
	if w.average == 0 {
		return w.own.of(at) + w.other.of(at)
	}
	sum, steps := 0.0, 1000
	for i := range steps {
		moment := at - w.average*(float64(i)+0.5)/float64(steps)
		sum += w.own.of(moment) + w.other.of(moment)
	}
	return sum / float64(steps)
}

func (w world) truth(at float64) float64 { return w.own.of(at) + w.other.of(at) }

func (w world) link() Link {
	seconds := func(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
	return Link{
		Fast:  &Source{Interface: "eth0"},
		Exact: &Source{Feed: &Feed{Period: seconds(w.period)}, Average: seconds(w.average)},
	}
}

// run plays the world for a time; fast and exact tell at which times each source
// lives. see gets each estimate.
func (w world) run(length float64, fast, exact func(at float64) bool, see func(s Sample, now float64)) *Estimator {
	e := NewEstimator(w.link())
	next := w.delay
	for now := 0.5; now < length; now++ {
		for ; next <= now; next += w.period {
			if !exact(next) {
				continue
			}
			at := next - w.delay
			if s, ok := e.Exact(Sample{Load: w.exactAt(at), At: after(at)}, after(next)); ok {
				see(s, next)
			}
		}
		if !fast(now) {
			continue
		}
		if s, ok := e.Fast(Sample{Load: w.own.of(now), At: after(now)}); ok {
			see(s, now)
		}
	}
	return e
}

func always(float64) bool { return true }
func never(float64) bool  { return false }

func drawWorld(t *rapid.T, length, otherLow, otherHigh float64) world {
	return world{
		own:     drawCurve(t, "own", length, 20, 100),
		other:   drawCurve(t, "other", length, otherLow, otherHigh),
		period:  rapid.Float64Range(5, 120).Draw(t, "period"),
		delay:   rapid.Float64Range(0, 180).Draw(t, "delay"),
		average: rapid.SampledFrom([]float64{0, 0, 30, 60}).Draw(t, "average"),
	}
}

func TestConstantOtherTrafficIsCorrectedExactly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const length = 900
		w := drawWorld(t, length, 0, 0)
		constant := rapid.Float64Range(-15, 60).Draw(t, "constant") // below zero: what the node counts goes elsewhere
		w.other = curve{at: []float64{0}, value: []float64{constant}}
		// A figure with a whole average inside the history has come by then.
		settled := w.average + w.period + w.delay + 2
		w.run(length, always, always, func(s Sample, now float64) {
			if now < settled {
				return
			}
			// Between two figures of the fast source its history is a straight line.
			if got, want := s.Load, w.truth(now); math.Abs(got-want) > w.own.steepest()+1e-6 {
				t.Fatalf("at %v: estimate %v, truth %v", now, got, want)
			}
		})
	})
}

func TestChangingOtherTrafficIsFollowed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const length = 1500
		w := drawWorld(t, length, 0, 40)
		// The correction is as old as the figure, and averaged over periods.
		behind := w.delay + w.average/2 + 2*w.period
		allowed := w.other.steepest()*behind + w.own.steepest() + 1e-6
		settled := w.average + w.delay + 8*w.period + 2 // the first one is forgotten, too
		w.run(length, always, always, func(s Sample, now float64) {
			if now < settled {
				return
			}
			// What is left of the first correction after seven: e^-7 of at most 40.
			if got, want := s.Load, w.truth(now); math.Abs(got-want) > allowed+0.05 {
				t.Fatalf("at %v: estimate %v, truth %v, allowed %v", now, got, want, allowed)
			}
		})
	})
}

func TestEstimatesAreNeitherNegativeNorRepeated(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := NewEstimator(world{period: 60, average: rapid.SampledFrom([]float64{0, 60}).Draw(t, "average")}.link())
		e.smooth.Tau = rapid.SampledFrom([]time.Duration{0, 5 * time.Second}).Draw(t, "smooth")
		var last time.Time
		now := 0.0
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			now += rapid.Float64Range(0, 90).Draw(t, "passes")
			figure := Sample{
				Load: rapid.Float64Range(0, 1e12).Draw(t, "load"),
				At:   after(now - rapid.Float64Range(-5, 3000).Draw(t, "age")),
			}
			var s Sample
			var ok bool
			if rapid.Bool().Draw(t, "exact") {
				s, ok = e.Exact(figure, after(now))
			} else {
				s, ok = e.Fast(figure)
			}
			switch {
			case !ok:
			case s.Load < 0 || math.IsNaN(s.Load) || math.IsInf(s.Load, 0):
				t.Fatalf("estimate %v", s.Load)
			case !s.At.After(last):
				t.Fatalf("time %v after %v", s.At, last)
			default:
				last = s.At
			}
		}
	})
}

func TestOnlyExactIsTheExactFigureWithItsAge(t *testing.T) {
	w := world{own: curve{[]float64{0, 600}, []float64{10, 70}}, other: curve{[]float64{0}, []float64{5}}, period: 60, delay: 50}
	n := 0
	w.run(600, never, always, func(s Sample, now float64) {
		n++
		if at := now - w.delay; !s.At.Equal(after(at)) || math.Abs(s.Load-w.truth(at)) > 1e-9 {
			t.Errorf("at %v: %+v, want the truth of %v", now, s, at)
		}
	})
	if n != 10 {
		t.Errorf("%d estimates, want one for each of 10 figures", n)
	}
}

func TestOnlyFastIsTheFastFigure(t *testing.T) {
	w := world{own: curve{[]float64{0, 600}, []float64{10, 70}}, other: curve{[]float64{0}, []float64{5}}, period: 60, delay: 50}
	n := 0
	w.run(600, always, never, func(s Sample, now float64) {
		n++
		if s.Load != w.own.of(now) || !s.At.Equal(after(now)) {
			t.Errorf("at %v: %+v, want %v", now, s, w.own.of(now))
		}
	})
	if n != 600 {
		t.Errorf("%d estimates, want 600", n)
	}
}

func TestLastCorrectionStandsWhenExactCeases(t *testing.T) {
	w := world{own: curve{[]float64{0, 7200}, []float64{10, 70}}, other: curve{[]float64{0}, []float64{25}}, period: 60, delay: 50}
	e := w.run(7200, always, func(at float64) bool { return at < 300 }, func(s Sample, now float64) {
		if now > 120 && math.Abs(s.Load-w.truth(now)) > 0.1 {
			t.Errorf("at %v: %v, want %v", now, s.Load, w.truth(now))
		}
	})
	if bias, at := e.Correction(); math.Abs(bias-25) > 0.1 || !at.Equal(after(240)) {
		t.Errorf("correction %v of %v, want 25 of the figure of 240 s", bias, at)
	}
}

func TestLostFastSourceGivesWayToTheExactOneAndComesBack(t *testing.T) {
	w := world{own: curve{[]float64{0, 1200}, []float64{10, 130}}, other: curve{[]float64{0}, []float64{25}}, period: 30, delay: 40}
	var exacts int
	var last float64
	w.run(1200, func(at float64) bool { return at < 400 || at > 800 }, always, func(s Sample, now float64) {
		age := after(now).Sub(s.At).Seconds()
		switch {
		case now > 404 && now < 800:
			exacts++
			if age != w.delay || math.Abs(s.Load-w.truth(now-w.delay)) > 1e-6 {
				t.Errorf("at %v: %+v of age %v, want the exact figure", now, s, age)
			}
		case now > 120:
			if age != 0 || math.Abs(s.Load-w.truth(now)) > 0.2 {
				t.Errorf("at %v: %+v of age %v, want %v", now, s, age, w.truth(now))
			}
		}
		last = now
	})
	// Figures of times before the last estimate are none: 400 s + 40 s of delay.
	if exacts < 11 || exacts > 13 {
		t.Errorf("%d exact figures were handed on in 400 s, want about 12", exacts)
	}
	if last < 1199 {
		t.Errorf("the last estimate is of %v", last)
	}
}

// After a start the first exact figures are older than all that is known of the
// fast source.
func TestFirstExactFigureCorrectsRoughlyUntilOneCanBeCompared(t *testing.T) {
	w := world{own: curve{[]float64{0, 100, 200}, []float64{50, 50, 90}}, other: curve{[]float64{0}, []float64{25}}, period: 60, delay: 60, average: 60}
	e := NewEstimator(w.link())
	if s, _ := e.Fast(Sample{Load: 52, At: after(0)}); s.Load != 52 {
		t.Fatalf("first: %v", s.Load)
	}
	e.Exact(Sample{Load: 75, At: after(-60)}, after(0.5))
	if s, _ := e.Fast(Sample{Load: 53, At: after(1)}); s.Load != 53+75-52 {
		t.Errorf("after a figure from before the start: %v, want %v", s.Load, 53+75-52)
	}
	// Another such one does not change it, and a proper one replaces it.
	e.Exact(Sample{Load: 500, At: after(-30)}, after(1.5))
	for at := 2.0; at <= 130; at++ {
		e.Fast(Sample{Load: 53, At: after(at)})
	}
	e.Exact(Sample{Load: 60, At: after(100)}, after(130.5))
	if s, _ := e.Fast(Sample{Load: 53, At: after(131)}); math.Abs(s.Load-60) > 1e-9 {
		t.Errorf("after a comparable figure: %v, want 60", s.Load)
	}
}

func TestNoComparisonAcrossAGapOfTheFastSource(t *testing.T) {
	e := NewEstimator(world{period: 60}.link())
	for _, at := range []float64{0, 1, 2, 60, 61} {
		e.Fast(Sample{Load: 10, At: after(at)})
	}
	e.Exact(Sample{Load: 99, At: after(30)}, after(61.5))
	if bias, at := e.Correction(); bias != 0 || !at.IsZero() {
		t.Errorf("correction %v of %v by a figure from inside a gap, want none", bias, at)
	}
	e.Exact(Sample{Load: 99, At: after(60.5)}, after(61.6))
	if bias, _ := e.Correction(); bias != 89 {
		t.Errorf("correction %v, want 89", bias)
	}
}

// Comparing with the fast figure of now, as is tempting, is wrong by a minute's
// growth; and each source alone is worse than both.
func TestEstimateIsBetterThanEachSourceInASurge(t *testing.T) {
	w := world{
		own:    curve{[]float64{0, 600, 660, 1200}, []float64{40, 40, 64, 64}},
		other:  curve{[]float64{0, 1200}, []float64{20, 26}},
		period: 60, delay: 60,
	}
	worst, worstExact, worstFast := 0.0, 0.0, 0.0
	w.run(1200, always, always, func(s Sample, now float64) {
		if now < 200 {
			return
		}
		figure := math.Floor((now-w.delay)/w.period) * w.period
		worst = max(worst, math.Abs(s.Load-w.truth(now)))
		worstExact = max(worstExact, math.Abs(w.truth(figure)-w.truth(now)))
		worstFast = max(worstFast, math.Abs(w.own.of(now)-w.truth(now)))
	})
	if worst > 1.5 || worstExact < 20 || worstFast < 20 {
		t.Errorf("worst error %.2f with both, %.2f of the exact one, %.2f of the fast one; want below 1.5, about 24, about 25", worst, worstExact, worstFast)
	}
}

func TestSmoothingDoesNotBiasTheCorrection(t *testing.T) {
	// On a ramp, an average lags: by that much the correction must not be wrong.
	w := world{own: curve{[]float64{0, 1000}, []float64{0, 1000}}, other: curve{[]float64{0}, []float64{25}}, period: 60, delay: 60}
	l := w.link()
	l.Smooth = 5 * time.Second
	e := NewEstimator(l)
	for now := 0.0; now <= 400; now++ {
		e.Fast(Sample{Load: w.own.of(now), At: after(now)})
		if math.Mod(now, 60) == 0 && now >= 60 {
			e.Exact(Sample{Load: w.truth(now - 60), At: after(now - 60)}, after(now))
		}
	}
	if bias, _ := e.Correction(); math.Abs(bias-25) > 0.5 {
		t.Errorf("correction %v, want 25", bias)
	}
}

func TestAverageBeginsAnewAfterAGap(t *testing.T) {
	l := world{period: 60}.link()
	l.Smooth = time.Minute
	e := NewEstimator(l)
	e.Fast(Sample{Load: 10, At: after(0)})
	if s, _ := e.Fast(Sample{Load: 50, At: after(2)}); s.Load < 10 || s.Load > 12 {
		t.Errorf("%v, want it smoothed", s.Load)
	}
	if s, _ := e.Fast(Sample{Load: 50, At: after(12)}); s.Load != 50 {
		t.Errorf("after a gap: %v, want 50", s.Load)
	}
}

// At a start the exact source is often the first to answer: counters of an
// interface need two readings.
func TestExactFigureFromBeforeTheFirstFastOneIsNotLost(t *testing.T) {
	e := NewEstimator(world{period: 60}.link())
	if s, ok := e.Exact(Sample{Load: 80, At: after(-60)}, after(0)); !ok || s.Load != 80 {
		t.Errorf("%+v, %v; want the exact figure", s, ok)
	}
	for at := range 5 {
		if s, ok := e.Fast(Sample{Load: 50, At: after(float64(at + 1))}); !ok || s.Load != 80 {
			t.Errorf("after %d s: %+v, want 80", at+1, s)
		}
	}
}
