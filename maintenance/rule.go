package maintenance

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Horizon is how long a recurring window recurs: starts later than this after the
// first are none. Whoever needs it longer makes the window anew.
const Horizon = 5 * 365 * Day

// maxInterval is the largest INTERVAL.
const maxInterval = 1000

type frequency uint8

const (
	hourly frequency = iota + 1
	daily
	weekly
	monthly
	yearly
)

var frequencies = map[string]frequency{
	"HOURLY": hourly, "DAILY": daily, "WEEKLY": weekly, "MONTHLY": monthly, "YEARLY": yearly,
}

var weekdays = map[string]time.Weekday{
	"MO": time.Monday, "TU": time.Tuesday, "WE": time.Wednesday, "TH": time.Thursday,
	"FR": time.Friday, "SA": time.Saturday, "SU": time.Sunday,
}

// weekday is one entry of BYDAY: MO, 2TU or -1FR. An nth of 0 is every one.
type weekday struct {
	nth int
	day time.Weekday
}

// Rule is a recurrence rule (RFC 5545, section 3.3.10) on the clock of a zone. Its
// zero value recurs never. It is made by ParseRule.
type Rule struct {
	text       string
	freq       frequency
	interval   int
	count      int       // 0: no limit
	until      time.Time // a wall, the last that may start; zero: no limit
	untilAt    time.Time // an instant, if UNTIL was given in UTC
	weekStart  time.Weekday
	byMonth    []int
	byMonthDay []int
	byDay      []weekday
	byHour     []int
	byMinute   []int
	bySetPos   []int
}

// String gives the rule as ParseRule read it, in capitals and without "RRULE:".
func (r Rule) String() string { return r.text }

// UntilUTC returns the instant after which nothing starts, where UNTIL was given in
// UTC; zero: it was not.
func (r Rule) UntilUTC() time.Time { return r.untilAt }

// ParseRule reads FREQ (HOURLY to YEARLY), INTERVAL, COUNT or UNTIL, WKST, BYMONTH,
// BYMONTHDAY, BYDAY, BYHOUR, BYMINUTE (one) and BYSETPOS. SECONDLY and MINUTELY are refused,
// as is whatever would start a window more often than once an hour, and every
// part that is not read: a part passed over would move windows.
func ParseRule(text string) (Rule, error) {
	r := Rule{interval: 1, weekStart: time.Monday}
	r.text = strings.TrimPrefix(strings.ToUpper(strings.TrimSpace(text)), "RRULE:")
	seen := map[string]bool{}
	for part := range strings.SplitSeq(r.text, ";") {
		key, value, found := strings.Cut(part, "=")
		if !found || key == "" || value == "" {
			return Rule{}, fmt.Errorf("rule %q: %q is not NAME=VALUE; write it as FREQ=WEEKLY;BYDAY=TU", text, part)
		}
		if seen[key] {
			return Rule{}, fmt.Errorf("rule %q: %s stands twice", text, key)
		}
		seen[key] = true
		if err := r.set(key, value); err != nil {
			return Rule{}, fmt.Errorf("rule %q: %s=%s: %w", text, key, value, err)
		}
	}
	if err := r.check(); err != nil {
		return Rule{}, fmt.Errorf("rule %q: %w", text, err)
	}
	return r, nil
}

// set takes one part in.
func (r *Rule) set(key, value string) (err error) {
	switch key {
	case "FREQ":
		return r.setFrequency(value)
	case "INTERVAL":
		r.interval, err = number(value, 1, maxInterval)
	case "COUNT":
		r.count, err = number(value, 1, int(Horizon/time.Hour))
	case "UNTIL":
		return r.setUntil(value)
	case "WKST":
		day, known := weekdays[value]
		if !known {
			return errors.New("no day of the week; write MO to SU")
		}
		r.weekStart = day
	case "BYMONTH":
		r.byMonth, err = numbers(value, 1, 12, false)
	case "BYMONTHDAY":
		r.byMonthDay, err = numbers(value, 1, 31, true)
	case "BYDAY":
		return r.setDays(value)
	case "BYHOUR":
		r.byHour, err = numbers(value, 0, 23, false)
	case "BYMINUTE":
		if r.byMinute, err = numbers(value, 0, 59, false); err == nil && len(r.byMinute) > 1 {
			return errors.New("a window starts at most once an hour; write one minute")
		}
	case "BYSETPOS":
		r.bySetPos, err = numbers(value, 1, 366, true)
	default:
		return errors.New("this part is not read; leave it out, or write several windows")
	}
	return err
}

func (r *Rule) setFrequency(value string) error {
	freq, known := frequencies[value]
	switch {
	case value == "SECONDLY" || value == "MINUTELY":
		return errors.New("a window starts at most once an hour; write HOURLY, DAILY, WEEKLY, MONTHLY or YEARLY")
	case !known:
		return errors.New("no frequency; write HOURLY, DAILY, WEEKLY, MONTHLY or YEARLY")
	}
	r.freq = freq
	return nil
}

func (r *Rule) setUntil(value string) error {
	var err error
	switch {
	case len(value) == len("20060102"):
		if r.until, err = time.Parse("20060102", value); err == nil {
			r.until = r.until.Add(Day - time.Second)
		}
	case strings.HasSuffix(value, "Z"):
		r.untilAt, err = time.Parse("20060102T150405Z", value)
	default:
		r.until, err = time.Parse("20060102T150405", value)
	}
	if err != nil {
		return errors.New("no time; write 20261231, 20261231T040000 or, in UTC, 20261231T010000Z")
	}
	return nil
}

func (r *Rule) setDays(value string) error {
	for entry := range strings.SplitSeq(value, ",") {
		if len(entry) < 2 {
			return fmt.Errorf("%q is no day; write MO to SU, 2TU or -1FR", entry)
		}
		at := len(entry) - 2
		day, known := weekdays[entry[at:]]
		nth := 0
		var err error
		if entry[:at] != "" {
			if nth, err = strconv.Atoi(entry[:at]); nth == 0 {
				known = false
			}
		}
		if !known || err != nil || nth < -53 || nth > 53 {
			return fmt.Errorf("%q is no day; write MO to SU, 2TU or -1FR", entry)
		}
		r.byDay = append(r.byDay, weekday{nth, day})
	}
	return nil
}

// check looks at the parts together.
func (r *Rule) check() error {
	nth := slices.ContainsFunc(r.byDay, func(d weekday) bool { return d.nth != 0 })
	switch {
	case r.freq == 0:
		return errors.New("FREQ is missing; write FREQ=WEEKLY or the like")
	case r.count > 0 && !(r.until.IsZero() && r.untilAt.IsZero()):
		return errors.New("COUNT and UNTIL exclude each other")
	case nth && r.freq < monthly:
		return errors.New("a numbered day, such as 2TU, needs FREQ=MONTHLY or FREQ=YEARLY")
	case r.freq == weekly && len(r.byMonthDay) > 0:
		return errors.New("BYMONTHDAY does not go with FREQ=WEEKLY")
	case len(r.bySetPos) > 0 && (r.freq == hourly || len(r.byDay)+len(r.byMonthDay)+len(r.byMonth)+len(r.byHour) == 0):
		return errors.New("BYSETPOS needs another BY part to choose from, and a FREQ of days or more")
	}
	return nil
}

// number reads one number in a range.
func number(value string, least, most int) (int, error) {
	n, err := strconv.Atoi(value)
	if err != nil || n < least || n > most || value[0] == '+' {
		return 0, fmt.Errorf("%q is no number from %d to %d", value, least, most)
	}
	return n, nil
}

// numbers reads a list of numbers, each in the range or, if signed, in the same
// range below zero.
func numbers(value string, least, most int, signed bool) ([]int, error) {
	var list []int
	for text := range strings.SplitSeq(value, ",") {
		digits, negative := text, false
		if signed {
			digits, negative = strings.CutPrefix(text, "-")
		}
		if digits == "" {
			return nil, fmt.Errorf("%q is no number from %d to %d", text, least, most)
		}
		n, err := number(digits, least, most)
		if err != nil {
			return nil, err
		}
		if negative {
			n = -n
		}
		list = append(list, n)
	}
	slices.Sort(list)
	return slices.Compact(list), nil
}
