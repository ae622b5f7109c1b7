package sim

import (
	"math"
	"time"
)

// Shape is a factor of a demand over time. Several multiply.
type Shape interface {
	// At is the factor at a time.
	At(t time.Duration) float64
	// Knots are the times at which it begins to do something else.
	Knots() []time.Duration
}

// Level is a corner of Points.
type Level struct {
	At    time.Duration
	Value float64
}

// Points is linear between its corners and constant outside of them.
type Points []Level

// At is the factor at a time.
func (p Points) At(t time.Duration) float64 {
	if len(p) == 0 {
		return 1
	}
	if t <= p[0].At {
		return p[0].Value
	}
	for i, b := range p[1:] {
		if a := p[i]; t < b.At {
			return a.Value + (b.Value-a.Value)*float64(t-a.At)/float64(b.At-a.At)
		}
	}
	return p[len(p)-1].Value
}

// Knots are the corners.
func (p Points) Knots() []time.Duration {
	var out []time.Duration
	for _, l := range p {
		out = append(out, l.At)
	}
	return out
}

// crowd is a flash crowd: the demand rises by a factor, holds and falls.
func crowd(at, rise time.Duration, factor float64, hold, fall time.Duration) Points {
	return Points{{at, 1}, {at + rise, factor}, {at + rise + hold, factor}, {at + rise + hold + fall, 1}}
}

// match is a game: it brings a share of the final demand as it begins; some leave
// at half-time.
func match(at, rise time.Duration, share float64, half, pause time.Duration, leave float64, fall time.Duration) Points {
	const slope = 2 * time.Minute // in which viewers leave at half-time, and come back
	low := 1 - leave
	again := at + half + pause
	return Points{
		{at, 1 - share}, {at + rise, 1},
		{at + half, 1}, {at + half + slope, low},
		{again - slope, low}, {again, 1},
		{again + half, 1}, {again + half + fall, 1 - share},
	}
}

// Diurnal is a day: a cosine from Low to 1 that is highest at Peak.
type Diurnal struct {
	Peak time.Duration
	Low  float64
}

const day = 24 * time.Hour

// At is the factor at a time.
func (d Diurnal) At(t time.Duration) float64 {
	phase := 2 * math.Pi * float64(t-d.Peak) / float64(day)
	return d.Low + (1-d.Low)*(1+math.Cos(phase))/2
}

// Knots are every two hours.
func (d Diurnal) Knots() []time.Duration {
	var out []time.Duration
	for h := time.Duration(0); h < 24; h += 2 {
		out = append(out, h*time.Hour)
	}
	return out
}
