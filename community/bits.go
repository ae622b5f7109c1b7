package community

import (
	"fmt"
	"math"
)

// ofLength is the automaton of all texts of exactly length symbols, from 0 on.
func ofLength(length, symbols int) *automaton {
	a := &automaton{next: make([][10]int32, length+1), accept: make([]bool, length+1), bounded: true}
	for i := range a.next {
		a.next[i] = none
		for d := range symbols {
			if i < length {
				a.next[i][d] = int32(i + 1)
			}
		}
	}
	a.accept[length] = true
	return a
}

// chain is the automaton of the texts of the parts, one behind the other. Each part
// has texts of one length only, so that where one ends the next begins.
func chain(parts []*automaton) *automaton {
	out := &automaton{bounded: true}
	for i, part := range parts {
		from := int32(len(out.next))
		behind := from + int32(len(part.next))
		out.bounded = out.bounded && part.bounded
		for state := range part.next {
			step := none
			for d, to := range part.next[state] {
				switch {
				case to < 0:
				case part.accept[to] && i < len(parts)-1:
					step[d] = behind
				default:
					step[d] = from + to
				}
			}
			out.next, out.accept = append(out.next, step), append(out.accept, part.accept[state] && i == len(parts)-1)
		}
	}
	return out
}

// unpadded is the automaton of the numbers that padded accepts once they are filled up
// with zeros to total digits, and of those that plain, if it is not nil, accepts as
// they are. It is nil if there are too many states.
func unpadded(padded *automaton, total int, plain *automaton, widest uint32) *automaton {
	both := &automaton{next: append([][10]int32{}, padded.next...), accept: append([]bool{}, padded.accept...)}
	var starts []int32
	for state, zeros := int32(0), 0; state >= 0 && zeros < total && len(padded.next) > 0; zeros++ {
		starts = append(starts, state)
		state = padded.next[state][0]
	}
	if plain != nil {
		exact := plain.and(atMost(total))
		from := int32(len(both.next))
		for i, step := range exact.next {
			for d := range step {
				if step[d] >= 0 {
					step[d] += from
				}
			}
			both.next, both.accept = append(both.next, step), append(both.accept, exact.accept[i])
		}
		if len(exact.next) > 0 {
			starts = append(starts, from)
		}
	}
	out := both.from(starts)
	if out == nil {
		return nil
	}
	out = out.and(numbersUpTo(widest)).trim()
	out.bounded = padded.bounded
	return out
}

// atMost is the automaton of all texts of one digit to length digits.
func atMost(length int) *automaton {
	a := ofLength(length, 10)
	for i := range a.accept {
		a.accept[i] = i > 0
	}
	return a
}

// from is the deterministic automaton of what a accepts from any of the states; nil if
// it has too many states.
func (a *automaton) from(states []int32) *automaton {
	out := &automaton{}
	known := map[string]int32{}
	var sets [][]int32
	add := func(set []int32) int32 {
		if len(set) == 0 {
			return -1
		}
		key := fmt.Sprint(set)
		i, ok := known[key]
		if !ok {
			i = int32(len(sets))
			known[key] = i
			accepts := false
			for _, s := range set {
				accepts = accepts || a.accept[s]
			}
			sets, out.next, out.accept = append(sets, set), append(out.next, none), append(out.accept, accepts)
		}
		return i
	}
	add(states)
	for i := 0; i < len(sets); i++ {
		for d := range 10 {
			var to []int32
			for _, s := range sets[i] {
				if next := a.next[s][d]; next >= 0 {
					to = append(to, next)
				}
			}
			out.next[i][d] = add(to)
		}
		if len(sets) > most {
			return nil
		}
	}
	return out
}

// matchBits walks the bits of n from the left. It allocates nothing.
func (a *automaton) matchBits(n uint32, size int) bool {
	if len(a.next) == 0 {
		return false
	}
	state := int32(0)
	for i := size - 1; i >= 0; i-- {
		if state = a.next[state][n>>i&1]; state < 0 {
			return false
		}
	}
	return a.accept[state]
}

// only is the number of a segment of fields that has one.
func (s *segment) only() uint32 {
	a, base := s.auto, uint64(10)
	if s.layout.Binary {
		a, base = s.bits, 2
	}
	n, state := uint64(0), int32(0)
	for !a.accept[state] {
		for d, to := range a.next[state] {
			if to >= 0 {
				n, state = n*base+uint64(d), to
				break
			}
		}
	}
	return uint32(n)
}

// tally counts the numbers of a segment between two bounds.
type tally struct {
	s    *segment
	auto *automaton
	ways [][longestNumber + 1]float64 // accepted texts from a state on, by their length
}

func newTally(s *segment) *tally {
	t := &tally{s: s}
	if s.form == ranged || s.form == literal || s.form == anything {
		return t
	}
	t.auto = s.automaton()
	t.ways = make([][longestNumber + 1]float64, len(t.auto.next))
	for length := range longestNumber + 1 {
		for state, step := range t.auto.next {
			if length == 0 {
				if t.auto.accept[state] {
					t.ways[state][0] = 1
				}
				continue
			}
			for _, to := range step {
				if to >= 0 {
					t.ways[state][length] += t.ways[to][length-1]
				}
			}
		}
	}
	return t
}

// between is how many numbers of the segment are from lo to hi.
func (t *tally) between(lo, hi uint32) float64 {
	switch t.s.form {
	case literal:
		return within(lo, hi, t.s.lo, t.s.lo)
	case anything:
		return float64(hi-lo) + 1
	case ranged:
		n := 0.0
		for _, sp := range t.s.spans {
			n += within(lo, hi, sp.lo, sp.hi)
		}
		return n
	}
	return t.below(uint64(hi)+1) - t.below(uint64(lo))
}

func within(lo, hi, from, to uint32) float64 {
	lo, hi = max(lo, from), min(hi, to)
	if lo > hi {
		return 0
	}
	return float64(hi-lo) + 1
}

// below is how many numbers of the automaton are less than n.
func (t *tally) below(n uint64) float64 {
	if n == 0 || len(t.auto.next) == 0 {
		return 0
	}
	digits := []byte(fmt.Sprint(n))
	total := 0.0
	for length := 1; length < len(digits); length++ {
		total += t.ways[0][length]
	}
	state := int32(0)
	for i, c := range digits {
		rest := len(digits) - i - 1
		for d := range c - '0' {
			if to := t.auto.next[state][d]; to >= 0 && rest <= longestNumber {
				total += t.ways[to][rest]
			}
		}
		if state = t.auto.next[state][c-'0']; state < 0 {
			break
		}
	}
	return total
}

// patience is how many parts of the numbers are looked at before a comparison of bits
// with decimal digits gives up.
const patience = 1 << 16

// halving compares the bits of one segment with the numbers of another by halves of
// the numbers. One answer per half is enough: all, none, or look closer.
type halving struct {
	bits  *automaton
	ways  [][33]float64
	size  int
	other *tally
	left  int
}

func newHalving(bits, other *segment) *halving {
	h := &halving{bits: bits.bits, size: bits.layout.size(bits.widest), other: newTally(other), left: patience}
	h.ways = make([][33]float64, len(h.bits.next))
	for length := range h.size + 1 {
		for state, step := range h.bits.next {
			if length == 0 && h.bits.accept[state] {
				h.ways[state][0] = 1
			}
			for _, to := range step {
				if length > 0 && to >= 0 {
					h.ways[state][length] += h.ways[to][length-1]
				}
			}
		}
	}
	return h
}

// verdict is the answer for some numbers.
type verdict int8

const (
	closer verdict = iota
	yes
	no
)

// all reports whether what judge says of the counts of both and of all numbers holds
// for every part; false, too, if patience ends.
func (h *halving) all(state int32, length int, prefix uint32, judge func(bits, other, all float64) verdict) bool {
	if h.left--; h.left < 0 {
		return false
	}
	rest := h.size - length
	mine := 0.0
	if state >= 0 {
		mine = h.ways[state][rest]
	}
	lo := uint32(uint64(prefix) << rest)
	hi := uint32(uint64(lo) + 1<<rest - 1)
	switch judge(mine, h.other.between(lo, hi), math.Ldexp(1, rest)) {
	case yes:
		return true
	case no:
		return false
	}
	for bit := range uint32(2) {
		next := int32(-1)
		if state >= 0 {
			next = h.bits.next[state][bit]
		}
		if !h.all(next, length+1, prefix<<1|bit, judge) {
			return false
		}
	}
	return true
}

// bitsCover reports whether a, which has bits, has all numbers of b.
func bitsCover(a, b *segment) bool {
	return newHalving(a, b).all(0, 0, 0, func(bits, other, all float64) verdict {
		switch {
		case other == 0 || bits == all:
			return yes
		case bits == 0:
			return no
		}
		return closer
	})
}

// coverBits reports whether a has all numbers of b, which has bits.
func coverBits(a, b *segment) bool {
	return newHalving(b, a).all(0, 0, 0, func(bits, other, all float64) verdict {
		switch {
		case bits == 0 || other == all:
			return yes
		case other == 0:
			return no
		}
		return closer
	})
}

// meetBits reports whether a and b, of which a has bits, have a number in common. If
// patience ends, they are taken to have one.
func meetBits(a, b *segment) bool {
	return !newHalving(a, b).all(0, 0, 0, func(bits, other, all float64) verdict {
		switch {
		case bits == 0 || other == 0:
			return yes
		case bits == all || other == all:
			return no
		}
		return closer
	})
}
