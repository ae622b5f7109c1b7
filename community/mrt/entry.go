package mrt

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/catchment-bgp/catchment/community"
)

// Entry is one route that a collector has of a peer, or its withdrawal. Entries of one
// message share memory, and must not be changed in place.
type Entry struct {
	// Time is when the collector wrote the record, in UTC: to the microsecond in
	// BGP4MP_ET, else to the second. Of a table it is the time of the dump.
	Time time.Time
	// PeerASN and Peer are who sent the route to the collector; or, with Local, whom the
	// collector sent it to.
	PeerASN uint32
	Peer    netip.Addr
	// Local is set for what the collector itself sent (the _LOCAL subtypes, RFC 6396,
	// section 4.4.5).
	Local bool
	// PathID is the path identifier (RFC 7911); 0 without ADD-PATH.
	PathID uint32
	Prefix netip.Prefix
	// Withdrawn: the peer has no such route any more; then all fields below are zero.
	Withdrawn bool
	// Path is AS_PATH, with AS4_PATH merged into it where the peer spoke 2-octet ASNs only
	// (RFC 6793, section 4.2.3).
	Path Path
	// NextHop is the global address where there is a link-local one, too (RFC 2545,
	// section 3); the zero Addr if the record has none.
	NextHop netip.Addr
	// Communities are those of all three kinds.
	Communities community.Set
}

// Problem is something that could not be read.
type Problem struct {
	// Offset is where the record starts, in octets from the start of the data; of a
	// compressed file, of what is in it.
	Offset int64 `json:"offset"`
	// Reason says what is wrong, and what became of the record.
	Reason string `json:"reason"`
}

// String returns "offset 12: reason".
func (p Problem) String() string { return fmt.Sprintf("offset %d: %s", p.Offset, p.Reason) }
