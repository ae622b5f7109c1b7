package maintenance

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// work makes a window of one time: start and end are of 1 December 2026, in UTC.
func work(t testing.TB, id, start, end string, lead time.Duration) Window {
	t.Helper()
	from, to := at(t, "2026-12-01T"+start+"Z"), at(t, "2026-12-01T"+end+"Z")
	return Window{ID: id, Select: everywhere, Start: from, For: Duration(to.Sub(from)), Lead: Duration(lead), Reason: "work " + id,
		Created: at(t, "2026-11-01T00:00:00Z")}
}

func TestOverlappingWindowsNest(t *testing.T) {
	c := calendarOf(t,
		work(t, "a", "02:00:00", "03:00:00", 10*time.Minute),
		work(t, "b", "02:30:00", "02:45:00", 0),
		work(t, "c", "02:55:00", "04:00:00", 0),
		work(t, "d", "04:00:00", "05:00:00", 0), // just when c ends
		work(t, "e", "05:10:00", "05:20:00", 5*time.Minute),
	)
	for _, want := range []struct{ now, running, back, next string }{
		{"01:49:59", "", "", "01:50:00"},
		{"01:50:00", "a", "05:00:00", "02:30:00"},
		{"02:30:00", "a b", "05:00:00", "02:45:00"},
		{"02:45:00", "a", "05:00:00", "02:55:00"},
		{"03:00:00", "c", "05:00:00", "04:00:00"},
		{"04:00:00", "d", "05:00:00", "05:00:00"},
		{"05:00:00", "", "", "05:05:00"},
		{"05:05:00", "e", "05:20:00", "05:20:00"},
		{"05:20:00", "", "", ""},
	} {
		m := c.At(at(t, "2026-12-01T"+want.now+"Z"))
		var ids []string
		for _, o := range m.Running {
			ids = append(ids, o.Window)
		}
		clockOf := func(at time.Time) string {
			if at.IsZero() {
				return ""
			}
			return at.UTC().Format(time.TimeOnly)
		}
		got := fmt.Sprintf("%s|%s|%s", strings.Join(ids, " "), clockOf(m.Back), clockOf(m.Next))
		if got != want.running+"|"+want.back+"|"+want.next {
			t.Errorf("%s: %s, want %+v", want.now, got, want)
		}
	}
}

func TestWindowsThatTakeTurnsForEverAreLookedAtForAMonth(t *testing.T) {
	a, b := work(t, "a", "00:00:00", "00:31:00", 0), work(t, "b", "00:30:00", "01:01:00", 0)
	for _, w := range []*Window{&a, &b} {
		w.Zone, w.Rule = "UTC", "FREQ=HOURLY"
	}
	now := at(t, "2026-12-01T12:00:00Z")
	m := calendarOf(t, a, b).At(now)
	if m.Back.Sub(now) < maxNest || m.Back.Sub(now) > maxNest+time.Hour {
		t.Errorf("back at %s", m.Back)
	}
}

func TestTheDetailSaysWhyAndWhenItComesBack(t *testing.T) {
	a := work(t, "a", "02:00:00", "03:00:00", 0)
	a.Ticket = "CHG-1"
	m := calendarOf(t, a, work(t, "b", "02:30:00", "04:00:00", 0)).At(at(t, "2026-12-01T02:30:00Z"))
	if got, want := m.Detail(false), "a: work a (CHG-1); b: work b; back at 2026-12-01T04:00:00Z"; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	if got, want := m.Detail(true), "a: work a (CHG-1); b: work b; over, but it stays disabled by hand, at 2026-12-01T04:00:00Z"; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	if got := (Moment{}).Detail(true); got != "" {
		t.Error(got)
	}
}

func TestOneBadWindowLeavesTheOthers(t *testing.T) {
	bad := work(t, "bad", "02:00:00", "03:00:00", 0)
	bad.Select = Selector{}
	c, err := New([]Window{bad, work(t, "a", "02:00:00", "03:00:00", 0), work(t, "a", "05:00:00", "06:00:00", 0)})
	want := "window bad: the window is for nothing; name nodes, sites, neighbours or services\nwindow a: another window has this ID"
	if err == nil || err.Error() != want {
		t.Errorf("error %v\nwant %s", err, want)
	}
	if w := c.Windows(); len(w) != 1 || w[0].ID != "a" || w[0].Start.Hour() != 2 {
		t.Errorf("%+v", w)
	}
}

// U10: draining one neighbour only.
func TestAWindowForOneNeighbourIsForThatNeighbourOnly(t *testing.T) {
	w := work(t, "a", "02:00:00", "03:00:00", 0)
	w.Select.Neighbors = []string{"circuit=IC-msk1=ix"}
	c := calendarOf(t, w)
	for _, target := range fleet() {
		running := c.For(target).At(w.Start).Running
		if want := target.Node == "msk1" && target.Neighbor == "ix"; (len(running) == 1) != want {
			t.Errorf("%+v: %v", target, running)
		}
	}
}

func TestALifeOfAWindow(t *testing.T) {
	w := work(t, "w1", "02:00:00", "03:00:00", 10*time.Minute)
	w.Proposed = true
	states := func(w Window, want string) {
		t.Helper()
		var got []string
		for _, now := range []string{"01:00:00", "01:50:00", "02:59:59", "03:00:00"} {
			s, err := w.State(at(t, "2026-12-01T"+now+"Z"))
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, string(s))
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%s, want %s", s, want)
		}
	}
	states(w, "proposed proposed proposed proposed")
	if m := calendarOf(t, w).At(w.Start); len(m.Running) > 0 || !m.Next.IsZero() {
		t.Errorf("a proposal holds: %+v", m)
	}
	confirmed, err := w.Confirm(at(t, "2026-12-01T00:00:00Z"))
	if err != nil {
		t.Fatal(err)
	}
	states(confirmed, "scheduled active active ended")

	late, err := w.Confirm(at(t, "2026-12-01T02:10:00Z"))
	if err != nil {
		t.Fatal(err)
	}
	if m := calendarOf(t, late).At(at(t, "2026-12-01T02:00:00Z")); len(m.Running) > 0 || !m.Next.Equal(late.Created) {
		t.Errorf("it begins before it was confirmed: %+v", m)
	}
	ended, err := confirmed.End(at(t, "2026-12-01T02:30:00Z"))
	if err != nil {
		t.Fatal(err)
	}
	states(ended, "scheduled active ended ended")
	cancelled, err := confirmed.Cancel(at(t, "2026-12-01T01:55:00Z"))
	if err != nil {
		t.Fatal(err)
	}
	states(cancelled, "scheduled active cancelled cancelled")
	early, err := confirmed.Cancel(at(t, "2026-12-01T00:30:00Z"))
	if err != nil {
		t.Fatal(err)
	}
	if m := calendarOf(t, early).At(w.Start); len(m.Running) > 0 {
		t.Errorf("a cancelled window holds: %+v", m)
	}
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"confirmed twice":     {second(confirmed.Confirm(w.Start)), "window w1 is no proposal"},
		"ended too early":     {second(confirmed.End(at(t, "2026-12-01T01:49:59Z"))), "window w1 is scheduled: only one that runs can be ended; to call off what has not begun, cancel it"},
		"ended twice":         {second(ended.End(at(t, "2026-12-01T02:40:00Z"))), "window w1 is ended: only one that runs can be ended; to call off what has not begun, cancel it"},
		"cancelled when over": {second(confirmed.Cancel(at(t, "2026-12-01T03:00:00Z"))), "window w1 is ended: there is nothing to cancel"},
		"cancelled twice":     {second(cancelled.Cancel(at(t, "2026-12-01T02:40:00Z"))), "window w1 is cancelled: there is nothing to cancel"},
	} {
		if c.err == nil || c.err.Error() != c.want {
			t.Errorf("%s: %v, want %s", name, c.err, c.want)
		}
	}
	dropped, err := w.Cancel(at(t, "2026-12-01T00:30:00Z"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := dropped.Confirm(w.Start); err == nil || err.Error() != "window w1 was called off at 2026-12-01T00:30:00Z" {
		t.Error(err)
	}
}

func second(_ Window, err error) error { return err }

func TestEndingOneOccurrenceLeavesTheNext(t *testing.T) {
	w := work(t, "w1", "02:00:00", "03:00:00", 10*time.Minute)
	w.Zone, w.Rule = "UTC", "FREQ=DAILY;COUNT=3"
	w, err := w.End(at(t, "2026-12-02T02:30:00Z"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, o := range calendarOf(t, w).Occurrences(at(t, "2026-11-01T00:00:00Z"), at(t, "2027-02-01T00:00:00Z")) {
		got = append(got, o.Begin.UTC().Format("02 15:04-")+o.End.UTC().Format("15:04"))
	}
	if s := strings.Join(got, ", "); s != "01 01:50-03:00, 02 01:50-02:30, 03 01:50-03:00" {
		t.Error(s)
	}
	if m := calendarOf(t, w).At(at(t, "2026-12-02T02:30:00Z")); len(m.Running) > 0 || !m.Next.Equal(at(t, "2026-12-03T01:50:00Z")) {
		t.Errorf("%+v", m)
	}
	if s, err := w.State(at(t, "2026-12-03T03:00:00Z")); s != Ended || err != nil {
		t.Errorf("%s, error %v", s, err)
	}
}

func TestUntilInUTCEndsTheRule(t *testing.T) {
	w := work(t, "w1", "02:00:00", "03:00:00", 0)
	w.Zone, w.Rule = "Europe/Moscow", "FREQ=DAILY;UNTIL=20261203T020000Z"
	if got := calendarOf(t, w).Occurrences(w.Start, w.Start.Add(30*Day)); len(got) != 3 {
		t.Errorf("%d occurrences: %+v", len(got), got)
	}
	if got := calendarOf(t, w).Occurrences(w.Start.Add(Day), w.Start.Add(Day)); len(got) != 0 {
		t.Errorf("in no time at all: %+v", got)
	}
}

// The second 02:30 of a day can only be meant by an instant, and stays what it is.
func TestTheSecondOfTwoReadingsStaysTheSecond(t *testing.T) {
	now := at(t, "2026-10-01T00:00:00Z")
	w, _, err := request(func(r *Request) {
		r.Start, r.Zone, r.Rule = "2026-10-25T02:30:00+01:00", "Europe/Berlin", "FREQ=DAILY"
	}).Window("w1", now)
	if err != nil {
		t.Fatal(err)
	}
	got := calendarOf(t, w).Occurrences(now, at(t, "2026-10-27T00:00:00Z"))
	if len(got) != 2 || stamp(got[0].Start) != "2026-10-25T01:30:00Z" || stamp(got[1].Start) != "2026-10-26T01:30:00Z" {
		t.Errorf("%+v", got)
	}
}

// F9: maintenance clocks. The end was missed, since nothing ran then; there is no end to
// miss, only a time that has passed.
func TestF9AMissedEndIsNoMoreThanATimeThatHasPassed(t *testing.T) {
	w := work(t, "w1", "02:00:00", "03:00:00", 10*time.Minute)
	c := calendarOf(t, w)
	during := at(t, "2026-12-01T02:30:00Z")
	track, phase, _ := Next(during, c.At(during).Running, Track{}, Traffic{Drain: time.Minute, Idle: true})
	if phase != Withdrawn {
		t.Fatal(phase)
	}
	for _, now := range []string{"2026-12-01T03:00:00Z", "2026-12-01T19:00:00Z", "2027-12-01T02:30:00Z"} {
		m := c.At(at(t, now))
		after, phase, _ := Next(at(t, now), m.Running, track, Traffic{Drain: time.Minute})
		if phase != In || after != (Track{}) || !m.Back.IsZero() || !m.Next.IsZero() {
			t.Errorf("%s: %v, %+v, %+v", now, phase, m, after)
		}
	}
}

// F9: the gap and the overlap of clocks that are set; lengths are of real time.
func TestF9WindowsOverGapAndOverlap(t *testing.T) {
	for name, c := range map[string]struct {
		start, first, second, third string // of three days in a row
	}{
		"before the gap":     {"2026-03-28 01:00", "28T00:00 28T04:00", "29T00:00 29T04:00", "29T23:00 30T03:00"},
		"in the gap":         {"2026-03-28 02:30", "28T01:30 28T05:30", "29T01:30 29T05:30", "30T00:30 30T04:30"},
		"after the gap":      {"2026-03-28 03:30", "28T02:30 28T06:30", "29T01:30 29T05:30", "30T01:30 30T05:30"},
		"before the overlap": {"2026-10-24 01:30", "23T23:30 24T03:30", "24T23:30 25T03:30", "26T00:30 26T04:30"},
		"in the overlap":     {"2026-10-24 02:30", "24T00:30 24T04:30", "25T00:30 25T04:30", "26T01:30 26T05:30"},
		"after the overlap":  {"2026-10-24 03:30", "24T01:30 24T05:30", "25T02:30 25T06:30", "26T02:30 26T06:30"},
	} {
		w, _, err := request(func(r *Request) { r.Start, r.Zone, r.Rule, r.Lead = c.start, "Europe/Berlin", "FREQ=DAILY;COUNT=3", "" }).Window("w1", at(t, "2026-03-01T00:00:00Z"))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, o := range calendarOf(t, w).Occurrences(w.Start, w.Start.Add(10*Day)) {
			got = append(got, o.Start.UTC().Format("02T15:04 ")+o.End.UTC().Format("02T15:04"))
		}
		if s := strings.Join(got, ", "); s != c.first+", "+c.second+", "+c.third {
			t.Errorf("%s: %s", name, s)
		}
	}
}

// F9: of two readings of the clock that fall together, one of them in the gap, there is
// one window.
func TestF9HourlyWindowsRunOnceWhereClocksAreSetForward(t *testing.T) {
	w, _, err := request(func(r *Request) {
		r.Start, r.Zone, r.Rule, r.For, r.Lead = "2026-03-29 00:15", "Europe/Berlin", "FREQ=HOURLY;COUNT=6", "10m", "5m"
	}).Window("w1", at(t, "2026-03-01T00:00:00Z"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, o := range calendarOf(t, w).Occurrences(w.Start.Add(-Day), w.Start.Add(Day)) {
		got = append(got, o.Start.In(zoneOf(t, "Europe/Berlin")).Format("15:04"))
	}
	if s := strings.Join(got, " "); s != "00:15 01:15 03:15 04:15 05:15" {
		t.Error(s)
	}
}
