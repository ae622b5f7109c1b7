package community

import (
	"math/bits"
	"sync"
)

// digits is the numbers that have one of some digits at each of ten places, filled up
// with zeros on the left: bit d of a place's mask is digit d. A template is one.
type digits [longestNumber]uint16

const (
	anyDigit  uint16 = 1<<10 - 1
	zeroDigit uint16 = 1
)

// digitsOf are the numbers of a template. To one that begins with zeros numbers are
// filled up, as 7 to 007 for 0xx; else they have as many digits as it has.
func digitsOf(text string) (set digits) {
	for i := range set {
		set[i] = zeroDigit
	}
	from := len(set) - len(text)
	for i := range len(text) {
		switch c := text[i]; {
		case !isLetter(c):
			set[from+i] = 1 << (c - '0')
		case i == 0 && len(text) > 1:
			set[from] = anyDigit &^ zeroDigit
		default:
			set[from+i] = anyDigit
		}
	}
	return set
}

// has reports whether n is one of the numbers. It allocates nothing.
func (set *digits) has(n uint32) bool {
	for i := len(set) - 1; i >= 0; i-- {
		if set[i]>>(n%10)&1 == 0 {
			return false
		}
		n /= 10
	}
	return true
}

// and are the numbers of both.
func (set *digits) and(other *digits) (both digits) {
	for i := range set {
		both[i] = set[i] & other[i]
	}
	return both
}

// upTo returns how many of the numbers are at most limit, and the largest of them.
func (set *digits) upTo(limit uint32) (count float64, largest uint32) {
	var most [longestNumber]byte
	for i, n := len(set)-1, limit; i >= 0; i-- {
		most[i], n = byte(n%10), n/10
	}
	var behind [longestNumber + 1]float64 // the ways to fill up the places from one on
	behind[len(set)] = 1
	for i := len(set) - 1; i >= 0; i-- {
		behind[i] = behind[i+1] * float64(bits.OnesCount16(set[i]))
	}
	prefix := uint64(0)
	for i, mask := range set {
		if less := mask & (1<<most[i] - 1); less != 0 && behind[i+1] > 0 {
			count += float64(bits.OnesCount16(less)) * behind[i+1]
			largest = set.fill(i, prefix*10+uint64(bits.Len16(less)-1))
		}
		if mask>>most[i]&1 == 0 {
			return count, largest
		}
		prefix = prefix*10 + uint64(most[i])
	}
	return count + 1, limit
}

// fill puts the largest digits behind the place at to a number that ends there.
func (set *digits) fill(at int, n uint64) uint32 {
	for _, mask := range set[at+1:] {
		n = n*10 + uint64(bits.Len16(mask)-1)
	}
	return uint32(n)
}

// least is the least of the numbers, which may be larger than any place holds.
func (set *digits) least() (n uint64) {
	for _, mask := range set {
		n = n*10 + uint64(bits.TrailingZeros16(mask))
	}
	return n
}

// in is how many of the numbers up to limit are in some spans.
func (set *digits) in(spans []span, limit uint32) (count float64) {
	for _, sp := range spans {
		if sp.lo > limit {
			break
		}
		to, _ := set.upTo(min(sp.hi, limit))
		count += to
		if sp.lo > 0 {
			before, _ := set.upTo(sp.lo - 1)
			count -= before
		}
	}
	return count
}

// shaped is what a template's segment has beside its text.
type shaped struct {
	digits
	once sync.Once
	auto *automaton
}

// automaton is made when it is first asked for: only what is compared with an ERE or
// with fields needs one.
func (t *shaped) automaton(text string, widest uint32) *automaton {
	t.once.Do(func() { t.auto = compile(templateExpression(text), widest) })
	return t.auto
}

// common is how many numbers two segments have in common; false unless each is a
// template, a range or a set, and one is a template.
func common(a, b *segment) (count float64, ok bool) {
	switch {
	case a.form == template && b.form == template:
		both := a.shape.and(&b.shape.digits)
		count, _ = both.upTo(min(a.widest, b.widest))
	case a.form == template && b.form == ranged:
		count = a.shape.in(b.spans, a.widest)
	case a.form == ranged && b.form == template:
		count = b.shape.in(a.spans, b.widest)
	default:
		return 0, false
	}
	return count, true
}
