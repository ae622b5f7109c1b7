package policy

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// causes are what a decision says, without the times.
func causes(d Decision) []ServiceDecision {
	out := slices.Clone(d.Services)
	for i := range out {
		out[i].Since = time.Time{}
	}
	return out
}

// tick is the grid of all times in these tests.
const tick = 100 * time.Millisecond

func ticks(most int) *rapid.Generator[time.Duration] {
	return rapid.Map(rapid.IntRange(0, most), func(n int) time.Duration { return time.Duration(n) * tick })
}

// quick is a configuration whose waits are short, so that many of them end
// within a script.
func quick() Config {
	c := node()
	c.Services = append(c.Services, Service{Name: "dns", Neighbors: []Neighbor{both("b"), {Name: "c", IPv4: true}}})
	c.ReturnAfter, c.Grace = []time.Duration{2 * time.Second, 5 * time.Second}, 3*tick
	return c
}

// change is an input from a time on.
type change struct {
	after time.Duration // since the change before
	in    Input
}

// script is a course of events.
func script() *rapid.Generator[[]change] {
	health := rapid.Custom(func(t *rapid.T) Health {
		return Health{Hard: anyVerdict().Draw(t, "hard"), Soft: anyVerdict().Draw(t, "soft"), HardDetail: "web", SoftDetail: "origin"}
	})
	verdict := rapid.SampledFrom([]Verdict{Up, Up, Up, Down, Unknown})
	return rapid.Custom(func(t *rapid.T) []change {
		var out []change
		var words []Override
		now := t0
		for range rapid.IntRange(1, 12).Draw(t, "changes") {
			c := change{after: ticks(60).Draw(t, "after")}
			now = now.Add(c.after)
			if rapid.Bool().Draw(t, "a new word") {
				o := anyOverride().Draw(t, "word")
				o.Since = now.Add(-ticks(20).Draw(t, "ago"))
				o.Until = rapid.SampledFrom([]time.Time{{}, now.Add(ticks(80).Draw(t, "for"))}).Draw(t, "until")
				o.WithdrawAt = now.Add(ticks(40).Draw(t, "drain"))
				words = append(slices.Clone(words), o)
			}
			c.in = Input{
				Health:   map[string]Health{"video": health.Draw(t, "video"), "dns": health.Draw(t, "dns")},
				WayBack4: verdict.Draw(t, "way back 4"), WayBack6: verdict.Draw(t, "way back 6"), Overrides: words,
			}
			out = append(out, c)
		}
		return out
	})
}

// play runs a script and lists every change of the outcome with its time. Between
// changes of the input it asks when the decision says, and, if so told, at each
// tick.
func play(events []change, everyTick bool) []string {
	var s State
	var out []string
	var last []ServiceDecision
	ask := func(now time.Time, in Input) (wake time.Time) {
		in.Now = now
		var d Decision
		s, d = Next(quick(), s, in)
		if is := causes(d); !reflect.DeepEqual(is, last) {
			last = is
			out = append(out, fmt.Sprint(now.Sub(t0), is))
		}
		return d.Wake
	}
	now := t0
	for i, e := range events {
		now = now.Add(e.after)
		end := now.Add(15 * time.Second)
		if i+1 < len(events) {
			end = now.Add(events[i+1].after)
		}
		wake := ask(now, e.in)
		for at := now; ; {
			if everyTick {
				at = at.Add(tick)
			} else {
				at = wake
			}
			if at.IsZero() || !at.Before(end) {
				break
			}
			wake = ask(at, e.in)
		}
	}
	return out
}

func TestWakesAloneLeadWhereAskingAllTheTimeDoes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		events := script().Draw(t, "events")
		byWake, byTick := play(events, false), play(events, true)
		if !slices.Equal(byWake, byTick) {
			t.Fatalf("by wakes:\n%q\nby ticks:\n%q", byWake, byTick)
		}
	})
}

func TestBeforeTheWakeNothingChanges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s State
		var d Decision
		var in Input
		now := t0
		for _, e := range script().Draw(t, "events") {
			now, in = now.Add(e.after), e.in
			in.Now = now
			s, d = Next(quick(), s, in)
		}
		until := d.Wake
		if until.IsZero() {
			until = now.Add(100 * time.Hour) // never: however late
		}
		for range 5 {
			in.Now = in.Now.Add(time.Duration(rapid.Int64Range(0, int64(until.Sub(in.Now))-1).Draw(t, "later")))
			var again Decision
			s, again = Next(quick(), s, in)
			if !reflect.DeepEqual(causes(again), causes(d)) {
				t.Fatalf("wake %v, but at %v:\n%v\nbefore:\n%v", d.Wake, in.Now, causes(again), causes(d))
			}
			if !again.Wake.Equal(d.Wake) {
				t.Fatalf("at %v the wake moved from %v to %v", in.Now, d.Wake, again.Wake)
			}
			if !in.Now.Before(until.Add(-1)) {
				break
			}
		}
	})
}

// TestFailuresThatGrowOldEndNoHoldEarly: between two wakes a failure leaves the
// last hour, and the wait that was begun stays.
func TestFailuresThatGrowOldEndNoHoldEarly(t *testing.T) {
	s := inService(t)
	for _, now := range []time.Duration{time.Minute, 40 * time.Minute} {
		s, _ = Next(node(), s, with(at(now), Down, Up))
		s, _ = Next(node(), s, healthy(at(now+time.Second)))
		s, _ = Next(node(), s, healthy(at(now+2*time.Minute)))
	}
	s, _ = Next(node(), s, with(at(58*time.Minute), Down, Up)) // the third: 5 min
	s, d := Next(node(), s, healthy(at(59*time.Minute)))
	want := at(64 * time.Minute)
	if !d.Wake.Equal(want) {
		t.Fatalf("wake %v, want %v", d.Wake.Sub(t0), want.Sub(t0))
	}
	s, d = Next(node(), s, healthy(at(62*time.Minute))) // the first is older than an hour
	if d.Services[0].Severity != Withdrawn || !d.Wake.Equal(want) {
		t.Errorf("%v, wake %v; want withdrawn until %v", d.Services[0].Cause, d.Wake.Sub(t0), want.Sub(t0))
	}
	if _, d = Next(node(), s, healthy(want)); d.Services[0].Severity != Announced {
		t.Errorf("at the wake: %v", d.Services[0].Cause)
	}
}

func TestNextLeavesItsArgumentsAlone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s State
		now := t0
		for _, e := range script().Draw(t, "events") {
			now = now.Add(e.after)
			in := e.in
			in.Now = now
			c := quick()
			svc := s.Services["video"]
			spare := append(slices.Clone(svc.Hard.Failures), at(-time.Hour)) // room that an append could write to
			if s.Services != nil {
				svc.Hard.Failures = spare[:len(spare)-1]
				s.Services["video"] = svc
			}
			before := fmt.Sprintf("%#v %#v %#v %v", c, s, in, spare)
			next, _ := Next(c, s, in)
			if after := fmt.Sprintf("%#v %#v %#v %v", c, s, in, spare); after != before {
				t.Fatalf("before %s\nafter  %s", before, after)
			}
			s = next
		}
	})
}

func TestTheSameArgumentsGiveTheSameAnswer(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s State
		now := t0
		for _, e := range script().Draw(t, "events") {
			now = now.Add(e.after)
			in := e.in
			in.Now = now
			s1, d1 := Next(quick(), s, in)
			s2, d2 := Next(quick(), s, in)
			if !reflect.DeepEqual(s1, s2) || !reflect.DeepEqual(d1, d2) {
				t.Fatalf("%v %v\n%v %v", s1, d1, s2, d2)
			}
			s = s1
		}
	})
}
