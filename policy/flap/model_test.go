package flap

import (
	"math"
	"time"
)

// router is RFC 2439 as slow and plain as can be, with nothing of the package's:
// it keeps every event that it ever saw and adds them up anew at each question.
type router struct {
	name                                             string
	withdrawal, readvertisement, change              float64
	suppress, reuse, halfLifeMinutes, maxSuppressMin float64
	seen                                             []seen
}

type seen struct {
	at     time.Time
	points float64
}

// routers are one of each make; what they charge is written down here once more.
func routers() []*router {
	return []*router{
		{"cisco", 1000, 0, 500, 2000, 750, 15, 60, nil},
		{"juniper", 1000, 1000, 500, 3000, 750, 15, 60, nil},
	}
}

// sees is an event, which arrives as often as there are paths to explore.
func (r *router) sees(at time.Time, e Event, paths int) {
	points := map[Event]float64{Withdrawal: r.withdrawal, Readvertisement: r.readvertisement, AttributeChange: r.change}[e]
	for range paths {
		r.seen = append(r.seen, seen{at, points})
	}
}

// penalty at a time after all that was seen; events are in order of time.
func (r *router) penalty(now time.Time) float64 {
	ceiling := r.reuse * math.Pow(2, r.maxSuppressMin/r.halfLifeMinutes)
	var sum float64
	last := now
	for i, s := range r.seen {
		if i > 0 {
			sum /= math.Pow(2, s.at.Sub(last).Minutes()/r.halfLifeMinutes)
		}
		sum = math.Min(sum+s.points, ceiling)
		last = s.at
	}
	return sum / math.Pow(2, now.Sub(last).Minutes()/r.halfLifeMinutes)
}
