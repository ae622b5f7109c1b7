package sim

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"
)

func TestTurnsAreCountedOverTheirStep(t *testing.T) {
	for _, tc := range []struct {
		values []float64
		want   int
	}{
		{[]float64{0, 0, 0}, 0},
		{[]float64{0, 1, 2, 3}, 0},
		{[]float64{0, 1, 0}, 1},
		{[]float64{0, 1, 0, 1, 0}, 3},
		{[]float64{0, 3, 1, 2, 0}, 3},
		{[]float64{0, 0.04, 0, 0.04, 0}, 0},
		{[]float64{0, 0.02, 0.04, 0.06, 0.03, 0.005}, 1},
	} {
		var got turns
		for _, v := range tc.values {
			got.take(v, swing)
		}
		if got.count != tc.want {
			t.Errorf("%v has %d turns, want %d", tc.values, got.count, tc.want)
		}
	}
}

// recorded gives a recorder loads of two links and returns its figures.
func recorded(t *testing.T, text string, load func(s float64) (a, b float64)) Figures {
	t.Helper()
	w := newWorld(parse(t, "links", text), 1)
	r := newRecorder(w)
	for s := range int(w.sc.Duration / time.Second) {
		w.begin(time.Duration(s) * time.Second)
		a, b := load(float64(s))
		w.links[0].load, w.links[1].load = a*w.links[0].capacity, b*w.links[1].capacity
		w.links[0].home, w.links[1].home = 0.9*w.links[0].capacity, 0.5*w.links[1].capacity
		w.demand = 2000e6
		r.take([]float64{0.1, 0}, false)
	}
	return r.figures()
}

func TestFiguresOfKnownLoads(t *testing.T) {
	f := recorded(t, twoLinks, func(s float64) (float64, float64) {
		x := 0.4 * math.Sin(2*math.Pi*s/100)
		return 0.8 + x, 0.8 - x
	})
	for _, tc := range []struct {
		figure    Figure
		want, off float64
	}{
		{Peak, 1.2, 0.001}, {PeakToPeak, 0.8, 0.001}, {Antiphase, -1, 1e-6}, {Undershoot, 0.42, 0.001}, {SettledError, 0.42, 0.001},
		{OverloadSeconds, 2 * 7200.0 / 3, 200}, // either link is over for a third of the time
		{SecondaryOverloads, 144, 0},           // each link in each of 72 periods, and with nothing shed neither
		{HomeSeconds, 0, 0},                    // the need lasts to the end
	} {
		about(t, tc.figure.String(), f[tc.figure], tc.want, tc.off)
	}
	// The area of a sine above half its amplitude, 1000 sessions of 1 Mbit/s each.
	area := 0.4 * 100 / (2 * math.Pi) * (2*math.Cos(math.Pi/6) - math.Pi/3) / 1
	about(t, "excess_bytes", f[ExcessBytes]/(2*72*area*1e9/8), 1, 0.35)
}

func TestWhatHardlyMovesHasNoCorrelation(t *testing.T) {
	f := recorded(t, twoLinks, func(s float64) (float64, float64) {
		x := 0.004 * math.Sin(s)
		return 0.8 + x, 0.8 - x
	})
	about(t, "antiphase", f[Antiphase], 0, 0)
}

func TestUpdatesAreCountedInAnyHour(t *testing.T) {
	w := newWorld(parse(t, "links", twoLinks), 1)
	r := newRecorder(w)
	for _, at := range []time.Duration{0, 50 * time.Minute, 59 * time.Minute, 61 * time.Minute, 119 * time.Minute} {
		w.now = at
		r.change(change{withdrawn: at == 50*time.Minute})
	}
	f := r.figures()
	about(t, "updates", f[UpdatesPerHour], 3, 0)
	about(t, "withdrawals", f[WithdrawalsPerHour], 1, 0)
}

func TestMedianAndWorst(t *testing.T) {
	runs := make([]Figures, 4)
	for i, v := range []float64{3, 1, 10, 2} {
		runs[i][Peak], runs[i][Antiphase] = v, -v
		runs[i][HomeSeconds] = math.NaN()
	}
	s := summarize(runs)
	if s[Peak] != (Summary{2.5, 10}) || s[Antiphase] != (Summary{-2.5, -10}) {
		t.Errorf("%v and %v", s[Peak], s[Antiphase])
	}
	text, err := json.Marshal(s)
	if err != nil || strings.Contains(string(text), "home_seconds") || !strings.Contains(string(text), `"peak":{"median":2.5,"worst":10}`) {
		t.Errorf("%s, %v", text, err)
	}
}

func TestNumbersAreRounded(t *testing.T) {
	for _, tc := range []struct{ in, want float64 }{{1.0 / 3, 0.333333}, {1234567, 1234570}, {0, 0}, {math.Copysign(0, -1), 0}, {1e-12, 0}} {
		if got := round(tc.in); got != tc.want || math.Signbit(got) {
			t.Errorf("%g becomes %g, want %g", tc.in, got, tc.want)
		}
	}
}

func TestShapes(t *testing.T) {
	m := match(10*time.Minute, time.Minute, 0.6, 45*time.Minute, 15*time.Minute, 0.25, 10*time.Minute)
	for _, tc := range []struct {
		shape Shape
		at    time.Duration
		want  float64
	}{
		{m, 0, 0.4}, {m, 10*time.Minute + 30*time.Second, 0.7}, {m, 11 * time.Minute, 1}, {m, 55 * time.Minute, 1},
		{m, 60 * time.Minute, 0.75}, {m, 70 * time.Minute, 1}, {m, 115 * time.Minute, 1}, {m, 3 * time.Hour, 0.4},
		{crowd(time.Hour, time.Minute, 3, time.Hour, time.Minute), 90 * time.Minute, 3},
		{crowd(time.Hour, time.Minute, 3, time.Hour, time.Minute), 3 * time.Hour, 1},
		{Diurnal{Peak: 20 * time.Hour, Low: 0.3}, 20 * time.Hour, 1},
		{Diurnal{Peak: 20 * time.Hour, Low: 0.3}, 8 * time.Hour, 0.3},
		{Points{}, time.Hour, 1},
	} {
		about(t, "the factor at "+tc.at.String(), tc.shape.At(tc.at), tc.want, 1e-9)
	}
}
