package maintenance

import (
	"encoding/json"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestDurationsAsPeopleTypeThem(t *testing.T) {
	for text, want := range map[string]string{
		"90s": "1m30s", "10m": "10m", "1h30m": "1h30m", "2d": "2d", "1d12h": "1d12h", "36h": "1d12h", "0s": "0s", "1.5h": "1h30m", "48h0m5s": "2d5s",
	} {
		d, err := ParseDuration(text)
		if err != nil || d.String() != want {
			t.Errorf("%s: %v, error %v, want %s", text, d, err, want)
		}
	}
	if got := Duration(-time.Second).String(); got != "-1s" {
		t.Error(got)
	}
}

func TestDurationsThatAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		"":                      `"" is no duration: it is empty; write 90s, 10m, 1h30m or 2d`,
		"10":                    `"10" is no duration: it has no unit; write 10s, 10m, 10h or 10d`,
		"-10m":                  `"-10m" is no duration: it has a sign; write 90s, 10m, 1h30m or 2d`,
		"ten minutes":           `"ten minutes" is no duration: write 90s, 10m, 1h30m or 2d`,
		"10 m":                  `"10 m" is no duration: write 90s, 10m, 1h30m or 2d`,
		"1.5d":                  `"1.5d" is no duration: write 90s, 10m, 1h30m or 2d`,
		"999999d":               `"999999d" is no duration: write 90s, 10m, 1h30m or 2d`,
		"99999999999999999999h": `"99999999999999999999h" is no duration: write 90s, 10m, 1h30m or 2d`,
		"106750d2562047h":       `"106750d2562047h" is no duration: it is too long`,
		"1500ms":                `"1500ms" is no duration: it has parts of a second`,
	} {
		if d, err := ParseDuration(text); err == nil || err.Error() != want {
			t.Errorf("%s: %v\n got %v\nwant %s", text, d, err, want)
		}
	}
}

func TestADurationIsTheSameAfterItWasWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := Duration(rapid.Int64Range(0, 1<<33).Draw(t, "seconds")) * Duration(time.Second) % Duration(100000*Day)
		data, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		got := Duration(1)
		if err := json.Unmarshal(data, &got); err != nil || got != d {
			t.Fatalf("%s: %v, error %v", data, got, err)
		}
	})
	d := Duration(1)
	if err := json.Unmarshal([]byte(`"soon"`), &d); err == nil || d != 1 {
		t.Errorf("%v, error %v", d, err)
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{"", "90s", "2d3h", "FREQ=WEEKLY;BYDAY=TU", "RRULE:FREQ=YEARLY;BYMONTHDAY=-31;BYSETPOS=-1", "2026-12-01 02:00", "2026-12-01T02:00:00+03:00", "now"} {
		f.Add(text)
	}
	now := time.Date(2026, 12, 1, 2, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, text string) {
		if d, err := ParseDuration(text); err == nil && (d < 0 || d.Std()%time.Second != 0) {
			t.Errorf("duration %v", d)
		}
		if start, _, err := ParseStart(text, "Europe/Moscow", now); err == nil && start.IsZero() && text != "0001-01-01T00:00:00Z" {
			t.Errorf("start %v of %q", start, text)
		}
		rule, err := ParseRule(text)
		if err != nil {
			return
		}
		starts, last := 0, time.Time{}
		for wall := range rule.Walls(now, now) {
			if wall.Before(now) || !last.IsZero() && wall.Sub(last) < time.Hour || wall.Sub(now) > Horizon {
				t.Fatalf("%s: %s after %s", rule, wall, last)
			}
			last = wall
			starts++
		}
		if starts > int(Horizon/time.Hour)+1 {
			t.Errorf("%s: %d starts", rule, starts)
		}
		if again, err := ParseRule(rule.String()); err != nil || again.String() != rule.String() {
			t.Errorf("%s: again %s, error %v", rule, again, err)
		}
	})
}
