package control

import "fmt"

// Point is a corner of a piecewise linear curve.
type Point struct{ Load, Share float64 }

// Shape is a piecewise linear curve, by ascending load; level outside.
type Shape []Point

// At returns the share at a load; without points 0.
func (s Shape) At(load float64) float64 {
	if len(s) == 0 {
		return 0
	}
	if load <= s[0].Load {
		return s[0].Share
	}
	for i := 1; i < len(s); i++ {
		if a, b := s[i-1], s[i]; load < b.Load {
			return a.Share + (b.Share-a.Share)*(load-a.Load)/(b.Load-a.Load)
		}
	}
	return s[len(s)-1].Share
}

// Check returns what makes the shape no rising curve of shares.
func (s Shape) Check() error {
	for i, p := range s {
		switch {
		case !(p.Load >= 0 && p.Load <= 10):
			return fmt.Errorf("point %d: load %v: want 0 to 10", i, p.Load)
		case !(p.Share >= 0 && p.Share <= 1):
			return fmt.Errorf("point %d: share %v: want 0 to 1", i, p.Share)
		case i > 0 && !(p.Load > s[i-1].Load):
			return fmt.Errorf("point %d: load %v: want more than %v, that of the point before", i, p.Load, s[i-1].Load)
		case i > 0 && p.Share < s[i-1].Share:
			return fmt.Errorf("point %d: share %v: want %v, that of the point before, or more", i, p.Share, s[i-1].Share)
		}
	}
	return nil
}

// curve sheds by the load alone.
func (s *State) curve(c *Config) {
	s.Out.Slowdown, s.Out.Drop = c.Slowdown.At(s.Load), c.Drop.At(s.Load)
	s.Out.Shed = s.Out.Slowdown
}

// step is how much more Threshold sheds of sessions at once.
const step = 0.1

// threshold sheds a step more above one load, a step less below another.
func (s *State) threshold(c *Config, in Sample) {
	switch {
	case s.Load > c.High:
		s.Out.Step = 1
	case s.Load < c.Low:
		s.Out.Step = -1
	}
	if !c.Sessions {
		s.Out.Shed = clamp(in.InForce+step*float64(s.Out.Step), 0, 1)
		return
	}
	s.Sum = clamp(s.Sum+step*float64(s.Out.Step), 0, 1)
	s.Out.Shed, s.Out.Slowdown = s.Sum, s.Sum
}
