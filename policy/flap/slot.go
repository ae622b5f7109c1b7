package flap

import (
	"math"
	"time"
)

// Slot returns how edges that cannot see each other share a budget. Wall clock
// time, from the Unix epoch, is divided into slots of this length. Slot k belongs
// to edge k modulo Edges, which may make one change per key, within the window
// that the slot begins with. The length, in whole seconds, is the least with which
// one attribute change in each slot for ever stays below every limit, wherever in
// the windows the changes fall and however the clocks differ, up to ClockError.
// Length 0: not even one change fits.
//
// Penalties do not add up evenly, so a part of the budget smaller than one change
// would be none at all. Time can be divided.
func (c Config) Slot() (length, window time.Duration) {
	t := c.turns(Share{Edges: 2})
	if t.length == 0 {
		return 0, 0
	}
	return time.Duration(t.length) * time.Second, time.Duration(t.window) * time.Second
}

// turns is a share of the slots. Length 0: never.
type turns struct {
	edges, index   int64
	length, window int64         // s
	apart          time.Duration // between changes in two turns of one edge, at least
	told           bool          // of the others' penalties
}

// blind reports whether the penalties of other edges are not known.
func (t turns) blind() bool { return t.edges > 1 && !t.told }

func (c Config) turns(s Share) turns {
	if s.Edges == 0 || s.Edges == 1 && s.Index == 0 {
		return turns{edges: 1}
	}
	t := turns{edges: max(int64(s.Edges), 2), index: int64(s.Index)}
	if s.Edges < 2 || s.Edges > mostEdges || s.Index < 0 || s.Index >= s.Edges {
		return t
	}
	shortest := never
	for _, p := range c.Profiles {
		shortest = min(shortest, p.HalfLife)
	}
	window := int64(shortest / windowPart / time.Second)
	if window < 1 {
		return t
	}
	t.window = window
	least := float64(window) + ClockError.Seconds()
	for _, p := range c.Profiles {
		least = max(least, t.least(p, c.limit(p), c.cost(p, AttributeChange)))
	}
	if !(least <= longest.Seconds()) {
		return t
	}
	t.length = int64(math.Ceil(least))
	t.apart = time.Duration(t.edges*t.length-t.window) * time.Second
	return t
}

// crowd is by how much the changes of other slots weigh more because they may
// come late in their windows, by clocks that differ.
func (t turns) crowd(p Profile) float64 {
	return math.Exp2((float64(t.window) + ClockError.Seconds()) / p.HalfLife.Seconds())
}

// least is the length, in seconds, at which one change and one in every slot
// before add up to the limit: cost * (1 + crowd * (x + x^2 + ...)) with x what a
// slot leaves of a penalty.
func (t turns) least(p Profile, limit, cost float64) float64 {
	if cost == 0 {
		return 0
	}
	room := limit/cost - 1
	if !(room > 0) {
		return math.Inf(1)
	}
	return p.HalfLife.Seconds() * math.Log2(1+t.crowd(p)/room)
}

// others is the most that the other edges' changes, of that cost, may weigh in one
// of our windows.
func (t turns) others(p Profile, cost float64) float64 {
	if t.length == 0 {
		return 0
	}
	x := math.Exp2(-float64(t.length) / p.HalfLife.Seconds())
	own := math.Pow(x, float64(t.edges))
	return cost * t.crowd(p) * (x/(1-x) - own/(1-own))
}

// wait is how long it is from then to a window of ours; 0: in one.
func (t turns) wait(then time.Time) time.Duration {
	round := t.edges * t.length
	into := (then.Unix() - t.index*t.length) % round
	if into < 0 {
		into += round
	}
	if into < t.window {
		return 0
	}
	return time.Duration(round-into)*time.Second - time.Duration(then.Nanosecond())
}
