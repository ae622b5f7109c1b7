package edge

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/catchment-bgp/catchment/announcer"
	"github.com/catchment-bgp/catchment/announcer/guard"
	"github.com/catchment-bgp/catchment/load"
	"github.com/catchment-bgp/catchment/policy"
)

// loadKeeper holds what load control is given, and tells what it did.
type loadKeeper struct {
	sampling sampling
	figures  figures
	sessions map[string]policy.Session // by neighbour
	history  []LoadChange              // oldest first
	moves    map[string]int            // changes of the rung by neighbour
	saved    time.Time                 // when what was learned was last handed to the disk
}

func newLoadKeeper() loadKeeper {
	return loadKeeper{sampling: sampling{mail: newMailbox()}, moves: map[string]int{}}
}

// LoadView is what load control was given and did.
type LoadView struct {
	// Samples has the newest figure of each link, Node those of the machine, and
	// Quality how connections fare by neighbour.
	Samples map[string]policy.Sample
	Node    load.Node
	Quality []load.Quality
	// Sources is the state of each source.
	Sources []load.SourceStatus
	// Moves counts changes of the rung by neighbour.
	Moves map[string]int
}

func (k *loadKeeper) view() LoadView {
	v := LoadView{Samples: maps.Clone(k.figures.links), Node: k.figures.node, Quality: k.figures.quality, Moves: maps.Clone(k.moves)}
	if k.sampling.sampler != nil {
		v.Sources = k.sampling.sampler.Status().Sources
	}
	return v
}

// see takes in how the sessions are. The announcer counts how often one came up:
// all of those but the one that is up were lost.
func (k *loadKeeper) see(status map[string]announcer.Status) {
	k.sessions = make(map[string]policy.Session, len(status))
	for name, st := range status {
		s := policy.Session{Up: st.State == guard.Established, Losses: uint64(max(0, st.Sessions))}
		if s.Up && s.Losses > 0 {
			s.Losses--
		}
		k.sessions[name] = s
	}
}

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

// recordLoad notes and logs how a decision on load differs from the last one: a
// line for each rung that changed, and for each link that absorbs, no longer does,
// or whose figures went stale or came back.
func (e *Edge) recordLoad(now time.Time, in *policy.Input, d *policy.Decision) {
	for i := range d.Links {
		e.recordLink(now, in, &d.Links[i], linkBefore(e.decision, i, d.Links[i].Name))
	}
	for i := range d.Climbers {
		is, was := &d.Climbers[i], climberBefore(e.decision, i, d.Climbers[i].Name)
		if is.Rung == was.Rung && is.Restraint.Hindrance == was.Restraint.Hindrance {
			continue
		}
		c := LoadChange{At: now, Neighbor: is.Name, From: was.Rung, To: is.Rung, Detail: is.Restraint.String()}
		if l := e.linkOf(d, is.Name); l != nil {
			c.Link, c.Known, c.Utilization, c.Shed = l.Name, l.Known, l.Utilization, l.Shed
		}
		first := was.Name == ""
		if first && is.Rung == 0 {
			continue
		}
		c.Inputs = e.loadInputs(in, d, is)
		e.load.add(c)
		if is.Rung != was.Rung && !first {
			e.load.moves[is.Name]++
			e.log.Info("rung changed", "neighbor", is.Name, "from", was.Rung, "to", is.Rung, "link", c.Link,
				"utilization", share4(c.Utilization), "shed", share4(c.Shed), "detail", c.Detail)
		}
	}
}

func (e *Edge) recordLink(now time.Time, in *policy.Input, is, was *policy.LinkDecision) {
	sick := is.Known && is.Stale
	if is.Absorb == was.Absorb && sick == (was.Known && was.Stale) {
		return
	}
	detail := is.Restraint.String()
	switch {
	case is.Absorb && !was.Absorb:
		detail = "absorbs: nothing can take more; " + detail
		e.log.Warn("link absorbs its load: nothing can take more", "link", is.Name, "utilization", share4(is.Utilization), "shed", share4(is.Shed))
	case was.Absorb && !is.Absorb:
		detail = "absorbs no longer"
		e.log.Info("link absorbs no longer", "link", is.Name, "utilization", share4(is.Utilization))
	}
	switch wasSick := was.Known && was.Stale; {
	case sick && !wasSick:
		detail = "its figures are stale: rungs are held"
		e.log.Warn("figures of the link are stale: its neighbours stay on their rungs", "link", is.Name, "age", is.Age.Round(time.Second).String())
	case wasSick && !sick:
		detail = "its figures are back"
		e.log.Info("figures of the link are back", "link", is.Name)
	}
	e.load.add(LoadChange{At: now, Link: is.Name, Known: is.Known, Utilization: is.Utilization, Shed: is.Shed, Detail: detail,
		Inputs: []string{linkInput(in, is)}})
}

// share4 is a share with four digits at most, for people.
func share4(v float64) string { return fmt.Sprintf("%.4g", v) }

func linkBefore(d policy.Decision, i int, name string) *policy.LinkDecision {
	if i < len(d.Links) && d.Links[i].Name == name {
		return &d.Links[i]
	}
	if i = slices.IndexFunc(d.Links, func(l policy.LinkDecision) bool { return l.Name == name }); i >= 0 {
		return &d.Links[i]
	}
	return &policy.LinkDecision{}
}

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
