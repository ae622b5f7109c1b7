package control

import "time"

// Swings remembers the last turning points of a load.
type Swings struct {
	// Turns has the newest turning points first, as far as they are in the window.
	Turns [6]Turn
	// Extreme is the highest or lowest point since the last turn, Up says which.
	Extreme Turn
	Up      bool
}

// Turn is a point at which the load turned round.
type Turn struct {
	At   time.Time
	Load float64
}

// ripple is the change of direction that is too small to be a turn.
const ripple = 0.02

// next takes in a load.
func (w Swings) next(at time.Time, load float64) Swings {
	switch here := (Turn{at, load}); {
	case w.Extreme.At.IsZero():
		w.Extreme, w.Up = here, true
	case w.Up == (load >= w.Extreme.Load):
		w.Extreme = here
	case w.Up && load < w.Extreme.Load-ripple, !w.Up && load > w.Extreme.Load+ripple:
		copy(w.Turns[1:], w.Turns[:])
		w.Turns[0], w.Extreme, w.Up = w.Extreme, here, !w.Up
	}
	return w
}

// within returns how far the load ranged within a window up to a time, and how
// often it turned round.
func (w Swings) within(window time.Duration, now time.Time) (reach float64, reversals int) {
	low, high := w.Extreme.Load, w.Extreme.Load
	for _, t := range w.Turns {
		if t.At.IsZero() || now.Sub(t.At) > window {
			break
		}
		reversals++
		low, high = min(low, t.Load), max(high, t.Load)
	}
	return high - low, reversals
}

const (
	// mostExtra bounds what damping adds or takes.
	mostExtra = 0.30
	// grow and fade are what it changes by in one window's time.
	grow, fade = 1.2, 0.05
	// samplesInWindow is how many samples a window must have to show an oscillation.
	samplesInWindow = 10
)

// damped sheds by the load and counters oscillations: while the load swings, more
// new sessions are refused and fewer current ones moved, for it is moving many on
// old figures that swings. In quiet times that is taken back, and then, while the
// load is below the target, some of the slowdown.
func (s *State) damped(c *Config, dt time.Duration) {
	s.curve(c)
	s.Swings = s.Swings.next(s.At, s.Load)
	window := max(c.Window, samplesInWindow*s.Spacing)
	reach, reversals := s.Swings.within(window, s.At)
	part := float64(dt) / float64(window)
	switch {
	case reach > c.Swing && reversals >= 2:
		s.Reduce = 0
		s.Extra = min(mostExtra, s.Extra+grow*part)
	case reach > c.Swing:
		// One turn may be the demand's own.
	case s.Extra > 0:
		s.Extra = max(0, s.Extra-fade*part)
	case s.Load < c.Target:
		s.Reduce = min(mostExtra, s.Reduce+fade*part)
	default:
		s.Reduce = max(0, s.Reduce-grow*part)
	}
	s.Out.Extra, s.Out.Reduce = s.Extra, s.Reduce
	s.Out.Slowdown = clamp(s.Out.Slowdown+s.Extra-s.Reduce, 0, 1)
	if s.Load < c.Low { // nothing to refuse for
		s.Out.Slowdown = 0
	}
	calm := 1 - s.Extra/mostExtra
	s.Out.Drop *= calm * calm
	s.Out.Shed = s.Out.Slowdown
}
