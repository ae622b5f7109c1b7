package maintnote

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/catchment-bgp/catchment/maintenance"
)

// required are the properties that an event must have (BCOP, section 3.5).
var required = []string{
	"DTSTAMP", "DTSTART", "DTEND", "UID", "SUMMARY", "ORGANIZER", "SEQUENCE",
	"X-MAINTNOTE-PROVIDER", "X-MAINTNOTE-ACCOUNT", "X-MAINTNOTE-MAINTENANCE-ID",
	"X-MAINTNOTE-OBJECT-ID", "X-MAINTNOTE-IMPACT", "X-MAINTNOTE-STATUS",
}

// repeats are properties of an event that takes place more than once.
var repeats = []string{"RRULE", "RDATE", "EXDATE", "RECURRENCE-ID"}

// read are all properties whose values matter.
var read = func() map[string]bool {
	names := map[string]bool{
		"DURATION": true, "STATUS": true, "METHOD": true, "BEGIN": true, "END": true,
		"TZID": true, "TZOFFSETFROM": true, "TZOFFSETTO": true,
	}
	for _, name := range slices.Concat(required, repeats) {
		names[name] = true
	}
	return names
}()

// event is a VEVENT on its way to a Proposal.
type event struct {
	*component
	calendar *component
	zones    zones
	options  Options
	zone     string // of the start, if it has a name
	Proposal
}

func (e *event) problem(line int, form string, args ...any) {
	e.Problems = append(e.Problems, Remark{line, fmt.Sprintf(form, args...)})
}

func (e *event) note(line int, form string, args ...any) {
	e.Notes = append(e.Notes, Remark{line, fmt.Sprintf(form, args...)})
}

// isMaintnote reports whether the event has any of the properties of the BCOP.
func isMaintnote(c *component) bool {
	return slices.ContainsFunc(c.props, func(p property) bool { return strings.HasPrefix(p.name, "X-MAINTNOTE-") })
}

// missing returns the properties that the BCOP asks for and c has not, or has empty.
func missing(c *component) []string {
	var names []string
	for _, name := range required {
		p, found := c.get(name)
		if name == "DTEND" && !found {
			p, found = c.get("DURATION")
		}
		if !found || unescape(p.value) == "" {
			names = append(names, name)
		}
	}
	return names
}

// proposal reads the event.
func (e *event) proposal() Proposal {
	e.Line = e.component.line
	e.OtherIDs, e.Objects, e.Problems, e.Notes = []string{}, []Object{}, []Remark{}, []Remark{}
	e.Lacks = append([]string{}, missing(e.component)...)
	e.Provider = e.text("X-MAINTNOTE-PROVIDER")
	e.Account = e.text("X-MAINTNOTE-ACCOUNT")
	e.UID = e.text("UID")
	e.Summary = e.text("SUMMARY")
	e.Organizer = e.text("ORGANIZER")
	e.maintenanceIDs()
	e.sequence()
	e.times()
	e.Impact = e.impact(e.text("X-MAINTNOTE-IMPACT"), e.lineOf("X-MAINTNOTE-IMPACT"))
	e.objects()
	e.status()
	e.decide()
	return e.Proposal
}

// lineOf returns the line of a property, or of the event where it has none.
func (e *event) lineOf(name string) int {
	if p, found := e.get(name); found {
		return p.line
	}
	return e.Line
}

// one returns the property that may stand once.
func (e *event) one(name string) (property, bool) {
	all := e.all(name)
	if len(all) == 0 {
		return property{}, false
	}
	for _, other := range all[1:] {
		if strings.TrimSpace(other.value) != strings.TrimSpace(all[0].value) {
			e.problem(other.line, "%s stands here and in line %d, and says different things", name, all[0].line)
		}
	}
	e.sound(all[0])
	return all[0], true
}

// sound notes what makes the value of a property doubtful.
func (e *event) sound(p property) {
	if !utf8.ValidString(p.value) {
		e.problem(p.line, "%s has octets that are not UTF-8", p.name)
	}
	if encoding := p.params["ENCODING"]; encoding != "" {
		e.problem(p.line, "%s is encoded as %s, which is not read here", p.name, encoding)
	}
}

func (e *event) text(name string) string {
	p, found := e.one(name)
	if !found {
		return ""
	}
	for _, stray := range p.stray {
		say := e.problem
		if name == "SUMMARY" {
			say = e.note
		}
		say(stray.number, "%s is no property; if it belongs to %s in line %d, the value there is cut off", quote(stray.text), name, p.line)
	}
	return unescape(p.value)
}

// maintenanceIDs reads one or several IDs, of which a parameter names the primary one
// (BCOP, sections 3.3.1.1 and 3.6.3).
func (e *event) maintenanceIDs() {
	all := e.all("X-MAINTNOTE-MAINTENANCE-ID")
	if len(all) == 0 {
		return
	}
	primary := slices.IndexFunc(all, func(p property) bool {
		return strings.EqualFold(p.params["X-MAINTNOTE-PRECEDENCE"], "PRIMARY")
	})
	if primary < 0 {
		primary = 0
		if len(all) > 1 {
			e.note(all[1].line, "no maintenance ID is marked as primary; the first is taken, of line %d", all[0].line)
		}
	}
	for i, p := range all {
		e.sound(p)
		if id := unescape(p.value); i == primary {
			e.MaintenanceID = id
		} else {
			e.OtherIDs = append(e.OtherIDs, id)
		}
	}
}

func (e *event) sequence() {
	p, found := e.one("SEQUENCE")
	if !found {
		return
	}
	n, err := strconv.ParseUint(strings.TrimSpace(p.value), 10, 31)
	if err != nil {
		e.problem(p.line, "SEQUENCE is %s, no number", quote(p.value))
		return
	}
	e.Sequence = int(n)
}

// times reads DTSTAMP, DTSTART and DTEND or DURATION.
func (e *event) times() {
	e.Stamp = e.time("DTSTAMP").at
	start := e.time("DTSTART")
	e.Start, e.zone, e.End = start.at, start.zone, e.time("DTEND").at
	if p, found := e.one("DURATION"); found && len(e.all("DTEND")) == 0 && !e.Start.IsZero() {
		d, err := parseDuration(strings.TrimSpace(p.value))
		if err != nil {
			e.problem(p.line, "DURATION is %s: %v", quote(p.value), err)
		} else {
			e.End = e.Start.Add(d)
		}
	}
	if !e.Start.IsZero() && !e.End.IsZero() && !e.Start.Before(e.End) {
		e.problem(e.lineOf("DTEND"), "the end, %s, is not after the start, %s", e.End.Format(time.RFC3339), e.Start.Format(time.RFC3339))
	}
	for _, name := range repeats {
		if p, found := e.get(name); found {
			e.problem(p.line, "%s: an event that repeats is not read; make its windows by hand", name)
		}
	}
}

func (e *event) time(name string) moment {
	p, found := e.one(name)
	if !found || strings.TrimSpace(p.value) == "" {
		return moment{}
	}
	m, err := e.zones.read(p)
	if err != nil {
		e.problem(p.line, "%v", err)
	}
	if m.note != "" {
		e.note(p.line, "%s", m.note)
	}
	return m
}

// parseDuration reads a DURATION (RFC 5545, section 3.3.6): P1W, P1DT2H, PT30M.
func parseDuration(text string) (time.Duration, error) {
	rest, found := strings.CutPrefix(strings.TrimPrefix(text, "+"), "P")
	rest = strings.Replace(rest, "T", "", 1)
	var total time.Duration
	for _, unit := range []struct {
		name string
		size time.Duration
	}{{"W", 7 * maintenance.Day}, {"D", maintenance.Day}, {"H", time.Hour}, {"M", time.Minute}, {"S", time.Second}} {
		digits, after, has := strings.Cut(rest, unit.name)
		if !has {
			continue
		}
		n, err := strconv.ParseUint(digits, 10, 16)
		if err != nil {
			return 0, fmt.Errorf("no duration such as PT4H or P1DT2H")
		}
		total += time.Duration(n) * unit.size
		rest = after
	}
	if !found || rest != "" || total == 0 {
		return 0, fmt.Errorf("no duration such as PT4H or P1DT2H")
	}
	return total, nil
}

// impact reads a word of impact.
func (e *event) impact(word string, line int) Impact {
	impact := Impact(strings.ToUpper(word))
	switch impact {
	case NoImpact, ReducedRedundancy, Degraded, Outage, "":
	default:
		e.note(line, "%s is no impact that the BCOP lists; it counts as OUTAGE", quote(word))
	}
	return impact
}

// objects reads the object IDs, and finds their neighbours.
func (e *event) objects() {
	for i, p := range e.all("X-MAINTNOTE-OBJECT-ID") {
		if i == maxIDs {
			e.problem(p.line, "there are more than %d object IDs", maxIDs)
			return
		}
		e.sound(p)
		o := Object{ID: unescape(p.value), Line: p.line, Altrep: p.params["ALTREP"], Impact: e.Impact, Neighbors: []Neighbor{}}
		if own := p.params["X-MAINTNOTE-OBJECT-IMPACT"]; own != "" {
			o.Impact = e.impact(own, p.line)
		}
		if o.ID == "" {
			continue
		}
		e.match(&o, p)
		e.Objects = append(e.Objects, o)
	}
}

// match finds the neighbours whose circuit label is the object's ID. If the line was
// folded without the blank that folding needs, the ID may be longer than its line; it is
// taken as longer only where that, and not the line alone, is the label of a neighbour.
func (e *event) match(o *Object, p property) {
	o.Circuit = o.ID
	if len(p.stray) > 0 {
		whole := p.value
		for _, stray := range p.stray {
			whole += stray.text
		}
		whole = unescape(whole)
		if _, found := e.options.Circuits[o.ID]; !found && len(e.options.Circuits[whole]) > 0 {
			o.Circuit = whole
			e.note(p.stray[0].number, "%s was added to the object ID of line %d: a neighbour has the circuit %s", quote(p.stray[0].text), p.line, quote(whole))
		} else {
			e.note(p.stray[0].number, "%s is no property; if it belongs to the object ID in line %d, that is %s", quote(p.stray[0].text), p.line, quote(whole))
		}
	}
	neighbors := e.options.Circuits[o.Circuit]
	if len(neighbors) == 0 {
		o.Circuit = ""
	}
	o.Neighbors = append(o.Neighbors, neighbors...)
}
