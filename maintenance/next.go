package maintenance

import "time"

// Quiet is the share of a link's capacity below which a drain may end early.
const Quiet = 0.02

// Phase is what windows ask for a target.
type Phase uint8

// The phases. Draining is GSHUT (RFC 8326), routes still announced. Withdrawn: nothing
// is announced, and once that is on the wire it is safe to stop.
const (
	In Phase = iota
	Draining
	Withdrawn
)

// String gives "in", "draining" or "withdrawn".
func (p Phase) String() string {
	if names := [...]string{"in", "draining", "withdrawn"}; int(p) < len(names) {
		return names[p]
	}
	return "phase"
}

// Track remembers how far the drain of one target is. It is kept on disk, so that a
// restart does not drain anew; the zero value is right where nothing is known.
type Track struct {
	// Began is when the drain began; zero: no window holds.
	Began time.Time `json:"began,omitzero"`
	// Safe is when the drain was over; zero: it is not.
	Safe time.Time `json:"safe,omitzero"`
	// Until is when the last window that was seen to hold ends. An occurrence that
	// begins later is another drain.
	Until time.Time `json:"until,omitzero"`
}

// Traffic is what is known of the target.
type Traffic struct {
	// Drain is the service's own drain time: GSHUT lasts at least this long.
	Drain time.Duration
	// Utilization of the link, 0..1, if Known. Figures that are stale or absent are
	// not known, and never quiet.
	Utilization float64
	Known       bool
	// Idle is true where nothing is announced that could be drained, as on a node
	// that has just started.
	Idle bool
}

// Next takes one target a step on: running are the occurrences that hold at now
// (Moment.Running), t is what the last step returned. It returns what to keep, what
// the windows ask for, and the next moment at which that changes by itself (zero: not
// before an occurrence begins or ends).
//
// GSHUT begins with the first of overlapping windows. It lasts at least Drain, and until
// the link is quiet or max(Lead, Drain) of any of the windows is over. From then on the
// target stays withdrawn until the last of them ends. A clock that is set back during
// the drain begins it anew; it never shortens it.
func Next(now time.Time, running []Occurrence, t Track, in Traffic) (Track, Phase, time.Time) {
	if len(running) == 0 {
		return Track{}, In, time.Time{}
	}
	t = t.holding(now, running)
	if in.Idle && t.Safe.IsZero() {
		t.Safe = now
	}
	if !t.Safe.IsZero() {
		return t, Withdrawn, time.Time{}
	}
	least := t.Began.Add(in.Drain)
	var deadline time.Time
	for _, o := range running {
		begin := later(t.Began, o.Begin)
		deadline = earlier(deadline, begin.Add(max(o.Lead.Std(), in.Drain)))
	}
	quiet := in.Known && in.Utilization < Quiet
	switch {
	case !now.Before(deadline), quiet && !now.Before(least):
		t.Safe = now
		return t, Withdrawn, time.Time{}
	case now.Before(least) && quiet:
		return t, Draining, least
	}
	return t, Draining, deadline
}

// holding returns t with the occurrences that hold at now.
func (t Track) holding(now time.Time, running []Occurrence) Track {
	another := true
	var until time.Time
	for _, o := range running {
		another = another && o.Begin.After(t.Until)
		until = later(until, o.End)
	}
	switch {
	case t.Began.IsZero() || another:
		t = Track{Began: now}
	case now.Before(t.Began) && t.Safe.IsZero():
		t.Began = now
	}
	t.Until = until
	return t
}
