package policy

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// anyTime is any time that a clock could be set to, and then some.
func anyTime() *rapid.Generator[time.Time] {
	return rapid.OneOf(
		rapid.Map(rapid.Int64Range(-5000, 5000), func(s int64) time.Time { return at(time.Duration(s) * time.Second) }),
		rapid.Map(rapid.Int64(), func(n int64) time.Time { return time.Unix(0, n) }),
		rapid.Map(rapid.Int64Range(-1<<40, 1<<40), func(s int64) time.Time { return time.Unix(s, 0) }),
		rapid.Just(time.Time{}),
	)
}

func anyVerdict() *rapid.Generator[Verdict] { return rapid.SampledFrom([]Verdict{Up, Down, Unknown}) }

func anyOverride() *rapid.Generator[Override] {
	return rapid.Custom(func(t *rapid.T) Override {
		return Override{
			Service:    rapid.SampledFrom([]string{"video", "dns"}).Draw(t, "service"),
			Neighbor:   rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "neighbor"),
			Verb:       rapid.SampledFrom([]Verb{Drain, Withdraw, Announce}).Draw(t, "verb"),
			Since:      anyTime().Draw(t, "since"),
			Until:      anyTime().Draw(t, "until"),
			WithdrawAt: anyTime().Draw(t, "withdraw at"),
			Reason:     "a test",
		}
	})
}

func TestNoClockAnnouncesADeadServiceOrReturnsAtOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := inService(t)
		failed := false // since it was last in service, and not yet healthy
		for range rapid.IntRange(1, 20).Draw(t, "calls") {
			in := with(anyTime().Draw(t, "now"), anyVerdict().Draw(t, "hard"), anyVerdict().Draw(t, "soft"))
			in.WayBack4, in.WayBack6 = anyVerdict().Draw(t, "way back 4"), anyVerdict().Draw(t, "way back 6")
			in.Overrides = rapid.SliceOfN(anyOverride(), 0, 3).Draw(t, "overrides")
			was := s.Services["video"].Hard
			var d Decision
			s, d = Next(node(), s, in)
			hard := in.Health["video"].Hard
			if hard != Up && d.Services[0].Severity != Withdrawn {
				t.Fatalf("hard %v at %v: %v", hard, in.Now, d.Services[0].Cause)
			}
			if failed && was.HealthySince.IsZero() && !in.Now.IsZero() && hard == Up && d.Services[0].Severity != Withdrawn {
				t.Fatalf("returned with the first healthy verdict at %v: %+v", in.Now, was)
			}
			failed = failed || was.InService && hard == Down
			failed = failed && !s.Services["video"].Hard.InService
			if !d.Wake.IsZero() && !d.Wake.After(in.Now) {
				t.Fatalf("wake %v is not after %v", d.Wake, in.Now)
			}
		}
	})
}

func TestAClockSetBackNeitherShortensNorStretchesAHold(t *testing.T) {
	s, _ := Next(node(), inService(t), with(at(time.Second), Down, Up))
	s, _ = Next(node(), s, healthy(at(2*time.Second)))
	back := at(-5 * time.Hour)
	s, d := Next(node(), s, healthy(back))
	if d.Services[0].Severity != Withdrawn || !d.Wake.Equal(back.Add(10*time.Second)) {
		t.Errorf("after the jump: %v, wake %v; want withdrawn for 10 s", d.Services[0].Cause, d.Wake)
	}
	s, d = Next(node(), s, healthy(d.Wake))
	if d.Services[0].Severity != Announced {
		t.Errorf("10 s later: %v", d.Services[0].Cause)
	}
	// The failure, now in the future, counts for an hour and no longer.
	s, _ = Next(node(), s, healthy(back.Add(time.Hour+11*time.Second)))
	if n := len(s.Services["video"].Hard.Failures); n != 0 {
		t.Errorf("%d failures are remembered an hour later", n)
	}
}

func TestAClockSetForwardKeepsTheHoldOfARestart(t *testing.T) {
	s, _ := Next(node(), inService(t), with(at(time.Second), Down, Up))
	later := at(9 * time.Hour)
	s, d := Next(node(), restart(t, s), healthy(later))
	if !d.Wake.Equal(later.Add(10 * time.Second)) {
		t.Errorf("wake %v, want 10 s of health: %v", d.Wake, d.Services[0].Cause)
	}
	if s.Services["video"].Hard.InService {
		t.Error("in service at once")
	}
}

func TestAClockSetBackStartsTheGraceAnew(t *testing.T) {
	s, in := inService(t), healthy(at(time.Second))
	in.WayBack4 = Down
	s, _ = Next(node(), s, in)
	in.Now = at(-time.Hour)
	s, d := Next(node(), s, in)
	if !d.Wake.Equal(in.Now.Add(5 * time.Second)) {
		t.Fatalf("wake %v, want the grace after %v", d.Wake, in.Now)
	}
	in.Now = d.Wake
	if _, d = Next(node(), s, in); d.Services[0].Neighbors[0].IPv4.Severity != Withdrawn {
		t.Errorf("after the grace: %v", d.Services[0].Neighbors[0].IPv4)
	}
}

func TestADrainThatIsOverStaysOverWhateverTheClock(t *testing.T) {
	for _, tt := range []struct {
		name string
		now  time.Time
		want Severity
	}{
		{"under way", at(time.Second), Draining},
		{"over", at(30 * time.Second), Withdrawn},
		{"long over", at(100 * time.Hour), Withdrawn},
		{"clock set back before its begin", at(-time.Nanosecond), Withdrawn},
		{"clock set back by years", at(-20000 * time.Hour), Withdrawn},
	} {
		in := healthy(tt.now)
		in.Overrides = []Override{{Service: "video", Verb: Drain, Reason: "x", Since: t0, WithdrawAt: at(30 * time.Second)}}
		if _, d := Next(node(), State{}, in); d.Services[0].Severity != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, d.Services[0].Severity, tt.want)
		}
	}
}
