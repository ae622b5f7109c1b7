package load

import (
	"errors"
	"testing"
	"time"
)

// TestAClockSetBackDoesNotSilenceASource: what passed before the clock was set back is of a time that is yet to come, and
// makes nothing old.
func TestAClockSetBackDoesNotSilenceASource(t *testing.T) {
	var g Gate
	now := after(100_000)
	if err := g.Check(Sample{Load: 1, At: now}, now); err != nil {
		t.Fatal(err)
	}
	now = after(100)
	if err := g.Check(Sample{Load: 1, At: now}, now); err != nil {
		t.Errorf("a figure after the clock was set back: %v", err)
	}
	var refusal *Refusal
	if err := g.Check(Sample{Load: 1, At: now.Add(-time.Second)}, now); !errors.As(err, &refusal) || refusal.Reason != Older {
		t.Errorf("an older one after it: %v", err)
	}
}

// TestAClockSetBackBeginsTheEstimateAnew: of both sources, whichever had the figure that is yet to come.
func TestAClockSetBackBeginsTheEstimateAnew(t *testing.T) {
	feed := func(period time.Duration) *Source {
		return &Source{Feed: &Feed{URL: "http://a/", Period: period}}
	}
	m := &linkMeter{link: Link{Name: "a", Fast: feed(time.Second), Exact: feed(time.Minute)}}
	m.merged = NewEstimator(m.link)
	fast, exact := &feedIn{}, &feedIn{exact: true}
	take := func(f *feedIn, load, at float64) (Sample, bool) {
		return m.merge(f, Sample{Load: load, At: after(at)}, after(at))
	}
	take(fast, 100, 100_000)
	take(exact, 150, 100_000)
	if s, ok := take(fast, 100, 100_001); !ok || s.Load != 150 {
		t.Fatalf("with a correction of 50: %+v, %v", s, ok)
	}
	if s, ok := take(fast, 100, 10); !ok || s.Load != 100 || !s.At.Equal(after(10)) {
		t.Errorf("after the clock was set back: %+v, %v; want the figure as it is", s, ok)
	}
	take(exact, 130, 10)
	if s, ok := take(fast, 100, 11); !ok || s.Load != 130 {
		t.Errorf("with a new correction of 30: %+v, %v", s, ok)
	}
}
