package maintenance

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"
)

// Occurrence is one time that a window takes place. It holds from Begin until just
// before End.
type Occurrence struct {
	Window string    `json:"window"` // the ID
	Reason string    `json:"reason"`
	Ticket string    `json:"ticket,omitempty"`
	Begin  time.Time `json:"begin"` // of the drain: Start less the lead, but not before the window was created
	Start  time.Time `json:"start"` // of the work
	End    time.Time `json:"end"`   // Start and the length, or when it was ended early
	Lead   Duration  `json:"lead"`
}

// Holds reports whether now is between Begin and End.
func (o Occurrence) Holds(now time.Time) bool { return !now.Before(o.Begin) && now.Before(o.End) }

// occurrences returns those that hold at some time in [from, to), by Begin.
func (p plan) occurrences(from, to time.Time) []Occurrence {
	if p.Proposed || !from.Before(to) {
		return nil
	}
	var all []Occurrence
	for start := range p.starts(from.Add(-p.For.Std()), to.Add(p.Lead.Std())) {
		o := Occurrence{Window: p.ID, Reason: p.Reason, Ticket: p.Ticket,
			Begin: start.Add(-p.Lead.Std()), Start: start, End: start.Add(p.For.Std()), Lead: p.Lead}
		if o.Begin.Before(p.Created) {
			o.Begin = p.Created
		}
		if o.Holds(p.EndedAt) {
			o.End = p.EndedAt
		}
		if !p.CancelledAt.IsZero() && p.CancelledAt.Before(o.End) {
			o.End = p.CancelledAt
		}
		if o.Begin.Before(o.End) && o.Begin.Before(to) && o.End.After(from) {
			all = append(all, o)
		}
	}
	slices.SortFunc(all, func(a, b Occurrence) int { return a.Start.Compare(b.Start) })
	// Two readings of the clock can be one instant where clocks are set forward.
	return slices.CompactFunc(all, func(a, b Occurrence) bool { return a.Start.Equal(b.Start) })
}

// starts yields at least the starts in [from, to], perhaps out of order.
func (p plan) starts(from, to time.Time) iter.Seq[time.Time] {
	return func(yield func(time.Time) bool) {
		if p.Rule == "" {
			yield(p.Start)
			return
		}
		first := Wall(p.Start, p.zone)
		last := Wall(to, time.UTC).Add(farthest)
		for wall := range p.rule.Walls(first, Wall(from, time.UTC).Add(-farthest)) {
			start := p.Start // as it is: it may be the second time that clocks show it
			if !wall.Equal(first) {
				start, _ = ResolveIn(wall, p.zone)
			}
			until := p.rule.untilAt
			if wall.After(last) || !until.IsZero() && start.After(until) || !yield(start) {
				return
			}
		}
	}
}

// following returns when the next occurrence after now begins.
func (p plan) following(now time.Time) (time.Time, bool) {
	for _, span := range []time.Duration{2 * Day, 40 * Day, 2 * Horizon} {
		from := now
		if from.Before(p.Created) {
			from = p.Created // the first may be years ahead of a clock that is wrong
		}
		if p.Rule == "" || from.Before(p.Start.Add(-p.Lead.Std())) {
			from = p.Start.Add(-p.Lead.Std())
		}
		for _, o := range p.occurrences(from, from.Add(span)) {
			if o.Begin.After(now) {
				return o.Begin, true
			}
		}
	}
	return time.Time{}, false
}

// Calendar is a set of valid windows.
type Calendar struct{ plans []plan }

// New takes windows in. Those that are not valid are left out and named in the
// error, with the ID; the calendar holds all others, and can be used.
func New(windows []Window) (Calendar, error) {
	var c Calendar
	var errs []error
	seen := map[string]bool{}
	for _, w := range windows {
		p, err := compile(w)
		if err == nil && seen[w.ID] {
			err = errors.New("another window has this ID")
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("window %s: %w", w.ID, err))
			continue
		}
		seen[w.ID] = true
		c.plans = append(c.plans, p)
	}
	return c, errors.Join(errs...)
}

// For returns the calendar of the windows that select t.
func (c Calendar) For(t Target) Calendar {
	var out Calendar
	for _, p := range c.plans {
		if p.Select.Matches(t) {
			out.plans = append(out.plans, p)
		}
	}
	return out
}

// Windows returns the windows, in the order in which they came.
func (c Calendar) Windows() []Window {
	var out []Window
	for _, p := range c.plans {
		out = append(out, p.Window)
	}
	return out
}

// Occurrences returns those that hold at some time in [from, to), by Begin, then
// by window. Of one window there are at most 24 a day, and none later than Horizon
// after its first.
func (c Calendar) Occurrences(from, to time.Time) []Occurrence {
	var all []Occurrence
	for _, p := range c.plans {
		all = append(all, p.occurrences(from, to)...)
	}
	slices.SortFunc(all, func(a, b Occurrence) int {
		return cmp.Or(a.Begin.Compare(b.Begin), cmp.Compare(a.Window, b.Window), a.Start.Compare(b.Start))
	})
	return all
}

// Moment is what the windows of a calendar say of one moment.
type Moment struct {
	// Running are the occurrences that hold, by Begin.
	Running []Occurrence
	// Back is when the last of them ends, counting those that begin meanwhile or
	// just then: overlapping windows nest. It looks ahead some 31 days. Zero: none holds.
	Back time.Time
	// Next is the next moment at which an occurrence begins or ends; zero: none will.
	Next time.Time
}

// maxNest bounds the look ahead for Back: windows that take turns without a gap.
const maxNest = 31 * Day

// At returns what holds at now.
func (c Calendar) At(now time.Time) Moment {
	m := Moment{Running: c.Occurrences(now, now.Add(1))}
	for _, o := range m.Running {
		m.Back = later(m.Back, o.End)
		m.Next = earlier(m.Next, o.End)
	}
	for _, p := range c.plans {
		if begin, found := p.following(now); found {
			m.Next = earlier(m.Next, begin)
		}
	}
	for len(m.Running) > 0 && m.Back.Sub(now) < maxNest {
		then := c.Occurrences(m.Back, m.Back.Add(1))
		if len(then) == 0 {
			break
		}
		for _, o := range then {
			m.Back = later(m.Back, o.End)
		}
	}
	return m
}

// later returns the later of two times.
func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// earlier returns the earlier of two times, of which zero is none.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// Detail says in one line why something is out of service, and when it comes back.
// What a person has disabled by hand stays so after the last window.
func (m Moment) Detail(byHand bool) string {
	if len(m.Running) == 0 {
		return ""
	}
	var names []string
	for _, o := range m.Running {
		name := o.Window + ": " + o.Reason
		if o.Ticket != "" {
			name += " (" + o.Ticket + ")"
		}
		names = append(names, name)
	}
	then := "back"
	if byHand {
		then = "over, but it stays disabled by hand,"
	}
	return strings.Join(names, "; ") + "; " + then + " at " + stamp(m.Back)
}
