package edge

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
	"github.com/catchment-bgp/catchment/policy"
)

func TestALastAnnouncerIsKeptInAHardFailureUntilTheCentreSaysOtherwise(t *testing.T) {
	governed(t, func(t *testing.T, w *world, c *centreFake) {
		c.wants(func(in *centralv1.Intent) { in.Keep = []string{"video"} })
		w.pass(time.Second)
		w.report("web", "refused")
		w.pass(time.Second)
		w.expectState("video", "steered fleet_limit kept announced, since too few others announce it: web: refused")
		if len(w.told("transit")) != 3 {
			t.Errorf("%q", w.told("transit"))
		}
		w.pass(10 * time.Minute)
		w.expectState("video", "steered fleet_limit kept announced, since too few others announce it: web: refused")
		c.kill() // what stays announced does not end with the centre
		w.report("resolver", "refused")
		w.pass(24 * time.Hour)
		w.expectState("video", "steered fleet_limit kept announced, since too few others announce it: web: refused")
		w.expectState("dns", "withdrawn hard_failure resolver: refused")
		w.report("web", "")
		w.pass(time.Minute)
		w.expect("ix", ix4, ix6)
		w.report("web", "refused") // a failure that the centre has not seen
		w.pass(time.Second)
		w.expectState("video", "withdrawn hard_failure web: refused")
		w.report("web", "")
		c.revive()
		w.pass(10 * time.Minute)
		w.report("web", "refused")
		w.pass(time.Second)
		c.wants(func(in *centralv1.Intent) { in.Keep = nil })
		w.pass(time.Second)
		w.expectState("video", "withdrawn hard_failure web: refused")
	})
}

func TestASoftFailureWithdrawsWithLeaveOnly(t *testing.T) {
	governed(t, func(t *testing.T, w *world, c *centreFake) {
		c.set(func() { c.refuses = "2 of 3 must announce" })
		w.report("origin", "timeout")
		w.pass(time.Second)
		w.expectState("video", "steered fleet_limit origin: timeout; not withdrawn: min_announcing: 2 of 3 must announce (held by ams1)")
		c.set(func() { c.grants = true })
		w.pass(11 * time.Second)
		w.expectState("video", "withdrawn soft_failure origin: timeout")
		c.kill() // leave that nobody renews runs out
		w.pass(time.Minute)
		w.expectState("video", "steered soft_failure origin: timeout")
	})
}

func TestRevokedLeaveMeansReturn(t *testing.T) {
	governed(t, func(t *testing.T, w *world, c *centreFake) {
		c.set(func() { c.grants = true })
		w.report("origin", "timeout")
		w.pass(time.Second)
		w.expect("ix")
		c.set(func() {
			for id := range c.given {
				c.given[id] = "revoked"
			}
		})
		c.send()
		w.pass(time.Second)
		w.expectState("video", "steered soft_failure origin: timeout")
		w.report("web", "refused") // never over a hard failure
		w.rest()
		w.expect("ix")
	})
}

func TestLocalDrainTakesAGrant(t *testing.T) {
	governed(t, func(t *testing.T, w *world, c *centreFake) {
		word := Word{Verb: policy.Withdraw, Reason: "disk"}
		sel := Selector{Services: []string{"video"}}
		set := func(word Word, sel Selector) error {
			_, _, err := w.node.SetOverride(context.Background(), sel, word)
			w.rest()
			return err
		}
		var refused RefusedError
		c.set(func() { c.refuses = "2 of 3 must announce" })
		if err := set(word, sel); !errors.As(err, &refused) || !strings.Contains(err.Error(), "min_announcing: 2 of 3 must announce (held by ams1)") {
			t.Errorf("%v", err)
		}
		w.pass(time.Second)
		w.expect("ix", ix4, ix6)
		if got := c.last().GetWants(); len(got) != 0 {
			t.Errorf("still asked for: %v", got)
		}
		if err := set(word, Selector{Services: []string{"video"}, Neighbors: []string{"ix"}}); err != nil {
			t.Errorf("one neighbour: %v", err)
		}
		if err := set(word, Selector{Services: []string{"video"}, Neighbors: []string{"transit"}}); !errors.As(err, &refused) {
			t.Errorf("the last neighbour: %v", err)
		}
		c.set(func() { c.grants = true })
		if err := set(word, sel); err != nil {
			t.Error(err)
		}
		w.pass(time.Second)
		w.expect("transit", dns4)
		if held := c.last().GetHeld(); len(held) != 1 {
			t.Errorf("held %v", held)
		}
		c.kill() // who works there is not surprised
		w.pass(time.Hour)
		w.expect("transit", dns4)
		if err := set(word, Selector{Services: []string{"dns"}}); !errors.As(err, &refused) || !strings.Contains(err.Error(), "the centre is away") {
			t.Errorf("%v", err)
		}
		var usage UsageError
		word.OverrideSafety = true
		if err := set(word, Selector{Services: []string{"dns"}}); !errors.As(err, &usage) {
			t.Errorf("%v", err)
		}
		word.For = time.Hour
		if err := set(word, Selector{Services: []string{"dns"}}); err != nil {
			t.Error(err)
		}
		w.expect("transit")
		if v := w.snapshot().Centre; v.Overrides != 1 || v.Held["override"] != 2 {
			t.Errorf("%+v", v)
		}
		c.revive()
		w.pass(30 * time.Second)
		i := slices.IndexFunc(c.all(), func(r *centralv1.Report) bool {
			return slices.ContainsFunc(r.GetWants(), func(g *centralv1.GrantRequest) bool {
				return g.GetOverrideSafety() && g.GetReason() == "disk" && g.GetService() == "dns"
			})
		})
		if i < 0 {
			t.Error("the centre's audit never heard of it")
		}
		if _, _, err := w.node.ClearOverride(context.Background(), Selector{All: true, Expect: 2}, "done", ""); err != nil {
			t.Error(err)
		}
		w.pass(time.Second)
		if got := c.last(); len(got.GetHeld())+len(got.GetWants()) != 0 || got.GetServices()[0].GetState() != "announced" {
			t.Errorf("%v", got)
		}
	})
}

func TestAWordWaitsForOthersToTakeOver(t *testing.T) {
	governed(t, func(t *testing.T, w *world, c *centreFake) {
		set := func() error {
			_, _, err := w.node.SetOverride(context.Background(), Selector{Services: []string{"video"}}, Word{Verb: policy.Withdraw, Reason: "disk"})
			w.rest()
			return err
		}
		c.set(func() { c.limit, c.refuses = "keeper", "0 of 1 others have confirmed" })
		began := time.Now()
		if err := set(); !errors.As(err, new(RefusedError)) || !strings.Contains(err.Error(), "0 of 1 others") || time.Since(began) != answerTime {
			t.Errorf("nobody takes over: %v after %v", err, time.Since(began))
		}
		go func() {
			time.Sleep(time.Second) // in a bubble
			c.set(func() { c.grants = true })
			c.send()
		}()
		if err := set(); err != nil {
			t.Errorf("another takes over: %v", err)
		}
		w.expect("ix")
	})
}

func TestAFleetOverrideIsResolvedToThisNodeAndWaitsForLeave(t *testing.T) {
	governed(t, func(t *testing.T, w *world, c *centreFake) {
		c.wants(func(in *centralv1.Intent) {
			in.Overrides = []*centralv1.FleetOverride{
				{Id: "o1", Selector: &centralv1.Selector{Nodes: []string{"msk1"}, Services: []string{"video"}}, Verb: "drain", Reason: "rack"},
				{Id: "o2", Selector: &centralv1.Selector{Nodes: []string{"ams1"}}, Verb: "withdraw", Reason: "elsewhere"},
				{Id: "o3", Selector: &centralv1.Selector{}, Verb: "withdraw", Reason: "for nothing"},
			}
		})
		w.pass(20 * time.Second)
		w.expect("ix", ix4, ix6)
		if got := c.last().GetWants(); len(got) != 1 || got[0].GetKind() != "override" || got[0].GetService() != "video" {
			t.Errorf("%v", got)
		}
		c.set(func() { c.grants = true })
		w.pass(11 * time.Second)
		w.expect("ix", gshut(ix4), gshut(ix6))
		w.pass(30 * time.Second)
		w.expect("ix")
		w.expect("transit", dns4)
		c.wants(func(in *centralv1.Intent) { in.Overrides = nil })
		w.pass(time.Second)
		w.expect("ix", ix4, ix6)
	})
}

func TestFleetOverridesThatLeaveNoNeighbourTogetherNeedLeave(t *testing.T) {
	word := func(id, neighbor string) *centralv1.FleetOverride {
		return &centralv1.FleetOverride{Id: id, Selector: &centralv1.Selector{Services: []string{"video"}, Neighbors: []string{neighbor}}, Verb: "withdraw", Reason: id,
			Since: timestamppb.Now()}
	}
	for _, tt := range []struct {
		name  string
		first func(w *world, c *centreFake)
	}{
		{"a word", func(_ *world, c *centreFake) {
			c.wants(func(in *centralv1.Intent) { in.Overrides = append(in.Overrides, word("z1", "transit")) })
		}},
		{"a local word", func(w *world, _ *centreFake) { w.say(at("transit"), Word{Verb: policy.Withdraw}) }},
		{"a window", func(_ *world, c *centreFake) {
			c.wants(func(in *centralv1.Intent) {
				in.Windows = []*centralv1.Window{{Id: "w1", Selector: &centralv1.Selector{Neighbors: []string{"transit"}}, Start: timestamppb.Now(), Duration: durationpb.New(time.Hour), Reason: "line"}}
			})
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			governed(t, func(t *testing.T, w *world, c *centreFake) {
				tt.first(w, c)
				w.pass(time.Minute)
				w.expect("ix", ix4, ix6)
				if lines := w.told("transit"); slices.Contains(lines, transit4) {
					t.Errorf("transit was told %q", lines)
				}
				c.wants(func(in *centralv1.Intent) { in.Overrides = append(in.Overrides, word("a2", "ix")) })
				w.pass(time.Minute)
				w.expect("ix", ix4, ix6)
				if lines := w.told("transit"); slices.Contains(lines, transit4) {
					t.Errorf("the first is forgotten: transit was told %q", lines)
				}
				c.set(func() { c.grants = true })
				w.pass(11 * time.Second)
				w.expect("ix")
				c.wants(func(in *centralv1.Intent) {
					in.Overrides = slices.DeleteFunc(in.Overrides, func(o *centralv1.FleetOverride) bool { return o.Id == "a2" })
				})
				w.pass(time.Second)
				w.expect("ix", ix4, ix6)
			})
		})
	}
}

func TestF1SoftChecksAndTheCentreAreLostAndTheServiceStaysDePreferred(t *testing.T) {
	governed(t, func(t *testing.T, w *world, c *centreFake) {
		c.set(func() { c.grants = true }) // whatever it would say
		c.kill()
		w.pass(time.Second)
		w.report("origin", "timeout")
		w.pass(time.Second)
		w.expectState("video", "steered soft_failure origin: timeout")
		if n := len(w.told("ix")); n != 2 {
			t.Errorf("%d routes", n)
		}
		w.pass(24 * time.Hour)
		w.expectState("video", "steered soft_failure origin: timeout")
		if got := w.snapshot().proto().GetWarnings(); len(got) != 1 || !strings.Contains(got[0], "the centre is away") {
			t.Errorf("warnings: %q", got)
		}
	})
}

func TestLeaveForTheLoadIsAskedForAndGivenBack(t *testing.T) {
	governed(t, func(t *testing.T, w *world, c *centreFake) {
		hot := func(d time.Duration) { // each rung sheds a part, and not enough
			for range d / time.Second {
				load := 19e9
				for range w.snapshot().Decision.Climbers[0].Rung {
					load *= 0.8
				}
				w.figure("uplink", load)
				w.pass(time.Second)
			}
		}
		hot(15 * time.Minute)
		want := c.last().GetWants()
		if len(want) != 2 || want[0].GetKind() != "load" || want[0].GetLoad() <= 0 {
			t.Fatalf("%v, %+v", want, w.snapshot().Decision.Climbers[0])
		}
		if len(w.told("transit")) != 3 {
			t.Errorf("%q", w.told("transit"))
		}
		c.set(func() { c.grants = true })
		hot(10 * time.Minute)
		if len(w.told("transit")) != 0 || len(c.last().GetHeld()) != 2 {
			t.Errorf("with leave: %q, %v", w.told("transit"), c.last().GetHeld())
		}
		c.kill()
		hot(2 * time.Minute)
		if len(w.told("transit")) != 3 {
			t.Errorf("the leave has run out: %q", w.told("transit"))
		}
	}, measured[0], measured[1], measured[2], measured[3], "return_after: [", "load: {"+soonAgain+", dwell_up: 30s, dead_time: 20s}\nreturn_after: [")
}
