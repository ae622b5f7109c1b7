package edge

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
	"github.com/catchment-bgp/catchment/maintenance"
	"github.com/catchment-bgp/catchment/policy"
)

// withTag is a route with another community.
func withTag(route, tag string) string {
	if strings.HasSuffix(route, "]") {
		return strings.Replace(route, "]", " "+tag+"]", 1)
	}
	return route + " [" + tag + "]"
}

func (w *world) expectCentral(want string) {
	w.t.Helper()
	if got := w.snapshot().proto().GetCentral(); got != want {
		w.t.Errorf("central is %q, want %q", got, want)
	}
}

func TestWithoutACentreTheStatusSaysNone(t *testing.T) {
	up(t, func(t *testing.T, w *world) {
		w.expectCentral("none")
		if text, err := os.ReadFile(w.dir + "/state/state.json"); err != nil || strings.Contains(string(text), "centre") {
			t.Errorf("the state: %s, %v", text, err)
		}
	})
}

func TestATagIsOnEveryRouteWithinASecondAndChargedOnce(t *testing.T) {
	governed(t, func(t *testing.T, w *world, c *centreFake) {
		w.expectCentral("connected")
		before := w.snapshot().Decision.Climbers[0].Penalty
		c.wants(func(in *centralv1.Intent) { in.Tags = []*centralv1.Tag{{Value: "57629:201", Meaning: "Moscow"}} })
		w.pass(time.Second)
		w.expect("transit", withTag(transit4, "57629:201"), withTag(transit6, "57629:201"), withTag(dns4, "57629:201"))
		w.expect("ix", withTag(ix4, "57629:201"), withTag(ix6, "57629:201"))
		after := w.snapshot().Decision.Climbers[0].Penalty
		if after < before+400 || after > before+1100 {
			t.Errorf("the penalty went from %.0f to %.0f", before, after)
		}
		n := w.journal.len()
		w.pass(time.Minute)
		if lines := w.journal.since(n, "tell"); lines != nil {
			t.Errorf("told again: %q", lines)
		}
		if got := c.last(); got.GetGeneration() != 2 || len(got.GetServices()) != 2 || got.GetServices()[0].GetHard() != "up" {
			t.Errorf("the report: %v", got)
		}
		c.wants(func(in *centralv1.Intent) { in.Tags = nil })
		w.pass(time.Second)
		w.expect("ix", ix4, ix6)
	})
}

func TestAReportComesEveryTenSecondsAndAtEachChange(t *testing.T) {
	governed(t, func(t *testing.T, w *world, c *centreFake) {
		w.pass(15 * time.Second)
		n := len(c.reports)
		w.pass(time.Minute)
		if got := len(c.reports) - n; got < 5 || got > 7 {
			t.Errorf("%d reports in a minute", got)
		}
		w.report("web", "refused")
		w.pass(100 * time.Millisecond)
		if s := c.last().GetServices()[0]; s.GetState() != "withdrawn" || s.GetReason() != "hard_failure" || s.GetHard() != "down" {
			t.Errorf("%v", s)
		}
		for i := 1; i < len(c.reports); i++ {
			if c.reports[i].GetNumber() <= c.reports[i-1].GetNumber() {
				t.Errorf("report %d has number %d after %d", i, c.reports[i].GetNumber(), c.reports[i-1].GetNumber())
			}
		}
	})
}

func TestTheCentreDiesAndNothingChangesOnTheWire(t *testing.T) { // F5
	governed(t, func(t *testing.T, w *world, c *centreFake) {
		c.wants(func(in *centralv1.Intent) { in.Tags = []*centralv1.Tag{{Value: "57629:201"}} })
		w.pass(time.Second)
		c.kill()
		n := w.journal.len()
		w.pass(24 * time.Hour)
		if lines := w.journal.since(n, "tell"); lines != nil {
			t.Errorf("%q", lines)
		}
		w.expectCentral("away")
		w.report("web", "refused") // hard failures still withdraw
		w.rest()
		w.expect("ix")
		w.report("web", "")
		w.report("origin", "timeout") // soft ones de-prefer
		w.pass(time.Minute)
		w.expectState("video", "steered soft_failure origin: timeout")
		c.revive()
		w.pass(21 * time.Second)
		w.expectCentral("connected")
	})
}

func TestARestartStartsFromDiskWithTheCentreDead(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		c := newCentreFake()
		w.govern(c)
		w.well()
		c.wants(func(in *centralv1.Intent) {
			in.Tags = []*centralv1.Tag{{Value: "57629:201"}}
			in.Shares = []*centralv1.LedgerShare{{Asn: 65001, Edges: 4, Index: 2}}
		})
		w.pass(time.Second)
		if got := w.node.policyConfig().Load.Climbers[0].Share; got.Edges != 4 || got.Index != 2 {
			t.Errorf("share %+v", got)
		}
		number := c.last().GetNumber()
		c.kill()
		w.stop()
		n := w.journal.len()
		w.govern(c)
		w.well()
		w.expect("ix", withTag(ix4, "57629:201"), withTag(ix6, "57629:201"))
		if lines := w.journal.since(n, "tell ix", "198.51.100.0/24"); len(lines) != 1 {
			t.Errorf("%q", lines)
		}
		w.expectCentral("away")
		if got := w.node.policyConfig().Load.Climbers[0].Share; got.Edges != 4 {
			t.Errorf("share %+v", got)
		}
		c.revive()
		w.pass(30 * time.Second)
		if got := c.last().GetNumber(); got <= number {
			t.Errorf("report %d after the restart, %d before", got, number)
		}
		w.leave()
		<-w.node.Gone()
		c.kill()
	})
}

func TestAnOlderIntentIsIgnoredUnlessTheCentreKnowsBetter(t *testing.T) {
	governed(t, func(t *testing.T, w *world, c *centreFake) {
		e := w.node
		at := func(n centreNews) {
			t.Helper()
			if err := e.change(context.Background(), "test", func(now time.Time) { n.up, n.at = true, now; e.hear(n) }); err != nil {
				t.Fatal(err)
			}
			w.rest()
		}
		c.set(func() { c.mute = true })
		tag := func(generation uint64, value string) *centralv1.Intent {
			return &centralv1.Intent{Generation: generation, Tags: []*centralv1.Tag{{Value: value}}, Sent: timestamppb.Now()}
		}
		at(centreNews{intent: tag(100, "57629:201")})
		at(centreNews{intent: tag(99, "57629:202")})
		w.expect("ix", withTag(ix4, "57629:201"), withTag(ix6, "57629:201"))
		if got := w.snapshot().Centre; got.Ignored != 1 || got.Generation != 100 {
			t.Errorf("%+v", got)
		}
		at(centreNews{intent: tag(3, "57629:203"), answered: true}) // a backup was restored
		w.expect("ix", withTag(ix4, "57629:203"), withTag(ix6, "57629:203"))
	})
}

func TestAWindowDrainsWithdrawsIsSafeAndEnds(t *testing.T) {
	governed(t, func(t *testing.T, w *world, c *centreFake) {
		c.set(func() { c.grants = true })
		c.wants(func(in *centralv1.Intent) { in.Windows = []*centralv1.Window{nodeWindow("w1", 10*time.Minute)} })
		w.pass(time.Second)
		w.expect("ix", gshut(ix4), gshut(ix6))
		w.expect("transit", gshut(transit4), gshut(transit6), dns4+" [65535:0]")
		if got := c.phase("w1"); got != "draining" {
			t.Errorf("phase %s", got)
		}
		w.pass(30 * time.Second)
		w.expect("ix")
		w.expect("transit")
		w.pass(3 * time.Second)
		if got := c.phase("w1"); got != "safe" {
			t.Errorf("phase %s: %v", got, c.last().GetWindows())
		}
		if got := w.state("video"); !strings.HasPrefix(got, "withdrawn maintenance") {
			t.Error(got)
		}
		if len(c.last().GetHeld()) != 2 {
			t.Errorf("held: %v", c.last().GetHeld())
		}
		if why := w.why("video")[0]; !slices.ContainsFunc(why.Inputs, func(s string) bool {
			return strings.HasPrefix(s, "window at ix: ") && strings.HasSuffix(s, "(with leave)")
		}) {
			t.Errorf("why: %+v", why)
		}
		c.kill() // it ends by the local clock all the same
		w.pass(10*time.Minute - 40*time.Second)
		w.expect("ix")
		w.pass(10 * time.Second)
		w.expect("ix", ix4, ix6)
		w.expectState("video", "announced normal")
	})
}

// nodeWindow is a window of the node that starts now.
func nodeWindow(id string, length time.Duration) *centralv1.Window {
	return &centralv1.Window{Id: id, Selector: &centralv1.Selector{Nodes: []string{"msk1"}}, Start: timestamppb.New(time.Now().Add(30 * time.Second)),
		Duration: durationpb.New(length - 30*time.Second), Lead: durationpb.New(30 * time.Second), Created: timestamppb.New(time.Now().Add(-time.Second)), Reason: "disk"}
}

func TestAWindowWithoutLeaveOnlyDePrefers(t *testing.T) {
	for _, away := range []bool{false, true} {
		governed(t, func(t *testing.T, w *world, c *centreFake) {
			c.set(func() { c.refuses = "2 of 3 must announce" })
			c.wants(func(in *centralv1.Intent) {
				win := nodeWindow("w1", 10*time.Minute)
				win.Start = timestamppb.New(time.Now().Add(time.Minute))
				in.Windows = []*centralv1.Window{win}
			})
			w.pass(time.Second)
			if away {
				c.kill()
			}
			w.pass(2 * time.Minute)
			want := "de-preferred, not withdrawn: min_announcing: 2 of 3 must announce (held by ams1)"
			if away {
				want = "de-preferred, not withdrawn: the centre is away"
			}
			if got := w.state("video"); !strings.HasPrefix(got, "steered maintenance") || !strings.Contains(got, want) {
				t.Error(got)
			}
			if len(w.told("ix")) != 2 {
				t.Errorf("%v", w.told("ix"))
			}
			w.pass(10 * time.Minute)
			w.expectState("video", "announced normal")
		})
	}
}

func TestAWindowOfOneNeighbourDrainsThatOneOnlyAndNeedsNoLeave(t *testing.T) {
	governed(t, func(t *testing.T, w *world, c *centreFake) {
		c.wants(func(in *centralv1.Intent) {
			win := nodeWindow("w1", 10*time.Minute)
			win.Selector.Neighbors = []string{"ix"}
			in.Windows = []*centralv1.Window{win}
		})
		w.pass(time.Second)
		w.expect("ix", gshut(ix4), gshut(ix6))
		w.pass(35 * time.Second)
		w.expect("ix")
		w.expect("transit", transit4, transit6, dns4)
		if got := c.phase("w1"); got != "safe" || len(c.last().GetWants()) != 0 {
			t.Errorf("%v", c.last())
		}
		w.pass(10 * time.Minute)
		w.expect("ix", ix4, ix6)
	})
}

func TestARestartInAWindowStaysWithdrawn(t *testing.T) { // F9
	bubble(t, func(t *testing.T, w *world) {
		c := newCentreFake()
		c.grants = true
		w.govern(c)
		w.well()
		w.pass(time.Second)
		c.wants(func(in *centralv1.Intent) { in.Windows = []*centralv1.Window{nodeWindow("w1", 10*time.Minute)} })
		w.pass(time.Minute)
		w.expect("ix")
		c.kill()
		w.stop()
		n := w.journal.len()
		w.govern(c)
		w.well()
		w.pass(5 * time.Minute)
		if lines := w.journal.since(n, "tell", "via"); lines != nil {
			t.Errorf("announced in the window: %q", lines)
		}
		w.pass(5 * time.Minute) // its end was missed by nobody
		w.expect("ix", ix4, ix6)
	})
}

func TestAClockThatCannotBeTrustedOpensNoWindow(t *testing.T) { // F9
	for _, tt := range []struct {
		name         string
		synchronised bool
		skew         time.Duration
		away, opens  bool
	}{
		{"far from the centre's", true, 7 * time.Second, false, false},
		{"behind the centre's", true, -7 * time.Second, true, false},
		{"not synchronised, and the centre away", false, 0, true, false},
		{"not synchronised, and the centre there", false, 0, false, true},
		{"synchronised, and the centre away", true, 0, true, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			governed(t, func(t *testing.T, w *world, c *centreFake) {
				c.set(func() { c.skew = tt.skew })
				w.pass(time.Minute)
				if err := w.node.change(context.Background(), "test", func(time.Time) {
					w.node.opt.Clock = func() bool { return tt.synchronised }
				}); err != nil {
					t.Fatal(err)
				}
				c.wants(func(in *centralv1.Intent) {
					win := nodeWindow("w1", time.Hour)
					win.Start = timestamppb.New(time.Now().Add(5 * time.Minute))
					in.Windows = []*centralv1.Window{win}
				})
				w.pass(time.Second)
				if tt.away {
					c.kill()
				}
				w.pass(5 * time.Minute)
				s := w.snapshot()
				if opened := before(s.Decision, "video").Reason == policy.Maintenance; opened != tt.opens || s.Centre.NotOpened == tt.opens {
					t.Errorf("opened %v, %+v", opened, s.Centre)
				}
			})
		})
	}
}

func TestALastAnnouncerIsKeptInAHardFailureWhileTheCentreSaysSo(t *testing.T) {
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
		c.kill()
		w.pass(time.Minute)
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
		i := slices.IndexFunc(c.reports, func(r *centralv1.Report) bool {
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

func TestADisabledNodeDrainsAndAReserveWaitsForItsCall(t *testing.T) {
	governed(t, func(t *testing.T, w *world, c *centreFake) {
		c.wants(func(in *centralv1.Intent) { in.Disabled = true })
		w.pass(time.Second)
		w.expect("ix", gshut(ix4), gshut(ix6))
		w.pass(30 * time.Second)
		w.expect("ix")
		w.expectState("video", "withdrawn override drain: the node is disabled at the centre")
		c.wants(func(in *centralv1.Intent) { in.Disabled, in.Standby = false, true })
		w.pass(time.Second)
		w.expectState("video", "withdrawn override drain: standby: announces only when nothing else absorbs")
		c.wants(func(in *centralv1.Intent) { in.Activated = true })
		w.pass(time.Second)
		w.expect("ix", ix4, ix6)
	})
}

func TestAServiceReturnsInItsTurn(t *testing.T) {
	governed(t, func(t *testing.T, w *world, c *centreFake) {
		w.report("web", "refused")
		w.pass(time.Second)
		c.wants(func(in *centralv1.Intent) {
			in.ReturnAfter = map[string]*timestamppb.Timestamp{"video": timestamppb.New(time.Now().Add(time.Minute))}
		})
		w.report("web", "")
		w.pass(50 * time.Second)
		if got := w.state("video"); !strings.HasPrefix(got, "withdrawn fleet_limit returns in its turn") {
			t.Error(got)
		}
		w.pass(11 * time.Second)
		w.expect("ix", ix4, ix6)
		c.wants(func(in *centralv1.Intent) {
			in.ReturnAfter["video"] = timestamppb.New(time.Now().Add(time.Minute))
		})
		w.pass(time.Second)
		w.expect("ix", ix4, ix6) // what is announced does not wait
	})
}

func TestAFrozenFleetChangesNothingByItselfButForHardFailures(t *testing.T) {
	governed(t, func(t *testing.T, w *world, c *centreFake) {
		c.wants(func(in *centralv1.Intent) { in.Frozen = true })
		w.pass(time.Second)
		w.report("origin", "timeout")
		w.figures("uplink", 9.9e9, 3*time.Minute)
		w.expect("transit", transit4, transit6, dns4)
		w.report("web", "refused")
		w.rest()
		w.expect("transit", dns4)
		w.report("web", "")
		w.pass(time.Minute)
		w.expect("transit", transit4, transit6, dns4)
		c.wants(func(in *centralv1.Intent) { in.Frozen = false })
		w.figures("uplink", 9.9e9, 3*time.Minute)
		if got := w.state("video"); !strings.HasPrefix(got, "steered") {
			t.Error(got)
		}
	}, measured[:4]...)
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

func TestADrainEndsEarlyOnAQuietLinkOnly(t *testing.T) {
	for name, load := range map[string]float64{"quiet": 1e8, "busy": 1e9, "no figures": -1} {
		governed(t, func(t *testing.T, w *world, c *centreFake) {
			c.set(func() { c.grants = true })
			c.wants(func(in *centralv1.Intent) {
				win := nodeWindow("w1", time.Hour)
				win.Start, win.Lead = timestamppb.New(time.Now().Add(2*time.Minute)), durationpb.New(2*time.Minute)
				in.Windows = []*centralv1.Window{win}
			})
			for range 60 {
				if load >= 0 {
					w.figure("uplink", load)
				}
				w.pass(time.Second)
			}
			if gone := len(w.told("transit")) == 0; gone != (name == "quiet") {
				t.Errorf("%s: withdrawn at transit after a minute: %v", name, gone)
			}
			w.pass(65 * time.Second)
			w.expect("transit")
			w.expect("ix")
		}, measured[:4]...)
	}
}

func TestOverlappingWindowsNest(t *testing.T) {
	governed(t, func(t *testing.T, w *world, c *centreFake) {
		c.set(func() { c.grants = true })
		c.wants(func(in *centralv1.Intent) {
			in.Windows = []*centralv1.Window{nodeWindow("w1", 5*time.Minute), nodeWindow("w2", 10*time.Minute)}
		})
		w.pass(time.Minute)
		w.expect("ix")
		n := w.journal.len()
		w.pass(8 * time.Minute)
		if lines := w.journal.since(n, "tell"); lines != nil {
			t.Errorf("%q", lines)
		}
		if got := c.phase("w1"); got != "over" {
			t.Errorf("w1 is %s", got)
		}
		w.pass(2 * time.Minute)
		w.expect("ix", ix4, ix6)
		if held := c.last().GetHeld(); len(held) != 0 {
			t.Errorf("held: %v", held)
		}
	})
}

func TestAWindowThatIsCancelledOrEndedGivesTheNodeBackAtOnce(t *testing.T) {
	for name, end := range map[string]func(in *centralv1.Intent){
		"cancelled": func(in *centralv1.Intent) { in.Windows = nil },
		"ended":     func(in *centralv1.Intent) { in.Windows[0].Ended = timestamppb.Now() },
	} {
		governed(t, func(t *testing.T, w *world, c *centreFake) {
			c.set(func() { c.grants = true })
			c.wants(func(in *centralv1.Intent) { in.Windows = []*centralv1.Window{nodeWindow("w1", time.Hour)} })
			w.pass(time.Minute)
			w.expect("ix")
			c.wants(end)
			w.pass(time.Second)
			if got := w.told("ix"); !slices.Equal(got, []string{ix4, ix6}) {
				t.Errorf("%s: %q", name, got)
			}
		})
	}
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

func TestAnOpenWindowClosesWhenItsLengthHasPassedWhateverTheWallSays(t *testing.T) {
	begin := time.Now()
	o := maintenance.Occurrence{Window: "w1", Begin: begin, End: begin.Add(time.Hour)}
	e := &Edge{}
	e.centre.kept.Opened = map[string]opened{occurrenceID(o): {At: begin, Length: time.Hour}}
	for after, want := range map[time.Duration]bool{0: true, time.Hour - 1: true, time.Hour: false, 24 * time.Hour: false} {
		if got := e.isOpen(begin.Add(after), o); got != want {
			t.Errorf("after %v: open %v", after, got)
		}
	}
	o.Begin = begin.Add(time.Second)
	if e.isOpen(begin, o) {
		t.Error("another occurrence is open")
	}
}
