package guard

import (
	"net/netip"
	"time"
)

// Family is an address family that a session carries, unicast (RFC 4760).
type Family uint8

// The families. The zero Family is invalid.
const (
	IPv4 Family = iota + 1
	IPv6
)

// String gives "ipv4" or "ipv6".
func (f Family) String() string {
	switch f {
	case IPv4:
		return "ipv4"
	case IPv6:
		return "ipv6"
	}
	return "invalid"
}

// afi is the address family number of f (RFC 4760, section 8).
func (f Family) afi() uint16 { return uint16(f) }

// familyOf is the Family of an AFI and SAFI, and whether there is one.
func familyOf(afi uint16, safi uint8) (Family, bool) {
	if safi != safiUnicast || afi < uint16(IPv4) || afi > uint16(IPv6) {
		return 0, false
	}
	return Family(afi), true
}

// Role is a speaker's part in the business relation of a session (RFC 9234).
type Role uint8

// The roles. NoRole sends no role capability.
const (
	NoRole Role = iota
	Provider
	RouteServer
	RSClient
	Customer
	Peer
)

// String gives the name that RFC 9234 uses, in lower case.
func (r Role) String() string {
	names := [...]string{"none", "provider", "route server", "route server client", "customer", "peer"}
	if int(r) < len(names) {
		return names[r]
	}
	return "invalid"
}

// capability is the value of the role capability (RFC 9234, section 4.1).
func (r Role) capability() byte { return byte(r) - 1 }

// State is how far a session has come. Of several connections with one
// router, the one that is furthest counts.
type State uint8

// The states (RFC 4271, section 8.2.2). A guard that waits for its next try is
// Idle; it accepts connections all the same when it has a Listener.
const (
	Idle State = iota
	Connect
	OpenSent
	OpenConfirm
	Established
)

// String gives the state in lower case: "idle", "connect", "opensent",
// "openconfirm", "established".
func (s State) String() string {
	names := [...]string{"idle", "connect", "opensent", "openconfirm", "established"}
	if int(s) < len(names) {
		return names[s]
	}
	return "invalid"
}

// Event is a change of state.
type Event struct {
	State    State
	Previous State
	// Reason says what happened, for people.
	Reason string
	At     time.Time
}

// Status is what a guard knows of its session at one moment.
type Status struct {
	State State
	Since time.Time // when State was entered
	// HoldTime is the negotiated hold time, or the one that the next OPEN
	// proposes while there is no session.
	HoldTime time.Duration
	// What follows was negotiated with the last OPEN that was accepted; it is
	// empty while no connection is in OpenConfirm or Established.
	Families        []Family
	ExtendedNextHop bool
	FourOctet       bool // the neighbour speaks 4-octet AS numbers
	PeerRouterID    netip.Addr
	PeerRole        Role // NoRole: the neighbour sent none
	Local, Remote   netip.AddrPort

	// LastError is the reason of the last failed try or lost session.
	LastError   string
	LastErrorAt time.Time
	// NextTry is when we dial next; zero when no try is waiting.
	NextTry time.Time

	// Counters since New.
	UpdatesDropped uint64 // UPDATEs of the neighbour that went no further
	BytesDropped   uint64 // their bytes, headers included
	UpdatesSent    uint64
	RefreshPassed  uint64 // ROUTE-REFRESHes passed on to the leg
	RefreshDropped uint64 // those of other forms, and repeats within a second
	Sessions       uint64 // how often Established was entered
}

// Cease is the reason for ending a session, as the neighbour gets to see it: a
// NOTIFICATION with error code 6 (RFC 4486).
type Cease struct {
	// Subcode of the NOTIFICATION. Zero stands for Administrative Shutdown (2)
	// in Close and for Administrative Reset (4) in Reset.
	Subcode uint8
	// Text is shown to the neighbour's operators with these two subcodes (RFC
	// 9003). What is longer than 255 bytes of UTF-8 is cut at a rune.
	Text string
}
