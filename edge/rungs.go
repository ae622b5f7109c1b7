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
		st.Rung = carryRung(st.Rung, neighborOf(e.cfg, st.Name), neighborOf(c, st.Name))
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
		p.Rung = carryRung(p.Rung, neighborOf(was, p.Neighbor), n)
		out = append(out, p)
	}
	return out
}

// carryRung finds a rung of one ladder in another: the one that does the same, else
// the one of the same number, or the highest, but none that takes away more than the
// old one did.
func carryRung(rung int, was, will *config.Neighbor) int {
	if rung <= 0 || was == nil || will == nil || rung > len(was.Ladder) {
		return rung
	}
	old := effect(was, rung)
	for i := range will.Ladder {
		if effect(will, i+1) == old {
			return i + 1
		}
	}
	next := min(rung, len(will.Ladder))
	for next > 0 && exceeds(&will.Ladder[next-1], &was.Ladder[rung-1]) {
		next--
	}
	return next
}

// exceeds tells whether a rung takes routes away, or may make others, where another
// does not.
func exceeds(r, than *config.Rung) bool {
	return r.Withdraw && !than.Withdraw || r.MayWithdraw() && !than.MayWithdraw()
}
