package maintenance

import (
	"errors"
	"fmt"
	"time"
)

// The longest that a window may last, and may drain beforehand. No window keeps
// anything out of service for ever.
const (
	MaxFor  = 14 * Day
	MaxLead = Day
	// lastYear is the last year in which a window may start, so that the end of all
	// its occurrences can be written in RFC 3339, which ends with the year 9999.
	lastYear = 9900
)

// Window is planned work, as it is kept. Times are instants. Only Select, Start,
// For and Created are needed by the clockwork; Reason is needed by people.
type Window struct {
	ID     string   `json:"id"`
	Select Selector `json:"select"`
	// Start is when the work begins; of a window that recurs, the first time.
	Start time.Time `json:"start"`
	// For is how long the work lasts, 1 s to MaxFor of real time.
	For Duration `json:"for"`
	// Lead is how long before Start the drain begins, up to MaxLead.
	Lead Duration `json:"lead"`
	// Zone is the IANA name of the zone in which Start was meant. A Rule needs it.
	Zone string `json:"zone,omitempty"`
	// Rule says how the window recurs, as ParseRule reads it; empty: it does not.
	Rule   string `json:"rule,omitempty"`
	Reason string `json:"reason"`
	Ticket string `json:"ticket,omitempty"`
	By     string `json:"by,omitempty"`
	// Created is when the window came to be: nothing begins before.
	Created time.Time `json:"created,omitzero"`
	// Proposed windows do nothing until a person confirms them.
	Proposed bool `json:"proposed,omitempty"`
	// EndedAt is when a running occurrence was ended early, the last time.
	EndedAt time.Time `json:"ended_at,omitzero"`
	// CancelledAt is when the window was called off: nothing of it holds from then on.
	CancelledAt time.Time `json:"cancelled_at,omitzero"`
}

// State is how far a window is.
type State string

// The states. A window that recurs is scheduled again after each occurrence.
const (
	Proposed  State = "proposed"
	Scheduled State = "scheduled"
	Active    State = "active" // from the begin of the drain to the end
	Ended     State = "ended"
	Cancelled State = "cancelled"
)

// Validate returns everything that is wrong with w, one line each.
func (w Window) Validate() error {
	_, err := compile(w)
	return err
}

// State returns how far w is at a moment. The error is Validate's.
func (w Window) State(now time.Time) (State, error) {
	p, err := compile(w)
	if err != nil {
		return "", err
	}
	switch {
	case !w.CancelledAt.IsZero() && !now.Before(w.CancelledAt):
		return Cancelled, nil
	case w.Proposed:
		return Proposed, nil
	case len(p.occurrences(now, now.Add(1))) > 0:
		return Active, nil
	}
	if _, more := p.following(now); more {
		return Scheduled, nil
	}
	return Ended, nil
}

// Confirm makes a window of a proposal: it may begin from now on.
func (w Window) Confirm(now time.Time) (Window, error) {
	if !w.Proposed {
		return w, fmt.Errorf("window %s is no proposal", w.ID)
	}
	if !w.CancelledAt.IsZero() {
		return w, fmt.Errorf("window %s was called off at %s", w.ID, stamp(w.CancelledAt))
	}
	w.Proposed, w.Created = false, now
	return w, nil
}

// End ends the occurrence that runs, in its drain or later; those after it stay.
func (w Window) End(now time.Time) (Window, error) {
	state, err := w.State(now)
	switch {
	case err != nil:
		return w, err
	case state != Active:
		return w, fmt.Errorf("window %s is %s: only one that runs can be ended; to call off what has not begun, cancel it", w.ID, state)
	}
	w.EndedAt = now
	return w, nil
}

// Cancel calls the window off: an occurrence that runs ends, and none follows.
func (w Window) Cancel(now time.Time) (Window, error) {
	state, err := w.State(now)
	switch {
	case err != nil:
		return w, err
	case state == Ended || state == Cancelled:
		return w, fmt.Errorf("window %s is %s: there is nothing to cancel", w.ID, state)
	}
	w.CancelledAt = now
	return w, nil
}

// stamp is how messages write an instant.
func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// plan is a window that was found valid, with what its texts mean.
type plan struct {
	Window
	zone *time.Location
	rule Rule
}

func compile(w Window) (plan, error) {
	p := plan{Window: w, zone: time.UTC}
	var errs []error
	add := func(err error) {
		if err != nil {
			errs = append(errs, err)
		}
	}
	add(w.Select.Validate())
	add(w.For.within("the length (for)", false, MaxFor))
	add(w.Lead.within("the lead", true, MaxLead))
	switch {
	case w.Start.IsZero():
		add(errors.New("the start is missing"))
	case w.Start.UTC().Year() > lastYear:
		add(fmt.Errorf("the start must be in the year %d or before", lastYear))
	case w.Start.Nanosecond() != 0:
		add(errors.New("the start must be in whole seconds"))
	}
	if w.Zone != "" || w.Rule != "" {
		zone, err := LoadZone(w.Zone)
		add(err)
		p.zone = zone
	}
	if w.Rule != "" {
		rule, err := ParseRule(w.Rule)
		add(err)
		p.rule = rule
	}
	if len(errs) == 0 && w.Rule != "" {
		add(p.ruleFault())
	}
	return p, errors.Join(errs...)
}

// checkRule holds the rule against the window: its first start must be one of the
// rule's, and there must be time between occurrences in which the node is back.
func (p plan) checkRule() error {
	var last time.Time
	first := Wall(p.Start, p.zone)
	for wall := range p.rule.Walls(first, first) {
		if last.IsZero() {
			if !wall.Equal(first) {
				return fmt.Errorf("rule %s does not start at %s, a %s; the first start that it gives is %s",
					p.rule, first.Format(clockForm), first.Weekday(), wall.Format(clockForm))
			}
		} else if apart := wall.Sub(last); apart <= (p.For + p.Lead).Std() {
			return fmt.Errorf("rule %s: starts are %v apart (%s and %s), lead and length take %v; nothing would be back in between",
				p.rule, Duration(apart), last.Format(clockForm), wall.Format(clockForm), p.For+p.Lead)
		}
		last = wall
	}
	if last.IsZero() {
		return fmt.Errorf("rule %s never starts after %s", p.rule, first.Format(clockForm))
	}
	return nil
}

// clockForm is how messages write a reading of the clock.
const clockForm = "2006-01-02 15:04:05"
