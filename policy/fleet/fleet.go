package fleet

import (
	"maps"
	"math"
	"slices"
	"time"
)

const (
	// Brim is the utilization above which no receiver of shed load may come.
	Brim = 0.85
	// Quiet is how long after a move no other of an overlapping catchment moves
	// for load.
	Quiet = 180 * time.Second
)

// Limits bound what a service may lose.
type Limits struct {
	// MinAnnouncing is how many nodes must announce; below 1 counts as 1.
	MinAnnouncing int
	// MaxWithdrawn is the share of the capacity, 0..1, that may be withdrawn; 0: no
	// bound but the others.
	MaxWithdrawn float64
}

func (l Limits) least() int { return max(1, l.MinAnnouncing) }

func (l Limits) share() float64 {
	if l.MaxWithdrawn <= 0 || l.MaxWithdrawn > 1 || math.IsNaN(l.MaxWithdrawn) {
		return 1
	}
	return l.MaxWithdrawn
}

// Figure is a load in bit/s, if it is known.
type Figure struct {
	Value float64
	Known bool
}

// Known is a figure that is known.
func Known(v float64) Figure { return Figure{Value: v, Known: true} }

// Node is an edge as the centre knows it.
type Node struct {
	Name, Site string
	// Seen is false once nothing has come from the node for too long: it is no
	// capacity then, whatever it said last.
	Seen bool
	// Capacity is what the node can carry, in bit/s; 0: not known.
	Capacity float64
	// Load is what it carries now, Peak the most that is expected of it in the hours
	// in question (see Peaks). A Load that is not known counts as a full node; a
	// Peak that is not known as the Load.
	Load, Peak Figure
	// Disabled says that an operator took it out.
	Disabled bool
	// Standby is a reserve: no part of the fleet until Activated, which says since
	// when it announces.
	Standby   bool
	Activated time.Time
	// Moved is when a rung or an announcement last changed for load, by the centre's
	// clock.
	Moved time.Time
	// Services that the node has, by name.
	Services map[string]Standing
}

// Standing is how a service stands at a node, by the node's newest report.
type Standing struct {
	// Announcing is true if it is announced or steered: a draining one leaves.
	Announcing bool
	// Healthy is true if its hard checks pass.
	Healthy bool
	// Told says that the node is told to keep the service announced in a hard failure
	// (see Keep); Keeps that it reports an intent in force that says so, made since
	// it was last told. Keeps without Told means nothing.
	Told, Keeps bool
	// Reason says in a few words why the service is not announced.
	Reason string
	// Lacking names the views from outside that lack it, where Reason is Unseen.
	Lacking string
}

// NoSession is the Reason of a service that would be announced if a router were
// there to hear it.
const NoSession = "no_session"

// confirmed reports whether the node is known to stay in a hard failure.
func (s Standing) confirmed() bool { return s.Told && s.Keeps }

func (n Node) idle() bool { return n.Standby && n.Activated.IsZero() }

// Fleet is all that decisions are made of.
type Fleet struct {
	Now    time.Time
	Nodes  []Node
	Limits map[string]Limits // by service
	// Grants that have not been given back, in whatever state. For a question about
	// the future the caller adds one for each window that overlaps.
	Grants []Grant
	// Lands says where load goes that a node sheds.
	Lands Landing
	// Frozen says why nothing changes by itself at present, if so.
	Frozen string
}

// Without returns the fleet as if these nodes did not have a service: for a question
// about a part of it that they do not announce.
func (f Fleet) Without(service string, nodes []string) Fleet {
	f.Nodes = slices.Clone(f.Nodes)
	for i, n := range f.Nodes {
		if _, has := n.Services[service]; has && slices.Contains(nodes, n.Name) {
			f.Nodes[i].Services = maps.Clone(n.Services)
			delete(f.Nodes[i].Services, service)
		}
	}
	return f
}

// granted reports whether a node must count as withdrawn for its grants.
func (f Fleet) granted(node, service string) bool {
	return slices.ContainsFunc(f.Grants, func(g Grant) bool { return g.Node == node && g.Service == service })
}

func (f Fleet) node(name string) (Node, bool) {
	i := slices.IndexFunc(f.Nodes, func(n Node) bool { return n.Name == name })
	if i < 0 {
		return Node{}, false
	}
	return f.Nodes[i], true
}

// takesPart reports whether a node belongs to those that shall announce a service.
func (n Node) takesPart(service string) bool {
	_, has := n.Services[service]
	return has && !n.idle()
}

// announcing reports whether a node counts as announcing a service.
func (f Fleet) announcing(n Node, service string) bool {
	return n.announces(service) && !f.granted(n.Name, service)
}

// announces reports whether a node announces a service as far as its reports go.
func (n Node) announces(service string) bool {
	return n.takesPart(service) && n.Seen && !n.Disabled && n.Services[service].Announcing
}

// announcers is announcing for one service and many nodes.
func (f Fleet) announcers(service string) func(Node) bool {
	granted := map[string]bool{}
	for _, g := range f.Grants {
		if g.Service == service {
			granted[g.Node] = true
		}
	}
	return func(n Node) bool { return n.announces(service) && !granted[n.Name] }
}

// Count says how a service stands in the fleet.
type Count struct {
	// Nodes shall announce the service, Announcing of them do.
	Nodes, Announcing int
	// Capacity is what the announcing nodes can carry and Load what they do, in
	// bit/s, as far as it is known.
	Capacity, Load float64
	// Withdrawn is the share of the capacity that is not announced, 0..1.
	Withdrawn float64
}

// Count counts a service's nodes as its limits see them.
func (f Fleet) Count(service string) Count { return f.count(service, "") }

// count takes the node named without, if any, as withdrawn.
func (f Fleet) count(service, without string) Count {
	var c Count
	var all, gone float64
	weight, announcing := f.weigh(service), f.announcers(service)
	for _, n := range f.Nodes {
		if !n.takesPart(service) {
			continue
		}
		c.Nodes++
		w := weight(n)
		all += w
		if n.Name == without || !announcing(n) {
			gone += w
			continue
		}
		c.Announcing++
		c.Capacity += n.Capacity
		c.Load += n.Load.Value
	}
	if all > 0 {
		c.Withdrawn = gone / all
	}
	return c
}

// weigh returns what a node counts for: its capacity, or the mean of the others'
// where it is not known; all alike where none is.
func (f Fleet) weigh(service string) func(Node) float64 {
	var sum float64
	var known int
	for _, n := range f.Nodes {
		if n.takesPart(service) && n.Capacity > 0 {
			sum += n.Capacity
			known++
		}
	}
	mean := 1.0
	if known > 0 {
		mean = sum / float64(known)
	}
	return func(n Node) float64 {
		if n.Capacity > 0 {
			return n.Capacity
		}
		return mean
	}
}
