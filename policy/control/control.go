// Package control turns the load of a link into a shed: the share, 0..1, of the
// link's demand that should go elsewhere.
//
// In goes a sample with the time it was true at, and what is known of earlier
// moves; out come the shed and, for those who can refuse and move sessions, the
// slowdown and the drop. Demand is the load that would be there if nothing were
// shed.
//
// The package does no I/O, starts no goroutine and reads no clock.
package control

import "time"

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

// Point is a corner of a piecewise linear curve.
type Point struct{ Load, Share float64 }

// Config configures a controller. Loads are in shares of the capacity.
type Config struct {
	Mode Mode
	// Target is the load to hold.
	Target float64
	// Slowdown is the share of new sessions not taken, Drop that of current ones
	// moved, both by the load.
	Slowdown, Drop []Point
	// DeadTime is how long a move may take to show in full.
	DeadTime time.Duration
	// Sessions says that sessions are refused and moved as the controller says;
	// otherwise routes change, in steps and seldom.
	Sessions bool
}

// Sample is the load of a link at one moment.
type Sample struct {
	// Load is in shares of the capacity.
	Load float64
	At   time.Time
	// InForce is the shed that the moves made so far should bring once they have
	// taken effect; Moved is when the last one was made.
	InForce float64
	Moved   time.Time
	// Hold freezes what is integrated: in dwell, while others move, when stale.
	Hold bool
}

// Output is what a controller asks for; all shares 0..1.
type Output struct {
	Shed, Slowdown, Drop float64
	// Extra and Reduce are what damping adds to the slowdown or takes from it;
	// never both.
	Extra, Reduce float64
}
