package load

import (
	"context"
	"math"
	"time"
)

// Counters are the octets that an interface has carried, at a time.
type Counters struct {
	// Index tells interfaces apart that come and go under one name.
	Index  int
	Rx, Tx uint64
	At     time.Time
}

// longestGap is the most time that one figure may be an average of: after a longer
// one, as when the machine slept, counting begins anew.
const longestGap = time.Minute

// Rates are bit/s in both directions between two readings. False: they cannot be
// told, since it is not the same interface, a counter went backwards (it was set
// back, or has wrapped), or the time did not go on, or too far.
func (c Counters) Rates(before Counters) (rx, tx float64, ok bool) {
	span := c.At.Sub(before.At)
	if c.Index != before.Index || c.Rx < before.Rx || c.Tx < before.Tx || span <= 0 || span > longestGap {
		return 0, 0, false
	}
	perSecond := 8 / span.Seconds()
	return float64(c.Rx-before.Rx) * perSecond, float64(c.Tx-before.Tx) * perSecond, true
}

func (d Direction) of(rx, tx float64) float64 {
	switch d {
	case Transmit:
		return tx
	case Receive:
		return rx
	default:
		return math.Max(rx, tx)
	}
}

// counterReader makes figures of an interface's counters.
type counterReader struct {
	devices   *devices
	name      string
	direction Direction
	last      Counters
	set       bool
}

func (r *counterReader) read(context.Context) (Sample, error) {
	d, err := r.devices.get(r.name)
	if err != nil {
		r.set = false
		return Sample{}, err
	}
	now := d.counters
	before, had := r.last, r.set
	r.last, r.set = now, true
	if !had {
		return Sample{}, errNothingNew
	}
	rx, tx, ok := now.Rates(before)
	if !ok {
		return Sample{}, errNothingNew
	}
	return Sample{Load: r.direction.of(rx, tx), At: now.At}, nil
}

func (r *counterReader) close() {}
