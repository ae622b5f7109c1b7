package fleet

import (
	"cmp"
	"hash/fnv"
	"net/netip"
	"slices"
	"time"
)

// Waiting is a node that could announce a service again.
type Waiting struct {
	Node     string
	Since    time.Time
	Prefixes []netip.Prefix
}

// Pace says how fast nodes come back.
type Pace struct {
	// Step is the time between two turns, 30 s if 0; each is up to a quarter of it
	// late, by chance.
	Step time.Duration
	// Longest bounds how long the last turn is away, 10 min if 0: with many waiting
	// the steps become shorter.
	Longest time.Duration
	// After is the last turn that stands already, if any: new ones follow it.
	After time.Time
	// Seed makes the chance.
	Seed string
}

// Turn is when a node may announce a prefix again.
type Turn struct {
	Node   string
	Prefix netip.Prefix
	At     time.Time
}

// Returns gives each prefix of each waiting node its turn: the first prefix of all
// nodes, by how long they wait, then the second of all, and so on, so that clients
// come back in small parts and to no node at once. When the service has less
// announced than is asked for, or than must be, all come back at once.
func Returns(f Fleet, service string, waiting []Waiting, p Pace) []Turn {
	order := slices.SortedFunc(slices.Values(waiting), func(a, b Waiting) int {
		return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.Node, b.Node))
	})
	var turns []Turn
	for round, more := 0, true; more; round++ {
		more = false
		for _, w := range order {
			if round < len(w.Prefixes) {
				turns = append(turns, Turn{Node: w.Node, Prefix: w.Prefixes[round], At: f.Now})
				more = true
			}
		}
	}
	if f.Short(service) {
		return turns
	}
	step, longest := cmp.Or(max(0, p.Step), 30*time.Second), cmp.Or(max(0, p.Longest), 10*time.Minute)
	step = min(step, longest/time.Duration(max(1, len(turns))))
	from := f.Now
	if next := p.After.Add(step); next.After(from) {
		from = next
	}
	if last := f.Now.Add(longest); from.After(last) {
		from = last
	}
	for i := range turns {
		late := chance(p.Seed, service, turns[i].Node, turns[i].Prefix.String()) * float64(step) / 4
		turns[i].At = from.Add(time.Duration(i)*step + time.Duration(late))
	}
	return turns
}

// Short reports whether a service has less announced than must be, or than is asked
// for: by the loads of now or by the peaks.
func (f Fleet) Short(service string) bool {
	c := f.Count(service)
	if c.Announcing < f.Limits[service].least() {
		return true
	}
	announcing := f.announcers(service)
	var capacity, now, peak float64
	for _, n := range f.nodesOf(service) {
		if announcing(n) {
			if !(n.Capacity > 0) {
				return false // one that can take who knows how much
			}
			capacity += n.Capacity
		}
		now += n.now().Value
		peak += n.peak().Value
	}
	return max(now, peak) > capacity
}

// chance is a number in 0..1 that the words determine.
func chance(words ...string) float64 {
	h := fnv.New64a()
	for _, w := range words {
		_, _ = h.Write(append([]byte(w), 0)) // never fails
	}
	x := h.Sum64()
	x ^= x >> 33 // FNV's high bits alone are poor for short words
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	return float64(x>>11) / (1 << 53)
}
