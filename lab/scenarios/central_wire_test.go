package scenarios

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/catchment-bgp/catchment/lab/netlab"
)

// wireWatch writes down whenever an edge's route changes at a router, and in the end says
// what was not to happen.
type wireWatch struct {
	t    testing.TB
	f    *governed
	stop chan struct{}
	done chan struct{}

	mu      sync.Mutex
	history map[wireKey][]standing
	failed  error
	words   map[string][]word    // by edge
	tags    map[string][]string  // that an edge may have
	shown   map[string]time.Time // tags, by "edge tag": since when the routers must have them
}

// wireKey is one route at one router.
type wireKey struct {
	edge, router string
	prefix       netip.Prefix
}

// standing is how a route stood from some time on: it changed between before and seen.
type standing struct {
	before, seen time.Time
	absent       bool
	communities  []string
}

func (s standing) drained() bool { return !s.absent && slices.Contains(s.communities, gshut) }

// word is what lowers an edge's announcement for a while: a window, or leave for an
// operator. takes: it withdraws after the drain.
type word struct {
	what        string
	from, until time.Time
	takes       time.Time // no route is withdrawn before; zero: none is
}

const (
	// watchEvery is the time between two looks at the routers.
	watchEvery = 50 * time.Millisecond
	// lateEnd is how long after the end of a word a return may come: nodes return in turn,
	// 30 s apart, where several wait.
	lateEnd = 45 * time.Second
)

// watchWire begins to watch both routers.
func watchWire(f *governed) *wireWatch {
	w := &wireWatch{t: f.t, f: f, stop: make(chan struct{}), done: make(chan struct{}), history: map[wireKey][]standing{}, words: map[string][]word{},
		tags: map[string][]string{}, shown: map[string]time.Time{}}
	go w.run()
	f.t.Cleanup(w.end)
	return w
}

func (w *wireWatch) end() {
	select {
	case <-w.stop:
	default:
		close(w.stop)
	}
	<-w.done
}

func (w *wireWatch) run() {
	defer close(w.done)
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		for _, at := range w.f.routers(w.f.edges[0]) {
			for _, prefix := range []netip.Prefix{video4, video6} {
				if err := w.look(at, prefix); err != nil {
					w.mu.Lock()
					w.failed = err
					w.mu.Unlock()
					return
				}
			}
		}
		select {
		case <-tick.C:
		case <-w.stop:
			return
		}
	}
}

// look asks one router about all edges.
func (w *wireWatch) look(at peer, prefix netip.Prefix) error {
	before := time.Now()
	paths, err := at.router.Routes(prefix)
	if err != nil {
		return fmt.Errorf("%s at %s: %w", prefix, at.name, err)
	}
	seen := time.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range w.f.edges {
		now := standing{before: before, seen: seen, absent: true}
		for _, p := range paths {
			if p.From == e.toFRR.Edge4 || p.From == e.toBIRD.Edge4 {
				now.absent, now.communities = false, sorted(p.Communities)
			}
		}
		k := wireKey{e.name, at.name, prefix}
		was := w.history[k]
		if n := len(was); n == 0 || was[n-1].absent != now.absent || !slices.Equal(was[n-1].communities, now.communities) {
			w.history[k] = append(was, now)
		}
	}
	return nil
}

// allow lets a word take effect at an edge.
func (w *wireWatch) allow(e *fleetEdge, a word) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.words[e.name] = append(w.words[e.name], a)
}

// tag lets an edge have a tag.
func (w *wireWatch) tag(e *fleetEdge, tag string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tags[e.name] = append(w.tags[e.name], tag)
}

// acknowledged wants an edge to have a tag from soon on.
func (w *wireWatch) acknowledged(e *fleetEdge, tag string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.shown[e.name+" "+tag] = time.Now().Add(soon)
}

// check ends the watch and fails the test for all that was seen and not allowed.
func (w *wireWatch) check() {
	w.t.Helper()
	w.end()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.failed != nil {
		w.t.Fatal(w.failed)
	}
	now := time.Now()
	for k, history := range w.history {
		var breaches []string
		for i, s := range history {
			until := now
			if i+1 < len(history) {
				until = history[i+1].before
			}
			if wrong := w.wrong(k, history, i, until); wrong != "" {
				breaches = append(breaches, fmt.Sprintf("at %s: %s", s.seen.Format("05.000"), wrong))
			}
		}
		if breaches != nil {
			w.t.Errorf("%s of %s at %s: %s\n%s", k.prefix, k.edge, k.router, strings.Join(breaches, "; "), w.story(k))
		}
	}
}

// wrong is what is wrong with one standing, which lasted until until.
func (w *wireWatch) wrong(k wireKey, history []standing, i int, until time.Time) string {
	s := history[i]
	if s.absent || s.drained() {
		holds := slices.ContainsFunc(w.words[k.edge], func(a word) bool {
			return !s.seen.Before(a.from) && !until.After(a.until.Add(lateEnd)) && (!s.absent || !a.takes.IsZero() && !s.seen.Before(a.takes))
		})
		switch {
		case !holds:
			return fmt.Sprintf("absent %v, communities %v until %s without a word for it", s.absent, s.communities, until.Format("05.000"))
		case s.absent && (i == 0 || !history[i-1].drained()):
			return "withdrawn without a drain"
		}
	}
	if s.absent {
		return ""
	}
	for _, c := range s.communities {
		if c != gshut && !slices.Contains(w.tags[k.edge], c) {
			return "community " + c + ", which nobody asked for"
		}
	}
	for _, earlier := range history[:i] {
		for _, c := range earlier.communities {
			if c != gshut && !slices.Contains(s.communities, c) {
				return "tag " + c + " was lost"
			}
		}
	}
	for _, tag := range w.tags[k.edge] {
		if by, must := w.shown[k.edge+" "+tag]; must && until.After(by) && !slices.Contains(s.communities, tag) {
			return "tag " + tag + " was acknowledged and is not there"
		}
	}
	return ""
}

// story is all that was seen of a route, and what was allowed.
func (w *wireWatch) story(k wireKey) string {
	var b strings.Builder
	for _, s := range w.history[k] {
		fmt.Fprintf(&b, "  seen %s absent %v communities %v\n", s.seen.Format("05.000"), s.absent, s.communities)
	}
	for _, a := range w.words[k.edge] {
		fmt.Fprintf(&b, "  allowed %s to %s: %s\n", a.from.Format("05.000"), a.until.Format("05.000"), a.what)
	}
	return b.String()
}

// saw wants an edge to have stood so at both routers, with both prefixes, after some time.
func (w *wireWatch) saw(e *fleetEdge, what string, after time.Time, is func(standing) bool) {
	w.t.Helper()
	netlab.Eventually(w.t, lateEnd, e.name+" to have been "+what, func() error {
		w.mu.Lock()
		defer w.mu.Unlock()
		for _, at := range w.f.routers(e) {
			for _, prefix := range []netip.Prefix{video4, video6} {
				k := wireKey{e.name, at.name, prefix}
				if !slices.ContainsFunc(w.history[k], func(s standing) bool { return s.seen.After(after) && is(s) }) {
					return fmt.Errorf("not at %s:\n%s", at.name, w.story(k))
				}
			}
		}
		return nil
	})
}
