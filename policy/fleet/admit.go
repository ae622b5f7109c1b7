package fleet

import (
	"fmt"
	"slices"
	"strings"
)

// Request asks leave for a node to withdraw a service.
type Request struct {
	ID, Node, Service string
	Kind              Kind
	Window            string
	// Number is that of the report that asks.
	Number uint64
	// Load is what would go elsewhere, in bit/s; 0: all that the node carries.
	Load float64
	// Override passes every limit. The answer is marked.
	Override bool
	// Ahead asks about the future: what is carried now, who moved lately and who
	// keeps what say nothing then, and only peaks count. Nothing may be issued on it.
	Ahead bool
}

// Limit names what refuses.
type Limit string

// The limits, in the order in which they are looked at.
const (
	Unknown       Limit = "unknown"        // no such node, service or kind
	Frozen        Limit = "frozen"         // fleet freeze
	LastAnnouncer Limit = "last_announcer" // nobody else announces
	MinAnnouncing Limit = "min_announcing"
	MaxWithdrawn  Limit = "max_withdrawn"
	BrimLimit     Limit = "brim"    // a receiver would pass Brim
	NoRest        Limit = "no_rest" // the load would come to rest nowhere
	OtherMoved    Limit = "other_moved"
	Keeper        Limit = "keeper" // told to stay in a hard failure, and nobody has taken over yet
)

// Refusal says why not.
type Refusal struct {
	Limit  Limit
	Reason string
	// Holders have the other grants of the service, each with what for.
	Holders []string
}

// Answer is what comes of a request.
type Answer struct {
	OK bool
	// Refusal is set where OK is false, and where Override is true: then it is what
	// would have refused.
	Refusal Refusal
	// Override marks leave that was given in spite of a limit.
	Override bool
}

// Admit decides whether a node may withdraw a service. The node is judged as if
// it announced, so that a node in failure gets no leave which it could not have in
// health.
func Admit(f Fleet, r Request) Answer {
	refusal, refused := f.refuse(r)
	if !refused {
		return Answer{OK: true}
	}
	refusal.Holders = f.holders(r.Service, r.Node)
	if len(refusal.Holders) > 0 {
		refusal.Reason += "; withdrawn by leave: " + strings.Join(refusal.Holders, ", ")
	}
	overridden := r.Override && refusal.Limit != Unknown
	return Answer{OK: overridden, Override: overridden, Refusal: refusal}
}

// Worse returns the one of two answers to a request that lets less happen.
func (a Answer) Worse(b Answer) Answer {
	if a.OK && (!b.OK || b.Override && !a.Override) {
		return b
	}
	return a
}

// Grant returns the grant that follows from an answer that is OK.
func (r Request) Grant(f Fleet, a Answer) Grant {
	g := Grant{ID: r.ID, Node: r.Node, Service: r.Service, Kind: r.Kind, Window: r.Window, State: Offered,
		Asked: r.Number, Issued: f.Now, TTL: TTL, Override: a.Override}
	if n, ok := f.node(r.Node); ok {
		g.Share = r.share(n)
	}
	if a.Override {
		g.Broke = string(a.Refusal.Limit) + ": " + a.Refusal.Reason
	}
	return g
}

// share is the part of the node's load that would go elsewhere.
func (r Request) share(n Node) float64 {
	if r.Load > 0 && n.Load.Known && n.Load.Value > r.Load {
		return r.Load / n.Load.Value
	}
	return 0
}

// refuse returns the first limit that stands against the request.
func (f Fleet) refuse(r Request) (Refusal, bool) {
	n, ok := f.node(r.Node)
	if !ok || !r.Kind.Valid() {
		return Refusal{Limit: Unknown, Reason: fmt.Sprintf("there is no node %q, or no kind of grant %q", r.Node, r.Kind)}, true
	}
	if _, has := n.Services[r.Service]; !has {
		return Refusal{Limit: Unknown, Reason: fmt.Sprintf("node %s has no service %q", r.Node, r.Service)}, true
	}
	if f.Frozen != "" && !(r.Kind == Override || r.Ahead) {
		return Refusal{Limit: Frozen, Reason: "the fleet is frozen: " + f.Frozen}, true
	}
	for _, check := range []func(Request, Node) (Refusal, bool){f.tooFew, f.tooMuch, f.spills, f.unquiet, f.keeps} {
		if refusal, refused := check(r, n); refused {
			return refusal, true
		}
	}
	return Refusal{}, false
}

func (f Fleet) tooFew(r Request, n Node) (Refusal, bool) {
	left, least := f.count(r.Service, n.Name).Announcing, f.Limits[r.Service].least()
	switch {
	case left == 0:
		return Refusal{Limit: LastAnnouncer,
			Reason: fmt.Sprintf("no other node announces %s%s", r.Service, f.unseen(r.Service))}, true
	case left < least:
		return Refusal{Limit: MinAnnouncing,
			Reason: fmt.Sprintf("without %s only %d would announce %s, and min_announcing is %d%s", n.Name, left, r.Service, least, f.unseen(r.Service))}, true
	}
	return Refusal{}, false
}

func (f Fleet) tooMuch(r Request, n Node) (Refusal, bool) {
	gone, most := f.count(r.Service, n.Name).Withdrawn, f.Limits[r.Service].share()
	if gone <= most+1e-9 {
		return Refusal{}, false
	}
	return Refusal{Limit: MaxWithdrawn, Reason: fmt.Sprintf("without %s %.0f %% of the capacity of %s would be withdrawn, and max_withdrawn is %.0f %%%s",
		n.Name, 100*gone, r.Service, 100*most, f.unseen(r.Service))}, true
}

// unseen names nodes that count as withdrawn since nothing is heard of them, and those
// that nobody outside hears.
func (f Fleet) unseen(service string) string {
	var names, filtered []string
	for _, n := range f.Nodes {
		switch st := n.Services[service]; {
		case !n.takesPart(service) || f.granted(n.Name, service):
		case !n.Seen:
			names = append(names, n.Name)
		case st.Reason == Unseen && !n.Disabled:
			filtered = append(filtered, n.Name+" at "+st.Lacking)
		}
	}
	text := ""
	if len(names) > 0 {
		slices.Sort(names)
		text = "; not seen: " + list(names)
	}
	if len(filtered) > 0 {
		slices.Sort(filtered)
		text += "; unseen from outside: " + list(filtered)
	}
	return text
}

// holders says who else has leave to be away, and for what.
func (f Fleet) holders(service, but string) []string {
	var out []string
	for _, g := range f.Grants {
		if g.Service == service && g.Node != but {
			out = append(out, strings.TrimSpace(fmt.Sprintf("%s for %s %s", g.Node, words[g.Kind], g.Window)))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

var words = map[Kind]string{Window: "window", Load: "load", SoftFailure: "a soft failure", Override: "an operator"}

// unquiet refuses a move for load soon after another of an overlapping catchment.
func (f Fleet) unquiet(r Request, n Node) (Refusal, bool) {
	if r.Kind != Load || r.Ahead {
		return Refusal{}, false
	}
	for _, m := range f.nodesOf(r.Service) {
		if m.Name == n.Name || !f.Lands.touches(n, m) {
			continue
		}
		moved := m.Moved
		for _, g := range f.Grants {
			if g.Node == m.Name && g.Kind == Load && g.Issued.After(moved) {
				moved = g.Issued
			}
		}
		if !moved.IsZero() && f.Now.Sub(moved) < Quiet {
			return Refusal{Limit: OtherMoved, Reason: fmt.Sprintf("%s, whose clients overlap, moved %.0f s ago; one in %.0f s moves",
				m.Name, f.Now.Sub(moved).Seconds(), Quiet.Seconds())}, true
		}
	}
	return Refusal{}, false
}

// keeps refuses a node that a hard failure is to leave announced until enough
// others have confirmed that they do that.
func (f Fleet) keeps(r Request, n Node) (Refusal, bool) {
	if r.Ahead || !n.Services[r.Service].Told {
		return Refusal{}, false
	}
	var others int
	for _, m := range f.nodesOf(r.Service) {
		if m.Name != n.Name && f.announcing(m, r.Service) && m.Services[r.Service].confirmed() {
			others++
		}
	}
	if least := f.Limits[r.Service].least(); others < least {
		return Refusal{Limit: Keeper, Reason: fmt.Sprintf("%s is one of the last that a hard failure leaves announced; %d of %d others have confirmed to take over",
			n.Name, others, least)}, true
	}
	return Refusal{}, false
}
