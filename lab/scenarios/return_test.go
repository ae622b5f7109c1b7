package scenarios

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestU19HungServiceIsWithdrawnLikeADeadOne(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	c := s.config()
	c.Services = []string{video("checks: [" + webCheck("watch: true") + "]")}
	s.start(c)
	s.awaitRoutes(soon, look{})
	group := -s.nginx.Proc().PID()
	if err := unix.Kill(group, unix.SIGSTOP); err != nil { // the kernel goes on accepting its connections
		t.Fatal(err)
	}
	t.Logf("from SIGSTOP of nginx to the withdrawal: %v", s.gone(time.Now(), 4*time.Second)) // U19
	if err := unix.Kill(group, unix.SIGCONT); err != nil {
		t.Fatal(err)
	}
	s.awaitRoutes(soon, look{})
}

// died has the service die and come back, and tells how long after that both routers had its routes again.
func (s *site) died() time.Duration {
	s.t.Helper()
	s.nginx.Kill()
	s.awaitNone(soon)
	back := time.Now()
	if err := s.nginx.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.awaitRoutes(soon, look{})
	return time.Since(back)
}

func TestEachReturnWithinAnHourTakesLonger(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	c := s.config()
	c.Lines = []string{"return_after: [1s, 3s]"}
	s.start(c)
	s.awaitRoutes(soon, look{})
	for _, least := range []time.Duration{time.Second, 3 * time.Second, 3 * time.Second} {
		if took := s.died(); took < least || took > least+8*time.Second {
			t.Errorf("announced %v after the service came back, want %v", took, least)
		}
	}
}

func TestWaitForTheReturnSurvivesARestart(t *testing.T) {
	t.Parallel()
	const wait = 4 * time.Second
	s := newSite(t)
	c := s.config()
	c.Lines = []string{"return_after: [4s]"}
	s.start(c)
	s.awaitRoutes(soon, look{})
	s.nginx.Kill()
	s.awaitNone(soon)
	s.edge.proc.Kill()
	if err := s.nginx.Start(); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	s.edge.start()
	s.awaitRoutes(sessionWait, look{})
	if took := time.Since(began); took < wait {
		t.Errorf("announced %v after the start: a restart must not shorten the wait of %v", took, wait)
	}
}
