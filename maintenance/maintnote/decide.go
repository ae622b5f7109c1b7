package maintnote

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/catchment-bgp/catchment/maintenance"
)

// status reads X-MAINTNOTE-STATUS and holds it against what iCalendar itself has: STATUS
// and METHOD.
func (e *event) status() {
	e.Status = Status(strings.ToUpper(e.text("X-MAINTNOTE-STATUS")))
	calledOff := ""
	line := e.Line
	if p, found := e.one("STATUS"); found && strings.EqualFold(strings.TrimSpace(p.value), "CANCELLED") {
		calledOff, line = "STATUS:CANCELLED", p.line
	}
	if p, found := e.calendar.get("METHOD"); found && strings.EqualFold(strings.TrimSpace(p.value), "CANCEL") {
		calledOff, line = "METHOD:CANCEL", p.line
	}
	switch e.Status {
	case Cancelled:
	case "":
		if calledOff != "" {
			e.Status = Cancelled
			e.note(line, "there is no X-MAINTNOTE-STATUS; by %s it is called off", calledOff)
		}
	case Tentative, Confirmed, InProcess, Completed:
		if calledOff != "" && e.Status != Completed {
			e.problem(line, "%s, but X-MAINTNOTE-STATUS in line %d is %s", calledOff, e.lineOf("X-MAINTNOTE-STATUS"), e.Status)
		}
	default:
		e.problem(e.lineOf("X-MAINTNOTE-STATUS"), "%s is no status that the BCOP lists", quote(string(e.Status)))
	}
}

const notUnderstood = "something cannot be understood; see the problems"

// decide says what a person is asked to confirm.
func (e *event) decide() {
	if e.Action, e.Why = e.action(); e.Action == Open && len(e.Problems) == 0 {
		e.window()
	}
	switch {
	case len(e.Problems) > 0:
		e.Action, e.Why = None, notUnderstood
	case e.Action == Open && e.Window == nil:
		e.Why += "; there is no window to confirm before what is missing is known"
	}
}

func (e *event) action() (Action, string) {
	harmless := len(e.Objects) > 0 && !slices.ContainsFunc(e.Objects, func(o Object) bool { return o.Impact != NoImpact }) ||
		len(e.Objects) == 0 && e.Impact == NoImpact
	matched := slices.ContainsFunc(e.Objects, func(o Object) bool { return o.Circuit != "" && o.Impact != NoImpact })
	identified := e.Provider != "" && e.MaintenanceID != ""
	past := !e.options.Now.IsZero() && !e.End.IsZero() && !e.options.Now.Before(e.End)
	switch {
	case (e.Status == Cancelled || e.Status == Completed) && !identified:
		return None, "it does not say which maintenance is " + strings.ToLower(string(e.Status))
	case e.Status == Cancelled:
		return Cancel, "the provider has called the work off"
	case e.Status == Completed:
		return End, "the provider has finished the work"
	case harmless:
		return None, "NO-IMPACT: nothing is drained; a window made of an older mail of this maintenance is not needed any more"
	case past:
		return None, "all of it is past"
	case len(e.Objects) > 0 && !matched:
		return None, "no neighbour has one of the object IDs as its circuit label"
	case e.Status == Tentative:
		return Open, "the provider plans the work, and has not confirmed it"
	case e.Status == InProcess:
		return Open, "the provider has begun the work"
	case e.Status == Confirmed:
		return Open, "the provider has confirmed the work"
	}
	return Open, "the provider does not say whether the work is confirmed"
}

// window makes the window, unless something that it needs is missing.
func (e *event) window() {
	w := maintenance.Window{
		Start: e.Start, For: maintenance.Duration(e.End.Sub(e.Start)), Lead: e.options.Lead, Zone: e.zone,
		Reason: e.reason(), Ticket: e.MaintenanceID, Proposed: true, Created: e.options.Now,
	}
	for _, o := range e.Objects {
		entry := "circuit=" + o.Circuit
		if o.Circuit != "" && o.Impact != NoImpact && !slices.Contains(w.Select.Neighbors, entry) {
			w.Select.Neighbors = append(w.Select.Neighbors, entry)
		}
	}
	if e.Start.IsZero() || e.End.IsZero() || len(w.Select.Neighbors) == 0 || e.Provider == "" || e.MaintenanceID == "" {
		return // said in Lacks
	}
	if err := w.Validate(); err != nil {
		e.problem(e.lineOf("DTSTART"), "this makes no window: %s", strings.ReplaceAll(err.Error(), "\n", "; "))
		return
	}
	e.Window = &w
}

// reason is what the window says of itself, in one line.
func (e *event) reason() string {
	reason := e.Provider
	if e.Summary != "" {
		reason += ": " + e.Summary
	}
	if runes := []rune(reason); len(runes) > 200 {
		reason = string(runes[:200]) + "..."
	}
	return strings.Join(strings.Fields(reason), " ")
}

// refusal says why an event is none of ours, and all that would help to make the
// window by hand.
func refusal(c *component, z zones) string {
	text := "the event is an invitation, and no MAINTNOTE: it lacks " + strings.Join(missing(c), ", ")
	var times []string
	for _, name := range []string{"DTSTART", "DTEND"} {
		if p, found := c.get(name); found {
			if m, err := z.read(p); err == nil {
				times = append(times, m.at.Format(time.RFC3339))
			}
		}
	}
	if len(times) == 2 {
		text += fmt.Sprintf("; it is from %s to %s", times[0], times[1])
	}
	if p, found := c.get("SUMMARY"); found {
		text += ", " + quote(unescape(p.value))
	}
	return text + "; make its window by hand"
}
