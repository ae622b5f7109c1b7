package sim

import (
	"math"
	"time"
)

// damper is a router that damps one prefix of one AS as RFC 2439 has it, with a
// maker's defaults. It is written apart from package policy/flap, which it is to
// test.
type damper struct {
	penalty    float64
	at         time.Duration // when the penalty was so high
	suppressed bool
	since      time.Duration // when it was suppressed
	best       int64         // what is heard of the AS; none: nothing
}

const none = -1

// makerDefaults are the figures of RFC 2439, section 4.2, as a maker ships them.
type makerDefaults struct {
	withdrawal, readvertisement, attribute float64
	suppress, reuse                        float64
	halfLife, maxSuppress                  time.Duration
}

var makerFigures = map[Maker]makerDefaults{
	Cisco:   {1000, 0, 500, 2000, 750, 15 * time.Minute, 60 * time.Minute},
	Juniper: {1000, 1000, 500, 3000, 750, 15 * time.Minute, 60 * time.Minute},
}

func (m *makerDefaults) decayed(d *damper, now time.Duration) float64 {
	return d.penalty * math.Exp2(-float64(now-d.at)/float64(m.halfLife))
}

// hear takes in what is heard of the AS now: another path, none, or one again.
// Each change comes as several updates (path exploration).
func (m *makerDefaults) hear(d *damper, now time.Duration, best int64, exploration float64) {
	if best == d.best {
		return
	}
	charge := m.attribute
	switch {
	case best == none:
		charge = m.withdrawal
	case d.best == none:
		charge = m.readvertisement
	}
	d.best = best
	ceiling := m.reuse * math.Exp2(float64(m.maxSuppress)/float64(m.halfLife))
	d.penalty, d.at = min(m.decayed(d, now)+charge*exploration, ceiling), now
	if !d.suppressed && d.penalty > m.suppress {
		d.suppressed, d.since = true, now
	}
}

// reused says whether a suppressed prefix may be used again.
func (m *makerDefaults) reused(d *damper, now time.Duration) bool {
	return m.decayed(d, now) < m.reuse || now-d.since >= m.maxSuppress
}
