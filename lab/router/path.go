package router

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
	MED              *uint32    // nil: none was sent
	LocalPref        *uint32    // nil: the router shows none
	OTC              *uint32    // Only to Customer (RFC 9234); nil: none
	From             netip.Addr // the neighbour that it was learned from; invalid with To
	To               netip.Addr // the neighbour that it is announced to, where a catchment-edge node tells what it announces
	Best             bool
}

// Session is a router's view of the session with one neighbour.
type Session struct {
	// State is "Established", or what the router calls any other state.
	State string
	// Uptime is the time since the session was established, as exactly as the router says; 0 when it is not.
	Uptime time.Duration
	// Instance changes whenever the session is established anew: equal values prove that it was not restarted.
	// Only lab/netlab tells it, which knows the router's process too; it is empty when the session is not established.
	Instance string
	// PeerRole is the role that the neighbour sent, "customer" or "rs-client" for example (RFC 9234); empty for none, and
	// when the session is not established, and at all but FRR and BIRD.
	PeerRole string
	// LastError is the router's text on how the session last ended; empty when it never did.
	LastError string
}

// Established is the State of a session that is up.
const Established = "Established"

// Neighbor is a neighbour of a router.
type Neighbor struct {
	Name        string     // the router's own name for it: BIRD's protocol, FRR's interface, catchment's neighbour; else empty
	Address     netip.Addr // invalid while it is not known, as at an interface of FRR
	ASN         uint32     // 0: not known
	Description string     // the operator's; empty: none
	Session
	// Ups is how often the session has been established since the router started; 0 where it does not count (all but
	// FRR and ExaBGP).
	Ups    uint64
	Counts Counts
}

// Find returns the neighbour with an address. One that the router does not have is an error.
func Find(neighbors []Neighbor, address netip.Addr) (Neighbor, error) {
	for _, n := range neighbors {
		if n.Address == address {
			return n, nil
		}
	}
	return Neighbor{}, fmt.Errorf("the router has no neighbour %s", address)
}

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

// wellKnown are the names that routers print for the communities of RFC 1997, 3765, 7999 and 8326.
var wellKnown = map[string]string{
	"gracefulShutdown": "65535:0", "graceful-shutdown": "65535:0", "GRACEFUL_SHUTDOWN": "65535:0",
	"blackhole": "65535:666", "BLACKHOLE": "65535:666",
	"noExport": "65535:65281", "no-export": "65535:65281",
	"noAdvertise": "65535:65282", "no-advertise": "65535:65282",
	"localAs": "65535:65283", "local-AS": "65535:65283", "local-as": "65535:65283",
	"noPeer": "65535:65284", "no-peer": "65535:65284",
	"NO_EXPORT": "65535:65281", "NO_ADVERTISE": "65535:65282", "NO_EXPORT_SUBCONFED": "65535:65283", "NO_PEER": "65535:65284",
}

func canonical(list []string) []string {
	var out []string
	for _, word := range list {
		if number, ok := wellKnown[word]; ok {
			word = number
		}
		out = append(out, word)
	}
	return out
}

// joined is the words that are not empty, with colons between them.
func joined(words ...string) string {
	var out []string
	for _, word := range words {
		if word != "" {
			out = append(out, word)
		}
	}
	return strings.Join(out, ": ")
}

// excerpt is the end of a text that could not be read, for an error.
func excerpt(text string) string {
	const most = 1 << 10
	if len(text) <= most {
		return text
	}
	return "..." + text[len(text)-most:]
}
