package policy

import (
	"encoding/json"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// observation is a verdict at a time.
type observation struct {
	at      time.Time
	verdict Verdict
}

// history answers from all that was ever observed what a Hold answers from what
// it remembers.
type history []observation

// inService says whether the thing counts as good at the i-th observation.
func (h history) inService(i int) bool {
	if i < 0 || h[i].verdict != Up {
		return false
	}
	down := i
	for down >= 0 && h[down].verdict != Down {
		down--
	}
	if down < 0 || h.anyInService(down+1, i) {
		return true // it never failed, or has returned since
	}
	began := down // the first failure since it was last in service
	for j := down; j >= 0 && !h.inService(j); j-- {
		if h[j].verdict == Down {
			began = j
		}
	}
	healthy := i
	for healthy > 0 && h[healthy-1].verdict == Up {
		healthy--
	}
	return h[i].at.Sub(h[healthy].at) >= h.wait(began)
}

func (h history) anyInService(from, to int) bool {
	for j := from; j < to; j++ {
		if h.inService(j) {
			return true
		}
	}
	return false
}

// wait is how long health must last after the failure at i.
func (h history) wait(i int) time.Duration {
	n := 0
	for j := range i + 1 {
		if h[j].verdict == Down && h.inService(j-1) && h[i].at.Sub(h[j].at) < time.Hour {
			n++
		}
	}
	if n == 0 {
		return 0
	}
	return ladder[min(n, len(ladder))-1]
}

func TestAHoldAgreesWithTheWholeHistory(t *testing.T) {
	verdicts := rapid.SampledFrom([]Verdict{Up, Up, Up, Up, Down, Down, Unknown})
	pauses := rapid.SampledFrom([]time.Duration{time.Second, 10 * time.Second, 45 * time.Second, time.Minute, 6 * time.Minute, 31 * time.Minute, 59 * time.Minute})
	rapid.Check(t, func(t *rapid.T) {
		var h Hold
		var all history
		now := t0
		for i := range rapid.IntRange(1, 14).Draw(t, "observations") {
			now = now.Add(pauses.Draw(t, "pause"))
			o := observation{now, verdicts.Draw(t, "verdict")}
			all = append(all, o)
			h, _ = h.next(now, o.verdict, ladder)
			if want := all.inService(i); h.InService != want {
				t.Fatalf("observation %d of %v: in service %v, want %v", i, all, h.InService, want)
			}
		}
	})
}

func TestTheWaitGrowsWithTheFailuresOfTheLastHour(t *testing.T) {
	s := inService(t)
	now := t0
	step := func(d time.Duration, v Verdict) Decision {
		now = now.Add(d)
		var out Decision
		s, out = Next(node(), s, with(now, v, Up))
		return out
	}
	for i, want := range append(ladder, ladder[3]) {
		if d := step(time.Second, Down); d.Services[0].Severity != Withdrawn {
			t.Fatalf("failure %d: %v", i+1, d.Services[0].Cause)
		}
		d := step(time.Second, Up)
		if got := d.Wake.Sub(now); got != want {
			t.Errorf("failure %d: returns after %v, want %v", i+1, got, want)
		}
		if d = step(want-time.Nanosecond, Up); d.Services[0].Severity != Withdrawn {
			t.Errorf("failure %d: %v before its time", i+1, d.Services[0].Severity)
		}
		if d = step(time.Nanosecond, Up); d.Services[0].Severity != Announced {
			t.Errorf("failure %d: %v at its time", i+1, d.Services[0].Cause)
		}
	}
	step(time.Hour, Down)
	if d := step(time.Second, Up); d.Wake.Sub(now) != ladder[0] {
		t.Errorf("an hour later: returns after %v, want %v: older failures are forgotten", d.Wake.Sub(now), ladder[0])
	}
}

func TestHealthMustLastWithoutAFailure(t *testing.T) {
	s, now := inService(t), at(time.Second)
	s, _ = Next(node(), s, with(now, Down, Up))
	for range 50 { // 9 s of health, again and again
		now = now.Add(time.Second)
		s, _ = Next(node(), s, with(now, Up, Up))
		now = now.Add(9 * time.Second)
		s, _ = Next(node(), s, with(now, Up, Up))
		var d Decision
		s, d = Next(node(), s, with(now, Down, Up))
		if d.Services[0].Severity != Withdrawn {
			t.Fatalf("at %v: %v", now.Sub(t0), d.Services[0].Cause)
		}
	}
	if n := len(s.Services["video"].Hard.Failures); n != 1 {
		t.Errorf("%d failures while out of service count; one was in service", n)
	}
}

// announcementChanges drives Next by its wakes and a flapping input, and counts
// how often what is announced changes.
func announcementChanges(s State, flaps int, every time.Duration, flap func(in *Input, up bool)) (changes int, last Severity) {
	now := t0
	last = Announced
	ask := func(in Input) (wake time.Time) {
		var d Decision
		s, d = Next(node(), s, in)
		if is := d.Services[0].Severity; is != last {
			changes, last = changes+1, is
		}
		return d.Wake
	}
	for i := range flaps {
		now = now.Add(every)
		in := healthy(now)
		flap(&in, i%2 == 1)
		for wake := ask(in); !wake.IsZero() && wake.Before(now.Add(every)); {
			in.Now = wake
			wake = ask(in)
		}
	}
	return changes, last
}

func TestAFlappingInputDoesNotFlapThePrefix(t *testing.T) {
	hard := func(in *Input, up bool) {
		if !up {
			in.Health["video"] = Health{Hard: Down, Soft: Up, HardDetail: "web"}
		}
	}
	soft := func(in *Input, up bool) {
		if !up {
			in.Health["video"] = Health{Hard: Up, Soft: Down, SoftDetail: "origin"}
		}
	}
	back := func(in *Input, up bool) {
		if !up {
			in.WayBack4, in.WayBack6 = Down, Down
		}
	}
	for _, tt := range []struct {
		name     string
		flap     func(*Input, bool)
		every    time.Duration // half a period
		changes  int
		severity Severity
	}{
		{"hard at 1 Hz", hard, 500 * time.Millisecond, 1, Withdrawn},
		{"soft at 1 Hz", soft, 500 * time.Millisecond, 1, Steered},
		{"way back at 1 Hz, within the grace", back, 500 * time.Millisecond, 0, Announced},
		{"way back, longer than the grace", back, 7 * time.Second, 1, Withdrawn},
		{"hard, just short of the first wait", hard, 9999 * time.Millisecond, 1, Withdrawn},
	} {
		flaps := int(10 * time.Minute / tt.every)
		changes, severity := announcementChanges(inService(t), flaps, tt.every, tt.flap)
		if changes != tt.changes || severity != tt.severity {
			t.Errorf("%s: %d changes, in the end %v; want %d, %v", tt.name, changes, severity, tt.changes, tt.severity)
		}
	}
}

func TestAnyFlappingForTenMinutesChangesLittle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		every := time.Duration(rapid.IntRange(200, 20_000).Draw(t, "half a period in ms")) * time.Millisecond
		changes, _ := announcementChanges(inService(t), int(10*time.Minute/every), every, func(in *Input, up bool) {
			if !up {
				in.Health["video"] = Health{Hard: Down, Soft: Up, HardDetail: "web"}
			}
		})
		// Below the first wait it never returns; above, the second wait ends it.
		if most := 3; changes > most {
			t.Fatalf("%d changes, want at most %d", changes, most)
		}
	})
}

func TestAHoldOutlivesARestart(t *testing.T) {
	s := inService(t)
	for i := range 3 { // three failures: the wait is 5 min
		now := time.Duration(i) * 10 * time.Minute
		s, _ = Next(node(), s, with(at(now+time.Minute), Down, Up))
		if i < 2 {
			s, _ = Next(node(), s, with(at(now+2*time.Minute), Up, Up))
			s, _ = Next(node(), s, with(at(now+8*time.Minute), Up, Up))
		}
	}
	s = restart(t, s)
	begin := at(22 * time.Minute)
	s, d := Next(node(), s, healthy(begin))
	if got, want := d.Services[0].Cause, (Cause{Withdrawn, HardFailure, "healthy again; returns after 5m0s without a failure"}); got != want {
		t.Errorf("after the restart: %v, want %v", got, want)
	}
	if !d.Wake.Equal(begin.Add(5 * time.Minute)) {
		t.Errorf("wake %v, want 5 min after the start", d.Wake)
	}
	if _, d = Next(node(), s, healthy(d.Wake)); d.Services[0].Severity != Announced {
		t.Errorf("when health has lasted: %v", d.Services[0].Cause)
	}
}

// restart takes a state through its JSON form.
func restart(t rapid.TB, s State) State {
	t.Helper()
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var out State
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestARestartInServiceIsNoFailure(t *testing.T) {
	s := restart(t, inService(t))
	s, d := Next(node(), s, with(at(time.Minute), Unknown, Unknown))
	if d.Services[0].Severity != Withdrawn {
		t.Errorf("before the first verdict: %v", d.Services[0].Cause)
	}
	if _, d = Next(node(), s, healthy(at(time.Minute+time.Second))); d.Services[0].Severity != Announced {
		t.Errorf("with the first verdict: %v", d.Services[0].Cause)
	}
}

func TestWithoutALadderTheReturnIsAtOnce(t *testing.T) {
	c := node()
	c.ReturnAfter = nil
	s, _ := Next(c, inService(t), with(at(time.Second), Down, Up))
	if _, d := Next(c, s, healthy(at(2*time.Second))); d.Services[0].Severity != Announced {
		t.Errorf("%v", d.Services[0].Cause)
	}
}

func TestASoftFailureSteersThroughARestart(t *testing.T) {
	s, _ := Next(node(), inService(t), with(at(time.Second), Up, Down))
	s, d := Next(node(), restart(t, s), with(at(2*time.Second), Up, Unknown))
	if got, want := d.Services[0].Cause, (Cause{Steered, SoftFailure, "origin: slow"}); got != want {
		t.Errorf("before the first verdict: %v, want %v", got, want)
	}
	if _, d = Next(node(), s, healthy(at(3*time.Second))); d.Services[0].Severity != Steered || !d.Wake.Equal(at(13*time.Second)) {
		t.Errorf("with it: %v, wake %v; want steered for 10 s", d.Services[0].Cause, d.Wake)
	}
}
