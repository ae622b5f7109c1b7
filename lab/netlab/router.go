package netlab

import (
	"net/netip"

	"github.com/catchment-bgp/catchment/lab/router"
)

// What routers say, in one form for all of them.
type (
	// Path is one path to a prefix as a router learned it.
	Path = router.Path
	// Session is a router's view of the session with one neighbour.
	Session = router.Session
	// Counts are a router's counters for one neighbour.
	Counts = router.Counts
)

// Established is the State of a session that is up.
const Established = router.Established

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
