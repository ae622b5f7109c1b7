package flap

import (
	"slices"
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
		ok, next := l.Allow(Default(), Share{1, 0}, now, AttributeChange, video)
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

// TestWhatIsAllowedAtOnce: on an empty ledger, by event, share and configuration.
func TestWhatIsAllowedAtOnce(t *testing.T) {
	calm := Default()
	calm.Exploration = 1
	for _, c := range []struct {
		name    string
		config  Config
		event   Event
		keys    []Key
		allowed bool
	}{
		{"no keys, no change", Default(), AttributeChange, nil, true},
		{"a change: 1000 of 1800", Default(), AttributeChange, []Key{video}, true},
		{"changes of two prefixes", Default(), AttributeChange, []Key{video, key(64500, "2001:db8::/32")}, true},
		{"in any order", Default(), AttributeChange, []Key{key(64500, "2001:db8::/32"), video}, true},
		{"at two ASes", Default(), AttributeChange, []Key{key(64501, "192.0.2.0/24"), video}, true},
		{"two changes of one: 2000 of 1800", Default(), AttributeChange, []Key{video, video}, false},
		{"two changes of one, not side by side", Default(), AttributeChange, []Key{video, key(1, "2001:db8::/32"), video}, false},
		{"two changes of one for Juniper: 2000 of 2700", only(Juniper()), AttributeChange, []Key{video, video}, true},
		{"a withdrawal: 2000 of 1800", Default(), Withdrawal, []Key{video}, false},
		{"a withdrawal without exploration: 1000 of 1800", calm, Withdrawal, []Key{video}, true},
		{"a way back: 0 of 1800, 2000 of 2700", Default(), Readvertisement, []Key{video}, true},
		{"an unknown event is like a withdrawal", Default(), 0, []Key{video}, false},
	} {
		ok, next := Ledger{}.Allow(c.config, Share{}, t0, c.event, c.keys...)
		if ok != c.allowed || next.IsZero() == c.allowed {
			t.Errorf("%s: allowed is %v, next %v; want %v", c.name, ok, next, c.allowed)
		}
	}
}

// TestTheSlowestKeyDecides: where one prefix must wait, the change waits.
func TestTheSlowestKeyDecides(t *testing.T) {
	c, v6 := Default(), key(64500, "2001:db8::/32")
	l := Ledger{}.Charge(c, t0, AttributeChange, video).Charge(c, at(10*time.Minute), AttributeChange, v6)
	now := at(11 * time.Minute)
	if ok, _ := l.Allow(c, Share{}, now, AttributeChange, video); !ok {
		t.Error("the first is not allowed alone")
	}
	// 4 min 49.7 s after the second's change
	want := at(10*time.Minute + 289736*time.Millisecond)
	for _, keys := range [][]Key{{video, v6}, {v6, video}} {
		if ok, next := l.Allow(c, Share{}, now, AttributeChange, keys...); ok || next.Sub(want).Abs() > 10*time.Millisecond {
			t.Errorf("%v: allowed is %v, next %v, want %v", keys, ok, next, want)
		}
	}
}

// TestTheFreeWayBackIsNeverHeld: a router that charges nothing for it cannot be
// pushed further; one that charges holds it back. By hand: after the withdrawal
// Juniper has 2000; 700 must be left, as 2700 - 2000: 15 min * log2(2000/700) =
// 22 min 43.1 s.
func TestTheFreeWayBackIsNeverHeld(t *testing.T) {
	l := Ledger{}.Charge(Default(), t0, Withdrawal, video)
	for _, s := range []Share{{}, {4, 2}} {
		if ok, _ := l.Allow(only(Cisco()), s, t0, Readvertisement, video); !ok {
			t.Errorf("share %v: not allowed by Cisco's profile", s)
		}
	}
	ok, next := l.Allow(Default(), Share{}, t0, Readvertisement, video)
	if want := at(1363109 * time.Millisecond); ok || next.Sub(want).Abs() > 10*time.Millisecond {
		t.Errorf("allowed is %v, next %v, want %v", ok, next, want)
	}
}

// TestNothingIsAllocatedByReading: Allow and Penalty run for each neighbour at each
// step.
func TestNothingIsAllocatedByReading(t *testing.T) {
	c := Default()
	keys := []Key{video, key(64500, "2001:db8::/32")}
	backwards := []Key{keys[1], keys[0]}
	l := Ledger{}.Charge(c, t0, AttributeChange, keys...)
	var sum float64
	if n := testing.AllocsPerRun(100, func() {
		for _, s := range []Share{{}, {4, 1}} {
			l.Allow(c, s, at(time.Minute), AttributeChange, keys...)
			l.Allow(c, s, at(time.Minute), AttributeChange, backwards...)
		}
		sum += l.Resume(t0).Penalty(c, video, at(time.Minute))
	}); n != 0 || sum == 0 {
		t.Errorf("%v allocations", n)
	}
	if !slices.IsSortedFunc(keys, Key.compare) {
		t.Error("the keys are not in order")
	}
}
