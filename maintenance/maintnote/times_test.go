package maintnote

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/catchment-bgp/catchment/maintenance"
)

func vtimezone(t testing.TB, body string) (offsets, error) {
	t.Helper()
	calendars, err := parse("f", "BEGIN:VCALENDAR\nBEGIN:VTIMEZONE\n"+body+"END:VTIMEZONE\nEND:VCALENDAR\n", 1)
	if err != nil {
		t.Fatal(err)
	}
	return newOffsets(calendars[0].children[0])
}

// newYork is the zone as Outlook writes it: two rules since 2007 and two before.
const newYork = `BEGIN:DAYLIGHT
DTSTART:19870405T020000
TZOFFSETFROM:-0500
TZOFFSETTO:-0400
RRULE:FREQ=YEARLY;BYMONTH=4;BYDAY=1SU;UNTIL=20060402T070000Z
END:DAYLIGHT
BEGIN:STANDARD
DTSTART:19871025T020000
TZOFFSETFROM:-0400
TZOFFSETTO:-0500
RRULE:FREQ=YEARLY;BYMONTH=10;BYDAY=-1SU;UNTIL=20061029T060000Z
END:STANDARD
BEGIN:DAYLIGHT
DTSTART:20070311T020000
TZOFFSETFROM:-0500
TZOFFSETTO:-0400
RRULE:FREQ=YEARLY;BYMONTH=3;BYDAY=2SU
END:DAYLIGHT
BEGIN:STANDARD
DTSTART:20071104T020000
TZOFFSETFROM:-0400
TZOFFSETTO:-0500
RRULE:FREQ=YEARLY;BYMONTH=11;BYDAY=1SU
END:STANDARD
`

// The time zone database is the oracle.
func TestAZoneInTheFileIsReadAsTheDatabaseHasIt(t *testing.T) {
	zone, err := maintenance.LoadZone("America/New_York")
	if err != nil {
		t.Fatal(err)
	}
	file, err := vtimezone(t, newYork)
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		at := time.Date(rapid.IntRange(1988, 2036).Draw(t, "year"), 1, 1, 0, 0, 0, 0, time.UTC).
			Add(time.Duration(rapid.IntRange(0, 366*24*60).Draw(t, "minute")) * time.Minute)
		_, want := at.In(zone).Zone()
		if got := file.at(at); got != want {
			t.Fatalf("%s: %d, want %d", at, got, want)
		}
		wall := maintenance.Wall(at, zone)
		got, gotFit := maintenance.Resolve(wall, file.at)
		instant, fit := maintenance.ResolveIn(wall, zone)
		if !got.Equal(instant) || gotFit != fit {
			t.Fatalf("%s: %s (%v), want %s (%v)", wall, got, gotFit, instant, fit)
		}
	})
	if got := file.at(time.Date(1950, 6, 1, 0, 0, 0, 0, time.UTC)); got != -5*3600 {
		t.Errorf("before the first rule: %d", got)
	}
}

func TestZonesInTheFileThatAreRefused(t *testing.T) {
	sound := "BEGIN:STANDARD\nDTSTART:20071104T020000\nTZOFFSETFROM:-0400\nTZOFFSETTO:-0500\nEND:STANDARD\n"
	for _, c := range []struct{ from, to, want string }{
		{"DTSTART:20071104T020000", "DTSTART:November", `line 3: DTSTART is "November", no time such as 20261025T030000`},
		{"TZOFFSETFROM:-0400", "TZOFFSETFROM:0400", `line 3: TZOFFSETFROM is "0400", no offset such as +0300`},
		{"TZOFFSETFROM:-0400", "TZOFFSETFROM:-4000", `line 3: TZOFFSETFROM is "-4000", no offset such as +0300`},
		{"TZOFFSETTO:-0500\n", "", `line 3: TZOFFSETTO is "", no offset such as +0300`},
		{"END:", "RRULE:FREQ=WEEKLY\nEND:", `line 3: RRULE is FREQ=WEEKLY; only every year is read`},
		{"END:", "RRULE:FREQ=YEARLY;INTERVAL=2\nEND:", `line 3: RRULE is FREQ=YEARLY;INTERVAL=2; only every year is read`},
		{"END:", "RRULE:FREQ=YEARLY;COUNT=2\nEND:", `line 3: RRULE is FREQ=YEARLY;COUNT=2; only every year is read`},
		{"END:", "RRULE:often\nEND:", `line 3: rule "often": "OFTEN" is not NAME=VALUE; write it as FREQ=WEEKLY;BYDAY=TU`},
		{"END:", "RDATE:20071104\nEND:", `line 3: RDATE is "20071104", no time such as 20261025T030000`},
		{"STANDARD", "WINTER", `line 2: neither STANDARD nor DAYLIGHT stands in it`},
	} {
		if _, err := vtimezone(t, strings.ReplaceAll(sound, c.from, c.to)); err == nil || err.Error() != c.want {
			t.Errorf("%s: error %v, want %s", c.to, err, c.want)
		}
	}
	if _, err := vtimezone(t, strings.Repeat(sound, maxObservances+1)); err == nil || err.Error() != "line 2: it has more than 100 STANDARD and DAYLIGHT" {
		t.Error(err)
	}
	dates := "RDATE:20071104T020000" + strings.Repeat(",20071104T020000", maxDates) + "\nEND:"
	if _, err := vtimezone(t, strings.Replace(sound, "END:", dates, 1)); err == nil || err.Error() != "line 3: there are more than 500 RDATE" {
		t.Error(err)
	}
	all, err := vtimezone(t, strings.Replace(sound, "-0400", "-040030", 1))
	if err != nil || all[0].from != -(4*3600+30) {
		t.Errorf("%+v, error %v", all, err)
	}
}

func TestDurations(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"PT4H": 4 * time.Hour, "P1DT2H30M": 26*time.Hour + 30*time.Minute, "P2W": 14 * 24 * time.Hour, "+PT90S": 90 * time.Second,
		"": 0, "P": 0, "PT": 0, "4H": 0, "P1M2H": 0, "PT-4H": 0, "PTH": 0, "P1Y": 0, "PT0S": 0, "-PT4H": 0,
	} {
		got, err := parseDuration(text)
		if got != want || (err == nil) != (want > 0) {
			t.Errorf("%q: %v, error %v", text, got, err)
		}
	}
}

// Whatever a value is, its line says the same after it was folded anywhere.
func TestFoldingChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.StringMatching(`[A-Za-z0-9 ,;:=äж"-]{1,60}`).Draw(t, "value")
		text := "X-MAINTNOTE-PROVIDER:" + value
		var folded strings.Builder
		for i, r := range text {
			if i > 0 && rapid.IntRange(0, 5).Draw(t, fmt.Sprint("fold at ", i)) == 0 {
				folded.WriteString(rapid.SampledFrom([]string{"\r\n ", "\n ", "\r\n\t", "\r\n\r\n "}).Draw(t, "how"))
			}
			folded.WriteRune(r)
		}
		got := unfold(lines(folded.String(), 7))
		if len(got) != 1 || got[0] != (line{7, text}) {
			t.Fatalf("%q: %+v", folded.String(), got)
		}
		if p, ok := parseProperty(got[0]); !ok || p.value != value || p.name != "X-MAINTNOTE-PROVIDER" {
			t.Fatalf("%q: %+v", text, p)
		}
	})
}
