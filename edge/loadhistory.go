package edge

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/catchment-bgp/catchment/policy"
)

// LoadChange is one change of a rung, or of what keeps a link's load where it is.
type LoadChange struct {
	At time.Time
	// Link is empty for a neighbour without one that it can relieve, Neighbor for
	// the link as a whole.
	Link, Neighbor string
	From, To       int // rungs
	Known          bool
	// Utilization is the load in shares of the capacity, Shed the share of the
	// demand that the controller wanted elsewhere.
	Utilization, Shed float64
	Detail            string
	Inputs            []string // what was the case, a line each
}

// newest returns the last changes that fit, newest first.
func (k *loadKeeper) newest(limit int, fits func(LoadChange) bool) []LoadChange {
	var out []LoadChange
	for _, c := range slices.Backward(k.history) {
		if len(out) == limit {
			break
		}
		if fits(c) {
			out = append(out, c)
		}
	}
	return out
}

func (k *loadKeeper) add(c LoadChange) {
	if len(k.history) == historySize {
		k.history = slices.Delete(k.history, 0, 1)
	}
	k.history = append(k.history, c)
}

// linkNews is what was told of a link last.
type linkNews struct {
	absorbs, stale bool
	// calm is since when neither is the case although it was told; zero: it is.
	calm time.Time
}

// calmAfter is how long a trouble of a link must be over before its end is told: a
// load at the brink, or a source that comes and goes, does not fill the log.
const calmAfter = time.Minute

// recordLoad notes and logs how a decision on load differs from the last one: a
// line for each rung that changed, and for each link that absorbs, no longer does,
// or whose figures went stale or came back. Why a neighbour does not move is noted
// once for each reason on each rung.
func (e *Edge) recordLoad(now time.Time, in *policy.Input, d *policy.Decision) {
	for i := range d.Links {
		e.recordLink(now, in, &d.Links[i])
	}
	for i := range d.Climbers {
		is, was := &d.Climbers[i], climberBefore(e.decision, i, d.Climbers[i].Name)
		from := was.Rung
		if was.Name == "" { // the rung that an earlier run left
			from = e.load.rungOf(e.state, is.Name)
		}
		if is.Rung != from {
			e.load.hindered[is.Name] = nil
			e.load.moves[is.Name]++
			c := e.loadChange(now, in, d, is, from)
			e.log.Info("rung changed", "neighbor", is.Name, "from", from, "to", is.Rung, "link", c.Link,
				"utilization", digits(c.Utilization), "shed", digits(c.Shed), "detail", c.Detail)
		} else if h := is.Restraint.Hindrance; telling(h) && !slices.Contains(e.load.hindered[is.Name], h) {
			e.load.hindered[is.Name] = append(e.load.hindered[is.Name], h)
			e.loadChange(now, in, d, is, from)
		}
	}
}

// telling says whether a hindrance keeps a neighbour from where the load wants it,
// or an operator does: others come and go with the load.
func telling(h policy.Hindrance) bool {
	switch h {
	case policy.Pinned, policy.Stale, policy.Dwelling, policy.OtherMover, policy.Ledger, policy.NeedsGrant, policy.TopRung,
		policy.WouldLand, policy.Futile:
		return true
	}
	return false
}

// loadChange notes what was decided of a neighbour.
func (e *Edge) loadChange(now time.Time, in *policy.Input, d *policy.Decision, is *policy.ClimberDecision, from int) LoadChange {
	c := LoadChange{At: now, Neighbor: is.Name, From: from, To: is.Rung, Detail: is.Restraint.String(), Inputs: e.loadInputs(in, d, is)}
	if l := e.linkOf(d, is.Name); l != nil {
		c.Link, c.Known, c.Utilization, c.Shed = l.Name, l.Known, l.Utilization, l.Shed
		if is.Moved && is.Restraint.Hindrance == policy.Content {
			c.Detail = fmt.Sprintf("the rung is believed to shed %.0f%% of the neighbour's traffic", is.Shed*100)
		}
	}
	e.load.add(c)
	return c
}

// rungOf is the rung that a state has a neighbour on.
func (k *loadKeeper) rungOf(s policy.State, neighbor string) int {
	for i := range s.Load.Climbers {
		if s.Load.Climbers[i].Name == neighbor {
			return s.Load.Climbers[i].Rung
		}
	}
	return 0
}

func (e *Edge) recordLink(now time.Time, in *policy.Input, is *policy.LinkDecision) {
	was := e.load.links[is.Name]
	stale := is.Known && is.Stale
	next := linkNews{absorbs: was.absorbs || is.Absorb, stale: was.stale || stale}
	tell := func(detail string) {
		e.load.add(LoadChange{At: now, Link: is.Name, Known: is.Known, Utilization: is.Utilization, Shed: is.Shed, Detail: detail,
			Inputs: []string{linkInput(in, is)}})
	}
	if is.Absorb && !was.absorbs {
		e.log.Warn("link absorbs its load: nothing can take more", "link", is.Name, "utilization", digits(is.Utilization),
			"shed", digits(is.Shed), "detail", is.Restraint.String())
		tell("absorbs: nothing can take more; " + is.Restraint.String())
	}
	if stale && !was.stale {
		e.log.Warn("figures of the link are stale: its neighbours stay on their rungs", "link", is.Name, "age", is.Age.Round(time.Second).String())
		tell("its figures are stale: rungs are held")
	}
	if calm := is.Absorb == next.absorbs && stale == next.stale; !calm {
		next.calm = was.calm
		if next.calm.IsZero() || now.Before(next.calm) {
			next.calm = now
		}
		if now.Sub(next.calm) >= calmAfter {
			if next.absorbs && !is.Absorb {
				e.log.Info("link absorbs no longer", "link", is.Name, "utilization", digits(is.Utilization))
				tell("absorbs no longer")
			}
			if next.stale && !stale {
				e.log.Info("figures of the link are back", "link", is.Name)
				tell("its figures are back")
			}
			next = linkNews{absorbs: is.Absorb, stale: stale}
		}
	}
	e.load.links[is.Name] = next
}

// digits is a share with few digits, for people.
func digits(v float64) string { return fmt.Sprintf("%.4g", v) }

func climberBefore(d policy.Decision, i int, name string) *policy.ClimberDecision {
	if i < len(d.Climbers) && d.Climbers[i].Name == name {
		return &d.Climbers[i]
	}
	if i = slices.IndexFunc(d.Climbers, func(c policy.ClimberDecision) bool { return c.Name == name }); i >= 0 {
		return &d.Climbers[i]
	}
	return &policy.ClimberDecision{}
}

// linkOf is the decision on the link of a neighbour; nil: it names none.
func (e *Edge) linkOf(d *policy.Decision, neighbor string) *policy.LinkDecision {
	n := neighborOf(e.cfg, neighbor)
	if n == nil || n.Link == "" {
		return nil
	}
	for i := range d.Links {
		if d.Links[i].Name == n.Link {
			return &d.Links[i]
		}
	}
	return nil
}

// loadInputs says in words what a decision on a neighbour was made from.
func (e *Edge) loadInputs(in *policy.Input, d *policy.Decision, c *policy.ClimberDecision) []string {
	var out []string
	own := e.linkOf(d, c.Name)
	if own != nil {
		out = append(out, linkInput(in, own))
	}
	for i := range d.Links {
		if l := &d.Links[i]; own == nil || l.Name != own.Name {
			out = append(out, linkInput(in, l))
		}
	}
	if !in.Node.At.IsZero() {
		out = append(out, fmt.Sprintf("node %.0f%% used (%s)", in.Node.Load*100, cmp.Or(e.load.figures.node.Resource, "unknown")))
	}
	out = append(out, fmt.Sprintf("flap penalty %.0f", c.Penalty))
	for _, p := range in.Pins {
		if p.Neighbor == c.Name && p.Active(in.Now) {
			out = append(out, fmt.Sprintf("pin on rung %d since %s by %s: %s", p.Rung, p.Since.Format(time.RFC3339), p.By, p.Reason))
		}
	}
	return out
}

func linkInput(in *policy.Input, l *policy.LinkDecision) string {
	if !l.Known {
		return "link " + l.Name + ": no figure"
	}
	text := fmt.Sprintf("link %s %.1f%% used (%.0f bit/s), %s old", l.Name, l.Utilization*100, in.Samples[l.Name].Load, l.Age.Round(time.Second/10))
	if l.Stale {
		text += ", stale"
	}
	return text + fmt.Sprintf(", should shed %.1f%%, is believed to shed %.1f%%", l.Shed*100, l.InForce*100)
}
