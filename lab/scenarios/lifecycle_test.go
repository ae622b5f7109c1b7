package scenarios

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestServiceIsAnnouncedToEachRouterAsConfigured(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.start(configuration{
		Services:  []string{video(`communities: ["57629:101", "57629:1:101", "rt:57629:101"]`)},
		Neighbors: []string{s.neighborFRR("med: 50"), s.neighborBIRD("prepend: 2", `communities: ["ro:57629:7"]`)},
	})
	atFRR := look{
		communities: []string{"57629:101"}, largeCommunities: []string{"57629:1:101"}, extCommunities: []string{"rt:57629:101"},
		med: new(uint32(50)),
	}
	atBIRD := atFRR
	atBIRD.med, atBIRD.prepend, atBIRD.extCommunities = nil, 2, []string{"rt:57629:101", "ro:57629:7"}
	s.awaitRoutesAt(s.peers()[0], soon, atFRR)
	s.awaitRoutesAt(s.peers()[1], soon, atBIRD)
}

func TestU11U12DeadServiceIsWithdrawnEverywhereAndComesBack(t *testing.T) {
	const margin = time.Second // for a machine with four labs on two processors
	for name, c := range map[string]struct {
		check         []string
		earliest, end time.Duration
	}{
		"Polled":              {nil, 0, 2 * time.Second}, // U11: fall x interval, both defaults
		"Watched":             {[]string{"watch: true"}, time.Second, time.Second},
		"WatchedWithoutGrace": {[]string{"watch: true", "restart_grace: 0s"}, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			config := s.config()
			config.Services = []string{video("checks: [" + webCheck(c.check...) + "]")}
			s.start(config)
			s.awaitRoutes(soon, look{})
			before := s.sessions()

			killed := kill(t, s.nginx.Proc())
			took := s.gone(killed, c.end+margin) // U12: two neighbours, two families
			t.Logf("from SIGKILL of nginx to the withdrawal: %v", took)
			if first := slices.Min(slices.Collect(maps.Values(took))); first < c.earliest {
				t.Errorf("withdrawn after %v, within the restart grace of %v", first, c.earliest)
			}

			s.nginx.Kill() // waits until it is gone
			back := time.Now()
			if err := s.nginx.Start(); err != nil {
				t.Fatal(err)
			}
			s.awaitRoutes(soon, look{})
			if healthy := time.Since(back); healthy < time.Second {
				t.Errorf("announced %v after the return, before return_after of 1s", healthy)
			}
			s.sameSessions(before)
		})
	}
}

func TestU09U10DrainAsksFirstAndWithdrawsWithSessionsUp(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	c := s.config()
	c.Services = []string{video("drain: 4s", `communities: ["57629:101"]`)}
	s.start(c)
	normal, asked := look{communities: []string{"57629:101"}}, look{communities: []string{"57629:101", "65535:0"}}
	s.awaitRoutes(soon, normal)
	before := s.sessions()

	began := time.Now()
	s.edge.must("drain", "video", "--reason", "new kernel")
	s.awaitRoutes(3*time.Second, asked) // U10: at every neighbour
	s.awaitNone(soon)
	if took := time.Since(began); took < 4*time.Second || took > 10*time.Second {
		t.Errorf("withdrawn %v after the drain began, want 4s", took)
	}
	s.sameSessions(before) // U9
	if !strings.Contains(s.vips(), vip4) || !strings.Contains(s.vips(), vip6) {
		t.Errorf("a drain took the VIPs away: %s", s.vips())
	}

	s.edge.must("auto", "video", "--reason", "new kernel runs")
	s.awaitRoutes(soon, normal)
	s.sameSessions(before)
}

func TestDrainSurvivesARestart(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.start(s.config())
	s.awaitRoutes(soon, look{})
	s.edge.must("drain", "video", "--reason", "new kernel", "--for", "1h")
	s.awaitNone(soon)
	s.edge.proc.Kill()
	s.edge.start()
	for _, p := range s.peers() {
		awaitSession(t, p.router, p.wire.Edge4)
	}
	holds(t, 3*time.Second, "the drain after the restart", s.none) // three times what the first announcement takes
	s.edge.must("auto", "video", "--reason", "new kernel runs")
	s.awaitRoutes(soon, look{})
}

func TestU06U07U08LeavingWithdrawsThenHoldsThenEndsTheSessions(t *testing.T) {
	t.Parallel()
	const hold = 2 * time.Second
	s := newSite(t)
	w := s.newWitness()
	c := s.config()
	c.Neighbors = append(c.Neighbors, w.neighbor())
	c.Lines = []string{"leave_hold: 2s"}
	s.start(c)
	s.awaitRoutes(soon, look{})
	w.await(soon, 2)
	before := s.sessions()

	left := time.Now()
	s.edge.signal(unix.SIGTERM)
	t.Logf("from SIGTERM to the withdrawal: %v", s.gone(left, hold)) // U8
	s.sameSessions(before)                                           // the withdrawal, not the end of the session, took the routes
	if v := s.vips(); !strings.Contains(v, vip4) || !strings.Contains(v, vip6) {
		t.Errorf("a VIP went before the hold was over: %q", v) // U6
	}
	events := w.await(soon, 5) // two routes, two withdrawals, the end
	if v := s.vips(); v != "" {
		t.Errorf("the session ended before the VIPs went: %q", v)
	}
	code, err := s.edge.proc.Wait(10 * time.Second)
	if took := time.Since(left); err != nil || code != 0 || took > 10*time.Second {
		t.Errorf("exit code %d after %v, %v", code, took, err)
	} else {
		t.Logf("from SIGTERM to the end of the process: %v", took)
	}
	if v := s.vips(); v != "" {
		t.Errorf("VIPs stay after the end: %q", v) // U7
	}

	withdrawn := events[2:4]
	for _, e := range withdrawn {
		if e.update == nil || len(e.update.Withdrawn) != 1 || len(e.update.Announced) > 0 {
			t.Errorf("in place of a withdrawal: %s", e)
		}
	}
	const text = "catchment: node msk1 leaves"
	end := events[4].notification
	if end == nil || end.Code != 6 || end.Subcode != 2 || string(end.Data[1:]) != text || int(end.Data[0]) != len(text) {
		t.Fatalf("the end: %s", events[4])
	}
	if held := events[4].at.Sub(withdrawn[1].at); held < hold || held > hold+5*time.Second {
		t.Errorf("%v between the last withdrawal and the end of the session, want %v", held, hold)
	}
	w.count(5)
	for _, p := range s.peers() {
		end, err := p.router.Session(p.wire.Edge4)
		if err != nil || !strings.Contains(end.LastError, text) || !strings.Contains(strings.ToLower(end.LastError), "administrative shutdown") {
			t.Errorf("%s says of the end: %q, %v", p.name, end.LastError, err)
		}
	}
}
