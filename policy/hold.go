package policy

import "time"

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

// FailureWindow is how long a failure counts towards the wait of the next return.
const FailureWindow = time.Hour

// Hold remembers one thing that can fail, so that a flapping one does not flap
// a prefix: others' routers would damp it (RFC 2439), an outage of our making.
type Hold struct {
	// Failures are the times of the last hour at which it failed while in service.
	Failures []time.Time `json:"failures,omitempty"`
	// Held is true from a failure until health has lasted long enough.
	Held bool `json:"held,omitempty"`
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
		h.Held, h.InService, h.HealthySince = true, false, time.Time{}
		return h, time.Time{}
	}
	if h.Held && h.HealthySince.IsZero() {
		h.HealthySince = now
	}
	if end := h.HealthySince.Add(wait(len(h.Failures), after)); h.Held && now.Before(end) {
		return h, end
	}
	h.Held, h.InService, h.HealthySince = false, true, time.Time{}
	return h, time.Time{}
}

// wait is how long health must last after the n-th failure of the last hour.
func wait(n int, after []time.Duration) time.Duration {
	if n == 0 || len(after) == 0 {
		return 0
	}
	return after[min(n, len(after))-1]
}

// recent copies the times that are within the failure window. Times of the
// future (a clock that was set back) count too, as the cautious reading.
func recent(ts []time.Time, now time.Time) []time.Time {
	var out []time.Time
	for _, t := range ts {
		if now.Sub(t) < FailureWindow {
			out = append(out, t)
		}
	}
	return out
}
