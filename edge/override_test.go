package edge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/catchment-bgp/catchment/policy"
)

var video = Selector{Services: []string{"video"}}

// at is a selector of the service video at neighbours.
func at(neighbors ...string) Selector {
	return Selector{Services: []string{"video"}, Neighbors: neighbors}
}

// say says an operator's word and expects it to be taken.
func (w *world) say(s Selector, word Word) []policy.Override {
	w.t.Helper()
	if word.Reason == "" {
		word.Reason = "a test"
	}
	out, _, err := w.node.SetOverride(context.Background(), s, word)
	if err != nil {
		w.t.Fatal(err)
	}
	w.rest()
	return out
}

func (w *world) auto(s Selector) {
	w.t.Helper()
	if _, _, err := w.node.ClearOverride(context.Background(), s, "done", "test"); err != nil {
		w.t.Fatal(err)
	}
	w.rest()
}

func TestADrainIsGSHUTAndThenWithdrawn(t *testing.T) {
	up(t, func(t *testing.T, w *world) {
		n := w.journal.len()
		w.say(video, Word{Verb: policy.Drain})
		w.expect("ix", gshut(ix4), gshut(ix6))
		w.expect("transit", gshut(transit4), gshut(transit6), dns4)
		w.pass(30*time.Second - 1)
		w.expect("ix", gshut(ix4), gshut(ix6))
		w.pass(1)
		w.expect("ix")
		w.expect("transit", dns4)
		if lines := w.journal.since(n, "sessions"); lines != nil {
			t.Errorf("sessions were touched: %q", lines) // U9
		}
		w.auto(video)
		w.expect("ix", ix4, ix6)
	})
}

func TestADrainOfOneNeighbourLeavesTheOthers(t *testing.T) {
	up(t, func(t *testing.T, w *world) {
		n := w.journal.len()
		w.say(at("ix"), Word{Verb: policy.Drain})
		w.expect("ix", gshut(ix4), gshut(ix6))
		w.pass(time.Minute)
		w.expect("ix")
		w.auto(at("ix"))
		w.expect("ix", ix4, ix6)
		if lines := w.journal.since(n, "transit"); lines != nil {
			t.Errorf("transit was told: %q", lines)
		}
		if !strings.Contains(w.log.String(), `"service announced at one neighbour"`) {
			t.Errorf("the return of one neighbour is not logged:\n%s", w.log)
		}
	})
}

// announcedSince says whether a neighbour was ever told of a route of video since.
func (w *world) announcedSince(n int, neighbor string) bool {
	return w.journal.since(n, "tell "+neighbor, "198.51.100.0/24") != nil
}

func TestWhatIsWithdrawnOrDrainedIsNeverAnnouncedByADrain(t *testing.T) {
	drain := func(s Selector) func(*world) { return func(w *world) { w.say(s, Word{Verb: policy.Drain}) } }
	withdraw := func(s Selector) func(*world) { return func(w *world) { w.say(s, Word{Verb: policy.Withdraw}) } }
	wait := func(d time.Duration) func(*world) { return func(w *world) { w.pass(d) } }
	for _, tt := range []struct {
		name  string
		first []func(*world)
		then  Selector
		at    []string // where nothing may be announced
	}{
		{"withdrawn", []func(*world){withdraw(video)}, video, []string{"ix", "transit"}},
		{"withdrawn, then at one", []func(*world){withdraw(video)}, at("ix"), []string{"ix", "transit"}},
		{"withdrawn at one, then all", []func(*world){withdraw(at("ix"))}, video, []string{"ix"}},
		{"drained", []func(*world){drain(video), wait(time.Minute)}, video, []string{"ix", "transit"}},
		{"drained at one, then all", []func(*world){drain(at("ix")), wait(time.Minute)}, video, []string{"ix"}},
		{"dead", []func(*world){func(w *world) { w.report("web", "refused"); w.rest() }}, video, []string{"ix", "transit"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			up(t, func(t *testing.T, w *world) {
				for _, f := range tt.first {
					f(w)
				}
				n := w.journal.len()
				w.say(tt.then, Word{Verb: policy.Drain})
				w.pass(time.Minute)
				w.say(tt.then, Word{Verb: policy.Drain}) // and once more
				w.report("web", "")
				w.pass(time.Minute)
				for _, neighbor := range tt.at {
					if w.announcedSince(n, neighbor) {
						t.Errorf("announced to %s: %q", neighbor, w.journal.since(n))
					}
				}
				w.expect("ix")
			})
		})
	}
}

func TestASecondDrainDoesNotPutOffTheEndOfTheFirst(t *testing.T) {
	up(t, func(t *testing.T, w *world) {
		w.say(at("ix"), Word{Verb: policy.Drain})
		w.pass(10 * time.Second)
		w.say(video, Word{Verb: policy.Drain})
		w.pass(20 * time.Second)
		w.expect("ix")
		w.expect("transit", gshut(transit4), gshut(transit6), dns4)
		w.pass(10 * time.Second)
		w.expect("transit", dns4)
	})
}

func TestAReloadWithALongerDrainDoesNotAnnounceWhatIsDrained(t *testing.T) {
	up(t, func(t *testing.T, w *world) {
		w.say(video, Word{Verb: policy.Drain})
		w.pass(time.Minute)
		n := w.journal.len()
		w.reload("drain: 30s", "drain: 1h")
		w.pass(time.Minute)
		if w.announcedSince(n, "ix") {
			t.Errorf("%q", w.journal.since(n))
		}
	})
}

func TestOverridesAreKeptOverARestart(t *testing.T) {
	up(t, func(t *testing.T, w *world) {
		w.say(video, Word{Verb: policy.Drain, By: "root (uid 0)", Reason: "kernel upgrade"})
		w.say(Selector{Services: []string{"dns"}}, Word{Verb: policy.Withdraw, For: time.Hour})
		w.pass(time.Minute)
		was := fmt.Sprint(w.written())
		w.stop()
		n := w.journal.len()
		w.start()
		w.well()
		w.pass(time.Minute)
		if lines := w.journal.since(n, " via "); lines != nil {
			t.Errorf("announced after the restart: %q", lines)
		}
		if got := fmt.Sprint(w.written()); got != was {
			t.Errorf("%v, want %v", got, was)
		}
		w.pass(time.Hour)
		w.expect("transit", dns4) // the second has run out
	})
}

// TestADrainUnderWayDoesNotAnnounceInTheNextRun restarts a node in its drain time.
func TestADrainUnderWayDoesNotAnnounceInTheNextRun(t *testing.T) {
	up(t, func(t *testing.T, w *world) {
		w.say(video, Word{Verb: policy.Drain})
		w.pass(time.Second)
		w.stop()
		n := w.journal.len()
		w.start()
		w.well()
		w.pass(time.Minute)
		if w.announcedSince(n, "ix") { // which has video only
			t.Errorf("announced after the restart: %q", w.journal.since(n, " via "))
		}
	})
}

// written are the overrides in force as they are kept on disk.
func (w *world) written() []string {
	var out []string
	for _, o := range w.snapshot().Overrides {
		text, err := json.Marshal(o)
		if err != nil {
			w.t.Fatal(err)
		}
		out = append(out, string(text))
	}
	return out
}

func TestAnOverrideRunsOut(t *testing.T) {
	up(t, func(t *testing.T, w *world) {
		w.say(video, Word{Verb: policy.Withdraw, For: time.Minute})
		w.pass(time.Minute - 1)
		w.expect("ix")
		w.pass(1)
		w.expect("ix", ix4, ix6)
		if got := w.snapshot().Overrides; len(got) != 0 {
			t.Errorf("still in force: %v", got)
		}
		state, err := os.ReadFile(w.node.store.path)
		if err != nil || strings.Contains(string(state), `"verb"`) {
			t.Errorf("still kept: %s, %v", state, err)
		}
		if got := w.why("video")[0].Trigger; got != "end of an override" {
			t.Errorf("trigger %q", got)
		}
	})
}

func (w *world) why(service string) []Change {
	w.t.Helper()
	out, _, err := w.node.Why(context.Background(), service, 100)
	if err != nil {
		w.t.Fatal(err)
	}
	return out
}

func TestAWordTakesThePlaceOfTheOneBefore(t *testing.T) {
	up(t, func(t *testing.T, w *world) {
		w.say(at("ix"), Word{Verb: policy.Withdraw})
		got := w.say(video, Word{Verb: policy.Announce, Reason: "keep it"})
		if len(got) != 1 || got[0].Verb != policy.Announce || got[0].Neighbor != "" {
			t.Errorf("in force: %v", got)
		}
		w.expect("ix", ix4, ix6)
		got = w.say(at("ix", "ix"), Word{Verb: policy.Withdraw})
		if len(got) != 2 {
			t.Errorf("in force: %v", got)
		}
		w.expect("ix")
		w.expect("transit", transit4, transit6, dns4)
	})
}

func TestAnnounceHoldsThroughSoftFailuresOnly(t *testing.T) {
	up(t, func(t *testing.T, w *world) {
		w.report("origin", "502")
		w.rest()
		w.expect("transit", "198.51.100.0/24 via 10.77.1.1 +5 [57629:101 65001:3001]", "2001:db8:100::/48 via fd77:1::1 +5 [57629:101 65001:3001]", dns4)
		w.expect("ix", gshut(ix4), gshut(ix6))
		w.say(video, Word{Verb: policy.Announce})
		w.expect("ix", ix4, ix6)
		w.report("web", "refused")
		w.rest()
		w.expect("ix")
	})
}

func TestAnnouncingADeadServiceIsRefused(t *testing.T) {
	kill := func(w *world) { w.report("web", "refused"); w.rest() }
	for name, prepare := range map[string]func(*world){
		"dead":               kill,
		"dead and withdrawn": func(w *world) { w.say(video, Word{Verb: policy.Withdraw}); kill(w) },
		"healthy again": func(w *world) {
			kill(w)
			w.report("web", "")
			w.rest()
		},
	} {
		t.Run(name, func(t *testing.T) {
			up(t, func(t *testing.T, w *world) {
				prepare(w)
				n := w.journal.len()
				for _, s := range []Selector{video, at("ix")} {
					_, _, err := w.node.SetOverride(context.Background(), s, Word{Verb: policy.Announce, Reason: "x"})
					var refused RefusedError
					if !errors.As(err, &refused) || !strings.Contains(refused.Text, "--even-if-dead") {
						t.Errorf("%v: %v", s, err)
					}
				}
				w.pass(time.Second)
				if lines := w.journal.since(n); lines != nil {
					t.Errorf("something was done: %q", lines)
				}
				w.say(video, Word{Verb: policy.Announce, EvenIfDead: true})
				w.expect("ix", ix4, ix6)
			})
		})
	}
}

func TestSelectorsThatMeanNothingAreErrors(t *testing.T) {
	up(t, func(t *testing.T, w *world) {
		n := w.journal.len()
		for _, tt := range []struct { // F4
			selector Selector
			refused  bool
			want     string
		}{
			{Selector{}, false, "nothing is selected: name a service (video, dns), or write --all --expect 2"},
			{Selector{Neighbors: []string{"ix"}}, false, "nothing is selected"},
			{Selector{Services: []string{"vidoe"}}, false, `there is no service "vidoe"; this node has video, dns`},
			{Selector{Services: []string{"video", ""}}, false, `there is no service ""`},
			{Selector{Services: []string{"video"}, Neighbors: []string{"transit-b"}}, false, "service video is not announced to a neighbour \"transit-b\"; it has transit, ix"},
			{Selector{Services: []string{"dns"}, Neighbors: []string{"ix"}}, false, "service dns is not announced to a neighbour \"ix\"; it has transit"},
			{Selector{All: true}, false, "--all needs --expect with the number of services that you expect to hit; this node has 2"},
			{Selector{All: true, Services: []string{"video"}, Expect: 2}, false, "name services or --all, not both"},
			{Selector{All: true, Expect: 3}, true, "services selected: 2, expected: 3; nothing was changed"},
			{Selector{All: true, Expect: -1}, true, "services selected: 2, expected: -1; nothing was changed"},
			{Selector{Services: []string{"video"}, Expect: 2}, true, "services selected: 1, expected: 2; nothing was changed"},
		} {
			_, hit, err := w.node.SetOverride(context.Background(), tt.selector, Word{Verb: policy.Withdraw, Reason: "x"})
			if isRefused := errors.As(err, new(RefusedError)); err == nil || hit != 0 || isRefused != tt.refused || !strings.HasPrefix(err.Error(), tt.want) {
				t.Errorf("%+v: %d hit, %v; want %s", tt.selector, hit, err, tt.want)
			}
			if _, _, again := w.node.ClearOverride(context.Background(), tt.selector, "x", ""); again == nil || again.Error() != err.Error() {
				t.Errorf("%+v: auto says %v", tt.selector, again)
			}
		}
		w.rest()
		if lines := w.journal.since(n); lines != nil {
			t.Errorf("something was done: %q", lines)
		}
	})
}

func TestAllWithTheRightNumberHitsAll(t *testing.T) {
	up(t, func(t *testing.T, w *world) {
		out, hit, err := w.node.SetOverride(context.Background(), Selector{All: true, Expect: 2}, Word{Verb: policy.Withdraw, Reason: "site down"})
		if err != nil || hit != 2 || len(out) != 2 {
			t.Errorf("%v, %d, %v", out, hit, err)
		}
		w.rest()
		w.expect("ix")
		w.expect("transit")
	})
}

func TestWordsThatMakeNoSenseAreErrors(t *testing.T) {
	up(t, func(t *testing.T, w *world) {
		for want, word := range map[string]Word{
			"a reason is needed":              {Verb: policy.Drain, Reason: " \t"},
			"the reason must be one line":     {Verb: policy.Drain, Reason: "two\nlines"},
			"the reason must be one line of ": {Verb: policy.Drain, Reason: strings.Repeat("x", 501)},
			"--for -1s":                       {Verb: policy.Drain, Reason: "x", For: -time.Second},
			"--even-if-dead goes with":        {Verb: policy.Withdraw, Reason: "x", EvenIfDead: true},
		} {
			if _, _, err := w.node.SetOverride(context.Background(), video, word); !errors.As(err, new(UsageError)) || !strings.HasPrefix(err.Error(), want) {
				t.Errorf("%+v: %v, want %s", word, err, want)
			}
		}
		if _, _, err := w.node.ClearOverride(context.Background(), video, "", ""); !errors.As(err, new(UsageError)) {
			t.Errorf("auto without a reason: %v", err)
		}
		if got := w.snapshot().Overrides; len(got) != 0 {
			t.Errorf("in force: %v", got)
		}
	})
}

func TestAutoAtOneNeighbourDoesNotLiftWhatHoldsForAll(t *testing.T) {
	up(t, func(t *testing.T, w *world) {
		w.say(video, Word{Verb: policy.Withdraw})
		_, _, err := w.node.ClearOverride(context.Background(), at("ix"), "x", "")
		if want := "withdraw of video is in force at all neighbours: lift it without naming a neighbour"; !errors.As(err, new(UsageError)) || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
		if got := w.snapshot().Overrides; len(got) != 1 {
			t.Errorf("in force: %v", got)
		}
	})
}

func TestAWordThatCannotBeKeptSaysSo(t *testing.T) {
	up(t, func(t *testing.T, w *world) {
		if err := os.Rename(w.dir+"/state", w.dir+"/elsewhere"); err != nil {
			t.Fatal(err)
		}
		_, _, err := w.node.SetOverride(context.Background(), video, Word{Verb: policy.Withdraw, Reason: "x"})
		if err == nil || !strings.HasPrefix(err.Error(), "this is in force, but is not yet kept over a restart: ") {
			t.Errorf("%v", err)
		}
		w.rest()
		w.expect("ix")
		if err := os.Rename(w.dir+"/elsewhere", w.dir+"/state"); err != nil {
			t.Fatal(err)
		}
		w.pass(time.Second)
		state, err := os.ReadFile(w.node.store.path)
		if err != nil || !strings.Contains(string(state), `"withdraw"`) {
			t.Errorf("a second later: %s, %v", state, err)
		}
		if n := strings.Count(w.log.String(), "could not be kept"); n != 1 {
			t.Errorf("%d lines in the log", n)
		}
	})
}
