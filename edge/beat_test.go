package edge

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/catchment-bgp/catchment/announcer"
)

// supervisorFake notes when it was told what.
type supervisorFake struct {
	mu       sync.Mutex
	beats    []time.Time
	statuses []string
	stopping []string
}

func (s *supervisorFake) Beat(status string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.beats, s.statuses = append(s.beats, time.Now()), append(s.statuses, status)
}

func (s *supervisorFake) Stopping(status string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopping = append(s.stopping, status)
}

// count is how many beats there were, and the last status.
func (s *supervisorFake) count() (int, string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.beats) == 0 {
		return 0, ""
	}
	return len(s.beats), s.statuses[len(s.statuses)-1]
}

// stuckAnnouncer is an announcer whose Set hangs when it is told to.
type stuckAnnouncer struct {
	*announcerFake
	mu   sync.Mutex
	hang chan struct{} // nil: it does not; closed: it does no longer
}

func (a *stuckAnnouncer) Set(neighbor string, routes []announcer.Route) error {
	a.mu.Lock()
	hang := a.hang
	a.mu.Unlock()
	if hang != nil {
		<-hang
	}
	return a.announcerFake.Set(neighbor, routes)
}

// supervised runs a test with a node that has a supervisor.
func supervised(t *testing.T, every time.Duration, f func(t *testing.T, w *world, s *supervisorFake, a *stuckAnnouncer)) {
	t.Helper()
	bubble(t, func(t *testing.T, w *world) {
		s, a := &supervisorFake{}, &stuckAnnouncer{announcerFake: w.announcerFake}
		o := w.options()
		o.Supervisor, o.BeatEvery, o.Announcer = s, every, a
		node, err := New(w.config(), nil, o)
		if err != nil {
			t.Fatal(err)
		}
		if n, _ := s.count(); n != 0 {
			t.Errorf("%d beats before the loop runs", n)
		}
		w.adopt(node)
		w.well()
		f(t, w, s, a)
	})
}

func TestAnIdleLoopBeatsInTime(t *testing.T) {
	for every, want := range map[time.Duration]time.Duration{0: beatEvery, 3 * time.Second: 3 * time.Second, 100 * time.Millisecond: 100 * time.Millisecond} {
		supervised(t, every, func(t *testing.T, w *world, s *supervisorFake, _ *stuckAnnouncer) {
			w.pass(time.Minute)
			for i, at := range s.beats[1:] {
				if gap := at.Sub(s.beats[i]); gap > want {
					t.Errorf("BeatEvery %v: %v between two beats", every, gap)
				}
			}
			if least := int(time.Minute / want); len(s.beats) < least {
				t.Errorf("BeatEvery %v: %d beats in a minute", every, len(s.beats))
			}
		})
	}
}

func TestABusyLoopDoesNotBeatAtEveryStep(t *testing.T) {
	supervised(t, 0, func(t *testing.T, w *world, s *supervisorFake, _ *stuckAnnouncer) {
		n, _ := s.count()
		for i := range 1000 {
			w.report("origin", fmt.Sprint("failure ", i)) // each is news
			w.pass(10 * time.Millisecond)
		}
		if m, _ := s.count(); m-n < 9 || m-n > 11 {
			t.Errorf("%d beats in 10 s of 1000 steps", m-n)
		}
	})
}

// A goroutine that fed the watchdog beside the loop would go on.
func TestALoopThatIsStuckStopsBeating(t *testing.T) {
	supervised(t, 0, func(t *testing.T, w *world, s *supervisorFake, a *stuckAnnouncer) {
		w.pass(15 * time.Second)
		a.mu.Lock()
		a.hang = make(chan struct{})
		a.mu.Unlock()
		w.report("web", "connection refused") // the withdrawal hangs
		w.pass(0)
		n, _ := s.count()
		w.pass(10 * time.Minute)
		if m, _ := s.count(); n == 0 || m != n {
			t.Errorf("%d beats before, %d while the loop is stuck", n, m-n)
		}
		a.mu.Lock()
		close(a.hang)
		a.hang = nil
		a.mu.Unlock()
		w.pass(time.Second)
		if m, _ := s.count(); m == n {
			t.Error("no beat after the loop was freed")
		}
	})
}

func TestTheStatusSaysWhatIsTheMatter(t *testing.T) {
	supervised(t, 0, func(t *testing.T, w *world, s *supervisorFake, _ *stuckAnnouncer) {
		expect := func(want string) {
			t.Helper()
			w.pass(beatPause)
			if _, got := s.count(); got != want {
				t.Errorf("status %q, want %q", got, want)
			}
		}
		expect("2 of 2 services announced, 2 of 2 sessions up")
		w.report("resolver", "connection refused")
		expect("1 of 2 services announced, 2 of 2 sessions up; dns withdrawn (hard_failure): resolver: connection refused")
		w.report("origin", "i/o timeout")
		expect("0 of 2 services announced, 2 of 2 sessions up; video steered (soft_failure): origin: i/o timeout")
	})
}

func TestLeavingIsToldOnce(t *testing.T) {
	supervised(t, 0, func(t *testing.T, w *world, s *supervisorFake, _ *stuckAnnouncer) {
		w.pass(time.Minute)
		n, _ := s.count()
		w.leave()
		<-w.node.Gone()
		if got := fmt.Sprint(s.stopping); got != "[leaving: withdrawing all routes]" {
			t.Errorf("told %s", got)
		}
		if m, _ := s.count(); m != n {
			t.Error("the loop beat after its end")
		}
	})
}
