package netlab

import (
	"fmt"
	"net/netip"
	"strings"
	"time"
)

// Path is one path to a prefix as a router learned it by BGP, in one form for all routers. Communities are written as
// in catchment's configuration: "65535:0", "57629:1:101", "rt:57629:101", "ro:57629:101"; well-known ones as numbers.
// What a router prints of another extended community is kept as it is. Lists are in the router's order.
type Path struct {
	Prefix           netip.Prefix
	ASPath           []uint32
	Origin           string       // "igp", "egp" or "incomplete"
	NextHop          []netip.Addr // for IPv6 the global address, then a link-local one when there is one
	Communities      []string
	LargeCommunities []string
	ExtCommunities   []string
	MED              *uint32 // nil: none was sent
	LocalPref        *uint32 // nil: the router shows none
	OTC              *uint32 // Only to Customer (RFC 9234); nil: none
	From             netip.Addr
	Best             bool
}

// Session is a router's view of the session with one neighbour.
type Session struct {
	// State is "Established", or what the router calls any other state.
	State string
	// Uptime is the time since the session was established, as exactly as the router says; 0 when it is not.
	Uptime time.Duration
	// Instance changes whenever the session is established anew: equal values prove that it was not restarted.
	// It is empty when the session is not established, and at OpenBGPD and ExaBGP.
	Instance string
	// PeerRole is the role that the neighbour sent, "customer" or "rs-client" for example (RFC 9234); empty for none, and
	// when the session is not established, and at OpenBGPD and ExaBGP.
	PeerRole string
	// LastError is the router's text on how the session last ended; empty when it never did.
	LastError string
}

// Established is the State of a session that is up.
const Established = "Established"

// Counts are a router's counters for one neighbour. A router that does not have one leaves it nil.
type Counts struct {
	Updates   *uint64 // UPDATE messages received (all but BIRD)
	Refreshes *uint64 // ROUTE-REFRESH messages received (FRR, OpenBGPD)
	Sent      *uint64 // UPDATE messages sent (FRR, OpenBGPD)
	Announced *uint64 // routes received in UPDATEs, repeats counted (all but FRR)
	Withdrawn *uint64 // withdrawals received (all but FRR); BIRD counts announcements that it refuses for its own ASN, too
}

// String lists the counters that there are.
func (c Counts) String() string {
	var words []string
	for _, each := range []struct {
		name  string
		value *uint64
	}{{"updates", c.Updates}, {"refreshes", c.Refreshes}, {"sent", c.Sent}, {"announced", c.Announced}, {"withdrawn", c.Withdrawn}} {
		if each.value != nil {
			words = append(words, fmt.Sprintf("%s %d", each.name, *each.value))
		}
	}
	return strings.Join(words, ", ")
}

// Router is what tests ask of an upstream router, whoever made it.
type Router interface {
	// Routes is what the router learned by BGP for exactly this prefix; empty when nothing. Its own routes are left out.
	Routes(prefix netip.Prefix) ([]Path, error)
	// Session tells about the session with a neighbour. A neighbour that the router does not know is an error.
	Session(peer netip.Addr) (Session, error)
	// SoftIn asks the neighbour for all its routes again (ROUTE-REFRESH, RFC 2918).
	SoftIn(peer netip.Addr) error
	// Counts reads the counters for a neighbour. They start at 0 with the router, not with the session.
	Counts(peer netip.Addr) (Counts, error)
	// Proc is the process that speaks BGP.
	Proc() *Proc
}
