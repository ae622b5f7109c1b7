package control

import (
	"math"
	"time"
)

const (
	// mostSum bounds what is integrated beside a rung.
	mostSum = 0.10
	// moveGain is the part of an excess that is moved at a time.
	moveGain = 0.6
	// band is the error that sessions are not moved for.
	band = 0.01
	// nothing is a load of which no share makes sense.
	nothing = 1e-6
	// refuseGain is the share of new sessions refused for an error.
	refuseGain = 1.0
)

// pi holds the load at the target.
func (s *State) pi(c *Config, in Sample, dt time.Duration) {
	if c.Sessions {
		s.piSessions(c, in, dt)
		return
	}
	s.piRoutes(c, in, dt)
}

// piRoutes asks for the shed that brings the load to the target. In the velocity
// form the proportional part is a step from the shed that is in force, as it was
// measured, so that nothing winds up while the rungs cannot follow; what is still
// in flight counts as landed (Smith's predictor). The integral is frozen until
// everything has landed.
func (s *State) piRoutes(c *Config, in Sample, dt time.Duration) {
	demand := s.Trend.ahead(s.Out.Demand, c.DeadTime)
	if demand < nothing {
		s.Sum = 0
		return
	}
	err := (s.Out.Demand*(1-in.InForce) - c.Target) / demand
	switch {
	case !in.Moved.IsZero() && s.At.Before(in.Moved.Add(c.DeadTime)):
		s.Sum = 0 // the move has taken it in
	case !in.Hold:
		s.Sum = clamp(s.Sum+err*float64(dt)/float64(c.Integral), -mostSum, mostSum)
	}
	if in.InForce == 0 {
		s.Sum = max(s.Sum, 0)
	}
	if s.Load < c.Target {
		s.Sum = min(s.Sum, 0)
	}
	s.Error = err
	s.Out.Shed = clamp(1-c.Target/demand+s.Sum, 0, 1)
}

// Move is a part of the current sessions that is moved from one time to another.
type Move struct {
	From, Until time.Time
	Drop        float64 // at each segment
}

// left is the share of the sessions of a time that the move leaves until another.
func (m Move) left(from, to time.Time, segment time.Duration) float64 {
	if m.From.After(from) {
		from = m.From
	}
	if m.Until.Before(to) {
		to = m.Until
	}
	d := to.Sub(from)
	if d <= 0 || m.Drop <= 0 {
		return 1
	}
	return math.Pow(1-min(m.Drop, most), float64(d)/float64(segment))
}

// piSessions refuses new sessions and moves current ones. What was moved since
// the figure was true is subtracted from it first: a figure of a minute ago says
// nothing of that. What is over the target is moved within the time until the
// next figure, and then no more; refusing, whose effect is slow, holds the load.
func (s *State) piSessions(c *Config, in Sample, dt time.Duration) {
	load := s.Load
	for _, m := range s.Plan {
		load *= m.left(in.At, in.Now, c.Segment)
	}
	err := load - c.Target
	if !in.Hold {
		s.Sum = clamp(s.Sum+refuseGain*(err-s.Error+err*float64(dt)/float64(c.Integral)), 0, 1)
	}
	if s.Error = err; s.Sum == 0 {
		s.Error = max(err, 0) // coming closer to the target from below is no reason to refuse
	}
	s.Out.Slowdown, s.Out.Shed, s.Out.Forecast = s.Sum, s.Sum, load
	if len(s.Plan) > 0 && in.Now.Before(s.Plan[0].Until) {
		s.Plan[0].Until = in.Now // the new plan stands for what was left of it
	}
	if err <= band {
		return
	}
	span := max(dt, 4*c.Segment)
	drop := 1 - math.Pow(1-moveGain*min(1, err/load), float64(c.Segment)/float64(span))
	copy(s.Plan[1:], s.Plan[:])
	s.Plan[0] = Move{in.Now, in.Now.Add(span), drop}
	s.Out.Drop, s.Out.Until = drop, s.Plan[0].Until
}
