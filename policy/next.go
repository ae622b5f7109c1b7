package policy

import (
	"fmt"
	"strings"
	"time"
)

// Config is what is configured.
type Config struct {
	Services []Service
	// ReturnAfter is how long health must last before the return after the
	// first, second, ... failure of the last hour; the last stands for the rest.
	ReturnAfter []time.Duration
	// Grace is how long a way back may be missing before its family is withdrawn.
	Grace time.Duration
}

// Service is what is announced as one.
type Service struct {
	Name      string
	Neighbors []Neighbor
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
}

// Next decides. It never changes its arguments.
func Next(c Config, s State, in Input) (State, Decision) {
	var d Decision
	wake := func(t time.Time) {
		if t.After(in.Now) && (d.Wake.IsZero() || t.Before(d.Wake)) {
			d.Wake = t
		}
	}
	next := State{Services: make(map[string]ServiceState, len(c.Services))}
	var back families
	next.WayBack4, back.v4 = s.WayBack4.next(in.Now, in.WayBack4, c, "IPv4", wake)
	next.WayBack6, back.v6 = s.WayBack6.next(in.Now, in.WayBack6, c, "IPv6", wake)
	for _, svc := range c.Services {
		state, sd := svc.next(c, s.Services[svc.Name], in, back, wake)
		next.Services[svc.Name] = state
		d.Services = append(d.Services, sd)
	}
	return next, d
}

// families are the causes that bear on one address family each.
type families struct{ v4, v6 []Cause }

// next decides for one service.
func (svc Service) next(c Config, was ServiceState, in Input, back families, wake func(time.Time)) (ServiceState, ServiceDecision) {
	h := in.Health[svc.Name]
	var now ServiceState
	var until time.Time
	now.Hard, until = was.Hard.next(in.Now, h.Hard, c.ReturnAfter)
	hard := failure(Withdrawn, HardFailure, now.Hard, h.Hard, h.HardDetail, until)
	wake(until)
	now.Soft, until = was.Soft.next(in.Now, h.Soft, c.ReturnAfter)
	soft := failure(Steered, SoftFailure, now.Soft, h.Soft, h.SoftDetail, until)
	wake(until)

	sd := ServiceDecision{Name: svc.Name}
	for _, n := range svc.Neighbors {
		words := overrides(in, svc.Name, n.Name, wake)
		sd.Neighbors = append(sd.Neighbors, NeighborDecision{
			Name: n.Name,
			IPv4: decide(n.IPv4, hard, back.v4, soft, words),
			IPv6: decide(n.IPv6, hard, back.v6, soft, words),
		})
	}
	sd.Cause = summary(svc, sd.Neighbors)
	sd.Since = was.Since
	if sd.Since.IsZero() || was.Last.Severity != sd.Severity || was.Last.Reason != sd.Reason {
		sd.Since = in.Now
	}
	now.Last, now.Since = sd.Cause, sd.Since
	return now, sd
}

// failure is the cause that a hold brings about, if any.
func failure(sev Severity, r Reason, h Hold, v Verdict, detail string, until time.Time) []Cause {
	switch {
	case h.InService:
		return nil
	case v == Unknown && r == SoftFailure && !h.Held:
		return nil // nothing speaks against it yet
	case v == Unknown && detail == "":
		detail = "not checked yet"
	case v == Up:
		detail = "healthy again; returns after " + until.Sub(h.HealthySince).String() + " without a failure"
	}
	return []Cause{{sev, r, detail}}
}

// next takes in whether the way back is there.
func (w WayBackState) next(now time.Time, v Verdict, c Config, family string, wake func(time.Time)) (WayBackState, []Cause) {
	detail := "no " + family + " default route: replies would be lost (add one, or set way_back.require: none)"
	switch v {
	case Up:
		w.LostSince = time.Time{}
	case Down:
		if w.LostSince.IsZero() || now.Before(w.LostSince) {
			w.LostSince = now
		}
		if end := w.LostSince.Add(c.Grace); w.Hold.InService && now.Before(end) {
			wake(end)
			v = Up // the grace: as if it were still there
		}
	}
	var until time.Time
	w.Hold, until = w.Hold.next(now, v, c.ReturnAfter)
	wake(until)
	if v == Unknown {
		detail = family + " routes of this machine not read yet"
	}
	return w, failure(Withdrawn, HardFailure, w.Hold, v, detail, until)
}

// words is what operators say about one service at one neighbour.
type words struct {
	causes     []Cause
	announce   bool // soft failures and load do not count
	evenIfDead bool // hard failures do not count
}

func overrides(in Input, service, neighbor string, wake func(time.Time)) words {
	var w words
	for _, o := range in.Overrides {
		if !o.covers(service, neighbor) || !o.Active(in.Now) {
			continue
		}
		w.causes = append(w.causes, o.cause(in.Now))
		wake(o.Until)
		switch o.Verb {
		case Drain:
			wake(o.WithdrawAt)
		case Announce:
			w.announce = true
			w.evenIfDead = w.evenIfDead || o.EvenIfDead
		}
	}
	return w
}

// decide combines all causes for one service, neighbour and family.
func decide(has bool, hard, back, soft []Cause, w words) Cause {
	if !has {
		return Cause{Withdrawn, Normal, "no prefix of this family is sent there"}
	}
	causes := append([]Cause{}, w.causes...)
	if !w.evenIfDead {
		causes = append(append(causes, hard...), back...)
	}
	if !w.announce {
		causes = append(causes, soft...)
	}
	return Combine(causes...)
}

// summary is the least severe outcome, with a word on those that differ. Of equal
// ones it is that whose reason ranks last: what an operator said of one neighbour
// does not hide that the service is dead.
func summary(svc Service, ns []NeighborDecision) Cause {
	best := Cause{Severity: Withdrawn, Reason: Normal, Detail: "no neighbour carries its prefixes"}
	first := true
	each := func(visit func(neighbor, family string, c Cause)) {
		for i, n := range svc.Neighbors {
			if n.IPv4 {
				visit(n.Name, "ipv4", ns[i].IPv4)
			}
			if n.IPv6 {
				visit(n.Name, "ipv6", ns[i].IPv6)
			}
		}
	}
	each(func(_, _ string, c Cause) {
		if first || c.Severity < best.Severity || c.Severity == best.Severity && c.Reason > best.Reason {
			best, first = c, false
		}
	})
	var others []string
	each(func(n, family string, c Cause) {
		if c.Severity != best.Severity || c.Reason != best.Reason {
			others = append(others, fmt.Sprintf("%s %s %s: %s", n, family, c.Severity, c.Detail))
		}
	})
	best.Detail = strings.Join(append(nonEmpty(best.Detail), others...), "; ")
	return best
}

func nonEmpty(s string) []string {
	if s == "" {
		return nil
	}
	return []string{s}
}
