package fleet

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestLeastFixedPoint(t *testing.T) {
	inf := math.Inf(-1)
	cases := map[string]struct {
		b       []float64
		columns []map[int]float64
		want    []float64 // nil: there is none
	}{
		"nothing to shed":             {[]float64{-1, -2}, []map[int]float64{{1: 1}, {0: 1}}, []float64{0, 0}},
		"the next absorbs":            {[]float64{10, -20}, []map[int]float64{{1: 1}, {0: 1}}, []float64{10, 0}},
		"the next passes some on":     {[]float64{10, -4, -20}, []map[int]float64{{1: 1}, {2: 1}, {1: 1}}, []float64{10, 6, 0}},
		"half comes back":             {[]float64{10, 0}, []map[int]float64{{1: 1}, {0: 0.5}}, []float64{20, 20}},
		"all comes back":              {[]float64{10, -4}, []map[int]float64{{1: 1}, {0: 1}}, nil},
		"on itself":                   {[]float64{10}, []map[int]float64{{0: 1}}, nil},
		"a ring that nothing reaches": {[]float64{10, -4, 0, 0}, []map[int]float64{{1: 0.2}, {}, {3: 1}, {2: 1}}, []float64{10, 0, 0, 0}},
		"one that takes everything":   {[]float64{10, inf}, []map[int]float64{{1: 1}, {0: 1}}, []float64{10, 0}},
		"more than one in all":        {[]float64{1, 0, 0}, []map[int]float64{{1: 1}, {2: 1}, {0: 0.5, 1: 0.5}}, nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, finite := leastFixedPoint(c.b, c.columns)
			if finite != (c.want != nil) {
				t.Fatalf("finite: %v, got %v", finite, got)
			}
			for i := range c.want {
				if math.Abs(got[i]-c.want[i]) > 1e-6 {
					t.Errorf("got %v, want %v", got, c.want)
				}
			}
		})
	}
}

// TestLeastFixedPointIsThatOfTheSlowWay goes up from zero step by step instead.
func TestLeastFixedPointIsThatOfTheSlowWay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 6).Draw(t, "n")
		b := make([]float64, n)
		columns := make([]map[int]float64, n)
		for j := range n {
			b[j] = float64(rapid.IntRange(-20, 10).Draw(t, "b"))
			columns[j] = map[int]float64{}
			left := 10
			for i := range n {
				if i != j {
					share := rapid.IntRange(0, left).Draw(t, "share")
					left -= share
					if share > 0 {
						columns[j][i] = float64(share) / 10
					}
				}
			}
		}
		got, finite := leastFixedPoint(b, columns)
		slow := make([]float64, n)
		var half float64
		for round := range 20000 {
			if round == 10000 {
				half = sum(slow)
			}
			next := append([]float64(nil), b...)
			for j, x := range slow {
				for i, h := range columns[j] {
					next[i] += h * x
				}
			}
			for i := range next {
				slow[i] = max(0, next[i])
			}
		}
		for i := range slow {
			if finite && math.Abs(got[i]-slow[i]) > 1e-3*(1+got[i]) {
				t.Fatalf("got %v, the slow way %v", got, slow)
			}
		}
		if !finite && sum(slow) <= half {
			t.Fatalf("not finite, but the slow way comes to rest at %v", slow)
		}
	})
}

func sum(vs []float64) float64 {
	var s float64
	for _, v := range vs {
		s += v
	}
	return s
}
