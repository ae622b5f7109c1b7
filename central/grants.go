package central

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
	"github.com/catchment-bgp/catchment/central/audit"
	"github.com/catchment-bgp/catchment/central/store"
	"github.com/catchment-bgp/catchment/maintenance"
	"github.com/catchment-bgp/catchment/policy/fleet"
)

// maxWants bounds what an edge asks for at a time.
const maxWants = 64

// settle answers a report: grants that it gives back are free, and those that it
// asks for are given or refused.
func (f *Fleet) settle(ctx context.Context, s *session, l liveDoc) error {
	node := s.node
	if err := f.decide(ctx, func(w *world, _ time.Time) (change, error) { return w.returned(node, l) }); err != nil {
		return notOurs(err)
	}
	wants := l.report().GetWants()
	if len(wants) > maxWants {
		return badf("node %s asks for %d grants at once; at most %d", node, len(wants), maxWants)
	}
	for _, want := range wants {
		if err := f.answer(ctx, s, l, want); err != nil {
			return err
		}
	}
	return nil
}

// notOurs passes over a conflict: the node's stream is another by now, or the
// next report settles it.
func notOurs(err error) error {
	if errors.Is(err, store.ErrConflict) {
		return nil
	}
	return err
}

// answer decides on one request, unless that has been granted.
func (f *Fleet) answer(ctx context.Context, s *session, l liveDoc, want *centralv1.GrantRequest) error {
	var refusal *centralv1.Refusal
	var granted fleet.Grant
	err := f.decide(ctx, func(w *world, now time.Time) (change, error) {
		refusal, granted = nil, fleet.Grant{}
		if _, has := w.grants[s.node+"/"+want.GetId()]; has {
			return change{}, nil
		}
		if !nameRE.MatchString(want.GetId()) {
			return change{}, badf("node %s asks for a grant with the id %q; it is made of letters, digits, '.', '_', ':' and '-'", s.node, want.GetId())
		}
		var c change
		var err error
		c, granted, refusal, err = w.admit(s.node, l, want, now)
		return c, err
	})
	if err = notOurs(err); err != nil || f.waitsForSuccessor(s, want.GetId(), refusal) {
		return err
	}
	f.note(s, want, granted, refusal)
	return f.auditRefusal(ctx, s.node, want, refusal)
}

// note keeps a refusal for the next intent, and counts.
func (f *Fleet) note(s *session, want *centralv1.GrantRequest, g fleet.Grant, r *centralv1.Refusal) {
	f.mu.Lock()
	if r == nil {
		delete(s.refusals, want.GetId())
	} else {
		s.refusals[want.GetId()] = r
		f.meters.refusals.WithLabelValues(r.GetLimit()).Inc()
	}
	f.mu.Unlock() // a log may hang
	if g.ID != "" {
		f.meters.granted.WithLabelValues(string(g.Kind)).Inc()
		f.log.Info("grant", "node", g.Node, "service", g.Service, "kind", g.Kind, "id", g.ID, "override", g.Override)
	}
}

// auditRefusal writes a refusal down once, until the limit is another.
func (f *Fleet) auditRefusal(ctx context.Context, node string, want *centralv1.GrantRequest, r *centralv1.Refusal) error {
	k := node + "/" + want.GetId()
	f.mu.Lock()
	if r == nil {
		delete(f.refused, k)
		f.mu.Unlock()
		return nil
	}
	known := f.refused[k] == r.GetLimit()
	if len(f.refused) > 100_000 {
		clear(f.refused)
	}
	f.refused[k] = r.GetLimit()
	f.mu.Unlock()
	if known {
		return nil
	}
	e, source := audit.Entry{Who: node, Role: "edge", Method: "grant", Target: node + "/" + want.GetService(), Reason: want.GetReason(),
		Outcome: audit.Refused, Detail: r.GetLimit() + ": " + r.GetReason()}, node
	if want.GetOverrideSafety() { // which the edge has not waited with; what was only refused does not hide it
		e.Outcome, e.Detail = audit.Done, e.Detail+"; done all the same, by --override-safety"
		source += "/override"
	}
	return f.writeRefusal(ctx, source, e)
}

// returned is what a report of the holder makes of its grants.
func (w *world) returned(node string, l liveDoc) (change, error) {
	c := change{}
	grants := w.grantsOf(node)
	for _, id := range slices.Sorted(maps.Keys(grants)) {
		g := grants[id].doc
		next, free := g.Next(w.reportOn(g, l))
		k := key(kindGrant, node+"/"+id)
		switch {
		case free:
			c.ops = append(c.ops, store.Op{Key: k})
			c.entries = append(c.entries, audit.Entry{Who: node, Role: "edge", Method: "return", Target: node + "/" + g.Service,
				Outcome: audit.Done, Before: jsonOf(g)})
		case next != g:
			op, err := put(k, next)
			if err != nil {
				return c, err
			}
			c.ops = append(c.ops, op)
		default:
			continue
		}
		c.conds = append(c.conds, store.Cond{Key: k, Revision: grants[id].revision})
		if len(c.ops) > store.MaxOps/4 {
			break // the rest with the next report
		}
	}
	if len(c.ops) > 0 {
		c.conds = append(c.conds, w.sessions.cond(kindSession, node))
		if w.sessions.get(node).Epoch != l.Epoch {
			return change{}, errReplaced
		}
	}
	return c, nil
}

// reportOn is what a report says of one grant.
func (w *world) reportOn(g fleet.Grant, l liveDoc) fleet.Report {
	r := fleet.Report{Number: l.Number, Held: slices.Contains(l.report().GetHeld(), g.ID)}
	r.Wants = slices.ContainsFunc(l.report().GetWants(), func(want *centralv1.GrantRequest) bool { return want.GetId() == g.ID })
	known := false
	for _, s := range l.report().GetServices() {
		if s.GetName() == g.Service {
			known, r.Announcing = true, announces(s)
		}
	}
	// A service that the node no longer has is nothing to wait for.
	if !known && !slices.Contains(servicesOf(w.nodes.get(g.Node).hello()), g.Service) {
		r.Announcing = true
	}
	return r
}

// admit gives leave, or says why not.
func (w *world) admit(node string, l liveDoc, want *centralv1.GrantRequest, now time.Time) (change, fleet.Grant, *centralv1.Refusal, error) {
	refuse := func(limit fleet.Limit, text string, holders ...string) (change, fleet.Grant, *centralv1.Refusal, error) {
		return change{}, fleet.Grant{}, &centralv1.Refusal{Id: want.GetId(), Limit: string(limit), Reason: text, Holders: holders}, nil
	}
	if w.sessions.get(node).Epoch != l.Epoch {
		return change{}, fleet.Grant{}, nil, errReplaced
	}
	r := fleet.Request{ID: want.GetId(), Node: node, Service: want.GetService(), Kind: fleet.Kind(want.GetKind()), Window: want.GetWindow(),
		Number: l.Number, Load: want.GetLoad()}
	var why string
	if r.Override, why = w.stands(node, want, now); why != "" {
		return refuse(fleet.Unknown, why)
	}
	f := w.fleetAt(now)
	a := fleet.Admit(f, r)
	for _, lacking := range w.lacking(node, want) {
		a = a.Worse(fleet.Admit(f.Without(r.Service, lacking), r))
	}
	if !a.OK {
		return refuse(a.Refusal.Limit, a.Refusal.Reason, a.Refusal.Holders...)
	}
	g := r.Grant(f, a)
	c, err := w.grant(g)
	c.entries[0].Reason = want.GetReason()
	return c, g, nil, err
}

// lacking returns, for each prefix that a request names, the other nodes that do not
// have it in the service: each set of them once, and none that is empty.
func (w *world) lacking(node string, want *centralv1.GrantRequest) [][]string {
	lack := map[string][]string{}
	for _, p := range want.GetPrefixes() {
		lack[p] = nil
	}
	for _, name := range sorted(w.nodes) {
		for _, s := range w.nodes.get(name).hello().GetServices() {
			if name == node || s.GetName() != want.GetService() {
				continue
			}
			has := map[string]bool{}
			for _, p := range s.GetPrefixes() {
				has[p] = true
			}
			for p := range lack {
				if !has[p] {
					lack[p] = append(lack[p], name)
				}
			}
		}
	}
	once := map[string]bool{"": true}
	var out [][]string
	for _, p := range slices.Sorted(maps.Keys(lack)) {
		if k := strings.Join(lack[p], "/"); !once[k] {
			once[k] = true
			out = append(out, lack[p])
		}
	}
	return out
}

// stands looks at what a request refers to. Override: it passes the limits.
func (w *world) stands(node string, want *centralv1.GrantRequest, now time.Time) (override bool, why string) {
	switch fleet.Kind(want.GetKind()) {
	case fleet.Window:
		d, ok := w.windows[want.GetWindow()]
		if !ok || d.doc.Proposed {
			return false, fmt.Sprintf("there is no window %q", want.GetWindow())
		}
		if !d.doc.holds(now, 30*time.Second) {
			return false, fmt.Sprintf("window %s does not hold now", want.GetWindow())
		}
		if !slices.ContainsFunc(w.targets(node), func(t maintenance.Target) bool {
			return t.Service == want.GetService() && d.doc.Select.Matches(t)
		}) {
			return false, fmt.Sprintf("window %s is not for %s at node %s", want.GetWindow(), want.GetService(), node)
		}
		return d.doc.OverrideSafety, ""
	case fleet.Override:
		for _, o := range w.overrides {
			if o.doc.OverrideSafety && o.doc.Verb != "announce" && (o.doc.Until.IsZero() || o.doc.Until.After(now)) && slices.ContainsFunc(w.targets(node), func(t maintenance.Target) bool {
				return t.Service == want.GetService() && o.doc.Select.Matches(t)
			}) {
				return true, ""
			}
		}
		return want.GetOverrideSafety(), ""
	}
	return false, ""
}

// holds reports whether the window is under way, give or take what clocks may differ.
func (d windowDoc) holds(now time.Time, skew time.Duration) bool {
	c, err := maintenance.New([]maintenance.Window{d.Window})
	return err == nil && len(c.Occurrences(now, now.Add(skew))) > 0
}

// grant is the change that issues g: on the condition that nothing has been
// decided about the service since, and that the stream is the newest.
func (w *world) grant(g fleet.Grant) (change, error) {
	name := g.Node + "/" + g.ID
	detail := ""
	if g.Broke != "" {
		detail = inSpiteOf(g.Broke)
	}
	c := change{
		conds: []store.Cond{w.grants.cond(kindGrant, name), w.fences.cond(kindFence, g.Service),
			w.sessions.cond(kindSession, g.Node), w.nodes.cond(kindNode, g.Node), w.fleet.cond(kindFleet, "freeze")},
		entries: []audit.Entry{{Who: g.Node, Role: "edge", Method: "grant", Target: g.Node + "/" + g.Service, Outcome: audit.Done,
			Detail: detail, After: jsonOf(g)}},
	}
	op, err := put(key(kindGrant, name), g)
	if err != nil {
		return c, err
	}
	fence, err := w.fence(g.Service)
	c.ops = append(c.ops, op, fence)
	return c, err
}

// fence is the change that makes every decision about a service that is under way
// be made anew.
func (w *world) fence(service string) (store.Op, error) {
	return put(key(kindFence, service), fenceDoc{Changes: w.fences.get(service).Changes + 1})
}

// fenceAll is fence for several services.
func (w *world) fenceAll(services []string) (change, error) {
	var c change
	for _, service := range services {
		fence, err := w.fence(service)
		if err != nil {
			return c, err
		}
		c.ops, c.conds = append(c.ops, fence), append(c.conds, w.fences.cond(kindFence, service))
	}
	return c, nil
}

// holder is whose grant is meant by an id, of node if that is not empty. Nodes number
// their requests each by itself, so that several may have a grant of the same id.
func (w *world) holder(node, id string) (string, error) {
	var holders []string
	for _, name := range sorted(w.grants) {
		if g := w.grants.get(name); g.ID == id && g.State != fleet.Revoked && (node == "" || g.Node == node) {
			holders = append(holders, g.Node)
		}
	}
	switch len(holders) {
	case 1:
		return holders[0], nil
	case 0:
		return "", badf("there is no grant %q that is not revoked", id)
	}
	return "", badf("%d nodes have a grant %q: %s; say whose with --node", len(holders), id, strings.Join(holders, ", "))
}

// revoke takes grants back: their holders return.
func (w *world) revoke(ids func(fleet.Grant) bool, e audit.Entry) (change, []fleet.Grant, error) {
	var c change
	var taken []fleet.Grant
	for _, name := range sorted(w.grants) {
		g := w.grants[name]
		if !ids(g.doc) || g.doc.State == fleet.Revoked || len(c.ops) >= store.MaxOps/4 {
			continue
		}
		op, err := put(key(kindGrant, name), g.doc.Revoke())
		if err != nil {
			return c, nil, err
		}
		c.ops = append(c.ops, op)
		c.conds = append(c.conds, store.Cond{Key: op.Key, Revision: g.revision})
		e.Target, e.Before, e.After = g.doc.Node+"/"+g.doc.Service, jsonOf(g.doc), jsonOf(g.doc.Revoke())
		c.entries = append(c.entries, e)
		taken = append(taken, g.doc.Revoke())
	}
	return c, taken, nil
}
