package maintenance

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// changes are days about which clocks were or will be set, in zones that do so in
// different ways: by an hour at night, by half an hour, at midnight, for good, and
// once over a whole day.
var changes = map[string][]string{
	"Europe/Moscow":       {"2010-03-28", "2010-10-31", "2011-03-27", "2014-10-26"},
	"Europe/Berlin":       {"2026-03-29", "2026-10-25"},
	"America/New_York":    {"2026-03-08", "2026-11-01"},
	"Australia/Lord_Howe": {"2026-04-05", "2026-10-04"},
	"America/Sao_Paulo":   {"2018-11-04", "2019-02-17"},
	"Pacific/Apia":        {"2011-12-30"},
}

// minutely is a slow clock of windows: it watches the clock on the wall go by, minute by
// minute, and notes when one of the windows starts.
type minutely struct {
	zone   *time.Location
	begin  time.Time
	length int                    // in minutes
	starts map[string][]time.Time // window: when it starts
}

// watched is a window as minutely knows it.
type watched struct {
	Window
	due func(wall time.Time) bool // on every day but before the first start
}

func (m *minutely) watch(windows []watched) {
	m.starts = map[string][]time.Time{}
	seen := map[time.Time]bool{}
	shown := Wall(m.begin, m.zone).Add(-time.Minute)
	late := map[int][]string{} // minute: windows whose reading was skipped
	for i := range m.length {
		now := m.begin.Add(time.Duration(i) * time.Minute)
		local := now.In(m.zone)
		wall := time.Date(local.Year(), local.Month(), local.Day(), local.Hour(), local.Minute(), 0, 0, time.UTC)
		skipped := 0
		for missed := shown.Add(time.Minute); missed.Before(wall); missed = missed.Add(time.Minute) {
			for _, w := range windows {
				if w.due(missed) {
					late[i+skipped] = append(late[i+skipped], w.ID)
				}
			}
			skipped++
		}
		for _, w := range windows {
			if slices.Contains(late[i], w.ID) || w.due(wall) && !seen[wall] {
				m.starts[w.ID] = append(m.starts[w.ID], now)
			}
		}
		seen[wall] = true
		shown = wall
	}
}

// holds says which windows hold at the i-th minute.
func (m *minutely) holds(windows []watched, i int) []string {
	now := m.begin.Add(time.Duration(i) * time.Minute)
	var ids []string
	for _, w := range windows {
		for _, start := range m.starts[w.ID] {
			if !now.Before(w.Created) && !now.Before(start.Add(-w.Lead.Std())) && now.Before(start.Add(w.For.Std())) {
				ids = append(ids, w.ID)
				break
			}
		}
	}
	return ids
}

// drawWindow makes a window that recurs, the rule in words that the clock understands.
func drawWindow(t *rapid.T, id string, zone *time.Location, day time.Time) (watched, bool) {
	minutes := func(what string, most int) Duration {
		return Duration(rapid.IntRange(0, most).Draw(t, id+" "+what)) * Duration(time.Minute)
	}
	first := day.AddDate(0, 0, -rapid.IntRange(2, 20).Draw(t, id+" days before")).
		Add(time.Duration(rapid.IntRange(0, 4*60).Draw(t, id+" minute of the day")) * time.Minute)
	w := watched{Window: Window{ID: id, Select: everywhere, Zone: zone.String(),
		For: Duration(time.Minute) + minutes("for", 200), Lead: minutes("lead", 60)}}
	clockTime := func(wall time.Time) bool { return wall.Format("15:04") == first.Format("15:04") }
	switch rapid.IntRange(0, 4).Draw(t, id+" rule") {
	case 0:
		w.Rule = "FREQ=DAILY"
		w.due = clockTime
	case 1:
		w.Rule = "FREQ=WEEKLY;BYDAY=SA,SU," + strings.ToUpper(first.Weekday().String()[:2])
		w.due = func(wall time.Time) bool {
			return clockTime(wall) && slices.Contains([]time.Weekday{time.Saturday, time.Sunday, first.Weekday()}, wall.Weekday())
		}
	case 2:
		w.Rule = "FREQ=HOURLY;INTERVAL=3"
		w.For, w.Lead = min(w.For, Duration(time.Hour)), min(w.Lead, Duration(30*time.Minute))
		w.due = func(wall time.Time) bool { return !wall.Before(first) && wall.Sub(first)%(3*time.Hour) == 0 }
	case 3:
		w.Rule = fmt.Sprintf("FREQ=MONTHLY;BYMONTHDAY=%d,%d", first.Day(), day.Day())
		w.due = func(wall time.Time) bool {
			return clockTime(wall) && (wall.Day() == first.Day() || wall.Day() == day.Day())
		}
	case 4:
		w.Rule = "FREQ=DAILY;BYHOUR=" + fmt.Sprint(first.Hour()) + ",14"
		w.due = func(wall time.Time) bool {
			return clockTime(wall) || wall.Hour() == 14 && wall.Minute() == first.Minute()
		}
	}
	due := w.due
	w.due = func(wall time.Time) bool { return !wall.Before(first) && due(wall) }
	start, fit := ResolveIn(first, zone)
	w.Start = start
	w.Created = start.Add(-Day)
	if rapid.Bool().Draw(t, id+" made late") {
		w.Created, _ = ResolveIn(day.Add(time.Duration(rapid.IntRange(-600, 600).Draw(t, id+" created"))*time.Minute), zone)
	}
	return w, fit != Gap && w.Validate() == nil
}

func TestWindowsHoldAsAMinuteByMinuteClockSays(t *testing.T) {
	zones := map[string]*time.Location{}
	names := make([]string, 0, len(changes))
	for name := range changes {
		names = append(names, name)
		zones[name] = zoneOf(t, name)
	}
	slices.Sort(names)
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom(names).Draw(t, "zone")
		checkAgainstClock(t, zones[name], changes[name])
	})
}

func checkAgainstClock(t *rapid.T, zone *time.Location, days []string) {
	day, err := time.Parse(time.DateOnly, rapid.SampledFrom(days).Draw(t, "day"))
	if err != nil {
		t.Fatal(err)
	}
	var windows []watched
	var plain []Window
	for _, id := range []string{"a", "b", "c"}[:rapid.IntRange(1, 3).Draw(t, "windows")] {
		w, valid := drawWindow(t, id, zone, day)
		if !valid {
			t.Skip("no window of this kind")
		}
		windows = append(windows, w)
		plain = append(plain, w.Window)
	}
	calendar, err := New(plain)
	if err != nil {
		t.Fatal(err)
	}
	drain := time.Duration(rapid.IntRange(0, 20).Draw(t, "drain")) * time.Minute
	quiet := rapid.SliceOfN(rapid.IntRange(0, 15), 37, 37).Draw(t, "quiet where 0")

	m := minutely{zone: zone, begin: day.Add(-3 * Day), length: 5 * 24 * 60}
	m.watch(windows)
	var track Track
	var oracle drainOracle
	var before, moment Moment
	for i := 70 * 60; i < 100*60; i++ { // from two hours before the day on
		now := m.begin.Add(time.Duration(i) * time.Minute)
		want := m.holds(windows, i)
		// Between two next moments nothing changes: then a look now and then will do.
		if look := i%17 == 0 || !slices.Equal(want, m.holds(windows, i-1)); look || i == 70*60 || now.Equal(moment.Next) {
			moment = calendar.At(now)
			m.checkMoment(t, windows, i, before, moment)
			before = moment
		}
		var got []string
		for _, o := range moment.Running {
			if !slices.Contains(got, o.Window) {
				got = append(got, o.Window)
			}
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Fatalf("%s: running %v, want %v\nstarts %v", now.In(zone), got, want, m.starts)
		}

		in := Traffic{Drain: drain, Known: true, Utilization: 0.5}
		if quiet[i%len(quiet)] == 0 {
			in.Utilization = 0.01
		}
		var phase Phase
		track, phase, _ = Next(now, moment.Running, track, in)
		if want := oracle.step(now, moment.Running, drain, in.Utilization < Quiet); phase != want {
			t.Fatalf("%s: %v, want %v; running %+v, track %+v", now.In(zone), phase, want, moment.Running, track)
		}
	}
}

// checkMoment holds Next and Back against what really comes.
func (m *minutely) checkMoment(t *rapid.T, windows []watched, i int, before, moment Moment) {
	now := m.begin.Add(time.Duration(i) * time.Minute)
	same := slices.EqualFunc(before.Running, moment.Running, func(a, b Occurrence) bool { return a == b })
	if !before.Next.IsZero() && same == now.Equal(before.Next) {
		t.Fatalf("%s: next was %s, but now %+v runs after %+v", now, before.Next, moment.Running, before.Running)
	}
	if len(moment.Running) == 0 {
		return
	}
	back := i
	for back < m.length && len(m.holds(windows, back)) > 0 {
		back++
	}
	if back < m.length && !moment.Back.Equal(m.begin.Add(time.Duration(back)*time.Minute)) {
		t.Fatalf("%s: back at %s, want %s", now, moment.Back, m.begin.Add(time.Duration(back)*time.Minute))
	}
}

// drainOracle goes through a hold from its begin, and knows nothing of tracks.
type drainOracle struct {
	since time.Time
	out   bool
}

func (o *drainOracle) step(now time.Time, running []Occurrence, drain time.Duration, quiet bool) Phase {
	if len(running) == 0 {
		*o = drainOracle{}
		return In
	}
	if o.since.IsZero() {
		o.since = now
	}
	drained := now.Sub(o.since) >= drain
	leadOver := slices.ContainsFunc(running, func(r Occurrence) bool {
		held := min(now.Sub(o.since), now.Sub(r.Begin))
		return held >= r.Lead.Std() && held >= drain
	})
	if o.out = o.out || drained && quiet || leadOver; o.out {
		return Withdrawn
	}
	return Draining
}
