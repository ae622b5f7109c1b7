package flap

import (
	"net/netip"
	"testing"
	"time"
)

// TestPenaltiesByHand: sums and halves that need no machine. All with charges
// doubled.
func TestPenaltiesByHand(t *testing.T) {
	type step struct {
		after  time.Duration
		events []Event
		want   float64
	}
	w, r, a := Withdrawal, Readvertisement, AttributeChange
	for name, c := range map[string]struct {
		config Config
		steps  []step
	}{
		"Cisco: a change halves in 15 min": {only(Cisco()), []step{
			{0, []Event{a}, 1000}, {15 * time.Minute, nil, 500}, {30 * time.Minute, nil, 250}, {30 * time.Minute, []Event{a}, 1250},
		}},
		"Cisco: the way back is free": {only(Cisco()), []step{
			{0, []Event{w}, 2000}, {0, []Event{r}, 2000}, {15 * time.Minute, []Event{w}, 3000},
		}},
		"Juniper: the way back is not": {only(Juniper()), []step{
			{0, []Event{w}, 2000}, {15 * time.Minute, []Event{r}, 3000}, {45 * time.Minute, nil, 750},
		}},
		// 750 * 2^(60/15) = 12000
		"a penalty has a ceiling": {only(Cisco()), []step{
			{0, []Event{w, w, w, w, w, w, w}, 12000}, {time.Hour, nil, 750},
		}},
		// First Cisco's, 2000 of 2000, before Juniper's 2000 of 3000; then Juniper's,
		// 6000 of 3000, since Cisco's stays.
		"the nearest profile counts": {Default(), []step{
			{0, []Event{a}, 1000}, {0, []Event{a}, 2000}, {0, []Event{r, r}, 6000},
		}},
		"an unknown event is the dearest": {only(Juniper()), []step{{0, []Event{77}, 2000}}},
	} {
		var l Ledger
		for _, s := range c.steps {
			for _, e := range s.events {
				l = l.Charge(c.config, at(s.after), e, video)
			}
			near(t, name+", after "+s.after.String(), l.Penalty(c.config, video, at(s.after)), s.want)
		}
	}
}

// TestOneExplorationAtLeast: what is configured below 1 counts as 1.
func TestOneExplorationAtLeast(t *testing.T) {
	for _, x := range []float64{-3, 0, 0.5, 1} {
		c := only(Cisco())
		c.Exploration = x
		near(t, "penalty", Ledger{}.Charge(c, t0, AttributeChange, video).Penalty(c, video, t0), 500)
	}
}

// TestChargeLeavesTheOldLedgerAlone: a ledger is a value.
func TestChargeLeavesTheOldLedgerAlone(t *testing.T) {
	c := Default()
	v6 := key(64500, "2001:db8::/32")
	a := Ledger{}.Charge(c, t0, AttributeChange, video)
	b := a.Charge(c, t0, AttributeChange, video, v6)
	near(t, "the old one", a.Penalty(c, video, t0), 1000)
	near(t, "the new one", b.Penalty(c, video, t0), 2000)
	near(t, "a key that only the new one has", a.Penalty(c, v6, t0), 0)
	if a.Len() != 1 || b.Len() != 2 || a.IsZero() || !(Ledger{}).IsZero() {
		t.Errorf("%d and %d keys", a.Len(), b.Len())
	}
}

// TestAKeyCountsAsOftenAsItIsNamed: two neighbours of one AS are two changes.
func TestAKeyCountsAsOftenAsItIsNamed(t *testing.T) {
	c, other := Default(), key(64501, "192.0.2.0/24")
	host := Key{64500, video.Prefix}
	host.Prefix = key(0, "192.0.2.77/24").Prefix // host bits do not count
	l := Ledger{}.Charge(c, t0, AttributeChange, video, other, host)
	near(t, "named twice", l.Penalty(c, video, t0), 2000)
	near(t, "named twice, by host bits", l.Penalty(c, host, t0), 2000)
	near(t, "named once", l.Penalty(c, other, t0), 1000)
}

// TestAPrefixThatIsNoneIsLeftOut: and is never allowed.
func TestAPrefixThatIsNoneIsLeftOut(t *testing.T) {
	c := Default()
	l := Ledger{}.Charge(c, t0, AttributeChange, Key{ASN: 64500}, video)
	if l.Len() != 1 || l.Penalty(c, Key{ASN: 64500}, t0) != 0 {
		t.Errorf("%d keys", l.Len())
	}
	if ok, next := (Ledger{}).Allow(c, Share{}, t0, AttributeChange, Key{ASN: 64500}); ok || !next.IsZero() {
		t.Errorf("allowed is %v, next %v", ok, next)
	}
}

// TestDecayedKeysAreForgotten: 1000 are below 20, 0.01 of 2000, after 84.7 min
// (and below 30, of 3000, earlier); each charge sweeps.
func TestDecayedKeysAreForgotten(t *testing.T) {
	c, other := Default(), key(64501, "2001:db8::/32")
	l := Ledger{}.Charge(c, t0, AttributeChange, video)
	if got := l.Charge(c, at(84*time.Minute), AttributeChange, other).Len(); got != 2 {
		t.Errorf("after 84 min: %d keys, want 2", got)
	}
	l = l.Charge(c, at(85*time.Minute), AttributeChange, other)
	if l.Len() != 1 || l.Penalty(c, video, at(85*time.Minute)) != 0 {
		t.Errorf("after 85 min: %d keys, want 1", l.Len())
	}
	near(t, "the one that stays", l.Penalty(c, other, at(85*time.Minute)), 1000)
}

// TestTimeThatRunsBackwardsForgivesNothing: nor does going back and forth.
func TestTimeThatRunsBackwardsForgivesNothing(t *testing.T) {
	c := Default()
	l := Ledger{}.Charge(c, at(time.Hour), AttributeChange, video)
	near(t, "an hour before", l.Penalty(c, video, t0), 1000)
	l = l.Charge(c, t0, AttributeChange, video)
	near(t, "charged before", l.Penalty(c, video, t0), 2000)
	near(t, "at the time of the first", l.Penalty(c, video, at(time.Hour)), 2000)
	near(t, "15 min later", l.Penalty(c, video, at(75*time.Minute)), 1000)
	// 2000 must fall to 800: log2(2.5) * 15 min = 19 min 49.7 s, from the hour on.
	ok, next := l.Allow(c, Share{}, t0, AttributeChange, video)
	if want := at(time.Hour + 1189735*time.Millisecond); ok || next.Sub(want).Abs() > 10*time.Millisecond {
		t.Errorf("allowed is %v, next %v, want %v", ok, next, want)
	}
}

// TestTheDistantPastAllowsNothing: ages that no duration holds.
func TestTheDistantPastAllowsNothing(t *testing.T) {
	c := Default()
	l := Ledger{}.Charge(c, t0, AttributeChange, video)
	for _, s := range []Share{{}, {8, 3}} {
		if ok, _ := l.Allow(c, s, time.Time{}, AttributeChange, video); ok {
			t.Errorf("share %v: allowed in the year 1", s)
		}
	}
}

// TestANewProfileHasTheMostOfAnyOther: what it would have charged is not known.
func TestANewProfileHasTheMostOfAnyOther(t *testing.T) {
	l := Ledger{}.Charge(only(Juniper()), t0, Withdrawal, video) // 2000
	c := Default()
	near(t, "read", l.Penalty(c, video, t0), 2000) // Cisco's 2000 of 2000
	l = l.Charge(c, t0, AttributeChange, video)
	near(t, "charged", l.Penalty(only(Cisco()), video, t0), 3000)
	near(t, "charged", l.Penalty(only(Juniper()), video, t0), 3000)
	l = l.Charge(only(Cisco()), at(15*time.Minute), AttributeChange, key(1, "2001:db8::/32"))
	near(t, "one profile less", l.Penalty(only(Cisco()), video, at(15*time.Minute)), 1500)
}

// With turns a charge keeps an edge waiting for more than a round.
func TestWhatCostsNothingLeavesNoTrace(t *testing.T) {
	c := Config{Profiles: []Profile{Cisco()}, Exploration: 1, Margin: 0.1}
	k := Key{65001, netip.MustParsePrefix("198.51.100.0/24")}
	length, _ := c.Slot()
	turn := time.Unix(0, 0).Add(4 * 1000 * length) // of edge 0
	l := Ledger{}.Charge(c, turn.Add(-time.Minute), Readvertisement, k)
	if l.Len() != 0 {
		t.Errorf("a charge of nothing is kept: %d entries", l.Len())
	}
	if ok, next := l.Allow(c, Share{Edges: 4}, turn, AttributeChange, k); !ok {
		t.Errorf("in its turn an edge must wait until %v, %v from now", next, next.Sub(turn))
	}
}
