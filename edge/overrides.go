package edge

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/catchment-bgp/catchment/edge/config"
	"github.com/catchment-bgp/catchment/policy"
)

// Selector names what an override is for. An empty one selects nothing and is
// an error.
type Selector struct {
	Services  []string
	Neighbors []string // empty: all that the services have
	All       bool     // every service; Expect must be their number
	Expect    int      // how many services are expected to be hit; 0: not said
}

// UsageError is a request that makes no sense as it stands.
type UsageError struct{ Text string }

// Error says what is wrong and what to write instead.
func (e UsageError) Error() string { return e.Text }

// RefusedError is a request that a safety rule refuses.
type RefusedError struct{ Text string }

// Error says which rule refuses, and what would be accepted.
func (e RefusedError) Error() string { return e.Text }

func usagef(format string, a ...any) error   { return UsageError{fmt.Sprintf(format, a...)} }
func refusedf(format string, a ...any) error { return RefusedError{fmt.Sprintf(format, a...)} }

// resolve gives the services and neighbours that a selector names. No
// neighbours means: all.
func (s Selector) resolve(c *config.Config) ([]config.Service, []string, error) {
	switch {
	case s.All && len(s.Services) > 0:
		return nil, nil, usagef("name services or --all, not both")
	case s.All && s.Expect == 0:
		return nil, nil, usagef("--all needs --expect with the number of services that you expect to hit; this node has %d", len(c.Services))
	case !s.All && len(s.Services) == 0:
		return nil, nil, usagef("nothing is selected: name a service (%s), or write --all --expect %d", serviceNames(c), len(c.Services))
	}
	var out []config.Service
	for _, svc := range c.Services {
		if s.All || slices.Contains(s.Services, svc.Name) {
			out = append(out, svc)
		}
	}
	for _, name := range s.Services {
		if service(c, name) == nil {
			return nil, nil, usagef("there is no service %q; this node has %s", name, serviceNames(c))
		}
	}
	if s.Expect != 0 && s.Expect != len(out) {
		return nil, nil, refusedf("services selected: %d, expected: %d; nothing was changed", len(out), s.Expect)
	}
	for _, n := range s.Neighbors {
		for _, svc := range out {
			if !slices.Contains(svc.Neighbors, n) {
				return nil, nil, usagef("service %s is not announced to a neighbour %q; it has %s", svc.Name, n, strings.Join(svc.Neighbors, ", "))
			}
		}
	}
	neighbors := slices.Clone(s.Neighbors)
	slices.Sort(neighbors)
	return out, slices.Compact(neighbors), nil
}

func serviceNames(c *config.Config) string {
	var names []string
	for _, svc := range c.Services {
		names = append(names, svc.Name)
	}
	return strings.Join(names, ", ")
}

// Word is what an operator asks for, on all that a Selector names.
type Word struct {
	Verb       policy.Verb
	Reason     string
	By         string
	For        time.Duration // zero: until it is lifted
	EvenIfDead bool
	// OverrideSafety withdraws in spite of the fleet's limits; it needs For.
	OverrideSafety bool
}

// name is how the log calls the word.
func (w Word) name() string {
	if w.EvenIfDead {
		return w.Verb.String() + " even if dead"
	}
	return w.Verb.String()
}

const maxReason = 500

// longestBreakGlass bounds what overrides the fleet's limits.
const longestBreakGlass = 24 * time.Hour

func (w Word) check() error {
	switch {
	case strings.TrimSpace(w.Reason) == "":
		return usagef("a reason is needed: --reason \"why, for whoever reads it at night\"")
	case len(w.Reason) > maxReason || strings.ContainsFunc(w.Reason, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return usagef("the reason must be one line of at most %d bytes", maxReason)
	case w.For < 0:
		return usagef("--for %s: write a time to come, such as 30m", w.For)
	case w.EvenIfDead && w.Verb != policy.Announce:
		return usagef("--even-if-dead goes with announce only")
	case w.OverrideSafety && w.Verb == policy.Announce:
		return usagef("--override-safety goes with drain and withdraw only")
	case w.OverrideSafety && (w.For == 0 || w.For > longestBreakGlass):
		return usagef("what overrides a safety limit expires: write --for with %s at most", longestBreakGlass)
	}
	return nil
}

// overridesWith puts new overrides in the place of those that they cover.
func overridesWith(old, fresh []policy.Override) []policy.Override {
	out := slices.DeleteFunc(slices.Clone(old), func(o policy.Override) bool {
		return slices.ContainsFunc(fresh, func(f policy.Override) bool {
			return f.Service == o.Service && (f.Neighbor == "" || f.Neighbor == o.Neighbor)
		})
	})
	return append(out, fresh...)
}

// afterRestart is what earlier overrides come to in a new run, which begins with
// nothing announced: a drain that was under way is over, since GSHUT would
// announce again what the end of the last run withdrew.
func afterRestart(overrides []policy.Override, now time.Time) []policy.Override {
	out := slices.Clone(overrides)
	for i := range out {
		if out[i].Verb == policy.Drain && now.Before(out[i].WithdrawAt) {
			out[i].WithdrawAt = now
		}
	}
	return out
}

// overridesWithout lifts overrides: all of a service, or those at some neighbours.
func overridesWithout(old []policy.Override, services []config.Service, neighbors []string) []policy.Override {
	return slices.DeleteFunc(slices.Clone(old), func(o policy.Override) bool {
		return slices.ContainsFunc(services, func(s config.Service) bool { return s.Name == o.Service }) &&
			(len(neighbors) == 0 || slices.Contains(neighbors, o.Neighbor))
	})
}

// build makes the overrides that a word stands for: one per service and neighbour.
//
// A drain never announces again what is withdrawn or has been drained for longer:
// where that holds at some neighbours only, they get one of their own besides.
func (w Word) build(now time.Time, services []config.Service, neighbors []string, withdrawAt func(svc config.Service, neighbor string) time.Time) []policy.Override {
	var out []policy.Override
	for _, svc := range services {
		o := policy.Override{Service: svc.Name, Verb: w.Verb, Reason: w.Reason, By: w.By, Since: now, EvenIfDead: w.EvenIfDead}
		if w.For > 0 {
			o.Until = now.Add(w.For)
		}
		names := neighbors
		if len(neighbors) == 0 {
			if w.Verb == policy.Drain {
				o.WithdrawAt = withdrawAt(svc, "")
				names = slices.DeleteFunc(slices.Clone(svc.Neighbors), func(n string) bool {
					return !withdrawAt(svc, n).Before(o.WithdrawAt)
				})
			}
			out = append(out, o)
		}
		for _, n := range names {
			at := o
			at.Neighbor = n
			if w.Verb == policy.Drain {
				at.WithdrawAt = withdrawAt(svc, n)
			}
			out = append(out, at)
		}
	}
	return out
}

// withdrawAt is when a drain that begins now ends, for a service at a neighbour
// or, with no name, at all: after the drain time, sooner where a drain is under
// way, and at once where the service is withdrawn.
func (e *Edge) withdrawAt(now time.Time, svc config.Service, neighbor string) time.Time {
	at := now.Add(svc.Drain)
	for _, o := range e.overrides {
		if o.Service == svc.Name && (o.Neighbor == "" || o.Neighbor == neighbor) && o.Verb == policy.Drain && o.Active(now) {
			at = earliest(at, o.WithdrawAt)
		}
	}
	sd := before(e.decision, svc.Name)
	withdrawn := sd.Severity == policy.Withdrawn
	if neighbor != "" {
		withdrawn = atNeighbor(beforeAt(sd, neighbor, 0)).Severity == policy.Withdrawn
	}
	if withdrawn {
		return now
	}
	return at
}
