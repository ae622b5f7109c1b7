package maintenance

import (
	"errors"
	"fmt"
	"time"
)

// A wall is a reading of a clock on a wall, without a zone: a time.Time in UTC
// whose date and clock are the reading.

// Fit says how a reading of the clock fits the zone.
type Fit uint8

// The fits. Clocks that are set forward skip the readings of a gap; clocks that
// are set back show those of an overlap twice.
const (
	Exact Fit = iota
	Gap
	Overlap
)

// farthest is more than the greatest distance of any zone from UTC, and than the
// greatest step by which clocks were ever set (a day).
const farthest = 26 * time.Hour

// Resolve returns the instant at which clocks show wall, where offset gives their
// distance from UTC in seconds, east positive, at an instant. As RFC 5545,
// section 3.3.5, has it: of an overlap it is the first of the two, and a reading
// in a gap counts by the offset before the gap, so that 02:30 becomes 03:30.
func Resolve(wall time.Time, offset func(time.Time) int) (time.Time, Fit) {
	var fits []time.Time
	most := -int(farthest / time.Second)
	for _, near := range [...]time.Duration{-farthest, -farthest / 2, 0, farthest / 2, farthest} {
		o := offset(wall.Add(near))
		most = max(most, o)
		at := wall.Add(-time.Duration(o) * time.Second)
		if offset(at) == o && (len(fits) == 0 || !fits[0].Equal(at)) {
			fits = append(fits, at)
		}
	}
	switch len(fits) {
	case 0:
		// Just before the gap, wherever it is, the lesser offset was in force.
		before := offset(wall.Add(-time.Duration(most) * time.Second))
		return wall.Add(-time.Duration(before) * time.Second), Gap
	case 1:
		return fits[0], Exact
	}
	return fits[0], Overlap // by the earlier offset, which is the greater one
}

// ResolveIn is Resolve in a zone of the time zone database.
func ResolveIn(wall time.Time, zone *time.Location) (time.Time, Fit) {
	return Resolve(wall, func(t time.Time) int {
		_, o := t.In(zone).Zone()
		return o
	})
}

// Wall returns what clocks in zone show at t.
func Wall(t time.Time, zone *time.Location) time.Time {
	_, o := t.In(zone).Zone()
	return t.UTC().Add(time.Duration(o) * time.Second)
}

// LoadZone finds a zone of the IANA time zone database by its name, such as
// Europe/Moscow. "Local" is refused: it differs from machine to machine.
func LoadZone(name string) (*time.Location, error) {
	if name == "" || name == "Local" {
		return nil, errors.New("no zone: write an IANA name, such as Europe/Moscow or UTC")
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil, fmt.Errorf("zone %q is not in the time zone database; write an IANA name, such as Europe/Moscow or UTC", name)
	}
	return zone, nil
}
