package bmp

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/catchment-bgp/catchment/community"
	"github.com/catchment-bgp/catchment/community/update"
)

// RIB is which of a router's tables is read.
type RIB string

// The tables: routes as a peer sent them, those that passed the router's policy, and
// those that the router itself uses (RFC 9069).
const (
	Pre  RIB = "pre"
	Post RIB = "post"
	Loc  RIB = "loc-rib"
)

// View is a router that may connect.
type View struct {
	Name string
	// Address is where its connections come from.
	Address netip.Addr
	RIB     RIB
}

// Family is IPv4 or IPv6.
type Family int

// The families. Their values are indexes.
const (
	IPv4 Family = 0
	IPv6 Family = 1
)

// Families are both.
var Families = [...]Family{IPv4, IPv6}

// String returns "ipv4" or "ipv6".
func (f Family) String() string { return fmt.Sprintf("ipv%d", 4+2*int(f)) }

// FamilyOf returns the family of a prefix.
func FamilyOf(p netip.Prefix) Family {
	if p.Addr().Is4() {
		return IPv4
	}
	return IPv6
}

func familyOf(afi uint16, safi byte) (Family, bool) {
	return Family(afi) - update.AFIv4, safi == update.SAFIUnicast && (afi == update.AFIv4 || afi == update.AFIv6)
}

// Route is one that a view has.
type Route struct {
	Prefix netip.Prefix
	// Peer and PeerASN are whom the view has it of: itself in Loc-RIB, which has no
	// address. LocalASN is the view's AS.
	Peer              netip.Addr
	PeerASN, LocalASN uint32
	PathID            uint32 // with ADD-PATH
	NextHop           netip.Addr
	Path              update.Path
	Communities       community.Set
}

// State is what is known of a view at a moment.
type State struct {
	Name string
	// Up is true while it is connected and has said who it is; Since is when that
	// began or, where it is not, ended (zero: it never was), and Why why it did.
	Up    bool
	Since time.Time
	Why   string
	// Router is what it calls itself.
	Router string
	// Peers of which it has the table that is read are up.
	Peers int
	// Done is true once all that those peers had has come: see [DumpTime].
	Done [2]bool // by Family
	// Spoke is true once anything has come of a family: one that is not monitored
	// stays silent, and says nothing.
	Spoke  [2]bool
	Routes []Route // to wanted prefixes, in no order
}
