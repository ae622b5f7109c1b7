package scenarios

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/catchment-bgp/catchment/lab/netlab"
	"github.com/catchment-bgp/catchment/policy/flap"
)

// dampingTime is how long the load of the worst kind goes on where nothing may be suppressed.
var dampingTime = flag.Duration("damping", 130*time.Second, "how long TestHostileLoadNeverGetsThePrefixDamped drives its edges")

// minutes is FRR's damping with Cisco's figures, but a fifteenth of the times; minute is the same in our words.
var (
	minutes = netlab.Damping{HalfLife: 1, Reuse: 750, Suppress: 2000, MaxSuppress: 4}
	minute  = flap.Profile{
		Name: "minute", Withdrawal: 1000, AttributeChange: 500, Suppress: 2000, Reuse: 750,
		HalfLife: time.Minute, MaxSuppress: 4 * time.Minute,
	}
)

// driven are four edges whose load is always what makes them move, and the observer's view of it.
type driven struct {
	*four
	feeds   [4]feed // of each edge
	rungs   []int   // prepends at the transit
	changes int     // of those
	worst   netlab.Flaps
}

// newDriven starts the edges with a flap budget. Alone, each reckons as if it were the only one.
func newDriven(t testing.TB, budget flap.Config, alone bool) *driven {
	t.Helper()
	h := &driven{four: newFour(t, &minutes), rungs: []int{0, 0, 0, 0}}
	text, err := json.Marshal(budget)
	if err != nil {
		t.Fatal(err)
	}
	fields := []string{"ladder: [{prepend: 3, sheds: 0.8}]"}
	if !alone {
		fields = append(fields, "edges_at_asn: [msk1, msk2, msk3, msk4]")
	}
	lines := []string{"load: {mode: threshold, target: 0.8, interval: 100ms, dwell_up: 1s, dwell_down: 1s, down_after: 1s}"}
	netlab.Binary(t, hasty)
	first := turnAfter(time.Now().Add(30*time.Second), budget)
	for rank := range h.edges { // so started, none takes the observer's route over from another
		i := (first + rank) % len(h.edges)
		s := h.edges[i]
		serve(t, s.node, feedAddress, h.feeds[i].ServeHTTP)
		s.program, s.args = hasty, []string{"-flap", string(text)}
		s.write(h.config(i, 1+rank, lines, fields...).String())
		s.start()
		netlab.Eventually(t, sessionWait, s.name+"'s route", func() error {
			if now, err := h.prepends(video4); err != nil || now[i] != 0 {
				return fmt.Errorf("prepends %v (%v)", now, err)
			}
			return nil
		})
	}
	h.awaitPrepends(sessionWait, 0, 0, 0, 0)
	return h
}

const hasty = "./lab/hasty"

// turnAfter is the edge whose turn begins next after a time. From there on each edge is the best one when its turn comes,
// so that the observer sees it move; before that load has hardly lasted long enough to move anything.
func turnAfter(at time.Time, budget flap.Config) int {
	length, _ := budget.Slot()
	if length == 0 {
		return 0
	}
	return int((at.Unix()/int64(length/time.Second) + 1) % 4)
}

// drive looks at the routers once, and gives each edge the load that makes it leave the rung that it is on.
func (h *driven) drive() error {
	rungs, err := h.prepends(video4)
	if err != nil {
		return err
	}
	for i, s := range h.edges {
		if rungs[i] > 0 {
			h.feeds[i].set(0.02)
		} else {
			h.feeds[i].set(1.2)
		}
		if rungs[i] != h.rungs[i] {
			h.changes++
			h.t.Logf("%s %s: prepends %v", time.Now().Format(time.TimeOnly), s.name, rungs)
		}
	}
	h.rungs = rungs
	for _, prefix := range []netip.Prefix{video4, video6} {
		flaps, err := h.observer.Flaps(prefix)
		if err != nil {
			return err
		}
		for _, one := range flaps {
			if one.Penalty > h.worst.Penalty {
				h.worst = one
			}
		}
	}
	return nil
}

// suppressed is an error when the observer suppresses a prefix of ours.
func (h *driven) suppressed() error {
	four, err4 := h.observer.Suppressed(false)
	six, err6 := h.observer.Suppressed(true)
	if all := slices.Concat(four, six); err4 != nil || err6 != nil || len(all) > 0 {
		return fmt.Errorf("the observer suppresses %v (%v, %v)", all, err4, err6)
	}
	return nil
}

// The same load with and without the budget: what keeps the prefix from being damped is the ledger, and the turns that
// four edges take which know nothing of each other.
func TestHostileLoadNeverGetsThePrefixDamped(t *testing.T) {
	t.Parallel()
	budget := flap.Config{Profiles: []flap.Profile{minute}, Exploration: 1, Margin: 0.1}
	h := newDriven(t, budget, false)
	every := time.NewTicker(100 * time.Millisecond)
	defer every.Stop()
	for end := time.Now().Add(*dampingTime); time.Now().Before(end); <-every.C {
		if err := errors.Join(h.drive(), h.suppressed()); err != nil {
			t.Fatal(err)
		}
	}
	for i, s := range h.edges {
		if n := h.feeds[i].asked(); n < int(dampingTime.Seconds()/2) {
			t.Errorf("%s asked for the load %d times only", s.name, n)
		}
	}
	t.Logf("%d changes at the transit in %v; the observer's worst: %+v", h.changes, *dampingTime, h.worst)
	if h.changes < 2 || h.worst.Count < 1 {
		t.Error("too little happened to prove anything")
	}
}

func TestHostileLoadGetsThePrefixDampedWithout(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		budget flap.Config
		alone  bool
	}{
		"a budget": {alone: true},
		"turns":    {budget: flap.Config{Profiles: []flap.Profile{minute}, Exploration: 1, Margin: 0.1}, alone: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newDriven(t, c.budget, c.alone)
			netlab.Eventually(t, 2*time.Minute, "the observer to suppress a prefix", func() error {
				if err := h.drive(); err != nil {
					return err
				}
				if h.suppressed() == nil {
					return fmt.Errorf("after %d changes: %+v", h.changes, h.worst)
				}
				return nil
			})
			t.Logf("suppressed after %d changes at the transit: %+v", h.changes, h.worst)
		})
	}
}
