package edge

import (
	"maps"
	"time"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
	"github.com/catchment-bgp/catchment/policy/flap"
)

// toldNow is what the node knows of the other nodes' flap penalties after an intent,
// by ASN. sent is when the node sent the report that the intent answers: what is told
// was so then, at the latest.
func toldNow(was map[uint32]flap.Told, shares []*centralv1.LedgerShare, sent time.Time) map[uint32]flap.Told {
	out := maps.Clone(was)
	if out == nil {
		out = map[uint32]flap.Told{}
	}
	known := map[uint32]bool{}
	for _, s := range shares {
		if known[s.GetAsn()] = s.GetKnown(); !s.GetKnown() {
			continue
		}
		t := out[s.GetAsn()]
		if t.Since.IsZero() || sent.Sub(t.At) > flap.ToldFresh {
			t.Since = sent
		}
		t.At, t.Penalty = sent, s.GetPenalty()
		out[s.GetAsn()] = t
	}
	for asn, t := range out {
		if !known[asn] {
			t.Since = time.Time{} // a break
			out[asn] = t
		}
	}
	return out
}

// toldBefore is what a restart has to reckon with: that the node was told of the
// others until just now, and they of it.
func toldBefore(shares map[uint32]flap.Share, now time.Time) map[uint32]flap.Told {
	out := map[uint32]flap.Told{}
	for asn, s := range shares {
		if s.Edges > 1 {
			out[asn] = flap.Told{At: now}
		}
	}
	return out
}
