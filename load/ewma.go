package load

import (
	"math"
	"time"
)

// EWMA is an exponentially weighted moving average over figures at irregular
// intervals: what is one time constant old weighs 1/e. Pure; the zero value has
// no figure and no memory.
type EWMA struct {
	// Tau is the time constant; 0 or less: the average is the last figure.
	Tau   time.Duration
	value float64
	at    time.Time
	set   bool
}

// Add takes a figure in and returns the average. The first figure is the average;
// one that is not newer than the last changes nothing.
func (e *EWMA) Add(value float64, at time.Time) float64 {
	switch {
	case !e.set || e.Tau <= 0 && at.After(e.at):
		e.value, e.at, e.set = value, at, true
	case at.After(e.at):
		weight := -math.Expm1(-float64(at.Sub(e.at)) / float64(e.Tau))
		e.value += weight * (value - e.value)
		e.at = at
	}
	return e.value
}

// Value is the average, and whether there is one.
func (e *EWMA) Value() (float64, bool) { return e.value, e.set }

// Reset forgets all figures.
func (e *EWMA) Reset() { *e = EWMA{Tau: e.Tau} }
