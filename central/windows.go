package central

import (
	"fmt"
	"slices"
	"time"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
	"github.com/catchment-bgp/catchment/central/audit"
	"github.com/catchment-bgp/catchment/central/store"
	"github.com/catchment-bgp/catchment/maintenance"
	"github.com/catchment-bgp/catchment/maintenance/maintnote"
	"github.com/catchment-bgp/catchment/policy/fleet"
)

const (
	// admitAhead is how far ahead the occurrences of a window are looked at when it
	// is made, and admitMost how many of them; each needs a grant at its start anyway.
	admitAhead = 60 * maintenance.Day
	admitMost  = 100
	// soon is how near a window is whose fleet is that of now.
	soon = 10 * time.Minute
	// windowFence makes that two windows, or words, are never admitted side by side.
	windowFence = "~windows"
)

// addWindow is the change that makes a window. asked is what onceOf says of the request.
func (w *world) addWindow(r *centralv1.AddWindowRequest, by Caller, id, asked string, now time.Time) (windowDoc, []string, change, error) {
	sel, err := w.selector(r.GetSelector())
	if err != nil {
		return windowDoc{}, nil, change{}, err
	}
	ask := maintenance.Request{Select: sel, Start: r.GetStart(), Zone: r.GetZone(), Rule: r.GetRrule(), Reason: r.GetReason(), Ticket: r.GetTicket(), By: by.Name,
		For: maintenance.Duration(r.GetDuration().AsDuration()).String(), Lead: maintenance.Duration(r.GetLead().AsDuration()).String()}
	window, notes, err := ask.Window(id, now)
	if err != nil {
		return windowDoc{}, nil, change{}, badInput{err}
	}
	d := windowDoc{Window: window, Asked: asked, StartedNow: r.GetStart() == "now", OverrideSafety: r.GetOverrideSafety()}
	if _, err := time.Parse(time.RFC3339, r.GetStart()); err != nil && !d.StartedNow {
		d.LocalStart = r.GetStart()
	}
	more, broke, err := w.admitWindow(d, now)
	if err != nil {
		return windowDoc{}, nil, change{}, err
	}
	c, err := w.putWindow("AddWindow", d, nil, by, r.GetReason(), r.GetTicket(), broke)
	return d, append(notes, more...), c, err
}

// putWindow is the change that writes windows; before is what the first one was.
func (w *world) putWindow(method string, d windowDoc, before *windowDoc, by Caller, reason, ticket, detail string) (change, error) {
	e := audit.Entry{Who: by.Name, Role: by.Role, Method: method, Target: d.ID, Reason: reason, Ticket: ticket, Outcome: audit.Done,
		Detail: detail, After: jsonOf(d)}
	if before != nil {
		e.Before = jsonOf(before)
	}
	op, err := put(key(kindWindow, d.ID), d)
	if err != nil {
		return change{}, err
	}
	fence, err := w.fence(windowFence)
	return change{conds: []store.Cond{w.windows.cond(kindWindow, d.ID), w.fences.cond(kindFence, windowFence)},
		ops: []store.Op{op, fence}, entries: []audit.Entry{e}}, err
}

// admitWindow asks for each occurrence of a window whether the fleet could spare
// what it takes away, beside the other windows. Where the window overrides that, it
// returns what would have refused it.
func (w *world) admitWindow(d windowDoc, now time.Time) (warnings []string, broke string, err error) {
	c, err := maintenance.New([]maintenance.Window{confirmed(d.Window)})
	if err != nil {
		return nil, "", badInput{err}
	}
	targets := w.targets("")
	if _, part := covered(targets, []maintenance.Selector{d.Select}); len(part) > 0 {
		warnings = append(warnings, fmt.Sprintf("%s of %s stays announced at its other neighbours", part[0].service, part[0].node))
	}
	others := w.otherWindows(d)
	occurrences := c.Occurrences(now, now.Add(admitAhead))
	if len(occurrences) == 0 {
		warnings = append(warnings, fmt.Sprintf("it begins in more than %d days: whether the fleet can spare it is asked at its start only", int(admitAhead/maintenance.Day)))
	}
	if len(occurrences) > admitMost {
		occurrences = occurrences[:admitMost]
	}
	for _, o := range occurrences {
		refusal, no := w.admitOccurrence(d, o, others, targets, now)
		switch {
		case no && d.OverrideSafety:
			broke := inSpiteOf(refusal.Error())
			return append(warnings, broke), broke, nil
		case no:
			return nil, "", refusal
		}
	}
	return warnings, "", nil
}

func confirmed(w maintenance.Window) maintenance.Window {
	w.Proposed = false
	return w
}

// otherWindows are all confirmed ones that d does not take the place of.
func (w *world) otherWindows(d windowDoc) []windowDoc {
	var out []windowDoc
	for _, id := range sorted(w.windows) {
		other := w.windows.get(id)
		if id != d.ID && !other.Proposed && !slices.Contains(d.Replaces, id) {
			out = append(out, other)
		}
	}
	return out
}

func (w *world) admitOccurrence(d windowDoc, o maintenance.Occurrence, others []windowDoc, targets []maintenance.Target, now time.Time) (refused, bool) {
	var windows []windowDoc
	for _, other := range others {
		c, err := maintenance.New([]maintenance.Window{other.Window})
		if err == nil && len(c.Occurrences(o.Begin, o.End)) > 0 {
			windows = append(windows, other)
		}
	}
	r := fleet.Request{ID: d.ID, Kind: fleet.Window, Window: d.ID, Ahead: true}
	return spares(w.ahead(o, now), r, d.Select, besides{w.wordsAt(o.Begin), windows}, targets, ", from "+o.Begin.UTC().Format(time.RFC3339))
}

// wordsAt are the selectors of the operators' words that take something away at a
// moment.
func (w *world) wordsAt(at time.Time) []maintenance.Selector {
	var out []maintenance.Selector
	for _, id := range sorted(w.overrides) {
		if o := w.overrides.get(id); o.Verb != "announce" && (o.Until.IsZero() || o.Until.After(at)) {
			out = append(out, o.Select)
		}
	}
	return out
}

// windowsAt are the windows that hold at a moment.
func (w *world) windowsAt(at time.Time) []windowDoc {
	var out []windowDoc
	for _, id := range sorted(w.windows) {
		if d := w.windows.get(id); !d.Proposed && d.holds(at, time.Second) {
			out = append(out, d)
		}
	}
	return out
}

// besides is what takes parts of the fleet away besides what is asked about.
type besides struct {
	words   []maintenance.Selector
	windows []windowDoc
}

// selectors are those of the words and of the windows.
func (b besides) selectors() []maintenance.Selector {
	out := slices.Clone(b.words)
	for _, d := range b.windows {
		out = append(out, d.Select)
	}
	return out
}

// window is the first window that takes at least a part of a service at a node away.
func (b besides) window(targets []maintenance.Target, p pair) string {
	for _, d := range b.windows {
		if slices.ContainsFunc(targets, func(t maintenance.Target) bool {
			return t.Node == p.node && t.Service == p.service && d.Select.Matches(t)
		}) {
			return d.ID
		}
	}
	return ""
}

// spares asks, in the words of r, whether a fleet could do without what a selector
// takes away, beside what others do: two that each leave a neighbour may leave none
// together. Where the answer is no, it says for which node, and when.
func spares(f fleet.Fleet, r fleet.Request, sel maintenance.Selector, beside besides, targets []maintenance.Target, when string) (refused, bool) {
	others := beside.selectors()
	away, _ := covered(targets, others)
	byWords, _ := covered(targets, beside.words)
	for _, p := range away {
		g := fleet.Grant{ID: "beside", Node: p.node, Service: p.service, Kind: fleet.Window, Window: beside.window(targets, p)}
		if slices.Contains(byWords, p) {
			g.Kind, g.Window = fleet.Override, ""
		}
		f.Grants = append(f.Grants, g)
	}
	whole, _ := covered(targets, append(others, sel))
	for _, p := range whole {
		if !slices.ContainsFunc(targets, func(t maintenance.Target) bool {
			return t.Node == p.node && t.Service == p.service && sel.Matches(t)
		}) {
			continue // others take it away, not this one
		}
		r.Node, r.Service = p.node, p.service
		a := fleet.Admit(f, r)
		if !a.OK {
			a.Refusal.Reason = fmt.Sprintf("node %s, service %s%s: %s", p.node, p.service, when, a.Refusal.Reason)
			return refused{a.Refusal}, true
		}
		f.Grants = append(f.Grants, r.Grant(f, a))
	}
	return refused{}, false
}

// ahead is the fleet at an occurrence: with the loads to expect then, and with
// everybody back who is away for a window or for load now.
func (w *world) ahead(o maintenance.Occurrence, now time.Time) fleet.Fleet {
	f := w.fleetAt(now)
	if o.Begin.Before(now.Add(soon)) {
		f.Grants = slices.DeleteFunc(f.Grants, func(g fleet.Grant) bool { return g.Kind == fleet.Window })
	} else {
		f.Grants = nil
	}
	for i := range f.Nodes {
		n := &f.Nodes[i]
		if p, ok := w.peaks[n.Name]; ok {
			n.Peak = p.doc.Between(now, o.Begin, o.End)
		}
		for service, st := range n.Services {
			switch st.Reason {
			case "maintenance", "load":
				st.Announcing = true // the windows of that time are grants of their own
				n.Services[service] = st
			}
		}
	}
	return f
}

// endWindow is the change that ends what runs of a window, or calls it off.
func (w *world) endWindow(method, id string, by Caller, reason, ticket string, how func(maintenance.Window) (maintenance.Window, error)) (windowDoc, change, error) {
	d, ok := w.windows[id]
	if !ok {
		return windowDoc{}, change{}, badf("there is no window %q", id)
	}
	after := d.doc
	var err error
	if after.Window, err = how(d.doc.Window); err != nil {
		return windowDoc{}, change{}, badInput{err}
	}
	c, err := w.putWindow(method, after, &d.doc, by, reason, ticket, "")
	return after, c, err
}

// confirmWindow is the change that makes a window of a proposal, and does to older
// ones what it says.
func (w *world) confirmWindow(r *centralv1.ConfirmWindowRequest, by Caller, now time.Time) (windowDoc, []string, change, error) {
	d, ok := w.windows[r.GetId()]
	if !ok {
		return windowDoc{}, nil, change{}, badf("there is no proposal %q", r.GetId())
	}
	after := d.doc
	var err error
	if after.Window, err = d.doc.Window.Confirm(now); err != nil {
		return windowDoc{}, nil, change{}, badInput{err}
	}
	after.OverrideSafety = r.GetOverrideSafety()
	if r.GetLead() != nil {
		after.Lead = maintenance.Duration(r.GetLead().AsDuration())
	}
	if err := after.Validate(); err != nil {
		return windowDoc{}, nil, change{}, badInput{err}
	}
	var warnings []string
	broke := ""
	if d.doc.opens() {
		if warnings, broke, err = w.admitWindow(after, now); err != nil {
			return windowDoc{}, nil, change{}, err
		}
	} else if after.Window, err = after.Cancel(now); err != nil { // it was to end another, and is done
		return windowDoc{}, nil, change{}, badInput{err}
	}
	c, err := w.putWindow("ConfirmWindow", after, &d.doc, by, r.GetReason(), r.GetTicket(), broke)
	if err != nil {
		return windowDoc{}, nil, change{}, err
	}
	for _, id := range d.doc.Replaces {
		if err := w.supersede(&c, id, d.doc, now); err != nil {
			return windowDoc{}, nil, change{}, err
		}
	}
	return after, warnings, c, nil
}

// opens reports whether confirming a proposal opens a window, rather than ending others.
func (d windowDoc) opens() bool { return d.Mail == nil || d.Mail.Action == maintnote.Open }

// supersede adds what becomes of an older window.
func (w *world) supersede(c *change, id string, by windowDoc, now time.Time) error {
	old, ok := w.windows[id]
	if !ok {
		return nil
	}
	after := old.doc
	var err error
	if by.Mail != nil && by.Mail.Action == maintnote.End {
		after.Window, err = old.doc.Window.End(now)
	} else {
		after.Window, err = old.doc.Window.Cancel(now)
	}
	if err != nil {
		return nil // over already, which is what is wanted
	}
	op, err := put(key(kindWindow, id), after)
	c.ops, c.conds = append(c.ops, op), append(c.conds, store.Cond{Key: op.Key, Revision: old.revision})
	return err
}
