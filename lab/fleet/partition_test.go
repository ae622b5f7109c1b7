package fleet

import (
	"context"
	"flag"
	"fmt"
	"math"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"pgregory.net/rapid"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
	"github.com/catchment-bgp/catchment/policy/fleet"
)

// script is a fleet under two centres, and what happens to it.
type script struct {
	nodes  int
	limits fleet.Limits
	ahead  time.Duration // the clock of the first node
	steps  []step
}

// step is something that happens to somebody, and the time that passes then.
type step struct {
	what   int
	who    int
	centre string
	pass   time.Duration
}

func scripts() *rapid.Generator[script] {
	return rapid.Custom(func(t *rapid.T) script {
		n := rapid.IntRange(2, 5).Draw(t, "nodes")
		return script{
			nodes: n,
			limits: fleet.Limits{MinAnnouncing: rapid.IntRange(1, n-1).Draw(t, "min_announcing"),
				MaxWithdrawn: rapid.SampledFrom([]float64{0, 0.34, 0.5, 0.8}).Draw(t, "max_withdrawn")},
			ahead: rapid.SampledFrom([]time.Duration{0, time.Hour, -time.Hour}).Draw(t, "ahead"),
			steps: rapid.SliceOfN(rapid.Custom(func(t *rapid.T) step {
				return step{what: rapid.IntRange(0, len(happenings)-1).Draw(t, "what"), who: rapid.IntRange(0, n-1).Draw(t, "who"),
					centre: rapid.SampledFrom([]string{centreA, centreB}).Draw(t, "centre"),
					pass:   rapid.SampledFrom([]time.Duration{0, 100 * time.Millisecond, time.Second, 5 * time.Second, 20 * time.Second, time.Minute}).Draw(t, "pass")}
			}), 8, 20).Draw(t, "steps"),
		}
	})
}

// happening is one kind of step. Those that want leave stand there several times.
type happening struct {
	name string
	do   func(w *world, n *node, c string)
}

var happenings = []happening{
	{"soft failure", func(_ *world, n *node, _ string) { n.fails("origin", "timeout") }},
	{"soft failure", func(_ *world, n *node, _ string) { n.fails("origin", "timeout") }},
	{"soft failure everywhere", func(w *world, _ *node, _ string) { w.all(func(n *node) { n.fails("origin", "timeout") }) }},
	{"soft recovery", func(_ *world, n *node, _ string) { n.fails("origin", "") }},
	{"window", func(w *world, n *node, c string) {
		w.ask(c, func(ctx context.Context, api centralv1.FleetClient) error {
			_, err := api.AddWindow(ctx, &centralv1.AddWindowRequest{Selector: &centralv1.Selector{Nodes: []string{n.name}}, Start: "now",
				Duration: durationpb.New(3 * time.Minute), Reason: "x"})
			return err
		})
	}},
	{"word", func(w *world, n *node, c string) {
		w.ask(c, func(ctx context.Context, api centralv1.FleetClient) error {
			_, err := api.SetFleetOverride(ctx, &centralv1.SetFleetOverrideRequest{Selector: &centralv1.Selector{Nodes: []string{n.name}}, Verb: "withdraw",
				Duration: durationpb.New(3 * time.Minute), Reason: "x"})
			return err
		})
	}},
	{"revoke", func(w *world, _ *node, c string) {
		w.ask(c, func(ctx context.Context, api centralv1.FleetClient) error {
			got, err := api.ListGrants(ctx, &centralv1.ListGrantsRequest{})
			if err == nil && len(got.GetGrants()) > 0 {
				_, err = api.RevokeGrant(ctx, &centralv1.RevokeGrantRequest{Id: got.GetGrants()[0].GetId(), Reason: "x"})
			}
			return err
		})
	}},
	{"cut from a centre", func(_ *world, n *node, c string) { n.cuts[c].cut(!n.cuts[c].isCut()) }},
	{"cut from all", func(_ *world, n *node, _ string) { n.isolate(true) }},
	{"mended", func(_ *world, n *node, _ string) { n.isolate(false) }},
	{"a centre loses the store", func(w *world, _ *node, c string) {
		if c := w.centres[c]; c != nil {
			c.store.cut(!c.store.isCut())
		}
	}},
	{"a centre dies or comes", func(w *world, _ *node, c string) {
		if c := w.centres[c]; c != nil {
			c.kill()
			return
		}
		w.open(c)
	}},
	{"hard failure", func(_ *world, n *node, _ string) { n.fails("web", "refused") }},
	{"hard recovery", func(_ *world, n *node, _ string) { n.fails("web", "") }},
}

// ask asks a centre for something; what comes of it is all the same.
func (w *world) ask(centre string, f func(ctx context.Context, api centralv1.FleetClient) error) {
	c := w.centres[centre]
	if c == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	_ = f(ctx, c.api) // refused, or not to be reached: both are right
}

// play runs a script, and says what was broken.
func play(t *testing.T, s script, tried map[string]int) (broken error) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, s.limits)
		w.quiet = true
		defer w.end()
		w.open(centreA)
		w.open(centreB)
		w.ahead = s.ahead
		w.join(s.nodes)
		share := s.limits.MaxWithdrawn
		if share == 0 {
			share = 1
		}
		most := min(s.nodes-s.limits.MinAnnouncing, int(math.Floor(float64(s.nodes)*share+1e-9)))
		for i, st := range s.steps {
			h := happenings[st.what]
			tried[h.name]++
			h.do(w, w.nodes[st.who], st.centre)
			w.pass(st.pass)
			if got := w.most(); got > most {
				broken = fmt.Errorf("after step %d (%s at n%02d and %s): %d of %d were withdrawn at a time, and %d may be, %+v\n%s",
					i, h.name, st.who+1, st.centre, got, s.nodes, most, s.limits, w.story())
				return
			}
		}
		if w.most() > 0 {
			tried["withdrawn"]++
		}
	})
	return broken
}

// TestGrantsUnderPartitionOnRealLoops is the little sister of TestGrantsUnderPartition
// of policy/fleet: fewer schedules, and all of the code.
func TestGrantsUnderPartitionOnRealLoops(t *testing.T) {
	checks := flag.Lookup("rapid.checks").Value
	was := checks.String()
	if err := checks.Set(strconv.Itoa(schedules / 2)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = checks.Set(was) })
	for part := range 2 { // side by side
		t.Run(fmt.Sprint("part ", part+1), func(t *testing.T) {
			t.Parallel()
			tried := map[string]int{}
			ran := 0
			rapid.Check(t, func(rt *rapid.T) {
				ran++
				if err := play(t, scripts().Draw(rt, "script"), tried); err != nil {
					rt.Fatal(err)
				}
			})
			if tried["withdrawn"] < ran/4 || ran < schedules/2 {
				t.Errorf("in %d schedules: %v", ran, tried)
			}
			t.Logf("%d schedules: %v", ran, tried)
		})
	}
}
