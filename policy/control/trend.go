package control

import (
	"math"
	"time"
)

// Trend follows a demand and where it is headed: level and slope, both smoothed,
// with a slope that is not trusted for long (a damped trend).
type Trend struct {
	Level float64
	// Slope and Recent are its rise per second over a longer and a short while.
	Slope, Recent float64
	// Rising is for how long it has been rising.
	Rising time.Duration
	// Known is false before the first demand, Moving while a move takes effect.
	Known, Moving bool
}

const (
	levelTime = 3 * time.Second
	slopeTime = 15 * time.Second
	shortTime = 3 * time.Second
	// trustPart is the part of the dead time for which a slope is expected to last
	// at least.
	trustPart = 4
	// noise is the rise ahead that is not believed to be one; steep, in 1/s, is a
	// slope that is.
	noise, steep = 0.03, 0.0005
)

// weight is the part of a new value that counts after dt.
func weight(dt, memory time.Duration) float64 {
	return 1 - math.Exp(-float64(dt)/float64(memory))
}

// next takes in the demand dt after the last. What a move of ours does to the
// load must not pass for a demand or its trend: meanwhile what was expected before
// it stands, and the slope fades.
func (t Trend) next(demand float64, dt, deadTime time.Duration, moving bool) Trend {
	switch {
	case !t.Known:
		return Trend{Level: demand, Known: true}
	case moving:
		fade := 1 - weight(dt, deadTime/trustPart)
		t.Level = t.after(dt, deadTime)
		t.Slope, t.Recent, t.Moving = t.Slope*fade, t.Recent*fade, true
		return t
	case t.Moving:
		t.Level, t.Moving = demand, false
		return t
	}
	was := t.Level
	t.Level += weight(dt, levelTime) * (demand - t.Level)
	if sec := dt.Seconds(); sec > 0 {
		rise := (t.Level - was) / sec
		t.Slope += weight(dt, slopeTime) * (rise - t.Slope)
		t.Recent += weight(dt, shortTime) * (rise - t.Recent)
	}
	if t.Rising += dt; t.Slope < steep {
		t.Rising = 0
	}
	return t
}

// after is the demand to be expected d later. A rise is expected to last as long
// again as it has lasted, within bounds.
func (t Trend) after(d, deadTime time.Duration) float64 {
	trust := min(max(t.Rising, deadTime/trustPart), deadTime)
	return max(0, t.Level+t.Slope*trust.Seconds()*weight(d, trust))
}

// ahead is the demand that a move of now should be made for, of which one is
// known: when it has taken effect and the next one may be made. Only a rise is
// expected that is still under way, and no more than once over.
func (t Trend) ahead(known float64, deadTime time.Duration) float64 {
	if t.Moving {
		return known
	}
	t.Slope = min(t.Slope, t.Recent)
	return max(known, clamp(t.after(deadTime, deadTime)-noise, t.Level, 2*t.Level))
}
