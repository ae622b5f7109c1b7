package healthcheck

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// at is a moment of the tests' own time, in milliseconds.
func at(ms int) time.Time { return time.UnixMilli(int64(ms)) }

// upJudge is a judge of a watched check that is up.
func upJudge(fall int, grace time.Duration) *judge {
	j := &judge{tracker: NewTracker(1, fall), watched: true, grace: grace}
	j.next(passed, at(0))
	return j
}

func TestJudge(t *testing.T) {
	const ordinary = time.Second
	// step is a probe that ends at ms with an outcome, and what must follow: the
	// verdict, and how long to wait for the next probe.
	type step struct {
		ms      int
		outcome outcome
		up      bool
		wait    time.Duration
	}
	for _, c := range []struct {
		name  string
		fall  int
		grace time.Duration
		lost  int // when the connection ends, ms; 0: it does not
		steps []step
	}{
		{"no grace: refused probes 10 ms apart are a verdict", 3, 0, 100, []step{
			{100, gone, true, quick}, {110, gone, true, quick}, {120, gone, false, ordinary}}},
		{"no grace, fall 1: at once", 1, 0, 100, []step{{100, gone, false, ordinary}}},
		{"a passing probe clears the end of the connection", 2, 0, 100, []step{
			{100, passed, true, ordinary}, {1100, failing, true, ordinary}, {2100, failing, false, ordinary}}},
		{"a restart within the grace is nothing", 2, time.Second, 100, []step{
			{100, gone, true, quick}, {110, gone, true, quick}, {120, gone, true, 20 * time.Millisecond},
			{140, gone, true, 40 * time.Millisecond}, {180, gone, true, quickMax}, {230, passed, true, ordinary},
			{1230, failing, true, ordinary}}},
		{"the grace ends with a probe that decides", 2, 50 * time.Millisecond, 100, []step{
			{100, gone, true, quick}, {110, gone, true, quick}, {120, gone, true, 20 * time.Millisecond},
			{140, gone, true, 10 * time.Millisecond}, {150, gone, false, ordinary}}},
		{"fewer than fall refusals in a short grace do not decide", 4, 5 * time.Millisecond, 100, []step{
			{100, gone, true, 5 * time.Millisecond}, {105, gone, true, quick}, {115, gone, true, quick}, {125, gone, false, ordinary}}},
		{"a hung probe across the end of the grace decides", 2, 50 * time.Millisecond, 100, []step{
			{100, gone, true, quick}, {610, failing, false, ordinary}}},
		{"a bad answer in the grace is an ordinary failure", 2, time.Second, 100, []step{
			{100, gone, true, quick}, {110, gone, true, quick}, {120, failing, true, ordinary}, {1119, failing, false, ordinary}}},
		{"a bad answer and then refusals in the grace are held", 2, time.Second, 100, []step{
			{100, gone, true, quick}, {110, failing, true, ordinary}, {1000, gone, true, quick}, {1010, gone, true, quick},
			{1020, passed, true, ordinary}}},
		{"an ordinary poll that is refused begins the grace, too", 1, time.Second, 0, []step{
			{500, gone, true, quick}, {520, passed, true, ordinary}}},
		{"and its end decides", 1, 20 * time.Millisecond, 0, []step{
			{500, gone, true, quick}, {510, gone, true, quick}, {520, gone, false, ordinary}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			j := upJudge(c.fall, c.grace)
			if c.lost != 0 {
				j.connectionLost(at(c.lost))
			}
			for i, s := range c.steps {
				was := j.tracker.Up()
				up, changed := j.next(s.outcome, at(s.ms))
				if up != s.up || changed != (was != up) {
					t.Fatalf("step %d: up %v changed %v, want up %v", i+1, up, changed, s.up)
				}
				if wait := j.due(at(s.ms), at(s.ms), ordinary).Sub(at(s.ms)); wait != s.wait {
					t.Fatalf("step %d: next probe after %v, want %v", i+1, wait, s.wait)
				}
			}
		})
	}
}

func TestJudgeWithoutWatchIsTheTracker(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		fall := rapid.IntRange(1, 4).Draw(t, "fall")
		j := judge{tracker: NewTracker(2, fall), grace: time.Second}
		tracker := NewTracker(2, fall)
		for i, o := range rapid.SliceOf(rapid.SampledFrom([]outcome{passed, gone, failing})).Draw(t, "outcomes") {
			up, changed := j.next(o, at(i))
			wantUp, wantChanged := tracker.Next(o == passed)
			if up != wantUp || changed != wantChanged || j.pause != 0 {
				t.Fatalf("result %d: %v %v, want %v %v, at the ordinary pace", i, up, changed, wantUp, wantChanged)
			}
		}
	})
}

// Whatever happens to an up service whose probes are all refused from some moment
// on, the verdict is "down" and falls between the end of the grace and the
// fall-th refusal or the grace's end, whichever is later.
func TestJudgeOnADeadServiceDecidesInTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		fall := rapid.IntRange(1, 6).Draw(t, "fall")
		grace := time.Duration(rapid.IntRange(0, 2000).Draw(t, "grace ms")) * time.Millisecond
		j := upJudge(fall, grace)
		now := at(1000)
		lost := now
		if rapid.Bool().Draw(t, "the watch sees it") {
			j.connectionLost(lost)
		}
		took := time.Duration(rapid.IntRange(0, 3).Draw(t, "probe ms")) * time.Millisecond
		for probes := 1; ; probes++ {
			start := now
			now = now.Add(took)
			up, _ := j.next(gone, now)
			if !up {
				latest := max(grace, time.Duration(fall-1)*quick) + 2*quick + 2*took
				if since := now.Sub(lost); since < grace || since > latest {
					t.Fatalf("down after %v, want between %v and %v", since, grace, latest)
				}
				if probes < fall && grace < quick {
					t.Fatalf("down after %d probes, want %d", probes, fall)
				}
				return
			}
			if now = j.due(start, now, time.Second); now.Sub(start) > quickMax {
				t.Fatalf("waits %v for the next probe of a dead service", now.Sub(start))
			}
		}
	})
}

// Nothing but refusals within a grace never makes a check down.
func TestJudgeNeverDecidesOnRefusalsWithinTheGrace(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		j := upJudge(rapid.IntRange(1, 3).Draw(t, "fall"), time.Second)
		ms := 1000
		for range rapid.IntRange(1, 20).Draw(t, "restarts") {
			j.connectionLost(at(ms))
			for range rapid.IntRange(0, 30).Draw(t, "refusals") {
				if up, _ := j.next(gone, at(ms+rapid.IntRange(0, 999).Draw(t, "ms"))); !up {
					t.Fatal("down within the grace")
				}
			}
			ms += 1000
			if up, changed := j.next(passed, at(ms)); !up || changed {
				t.Fatalf("up %v changed %v after a restart, want up and no change", up, changed)
			}
			if j.tracker.Undecided() || j.lapse || j.held != 0 {
				t.Fatalf("a restart leaves traces: %+v", j)
			}
		}
	})
}

func TestAWatchThatEndsWhileDownBeginsNothing(t *testing.T) {
	j := &judge{tracker: NewTracker(2, 1), watched: true, grace: time.Second}
	j.next(passed, at(0))
	j.connectionLost(at(1))
	if j.next(gone, at(2)); j.lapse || j.pause != 0 || j.tracker.Undecided() {
		t.Errorf("a check that was never up is held: %+v", j)
	}
}

func TestFollowingSkipsWhatHasPassed(t *testing.T) {
	for _, c := range []struct{ took, interval, want int }{
		{0, 100, 100}, {40, 100, 100}, {100, 100, 100}, {101, 100, 200}, {250, 100, 300}, {300, 100, 300},
	} {
		got := following(at(0), at(c.took), time.Duration(c.interval)*time.Millisecond)
		if !got.Equal(at(c.want)) {
			t.Errorf("a probe that took %d of %d ms: next at %v, want %v", c.took, c.interval, got.Sub(at(0)), c.want)
		}
	}
}
