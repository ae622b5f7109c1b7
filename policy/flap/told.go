package flap

import "time"

const (
	// ToldLag is how much older than Told.At what is told of another edge may be: it
	// counts as in contact for so long after its last report.
	ToldLag = 60 * time.Second
	// ToldFresh is for how long after Told.At it is good.
	ToldFresh = 55 * time.Second
	// ToldHandover is for how long an edge makes no change when it begins to be told,
	// and after it was told last: the others may go by the other kind of slots until
	// then. An edge that is cut off reports for up to 65 s more without hearing of it;
	// from then on the others may be told for ToldLag, and go by that for ToldFresh.
	ToldHandover = 200 * time.Second

	// toldWindow begins each slot of edges that are told of each other. The rest of
	// the slot is there for the others to hear of the change.
	toldWindow = 60 * time.Second
	toldSlot   = toldWindow + ToldLag + ToldFresh + ClockError + 5*time.Second
)

// Told is what the other edges of a share were charged, by someone who is in contact
// with all of them. The zero value is nothing: nobody tells.
type Told struct {
	// Penalty is the sum of theirs, each in points of the profile that is nearest to
	// suppressing.
	Penalty float64
	// At is a moment, by this edge's monotonic clock, at which whoever tells had heard
	// of each of them within ToldLag; zero: never.
	At time.Time
	// Since is since when that has been so without a break; zero: there is a break now.
	Since time.Time
}

// AllowTold is Allow for an edge that may be told what the others of its share were
// charged. As long as it is, the edges take turns in slots of 210 s, which begin with
// a window of 60 s: what one has changed the next one has been told of, and a change
// is allowed where all penalties together have room for it. When it begins, and after
// it has ended, no change is allowed for ToldHandover. Later the slots of Allow are
// in force again, but for what the others may have used up meanwhile: all there is.
func (l Ledger) AllowTold(c Config, s Share, o Told, now time.Time, e Event, keys ...Key) (ok bool, next time.Time) {
	shared := s.Edges >= 2 && s.Edges <= mostEdges && s.Index >= 0 && s.Index < s.Edges
	if !shared || o.At.IsZero() {
		return l.Allow(c, s, now, e, keys...)
	}
	t, from := c.turns(s), o.At.Add(ToldHandover)
	besides := func(p Profile) float64 { return p.decayed(c.limit(p), now.Sub(from)) }
	if now.Sub(o.At) <= ToldFresh && !o.Since.IsZero() {
		t = turns{edges: int64(s.Edges), index: int64(s.Index), length: int64(toldSlot / time.Second), window: int64(toldWindow / time.Second), told: true}
		from = o.Since.Add(ToldHandover)
		besides = func(p Profile) float64 { return c.others(p, o, now) }
	}
	if !from.After(now) || len(keys) == 0 || c.free(e) {
		return l.allow(c, t, besides, now, e, keys)
	}
	_, next = l.allow(c, t, besides, from, e, keys)
	return false, next
}

// others is the most that what is told may be in a profile's points: the profile
// that is nearest to suppressing may have been any of them.
func (c Config) others(p Profile, o Told, now time.Time) float64 {
	least := p.Suppress
	for _, q := range c.Profiles {
		least = min(least, q.Suppress)
	}
	return p.decayed(max(o.Penalty, 0)*p.Suppress/least, now.Sub(o.At))
}
