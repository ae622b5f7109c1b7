package maintenance

import (
	"strings"
	"testing"
	"time"
)

func TestADrainLastsAsLongAsItMust(t *testing.T) {
	busy, quiet := Traffic{Known: true, Utilization: Quiet}, Traffic{Known: true, Utilization: Quiet / 2}
	unknown := Traffic{Utilization: 0}
	for name, c := range map[string]struct {
		lead, drain time.Duration
		traffic     Traffic
		created     string // of the window, which starts at 02:00
		begin, out  string
	}{
		"the lead":                         {10 * time.Minute, 30 * time.Second, busy, "00:00:00", "01:50:00", "02:00:00"},
		"quiet after the service's drain":  {10 * time.Minute, 30 * time.Second, quiet, "00:00:00", "01:50:00", "01:50:30"},
		"no figures are not quiet":         {10 * time.Minute, 30 * time.Second, unknown, "00:00:00", "01:50:00", "02:00:00"},
		"a drain longer than the lead":     {10 * time.Second, time.Minute, quiet, "00:00:00", "01:59:50", "02:00:50"},
		"no lead":                          {0, time.Minute, busy, "00:00:00", "02:00:00", "02:01:00"},
		"neither lead nor drain":           {0, 0, busy, "00:00:00", "02:00:00", "02:00:00"},
		"started now: the lead runs after": {30 * time.Second, 10 * time.Second, busy, "02:00:00", "02:00:00", "02:00:30"},
		"made in the lead":                 {10 * time.Minute, 30 * time.Second, busy, "01:55:00", "01:55:00", "02:05:00"},
		"made late, and quiet":             {10 * time.Minute, 30 * time.Second, quiet, "02:30:00", "02:30:00", "02:30:30"},
		"ends before the drain does":       {10 * time.Minute, 30 * time.Minute, busy, "02:50:00", "02:50:00", ""},
	} {
		w := work(t, "w1", "02:00:00", "03:00:00", c.lead)
		w.Created = at(t, "2026-12-01T"+c.created+"Z")
		c.traffic.Drain = c.drain
		begin, out := drive(t, calendarOf(t, w), c.traffic)
		if begin != c.begin || out != c.out {
			t.Errorf("%s: drains at %s, out at %s, want %s and %s", name, begin, out, c.begin, c.out)
		}
	}
}

// drive goes from one next moment to the next, and says when the drain began and when
// the target was withdrawn; it must be back at 03:00.
func drive(t *testing.T, c Calendar, traffic Traffic) (begin, out string) {
	t.Helper()
	now := at(t, "2026-12-01T00:00:00Z")
	var track Track
	last := In
	for range 20 {
		m := c.At(now)
		var phase Phase
		var next time.Time
		track, phase, next = Next(now, m.Running, track, traffic)
		if phase != In && last == In {
			begin = now.Format(time.TimeOnly)
		}
		if phase == Withdrawn && last != Withdrawn {
			out = now.Format(time.TimeOnly)
		}
		if phase == In && last != In && now.Format(time.TimeOnly) != "03:00:00" {
			t.Errorf("back at %s", now)
		}
		last = phase
		next = earlier(next, m.Next)
		if next.IsZero() {
			if last != In {
				t.Errorf("%v for ever", last)
			}
			return begin, out
		}
		if !next.After(now) {
			t.Fatalf("%s: next is %s", now, next)
		}
		now = next
	}
	t.Fatal("no end")
	return "", ""
}

// steps runs a script of times and traffic, and gives the phases.
func steps(t *testing.T, c Calendar, script []string) string {
	t.Helper()
	var track Track
	var got []string
	for _, s := range script {
		clockTime, word, _ := strings.Cut(s, " ")
		in := Traffic{Drain: time.Minute, Known: true, Utilization: 0.5}
		switch word {
		case "quiet":
			in.Utilization = 0
		case "idle":
			in.Idle = true
		case "forgotten":
			track = Track{}
		}
		now := at(t, "2026-12-01T"+clockTime+"Z")
		var phase Phase
		track, phase, _ = Next(now, c.At(now).Running, track, in)
		got = append(got, phase.String())
	}
	return strings.Join(got, " ")
}

func TestDrainsThroughRestartsAndOddClocks(t *testing.T) {
	a, b := work(t, "a", "02:00:00", "03:00:00", 10*time.Minute), work(t, "b", "02:50:00", "04:00:00", 30*time.Minute)
	touching, apart := work(t, "c", "03:00:00", "04:00:00", 0), work(t, "d", "03:10:00", "04:00:00", 5*time.Minute)
	for name, c := range map[string]struct {
		windows []Window
		script  []string
		want    string
	}{
		"a window in a window drains once": {[]Window{a, b}, []string{"01:50:00", "02:00:00", "02:25:00", "03:00:00", "03:59:59", "04:00:00"},
			"draining withdrawn withdrawn withdrawn withdrawn in"},
		"the shorter lead counts": {[]Window{a, work(t, "u", "01:52:00", "02:30:00", time.Minute)}, []string{"01:50:00", "01:51:59", "01:52:00"},
			"draining draining withdrawn"},
		"one that begins when another ends": {[]Window{a, touching}, []string{"01:50:00", "02:00:00", "03:00:00", "04:00:00"}, "draining withdrawn withdrawn in"},
		"back between two":                  {[]Window{a, apart}, []string{"01:50:00", "02:00:00", "03:00:00", "03:05:00", "03:10:00"}, "draining withdrawn in draining withdrawn"},
		"asleep between two":                {[]Window{a, apart}, []string{"01:50:00", "02:00:00", "03:05:00", "03:10:00"}, "draining withdrawn draining withdrawn"},
		"quiet, busy once more":             {[]Window{a}, []string{"01:50:00 quiet", "01:51:00 quiet", "01:52:00"}, "draining withdrawn withdrawn"},
		"nothing to drain":                  {[]Window{a}, []string{"02:30:00 idle", "02:31:00"}, "withdrawn withdrawn"},
		"the track was lost":                {[]Window{a}, []string{"01:50:00", "02:10:00", "02:11:00 forgotten", "02:20:59", "02:21:00"}, "draining withdrawn draining draining withdrawn"},
		"set back in the drain":             {[]Window{a}, []string{"01:58:00", "01:51:00", "02:00:59", "02:01:00"}, "draining draining draining withdrawn"},
		"set back when out":                 {[]Window{a}, []string{"01:50:00", "02:00:00", "01:51:00", "01:49:00"}, "draining withdrawn withdrawn in"},
	} {
		if got := steps(t, calendarOf(t, c.windows...), c.script); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
	if got := Phase(9).String(); got != "phase" {
		t.Error(got)
	}
}
