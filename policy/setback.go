package policy

import (
	"time"

	"github.com/catchment-bgp/catchment/policy/control"
)

// A clock that is set back leaves times in memory that are yet to come. Until they
// have, nothing would move and no figure be new; so they count as of now: what is
// under way begins anew, and lasts no longer than it ever does.

// ahead says whether a time cannot have been yet.
func (r *round) ahead(t time.Time) bool { return t.After(r.in.Now.Add(future)) }

// been is the time, or now if it cannot have been yet.
func (r *round) been(t time.Time) time.Time {
	if r.ahead(t) {
		return r.in.Now
	}
	return t
}

// setBack mends what is remembered of a climber.
func (s *ClimberState) setBack(r *round) {
	s.Since = r.been(s.Since)
	if s.Changed.After(r.in.Now) {
		s.Changed = r.in.Now
	}
	before := ClimberState{Futiles: s.Futiles - 1}
	if longest := before.givesUp(); r.ahead(s.Futile.Add(-longest)) {
		s.Futile = r.in.Now.Add(longest)
	}
	if r.ahead(s.Trial.At) {
		s.Trial = Trial{}
	}
	if r.ahead(s.LowSince) {
		s.LowSince = time.Time{}
	}
}

// setBack mends what is remembered of a link: figures that are yet to come are
// forgotten.
func (s *LinkState) setBack(r *round) {
	s.Moved = r.been(s.Moved)
	if r.ahead(s.OverSince) {
		s.OverSince = time.Time{}
	}
	if r.ahead(s.Control.At) {
		s.Control, s.OverSince = control.State{}, time.Time{}
	}
}
