package scenarios

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/catchment-bgp/catchment/lab/netlab"
)

// TestSiblingsOnOneLinkMoveAlike gives four edges one link with one feed, which they read at different moments.
// tolerance is for how long siblings may differ: each reads the feed at a moment of
// its own, dwells up to a fifth longer by the second in which it moved, and the
// machine may be busy. In turns they would be minutes apart.
const tolerance = 10 * time.Second

func TestSiblingsOnOneLinkMoveAlike(t *testing.T) {
	t.Parallel()
	f := newFour(t, nil)
	var demand atomic64
	demand.set(0.5)
	var link feed
	rung := func() int {
		rungs, err := f.prepends(video4)
		if err != nil {
			return 0
		}
		return slices.Min(rungs) // while one sibling has the shorter path nothing leaves the link
	}
	// Traffic follows a route some seconds after it has changed: the first sibling's step
	// shows in the figures when all have made it.
	var past [3]int
	every(t, time.Second, func() {
		shed := map[int]float64{3: 0.7}[past[0]]
		link.set(demand.get() * (1 - shed))
		past = [3]int{past[1], past[2], rung()}
	})
	for i, s := range f.edges {
		serve(t, s.node, feedAddress, link.ServeHTTP)
		s.write(f.config(i, i+1, []string{siteLoad}, "ladder: [{prepend: 3, sheds: 0.7}]").String())
		s.start()
	}
	f.awaitPrepends(sessionWait, 0, 0, 0, 0)
	var seen [4]steps
	var differs time.Time
	watch := func(within time.Duration, what string, done func([]int) bool) {
		t.Helper()
		netlab.Eventually(t, within, what, func() error {
			rungs, err := f.prepends(video4)
			if err != nil {
				return err
			}
			for i, r := range rungs {
				seen[i].note(r)
			}
			if alike := slices.Min(rungs) == slices.Max(rungs); alike {
				differs = time.Time{}
			} else if differs.IsZero() {
				differs = time.Now()
			} else if apart := time.Since(differs); apart > tolerance {
				t.Fatalf("for %v the siblings have been on different rungs: %v", apart, rungs)
			}
			if !done(rungs) {
				return fmt.Errorf("prepends %v", rungs)
			}
			return nil
		})
	}
	all := func(want int) func([]int) bool {
		return func(rungs []int) bool { return slices.Min(rungs) == want && slices.Max(rungs) == want }
	}
	demand.set(1)
	watch(40*time.Second, "all to climb", all(3))
	demand.set(0.3)
	watch(45*time.Second, "all to be back", all(0))
	for i := range seen {
		if !slices.Equal(seen[i], seen[0]) {
			t.Errorf("msk%d went %v, msk1 went %v", i+1, seen[i], seen[0])
		}
	}
	t.Logf("each went %v", seen[0])
}

// TestTwoNeighborsOnOneLinkShedOnce has two neighbours whose clients fill one link: one of them is enough.
func TestTwoNeighborsOnOneLinkShedOnce(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	var demand atomic64
	demand.set(0.5)
	var link feed
	prepends := func() (list []int, err error) {
		for _, p := range s.peers() {
			paths, err := p.router.Routes(video4)
			if err != nil || len(paths) != 1 {
				return nil, fmt.Errorf("%s has %+v (%v)", p.name, paths, err)
			}
			list = append(list, len(paths[0].ASPath)-1)
		}
		return list, nil
	}
	every(t, time.Second, func() {
		load := 0.0
		rungs, err := prepends()
		if err != nil {
			rungs = []int{0, 0}
		}
		for _, r := range rungs {
			load += demand.get() / 2 * (1 - map[int]float64{1: 0.5, 3: 0.9}[r])
		}
		link.set(load)
	})
	serve(t, s.Edge, feedAddress, link.ServeHTTP)
	ladder := "ladder: [{prepend: 1, sheds: 0.5}, {prepend: 3, sheds: 0.9}]"
	c := s.config()
	c.Neighbors = []string{s.neighborFRR("link: shared", ladder), s.neighborBIRD("link: shared", ladder)}
	c.Lines = []string{"links:\n  - " + feedLink("shared", feedAddress), siteLoad}
	s.start(c)
	s.awaitRoutes(soon, look{})

	demand.set(1)
	want := func(rungs []int) error {
		if slices.Min(rungs) != 0 || slices.Max(rungs) == 0 {
			return fmt.Errorf("prepends %v, want some at one of them", rungs)
		}
		return nil
	}
	netlab.Eventually(t, 40*time.Second, "one neighbour to be steered", func() error {
		rungs, err := prepends()
		if err != nil {
			return err
		}
		if slices.Min(rungs) > 0 {
			t.Fatalf("both were steered: %v", rungs)
		}
		return want(rungs)
	})
	holds(t, 10*time.Second, "one rung at one neighbour", func() error {
		rungs, err := prepends()
		if err != nil {
			return err
		}
		return want(rungs)
	})
	demand.set(0.3)
	s.awaitRoutes(30*time.Second, look{})
}

// TestTwoLinksOfOneSiteDoNotSwing has clients who come by the one link when they do not come by the other.
func TestTwoLinksOfOneSiteDoNotSwing(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	var demand [2]atomic64 // of FRR's link and of BIRD's
	var links [2]feed
	var now [2]atomic64 // their loads
	var rungs [2]atomic.Int64
	every(t, 200*time.Millisecond, func() {
		for i, p := range s.peers() {
			if paths, err := p.router.Routes(video4); err == nil && len(paths) == 1 {
				rungs[i].Store(int64(len(paths[0].ASPath) - 1))
			}
		}
	})
	every(t, time.Second, func() {
		var stay, leave [2]float64
		for i := range links {
			// Who is sent away from both comes as before: the one is no better than the other.
			stay[i] = demand[i].get()
			if own, other := rungs[i].Load(), rungs[1-i].Load(); own > other {
				leave[i] = stay[i] * 0.4
			}
		}
		for i := range links {
			load := stay[i] - leave[i] + leave[1-i]
			now[i].set(load)
			links[i].set(load)
		}
	})
	set := func(a, b float64) { demand[0].set(a); demand[1].set(b) }
	set(0.5, 0.5)
	addresses := []string{"127.0.0.1:9001", "127.0.0.1:9002"}
	for i := range links {
		serve(t, s.Edge, addresses[i], links[i].ServeHTTP)
	}
	ladder := "ladder: [{prepend: 2, sheds: 0.4}]"
	c := s.config()
	c.Neighbors = []string{
		s.neighborFRR("return: symmetric", "link: a", ladder), s.neighborBIRD("return: symmetric", "link: b", ladder),
	}
	c.Lines = []string{"links:\n  - " + feedLink("a", addresses[0]) + "\n  - " + feedLink("b", addresses[1]), siteLoad}
	s.start(c)
	s.awaitRoutes(soon, look{})

	set(1, 0.3)
	netlab.Eventually(t, 40*time.Second, "A to shed onto B", func() error {
		if a, b := rungs[0].Load(), rungs[1].Load(); a != 2 || b != 0 {
			return fmt.Errorf("prepends %d and %d", a, b)
		}
		return nil
	})
	holds(t, 12*time.Second, "A's rung and none of B's", func() error {
		if a, b := rungs[0].Load(), rungs[1].Load(); a != 2 || b != 0 {
			return fmt.Errorf("prepends %d and %d, loads %.2f and %.2f", a, b, now[0].get(), now[1].get())
		}
		return nil
	})
	if load := now[0].get(); load > 0.8 {
		t.Errorf("A's load is %.2f on its rung", load)
	}
	set(0.3, 0.3)
	s.awaitRoutes(30*time.Second, look{})

	quiet := len(s.edge.proc.Log())
	set(0.93, 0.93) // nothing to spare: what one sheds would overload the other
	var over time.Time
	holds(t, 30*time.Second, "no link shedding onto the other", func() error {
		a, b := now[0].get(), now[1].get()
		switch {
		case max(a, b) <= 1:
			over = time.Time{}
		case over.IsZero():
			over = time.Now()
		case time.Since(over) > 6*time.Second: // the routers do not hear of it in the same moment
			return fmt.Errorf("loads %.2f and %.2f for six seconds", a, b)
		}
		return nil
	})
	if said := s.edge.proc.Log()[quiet:]; !strings.Contains(said, "link absorbs its load") && !strings.Contains(said, "rung changed") {
		t.Errorf("load control has not looked at it yet:\n%s", said)
	}
	t.Logf("with both full: prepends %d and %d", rungs[0].Load(), rungs[1].Load())
}
