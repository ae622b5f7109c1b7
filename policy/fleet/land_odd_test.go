package fleet

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// TestWherePartsLandIsANumber: also of what a broken source says.
func TestWherePartsLandIsANumber(t *testing.T) {
	odd := []float64{0, -1, 1, 0.5, 1e9, 1e18, math.NaN(), math.Inf(1), math.Inf(-1), 5e-324}
	rapid.Check(t, func(t *rapid.T) {
		figure := rapid.SampledFrom(odd)
		var f Fleet
		names := []string{"a", "b", "c", "d"}[:rapid.IntRange(0, 4).Draw(t, "nodes")]
		for _, name := range names {
			n := Node{Name: name, Seen: rapid.Bool().Draw(t, "seen"), Capacity: figure.Draw(t, "capacity"),
				Load: Figure{Value: figure.Draw(t, "load"), Known: rapid.Bool().Draw(t, "known")}, Services: map[string]Standing{"dns": {Announcing: rapid.Bool().Draw(t, "announcing")}}}
			f.Nodes = append(f.Nodes, n)
		}
		var parts []Part
		for range rapid.IntRange(0, 4).Draw(t, "parts") {
			parts = append(parts, Part{Node: rapid.SampledFrom([]string{"a", "b", "c", "d", "x", ""}).Draw(t, "of"), Share: figure.Draw(t, "share"), Capacity: figure.Draw(t, "goes")})
		}
		var drain []string
		if rapid.Bool().Draw(t, "drain") {
			drain = []string{rapid.SampledFrom([]string{"a", "b", "x"}).Draw(t, "drained")}
		}
		for _, l := range Land(f, drain, parts) {
			if !(l.Utilization >= 0) || !(l.WouldBe >= 0) {
				t.Fatalf("%+v", l)
			}
		}
	})
}
