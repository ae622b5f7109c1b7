package control

import (
	"math"
	"testing"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var start = time.Date(2026, 6, 1, 18, 0, 0, 0, time.UTC)

func after(d time.Duration) time.Time { return start.Add(d) }

// feed gives a controller a load each second and returns its last output.
func feed(c Config, s *State, from, seconds int, load func(i int) float64, shape func(*Sample)) (out Output) {
	for i := from; i < from+seconds; i++ {
		now := after(time.Duration(i) * time.Second)
		in := Sample{Load: load(i), At: now, Now: now}
		if shape != nil {
			shape(&in)
		}
		*s, out = c.Next(*s, in)
	}
	return out
}

func constant(load float64) func(int) float64 { return func(int) float64 { return load } }

func TestAShapeIsLinearBetweenItsPoints(t *testing.T) {
	for _, tt := range []struct {
		shape      Shape
		load, want float64
	}{
		{slowdown, 0, 0}, {slowdown, 0.70, 0}, {slowdown, 0.775, 0.075}, {slowdown, 0.85, 0.15}, {slowdown, 0.90, 0.325},
		{slowdown, 0.95, 0.50}, {slowdown, 1.00, 0.75}, {slowdown, 1.05, 1}, {slowdown, 7, 1},
		{drop, 0.75, 0}, {drop, 1.00, 0.15}, {drop, 9, 0.50}, {nil, 1, 0}, {Shape{{0.5, 0.2}}, 0.1, 0.2}, {Shape{{0.5, 0.2}}, 0.9, 0.2},
	} {
		if got := tt.shape.At(tt.load); math.Abs(got-tt.want) > 1e-12 {
			t.Errorf("%v at %v: %v, want %v", tt.shape, tt.load, got, tt.want)
		}
	}
}

func TestAShapeThatIsNoneIsRefused(t *testing.T) {
	for _, tt := range []struct {
		shape Shape
		want  string
	}{
		{slowdown, ""}, {drop, ""}, {nil, ""},
		{Shape{{-1, 0}}, "point 0: load -1: want 0 to 10"},
		{Shape{{math.NaN(), 0}}, "point 0: load NaN: want 0 to 10"},
		{Shape{{0.5, 1.5}}, "point 0: share 1.5: want 0 to 1"},
		{Shape{{0.5, 0}, {0.5, 1}}, "point 1: load 0.5: want more than 0.5, that of the point before"},
		{Shape{{0.5, 0.5}, {0.6, 0.4}}, "point 1: share 0.4: want 0.5, that of the point before, or more"},
	} {
		err := tt.shape.Check()
		if (err == nil) != (tt.want == "") || err != nil && err.Error() != tt.want {
			t.Errorf("%v: %v, want %s", tt.shape, err, tt.want)
		}
	}
}

func TestWhatIsNotConfiguredHasItsDefault(t *testing.T) {
	c := Config{Mode: PI, Target: 0.7}.Complete()
	if c.Target != 0.7 || math.Abs(c.High-0.73) > 1e-9 || math.Abs(c.Low-0.63) > 1e-9 || c.DeadTime != 180*time.Second || c.Slowdown == nil || c.Drop == nil {
		t.Errorf("%+v", c)
	}
	if d := (Config{Mode: Curve}).Complete(); d.Target != 0.82 || d.Window != 180*time.Second || d.Swing != 0.10 || d.Segment != 5*time.Second {
		t.Errorf("%+v", d)
	}
}

func TestThresholdStepsUpAndDown(t *testing.T) {
	for _, sessions := range []bool{false, true} {
		c := Default(Threshold)
		c.Sessions = sessions
		var s State
		for i, tt := range []struct {
			load       float64
			step       int
			slow, shed float64 // with sessions
		}{{0.80, 0, 0, 0}, {0.86, 1, 0.1, 0.1}, {0.90, 1, 0.2, 0.2}, {0.80, 0, 0.2, 0.2}, {0.74, -1, 0.1, 0.1}, {0.5, -1, 0, 0}, {0.5, -1, 0, 0}} {
			now := after(time.Duration(i) * time.Second)
			var out Output
			s, out = c.Next(s, Sample{Load: tt.load, At: now, Now: now, InForce: 0.3})
			if out.Step != tt.step {
				t.Errorf("load %v: step %d, want %d", tt.load, out.Step, tt.step)
			}
			if want := 0.3 + 0.1*float64(tt.step); !sessions && math.Abs(out.Shed-want) > 1e-9 {
				t.Errorf("load %v: shed %v, want %v", tt.load, out.Shed, want)
			}
			if sessions && (math.Abs(out.Slowdown-tt.slow) > 1e-9 || math.Abs(out.Shed-tt.shed) > 1e-9 || out.Drop != 0) {
				t.Errorf("load %v: %+v", tt.load, out)
			}
		}
	}
}

func TestDampingGrowsWithTwoReversalsAndFadesWhenQuiet(t *testing.T) {
	c := Default(Damped)
	var s State
	out := feed(c, &s, 0, 60, func(i int) float64 { return 0.7 + 0.3*float64(i)/60 }, nil)
	if out.Extra != 0 {
		t.Errorf("a rise alone is no oscillation: %+v", out)
	}
	out = feed(c, &s, 60, 400, func(i int) float64 { return 0.85 + 0.1*math.Sin(float64(i)/10) }, nil)
	if out.Extra != mostExtra || out.Reduce != 0 || out.Drop != 0 {
		t.Errorf("swinging: %+v", out)
	}
	out = feed(c, &s, 460, 600, constant(0.80), nil)
	if out.Extra >= mostExtra || out.Extra <= 0 {
		t.Errorf("quiet for 10 min: %+v", out)
	}
	if plain := c.Slowdown.At(0.80); math.Abs(out.Slowdown-plain-out.Extra) > 1e-9 {
		t.Errorf("slowdown %v, want %v and %v", out.Slowdown, plain, out.Extra)
	}
	out = feed(c, &s, 1060, 3000, constant(0.80), nil)
	if out.Extra != 0 || out.Reduce <= 0 || out.Slowdown >= c.Slowdown.At(0.80) {
		t.Errorf("quiet for an hour: %+v", out)
	}
	was := out.Reduce
	if out = feed(c, &s, 4060, 20, constant(0.84), nil); out.Reduce >= was {
		t.Errorf("over the target: %+v", out)
	}
	if out = feed(c, &s, 4080, 1, constant(0.5), nil); out.Slowdown != 0 {
		t.Errorf("nothing to refuse for: %+v", out)
	}
}

func TestPIAsksForWhatBringsTheTarget(t *testing.T) {
	for _, tt := range []struct{ demand, inForce, want float64 }{
		{0.5, 0, 0}, {0.82, 0, 0}, {1.0, 0, 0.18}, {1.64, 0, 0.5}, {1.64, 0.5, 0.5}, {1.0, 0.5, 0.18}, {3, 0.8, 1 - 0.82/3},
	} {
		var s State
		out := feed(Default(PI), &s, 0, 30, constant(tt.demand*(1-tt.inForce)), func(in *Sample) { in.InForce, in.Hold = tt.inForce, true })
		if math.Abs(out.Shed-tt.want) > 0.005 || math.Abs(out.Demand-tt.demand) > 1e-9 {
			t.Errorf("%+v: %+v", tt, out)
		}
	}
}

func TestPIPutsASmallErrorThatStaysRight(t *testing.T) {
	var s State
	out := feed(Default(PI), &s, 0, 600, constant(0.84), nil)
	if first := 1 - 0.82/0.84; out.Shed < first+0.03 || out.Shed > first+mostSum+0.001 {
		t.Errorf("after 10 min 2 points over the target: %+v", out)
	}
	if held := feed(Default(PI), &s, 600, 600, constant(0.84), func(in *Sample) { in.Hold = true }); held.Shed != out.Shed {
		t.Errorf("frozen, it went on from %v to %v", out.Shed, held.Shed)
	}
	if out = feed(Default(PI), &s, 1200, 10, constant(0.80), nil); out.Shed > 0.005 {
		t.Errorf("below the target: %+v", out)
	}
	if out = feed(Default(PI), &s, 1210, 10, constant(0), nil); out.Shed != 0 {
		t.Errorf("without load: %+v", out)
	}
}

func TestPISubtractsWhatIsInFlight(t *testing.T) {
	c := Default(PI)
	moved := after(100 * time.Second)
	for _, tt := range []struct {
		name  string
		shown func(age float64) float64 // the part of the step that shows
	}{
		{"nothing shows yet", func(float64) float64 { return 0 }},
		{"all shows at once", func(float64) float64 { return 1 }},
		{"shows evenly", func(age float64) float64 { return min(1, age/180) }},
		{"shows with a delay", func(age float64) float64 { return clamp((age-60)/60, 0, 1) }},
	} {
		var s State
		feed(c, &s, 0, 101, constant(1.2), nil)
		for i := 101; i < 270; i++ {
			shed := 0.4 * tt.shown(float64(i-100))
			out := feed(c, &s, i, 1, constant(1.2*(1-shed)), func(in *Sample) { in.InForce, in.Moved = 0.4, moved })
			if want := 1 - 0.82/1.2; out.Shed > 0.4+0.03 && tt.name != "nothing shows yet" || i < 160 && math.Abs(out.Shed-want) > 0.1 {
				t.Fatalf("%s, %d s after the move: shed %v, want about %v", tt.name, i-100, out.Shed, want)
			}
		}
	}
}

func TestARampIsSeenBeforeItArrives(t *testing.T) {
	var s State
	ramp := func(i int) float64 { return 0.6 + 0.6*clamp(float64(i-60)/60, 0, 1) }
	out := feed(Default(PI), &s, 0, 85, ramp, nil)
	if s.Load > 0.86 || out.Shed < 0.2 || out.Shed > 0.5 || out.Forecast < 1.0 {
		t.Errorf("at %v, on the way to 1.2: %+v", s.Load, out)
	}
	out = feed(Default(PI), &s, 85, 100, ramp, nil)
	if math.Abs(out.Forecast-1.2) > 0.05 {
		t.Errorf("arrived: %+v", out)
	}
	s = State{}
	out = feed(Default(PI), &s, 0, 200, func(i int) float64 { return 0.78 + 0.02*math.Sin(float64(i)*1.7) }, nil)
	if out.Shed > 0.03 {
		t.Errorf("noise was taken for a trend: %+v", out)
	}
}

func TestPIMovesNoSessionsAfterItsPlanIsOver(t *testing.T) {
	c := Default(PI)
	c.Sessions = true
	s, out := c.Next(State{}, Sample{Load: 1, At: start, Now: start})
	if out.Drop <= 0 || !out.Until.Equal(after(20*time.Second)) {
		t.Fatalf("%+v", out)
	}
	late := Sample{Load: 1, At: start, Now: out.Until}
	if same, out := c.Next(s, late); out.Drop != 0 || !out.Until.IsZero() || same != s || out.Slowdown == 0 {
		t.Errorf("when the plan is over: %+v", out)
	}
}

func TestASampleThatIsNoneChangesNothing(t *testing.T) {
	for _, m := range []Mode{Off, Threshold, Curve, Damped, PI} {
		c := Default(m)
		s, was := c.Next(State{}, Sample{Load: 0.9, At: start, Now: start})
		for _, in := range []Sample{
			{Load: 1.5, At: start}, {Load: 1.5, At: after(-time.Second)}, {Load: 1.5}, {Load: math.NaN(), At: after(time.Second)},
			{Load: -1, At: after(time.Second)}, {Load: math.Inf(1), At: after(time.Second)}, {Load: 1e9, At: after(time.Second)},
		} {
			in.Now = start
			if got, out := c.Next(s, in); got != s || out != was {
				t.Errorf("mode %d, %+v: %+v, %+v", m, in, got, out)
			}
		}
	}
	if _, out := Default(Off).Next(State{}, Sample{Load: 2, At: start}); out.Shed != 0 || out.Slowdown != 0 || out.Drop != 0 || out.Demand != 2 {
		t.Errorf("off: %+v", out)
	}
}

func TestAnyLoadGivesShares(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := Default(rapid.SampledFrom([]Mode{Threshold, Curve, Damped, PI}).Draw(t, "mode"))
		c.Sessions = rapid.Bool().Draw(t, "sessions")
		share := rapid.Float64Range(0, 1)
		load := rapid.OneOf(rapid.Float64Range(0, 2), rapid.Float64())
		var s State
		now := start
		for range rapid.IntRange(1, 60).Draw(t, "samples") {
			now = now.Add(time.Duration(rapid.IntRange(-5, 400).Draw(t, "pause")) * time.Second)
			in := Sample{
				Load: load.Draw(t, "load"), At: now.Add(-time.Duration(rapid.IntRange(-5, 120).Draw(t, "age")) * time.Second), Now: now,
				InForce: share.Draw(t, "in force"), Before: share.Draw(t, "before"), Hold: rapid.Bool().Draw(t, "hold"),
			}
			if rapid.Bool().Draw(t, "has moved") {
				in.Moved = now.Add(-time.Duration(rapid.IntRange(-10, 300).Draw(t, "since")) * time.Second)
			}
			again := s
			var out, second Output
			s, out = c.Next(s, in)
			again, second = c.Next(again, in)
			if again != s || out != second {
				t.Fatalf("the same arguments gave %+v and %+v", out, second)
			}
			for _, v := range []float64{out.Shed, out.Slowdown, out.Drop, out.Extra, out.Reduce} {
				if !(v >= 0 && v <= 1) {
					t.Fatalf("%+v of %+v", out, in)
				}
			}
			if out.Extra > 0 && out.Reduce > 0 || out.Extra > mostExtra || out.Reduce > mostExtra {
				t.Fatalf("extra %v and reduction %v", out.Extra, out.Reduce)
			}
			if !(out.Demand >= 0 && out.Forecast >= 0) || math.IsInf(out.Demand+out.Forecast, 0) {
				t.Fatalf("%+v", out)
			}
		}
	})
}

func TestAConstantLoadIsAnsweredConstantly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := Default(rapid.SampledFrom([]Mode{Curve, Damped, PI}).Draw(t, "mode"))
		load := rapid.Float64Range(0, 2).Draw(t, "load")
		period := rapid.SampledFrom([]time.Duration{time.Second, 10 * time.Second, time.Minute}).Draw(t, "period")
		var s State
		turns, up := 0, true
		was := -1.0
		for i := range 300 {
			at := after(time.Duration(i) * period)
			var out Output
			s, out = c.Next(s, Sample{Load: load, At: at, Now: at})
			if was >= 0 && out.Shed != was && (out.Shed > was) != up {
				turns, up = turns+1, !up
			}
			was = out.Shed
		}
		if turns > 1 {
			t.Fatalf("%d turns", turns)
		}
	})
}
