package edge

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/catchment-bgp/catchment/policy"
)

// Change is one change of what is announced, or of the reason for it.
type Change struct {
	At      time.Time
	Trigger string // what made the loop decide
	Service string
	// Neighbor and Family are empty for the service as a whole.
	Neighbor, Family string
	From, To         policy.Cause
	Inputs           []string // what was the case, a line each
}

// historySize is how many changes are kept for Why.
const historySize = 500

// history keeps the last changes, oldest first.
type history struct{ changes []Change }

func (h *history) add(c Change) {
	if len(h.changes) == historySize {
		h.changes = slices.Delete(h.changes, 0, 1)
	}
	h.changes = append(h.changes, c)
}

// newest returns the last changes of a service (empty: of all), newest first.
func (h *history) newest(service string, limit int) []Change {
	var out []Change
	for _, c := range slices.Backward(h.changes) {
		if len(out) == limit {
			break
		}
		if service == "" || c.Service == service {
			out = append(out, c)
		}
	}
	return out
}

// record notes and logs how a decision differs from the last one.
func (e *Edge) record(now time.Time, trigger string, in policy.Input, d policy.Decision) {
	e.recordRemoved(now, trigger, d)
	for i, sd := range d.Services {
		was := beforeIn(e.decision, i, sd.Name)
		trigger := trigger
		if own := e.triggers[sd.Name]; own != "" {
			trigger = own
		}
		if differs(was.Cause, sd.Cause) {
			e.changes[ServiceReason{sd.Name, sd.Reason}]++
			e.log.Info("service "+sd.Severity.String(), "service", sd.Name, "reason", sd.Reason.String(),
				"detail", sd.Detail, "before", was.Severity.String(), "trigger", trigger)
			e.history.add(Change{At: now, Trigger: trigger, Service: sd.Name, From: was.Cause, To: sd.Cause, Inputs: e.inputs(in, sd.Name)})
		}
		// What the line of the service tells is not told again for each neighbour.
		alike := func(from, to policy.Cause) bool { return !differs(from, was.Cause) && !differs(to, sd.Cause) }
		for i, nd := range sd.Neighbors {
			old := beforeAt(was, nd.Name, i)
			for _, f := range []struct {
				name     string
				from, to policy.Cause
			}{{"ipv4", old.IPv4, nd.IPv4}, {"ipv6", old.IPv6, nd.IPv6}} {
				if differs(f.from, f.to) && !alike(f.from, f.to) {
					e.recordFamily(Change{At: now, Trigger: trigger, Service: sd.Name, Neighbor: nd.Name, Family: f.name,
						From: f.from, To: f.to, Inputs: e.inputs(in, sd.Name)})
				}
			}
		}
	}
}

func (e *Edge) recordFamily(c Change) {
	e.history.add(c)
	e.log.Info("service "+c.To.Severity.String()+" at one neighbour", "service", c.Service, "neighbor", c.Neighbor, "family", c.Family,
		"reason", c.To.Reason.String(), "detail", c.To.Detail, "before", c.From.Severity.String(), "trigger", c.Trigger)
}

// recordRemoved notes services that are no longer configured.
func (e *Edge) recordRemoved(now time.Time, trigger string, d policy.Decision) {
	for i, was := range e.decision.Services {
		if beforeIn(d, i, was.Name).Name != "" {
			continue
		}
		removed := policy.Cause{Severity: policy.Withdrawn, Reason: policy.Normal, Detail: "no longer configured"}
		e.history.add(Change{At: now, Trigger: trigger, Service: was.Name, From: was.Cause, To: removed})
		e.log.Info("service removed", "service", was.Name, "before", was.Severity.String(), "trigger", trigger)
	}
}

// initial is what holds before the first decision.
var initial = policy.Cause{Severity: policy.Withdrawn, Reason: policy.Normal, Detail: "not started"}

func before(d policy.Decision, name string) policy.ServiceDecision {
	for _, sd := range d.Services {
		if sd.Name == name {
			return sd
		}
	}
	return policy.ServiceDecision{Cause: initial}
}

// beforeIn is before for a service that is probably at the index given.
func beforeIn(d policy.Decision, i int, name string) policy.ServiceDecision {
	if i < len(d.Services) && d.Services[i].Name == name {
		return d.Services[i]
	}
	return before(d, name)
}

// beforeAt is what was decided of a service at a neighbour, which stands at place
// i unless the configuration changed.
func beforeAt(sd policy.ServiceDecision, neighbor string, i int) policy.NeighborDecision {
	if i < len(sd.Neighbors) && sd.Neighbors[i].Name == neighbor {
		return sd.Neighbors[i]
	}
	for _, nd := range sd.Neighbors {
		if nd.Name == neighbor {
			return nd
		}
	}
	return policy.NeighborDecision{Name: neighbor, IPv4: initial, IPv6: initial}
}

func differs(a, b policy.Cause) bool { return a.Severity != b.Severity || a.Reason != b.Reason }

// inputs says in words what a decision was made from.
func (e *Edge) inputs(in policy.Input, service string) []string {
	h := in.Health[service]
	out := []string{
		"hard checks " + verdict(h.Hard, h.HardDetail),
		"soft checks " + verdict(h.Soft, h.SoftDetail),
		fmt.Sprintf("way back ipv4 %s, ipv6 %s", verdict(in.WayBack4, ""), verdict(in.WayBack6, "")),
	}
	for _, o := range in.Overrides {
		if o.Service == service && o.Active(in.Now) {
			where := "all neighbours"
			if o.Neighbor != "" {
				where = o.Neighbor
			}
			verb := o.Verb.String()
			if o.EvenIfDead {
				verb += " even if dead"
			}
			out = append(out, fmt.Sprintf("override %s at %s since %s by %s: %s", verb, where, o.Since.Format(time.RFC3339), o.By, o.Reason))
		}
	}
	return append(out, orderInputs(&in.Orders, service)...)
}

func verdict(v policy.Verdict, detail string) string {
	text := v.String()
	if detail != "" {
		text += " (" + detail + ")"
	}
	return text
}

// broadcast wakes all who wait for news.
type broadcast struct {
	mu sync.Mutex
	ch chan struct{}
}

func newBroadcast() broadcast { return broadcast{ch: make(chan struct{})} }

// tell wakes everyone who waits.
func (b *broadcast) tell() {
	b.mu.Lock()
	defer b.mu.Unlock()
	close(b.ch)
	b.ch = make(chan struct{})
}

// next is closed at the next tell.
func (b *broadcast) next() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.ch
}
