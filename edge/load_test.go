package edge

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/catchment-bgp/catchment/load"
	"github.com/catchment-bgp/catchment/policy"
)

// hot runs the node with a link of 10 Gbit/s that carries 9.5 until a rung is taken.
func hot(t *testing.T, f func(t *testing.T, w *world), edits ...string) {
	t.Helper()
	up(t, func(t *testing.T, w *world) {
		w.figures("uplink", 9.5e9, time.Minute)
		f(t, w)
	}, append(slices.Clone(measured), edits...)...)
}

func TestALinkThatIsTooFullPutsItsNeighbourOnARung(t *testing.T) {
	hot(t, func(t *testing.T, w *world) {
		w.expect("transit", rung1v4, rung1v6, rung1dns)
		w.expect("ix", ix4, ix6)
		w.expectState("dns", "steered load transit on rung 1 of 3")
		s := w.snapshot()
		if c := s.Decision.Climbers[0]; c.Rung != 1 || s.Load.Moves["transit"] != 1 {
			t.Errorf("%+v, %v", c, s.Load.Moves)
		}
		l := s.proto().GetLinks()[0]
		if l.GetUtilization() != 0.95 || l.GetStale() || l.GetLoadBps() != 9.5e9 || l.GetAgeSeconds() > 2 {
			t.Errorf("%v", l)
		}
	})
}

func TestFiguresThatChangeNothingCostNoUpdateNoLineAndNoWrite(t *testing.T) {
	hot(t, func(t *testing.T, w *world) {
		w.rest()
		n, lines := w.journal.len(), strings.Count(w.log.String(), "\n")
		before, err := os.ReadFile(w.dir + "/state/state.json")
		if err != nil {
			t.Fatal(err)
		}
		w.figures("uplink", 8.3e9, 90*time.Second)
		after, err := os.ReadFile(w.dir + "/state/state.json")
		if err != nil || string(after) != string(before) {
			t.Errorf("the state was written: %v\n%s\nbefore:\n%s", err, after, before)
		}
		if got := w.journal.since(n); got != nil {
			t.Errorf("%q", got)
		}
		if text := strings.SplitAfter(w.log.String(), "\n")[lines:]; len(text) > 1 {
			t.Errorf("the log: %q", text)
		}
	})
}

func TestWhatARungShedsIsLearnedAndKept(t *testing.T) {
	up(t, func(t *testing.T, w *world) {
		for range 600 { // until the node moves, and what it moves is gone at once
			if w.snapshot().Load.Moves["transit"] > 0 {
				break
			}
			w.figures("uplink", 9.5e9, time.Second)
		}
		w.figures("uplink", 7e9, 10*time.Minute)
		text, err := os.ReadFile(w.dir + "/state/state.json")
		if err != nil || !strings.Contains(string(text), `"learned"`) {
			t.Errorf("%v: %s", err, text)
		}
	}, measured...)
}

func TestARungComesBackWhenTheLoadHasFallen(t *testing.T) {
	hot(t, func(t *testing.T, w *world) {
		w.figures("uplink", 3e9, 2*time.Minute)
		w.expect("transit", rung1v4, rung1v6, rung1dns)
		w.figures("uplink", 3e9, 5*time.Minute)
		w.expect("transit", transit4, transit6, dns4)
		w.expectState("dns", "announced normal")
		if moves := w.snapshot().Load.Moves["transit"]; moves != 2 {
			t.Errorf("%d moves", moves)
		}
	}, soonAgain, soonAgain+", dwell_down: 3m, down_after: 1m, dead_time: 30s")
}

func TestARestartStartsOnTheRungThatItHad(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.start(measured...)
		w.well()
		w.figures("uplink", 9.5e9, time.Minute)
		w.stop()
		n := w.journal.len()
		w.start(measured...)
		w.well()
		w.expect("transit", rung1v4, rung1v6, rung1dns)
		for _, line := range w.journal.since(n, "tell transit", "198.51.100.0/24") {
			if !strings.Contains(line, rung1v4) {
				t.Errorf("announced otherwise at first: %s", line)
			}
		}
		w.pass(time.Hour) // without a figure
		w.expect("transit", rung1v4, rung1v6, rung1dns)
	})
}

func TestStaleFiguresHoldTheRung(t *testing.T) {
	hot(t, func(t *testing.T, w *world) {
		w.pass(2 * time.Hour)
		w.expect("transit", rung1v4, rung1v6, rung1dns)
		if l := w.snapshot().proto().GetLinks()[0]; !l.GetStale() || l.GetAgeSeconds() < 7200 {
			t.Errorf("%v", l)
		}
		if n := strings.Count(w.log.String(), "figures of the link are stale"); n != 1 {
			t.Errorf("told %d times:\n%s", n, w.log.String())
		}
		w.figures("uplink", 8.3e9, 2*time.Minute)
		if text := w.log.String(); strings.Count(text, "figures of the link are back") != 1 {
			t.Errorf("the log:\n%s", text)
		}
	})
}

func TestNothingIsShedWhileRepliesLeaveElsewhere(t *testing.T) {
	up(t, func(t *testing.T, w *world) {
		w.loseReturn("transit")
		w.figures("uplink", 9.9e9, 5*time.Minute)
		w.expect("transit", transit4, transit6, dns4)
		n := w.snapshot().proto().GetServices()[0].GetNeighbors()[0]
		if n.GetLinkControl() != "off" || !strings.Contains(n.GetLinkControlReason(), "no route") {
			t.Errorf("%s %q", n.GetLinkControl(), n.GetLinkControlReason())
		}
	}, measured...)
}

func TestALinkThatNobodyCanRelieveAbsorbsItsLoad(t *testing.T) {
	routed := append(slices.Clone(measured[:2]), measured[4:]...)
	up(t, func(t *testing.T, w *world) {
		w.figures("uplink", 9.9e9, time.Minute)
		if l := w.snapshot().proto().GetLinks()[0]; !l.GetAbsorb() || !strings.Contains(l.GetDetail(), "write return: symmetric") {
			t.Errorf("full: %v", l)
		}
		w.figures("uplink", 1e9, time.Minute)
		if l := w.snapshot().proto().GetLinks()[0]; l.GetAbsorb() {
			t.Errorf("no longer full: %v", l)
		}
		if text := w.log.String(); strings.Count(text, "link absorbs its load") != 1 {
			t.Errorf("the log:\n%s", text)
		}
	}, routed...)
}

func TestRepliesThatLeaveElsewhereHoldTheRung(t *testing.T) {
	hot(t, func(t *testing.T, w *world) {
		w.loseReturn("transit")
		w.figures("uplink", 1e9, time.Hour)
		w.expect("transit", rung1v4, rung1v6, rung1dns)
	})
}

func TestWithModeOffNothingIsMeasured(t *testing.T) {
	up(t, func(t *testing.T, w *world) {
		if w.sampler.hands().Link != nil {
			t.Error("a sampler runs")
		}
		if got := w.journal.since(0, "measure"); got != nil {
			t.Errorf("%q", got)
		}
	}, append(slices.Clone(measured), soonAgain, `mode: "off"`)...)
}

func TestAReloadLeavesASamplerAloneWhoseConfigurationIsTheSame(t *testing.T) {
	hot(t, func(t *testing.T, w *world) {
		n := w.journal.len()
		w.reload(append(slices.Clone(measured), "drain: 30s", "drain: 40s")...)
		if got := w.journal.since(n, "measure"); got != nil {
			t.Errorf("%q", got)
		}
		w.expect("transit", rung1v4, rung1v6, rung1dns)
		w.reload("links: [{name: uplink, capacity: 10Gbps}]", "links: [{name: uplink, capacity: 10Gbps, interface: eth2}]", measured[2], measured[3], measured[4], measured[5])
		if got := w.journal.since(n, "measure"); len(got) != 2 {
			t.Errorf("%q, want an end and a beginning", got)
		}
		w.expect("transit", rung1v4, rung1v6, rung1dns)
		w.reload(append(slices.Clone(measured), soonAgain, `mode: "off"`)...)
		w.expect("transit", transit4, transit6, dns4)
	})
}

func TestASamplerThatCannotStartIsTriedAgain(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.sampler.breaks("no netlink")
		w.start(measured...)
		w.well()
		w.pass(time.Minute)
		w.expect("transit", transit4, transit6, dns4)
		if n := strings.Count(w.log.String(), "load cannot be measured"); n != 1 {
			t.Errorf("told %d times", n)
		}
		w.sampler.breaks("")
		w.pass(samplerRetry)
		w.figures("uplink", 9.5e9, time.Minute)
		w.expect("transit", rung1v4, rung1v6, rung1dns)
		if !strings.Contains(w.log.String(), "load can be measured after all") {
			t.Errorf("the log:\n%s", w.log.String())
		}
	})
}

func TestManyFiguresMakeOneDecisionInAnInterval(t *testing.T) {
	up(t, func(t *testing.T, w *world) {
		news, decisions := w.node.News(), 0
		count := func() {
			select {
			case <-news:
				news = w.node.News()
				decisions++
			default:
			}
		}
		for i := range 100 {
			w.figure("uplink", float64(i)*1e7)
			w.pass(10 * time.Millisecond)
			count()
		}
		if decisions > 3 {
			t.Errorf("%d decisions in a second", decisions)
		}
		w.pass(time.Second)
		if s := w.snapshot(); s.Load.Samples["uplink"].Load != 99e7 {
			t.Errorf("%+v: not the newest", s.Load.Samples)
		}
	}, measured...)
}

func TestWhyTellsOfTheLoad(t *testing.T) {
	hot(t, func(t *testing.T, w *world) {
		w.pin("transit", 2, 0)
		_, loads, err := w.node.Why(context.Background(), "dns", 10)
		if err != nil || len(loads) < 2 {
			t.Fatalf("%v, %+v", err, loads)
		}
		if c := loads[0]; c.From != 1 || c.To != 2 || !strings.Contains(c.Detail, "pinned: a test") {
			t.Errorf("%+v", c)
		}
		i := slices.IndexFunc(loads, func(c LoadChange) bool { return c.From == 0 && c.To == 1 })
		if i < 0 {
			t.Fatalf("%+v", loads)
		}
		c := loads[i]
		if c.From != 0 || c.Utilization != 0.95 || !c.Known || c.Shed < 0.1 || c.Link != "uplink" || len(c.Inputs) == 0 || !strings.HasPrefix(c.Inputs[0], "link uplink 95.0% used (9500000000 bit/s)") {
			t.Errorf("%+v", c)
		}
		if _, loads, _ = w.node.Why(context.Background(), "", 1); len(loads) != 1 {
			t.Errorf("%+v", loads)
		}
	})
}

func TestASamplerKnowsTheMarksOfTheReturnPaths(t *testing.T) {
	up(t, func(t *testing.T, w *world) {
		for _, when := range []string{"at the start", "after a reload"} {
			w.sampler.mu.Lock()
			marks := w.sampler.marks
			w.sampler.marks = nil
			w.sampler.mu.Unlock()
			if marks[1<<24] != "transit" {
				t.Errorf("%s: %v", when, marks)
			}
			w.reload("links: [{name: uplink, capacity: 10Gbps}]", "links: [{name: uplink, capacity: 10Gbps, interface: eth7}]", measured[2], measured[3])
		}
	}, measured...)
}

func TestTheNodesOwnLoadIsGivenToThePolicy(t *testing.T) {
	up(t, func(t *testing.T, w *world) {
		w.sampler.hands().Node(load.Node{Utilization: 0.97, Resource: "cpu", At: time.Now()})
		w.pass(2 * time.Second)
		if s := w.snapshot(); s.Load.Node.Utilization != 0.97 {
			t.Errorf("%+v", s.Load.Node)
		}
		in := make(chan policy.Input, 1)
		if err := w.node.read(context.Background(), func(now time.Time) { in <- w.node.input(now, w.node.cfg) }); err != nil {
			t.Fatal(err)
		}
		if got := (<-in).Node; got.Load != 0.97 || got.Capacity != 1 {
			t.Errorf("%+v", got)
		}
	}, measured...)
}

func TestTheCountersOfAnInterfaceBecomeTheLoadOfALink(t *testing.T) {
	w := newWorld(t)
	w.real = true
	w.start("links: [{name: uplink, capacity: 10Gbps}]", "links: [{name: uplink, capacity: 10Gbps, interface: lo}]")
	defer w.stop()
	eventually(t, "a figure", func() bool {
		s, known := w.snapshot().Load.Samples["uplink"]
		return known && s.Load >= 0 && s.Capacity == 10e9 && time.Since(s.At) < 5*time.Second
	})
	if src := w.snapshot().Load.Sources; len(src) != 1 || !src[0].Up || src[0].Link != "uplink" {
		t.Errorf("%+v", src)
	}
}
