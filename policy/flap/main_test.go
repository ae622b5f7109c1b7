package flap

import (
	"net/netip"
	"time"
)

// t0 is when the tests begin: it is the start of a slot of edge 0 of 1 to 8.
var t0 = time.Date(2026, 3, 29, 0, 30, 0, 0, time.UTC)

func at(d time.Duration) time.Time { return t0.Add(d) }

func key(asn uint32, prefix string) Key { return Key{asn, netip.MustParsePrefix(prefix)} }

// video is the key that most tests use.
var video = key(64500, "192.0.2.0/24")
