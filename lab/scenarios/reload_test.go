package scenarios

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/catchment-bgp/catchment/lab/netlab"
)

func TestU06ReloadWithdrawsAServiceBeforeItsVIPGoes(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	w := s.newWitness()
	with := s.config()
	with.Neighbors = append(with.Neighbors, w.neighbor())
	with.Lines = []string{"leave_hold: 2s"}
	without := with
	with.Services = append(with.Services[:1:1], dnsService())
	s.start(with)
	s.awaitRoutes(soon, look{})
	w.await(soon, 3)
	before := s.sessions()

	s.edge.reload(without.String())
	for _, p := range s.peers() {
		awaitGone(t, time.Second, p.router, dns4)
	}
	if err := s.hasVIP("203.0.113.53", true); err != nil {
		t.Errorf("the VIP went before its hold was over: %v", err) // U6
	}
	last := w.await(soon, 4)[3]
	if last.update == nil || len(last.update.Withdrawn) != 1 || last.update.Withdrawn[0] != dns4 {
		t.Errorf("in place of a withdrawal: %s", last)
	}
	netlab.Eventually(t, soon, "the VIP's removal", func() error { return s.hasVIP("203.0.113.53", false) })
	if held := time.Since(last.at); held < 2*time.Second || held > 8*time.Second {
		t.Errorf("the VIP went %v after the withdrawal, want 2s", held)
	}
	w.count(4)
	s.awaitRoutes(time.Second, look{})
	s.sameSessions(before) // U14
}

func TestU14NeighborsComeAndGoWithoutTheOthers(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	w := s.newWitness()
	s.start(s.config())
	s.awaitRoutes(soon, look{})
	before, counted := s.sessions(), s.counts()

	more := s.config()
	more.Neighbors = append(more.Neighbors, w.neighbor("prepend: 1"))
	s.edge.reload(more.String())
	for _, e := range w.await(sessionWait, 2) {
		if e.update == nil || len(e.update.Announced) != 1 || len(e.update.ASPath()) != 2 {
			t.Errorf("in place of an announcement: %s", e)
		}
	}
	s.untouched(counted)
	s.sameSessions(before)

	s.edge.reload(s.config().String())
	end := w.await(soon, 3)[2].notification
	if end == nil || end.Code != 6 || end.Subcode != 3 { // Peer De-configured: RFC 4486
		t.Errorf("the end of the session: %+v", end)
	}
	s.untouched(counted)
	s.sameSessions(before)

	one := s.config()
	one.Neighbors = one.Neighbors[1:]
	s.edge.reload(one.String())
	awaitGone(t, soon, s.frr, video4)
	awaitGone(t, soon, s.frr, video6)
	s.awaitRoutesAt(s.peers()[1], time.Second, look{})
	if now := countsAt(t, s.peers()[1]); now != counted["bird"] {
		t.Errorf("bird got UPDATEs: %s, then %s", counted["bird"], now)
	}
	sameSession(t, s.bird, s.ToBIRD.Edge4, before["bird"])
	if n := s.edge.status().Services[0].Neighbors; len(n) != 1 || n[0].Name != "bird" {
		t.Errorf("the status has %+v", n)
	}

	s.edge.reload(s.config().String())
	s.awaitRoutes(sessionWait, look{})
}

func TestChangedSessionStartsAnewAlone(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.start(s.config())
	s.awaitRoutes(soon, look{})
	before := s.sessions()
	c := s.config()
	c.Neighbors[0] = s.neighborFRR("hold_time: 30s")
	s.edge.reload(c.String())
	netlab.Eventually(t, sessionWait, "a new session with FRR", func() error {
		now, err := s.frr.Session(s.ToFRR.Edge4)
		if err != nil || now.State != netlab.Established || now.Instance == before["frr"].Instance {
			return fmt.Errorf("%+v, %v", now, err)
		}
		return nil
	})
	s.awaitRoutes(soon, look{})
	sameSession(t, s.bird, s.ToBIRD.Edge4, before["bird"])
}

func TestNewCheckOnlyObservesUntilItHasPassed(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.start(s.config())
	s.awaitRoutes(soon, look{})
	before, counted := s.sessions(), s.counts()
	c := s.config()
	c.Services = []string{video("checks: [" + webCheck() + ", {name: typo, http: {url: 'http://127.0.0.1:9000/'}, interval: 500ms, timeout: 400ms}]")}
	s.edge.reload(c.String())
	netlab.Eventually(t, soon, "a failure of the new check", func() error {
		if text := s.edge.must("status", "-o", "json"); !strings.Contains(text, "connection refused") {
			return fmt.Errorf("%s", text)
		}
		return nil
	})
	holds(t, time.Second, "the announcement", s.present)
	shared := startOrigin(t, s.Edge, "127.0.0.1:9000")
	netlab.Eventually(t, soon, "a pass of the new check", func() error {
		if text := s.edge.must("status", "-o", "json"); strings.Contains(text, "connection refused") || strings.Contains(text, `"observing": true`) {
			return fmt.Errorf("%s", text)
		}
		return nil
	})
	s.untouched(counted)
	shared.broken.Store(true)
	s.awaitNone(soon) // from now on it counts
	s.sameSessions(before)
}

func TestRenamedServiceAndChangedCheckCostNoUpdate(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.start(s.config())
	s.awaitRoutes(soon, look{})
	before, counted := s.sessions(), s.counts()
	for _, service := range []string{
		video("checks: [" + webCheck("interval: 500ms", "rise: 3") + "]"), // other times
		video("name: film", "checks: ["+webCheck("interval: 500ms", "rise: 3")+"]"),
		video("name: film", "checks: ["+webCheck("watch: true")+"]"),
		video("name: video"),
	} {
		c := s.config()
		c.Services = []string{service}
		if plan := s.edge.must("plan", "--config", hostFile(t, "new.yaml", c.String())); !strings.HasPrefix(plan, "no neighbour would see a change\n") {
			t.Errorf("the plan: %s", plan)
		}
		s.edge.reload(c.String())
		holds(t, 500*time.Millisecond, "the announcement", s.present)
	}
	s.untouched(counted)
	s.nginx.Kill() // the check that came last does count
	s.awaitNone(soon)
	s.sameSessions(before)
}
