package policy

import (
	"slices"
	"time"

	"github.com/catchment-bgp/catchment/policy/flap"
)

// Orders are what the fleet asks of this node, and what it gives leave for. The zero
// value asks for nothing and gives none.
type Orders struct {
	Windows []Window `json:",omitempty"`
	// Frozen lets nothing change by itself but for hard failures and by windows. Rungs
	// are held by pins.
	Frozen bool `json:",omitempty"`
	// Keep names the services that a hard failure leaves announced, de-preferred: this
	// node is among the last that announce them.
	Keep []string `json:",omitempty"`
	// Leave names the services that may be withdrawn for a soft failure, and Refused
	// says why others may not.
	Leave   []string  `json:",omitempty"`
	Refused []Refusal `json:",omitempty"`
	// Turns say when a service that is away may return.
	Turns []Turn `json:",omitempty"`
	// Ascend names the neighbours that may take rungs which withdraw, or make others
	// withdraw.
	Ascend []string `json:",omitempty"`
}

// Window is how far maintenance has taken a service at a neighbour.
type Window struct {
	Service, Neighbor string
	// Over is true once the drain is over: the service is to be withdrawn.
	Over bool
	// Leave is true if it may be withdrawn; without it is only de-preferred. Asked is
	// true while the answer is on its way: till then it drains on.
	Leave, Asked bool
	// Detail says which window, and until when.
	Detail string
}

// Refusal says why a service may not be withdrawn.
type Refusal struct{ Service, Reason string }

// Turn says when a service may return.
type Turn struct {
	Service string
	At      time.Time
}

// cause is what the window makes of an announcement.
func (w *Window) cause() Cause {
	c := Cause{Draining, Maintenance, w.Detail}
	switch {
	case w.Over && w.Leave:
		c.Severity = Withdrawn
	case w.Over && !w.Asked:
		c.Severity = Steered
	}
	return c
}

// window is what maintenance makes of a service at a neighbour.
func (o *Orders) window(service, neighbor string) Cause {
	var c Cause
	for i := range o.Windows {
		if w := &o.Windows[i]; w.Service == service && w.Neighbor == neighbor {
			c = c.and(w.cause())
		}
	}
	return c
}

// kept turns a hard failure that the fleet cannot afford into a de-preference. What
// was never checked is not kept.
func (o *Orders) kept(service string, v Verdict, hard Cause) Cause {
	if hard.Reason == 0 || v == Unknown || !slices.Contains(o.Keep, service) {
		return hard
	}
	return Cause{Steered, FleetLimit, "kept announced, since too few others announce it: " + hard.Detail}
}

// soft is what a soft failure comes to.
func (o *Orders) soft(service string, soft Cause) Cause {
	if soft.Reason == 0 {
		return soft
	}
	if slices.Contains(o.Leave, service) {
		soft.Severity = Withdrawn
		return soft
	}
	for i := range o.Refused {
		if r := &o.Refused[i]; r.Service == service {
			return Cause{Steered, FleetLimit, soft.Detail + "; not withdrawn: " + r.Reason}
		}
	}
	return soft
}

// softHold takes the verdict of the soft checks in. While the fleet is frozen what
// they brought about stays, and nothing new comes of them.
func (r *round) softHold(was ServiceState, h Health) (Hold, Cause) {
	if r.in.Orders.Frozen && (was.Soft.InService || was.Soft.Held) {
		if was.Soft.InService {
			return was.Soft, Cause{}
		}
		return was.Soft, Cause{Steered, SoftFailure, join(h.SoftDetail, "the fleet is frozen")}
	}
	hold, until := was.Soft.next(r.in.Now, h.Soft, r.c.ReturnAfter)
	r.wake(until)
	return hold, failure(Steered, SoftFailure, hold, h.Soft, h.SoftDetail, until)
}

// turn keeps a service that is away until its turn has come.
func (r *round) turn(service string, was ServiceState) Cause {
	if !was.Since.IsZero() && was.Last.Severity != Withdrawn {
		return Cause{}
	}
	for i := range r.in.Orders.Turns {
		if t := &r.in.Orders.Turns[i]; t.Service == service && r.in.Now.Before(t.At) {
			r.wake(t.At)
			return Cause{Withdrawn, FleetLimit, "returns in its turn, at " + t.At.UTC().Format(time.RFC3339)}
		}
	}
	return Cause{}
}

// mayAscend says whether a climber may take rungs that need leave.
func (r *round) mayAscend(i int) bool {
	return r.c.Load.AllowWithdraw || slices.Contains(r.in.Orders.Ascend, r.c.Load.Climbers[i].Name)
}

// Retold enters in the ledger that every route which a decision announces looks
// different from now on, for a reason that Next does not see, such as a tag.
func (s State) Retold(c Config, d Decision, now time.Time) State {
	var keys []flap.Key
	for i := range d.Services {
		svc := find(c.Services, i, d.Services[i].Name, func(s *Service) string { return s.Name })
		if svc == nil {
			continue
		}
		for k := range d.Services[i].Neighbors {
			nd := &d.Services[i].Neighbors[k]
			climber := find(c.Load.Climbers, k, nd.Name, func(c *Climber) string { return c.Name })
			if climber == nil {
				continue
			}
			shown := Shown{IPv4: nd.IPv4.besideLoad(), IPv6: nd.IPv6.besideLoad(), Rung: nd.Rung}
			for _, p := range svc.Prefixes {
				if shown.face(p, climber).severity != Withdrawn {
					keys = append(keys, flap.Key{ASN: climber.ASN, Prefix: p})
				}
			}
		}
	}
	s.Load.Ledger = s.Load.Ledger.Charge(c.Load.Flap, now, flap.AttributeChange, keys...)
	return s
}
