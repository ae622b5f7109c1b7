package maintenance

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// The oracle looks at the clock on the wall in every minute of three days.
func TestAReadingOfTheClockIsTheFirstInstantThatShowsIt(t *testing.T) {
	zones := map[string]*time.Location{}
	names := []string{"Europe/Moscow", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "America/Sao_Paulo", "Pacific/Apia"}
	for _, name := range names {
		zones[name] = zoneOf(t, name)
	}
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom(names).Draw(t, "zone")
		day, err := time.Parse(time.DateOnly, rapid.SampledFrom(changes[name]).Draw(t, "day"))
		if err != nil {
			t.Fatal(err)
		}
		wall := day.Add(time.Duration(rapid.IntRange(-12*60, 36*60).Draw(t, "minute")) * time.Minute)
		var shown []time.Time
		var before, after time.Time // the last instant that shows less, the first that shows more
		for at := wall.Add(-36 * time.Hour); at.Before(wall.Add(36 * time.Hour)); at = at.Add(time.Minute) {
			switch shows := Wall(at, zones[name]); {
			case shows.Equal(wall):
				shown = append(shown, at)
			case shows.Before(wall):
				before = at
			case after.IsZero():
				after = at
			}
		}
		want, wantFit := time.Time{}, Exact
		switch {
		case len(shown) == 0:
			want, wantFit = before.Add(wall.Sub(Wall(before, zones[name]))), Gap
			if want.Before(after) {
				t.Fatalf("%s is before %s, at which clocks are set forward", want, after)
			}
		case len(shown) > 1:
			want, wantFit = shown[0], Overlap
		default:
			want = shown[0]
		}
		if got, fit := ResolveIn(wall, zones[name]); !got.Equal(want) || fit != wantFit {
			t.Fatalf("%s in %s: %s (%v), want %s (%v)", wall, name, got, fit, want, wantFit)
		}
	})
}

func TestZonesThatAreRefused(t *testing.T) {
	for name, want := range map[string]string{
		"":              "no zone: write an IANA name, such as Europe/Moscow or UTC",
		"Local":         "no zone: write an IANA name, such as Europe/Moscow or UTC",
		"MSK":           `zone "MSK" is not in the time zone database; write an IANA name, such as Europe/Moscow or UTC`,
		"../etc/passwd": `zone "../etc/passwd" is not in the time zone database; write an IANA name, such as Europe/Moscow or UTC`,
	} {
		if _, err := LoadZone(name); err == nil || err.Error() != want {
			t.Errorf("%q: error %v, want %s", name, err, want)
		}
	}
}
