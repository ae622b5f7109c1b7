package central

import (
	"context"
	"fmt"
	"time"
)

// Supervisor is who restarts this process when it is stuck.
type Supervisor interface {
	// Beat says that the centre works, and how it stands in a line of words. It must
	// return at once.
	Beat(status string)
	// Stopping says that the centre is about to end.
	Stopping(status string)
}

// beatsEvery is how often a supervisor is told, unless it says.
const beatsEvery = 10 * time.Second

// beat tells a supervisor until ctx ends. What it tells it reads under the lock that
// every call and every stream needs: with that stuck nothing is told. A store that is
// out of reach is no reason for a restart.
func (f *Fleet) beat(ctx context.Context, s Supervisor, every time.Duration) {
	if s == nil {
		return
	}
	if every <= 0 {
		every = beatsEvery
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		s.Beat(f.words(time.Now()))
		select {
		case <-tick.C:
		case <-ctx.Done():
			s.Stopping("leaving: edges go on by what they were told last")
			return
		}
	}
}

// words say how the centre stands.
func (f *Fleet) words(now time.Time) string {
	role := "one of the replicas"
	if f.leads(now) {
		role = "the one that steers"
	}
	if f.cutOff(now) {
		role = "the store is out of reach"
	}
	f.mu.RLock()
	defer f.mu.RUnlock()
	return fmt.Sprintf("%d of %d nodes connected here; %s", len(f.sessions), len(f.w.nodes), role)
}
