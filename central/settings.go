package central

import (
	"log/slog"
	"time"

	"github.com/catchment-bgp/catchment/community"
	"github.com/catchment-bgp/catchment/community/registry"
	"github.com/catchment-bgp/catchment/policy/fleet"
)

const (
	// Silence is how long nothing may come from a connected edge before it counts
	// as not seen; edges report every 10 s at least.
	Silence = 35 * time.Second
	// beatEvery is how often a centre says that it is alive, and replicaSilence how
	// long another believes it without.
	beatEvery      = 3 * time.Second
	replicaSilence = 12 * time.Second
	// tickEvery is how often a leader steers at least, and tickMin at most.
	tickEvery = 5 * time.Second
	tickMin   = 200 * time.Millisecond
	// resendEvery is how often an edge hears the same again, so that it knows that
	// the centre is there; one with grants hears it after each report.
	resendEvery = 20 * time.Second
	// lastSeenEvery is how old the store's word of a node may be that says nothing new.
	lastSeenEvery = 5 * time.Minute
	// pruneEvery is how often a leader looks for audit records that are too old.
	pruneEvery = 10 * time.Minute
)

// Settings are what an operator decides about the fleet.
type Settings struct {
	// Replica names this process among the centres of one store.
	Replica string
	// ASN is ours: tags are communities of it. 0: those that the nodes say.
	ASN uint32
	// Cluster says that the store has members elsewhere, of which one may die.
	Cluster bool
	// Services has the limits by service; others have those of fleet.Limits{}.
	Services map[string]fleet.Limits
	// Landing says where load goes that a node sheds; nil: not known.
	Landing fleet.Landing
	// Outside says who sees the nodes from outside; its zero value: nobody.
	Outside Outside
	// Registry knows our communities; nil: none. What it says is an action is no tag.
	Registry *registry.Registry
	// Step is the time between two turns of nodes that come back; 0: 30 s.
	Step time.Duration
	// AuditKeep is how long audit records are kept; 0: for ever.
	AuditKeep time.Duration
	// WebURL is where people find the page, without a code; empty: it is not said. WebPort is
	// the port at which this centre serves it; 0: none.
	WebURL  string
	WebPort uint32
	// Version and Commit are those of this program; empty: not known.
	Version, Commit string
	// Log gets one line for each change; nil: none.
	Log *slog.Logger
}

// limits returns a service's limits.
func (s Settings) limits(service string) fleet.Limits { return s.Services[service] }

// action is what an AS documents as an action of a community; nil: nothing.
func (s Settings) action(v community.Value, asn uint32) (found *registry.Entry) {
	if s.Registry == nil {
		return nil
	}
	s.Registry.Lookup(v, func(e *registry.Entry) bool {
		if e.Owner == asn && e.Kind == registry.KindAction {
			found = e
		}
		// A more specific entry that tells where a route is from wins over a pattern.
		return found == nil && !(e.Owner == asn && e.Kind == registry.KindInfo)
	})
	return found
}
