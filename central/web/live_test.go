package web

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
)

// fakeSource is a fleet that changes as the test says.
type fakeSource struct {
	mu    sync.Mutex
	asked int
	news  chan struct{}
}

func newSource() *fakeSource { return &fakeSource{news: make(chan struct{})} }

func (s *fakeSource) Status() *centralv1.FleetStatus {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked++
	return &centralv1.FleetStatus{Summary: fmt.Sprint("status ", s.asked)}
}

func (s *fakeSource) News() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.news
}

func (s *fakeSource) change() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.news)
	s.news = make(chan struct{})
}

// running is a live that runs until the test's bubble ends.
func running(t *testing.T) (*live, *fakeSource) {
	source := newSource()
	l := newLive(source, func(f *centralv1.FleetStatus) ([]byte, error) { return []byte(f.GetSummary()), nil })
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(func() {
		cancel()
		<-l.gone
	})
	go l.run(ctx)
	return l, source
}

// version is which version there is now.
func (l *live) versionNow() uint64 {
	v, _ := l.at()
	return v
}

func TestNothingIsDrawnWhileNobodyLooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, source := running(t)
		for range 100 {
			source.change()
			time.Sleep(time.Second)
		}
		if source.asked != 0 || l.versionNow() != 1 {
			t.Errorf("the fleet was asked %d times, and there are %d versions", source.asked, l.versionNow())
		}
	})
}

func TestViewersAreToldWithinASecondAndNoMoreOften(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, source := running(t)
		if !l.join("anna") {
			t.Fatal("the first viewer is one too many")
		}
		defer l.leave("anna")
		time.Sleep(liveLeast + time.Millisecond) // the first version without news
		before := l.versionNow()
		_, changed := l.at()
		at := time.Now()
		time.Sleep(5 * time.Second)
		source.change()
		told := time.Now()
		<-changed
		if since := time.Since(told); since > liveEvery {
			t.Errorf("told after %v", since)
		}
		for range 40 { // ten seconds of changes
			source.change()
			time.Sleep(liveEvery / 4)
		}
		if n := l.versionNow() - before; n < 5 || n > 1+uint64(time.Since(at)/liveEvery) {
			t.Errorf("%d versions in %v", n, time.Since(at))
		}
	})
}

func TestAFleetIsDrawnOnceForAllViewersOfAVersion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, source := running(t)
		for range 3 {
			l.join("anna")
			defer l.leave("anna")
		}
		var work sync.WaitGroup
		var texts [3]string
		for i := range texts {
			work.Go(func() {
				text, err := l.fleet()
				if err != nil {
					t.Error(err)
				}
				texts[i] = string(text)
			})
		}
		work.Wait()
		if source.asked != 1 || texts[0] != "status 1" || texts[1] != texts[0] || texts[2] != texts[0] {
			t.Errorf("asked %d times: %q", source.asked, texts)
		}
		time.Sleep(liveLeast + time.Second)
		if text, _ := l.fleet(); string(text) != "status 2" {
			t.Errorf("the next version is drawn as %q", text)
		}
	})
}

func TestWithoutViewersEachRequestSeesTheFleetOfNow(t *testing.T) {
	l := newLive(newSource(), func(f *centralv1.FleetStatus) ([]byte, error) { return []byte(f.GetSummary()), nil })
	for i := 1; i <= 3; i++ {
		if text, err := l.fleet(); err != nil || string(text) != fmt.Sprint("status ", i) {
			t.Errorf("request %d got %q, %v", i, text, err)
		}
	}
}

func TestStreamsOfEventsAreBounded(t *testing.T) {
	l := newLive(newSource(), nil)
	for i := range liveMost {
		if !l.join(fmt.Sprint("viewer ", i%4)) {
			t.Fatal("refused too early")
		}
	}
	if l.join("another") {
		t.Error("one more was let in")
	}
	l.leave("viewer 1")
	if l.join("viewer 2") {
		t.Error("one viewer has more than a viewer may have")
	}
	if !l.join("viewer 1") {
		t.Error("a place that was left is not given again")
	}
	for i := range liveMost {
		l.leave(fmt.Sprint("viewer ", i%4))
	}
	if len(l.each) != 0 || l.viewers != 0 {
		t.Errorf("all have left, and %v are counted", l.each)
	}
}

func TestTimesAreSaidInWords(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for _, tc := range []struct {
		ago  time.Duration
		want string
	}{{0, "0 s ago"}, {-time.Hour, "0 s ago"}, {59 * time.Second, "59 s ago"}, {5 * time.Minute, "5 min ago"}, {3 * time.Hour, "3 h ago"}, {96 * time.Hour, "4 days ago"}} {
		if got := ago(now.Add(-tc.ago), now); got != tc.want {
			t.Errorf("%v ago is %q, not %q", tc.ago, got, tc.want)
		}
	}
	if got := string(clock(time.Time{})); got != "never" || !strings.Contains(string(clock(now)), "2026-03-01T12:00:00Z") {
		t.Errorf("no time is %q", got)
	}
}
