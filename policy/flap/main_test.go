package flap

import (
	"math"
	"net/netip"
	"testing"
	"time"
)

// t0 is when the tests begin.
var t0 = time.Date(2026, 3, 29, 0, 30, 0, 0, time.UTC)

func at(d time.Duration) time.Time { return t0.Add(d) }

func key(asn uint32, prefix string) Key { return Key{asn, netip.MustParsePrefix(prefix)} }

// video is the key that most tests use.
var video = key(64500, "192.0.2.0/24")

// only is the default configuration with one profile.
func only(p Profile) Config {
	c := Default()
	c.Profiles = []Profile{p}
	return c
}

// near fails unless the penalty is what was computed by hand, to a tenth of a point.
func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 0.1 {
		t.Errorf("%s: %.2f, want %.2f", what, got, want)
	}
}
