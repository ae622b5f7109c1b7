package edge

import (
	"slices"

	"github.com/catchment-bgp/catchment/edge/config"
	"github.com/catchment-bgp/catchment/policy"
)

// carried is the state for another configuration: heirs go on from the services
// before them, and neighbours stay on the rungs that they are on, wherever those
// stand in a ladder that changed.
func (e *Edge) carried(heirs map[string]string, c *config.Config) policy.State {
	s := inheritState(e.state, heirs)
	s.Load.Climbers = slices.Clone(s.Load.Climbers)
	for i := range s.Load.Climbers {
		st := &s.Load.Climbers[i]
		st.Rung = carryRung(st.Rung, steps(neighborOf(e.cfg, st.Name)), steps(neighborOf(c, st.Name)))
	}
	return s
}

// carryPins keeps the pins of neighbours that stay, on the rungs that they mean.
func carryPins(pins []policy.Pin, was, will *config.Config) []policy.Pin {
	var out []policy.Pin
	for _, p := range pins {
		n := neighborOf(will, p.Neighbor)
		if n == nil {
			continue
		}
		p.Rung = carryRung(p.Rung, steps(neighborOf(was, p.Neighbor)), steps(n))
		out = append(out, p)
	}
	return out
}

// step is what a rung of a ladder does, as it is kept over a restart.
type step struct {
	Effect string `json:"effect"`
	// Withdraws says that the rung takes routes away, Leaves that others may, too.
	Withdraws bool `json:"withdraws,omitempty"`
	Leaves    bool `json:"leaves,omitempty"`
}

// steps are those of a neighbour's ladder; nil: there is no such neighbour.
func steps(n *config.Neighbor) []step {
	if n == nil {
		return nil
	}
	out := make([]step, len(n.Ladder))
	for i := range n.Ladder {
		r := &n.Ladder[i]
		out[i] = step{effect(n, i+1), r.Withdraw, r.MayWithdraw()}
	}
	return out
}

// ladders are the steps of all neighbours by name.
func ladders(c *config.Config) map[string][]step {
	out := map[string][]step{}
	for i := range c.Neighbors {
		if n := &c.Neighbors[i]; len(n.Ladder) > 0 {
			out[n.Name] = steps(n)
		}
	}
	return out
}

// carryRung finds a rung of one ladder in another: the one that does the same, else
// the one of the same number, or the highest, but none that takes away more than the
// old one did.
func carryRung(rung int, was, will []step) int {
	if rung <= 0 || was == nil || will == nil || rung > len(was) {
		return rung
	}
	old := was[rung-1]
	if i := slices.IndexFunc(will, func(s step) bool { return s.Effect == old.Effect }); i >= 0 {
		return i + 1
	}
	next := min(rung, len(will))
	for next > 0 && (will[next-1].Withdraws && !old.Withdraws || will[next-1].Leaves && !old.Leaves) {
		next--
	}
	return next
}

// remap finds the rungs that an earlier run left, and those that pins mean, in the
// ladders of this one.
func (e *Edge) remap(before map[string][]step) {
	is := ladders(e.cfg)
	tell := func(what, neighbor string, from, to int) {
		if from != to {
			e.log.Warn("the ladder has changed since the last run: another rung does the same, or comes nearest", "what", what, "neighbor", neighbor, "before", from, "now", to)
		}
	}
	for i := range e.state.Load.Climbers {
		st := &e.state.Load.Climbers[i]
		to := carryRung(st.Rung, before[st.Name], is[st.Name])
		tell("rung", st.Name, st.Rung, to)
		st.Rung = to
	}
	for i := range e.pins {
		p := &e.pins[i]
		to := carryRung(p.Rung, before[p.Neighbor], is[p.Neighbor])
		tell("pin", p.Neighbor, p.Rung, to)
		p.Rung = to
	}
}
