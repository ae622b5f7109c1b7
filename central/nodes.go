package central

import (
	"slices"
	"strings"
	"time"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
	"github.com/catchment-bgp/catchment/central/audit"
	"github.com/catchment-bgp/catchment/central/store"
	"github.com/catchment-bgp/catchment/policy/fleet"
)

// setNode is the change of what an operator says of a node as a whole. What lowers
// the fleet's capacity is admitted like a withdrawal.
func (w *world) setNode(r *centralv1.SetNodeRequest, by Caller, now time.Time) (change, error) {
	node, ok := w.nodes[r.GetName()]
	if !ok {
		return change{}, badf("there is no node %q; a node is known once it has spoken to the centre", r.GetName())
	}
	e := audit.Entry{Who: by.Name, Role: by.Role, Method: "SetNode", Target: r.GetName(), Reason: r.GetReason(), Ticket: r.GetTicket(), Outcome: audit.Done}
	if r.GetForget() {
		return w.forget(r.GetName(), e, now)
	}
	if r.Disabled == nil && r.Standby == nil {
		return change{}, badf("nothing is said of node %s: disabled or standby", r.GetName())
	}
	doc := node.doc
	lowers := false
	if r.Disabled != nil {
		lowers = *r.Disabled && !doc.Disabled
		doc.Disabled, doc.Why = *r.Disabled, ""
		if doc.Disabled {
			doc.Why = r.GetReason()
		}
	}
	if r.Standby != nil && *r.Standby != doc.Standby { // a reserve that was called stays called
		lowers = lowers || *r.Standby
		doc.Standby, doc.Activated = *r.Standby, time.Time{}
	}
	c, err := w.fenceAll(servicesOf(doc.hello()))
	if err != nil {
		return c, err
	}
	if lowers {
		switch answer, _ := fleet.Plan(w.fleetAt(now), []string{r.GetName()}); {
		case answer.OK:
		case r.GetOverrideSafety():
			e.Detail = inSpiteOf(refused{answer.Refusal}.Error())
		case doc.Disabled || doc.Standby:
			return change{}, refused{answer.Refusal}
		}
	}
	e.Detail = saidOf(r, e.Detail)
	e.Before, e.After = jsonOf(node.doc), jsonOf(doc)
	op, err := put(key(kindNode, r.GetName()), doc)
	c.ops, c.conds, c.entries = append(c.ops, op), append(c.conds, w.nodes.cond(kindNode, r.GetName())), []audit.Entry{e}
	return c, err
}

// saidOf is what was said of a node, for whoever reads the log: the method alone
// does not tell disable from enable.
func saidOf(r *centralv1.SetNodeRequest, more string) string {
	var out []string
	for _, v := range []struct {
		said    *bool
		on, off string
	}{{r.Disabled, "disabled", "enabled"}, {r.Standby, "standby", "no standby"}} {
		switch {
		case v.said == nil:
		case *v.said:
			out = append(out, v.on)
		default:
			out = append(out, v.off)
		}
	}
	if more != "" {
		out = append(out, more)
	}
	return strings.Join(out, ", ")
}

// forget is the change that takes out a node that is gone for good. While it is
// in contact it is not. Its grants stay: nothing says that it does not act on them,
// and it may be back.
func (w *world) forget(name string, e audit.Entry, now time.Time) (change, error) {
	if live, ok := w.heardOf(name); ok && w.seen(live, now) {
		return change{}, refusef("connected", "node %s is connected; stop it first", name)
	}
	e.Before, e.Detail = jsonOf(w.nodes.get(name)), "forgotten"
	c := change{entries: []audit.Entry{e}}
	drop := func(cond store.Cond) {
		if cond.Revision != 0 {
			c.ops, c.conds = append(c.ops, store.Op{Key: cond.Key}), append(c.conds, cond)
		}
	}
	drop(w.nodes.cond(kindNode, name))
	drop(w.live.cond(kindLive, name))
	drop(w.peaks.cond(kindPeaks, name))
	drop(w.details.cond(kindDetail, name))
	c.conds = append(c.conds, w.sessions.cond(kindSession, name)) // it stays, so that epochs never fall
	return c, nil
}

// setOverride is the change that makes an operator's word for a part of the fleet.
// What takes capacity away needs the limits' leave, and each edge a grant besides.
func (w *world) setOverride(r *centralv1.SetFleetOverrideRequest, by Caller, id string, now time.Time) (overrideDoc, change, error) {
	sel, err := w.selector(r.GetSelector())
	if err != nil {
		return overrideDoc{}, change{}, err
	}
	o := overrideDoc{ID: id, Select: sel, Verb: r.GetVerb(), Reason: r.GetReason(), Ticket: r.GetTicket(), By: by.Name, Since: now,
		EvenIfDead: r.GetEvenIfDead(), OverrideSafety: r.GetOverrideSafety()}
	switch d := r.GetDuration().AsDuration(); {
	case !slices.Contains([]string{"drain", "withdraw", "announce"}, o.Verb):
		return o, change{}, badf("%q is no verb; write drain, withdraw or announce", o.Verb)
	case d < 0 || r.GetDuration() != nil && d == 0:
		return o, change{}, badf("a duration of %s is no time", d)
	case o.OverrideSafety && (d == 0 || d > 24*time.Hour):
		return o, change{}, badf("what overrides a safety limit expires: give a duration of at most 24 h")
	case o.EvenIfDead && o.Verb != "announce":
		return o, change{}, badf("even if dead goes with announce")
	case d > 0:
		o.Until = now.Add(d)
	}
	e := audit.Entry{Who: by.Name, Role: by.Role, Method: "SetFleetOverride", Target: id, Reason: o.Reason, Ticket: o.Ticket, Outcome: audit.Done, After: jsonOf(o)}
	if o.Verb != "announce" {
		r := fleet.Request{ID: "override", Kind: fleet.Override, Ahead: true}
		if refusal, no := spares(w.fleetAt(now), r, sel, besides{w.wordsAt(now), w.windowsAt(now)}, w.targets(""), ""); no && !o.OverrideSafety {
			return o, change{}, refusal
		} else if no {
			e.Detail = inSpiteOf(refusal.Error())
		}
	}
	op, err := put(key(kindOverride, id), o)
	if err != nil {
		return o, change{}, err
	}
	fence, err := w.fence(windowFence)
	return o, change{conds: []store.Cond{w.overrides.cond(kindOverride, id), w.fences.cond(kindFence, windowFence)}, ops: []store.Op{op, fence}, entries: []audit.Entry{e}}, err
}

// clearOverride is the change that takes an operator's word back.
func (w *world) clearOverride(r *centralv1.ClearFleetOverrideRequest, by Caller) (overrideDoc, change, error) {
	o, ok := w.overrides[r.GetId()]
	if !ok {
		return overrideDoc{}, change{}, badf("there is no override %q", r.GetId())
	}
	return o.doc, change{conds: []store.Cond{w.overrides.cond(kindOverride, r.GetId())}, ops: []store.Op{{Key: key(kindOverride, r.GetId())}},
		entries: []audit.Entry{{Who: by.Name, Role: by.Role, Method: "ClearFleetOverride", Target: r.GetId(), Reason: r.GetReason(), Ticket: r.GetTicket(),
			Outcome: audit.Done, Before: jsonOf(o.doc)}}}, nil
}

// freeze is the change that stops what changes by itself, or with an empty reason
// lets it go on.
func (w *world) freeze(method string, after freezeDoc, e audit.Entry) (change, error) {
	before := w.fleet.get("freeze")
	if before.Reason == "" && after.Reason == "" {
		return change{}, badf("the fleet is not frozen")
	}
	e.Method, e.Target, e.Outcome, e.Before, e.After = method, "fleet", audit.Done, jsonOf(before), jsonOf(after)
	op, err := put(key(kindFleet, "freeze"), after)
	return change{conds: []store.Cond{w.fleet.cond(kindFleet, "freeze")}, ops: []store.Op{op}, entries: []audit.Entry{e}}, err
}

// status is the fleet as the NOC sees it.
func (w *world) status(f fleet.Fleet, now time.Time) *centralv1.FleetStatus {
	s := &centralv1.FleetStatus{At: stamp(now), Frozen: w.frozen() != "", FrozenReason: w.frozen(), Summary: fleet.Summary(f)}
	for _, service := range f.Services() {
		c, limits := f.Count(service), w.settings.limits(service)
		s.Services = append(s.Services, &centralv1.FleetService{Name: service, MinAnnouncing: int32(max(1, limits.MinAnnouncing)),
			MaxWithdrawn: limits.MaxWithdrawn, Announcing: int32(c.Announcing), Nodes: int32(c.Nodes), Capacity: c.Capacity, Load: c.Load,
			WithdrawnCapacity: c.Withdrawn, MayWithdraw: int32(fleet.MayWithdraw(f, service))})
	}
	for _, name := range sorted(w.grants) {
		g := w.grants[name]
		s.Grants = append(s.Grants, grantProto(g.doc, uint64(g.revision)))
	}
	for _, name := range sorted(w.nodes) {
		n := w.nodeProto(name, now)
		if n.Connected {
			s.Connected++
		}
		s.Nodes = append(s.Nodes, n)
	}
	for _, id := range sorted(w.overrides) {
		if o := w.overrides.get(id); o.Until.IsZero() || o.Until.After(now) {
			s.Overrides = append(s.Overrides, o.proto())
		}
	}
	s.Views = w.viewsProto(now)
	s.Warnings = w.metrics()
	return s
}
