package central

import (
	"errors"
	"fmt"
	"time"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
	"github.com/catchment-bgp/catchment/central/store"
	"github.com/catchment-bgp/catchment/maintenance/maintnote"
)

// imported is what came of a provider's mail.
type imported struct {
	proposals []windowDoc
	problems  []*centralv1.ImportProblem
}

// importWindows is the change that makes proposals of a mail. Nothing of it holds
// before a person confirms it.
func (w *world) importWindows(r *centralv1.ImportWindowsRequest, by Caller, now time.Time) (imported, change, error) {
	var out imported
	var c change
	mails, err := maintnote.Import(r.GetName(), r.GetContent(), maintnote.Options{Circuits: w.circuits(), Now: now})
	out.problems = problemsOf(err)
	if len(mails) == 0 {
		if len(out.problems) == 0 {
			return out, c, badf("%s: no maintenance is announced in it", r.GetName())
		}
		return out, c, nil
	}
	for _, mail := range mails {
		d, problem := w.propose(mail, by, now)
		out.problems = append(out.problems, problem...)
		if d == nil {
			continue
		}
		change, err := w.putWindow("ImportWindows", *d, nil, by, d.Reason, "", mail.Why)
		if err != nil {
			return out, c, err
		}
		out.proposals = append(out.proposals, *d)
		c.ops = append(c.ops, change.ops[0])
		c.conds = append(c.conds, change.conds[0])
		c.entries = append(c.entries, change.entries...)
		for _, id := range w.staleProposals(mail) {
			c.ops = append(c.ops, store.Op{Key: key(kindWindow, id)})
			c.conds = append(c.conds, w.windows.cond(kindWindow, id))
		}
		if len(c.ops) > store.MaxOps/3 {
			return out, c, badf("%s has more than %d maintenances; split it", r.GetName(), store.MaxOps/3)
		}
	}
	if len(c.ops) == 0 {
		return out, c, nil
	}
	fence, err := w.fence(windowFence)
	c.ops, c.conds = append(c.ops, fence), append(c.conds, w.fences.cond(kindFence, windowFence))
	return out, c, err
}

// circuits are the neighbours by the circuit in their labels.
func (w *world) circuits() map[string][]maintnote.Neighbor {
	out := map[string][]maintnote.Neighbor{}
	for _, name := range sorted(w.nodes) {
		for _, n := range w.nodes.get(name).hello().GetNeighbors() {
			if c := n.GetLabels()["circuit"]; c != "" {
				out[c] = append(out[c], maintnote.Neighbor{Node: name, Name: n.GetName()})
			}
		}
	}
	return out
}

// problemsOf takes the errors of an import apart.
func problemsOf(err error) []*centralv1.ImportProblem {
	var one *maintnote.Error
	var many interface{ Unwrap() []error }
	switch {
	case err == nil:
		return nil
	case errors.As(err, &many):
		var out []*centralv1.ImportProblem
		for _, e := range many.Unwrap() {
			out = append(out, problemsOf(e)...)
		}
		return out
	case errors.As(err, &one):
		return []*centralv1.ImportProblem{{File: one.Source, Line: int32(one.Line), Reason: one.Text}}
	}
	return []*centralv1.ImportProblem{{Reason: err.Error()}}
}

// propose makes a proposal of one event; nil: there is nothing to confirm.
func (w *world) propose(mail maintnote.Proposal, by Caller, now time.Time) (*windowDoc, []*centralv1.ImportProblem) {
	var problems []*centralv1.ImportProblem
	problem := func(line int, text, why string) {
		problems = append(problems, &centralv1.ImportProblem{File: mail.Source, Line: int32(line), Text: text, Reason: why})
	}
	for _, r := range mail.Problems {
		problem(r.Line, mail.Summary, r.Text)
	}
	older, confirmed, newest := w.sameMaintenance(mail)
	if !newest {
		problem(mail.Line, mail.Summary, "a mail that is as new, or newer, has been imported already")
		return nil, problems
	}
	switch {
	case mail.Action == maintnote.None:
		problem(mail.Line, mail.Summary, mail.Why)
		return nil, problems
	case mail.Action == maintnote.Open && mail.Window == nil:
		problem(mail.Line, mail.Summary, fmt.Sprintf("no window can be made of it: %s", mail.Why))
		return nil, problems
	case mail.Action != maintnote.Open && len(confirmed) == 0:
		problem(mail.Line, mail.Summary, "no window was made of this maintenance: "+mail.Why)
		return nil, problems
	}
	d := windowDoc{Mail: &mail, Replaces: confirmed}
	if mail.Window != nil {
		d.Window = *mail.Window
	} else {
		d.Window = w.windows.get(older).Window
	}
	d.ID, d.Proposed, d.By, d.Created = newID("w"), true, by.Name, now
	if d.Reason == "" {
		d.Reason = mail.Why
	}
	d.Reason = short(d.Reason)
	return &d, problems
}

// sameMaintenance looks for windows of the same maintenance: one of them, those
// that have been confirmed and stand, and whether the mail is newer than all.
func (w *world) sameMaintenance(mail maintnote.Proposal) (one string, confirmed []string, newest bool) {
	newest = true
	for _, id := range sorted(w.windows) {
		d := w.windows.get(id)
		if d.Mail == nil || mail.Key() == "" || d.Mail.Key() != mail.Key() {
			continue
		}
		if order := mail.Compare(*d.Mail); order == maintnote.Older || order == maintnote.Same {
			newest = false
		}
		if !d.Proposed && d.opens() && d.CancelledAt.IsZero() {
			one, confirmed = id, append(confirmed, id)
		}
	}
	return one, confirmed, newest
}

// staleProposals are those that nobody has confirmed and that the mail replaces.
func (w *world) staleProposals(mail maintnote.Proposal) []string {
	var out []string
	for _, id := range sorted(w.windows) {
		d := w.windows.get(id)
		if d.Proposed && d.Mail != nil && mail.Key() != "" && d.Mail.Key() == mail.Key() && mail.Compare(*d.Mail) == maintnote.Newer {
			out = append(out, id)
		}
	}
	return out
}
