package edge

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/catchment-bgp/catchment/announcer"
	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
	"github.com/catchment-bgp/catchment/edge/config"
	"github.com/catchment-bgp/catchment/policy/flap"
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

// share is the node's part of the flap budget at its first neighbour.
func (w *world) share() (out flap.Share) {
	w.t.Helper()
	if err := w.node.read(context.Background(), func(time.Time) { out = w.node.policyConfig().Load.Climbers[0].Share }); err != nil {
		w.t.Fatal(err)
	}
	return out
}

func TestWithoutACentreTheStatusSaysNone(t *testing.T) {
	up(t, func(t *testing.T, w *world) {
		w.expectCentral("none")
		if text, err := os.ReadFile(w.dir + "/state/state.json"); err != nil || strings.Contains(string(text), "centre") {
			t.Errorf("the state: %s, %v", text, err)
		}
	})
}

func TestTheCentreIsToldAtHowManyNeighboursAServiceIsHeard(t *testing.T) {
	governed(t, func(t *testing.T, w *world, c *centreFake) {
		heard := func(want int32) {
			t.Helper()
			w.pass(time.Second)
			for _, s := range c.last().GetServices() {
				if s.GetName() == "video" && s.GetNeighbors() != want {
					t.Errorf("told of %d neighbours, want %d: %v", s.GetNeighbors(), want, s)
				}
			}
		}
		heard(2)
		w.announcerFake.locked(func() { w.announcerFake.down = true })
		w.announcerFake.poke()
		heard(0)
		w.announcerFake.locked(func() { w.announcerFake.down = false })
		w.announcerFake.poke()
		heard(2)
		w.report("web", "refused")
		heard(0)
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
		n := len(c.all())
		w.pass(time.Minute)
		if got := len(c.all()) - n; got < 5 || got > 7 {
			t.Errorf("%d reports in a minute", got)
		}
		w.report("web", "refused")
		w.pass(100 * time.Millisecond)
		if s := c.last().GetServices()[0]; s.GetState() != "withdrawn" || s.GetReason() != "hard_failure" || s.GetHard() != "down" {
			t.Errorf("%v", s)
		}
		for i := 1; i < len(c.all()); i++ {
			if c.all()[i].GetNumber() <= c.all()[i-1].GetNumber() {
				t.Errorf("report %d has number %d after %d", i, c.all()[i].GetNumber(), c.all()[i-1].GetNumber())
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
		if got := w.share(); got.Edges != 4 || got.Index != 2 {
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
		if got := w.share(); got.Edges != 4 {
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

func TestTheCentreIsToldOfMEDs(t *testing.T) {
	set := func(n uint32) announcer.Metric { return announcer.Metric{Value: n, Set: true} }
	e := &Edge{cfg: &config.Config{Central: &config.Central{}, Neighbors: []config.Neighbor{
		{MED: set(50), Ladder: []config.Rung{{Prepend: 1, PrependSet: true}}},
		{Ladder: []config.Rung{{Prepend: 1, PrependSet: true}, {MED: set(0)}}},
	}}}
	told := e.hello().GetNeighbors()
	if len(told) != 2 || told[0].GetMed() != 50 || told[0].GetMedRungs() || told[1].GetMed() != 0 || !told[1].GetMedRungs() {
		t.Errorf("the centre is told %v", told)
	}
}
