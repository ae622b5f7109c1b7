package healthcheck

import (
	"slices"
	"sync"
	"time"
)

// Pace has the checks of one process probe at the same moments where their jitter
// leaves them the choice: waking a processor up costs more than a probe does. The
// moments themselves stay random, so that the nodes of a fleet do not ask what
// they share all at once. No check waits for another one. The zero Pace is ready.
type Pace struct {
	mu      sync.Mutex
	moments []moment // to come
}

// moment is when some checks are going to probe.
type moment struct {
	at     time.Time
	checks int
}

// crowd bounds how many checks share a moment: a node with hundreds must not
// make its services slow by asking all of them at once.
const crowd = 16

// choose returns when to probe: the moment between earliest and latest that most
// checks have chosen and that has room, otherwise own.
func (p *Pace) choose(now, earliest, latest, own time.Time) time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.moments = slices.DeleteFunc(p.moments, func(m moment) bool { return m.at.Before(now) })
	best := -1
	for i, m := range p.moments {
		if m.checks < crowd && !m.at.Before(earliest) && !m.at.After(latest) && (best < 0 || m.checks > p.moments[best].checks) {
			best = i
		}
	}
	if best < 0 {
		p.moments = append(p.moments, moment{own, 1})
		return own
	}
	p.moments[best].checks++
	return p.moments[best].at
}
