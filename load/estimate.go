package load

import (
	"math"
	"time"
)

// Estimator makes one figure of a link's two sources (a complementary filter).
//
// The fast source is young and misses what only the router sees; the exact one is
// right and a minute old. The estimate is the fast figure plus a correction: what
// the exact figure had over the fast one at the time when the exact one was true.
// To know that, it keeps the fast source's recent history. The correction is
// itself averaged, with the period of the exact source as time constant: it
// follows other traffic that changes within some periods, and noise less.
//
// What happens without one of them:
//
//   - no exact figure yet: the fast ones as they are;
//   - the first exact figure is from before the first fast one, as after a start:
//     it is compared with that one, as soon as there is one, until a figure comes
//     that can be compared properly, and replaces this correction;
//   - exact figures cease: the last correction stands, however old (Correction
//     tells). To let it fade would move the estimate, and with it traffic, for no
//     measured reason;
//   - fast figures cease for three periods: the exact figures as they are, with
//     their age.
//
// Estimates are never below zero, and their times only grow. Pure: the time comes
// in with the figures.
type Estimator struct {
	fastPeriod time.Duration
	average    time.Duration
	keep       time.Duration

	history []point // of the fast source, the oldest first
	smooth  EWMA
	bias    EWMA
	guessed bool      // the bias is of the first comparison, a rough one
	biasAt  time.Time // of the exact figure behind it
	waiting Sample    // an exact figure from before the first fast one; At zero: none
	emitted time.Time
}

type point struct {
	at    time.Time
	value float64
}

// keepAtLeast and keepAtMost bound the history.
const (
	keepAtLeast = 10 * time.Minute
	keepAtMost  = 20_000
	keepPeriods = 4
	lostPeriods = 3
)

// NewEstimator makes the estimator of a link; its periods, Average and Smooth count.
func NewEstimator(l Link) *Estimator {
	e := &Estimator{keep: keepAtLeast, fastPeriod: interfacePeriod}
	if l.Fast != nil {
		e.fastPeriod = l.Fast.period()
		if l.Fast.Interface != "" {
			e.smooth.Tau = l.Smooth
		}
	}
	if l.Exact != nil {
		e.average = l.Exact.Average
		e.bias.Tau = l.Exact.period()
		e.keep = max(keepAtLeast, keepPeriods*l.Exact.period()+l.Exact.Average+l.Exact.Delay)
	}
	return e
}

// Fast takes a figure of the fast source and returns the estimate; false: there is
// no newer one than the last.
func (e *Estimator) Fast(s Sample) (Sample, bool) {
	if n := len(e.history); n > 0 && !s.At.After(e.history[n-1].at) {
		return Sample{}, false
	}
	if n := len(e.history); n > 0 && s.At.Sub(e.history[n-1].at) > lostPeriods*e.fastPeriod {
		e.smooth.Reset() // an average over the gap would be of two times
	}
	e.remember(point{s.At, s.Load})
	if !e.waiting.At.IsZero() {
		e.compare(e.waiting)
		e.waiting = Sample{}
	}
	s.Load = max(0, e.smooth.Add(s.Load, s.At)+e.correction())
	return e.emit(s)
}

// Exact takes a figure of the exact source, which came at now. It returns an
// estimate only where the fast source is lost: otherwise the next fast figure
// brings it.
func (e *Estimator) Exact(s Sample, now time.Time) (Sample, bool) {
	if len(e.history) == 0 {
		e.waiting = s
	} else {
		e.compare(s)
	}
	if n := len(e.history); n > 0 && now.Sub(e.history[n-1].at) <= lostPeriods*e.fastPeriod {
		return Sample{}, false
	}
	return e.emit(s)
}

// Correction is what is added to the fast figures, in bit/s, and the time of the
// exact figure that last changed it; zero: there was none.
func (e *Estimator) Correction() (float64, time.Time) { return e.correction(), e.biasAt }

func (e *Estimator) correction() float64 {
	bias, _ := e.bias.Value()
	return bias
}

func (e *Estimator) emit(s Sample) (Sample, bool) {
	if !s.At.After(e.emitted) {
		return Sample{}, false
	}
	e.emitted = s.At
	return s, true
}

func (e *Estimator) remember(p point) {
	drop := 0
	for drop < len(e.history) && (p.at.Sub(e.history[drop].at) > e.keep || len(e.history)-drop >= keepAtMost) {
		drop++
	}
	e.history = append(e.history[drop:], p)
}

// compare corrects the bias by an exact figure.
func (e *Estimator) compare(s Sample) {
	fast, proper, ok := e.fastAt(s.At)
	_, known := e.bias.Value()
	switch {
	case !ok, !proper && known:
		return
	case !proper, e.guessed:
		e.bias.Reset()
	}
	e.guessed = !proper
	e.bias.Add(s.Load-fast, s.At)
	e.biasAt = s.At
}

// fastAt is what the fast source had at a time, over the span that an exact figure
// of that time is an average of. proper is false if its history begins too late:
// then it is the first figure.
func (e *Estimator) fastAt(at time.Time) (value float64, proper, ok bool) {
	n := len(e.history)
	if n == 0 {
		return 0, false, false
	}
	first, last := e.history[0].at, e.history[n-1].at
	from, to := at.Add(-e.average), at
	if e.average <= 0 {
		// Of one moment: as much on both sides as the estimate is smoothed over.
		around := max(0, min(e.smooth.Tau, last.Sub(at)))
		from, to = at.Add(-around), at.Add(around)
	}
	switch {
	case from.Before(first.Add(-e.fastPeriod)):
		return e.history[0].value, false, true
	case to.Sub(last) > lostPeriods*e.fastPeriod:
		return 0, false, false
	}
	value, ok = e.mean(from, to)
	return value, true, ok
}

// mean is the mean of the history over a span, a straight line between two figures.
// Before the first and after the last the line is level. False: a gap is in it.
func (e *Estimator) mean(from, to time.Time) (float64, bool) {
	n := len(e.history)
	i := e.before(from)
	sum, a := 0.0, from
	va, ok := e.value(i, from)
	if !ok || !to.After(from) {
		return va, ok
	}
	for i++; i <= n; i++ {
		b := to
		if i < n && e.history[i].at.Before(to) {
			b = e.history[i].at
		}
		vb, ok := e.value(i-1, b)
		if !ok {
			return 0, false
		}
		sum += (va + vb) / 2 * float64(b.Sub(a))
		if a, va = b, vb; b.Equal(to) {
			break
		}
	}
	return sum / float64(to.Sub(from)), true
}

// before is the index of the last figure at or before t; -1: there is none.
func (e *Estimator) before(t time.Time) int {
	lo, hi := 0, len(e.history)
	for lo < hi {
		mid := (lo + hi) / 2
		if e.history[mid].at.After(t) {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	return lo - 1
}

// value is the history at t, which lies between the figures i and i+1.
func (e *Estimator) value(i int, t time.Time) (float64, bool) {
	n := len(e.history)
	switch {
	case i < 0:
		return e.history[0].value, true
	case i+1 >= n:
		return e.history[n-1].value, true
	}
	a, b := e.history[i], e.history[i+1]
	span := b.at.Sub(a.at)
	if span > lostPeriods*e.fastPeriod {
		return 0, false
	}
	share := math.Min(1, float64(t.Sub(a.at))/float64(span))
	return a.value + share*(b.value-a.value), true
}
