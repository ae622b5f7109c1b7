package maintenance

import (
	"testing"
	"time"

	_ "time/tzdata" // the zones are the same on every machine
)

func zoneOf(t testing.TB, name string) *time.Location {
	t.Helper()
	zone, err := LoadZone(name)
	if err != nil {
		t.Fatal(err)
	}
	return zone
}

// at reads an instant in RFC 3339.
func at(t testing.TB, text string) time.Time {
	t.Helper()
	v, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

var everywhere = Selector{Nodes: []string{"msk1"}}

func calendarOf(t testing.TB, windows ...Window) Calendar {
	t.Helper()
	c, err := New(windows)
	if err != nil {
		t.Fatal(err)
	}
	return c
}
