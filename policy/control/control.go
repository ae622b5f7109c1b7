// Package control turns the load of a link into a shed: the share, 0..1, of the
// link's demand that should go elsewhere.
//
// In goes a sample with the time it was true at, and what is known of earlier
// moves; out come the shed and, for those who can refuse and move sessions, the
// slowdown and the drop. Demand is the load that would be there if nothing were
// shed. Loads are in shares of the capacity throughout.
//
// A state advances with each newer sample and only then, by the time of the
// sample and not by that of the call: all who see the same samples, whenever they
// look, decide alike.
//
// The package does no I/O, starts no goroutine and reads no clock.
package control

import (
	"time"
)

// Mode names a controller.
type Mode uint8

// The controllers.
const (
	Off Mode = iota
	// Threshold sheds one step more above a load and one less below another.
	Threshold
	// Curve is piecewise linear in the load.
	Curve
	// Damped is Curve with damping of oscillations.
	Damped
	// PI holds the load at a target.
	PI
)

// Config configures a controller. What is zero has the default of Default.
type Config struct {
	Mode Mode
	// Target is the load to hold.
	Target float64
	// High and Low are the loads of Threshold.
	High, Low float64
	// Slowdown is the share of new sessions not taken, Drop that of current ones
	// moved at each segment, both by the load. The shed is that of Slowdown.
	Slowdown, Drop Shape
	// Window is how far back Damped looks for oscillations, Swing the range of the
	// load in it from which two reversals are one.
	Window time.Duration
	Swing  float64
	// DeadTime is how long a move may take to show in full.
	DeadTime time.Duration
	// Integral is the time in which an error that stays doubles PI's answer.
	Integral time.Duration
	// Sessions says that sessions are refused and moved as the controller says;
	// otherwise routes change, in steps and seldom.
	Sessions bool
	// Segment is how often a session asks again and may be moved.
	Segment time.Duration
}

// The default curves. Drop begins later than the slowdown and rises more gently:
// it acts within seconds on sessions that came in over minutes.
var (
	slowdown = Shape{{0.70, 0}, {0.85, 0.15}, {0.95, 0.50}, {1.05, 1}}
	drop     = Shape{{0.75, 0}, {0.90, 0.03}, {1.00, 0.15}, {1.10, 0.50}}
)

// Default returns the defaults for a mode.
func Default(m Mode) Config {
	return Config{
		Mode: m, Target: 0.82, High: 0.85, Low: 0.75,
		Slowdown: slowdown, Drop: drop,
		Window: 180 * time.Second, Swing: 0.10,
		DeadTime: 180 * time.Second, Integral: 300 * time.Second, Segment: 5 * time.Second,
	}
}

// Complete returns the configuration with defaults for what is zero.
func (c Config) Complete() Config {
	d := Default(c.Mode)
	orElse(&c.Target, d.Target)
	orElse(&c.High, c.Target+0.03)
	orElse(&c.Low, c.Target-0.07)
	orElse(&c.Window, d.Window)
	orElse(&c.Swing, d.Swing)
	orElse(&c.DeadTime, d.DeadTime)
	orElse(&c.Integral, d.Integral)
	orElse(&c.Segment, d.Segment)
	if c.Slowdown == nil {
		c.Slowdown = d.Slowdown
	}
	if c.Drop == nil {
		c.Drop = d.Drop
	}
	return c
}

func orElse[T float64 | time.Duration](v *T, d T) {
	if !(*v > 0) {
		*v = d
	}
}

// Sample is the load of a link at one moment.
type Sample struct {
	// Load is what was measured, At when it was true.
	Load float64
	At   time.Time
	// Now is when it is looked at: the age of the figure is known by it.
	Now time.Time
	// InForce is the shed that the moves made so far should bring once they have
	// taken effect; Before is what was in force before the last, made at Moved.
	InForce, Before float64
	Moved           time.Time
	// Hold freezes what is integrated: in dwell, while others move, when stale.
	Hold bool
}

// Output is what a controller asks for; all shares 0..1.
type Output struct {
	Shed, Slowdown, Drop float64
	// Extra and Reduce are what damping adds to the slowdown or takes from it;
	// never both.
	Extra, Reduce float64
	// Step is, of Threshold, one step up or down.
	Step int
	// Demand is what the load would be if nothing were shed, Forecast the load
	// that is to be expected when all that is in flight has landed.
	Demand, Forecast float64
	// Until is when Drop ends without a newer sample; zero: not by itself.
	Until time.Time
}

// State is what a controller remembers of a link. Its zero value is a fresh start.
type State struct {
	// At and Load are the newest sample's, Spacing the time from the one before.
	At      time.Time
	Load    float64
	Spacing time.Duration
	Trend   Trend
	Swings  Swings
	// Extra and Reduce are what damping has come to.
	Extra, Reduce float64
	// Sum is what PI, and Threshold with sessions, has integrated; Error what PI
	// last saw.
	Sum, Error float64
	// Plan has the moves of sessions that the newest samples may not show yet,
	// the newest first.
	Plan [4]Move
	Out  Output
}

// Next takes a sample in. One that is not newer than the last changes nothing;
// nor does one that is no number or has no time.
func (c Config) Next(s State, in Sample) (State, Output) {
	out := s.Take(&c, in)
	return s, out
}

// Take is Next in place. With Off it finds out the demand and sheds nothing.
func (s *State) Take(c *Config, in Sample) Output {
	if in.At.IsZero() || !(in.Load >= 0 && in.Load <= absurd) || !s.At.IsZero() && !in.At.After(s.At) {
		return s.at(in.Now)
	}
	dt := time.Duration(0)
	if !s.At.IsZero() {
		dt = in.At.Sub(s.At)
	}
	s.advance(c, in, dt)
	switch c.Mode {
	case Threshold:
		s.threshold(c, in)
	case Curve:
		s.curve(c)
	case Damped:
		s.damped(c, dt)
	case PI:
		s.pi(c, in, dt)
	}
	return s.at(in.Now)
}

// at is the newest output as it holds at a time.
func (s *State) at(now time.Time) Output {
	out := s.Out
	if !out.Until.IsZero() && !now.Before(out.Until) {
		out.Drop, out.Until = 0, time.Time{}
	}
	return out
}

// advance takes in what all controllers share.
func (s *State) advance(c *Config, in Sample, dt time.Duration) {
	s.At, s.Load, s.Spacing = in.At, in.Load, dt
	converging := !in.Moved.IsZero() && in.At.Before(in.Moved.Add(c.DeadTime))
	demand := demand(in, s.Trend.after(dt, c.DeadTime), c.DeadTime)
	s.Trend = s.Trend.next(demand, dt, c.DeadTime, converging)
	s.Out = Output{Demand: demand, Forecast: s.Trend.ahead(demand, c.DeadTime) * (1 - in.InForce)}
}

// demand is what the load would be if nothing were shed. While a move takes
// effect it is not known how much of it shows: between nothing and all. Then what
// was expected counts, less and less as time passes, within those bounds.
func demand(in Sample, expected float64, deadTime time.Duration) float64 {
	all := in.Load / (1 - clamp(in.InForce, 0, most))
	age := in.At.Sub(in.Moved)
	if in.Moved.IsZero() || age >= deadTime {
		return all
	}
	none := in.Load / (1 - clamp(in.Before, 0, most))
	shown := clamp(float64(age)/float64(deadTime), 0, 1)
	shown *= shown
	return clamp(expected*(1-shown)+all*shown, min(none, all), max(none, all))
}

// absurd is a load beyond which a sample is no figure.
const absurd = 1e6

// most is the greatest shed by which a demand is judged: of what is all gone
// nothing can be known.
const most = 0.95

func clamp(v, low, high float64) float64 { return max(low, min(v, high)) }
