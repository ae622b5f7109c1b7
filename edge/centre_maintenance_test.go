package edge

import (
	"context"
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
		c.set(func() { c.grants = true })
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
		skew, taken  time.Duration // of the centre's clock; of ours, beside what it is
		away, opens  bool
	}{
		{"far from the centre's", true, 7 * time.Second, 0, false, false},
		{"behind the centre's", true, -7 * time.Second, 0, true, false},
		{"taken to be ahead of the centre's", true, 0, 7 * time.Second, false, false},
		{"taken to be as far ahead as the centre's", true, 7 * time.Second, 7 * time.Second, false, true},
		{"not synchronised, and the centre away", false, 0, 0, true, false},
		{"not synchronised, and the centre there", false, 0, 0, false, true},
		{"synchronised, and the centre away", true, 0, 0, true, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			governed(t, func(t *testing.T, w *world, c *centreFake) {
				c.set(func() { c.skew = tt.skew })
				w.pass(time.Minute)
				if err := w.node.change(context.Background(), "test", func(time.Time) {
					w.node.opt.Clock, w.node.opt.Ahead = func() bool { return tt.synchronised }, tt.taken
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
