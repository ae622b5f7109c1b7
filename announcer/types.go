package announcer

import (
	"net/netip"
	"time"

	"github.com/catchment-bgp/catchment/community"
)

// Kind is the business relation of a neighbour. It decides the BGP role of the
// session (RFC 9234), whether the session is external or internal, and what may
// be sent there.
type Kind uint8

// The kinds of neighbour. The zero Kind is invalid.
const (
	Transit     Kind = iota + 1 // sells us transit: we are its customer
	Peer                        // settlement-free, on a direct link
	IX                          // a bilateral session across an exchange
	RouteServer                 // an exchange's route server (RFC 7947)
	Internal                    // the same ASN: iBGP
)

// Neighbor is everything that a BGP session needs. Two equal Neighbors are the
// same session: SetNeighbors leaves it alone.
type Neighbor struct {
	Name         string
	Address      netip.Addr
	Port         uint16 // 179 where zero
	ASN          uint32
	Kind         Kind
	LocalAddress netip.Addr
	BindDevice   string // interface name; empty: none
	Password     string // TCP MD5 key (RFC 2385), 80 bytes at most; empty: none
	TTLSecurity  bool   // GTSM (RFC 5082)
	Multihop     uint8  // hops to the neighbour; 1 means directly connected
	// HoldTime is what we propose (RFC 4271, section 4.2): whole seconds, 3 or more.
	HoldTime time.Duration
	// IPv4 and IPv6 say which unicast families the session carries (RFC 4760).
	IPv4, IPv6 bool
	// ExtendedNextHop offers IPv4 routes with an IPv6 next hop (RFC 8950).
	ExtendedNextHop bool
	// Listen accepts connections from the neighbour besides making our own.
	Listen bool
	// AcceptDefault takes 0.0.0.0/0 and ::/0 from the neighbour and installs
	// them in the kernel; every other route is dropped unread all the same.
	AcceptDefault bool
}

// Route is one announcement to one neighbour.
type Route struct {
	Prefix  netip.Prefix
	NextHop netip.Addr
	// Prepend is how often our ASN stands in the AS_PATH beyond the one time
	// that eBGP always adds. It is zero towards Internal neighbours.
	Prepend     int
	Communities community.Set
	MED         Metric
	// LocalPref is sent to Internal neighbours only, where unset means 100.
	LocalPref Metric
}

// Metric is an optional 32-bit attribute value.
type Metric struct {
	Value uint32
	Set   bool
}
