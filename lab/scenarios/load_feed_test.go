package scenarios

import (
	"fmt"
	"math"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// feed is a document of load figures over HTTP. A figure is as old as its last change: who asks twice in between reads
// the same.
type feed struct {
	mu   sync.Mutex
	load float64 // in shares of linkKbit
	at   time.Time
	asks int
}

const (
	feedAddress = "127.0.0.1:9000"
	// linkKbit is what a link with a feed carries at most.
	linkKbit = 1_000_000
)

// ServeHTTP answers with the figure.
func (f *feed) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asks++
	fmt.Fprintf(w, `{"timestamp": %q, "total_bandwidth": %.0f}`, f.at.Format(time.RFC3339Nano), f.load*linkKbit)
}

func (f *feed) set(load float64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.load, f.at = load, time.Now()
}

// asked is how often the feed was read.
func (f *feed) asked() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.asks
}

// siteLoad is a load control that moves within half a minute: as everywhere, more must be wanted for 20 s.
const siteLoad = "load: {mode: pi, target: 0.8, interval: 200ms, dwell_up: 3s, dwell_down: 5s, down_after: 3s, dead_time: 3s, " + oneStepEach + "}"

// oneStepEach is a flap budget in which a step up and the one back fit at once.
const oneStepEach = "flap: {profiles: [cisco], exploration: 1}"

// feedLink is an entry under links: whose figures a feed at an address has.
func feedLink(name, address string) string {
	return fmt.Sprintf("{name: %s, capacity: %dkbps, feed: {url: \"http://%s/\", period: 1s}}", name, linkKbit, address)
}

// every calls f at once, and again and again until the test ends.
func every(t testing.TB, d time.Duration, f func()) {
	t.Helper()
	done := make(chan struct{})
	var all sync.WaitGroup
	all.Go(func() {
		tick := time.NewTicker(d)
		defer tick.Stop()
		for f(); ; f() {
			select {
			case <-tick.C:
			case <-done:
				return
			}
		}
	})
	t.Cleanup(func() { close(done); all.Wait() })
}

// atomic64 is a number that a test changes while others read it.
type atomic64 struct{ bits atomic.Uint64 }

func (a *atomic64) get() float64  { return math.Float64frombits(a.bits.Load()) }
func (a *atomic64) set(v float64) { a.bits.Store(math.Float64bits(v)) }

// steps are what a router has seen of someone's prepends: each new value once.
type steps []int

func (s *steps) note(v int) {
	if n := len(*s); n == 0 || (*s)[n-1] != v {
		*s = append(*s, v)
	}
}
