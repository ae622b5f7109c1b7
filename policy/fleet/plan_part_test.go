package fleet

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestAPartLandsOnTheOneThatItHurtsMost(t *testing.T) {
	for name, c := range map[string]struct {
		drain []string
		parts []Part
		load  []float64 // of n00, n01, n02, each with a capacity of 100
		want  map[string][2]float64
	}{
		"on another": {nil, []Part{{"n00", 0.5, 50}}, []float64{20, 60, 10},
			map[string][2]float64{"n00": {0.2, 0.2}, "n01": {0.6, 0.7}, "n02": {0.1, 0.1}}},
		"on the rest of itself": {nil, []Part{{"n00", 0.25, 80}}, []float64{40, 30, 10},
			map[string][2]float64{"n00": {0.4, 2}, "n01": {0.3, 0.3}, "n02": {0.1, 0.3}}}, // what it cannot carry spills as the node's does
		"a rest of which nothing is known": {nil, []Part{{"n00", 0.5, 100}}, []float64{40, 30, 10},
			map[string][2]float64{"n01": {0.3, 0.5}, "n02": {0.1, 0.1}}},
		"beside a node that goes": {[]string{"n02"}, []Part{{"n00", 0.5, 50}}, []float64{20, 60, 10},
			map[string][2]float64{"n00": {0.2, 0.2}, "n01": {0.6, 0.8}}},
		"of a node that goes": {[]string{"n00"}, []Part{{"n00", 0.5, 50}}, []float64{20, 60, 10},
			map[string][2]float64{"n01": {0.6, 0.6}, "n02": {0.1, 0.3}}},
		"two of one node": {nil, []Part{{"n00", 0.25, 25}, {"n00", 0.25, 25}}, []float64{20, 60, 10},
			map[string][2]float64{"n00": {0.2, 0.2}, "n01": {0.6, 0.7}, "n02": {0.1, 0.1}}},
		"of nobody": {nil, []Part{{"other", 1, 50}}, []float64{20, 60, 10},
			map[string][2]float64{"n00": {0.2, 0.2}, "n01": {0.6, 0.6}, "n02": {0.1, 0.1}}},
	} {
		t.Run(name, func(t *testing.T) {
			f := alike(3, 0, Limits{})
			f.Lands = Landing{"n00": {"n02": 1}} // of the whole node
			for i, v := range c.load {
				f.Nodes[i].Load = Known(v)
			}
			got := Land(f, c.drain, c.parts)
			if len(got) != len(c.want) {
				t.Errorf("%+v, want %v", got, c.want)
			}
			for _, l := range got {
				if w, ok := c.want[l.Node]; !ok || math.Abs(l.Utilization-w[0]) > 1e-9 || math.Abs(l.WouldBe-w[1]) > 1e-9 {
					t.Errorf("%+v, want %v", l, w)
				}
			}
			for i, n := range f.Nodes {
				if n.Load != Known(c.load[i]) || n.Capacity != 100 {
					t.Errorf("the fleet has changed: %+v", n)
				}
			}
		})
	}
}

func TestPartsNeitherLoseNorMakeLoad(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := alike(4, 0, Limits{})
		var all float64
		for i := range f.Nodes {
			f.Nodes[i].Load = Known(rapid.Float64Range(0, 20).Draw(t, "load"))
			all += f.Nodes[i].Load.Value
		}
		part := Part{"n00", rapid.Float64Range(0, 1).Draw(t, "share"), rapid.Float64Range(0, 20).Draw(t, "capacity")}
		var after float64
		for _, l := range Land(f, nil, []Part{part}) {
			room := 100.0
			if l.Node == "n00" {
				room -= part.Capacity
			}
			after += l.WouldBe * room
		}
		if math.Abs(after-all) > 1e-6 {
			t.Errorf("there were %v bit/s, and there would be %v", all, after)
		}
	})
}
