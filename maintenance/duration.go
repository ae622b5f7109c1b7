package maintenance

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Day is 24 hours, also where clocks are set that day.
const Day = 24 * time.Hour

// Duration is a length of time in whole seconds, written as people type it: 90s,
// 1h30m, 2d. JSON holds the text.
type Duration time.Duration

// ParseDuration reads a number with a unit, or several of falling size: s, m, h
// and, first, d for 24 hours. It refuses signs and parts of a second.
func ParseDuration(text string) (Duration, error) {
	fail := func(why string) (Duration, error) { return 0, fmt.Errorf("%q is no duration: %s", text, why) }
	if text == "" {
		return fail("it is empty; write 90s, 10m, 1h30m or 2d")
	}
	if strings.ContainsAny(text, "+-") {
		return fail("it has a sign; write 90s, 10m, 1h30m or 2d")
	}
	if _, err := strconv.ParseUint(text, 10, 64); err == nil {
		return fail("it has no unit; write " + text + "s, " + text + "m, " + text + "h or " + text + "d")
	}
	days, rest, found := strings.Cut(text, "d")
	if !found {
		days, rest = "0", text
	}
	n, err := strconv.ParseUint(days, 10, 32)
	if err != nil || n > uint64(math.MaxInt64/Day)-1 {
		return fail("write 90s, 10m, 1h30m or 2d")
	}
	var d time.Duration
	if rest != "" {
		if d, err = time.ParseDuration(rest); err != nil {
			return fail("write 90s, 10m, 1h30m or 2d")
		}
	}
	d += time.Duration(n) * Day
	if d < 0 {
		return fail("it is too long")
	}
	if d%time.Second != 0 {
		return fail("it has parts of a second")
	}
	return Duration(d), nil
}

// Std returns d as the standard library has it.
func (d Duration) Std() time.Duration { return time.Duration(d) }

// String gives the shortest form, such as 1d12h, 1h30m or 0s.
func (d Duration) String() string {
	std := d.Std()
	var b strings.Builder
	if std < 0 {
		return std.String()
	}
	for _, u := range []struct {
		size time.Duration
		name string
	}{{Day, "d"}, {time.Hour, "h"}, {time.Minute, "m"}} {
		if n := std / u.size; n > 0 {
			fmt.Fprintf(&b, "%d%s", n, u.name)
			std %= u.size
		}
	}
	if std > 0 || b.Len() == 0 {
		b.WriteString(std.String())
	}
	return b.String()
}

// MarshalText gives String.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads what ParseDuration reads; an error leaves d as it was.
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := ParseDuration(string(text))
	if err != nil {
		return err
	}
	*d = v
	return nil
}

// within says what is wrong with d, which must be at least 1 s (or 0, if zero is
// allowed) and at most most.
func (d Duration) within(what string, zero bool, most time.Duration) error {
	switch {
	case d < 0 && zero:
		return errors.New(what + " must not be negative")
	case d <= 0 && !zero:
		return errors.New(what + " must be at least 1s")
	case d.Std()%time.Second != 0:
		return errors.New(what + " must be in whole seconds")
	case d.Std() > most:
		return fmt.Errorf("%s is %v, and may be at most %v", what, d, Duration(most))
	}
	return nil
}
