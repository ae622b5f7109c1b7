package policy

import (
	"math"
	"testing"
	"time"

	"github.com/catchment-bgp/catchment/policy/flap"
)

// TestFourPrependsOfTwoEdgesAtOneASDoNotSuppress: two hot edges at one AS would make
// four changes as soon as they may. Told of each other, both move, and a router of
// that AS that sees two for one never comes to its threshold.
func TestFourPrependsOfTwoEdgesAtOneASDoNotSuppress(t *testing.T) {
	edges := []*driver{{c: loadNode("a")}, {c: loadNode("a")}}
	for i, p := range edges {
		p.c.Load.Flap = flap.Default()
		p.c.Load.Climbers[0].ASN, p.c.Load.Climbers[0].Share = 65001, flap.Share{Edges: 2, Index: i}
	}
	router, last := 0.0, time.Duration(0)
	charges, first := 0, [2]time.Duration{}
	for d := time.Duration(0); d < 90*time.Minute; d += time.Second {
		told := [2]float64{}
		for i, p := range edges {
			if d > 0 {
				told[1-i] = p.d.Climbers[0].Penalty
			}
		}
		for i, p := range edges {
			p.at(d, one(1.3), func(in *Input) {
				in.Told = map[uint32]flap.Told{65001: {Penalty: told[i], At: in.Now, Since: t0.Add(-time.Hour)}}
			})
			for _, c := range p.d.Climbers {
				if !c.Moved {
					continue
				}
				router = router*math.Exp2(-float64(d-last)/float64(15*time.Minute)) + 2*flap.Cisco().AttributeChange
				if last = d; router >= flap.Cisco().Suppress {
					t.Fatalf("suppressed at %v: %.0f", d, router)
				}
				if charges++; first[i] == 0 {
					first[i] = d
				}
			}
		}
	}
	if first[0] == 0 || first[1] == 0 || min(first[0], first[1]) > 8*time.Minute {
		t.Errorf("the first moves came at %v", first)
	}
	if charges < 4 {
		t.Errorf("%d changes in 90 minutes", charges)
	}
}
