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
	// Known is false before the first demand, Moving while a move takes effect.
	Known, Moving bool
}

const (
	levelTime = 3 * time.Second
	slopeTime = 15 * time.Second
	shortTime = 3 * time.Second
	// A slope is expected to last for a part of the dead time, and so far ahead is
	// looked: until a move of now shows and the next may be made.
	trustPart, leadPart = 4, 2
	// noise is the rise in the lead that is not believed to be one.
	noise = 0.03
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
	return t
}

// after is the demand to be expected d later.
func (t Trend) after(d, deadTime time.Duration) float64 {
	trust := deadTime / trustPart
	return max(0, t.Level+t.Slope*trust.Seconds()*weight(d, trust))
}

// ahead is the demand that a move of now should be made for, of which one is known.
// Only a rise is expected that is still under way, and no more than once over.
func (t Trend) ahead(known float64, deadTime time.Duration) float64 {
	if t.Moving {
		return known
	}
	t.Slope = min(t.Slope, t.Recent)
	return max(known, clamp(t.after(deadTime/leadPart, deadTime)-noise, t.Level, 2*t.Level))
}
