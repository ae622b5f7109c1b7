package policy

import (
	"slices"
	"time"

	"github.com/catchment-bgp/catchment/policy/control"
	"github.com/catchment-bgp/catchment/policy/flap"
)

// Buffer decides as Next does, in memory that it reuses: once all has been seen,
// a call allocates nothing. An answer, state and decision, is valid until the call
// after the next one. Its zero value is ready; it is not for concurrent use.
type Buffer struct {
	answers [2]answer
	turn    int
	keys    []flap.Key
	entries []entry
	texts   []rungText
	heat    []heat
	places  []place
	plan    []candidate
}

// answer is one state and decision.
type answer struct {
	state    State
	decision Decision
}

// place is where a climber is: the index of its link, -1 for none, and its share
// of the link's demand.
type place struct {
	link   int
	weight float64
}

// round is one decision in the making.
type round struct {
	c    *Config
	was  *State
	in   *Input
	next *State
	out  *Decision
	b    *Buffer
	cc   control.Config // complete
	node LinkDecision
	// level is what all links are to shed at least that step together.
	level float64
	// urgent says that the link that they relieve loses traffic.
	urgent bool
}

// Next decides as the function Next does.
func (b *Buffer) Next(c Config, s State, in Input) (State, Decision) {
	b.turn = 1 - b.turn
	a := &b.answers[b.turn]
	a.decision.Wake = time.Time{}
	r := round{c: &c, was: &s, in: &in, next: &a.state, out: &a.decision, b: b}
	r.load()
	var back families
	r.next.WayBack4, back.v4 = s.WayBack4.next(&r, in.WayBack4, "IPv4")
	r.next.WayBack6, back.v6 = s.WayBack6.next(&r, in.WayBack6, "IPv6")
	if r.next.Services == nil {
		r.next.Services = make(map[string]ServiceState, len(c.Services))
	}
	if r.b.forgets(&c) {
		clear(r.next.Services)
	}
	r.out.Services = resize(r.out.Services, len(c.Services))
	for i := range c.Services {
		svc := &c.Services[i]
		r.next.Services[svc.Name] = svc.next(&r, s.Services[svc.Name], back, &r.out.Services[i])
	}
	r.charge()
	r.penalties()
	return a.state, a.decision
}

// forgets says whether the buffer's answer has services that are not configured.
func (b *Buffer) forgets(c *Config) bool {
	known := b.answers[b.turn].state.Services
	for i := range c.Services {
		if _, ok := known[c.Services[i].Name]; !ok {
			return true
		}
	}
	return len(known) != len(c.Services)
}

// wake notes a time at which the decision may change without any new input.
func (r *round) wake(t time.Time) {
	if t.After(r.in.Now) && (r.out.Wake.IsZero() || t.Before(r.out.Wake)) {
		r.out.Wake = t
	}
}

// resize returns a slice of n elements that keeps what memory s has, and what its
// elements have.
func resize[T any](s []T, n int) []T {
	if n == 0 {
		return nil
	}
	return slices.Grow(s[:0], n)[:n]
}
