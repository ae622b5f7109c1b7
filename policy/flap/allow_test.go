package flap

import (
	"testing"
	"time"
)

// TestChangesAlone has the times by hand. The limit of Cisco's profile is
// 2000 * 0.9 = 1800; a change costs 500 * 2 = 1000. So the second may come when the
// first has decayed to 800: 15 min * log2(1000/800) = 4 min 49.7 s; each one after
// when 1800 has decayed to 800: 15 min * log2(1800/800) = 17 min 32.9 s.
func TestChangesAlone(t *testing.T) {
	var l Ledger
	now := t0
	for i, want := range []time.Duration{0, 289736 * time.Millisecond, 1342669 * time.Millisecond, 2395602 * time.Millisecond} {
		ok, next := l.Allow(Default(), Share{}, now, AttributeChange, video)
		if ok != (i == 0) || next.Sub(at(want)).Abs() > 10*time.Millisecond {
			t.Errorf("change %d: allowed is %v, next after %v; want %v", i, ok, next.Sub(t0), want)
		}
		if ok, _ := l.Allow(Default(), Share{}, next, AttributeChange, video); !ok {
			t.Errorf("change %d is not allowed when it was said to be", i)
		}
		now = next
		l = l.Charge(Default(), now, AttributeChange, video)
	}
}
