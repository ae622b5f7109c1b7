package flap

import (
	"net/netip"
	"testing"
	"time"
)

func TestAClockSetBackNeitherForgivesNorKeepsAPenaltyForLonger(t *testing.T) {
	c := Default()
	key := Key{ASN: 65001, Prefix: netip.MustParsePrefix("198.51.100.0/24")}
	was := time.Date(2026, 11, 30, 10, 0, 0, 0, time.UTC)
	now := was.Add(-24 * time.Hour)
	ledger := Ledger{}.Charge(c, was, Withdrawal, key)
	full := ledger.Penalty(c, key, was)
	back := ledger.SetBack(now)
	if got := back.Penalty(c, key, now); got != full {
		t.Errorf("right after: %v, want the whole %v", got, full)
	}
	half := c.Profiles[0].HalfLife
	if got := back.Penalty(c, key, now.Add(half)); got < full*0.499 || got > full*0.501 {
		t.Errorf("a half-life later: %v of %v", got, full)
	}
	if got := ledger.Penalty(c, key, now.Add(half)); got != full {
		t.Errorf("SetBack changed the ledger: %v", got)
	}
}
