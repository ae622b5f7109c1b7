package load

import (
	"errors"
	"math"
	"time"
)

// future is how far a source's clock may be ahead of ours.
const future = 5 * time.Second

// beyond is how many times its capacity no link carries.
const beyond = 10

// errNothingNew says that a source has no new figure, and that this is no failure:
// the first reading of counters, the same timestamp once more.
var errNothingNew = errors.New("nothing new")

// Gate keeps out figures of one source that cannot be true. Pure; the zero value
// has seen nothing.
type Gate struct{ last time.Time }

// Check lets s pass, and remembers its time, or returns why not, a *Refusal; then
// it remembers nothing. A figure with the time of the last one that passed gets
// another error: it is the same once more.
func (g *Gate) Check(s Sample, now time.Time) error {
	switch {
	case math.IsNaN(s.Load) || math.IsInf(s.Load, 0):
		return refuse(NotANumber, "%v bit/s", s.Load)
	case s.Load < 0:
		return refuse(Negative, "%.0f bit/s", s.Load)
	case s.At.Sub(now) > future:
		return refuse(Future, "true at %s, which is %v ahead: compare the clocks", s.At.Format(time.RFC3339), s.At.Sub(now).Round(time.Second))
	case s.Capacity > 0 && s.Load > beyond*s.Capacity:
		return refuse(OverCapacity, "%.0f bit/s on a link of %.0f: is the unit right?", s.Load, s.Capacity)
	case s.At.Before(g.last):
		return refuse(Older, "true at %s, and the one before at %s", s.At.Format(time.RFC3339), g.last.Format(time.RFC3339))
	case s.At.Equal(g.last):
		return errNothingNew
	}
	g.last = s.At
	return nil
}
