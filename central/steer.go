package central

import (
	"context"
	"errors"
	"maps"
	"net/netip"
	"slices"
	"time"

	"github.com/catchment-bgp/catchment/central/audit"
	"github.com/catchment-bgp/catchment/central/store"
	"github.com/catchment-bgp/catchment/maintenance"
	"github.com/catchment-bgp/catchment/policy/fleet"
)

// steers renews the view when the world has changed and, in the first of the
// centres, makes the decisions that nobody asked for. That only one does so saves
// work; what makes it safe are the conditions.
func (f *Fleet) steers(ctx context.Context) {
	tick := time.NewTicker(tickEvery)
	defer tick.Stop()
	for {
		select {
		case <-f.dirty:
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		now := time.Now()
		f.renew(now)
		var changes []change
		if f.leads(now) {
			changes = f.decisions(now)
		}
		worked := time.Since(now) // waiting for the store is no work
		f.carryOut(ctx, changes)
		f.reconsider(ctx)
		if !pause(ctx, tickMin+9*worked) { // at most a tenth of a processor
			return
		}
	}
}

// renew works out the view anew, and wakes the edges whom that concerns.
func (f *Fleet) renew(now time.Time) *view {
	f.mu.Lock()
	before := f.w.sights
	sights := f.w.look(now)
	f.w.sights = sights
	f.mu.Unlock()
	f.logSights(before, sights)
	f.mu.RLock()
	v := newView(f.w, now)
	f.mu.RUnlock()
	tighter := v.tighter(f.view.Load()) // nobody else renews
	last := f.view.Swap(v)
	f.mu.Lock()
	close(f.news)
	f.news = make(chan struct{})
	f.mu.Unlock()
	f.fan.add(last, v, tighter)
	f.fanOut(now)
	return v
}

// fanEach is how much time must pass, for each edge that is woken, before others are
// woken for a new view: what is worth a tenth of a processor to know is not worth all
// of it to tell. An edge that is not woken hears with its next report.
const fanEach = 500 * time.Microsecond

// fan has whom the views concern that came since edges were last woken for one. It
// belongs to the loop that renews the view.
type fan struct {
	all   bool
	nodes map[string]bool
	next  time.Time // when edges may be woken
}

// add adds those whom a view concerns: all when somebody moved or there is tighter room,
// else those whose shares have changed, and those at an AS that others were charged at.
func (d *fan) add(before, v *view, tighter bool) {
	if before == nil || tighter || before.first != v.first || before.second != v.second {
		d.all = true
	}
	if d.all {
		return
	}
	charged := map[uint32]bool{}
	for asn, p := range v.penalty {
		if p > before.penalty[asn]+dear {
			charged[asn] = true
		}
	}
	for name, shares := range v.shares {
		if !slices.Equal(shares, before.shares[name]) || slices.ContainsFunc(shares, func(s fleet.Share) bool { return charged[s.ASN] }) {
			d.nodes[name] = true
		}
	}
}

// fanOut wakes the edges whom views concern, unless that was done just now.
func (f *Fleet) fanOut(now time.Time) {
	if now.Before(f.fan.next) || !f.fan.all && len(f.fan.nodes) == 0 {
		return
	}
	f.mu.RLock()
	defer f.mu.RUnlock()
	woken := 0
	for name, s := range f.sessions {
		if f.fan.all || f.fan.nodes[name] {
			s.poke()
			woken++
		}
	}
	f.fan = fan{nodes: map[string]bool{}, next: now.Add(time.Duration(woken) * fanEach)}
}

// leads reports whether this is the first of the centres that are alive. One that does not reach the store hears of no
// other, and leads nobody.
func (f *Fleet) leads(now time.Time) bool {
	if f.cutOff(now) {
		return false
	}
	f.mu.RLock()
	defer f.mu.RUnlock()
	for name := range f.w.replicas {
		if name < f.settings.Replica && now.Sub(f.w.heard[name]) < replicaSilence {
			return false
		}
	}
	return true
}

// decisions are what the world asks for. They and their conditions are of the same
// world, which the view is not.
func (f *Fleet) decisions(now time.Time) []change {
	f.mu.RLock()
	changes, err := f.w.steer(f.w.fleetAt(now), f.settled(now))
	f.mu.RUnlock()
	if err != nil {
		f.log.Error("steering", "error", err)
	}
	return changes
}

// settled reports whether this process runs for long enough to have heard of every node, if by
// way of another centre: the edges of one that has ended look for another for a while.
func (f *Fleet) settled(now time.Time) bool {
	begun := f.begun.Load()
	return begun != nil && now.Sub(*begun) >= Silence
}

// carryOut commits each decision by itself: one that has come too late is made anew
// with the next view. With a store that does not answer the others are, too: to wait as
// long for each of them would leave the view behind.
func (f *Fleet) carryOut(ctx context.Context, changes []change) {
	for _, c := range changes {
		switch err := f.commit(ctx, c); {
		case errors.Is(err, store.ErrConflict):
			f.touch()
		case err != nil && ctx.Err() == nil:
			f.log.Warn("steering", "error", err)
			if errors.Is(err, store.ErrUnavailable) {
				return
			}
		}
	}
}

// steer is all that the centre decides by itself: who is kept in a hard failure,
// who comes back when, which reserves announce, which grants are taken back. Before it has
// settled, a node that is not seen may be one that has not been heard yet: too few announce then
// whenever a centre begins, and no reserve is called for that, no grant taken back, nobody let go.
func (w *world) steer(f fleet.Fleet, settled bool) ([]change, error) {
	var all []change
	var errs []error
	add := func(c change, err error) {
		errs = append(errs, err)
		if err == nil && len(c.ops) > 0 {
			all = append(all, c)
		}
	}
	for _, service := range f.Services() {
		add(w.keeps(f, service, settled))
		add(w.takesTurns(f, service))
	}
	if settled {
		add(w.reserves(f))
		add(w.recalls(f))
	}
	add(w.sweep(f.Now))
	return all, errors.Join(errs...)
}

// longestTurn is more than any turn is away when it is given.
const longestTurn = 15 * time.Minute

// takesTurns is when the nodes that wait may announce a service again.
func (w *world) takesTurns(f fleet.Fleet, service string) (change, error) {
	before := w.turns.get(service)
	after := turnDoc{Turns: map[string]time.Time{}, Last: before.Last}
	var fresh []fleet.Waiting
	for _, n := range f.Nodes {
		at, has := before.Turns[n.Name]
		switch {
		case !w.waits(f, n, service):
		case has && !at.After(f.Now.Add(longestTurn)): // else the clock was set back since
			after.Turns[n.Name] = at
		default:
			fresh = append(fresh, fleet.Waiting{Node: n.Name, Since: w.since(n.Name, service), Prefixes: []netip.Prefix{{}}})
		}
	}
	all := fresh
	if f.Short(service) { // those that have a turn come now, too
		for n, at := range after.Turns {
			if at.After(f.Now) {
				all = append(all, fleet.Waiting{Node: n, Since: at, Prefixes: []netip.Prefix{{}}})
			}
		}
	}
	if len(all) > 0 {
		for _, t := range fleet.Returns(f, service, all, fleet.Pace{Step: w.settings.Step, After: after.Last, Seed: service}) {
			after.Turns[t.Node] = t.At
			if t.At.After(after.Last) {
				after.Last = t.At
			}
		}
	}
	if maps.EqualFunc(before.Turns, after.Turns, time.Time.Equal) {
		return change{}, nil
	}
	op, err := put(key(kindTurn, service), after)
	return change{conds: []store.Cond{w.turns.cond(kindTurn, service)}, ops: []store.Op{op}}, err
}

// waits reports whether nothing but its turn keeps a node from announcing a service.
func (w *world) waits(f fleet.Fleet, n fleet.Node, service string) bool {
	st, has := n.Services[service]
	if !has || !n.Seen || n.Disabled || st.Announcing || !st.Healthy || n.Standby && n.Activated.IsZero() {
		return false
	}
	if slices.ContainsFunc(f.Grants, func(g fleet.Grant) bool { return g.Node == n.Name && g.Service == service && g.State != fleet.Revoked }) {
		return false
	}
	live, _ := w.heardOf(n.Name)
	for _, s := range live.report().GetServices() {
		if s.GetName() == service {
			held := s.GetReason() == "override" || s.GetReason() == "maintenance" && w.underWork(n.Name, service, f.Now)
			return s.GetState() == stateWithdrawn && !held
		}
	}
	return false
}

// underWork reports whether a window holds for a service of a node.
func (w *world) underWork(node, service string, now time.Time) bool {
	for _, d := range w.windows {
		if d.doc.Proposed || !d.doc.holds(now, time.Second) {
			continue
		}
		for _, t := range w.targets(node) {
			if t.Service == service && d.doc.Select.Matches(t) {
				return true
			}
		}
	}
	return false
}

// since is since when a service of a node is as it is.
func (w *world) since(node, service string) time.Time {
	live, _ := w.heardOf(node)
	for _, s := range live.report().GetServices() {
		if s.GetName() == service {
			return moment(s.GetSince())
		}
	}
	return time.Time{}
}

// reserves is which standby nodes announce.
func (w *world) reserves(f fleet.Fleet) (change, error) {
	active := fleet.Reserve(f)
	for _, n := range f.Nodes {
		if !n.Standby || slices.Contains(active, n.Name) == !n.Activated.IsZero() {
			continue
		}
		doc := w.nodes.get(n.Name)
		e := audit.Entry{Who: "centre", Role: "centre", Method: "reserve", Target: n.Name, Outcome: audit.Done, Detail: "called: nothing else absorbs"}
		if doc.Activated = f.Now; !n.Activated.IsZero() {
			doc.Activated, e.Detail = time.Time{}, "released: it is no longer needed"
		}
		c, err := w.fenceAll(servicesOf(doc.hello()))
		if err != nil {
			return c, err
		}
		op, err := put(key(kindNode, n.Name), doc)
		c.conds, c.ops, c.entries = append(c.conds, w.nodes.cond(kindNode, n.Name)), append(c.ops, op), []audit.Entry{e}
		return c, err
	}
	return change{}, nil
}

// recalls is which grants a fleet in need takes back.
func (w *world) recalls(f fleet.Fleet) (change, error) {
	ids := fleet.Recall(f)
	c, _, err := w.revoke(func(g fleet.Grant) bool {
		return slices.Contains(ids, g.ID) && g.Kind != fleet.Window && g.Kind != fleet.Override
	},
		audit.Entry{Who: "centre", Role: "centre", Method: "recall", Outcome: audit.Done, Detail: "too few nodes announce"})
	return c, err
}

// How long what is over is kept for people to look at.
const (
	keepWindows  = 90 * 24 * time.Hour
	keepReplicas = 10 * time.Minute
	// keepForgotten is how long a grant of a node that was forgotten is kept: longer
	// than any window lasts.
	keepForgotten = time.Duration(maintenance.MaxFor + maintenance.MaxLead)
)

// sweep deletes what has been over for long.
func (w *world) sweep(now time.Time) (change, error) {
	var c change
	drop := func(k string, at store.Revision) {
		if len(c.ops) < store.MaxOps/2 {
			c.ops, c.conds = append(c.ops, store.Op{Key: k}), append(c.conds, store.Cond{Key: k, Revision: at})
		}
	}
	for id, o := range w.overrides {
		if !o.doc.Until.IsZero() && now.Sub(o.doc.Until) > time.Minute {
			drop(key(kindOverride, id), o.revision)
		}
	}
	for id, d := range w.windows {
		if end := d.doc.Start.Add(d.doc.For.Std()); now.Sub(end) > keepWindows && !d.doc.concerns(w.targets(""), now) {
			drop(key(kindWindow, id), d.revision)
		}
	}
	for name, g := range w.grants {
		if _, has := w.nodes[g.doc.Node]; !has && now.Sub(g.doc.Issued) > keepForgotten {
			drop(key(kindGrant, name), g.revision)
			c.conds = append(c.conds, w.nodes.cond(kindNode, g.doc.Node))
		}
	}
	for name, d := range w.outside { // one without its replica is of no use
		if replica, _ := split(name); w.replicas[replica].revision == 0 && replica != w.settings.Replica {
			drop(key(kindOutside, name), d.revision)
		}
	}
	for name, r := range w.replicas {
		if now.Sub(w.heard[name]) > keepReplicas && now.Sub(r.doc.At) > keepReplicas {
			drop(key(kindReplica, name), r.revision)
		}
	}
	return c, nil
}
