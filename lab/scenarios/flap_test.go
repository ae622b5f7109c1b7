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
	for range 3 {
		if err := s.nginx.Restart(); err != nil {
			t.Fatal(err)
		}
		holds(t, 1500*time.Millisecond, "the announcement over a restart of nginx", func() error {
			return s.present()
		})
	}
	s.untouched(counted)
	s.sameSessions(before)
}

// present wants both routers to have both prefixes of the service video.
func (s *site) present() error {
	for _, p := range s.peers() {
		for prefix, hop := range p.hops() {
			paths, err := p.router.Routes(prefix)
			if err != nil {
				return err
			}
			if len(paths) != 1 {
				return differ("paths at "+p.name, []int{len(paths)}, []int{1})
			}
			if err := (look{}).at(hop)(paths[0]); err != nil {
				return err
			}
		}
	}
	return nil
}

func TestFlappingCheckDoesNotFlapThePrefix(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	w := s.newWitness()
	listener, err := s.Edge.Listen("tcp", "127.0.0.1:9000")
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	server := &http.Server{Handler: http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		if up := time.Since(start)/(500*time.Millisecond)%2 == 0; !up { // at 1 Hz
			rw.WriteHeader(http.StatusServiceUnavailable)
		}
	})}
	done := make(chan error, 1)
	go func() { done <- server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close(); <-done })

	c := s.config()
	c.Neighbors = append(c.Neighbors, w.neighbor())
	c.Lines = []string{"return_after: [10s, 60s]"} // the default's first steps
	c.Services = []string{only4(`checks: [{name: web, http: {url: "http://127.0.0.1:9000/"}, interval: 50ms, fast_interval: 50ms, timeout: 40ms}]`)}
	s.start(c)
	w.await(soon, 1)
	flips := 0
	last := true
	holds(t, 15*time.Second, "at most one announcement and one withdrawal", func() error { // F8
		if up := time.Since(start)/(500*time.Millisecond)%2 == 0; up != last {
			flips, last = flips+1, up
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
