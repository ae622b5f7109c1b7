package fleet

import (
	"slices"
	"time"
)

const (
	// TTL is how long an edge acts on a grant that nobody renews.
	TTL = 60 * time.Second
	// Margin is how long before the end of it the edge stops: time to return in,
	// and more than a monotonic clock drifts in a TTL.
	Margin = 5 * time.Second
)

// Kind is what a grant is for; its text is that of the API.
type Kind string

// The kinds of grants.
const (
	Window      Kind = "window"
	Load        Kind = "load"
	SoftFailure Kind = "soft_failure"
	Override    Kind = "override"
)

// Valid reports whether k is one of the kinds.
func (k Kind) Valid() bool {
	return slices.Contains([]Kind{Window, Load, SoftFailure, Override}, k)
}

// automatic reports whether no person stands behind the grant.
func (k Kind) automatic() bool { return k == Load || k == SoftFailure }

// State is where a grant stands; its text is that of the API.
type State string

// The states of a grant, as the centre knows them. In all of them the holder counts
// as withdrawn.
const (
	// Offered: issued, and not known to be in use.
	Offered State = "offered"
	// Held: the edge acts on it.
	Held State = "held"
	// Returning: given up by the edge, which does not announce yet.
	Returning State = "returning"
	// Revoked: the edge is to return. Where a hard failure keeps it away it stays
	// away.
	Revoked State = "revoked"
)

// Grant is leave for one node to withdraw one service.
type Grant struct {
	// ID is chosen by the edge. An edge that has stopped asking for an id, or acting
	// on it, never asks for it again.
	ID      string `json:"id"`
	Node    string `json:"node"`
	Service string `json:"service"`
	Kind    Kind   `json:"kind"`
	Window  string `json:"window,omitempty"`
	State   State  `json:"state"`
	// Asked is the number of the report that asked for it: only later ones can say
	// that it is not needed.
	Asked uint64 `json:"asked"`
	// Share is the part of the node's load that goes elsewhere, 0..1; 0: all of it.
	Share float64 `json:"share,omitempty"`
	// Issued is by the centre's clock, for people to read and for Quiet.
	Issued time.Time     `json:"issued"`
	TTL    time.Duration `json:"ttl"`
	// Override marks a grant that was given in spite of a limit, Broke which.
	Override bool   `json:"override,omitempty"`
	Broke    string `json:"broke,omitempty"`
}

// Report is what a report of the holder says of a grant.
type Report struct {
	// Number grows with each report of the node, over its restarts, too.
	Number uint64
	// Wants and Held say whether the report asks for the grant and acts on it.
	Wants, Held bool
	// Announcing is true if the service is announced or steered.
	Announcing bool
}

// Next returns the grant after a report of its holder, and whether it is given back
// and to be deleted. A report from before the grant was asked for says nothing. No
// passing of time frees a grant.
func (g Grant) Next(r Report) (Grant, bool) {
	if r.Number <= g.Asked {
		return g, false
	}
	switch {
	case r.Held:
		if g.State == Offered || g.State == Returning {
			g.State = Held
		}
	case r.Wants: // what was offered may be on its way, and be acted on
		if g.State == Held || g.State == Returning {
			g.State = Offered
		}
	case r.Announcing:
		return g, true
	case g.State != Revoked:
		g.State = Returning
	}
	return g, false
}

// Revoke returns the grant as one that its holder shall give back.
func (g Grant) Revoke() Grant {
	g.State = Revoked
	return g
}

// Recall returns the ids of the grants that a fleet in need takes back, in order:
// those that nobody but a machine asked for, at services that too few announce.
// Windows under way go on: people are at work there.
func Recall(f Fleet) []string {
	var ids []string
	for _, g := range f.Grants {
		if g.State != Revoked && g.Kind.automatic() && f.Count(g.Service).Announcing < f.Limits[g.Service].least() {
			ids = append(ids, g.ID)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// Lease is a grant as its holder has it.
type Lease struct {
	ID    string
	Kind  Kind
	State State
	TTL   time.Duration
	// Sent is when this edge sent the newest report that the centre had when it last
	// confirmed the grant, on this edge's monotonic clock. So neither a slow network
	// nor a wrong wall clock lengthens a lease.
	Sent time.Time
	// Begun says that the node has withdrawn for it.
	Begun bool
}

// Until is when the edge stops acting on the lease if nobody renews it.
func (l Lease) Until() time.Time { return l.Sent.Add(l.TTL - Margin) }

// MayAct reports whether the edge may stay, or go, withdrawn for the lease. A window
// that has begun lasts until its own end, which the edge knows. Where the answer is
// no the edge returns, unless a hard failure forbids it, and forgets the id.
func (l Lease) MayAct(now time.Time) bool {
	if l.State == Revoked {
		return false
	}
	return l.Kind == Window && l.Begun || now.Before(l.Until())
}
