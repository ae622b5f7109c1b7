package maintenance

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/teambition/rrule-go"
	"pgregory.net/rapid"
)

// drawRule makes a rule that another implementation of RFC 5545 reads alike.
func drawRule(t *rapid.T) string {
	freq := rapid.SampledFrom([]string{"HOURLY", "DAILY", "WEEKLY", "MONTHLY", "YEARLY"}).Draw(t, "freq")
	parts := []string{"FREQ=" + freq}
	add := func(key string, form string, args ...any) { parts = append(parts, key+"="+fmt.Sprintf(form, args...)) }
	maybe := func(what string) bool { return rapid.IntRange(0, 3).Draw(t, what) == 0 }
	if maybe("with interval") {
		add("INTERVAL", "%d", rapid.IntRange(1, 7).Draw(t, "interval"))
	}
	switch rapid.IntRange(0, 3).Draw(t, "end") {
	case 0:
		add("COUNT", "%d", rapid.IntRange(1, 60).Draw(t, "count"))
	case 1:
		add("UNTIL", "%d%02d%02d", rapid.IntRange(2026, 2030).Draw(t, "year"), rapid.IntRange(1, 12).Draw(t, "month"), rapid.IntRange(1, 28).Draw(t, "day"))
	}
	if maybe("with wkst") {
		add("WKST", "%s", rapid.SampledFrom([]string{"MO", "SU", "WE"}).Draw(t, "wkst"))
	}
	if maybe("with months") {
		add("BYMONTH", "%d,%d", rapid.IntRange(1, 6).Draw(t, "month a"), rapid.IntRange(7, 12).Draw(t, "month b"))
	}
	if maybe("with hours") {
		add("BYHOUR", "%d,%d", rapid.IntRange(0, 11).Draw(t, "hour a"), rapid.IntRange(12, 23).Draw(t, "hour b"))
	}
	choices := 0
	if freq != "WEEKLY" && maybe("with days of the month") {
		choices++
		add("BYMONTHDAY", "%d,%d", rapid.IntRange(1, 31).Draw(t, "day a"), rapid.IntRange(-31, -1).Draw(t, "day b"))
	}
	if maybe("with days") {
		choices++
		// The other implementation mixes up numbered days with plain ones.
		var days []string
		numbered := (freq == "MONTHLY" || freq == "YEARLY") && rapid.Bool().Draw(t, "numbered")
		for range rapid.IntRange(1, 3).Draw(t, "days") {
			day := rapid.SampledFrom([]string{"MO", "TU", "WE", "TH", "FR", "SA", "SU"}).Draw(t, "weekday")
			if numbered {
				day = rapid.SampledFrom([]string{"1", "2", "4", "-1", "-2"}).Draw(t, "nth") + day
			}
			days = append(days, day)
		}
		add("BYDAY", "%s", strings.Join(days, ","))
	}
	// The other implementation counts the first week of WEEKLY from the first start on.
	if freq != "HOURLY" && freq != "WEEKLY" && choices > 0 && maybe("with positions") {
		add("BYSETPOS", "%d,%d", rapid.IntRange(1, 4).Draw(t, "position"), rapid.IntRange(-3, -1).Draw(t, "position from the end"))
	}
	return strings.Join(parts, ";")
}

// Another implementation, on a clock that is never set, is the oracle.
func TestRulesStartWhereAnotherImplementationSays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := drawRule(t)
		rule, err := ParseRule(text)
		if err != nil {
			t.Fatal(err)
		}
		first := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(rapid.IntRange(0, 365*24*4).Draw(t, "first")) * 15 * time.Minute)
		options, err := rrule.StrToROption(text)
		if err != nil {
			t.Fatal(err)
		}
		options.Dtstart = first
		if !options.Until.IsZero() {
			options.Until = options.Until.Add(Day - time.Second)
		}
		for _, hour := range options.Byhour {
			if options.Freq == rrule.HOURLY && hour%gcd(options.Interval, 24) != first.Hour()%gcd(options.Interval, 24) {
				t.Skip("the oracle would look for this hour for ever")
			}
		}
		other, err := rrule.NewRRule(*options)
		if err != nil {
			t.Fatal(err)
		}
		last := first.Add(Horizon)
		if options.Freq == rrule.HOURLY {
			last = first.Add(90 * Day) // the oracle is slow
		}
		want := other.Between(first, last, true)
		var got []time.Time
		for wall := range rule.Walls(first, first) {
			if wall.After(last) {
				break
			}
			got = append(got, wall)
		}
		if !slices.EqualFunc(got, want, time.Time.Equal) {
			t.Fatalf("%s from %v (%v):\n got %d: %v\nwant %d: %v", text, first, first.Weekday(), len(got), head(got), len(want), head(want))
		}
		from := first.Add(time.Duration(rapid.IntRange(0, 6*365).Draw(t, "from")) * Day)
		var some []time.Time
		for wall := range rule.Walls(first, from) {
			if wall.After(last) {
				break
			}
			some = append(some, wall)
		}
		for _, wall := range got {
			if !wall.Before(from) && !slices.ContainsFunc(some, wall.Equal) {
				t.Fatalf("%s from %v, looked at from %v: %v is missing", text, first, from, wall)
			}
		}
		if len(got) > 0 && len(some) > 0 && !slices.ContainsFunc(got, some[0].Equal) {
			t.Fatalf("%s from %v, looked at from %v: begins with %v", text, first, from, some[0])
		}
	})
}

func gcd(a, b int) int {
	for a != 0 {
		a, b = b%a, a
	}
	return b
}

func head(times []time.Time) []time.Time { return times[:min(len(times), 12)] }

func TestRulesThatAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		"FREQ=SECONDLY":                     `rule "FREQ=SECONDLY": FREQ=SECONDLY: a window starts at most once an hour; write HOURLY, DAILY, WEEKLY, MONTHLY or YEARLY`,
		"FREQ=MINUTELY;INTERVAL=90":         `rule "FREQ=MINUTELY;INTERVAL=90": FREQ=MINUTELY: a window starts at most once an hour; write HOURLY, DAILY, WEEKLY, MONTHLY or YEARLY`,
		"FREQ=HOURLY;BYMINUTE=0,30":         `rule "FREQ=HOURLY;BYMINUTE=0,30": BYMINUTE=0,30: a window starts at most once an hour; write one minute`,
		"FREQ=FORTNIGHTLY":                  `rule "FREQ=FORTNIGHTLY": FREQ=FORTNIGHTLY: no frequency; write HOURLY, DAILY, WEEKLY, MONTHLY or YEARLY`,
		"":                                  `rule "": "" is not NAME=VALUE; write it as FREQ=WEEKLY;BYDAY=TU`,
		"every Tuesday":                     `rule "every Tuesday": "EVERY TUESDAY" is not NAME=VALUE; write it as FREQ=WEEKLY;BYDAY=TU`,
		"FREQ=DAILY;":                       `rule "FREQ=DAILY;": "" is not NAME=VALUE; write it as FREQ=WEEKLY;BYDAY=TU`,
		"BYDAY=TU":                          `rule "BYDAY=TU": FREQ is missing; write FREQ=WEEKLY or the like`,
		"FREQ=DAILY;FREQ=DAILY":             `rule "FREQ=DAILY;FREQ=DAILY": FREQ stands twice`,
		"FREQ=DAILY;INTERVAL=0":             `rule "FREQ=DAILY;INTERVAL=0": INTERVAL=0: "0" is no number from 1 to 1000`,
		"FREQ=DAILY;INTERVAL=+2":            `rule "FREQ=DAILY;INTERVAL=+2": INTERVAL=+2: "+2" is no number from 1 to 1000`,
		"FREQ=DAILY;COUNT=99999999":         `rule "FREQ=DAILY;COUNT=99999999": COUNT=99999999: "99999999" is no number from 1 to 43800`,
		"FREQ=DAILY;COUNT=2;UNTIL=20270101": `rule "FREQ=DAILY;COUNT=2;UNTIL=20270101": COUNT and UNTIL exclude each other`,
		"FREQ=DAILY;UNTIL=tomorrow":         `rule "FREQ=DAILY;UNTIL=tomorrow": UNTIL=TOMORROW: no time; write 20261231, 20261231T040000 or, in UTC, 20261231T010000Z`,
		"FREQ=WEEKLY;WKST=8":                `rule "FREQ=WEEKLY;WKST=8": WKST=8: no day of the week; write MO to SU`,
		"FREQ=WEEKLY;BYDAY=2TU":             `rule "FREQ=WEEKLY;BYDAY=2TU": a numbered day, such as 2TU, needs FREQ=MONTHLY or FREQ=YEARLY`,
		"FREQ=MONTHLY;BYDAY=0TU":            `rule "FREQ=MONTHLY;BYDAY=0TU": BYDAY=0TU: "0TU" is no day; write MO to SU, 2TU or -1FR`,
		"FREQ=MONTHLY;BYDAY=T":              `rule "FREQ=MONTHLY;BYDAY=T": BYDAY=T: "T" is no day; write MO to SU, 2TU or -1FR`,
		"FREQ=MONTHLY;BYDAY=54TU":           `rule "FREQ=MONTHLY;BYDAY=54TU": BYDAY=54TU: "54TU" is no day; write MO to SU, 2TU or -1FR`,
		"FREQ=WEEKLY;BYMONTHDAY=13":         `rule "FREQ=WEEKLY;BYMONTHDAY=13": BYMONTHDAY does not go with FREQ=WEEKLY`,
		"FREQ=MONTHLY;BYMONTHDAY=-":         `rule "FREQ=MONTHLY;BYMONTHDAY=-": BYMONTHDAY=-: "-" is no number from 1 to 31`,
		"FREQ=MONTHLY;BYMONTHDAY=0":         `rule "FREQ=MONTHLY;BYMONTHDAY=0": BYMONTHDAY=0: "0" is no number from 1 to 31`,
		"FREQ=MONTHLY;BYSETPOS=1":           `rule "FREQ=MONTHLY;BYSETPOS=1": BYSETPOS needs another BY part to choose from, and a FREQ of days or more`,
		"FREQ=YEARLY;BYWEEKNO=20":           `rule "FREQ=YEARLY;BYWEEKNO=20": BYWEEKNO=20: this part is not read; leave it out, or write several windows`,
		"FREQ=DAILY;BYSECOND=1":             `rule "FREQ=DAILY;BYSECOND=1": BYSECOND=1: this part is not read; leave it out, or write several windows`,
	} {
		if _, err := ParseRule(text); err == nil || err.Error() != want {
			t.Errorf("%s:\n got %v\nwant %s", text, err, want)
		}
	}
}

func TestARuleIsPrintedAsItWasRead(t *testing.T) {
	rule, err := ParseRule(" rrule:freq=weekly;byday=tu ")
	if err != nil || rule.String() != "FREQ=WEEKLY;BYDAY=TU" {
		t.Errorf("%q, error %v", rule, err)
	}
	for range (Rule{}).Walls(time.Time{}, time.Time{}) {
		t.Error("no rule, yet it recurs")
	}
}
