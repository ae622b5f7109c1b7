package policy

import (
	"net/netip"
	"testing"
	"time"

	"github.com/catchment-bgp/catchment/policy/flap"
)

// BenchmarkManyWithdrawnAtOnce withdraws 4000 prefixes at two neighbours: the time
// until a decision is there is the time for which they stay announced.
func BenchmarkManyWithdrawnAtOnce(b *testing.B) {
	c := climbing()
	c.Load.Flap = flap.Default()
	c.Services[0].Prefixes = nil
	for i := range 4000 {
		c.Services[0].Prefixes = append(c.Services[0].Prefixes, netip.PrefixFrom(netip.AddrFrom4([4]byte{20, byte(i >> 8), byte(i), 0}), 24))
	}
	s, _ := Next(c, State{}, healthy(t0))
	for b.Loop() {
		if _, d := Next(c, s, with(at(time.Minute), Down, Up)); d.Services[0].Severity != Withdrawn {
			b.Fatal(d.Services[0].Cause)
		}
	}
}
