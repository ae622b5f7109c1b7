package maintenance

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Request is a window as a person types it.
type Request struct {
	Select Selector
	Start  string // now, RFC 3339, or 2026-12-01 02:00 on the clock of Zone
	Zone   string // an IANA name; needed for a clock time, and for a Rule
	For    string // how long: 10m, 2h, 1d
	Lead   string // how long before the start the drain begins; empty: not before
	Rule   string // RFC 5545, such as FREQ=WEEKLY;BYDAY=TU; empty: once
	Reason string // needed
	Ticket string
	By     string
}

// Window makes the window, as of now. The notes are for the person who asked: what
// was taken otherwise than typed. The error has a line for everything that is wrong,
// and names the option.
func (r Request) Window(id string, now time.Time) (Window, []string, error) {
	w := Window{ID: id, Select: r.Select, Zone: r.Zone, Rule: r.Rule, Ticket: r.Ticket, By: r.By,
		Reason: strings.TrimSpace(r.Reason), Created: now}
	var errs []error
	var notes []string
	fail := func(option string, err error) {
		if err != nil {
			errs = append(errs, fmt.Errorf("--%s: %w", option, err))
		}
	}
	start, note, err := r.start(now)
	fail("start", err)
	w.Start = start
	if note != "" {
		notes = append(notes, note)
	}
	w.For, err = ParseDuration(r.For)
	fail("for", err)
	if r.Lead != "" {
		w.Lead, err = ParseDuration(r.Lead)
		fail("lead", err)
	}
	if w.Reason == "" {
		fail("reason", errors.New("it is missing; say in a few words what is done"))
	}
	if len(errs) > 0 {
		return Window{}, nil, errors.Join(append(errs, r.Select.Validate())...)
	}
	p, err := compile(w)
	if err != nil {
		return Window{}, nil, err
	}
	past, err := p.checkPast(now)
	if past != "" {
		notes = append(notes, past)
	}
	return w, notes, err
}

// start returns when the window starts, and a note if clocks are set about then.
func (r Request) start(now time.Time) (time.Time, string, error) {
	start, fit, err := ParseStart(r.Start, r.Zone, now)
	if err != nil || fit == Exact {
		return start, "", err
	}
	zone, err := LoadZone(r.Zone)
	if err != nil {
		return time.Time{}, "", err
	}
	shown := start.In(zone).Format("15:04:05 MST")
	switch {
	case fit == Overlap:
		return start, fmt.Sprintf("%s comes twice in %s that day; the first is meant, %s. For the second, write it in RFC 3339",
			r.Start, r.Zone, start.In(zone).Format(time.RFC3339)), nil
	case r.Rule != "":
		return time.Time{}, "", fmt.Errorf("%s does not exist in %s: clocks are set forward over it. A window that recurs must start at a time that there is; start it another day",
			r.Start, r.Zone)
	}
	return start, fmt.Sprintf("%s does not exist in %s: clocks are set forward over it. The window starts at %s", r.Start, r.Zone, shown), nil
}

// checkPast refuses a window all of which is over, and returns a note for one whose
// start has passed.
func (p plan) checkPast(now time.Time) (string, error) {
	running := p.occurrences(now, now.Add(1))
	if _, more := p.following(now); !more && len(running) == 0 {
		return "", fmt.Errorf("--start: all of it is past: it ended at %s, and now it is %s", stamp(p.lastEnd()), stamp(now))
	}
	if len(running) > 0 && now.Sub(running[0].Start) >= time.Second {
		return fmt.Sprintf("the start, %s, has passed; the drain begins now, and the end is at %s",
			stamp(running[0].Start), stamp(running[0].End)), nil
	}
	return "", nil
}

// lastEnd is when the last occurrence ends, whenever the window was created.
func (p plan) lastEnd() time.Time {
	var last time.Time
	for start := range p.starts(p.Start, p.Start.Add(2*Horizon)) {
		last = later(last, start)
	}
	return last.Add(p.For.Std())
}

// clockForms are the readings of a clock that ParseStart takes.
var clockForms = []string{"2006-01-02 15:04", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02T15:04:05"}

// ParseStart reads a start: "now", an instant in RFC 3339, or a date and time such as
// 2026-12-01 02:00 on the clock of the zone. Fit says how that reading fits the zone
// (see Resolve); of an instant it is Exact. Nothing is guessed: a clock time without
// a zone is an error.
func ParseStart(text, zone string, now time.Time) (time.Time, Fit, error) {
	if text == "now" {
		return now.Round(0).Truncate(time.Second), Exact, nil
	}
	if text == "" {
		return time.Time{}, Exact, errors.New("it is missing; write now, 2026-12-01T02:00:00+03:00, or 2026-12-01 02:00 with a zone")
	}
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return t.UTC(), Exact, nil
	}
	for _, form := range clockForms {
		wall, err := time.Parse(form, text)
		if err != nil {
			continue
		}
		if zone == "" {
			return time.Time{}, Exact, fmt.Errorf("%q names no zone; add --zone, such as Europe/Moscow, or write it in RFC 3339", text)
		}
		loc, err := LoadZone(zone)
		if err != nil {
			return time.Time{}, Exact, err
		}
		t, fit := ResolveIn(wall, loc)
		return t.UTC(), fit, nil
	}
	return time.Time{}, Exact, fmt.Errorf("%q is no time; write now, 2026-12-01T02:00:00+03:00, or 2026-12-01 02:00 with a zone", text)
}
