package control

import (
	"testing"
	"time"
)

// worldcup plays a match for each of 30 seeds.
func worldcup(m Mode, first float64, period time.Duration) (runs []course) {
	c := Default(m)
	c.Sessions = true
	for seed := range uint64(30) {
		runs = append(runs, play(c, seed, first, period, period))
	}
	return runs
}

func TestCurveSwingsInAntiphaseOnOldFigures(t *testing.T) {
	for seed, k := range worldcup(Curve, 0.5, time.Minute) {
		if k.swing < 0.30 || k.correlation > -0.5 || k.over < 3000 {
			t.Errorf("seed %d: %+v", seed, k)
		}
	}
	for seed, k := range worldcup(Curve, 0.5, 10*time.Second) {
		if k.swing > 0.05 {
			t.Errorf("seed %d, figures of 10 s: %+v", seed, k)
		}
	}
}

func TestNothingSwingsWithoutDrop(t *testing.T) {
	c := Default(Curve)
	c.Sessions, c.Drop = true, Shape{{1, 0}}
	for seed := range uint64(30) {
		if k := play(c, seed, 0.5, time.Minute, time.Minute); k.swing > 0.05 {
			t.Errorf("seed %d: %+v", seed, k)
		}
	}
}

func TestDampingCutsTheSwingToAThird(t *testing.T) {
	curve := worldcup(Curve, 0.5, time.Minute)
	for seed, k := range worldcup(Damped, 0.5, time.Minute) {
		if k.swing > curve[seed].swing/3 {
			t.Errorf("seed %d: %+v, curve %+v", seed, k, curve[seed])
		}
	}
}

func TestPIHoldsTheTargetOnOldFigures(t *testing.T) {
	for _, first := range []float64{0.5, 0.6, 0.75} { // share whose first choice is the first link
		for seed, k := range worldcup(PI, first, time.Minute) {
			if k.farthest > 0.03 || k.over95 > 0 {
				t.Errorf("first choice %v, seed %d: %+v", first, seed, k)
			}
		}
	}
}

// The age of a figure is what keeps PI calm: with the same figures taken for
// fresh ones it moves the same sessions again and again.
func TestPIWithoutTheAgeOfAFigureMovesTooMuch(t *testing.T) {
	c := Default(PI)
	c.Sessions = true
	dropped := func(age time.Duration) float64 {
		s, out := State{}, Output{}
		sum := 0.0
		for i := range 5 { // five figures that do not show yet what was moved
			now := start.Add(time.Duration(i) * 20 * time.Second)
			s, out = c.Next(s, Sample{Load: 1, At: now.Add(-age), Now: now})
			sum += out.Drop
		}
		return sum
	}
	if aged, taken := dropped(90*time.Second), dropped(0); aged > taken/2 {
		t.Errorf("moved %v with the age known, %v without", aged, taken)
	}
}
