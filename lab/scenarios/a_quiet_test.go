package scenarios

import (
	"fmt"
	"testing"
	"time"
)

// The longest test stands in the first file, so that the others run beside it.

func TestU13QuietMinuteSendsNoUpdate(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	w := s.newWitness()
	c := s.config()
	c.Neighbors = append(c.Neighbors, w.neighbor())
	c.Services = []string{video("checks: [" + webCheck("watch: true") + "]")}
	s.start(c)
	s.awaitRoutes(soon, look{})
	w.await(soon, 2)
	before, counted, log := s.sessions(), s.counts(), s.edge.proc.Log()
	holds(t, time.Minute, "quiet", func() error { // U13
		return differ("counters", []string{fmt.Sprint(s.counts())}, []string{fmt.Sprint(counted)})
	})
	w.count(2)
	s.sameSessions(before)
	if now := s.edge.proc.Log(); now != log {
		t.Errorf("the daemon logs although nothing changes: %s", now[len(log):])
	}
}
