package maintnote

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/catchment-bgp/catchment/maintenance"
)

// Options are what is known beside the file.
type Options struct {
	// Circuits says which neighbours have which circuit label.
	Circuits map[string][]Neighbor
	// Zone is for times that the provider gives without one; nil: those are problems.
	Zone *time.Location
	// Lead is how long before the start the windows drain.
	Lead maintenance.Duration
	// Now, if not zero, keeps windows that are all past from being proposed.
	Now time.Time
}

// Import reads a file: a calendar, or a mail that carries some. The name stands in
// messages. There may be proposals and an error together: the error, [Error]s that are
// joined, names each event that is no MAINTNOTE, and each part that cannot be read. Of several
// versions of one event in a file the newest is returned.
func Import(name string, data []byte, o Options) ([]Proposal, error) {
	calendars, err := find(name, data)
	errs := []error{err}
	var all []Proposal
	for _, c := range calendars {
		proposals, err := c.proposals(o)
		all = append(all, proposals...)
		errs = append(errs, err)
	}
	return newest(all), errors.Join(errs...)
}

// calendarText is a calendar that was found.
type calendarText struct {
	source string
	line   int // the number of its first line
	text   string
}

// find returns the calendars in a file.
func find(name string, data []byte) ([]calendarText, error) {
	fail := func(line int, form string, args ...any) ([]calendarText, error) {
		return nil, &Error{name, line, fmt.Sprintf(form, args...)}
	}
	if len(data) > maxSize {
		return fail(1, "the file has %d octets; at most %d are read", len(data), maxSize)
	}
	text := string(data)
	if strings.HasPrefix(text, "\xff\xfe") || strings.HasPrefix(text, "\xfe\xff") {
		return fail(1, "the file is UTF-16; save it as UTF-8")
	}
	text = strings.TrimPrefix(text, "\ufeff")
	all := lines(text, 1)
	all = slices.DeleteFunc(all, func(l line) bool { return strings.TrimSpace(l.text) == "" })
	switch {
	case len(all) == 0:
		return fail(1, "the file is empty")
	case isBegin(all[0].text):
		return []calendarText{{name, 1, text}}, nil
	case looksLikeMail(all[0].text):
		m := mailReader{name: name}
		m.read(text, 1, 0)
		return m.found()
	}
	for _, l := range all {
		if isBegin(l.text) {
			return fail(l.number, "a calendar begins here, after what is no mail; cut off what stands before it")
		}
	}
	kind := "plain text"
	if strings.HasPrefix(strings.TrimSpace(all[0].text), "<") {
		kind = "HTML"
	}
	return fail(all[0].number, "this is %s; only iCalendar (*.ics), or a mail that carries it, is read. Ask the provider for MAINTNOTE, or make the window by hand", kind)
}

func isBegin(text string) bool { return strings.EqualFold(strings.TrimSpace(text), "BEGIN:VCALENDAR") }

// proposals reads one calendar text.
func (t calendarText) proposals(o Options) ([]Proposal, error) {
	calendars, err := parse(t.source, t.text, t.line)
	if err != nil {
		return nil, err
	}
	var all []Proposal
	var errs []error
	events := 0
	for _, calendar := range calendars {
		z := newZones(calendar, o.Zone)
		for _, c := range calendar.children {
			if c.name != "VEVENT" {
				continue
			}
			if events++; events > maxEvents {
				return nil, &Error{t.source, c.line, fmt.Sprintf("there are more than %d events", maxEvents)}
			}
			if !isMaintnote(c) {
				errs = append(errs, &Error{t.source, c.line, refusal(c, z)})
				continue
			}
			e := event{component: c, calendar: calendar, zones: z, options: o}
			e.Source = t.source
			all = append(all, e.proposal())
		}
	}
	if events == 0 {
		errs = append(errs, &Error{t.source, t.line, "the calendar has no event (VEVENT)"})
	}
	return all, errors.Join(errs...)
}

// newest leaves out each proposal that another of the same file replaces, and copies.
func newest(all []Proposal) []Proposal {
	var out []Proposal
	for _, p := range all {
		at := slices.IndexFunc(out, func(q Proposal) bool { return q.UID == p.UID && q.Compare(p) != Unrelated })
		if at < 0 {
			out = append(out, p)
			continue
		}
		where := func(q Proposal) string { return fmt.Sprintf("%s, line %d, sequence %d", q.Source, q.Line, q.Sequence) }
		switch q := out[at]; p.Compare(q) {
		case Newer:
			p.Notes = append(p.Notes, Remark{p.Line, "it replaces " + where(q)})
			out[at] = p
		case Older:
			out[at].Notes = append(q.Notes, Remark{q.Line, "it replaces " + where(p)})
		case Unclear:
			p.Problems = append(p.Problems, Remark{p.Line, "it says other things than " + where(q) + ", and is not newer"})
			p.Action, p.Why, p.Window = None, notUnderstood, nil
			out[at] = p
		}
	}
	return out
}
