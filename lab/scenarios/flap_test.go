package scenarios

import (
	"net/http"
	"testing"
	"time"
)

func TestRestartOfTheServiceIsNoFailure(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	c := s.config()
	c.Services = []string{video("checks: [" + webCheck("watch: true") + "]")}
	s.start(c)
	s.awaitRoutes(soon, look{})
	before, counted := s.sessions(), s.counts()
	for _, away := range []time.Duration{0, 300 * time.Millisecond, 600 * time.Millisecond} {
		if err := s.nginx.Stop(); err != nil {
			t.Fatal(err)
		}
		holds(t, away, "the announcement while nginx is away", s.present)
		if err := s.nginx.Start(); err != nil {
			t.Fatal(err)
		}
		holds(t, 1500*time.Millisecond, "the announcement after a restart of nginx", s.present)
	}
	s.untouched(counted)
	s.sameSessions(before)
}

func TestF08FlappingCheckDoesNotFlapThePrefix(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	w := s.newWitness()
	start := time.Now()
	up := func() bool { return time.Since(start)/(500*time.Millisecond)%2 == 0 } // flips at 1 Hz
	serve(t, s.Edge, "127.0.0.1:9000", func(rw http.ResponseWriter, _ *http.Request) {
		if !up() {
			rw.WriteHeader(http.StatusServiceUnavailable)
		}
	})

	c := s.config()
	c.Neighbors = append(c.Neighbors, w.neighbor())
	c.Lines = []string{"return_after: [10s, 60s]"} // the default's first steps
	c.Services = []string{only4(`checks: [{name: web, http: {url: "http://127.0.0.1:9000/"}, interval: 50ms, fast_interval: 50ms, timeout: 40ms}]`)}
	s.start(c)
	w.await(soon, 1)
	flips, last := 0, up()
	holds(t, 15*time.Second, "at most one announcement and one withdrawal", func() error { // F8
		if now := up(); now != last {
			flips, last = flips+1, now
		}
		if events, _ := w.seen(); len(events) > 2 {
			return differ("messages", []int{len(events)}, []int{2})
		}
		return nil
	})
	if events := w.await(soon, 2); events[0].update == nil || len(events[0].update.Announced) != 1 || events[1].update == nil || len(events[1].update.Withdrawn) != 1 {
		t.Errorf("want an announcement and a withdrawal:%s", list(events))
	}
	w.count(2)
	if flips < 20 {
		t.Errorf("the service flipped %d times only", flips)
	}
}
