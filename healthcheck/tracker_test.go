package healthcheck

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// slowTracker judges a whole history anew each time.
func slowTracker(rise, fall int, history []bool) (up, decided bool) {
	tail := func(end, n int, want bool) bool {
		return end >= n && !slices.Contains(history[end-n:end], !want)
	}
	for end := 1; end <= len(history); end++ {
		if tail(end, rise, true) {
			up, decided = true, true
		}
		if tail(end, fall, false) {
			up, decided = false, true
		}
	}
	return up, decided
}

func TestTrackerAgreesWithItsWholeHistory(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rise, fall := rapid.IntRange(1, 5).Draw(t, "rise"), rapid.IntRange(1, 5).Draw(t, "fall")
		history := rapid.SliceOfN(rapid.Bool(), 0, 60).Draw(t, "history")
		tracker := NewTracker(rise, fall)
		before := false
		for i, result := range history {
			up, changed := tracker.Next(result)
			wantUp, wantDecided := slowTracker(rise, fall, history[:i+1])
			if up != wantUp || tracker.Up() != wantUp || tracker.Decided() != wantDecided {
				t.Fatalf("after %d results: up %v decided %v, want %v %v", i+1, up, tracker.Decided(), wantUp, wantDecided)
			}
			if changed != (up != before) {
				t.Fatalf("after %d results: changed %v, but up was %v and is %v", i+1, changed, before, up)
			}
			if want := !wantDecided || result != wantUp; tracker.Undecided() != want {
				t.Fatalf("after %d results: undecided %v, want %v", i+1, tracker.Undecided(), want)
			}
			before = up
		}
	})
}

func TestTracker(t *testing.T) {
	// In results, + is a pass and - a failure. In verdicts, U and D are up and down,
	// in lower case while undecided.
	for _, c := range []struct {
		name              string
		rise, fall        int
		results, verdicts string
	}{
		{"starts down and is decided by fall failures", 2, 3, "---", "ddD"},
		{"is up after rise passes", 3, 1, "+++", "ddU"},
		{"a failure begins the passes anew", 2, 2, "+-++", "dddU"},
		{"a pass begins the failures anew", 1, 2, "+-+--", "UuUuD"},
		{"rise and fall of one follow each result", 1, 1, "+-+-", "UDUD"},
		{"zero counts as one", 0, -1, "+-", "UD"},
		{"long runs change nothing more", 1, 2, "+++++-++-----", "UUUUUuUUuDDDD"},
	} {
		t.Run(c.name, func(t *testing.T) {
			tracker := NewTracker(c.rise, c.fall)
			if tracker.Up() || tracker.Decided() || !tracker.Undecided() {
				t.Fatalf("the start is %+v, want down and undecided", tracker)
			}
			got := ""
			for _, r := range c.results {
				up, _ := tracker.Next(r == '+')
				got += verdict(up, tracker.Undecided())
			}
			if got != c.verdicts {
				t.Errorf("results %s: got %s, want %s", c.results, got, c.verdicts)
			}
		})
	}
}

func verdict(up, undecided bool) string {
	switch {
	case up && undecided:
		return "u"
	case up:
		return "U"
	case undecided:
		return "d"
	default:
		return "D"
	}
}

// F8, the raw part: what the tracker lets through of a check that flaps at 1 Hz
// for 10 minutes. Limiting the rest is policy's.
func TestAlternationPassesTheTrackerOnlyAtRiseAndFallOfOne(t *testing.T) {
	for _, c := range []struct{ rise, fall, changes int }{{2, 2, 0}, {1, 1, 600}, {2, 1, 0}, {1, 2, 1}} {
		tracker := NewTracker(c.rise, c.fall)
		changes := 0
		for second := range 600 {
			if _, changed := tracker.Next(second%2 == 0); changed {
				changes++
			}
		}
		if changes != c.changes {
			t.Errorf("rise %d fall %d: %d changes in 600 s, want %d", c.rise, c.fall, changes, c.changes)
		}
	}
}
