package policy

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/catchment-bgp/catchment/policy/flap"
)

// busy is a node with many neighbours, each on its own link, two of them changed
// lately, so that the ledger has something to remember.
func busy(n int) (Config, State, func(i int) Input) {
	links := make([]string, n)
	for i := range links {
		links[i] = fmt.Sprintf("transit-%d", i)
	}
	c := loadNode(links...)
	in := healthy(t0)
	in.Samples, in.Sessions = map[string]Sample{}, map[string]Session{}
	for _, l := range links {
		in.Sessions[l] = Session{Up: true}
	}
	keys := []flap.Key{{ASN: 65001, Prefix: prefixA}, {ASN: 65002, Prefix: prefixA}}
	var s State
	s.Load.Ledger = s.Load.Ledger.Charge(c.Load.Flap, t0, flap.AttributeChange, keys...)
	return c, s, func(i int) Input {
		in.Now = at(time.Duration(i) * time.Second)
		for k, l := range links {
			in.Samples[l] = Sample{Load: 0.7 + 0.05*math.Sin(float64(i+k)/9), At: in.Now}
		}
		return in
	}
}

func TestASteadyDecisionAllocatesNothing(t *testing.T) {
	c, s, input := busy(20)
	var b Buffer
	i := 0
	next := func() { i++; s, _ = b.Next(c, s, input(i)) }
	for range 10 {
		next()
	}
	if n := testing.AllocsPerRun(100, next); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkNext(b *testing.B) {
	for _, n := range []int{1, 4, 20} {
		b.Run(fmt.Sprintf("neighbors=%d", n), func(b *testing.B) {
			c, s, input := busy(n)
			var buf Buffer
			inputs := make([]Input, 64)
			for i := range inputs {
				in := input(i)
				samples := map[string]Sample{}
				for l, s := range in.Samples {
					samples[l] = s
				}
				in.Samples = samples
				inputs[i] = in
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				s, _ = buf.Next(c, s, inputs[i%64])
			}
		})
	}
}
