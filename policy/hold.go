package policy

import (
	"slices"
	"time"
)

// Verdict is what is known of something that can fail.
type Verdict uint8

// The verdicts. Unknown is before the first one: not announced, not a failure.
const (
	Unknown Verdict = iota
	Up
	Down
)

var verdictNames = [...]string{"unknown", "up", "down"}

// String gives "unknown", "up" or "down".
func (v Verdict) String() string { return name(verdictNames[:], int(v)) }

// MarshalText gives "unknown", "up" or "down".
func (v Verdict) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText reads one of those.
func (v *Verdict) UnmarshalText(text []byte) error {
	return unname(v, verdictNames[:], text, "a verdict")
}

// FailureWindow is how long a failure counts towards the wait of the next return.
const FailureWindow = time.Hour

// Hold remembers one thing that can fail, so that a flapping one does not flap
// a prefix: others' routers would damp it (RFC 2439), an outage of our making.
type Hold struct {
	// Failures are the times of the last hour at which it failed while in service.
	Failures []time.Time `json:"failures,omitempty"`
	// Held is true from a failure until health has lasted long enough.
	Held bool `json:"held,omitempty"`
	// After is how many failures of the last hour there were when the hold began.
	// It says how long health must last, and stays: failures that grow old
	// meanwhile do not shorten a hold that is under way.
	After int `json:"after,omitempty"`
	// InService is true while it is good and not held.
	InService bool `json:"-"`
	// HealthySince is when health last began while held; zero: not healthy.
	HealthySince time.Time `json:"-"`
}

// next takes a verdict in. It returns the new memory and, while held although
// healthy, when the hold ends.
func (h Hold) next(now time.Time, v Verdict, after []time.Duration) (Hold, time.Time) {
	h.Failures = recent(h.Failures, now)
	switch v {
	case Unknown:
		h.InService, h.HealthySince = false, time.Time{}
		return h, time.Time{}
	case Down:
		if h.InService {
			h.Failures = append(h.Failures, now)
		}
		if !h.Held {
			h.Held, h.After = true, len(h.Failures)
		}
		h.InService, h.HealthySince = false, time.Time{}
		return h, time.Time{}
	}
	if h.Held && (h.HealthySince.IsZero() || now.Before(h.HealthySince)) {
		h.HealthySince = now // health began, or the clock was set back: anew
	}
	if end := h.HealthySince.Add(wait(h.After, after)); h.Held && now.Before(end) {
		return h, end
	}
	h.Held, h.After, h.InService, h.HealthySince = false, 0, true, time.Time{}
	return h, time.Time{}
}

// wait is how long health must last after the n-th failure within an hour.
func wait(n int, after []time.Duration) time.Duration {
	if n <= 0 || len(after) == 0 {
		return 0
	}
	return after[min(n, len(after))-1]
}

// recent keeps the times that are within the failure window, never changing what
// it was given. Times of the future (a clock that was set back) become now: they
// count, but not for longer than any other.
func recent(ts []time.Time, now time.Time) []time.Time {
	outside := func(t time.Time) bool { return t.After(now) || now.Sub(t) >= FailureWindow }
	if !slices.ContainsFunc(ts, outside) {
		return slices.Clip(ts)
	}
	var out []time.Time
	for _, t := range ts {
		if t.After(now) {
			t = now
		}
		if now.Sub(t) < FailureWindow {
			out = append(out, t)
		}
	}
	return out
}
