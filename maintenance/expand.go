package maintenance

import (
	"iter"
	"slices"
	"time"
)

// Walls yields the readings of the clock at which the rule starts a window, in
// order, from the first one or, where COUNT does not forbid it, from about from
// on. It ends with the rule's own end or at Horizon, whichever comes first; heeding
// UntilUTC is left to the caller, who knows the zone.
func (r Rule) Walls(first, from time.Time) iter.Seq[time.Time] {
	return func(yield func(time.Time) bool) {
		if r.freq == 0 {
			return
		}
		left, last := r.count, first.Add(Horizon)
		i := 0
		if r.count == 0 {
			i = r.periodsBefore(first, from)
		}
		for ; ; i++ {
			begin, days := r.period(first, i)
			if begin.After(last) {
				return
			}
			for _, wall := range r.inPeriod(first, begin, days) {
				switch {
				case wall.Before(first):
					continue
				case wall.After(last), !r.until.IsZero() && wall.After(r.until), !yield(wall):
					return
				}
				if left--; left == 0 {
					return
				}
			}
		}
	}
}

// midnight is the begin of the day.
func midnight(wall time.Time) time.Time {
	return time.Date(wall.Year(), wall.Month(), wall.Day(), 0, 0, 0, 0, time.UTC)
}

// period returns where the i-th period of the rule begins, and its days (0: it is
// an hour).
func (r Rule) period(first time.Time, i int) (begin time.Time, days int) {
	n := i * r.interval
	year, month, day := first.Date()
	switch r.freq {
	case hourly:
		return first.Add(time.Duration(n) * time.Hour), 0
	case daily:
		return time.Date(year, month, day+n, 0, 0, 0, 0, time.UTC), 1
	case weekly:
		back := (int(first.Weekday()) - int(r.weekStart) + 7) % 7
		return time.Date(year, month, day-back+7*n, 0, 0, 0, 0, time.UTC), 7
	case monthly:
		begin = time.Date(year, month+time.Month(n), 1, 0, 0, 0, 0, time.UTC)
		return begin, daysFrom(begin, begin.AddDate(0, 1, 0))
	}
	begin = time.Date(year+n, 1, 1, 0, 0, 0, 0, time.UTC)
	return begin, daysFrom(begin, begin.AddDate(1, 0, 0))
}

func daysFrom(a, b time.Time) int { return int(b.Sub(a) / Day) }

// periodsBefore returns how many periods may be left out because they end before
// from.
func (r Rule) periodsBefore(first, from time.Time) int {
	if !from.After(first) {
		return 0
	}
	longest := map[frequency]time.Duration{hourly: time.Hour, daily: Day, weekly: 7 * Day, monthly: 31 * Day, yearly: 366 * Day}
	passed := min(from.Sub(first), Horizon)
	return int(passed / (longest[r.freq] * time.Duration(r.interval)))
}

// inPeriod returns the starts in one period, in order.
func (r Rule) inPeriod(first, begin time.Time, days int) []time.Time {
	if r.freq == hourly {
		wall := time.Date(begin.Year(), begin.Month(), begin.Day(), begin.Hour(), r.minute(first), first.Second(), 0, time.UTC)
		if !r.onDay(first, wall) || len(r.byHour) > 0 && !slices.Contains(r.byHour, wall.Hour()) {
			return nil
		}
		return []time.Time{wall}
	}
	hours := r.byHour
	if len(hours) == 0 {
		hours = []int{first.Hour()}
	}
	var walls []time.Time
	for n := range days {
		day := begin.AddDate(0, 0, n)
		if !r.onDay(first, day) {
			continue
		}
		for _, hour := range hours {
			walls = append(walls, day.Add(time.Duration(hour)*time.Hour+
				time.Duration(r.minute(first))*time.Minute+time.Duration(first.Second())*time.Second))
		}
	}
	return r.choose(walls)
}

func (r Rule) minute(first time.Time) int {
	if len(r.byMinute) > 0 {
		return r.byMinute[0]
	}
	return first.Minute()
}

// choose applies BYSETPOS.
func (r Rule) choose(walls []time.Time) []time.Time {
	if len(r.bySetPos) == 0 {
		return walls
	}
	var chosen []time.Time
	for i, wall := range walls {
		if slices.Contains(r.bySetPos, i+1) || slices.Contains(r.bySetPos, i-len(walls)) {
			chosen = append(chosen, wall)
		}
	}
	return chosen
}

// onDay reports whether the rule starts a window on the day. What the rule leaves
// open is as it was the first time.
func (r Rule) onDay(first, day time.Time) bool {
	open := len(r.byDay) == 0 && len(r.byMonthDay) == 0
	switch {
	case open && r.freq == weekly && day.Weekday() != first.Weekday(),
		open && r.freq >= monthly && day.Day() != first.Day(),
		open && r.freq == yearly && len(r.byMonth) == 0 && day.Month() != first.Month(),
		len(r.byMonth) > 0 && !slices.Contains(r.byMonth, int(day.Month())):
		return false
	}
	year, month, _ := day.Date()
	begin := time.Date(year, month, 1, 0, 0, 0, 0, time.UTC)
	end := begin.AddDate(0, 1, 0)
	if len(r.byMonthDay) > 0 && !slices.Contains(r.byMonthDay, day.Day()) &&
		!slices.Contains(r.byMonthDay, -daysFrom(midnight(day), end)) {
		return false
	}
	if r.freq == yearly && len(r.byMonth) == 0 {
		begin = time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC)
		end = begin.AddDate(1, 0, 0)
	}
	return len(r.byDay) == 0 || slices.ContainsFunc(r.byDay, func(d weekday) bool { return d.is(midnight(day), begin, end) })
}

// is reports whether day, which lies in [begin, end), is such a weekday of it.
func (d weekday) is(day, begin, end time.Time) bool {
	if day.Weekday() != d.day {
		return false
	}
	switch {
	case d.nth > 0:
		return daysFrom(begin, day)/7 == d.nth-1
	case d.nth < 0:
		return (daysFrom(day, end)-1)/7 == -d.nth-1
	}
	return true
}
