package maintnote

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/catchment-bgp/catchment/maintenance"
)

// zones finds what the zone names of one calendar mean.
type zones struct {
	defined  map[string]*component // VTIMEZONE by TZID
	floating *time.Location        // for times without a zone; nil: they are errors
}

func newZones(calendar *component, floating *time.Location) zones {
	z := zones{map[string]*component{}, floating}
	for _, c := range calendar.children {
		if id, found := c.get("TZID"); c.name == "VTIMEZONE" && found {
			z.defined[strings.TrimSpace(id.value)] = c
		}
	}
	return z
}

// moment is a DATE-TIME that was read.
type moment struct {
	at   time.Time
	zone string // IANA name; empty: none is known
	note string
}

// read gives the instant of a DATE-TIME property (RFC 5545, section 3.3.5).
func (z zones) read(p property) (moment, error) {
	value := strings.TrimSpace(p.value)
	if t, err := time.Parse("20060102T150405Z", value); err == nil {
		return moment{at: t, zone: "UTC"}, nil
	}
	wall, err := time.Parse("20060102T150405", value)
	if err != nil {
		if _, err := time.Parse("20060102", value); err == nil {
			return moment{}, fmt.Errorf("%s is a date without a time of day", p.name)
		}
		return moment{}, fmt.Errorf("%s is %s, no time such as 20261201T020000Z", p.name, quote(value))
	}
	id := strings.TrimSpace(p.params["TZID"])
	if id == "" {
		if z.floating == nil {
			return moment{}, fmt.Errorf("%s is %s without a zone; say which zone the provider means", p.name, value)
		}
		at, fit := maintenance.ResolveIn(wall, z.floating)
		return moment{at.UTC(), z.floating.String(), fitNote(p, fit, z.floating.String())}, nil
	}
	return z.local(p, wall, id)
}

// local gives the instant of a reading of the clock in the zone that TZID names.
func (z zones) local(p property, wall time.Time, id string) (moment, error) {
	known := zoneByName(id)
	vtimezone := z.defined[id]
	var byFile time.Time
	var fileFit maintenance.Fit
	if vtimezone != nil {
		offsets, err := newOffsets(vtimezone)
		switch {
		case err == nil:
			byFile, fileFit = maintenance.Resolve(wall, offsets.at)
		case known == nil:
			return moment{}, fmt.Errorf("%s is in the zone %s, whose VTIMEZONE at line %d is no use: %w", p.name, quote(id), vtimezone.line, err)
		default:
			vtimezone = nil
		}
	}
	switch {
	case known == nil && vtimezone == nil:
		return moment{}, fmt.Errorf("%s is in the zone %s, which is no IANA zone, no zone of Windows, and has no VTIMEZONE here", p.name, quote(id))
	case known == nil:
		return moment{byFile, "", fitNote(p, fileFit, id)}, nil
	}
	at, fit := maintenance.ResolveIn(wall, known)
	if vtimezone != nil && !at.Equal(byFile) {
		return moment{}, fmt.Errorf("%s is in the zone %s; by the time zone database (%s) it is %s, by the VTIMEZONE at line %d it is %s",
			p.name, quote(id), known, at.UTC().Format(time.RFC3339), vtimezone.line, byFile.Format(time.RFC3339))
	}
	return moment{at.UTC(), known.String(), fitNote(p, fit, known.String())}, nil
}

// fitNote says where clocks that are set make a time doubtful.
func fitNote(p property, fit maintenance.Fit, zone string) string {
	switch fit {
	case maintenance.Gap:
		return fmt.Sprintf("%s:%s does not exist in %s, where clocks are set forward over it; the offset before is taken", p.name, p.value, zone)
	case maintenance.Overlap:
		return fmt.Sprintf("%s:%s comes twice in %s, where clocks are set back; the first is taken", p.name, p.value, zone)
	}
	return ""
}

// zoneByName finds a zone by an IANA name, by a name of Windows, or by an IANA name
// after the prefix of some calendar program ("/example.org/Europe/Moscow"); nil: none.
func zoneByName(id string) *time.Location {
	if iana, found := windowsZones[strings.ToLower(id)]; found {
		id = iana
	}
	if zone, err := maintenance.LoadZone(id); err == nil {
		return zone
	}
	if parts := strings.Split(id, "/"); strings.HasPrefix(id, "/") && len(parts) > 3 {
		if zone, err := maintenance.LoadZone(strings.Join(parts[len(parts)-2:], "/")); err == nil {
			return zone
		}
	}
	return nil
}

// observance is one STANDARD or DAYLIGHT of a VTIMEZONE (RFC 5545, section 3.6.5).
type observance struct {
	first    time.Time // a reading of the clock before it is set
	rule     maintenance.Rule
	more     []time.Time // RDATE
	from, to int         // seconds east of UTC
}

// Bounds of a VTIMEZONE, far above those of any zone that there is.
const (
	maxObservances = 100
	maxDates       = 500 // of one observance
)

// offsets is a VTIMEZONE.
type offsets []observance

func newOffsets(c *component) (offsets, error) {
	var all offsets
	for _, child := range c.children {
		if child.name != "STANDARD" && child.name != "DAYLIGHT" {
			continue
		}
		o, err := newObservance(child)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", child.line, err)
		}
		all = append(all, o)
	}
	if len(all) > maxObservances {
		return nil, fmt.Errorf("line %d: it has more than %d STANDARD and DAYLIGHT", c.line, maxObservances)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("line %d: neither STANDARD nor DAYLIGHT stands in it", c.line)
	}
	return all, nil
}

func newObservance(c *component) (observance, error) {
	var o observance
	var err error
	start, _ := c.get("DTSTART")
	if o.first, err = time.Parse("20060102T150405", strings.TrimSpace(start.value)); err != nil {
		return o, fmt.Errorf("DTSTART is %s, no time such as 20261025T030000", quote(start.value))
	}
	for name, into := range map[string]*int{"TZOFFSETFROM": &o.from, "TZOFFSETTO": &o.to} {
		p, _ := c.get(name)
		if *into, err = parseOffset(strings.TrimSpace(p.value)); err != nil {
			return o, fmt.Errorf("%s is %s, no offset such as +0300", name, quote(p.value))
		}
	}
	if rule, found := c.get("RRULE"); found {
		if o.rule, err = maintenance.ParseRule(rule.value); err != nil {
			return o, err
		}
		parts := strings.Split(o.rule.String(), ";")
		odd := slices.ContainsFunc(parts, func(s string) bool {
			return strings.HasPrefix(s, "COUNT=") || strings.HasPrefix(s, "INTERVAL=") && s != "INTERVAL=1"
		})
		if !slices.Contains(parts, "FREQ=YEARLY") || odd {
			return o, fmt.Errorf("RRULE is %s; only every year is read", o.rule)
		}
	}
	for _, p := range c.all("RDATE") {
		for value := range strings.SplitSeq(p.value, ",") {
			wall, err := time.Parse("20060102T150405", strings.TrimSpace(value))
			if err != nil {
				return o, fmt.Errorf("RDATE is %s, no time such as 20261025T030000", quote(value))
			}
			if o.more = append(o.more, wall); len(o.more) > maxDates {
				return o, fmt.Errorf("there are more than %d RDATE", maxDates)
			}
		}
	}
	return o, nil
}

// parseOffset reads a UTC-OFFSET (RFC 5545, section 3.3.14).
func parseOffset(text string) (int, error) {
	if len(text) != 5 && len(text) != 7 || text[0] != '+' && text[0] != '-' {
		return 0, strconv.ErrSyntax
	}
	n, err := strconv.ParseUint((text[1:] + "00")[:6], 10, 32)
	if err != nil {
		return 0, err
	}
	seconds := int(n/10000*3600 + n/100%100*60 + n%100)
	if seconds > 18*3600 {
		return 0, strconv.ErrRange
	}
	if text[0] == '-' {
		seconds = -seconds
	}
	return seconds, nil
}

// at is the offset in force at an instant.
func (all offsets) at(t time.Time) int {
	var latest, earliest time.Time
	offset, before := 0, 0
	for _, o := range all {
		for _, wall := range o.onsets(t.Year()) {
			onset := wall.Add(-time.Duration(o.from) * time.Second)
			if !onset.After(t) && !onset.Before(latest) {
				latest, offset = onset, o.to
			}
			if earliest.IsZero() || onset.Before(earliest) {
				earliest, before = onset, o.from
			}
		}
	}
	if latest.IsZero() {
		return before
	}
	return offset
}

// onsets are the readings at which the observance begins, those about a year and the
// first ever.
func (o observance) onsets(year int) []time.Time {
	walls := append([]time.Time{o.first}, o.more...)
	// The day and month of the first are what a rule leaves open.
	first := o.first.AddDate(max(0, year-2-o.first.Year()), 0, 0)
	for wall := range o.rule.Walls(first, first) {
		until := o.rule.UntilUTC()
		if wall.Year() > year+1 || !until.IsZero() && wall.Add(-time.Duration(o.from)*time.Second).After(until) {
			break
		}
		walls = append(walls, wall)
	}
	return walls
}
