package policy

import (
	"net/netip"
	"time"

	"github.com/catchment-bgp/catchment/policy/flap"
)

// Config is what is configured.
type Config struct {
	Services []Service
	// ReturnAfter is how long health must last before the return after the
	// first, second, ... failure of the last hour; the last stands for the rest.
	ReturnAfter []time.Duration
	// Grace is how long a way back may be missing before its family is withdrawn.
	Grace time.Duration
	Load  LoadConfig
}

// Service is what is announced as one.
type Service struct {
	Name      string
	Neighbors []Neighbor
	// Prefixes that it has: rungs may touch some of them, and the flap ledger is
	// kept for each.
	Prefixes []netip.Prefix
}

// Neighbor is one that a service is announced to.
type Neighbor struct {
	Name string
	// IPv4 and IPv6 say of which families the service has prefixes that the
	// neighbour's session carries.
	IPv4, IPv6 bool
}

// Input is what is the case now.
type Input struct {
	// Now should come from time.Now: with its monotonic reading a clock that is
	// set neither shortens nor lengthens a wait.
	Now time.Time
	// Health of each service by name; a missing one is Unknown.
	Health    map[string]Health
	Overrides []Override
	// WayBack4 and WayBack6 say whether replies of a family find their way: Up
	// with a default route or a full view, or where none is required.
	WayBack4, WayBack6 Verdict
	// Samples has the newest figure of each link by name; a missing one is none.
	Samples map[string]Sample
	// Node is the newest figure of the node's own resources, as a share of them.
	Node Sample
	// Sessions has what is known of each neighbour's session by name.
	Sessions map[string]Session
	Pins     []Pin
	// OthersMoved is when another node of the site, or one that shares clients
	// with it, last changed its announcements; zero: never, or not known.
	OthersMoved time.Time
	// Room is how much the other nodes can take before one is nearly full, in the
	// unit of the links' samples, and RoomAt when that was true; zero: nobody says.
	Room   float64
	RoomAt time.Time
	// Told has, by ASN, what the other nodes that share a flap budget there were
	// charged, as far as somebody tells. It is not changed.
	Told map[uint32]flap.Told `json:",omitempty"`
	// Orders are what the fleet asks of this node.
	Orders Orders `json:",omitzero"`
}

// Health is the verdict of a service's checks.
type Health struct {
	Hard, Soft             Verdict
	HardDetail, SoftDetail string
}

// State is what Next remembers from one call to the next. Its zero value is a
// fresh start. Its JSON form keeps what must survive a restart.
type State struct {
	Services map[string]ServiceState `json:"services,omitempty"`
	WayBack4 WayBackState            `json:"way_back_4"`
	WayBack6 WayBackState            `json:"way_back_6"`
	Load     LoadState               `json:"load,omitzero"`
}

// ServiceState is what is remembered of one service.
type ServiceState struct {
	Hard Hold `json:"hard"`
	Soft Hold `json:"soft"`
	// Last is the last summary, and Since the time it began.
	Last  Cause     `json:"-"`
	Since time.Time `json:"-"`
}

// WayBackState is what is remembered of one family's way back.
type WayBackState struct {
	Hold Hold `json:"hold"`
	// LostSince is when the way back went missing; zero: it is there.
	LostSince time.Time `json:"-"`
}

// Decision is what shall be.
type Decision struct {
	Services []ServiceDecision
	// Links and Climbers are what load control found, in the order configured.
	Links    []LinkDecision
	Climbers []ClimberDecision
	// Wake is when the decision may change without any new input; zero: never.
	Wake time.Time
}

// ServiceDecision is what shall be of one service.
type ServiceDecision struct {
	Name string
	// Cause sums up: the least severe of all neighbours and families, of equal
	// ones that whose reason ranks last.
	Cause
	// Since is when severity or reason last changed.
	Since     time.Time
	Neighbors []NeighborDecision
}

// NeighborDecision is what shall be of one service at one neighbour, by family.
// A family that is not sent there is Withdrawn for the reason Normal.
type NeighborDecision struct {
	Name       string
	IPv4, IPv6 Cause
	// Rung of the neighbour's ladder that load control or a pin put in force for
	// this service; 0: as configured. It bears on what is announced in a family
	// whose cause is Load; Climber.Governs says which rung's values a prefix has.
	Rung int
}

// Next decides. It never changes its arguments.
func Next(c Config, s State, in Input) (State, Decision) { return new(Buffer).Next(c, s, in) }

// families are the causes that bear on one address family each.
type families struct{ v4, v6 Cause }

// next decides for one service.
func (svc *Service) next(r *round, was ServiceState, back families, sd *ServiceDecision) ServiceState {
	h := r.in.Health[svc.Name]
	var now ServiceState
	var until time.Time
	now.Hard, until = was.Hard.next(r.in.Now, h.Hard, r.c.ReturnAfter)
	hard := failure(Withdrawn, HardFailure, now.Hard, h.Hard, h.HardDetail, until)
	r.wake(until)
	hard = r.in.Orders.kept(svc.Name, h.Hard, hard)
	var soft Cause
	now.Soft, soft = r.softHold(was, h)
	soft = r.in.Orders.soft(svc.Name, soft).and(r.turn(svc.Name, was))

	sd.Name, sd.Neighbors = svc.Name, resize(sd.Neighbors, len(svc.Neighbors))
	for i := range svc.Neighbors {
		n := &svc.Neighbors[i]
		w := r.words(svc.Name, n.Name)
		w.said = w.said.and(r.in.Orders.window(svc.Name, n.Name))
		rung, load := 0, families{}
		if !w.announce {
			rung, load = r.loadCauses(svc, n.Name, i)
		}
		sd.Neighbors[i] = NeighborDecision{
			Name: n.Name, Rung: rung,
			IPv4: decide(n.IPv4, hard, back.v4, soft, load.v4, w),
			IPv6: decide(n.IPv6, hard, back.v6, soft, load.v6, w),
		}
	}
	sd.Cause = summary(svc, sd.Neighbors)
	sd.Since = was.Since
	if sd.Since.IsZero() || was.Last.Severity != sd.Severity || was.Last.Reason != sd.Reason {
		sd.Since = r.in.Now
	}
	now.Last, now.Since = sd.Cause, sd.Since
	return now
}

// failure is the cause that a hold brings about; the zero Cause: none.
func failure(sev Severity, r Reason, h Hold, v Verdict, detail string, until time.Time) Cause {
	switch {
	case h.InService:
		return Cause{}
	case v == Unknown && r == SoftFailure && !h.Held:
		return Cause{} // nothing speaks against it yet
	case v == Unknown && detail == "":
		detail = "not checked yet"
	case v == Up:
		detail = "healthy again; returns after " + until.Sub(h.HealthySince).String() + " without a failure"
	}
	return Cause{sev, r, detail}
}

// next takes in whether the way back is there.
func (w WayBackState) next(r *round, v Verdict, family string) (WayBackState, Cause) {
	now := r.in.Now
	switch v {
	case Up:
		w.LostSince = time.Time{}
	case Down:
		if w.LostSince.IsZero() || now.Before(w.LostSince) {
			w.LostSince = now
		}
		if end := w.LostSince.Add(r.c.Grace); w.Hold.InService && now.Before(end) {
			r.wake(end)
			v = Up // the grace: as if it were still there
		}
	}
	var until time.Time
	w.Hold, until = w.Hold.next(now, v, r.c.ReturnAfter)
	r.wake(until)
	if w.Hold.InService {
		return w, Cause{}
	}
	detail := "no " + family + " default route: replies would be lost (add one, or set way_back.require: none)"
	if v == Unknown {
		detail = family + " routes of this machine not read yet"
	}
	return w, failure(Withdrawn, HardFailure, w.Hold, v, detail, until)
}

// words is what operators say about one service at one neighbour.
type words struct {
	said       Cause
	announce   bool // soft failures and load do not count
	evenIfDead bool // hard failures do not count
}

func (r *round) words(service, neighbor string) words {
	var w words
	for i := range r.in.Overrides {
		o := &r.in.Overrides[i]
		if !o.covers(service, neighbor) || !o.Active(r.in.Now) {
			continue
		}
		w.said = w.said.and(o.cause(r.in.Now))
		r.wake(o.Until)
		switch o.Verb {
		case Drain:
			r.wake(o.WithdrawAt)
		case Announce:
			w.announce = true
			w.evenIfDead = w.evenIfDead || o.EvenIfDead
		}
	}
	return w
}

// decide combines all causes for one service, neighbour and family.
func decide(has bool, hard, back, soft, load Cause, w words) Cause {
	if !has {
		return Cause{Withdrawn, Normal, "no prefix of this family is sent there"}
	}
	out := Combine(w.said)
	if !w.evenIfDead {
		out = out.and(hard).and(back)
	}
	if !w.announce {
		out = out.and(soft).and(load)
	}
	return out
}

// summary is the least severe outcome, with a word on those that differ. Of equal
// ones it is that whose reason ranks last: what an operator said of one neighbour
// does not hide that the service is dead.
func summary(svc *Service, ns []NeighborDecision) Cause {
	best := Cause{Severity: Withdrawn, Reason: Normal, Detail: "no neighbour carries its prefixes"}
	first := true
	better := func(has bool, c Cause) {
		if has && (first || c.Severity < best.Severity || c.Severity == best.Severity && c.Reason > best.Reason) {
			best, first = c, false
		}
	}
	for i := range ns {
		better(svc.Neighbors[i].IPv4, ns[i].IPv4)
		better(svc.Neighbors[i].IPv6, ns[i].IPv6)
	}
	detail := best.Detail
	tell := func(has bool, neighbor, family string, c Cause) {
		if has && (c.Severity != best.Severity || c.Reason != best.Reason) {
			if detail != "" {
				detail += "; "
			}
			detail += neighbor + " " + family + " " + c.Severity.String() + ": " + c.Detail
		}
	}
	for i := range ns {
		tell(svc.Neighbors[i].IPv4, ns[i].Name, "ipv4", ns[i].IPv4)
		tell(svc.Neighbors[i].IPv6, ns[i].Name, "ipv6", ns[i].IPv6)
	}
	best.Detail = detail
	return best
}
