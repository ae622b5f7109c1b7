package community

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// Compare puts the more specific pattern first: one value, then ranges and sets,
// then templates, those with the fewest digits left open first, then what bounds no
// number of digits, then placeholders. Of equal ones that with fewer values is first,
// then the text decides.
func (p Pattern) Compare(q Pattern) int {
	pr, qr := p.rank(), q.rank()
	return cmp.Or(cmp.Compare(pr.class, qr.class), cmp.Compare(pr.open, qr.open), cmp.Compare(pr.values, qr.values), cmp.Compare(p.text, q.text))
}

type rank struct {
	class  int     // of the least specific segment
	open   int     // digits or numbers left open
	values float64 // how many are matched, at most
}

func (p Pattern) rank() rank {
	r := rank{values: 1}
	for i := range p.segs {
		s := &p.segs[i]
		class, open := s.class()
		r.class, r.open, r.values = max(r.class, class), r.open+open, r.values*s.count
	}
	return r
}

// Count is how many values p has, of an extended community without those that another
// type of the same numbers makes.
func (p Pattern) Count() float64 {
	if p.kind == 0 {
		return 0
	}
	return p.rank().values
}

// Covers reports whether every value of q is one of p. One of a certain type of
// extended communities is taken to cover no rt: or ro:, which have two. Fields of bits
// that are too many to be compared with digits are taken not to cover.
func (p Pattern) Covers(q Pattern) bool {
	if !p.comparable(q) || p.ext.exact && !q.ext.exact {
		return false
	}
	for i := range p.segs {
		if q.segs[i].least < p.segs[i].least || q.segs[i].largest > p.segs[i].largest {
			return false
		}
	}
	for i := range p.segs {
		if !covers(&p.segs[i], &q.segs[i]) {
			return false
		}
	}
	return true
}

// Overlaps reports whether p and q have a value in common. Fields of bits that are too
// many to be compared with digits are taken to have one.
func (p Pattern) Overlaps(q Pattern) bool {
	if !p.comparable(q) {
		return false
	}
	for i := range p.segs {
		if p.segs[i].largest < q.segs[i].least || q.segs[i].largest < p.segs[i].least {
			return false
		}
	}
	for i := range p.segs {
		if !overlaps(&p.segs[i], &q.segs[i]) {
			return false
		}
	}
	return true
}

// Same reports whether p and q have the same numbers, in whatever spelling. A certain type
// of extended communities and the rt: or ro: that stands for it count as the same.
func (p Pattern) Same(q Pattern) bool {
	if !p.comparable(q) {
		return false
	}
	for i := range p.segs {
		a, b := &p.segs[i], &q.segs[i]
		if a.least != b.least || a.largest != b.largest || !covers(a, b) || !covers(b, a) {
			return false
		}
	}
	return true
}

func (p Pattern) comparable(q Pattern) bool {
	return p.kind != 0 && p.kind == q.kind && p.ext.subType == q.ext.subType &&
		(!p.ext.exact || !q.ext.exact || p.ext.typ == q.ext.typ) &&
		(p.ext.exact == q.ext.exact || p.ext.typ&nonTransitive == q.ext.typ&nonTransitive)
}

// class is how specific the segment is, and how much it leaves open.
func (s *segment) class() (class, open int) {
	switch s.form {
	case literal:
		return 0, 0
	case ranged:
		return 1, 0
	case template:
		return 2, s.open
	case fielded:
		return s.rankClass, s.open
	case expressed:
		if s.auto.bounded {
			return 1, 0
		}
		if s.count > float64(s.widest) {
			return 4, 1
		}
		return 3, 1
	}
	return 4, 1
}

// automaton returns the numbers of any segment as one.
func (s *segment) automaton() *automaton {
	switch s.form {
	case literal:
		return compile(strconv.FormatUint(uint64(s.lo), 10), s.widest)
	case anything:
		return numbersUpTo(s.widest)
	case template:
		return s.shape.automaton(s.text, s.widest)
	case ranged:
		var all []string
		for _, sp := range s.spans {
			all = append(all, between(sp.lo, sp.hi)...)
		}
		return compile(strings.Join(all, "|"), s.widest)
	}
	return s.auto
}

// covers reports whether all of b's numbers are a's.
func covers(a, b *segment) bool {
	only, single := b.single()
	switch {
	case a.form == anything:
		return true
	case single:
		return a.match(only)
	case a.count < b.count:
		return false
	case a.form == ranged && b.form == ranged:
		return !slices.ContainsFunc(b.spans, func(sp span) bool { return !a.holds(sp) })
	case a.bits != nil && b.bits != nil:
		return a.bits.covers(b.bits)
	case a.bits != nil:
		return bitsCover(a, b)
	case b.bits != nil:
		return coverBits(a, b)
	}
	if n, ok := common(a, b); ok {
		return n == b.count
	}
	return a.automaton().covers(b.automaton())
}

// holds reports whether all numbers of a span are in one of the segment's, which do not
// touch each other.
func (s *segment) holds(sp span) bool {
	return slices.ContainsFunc(s.spans, func(own span) bool { return own.lo <= sp.lo && sp.hi <= own.hi })
}

// overlaps reports whether the two have a number in common.
func overlaps(a, b *segment) bool {
	if only, single := a.single(); single {
		return b.match(only)
	}
	if only, single := b.single(); single {
		return a.match(only)
	}
	switch {
	case a.form == anything || b.form == anything:
		return true
	case a.form == ranged && b.form == ranged:
		return slices.ContainsFunc(a.spans, func(x span) bool {
			return slices.ContainsFunc(b.spans, func(y span) bool { return x.lo <= y.hi && y.lo <= x.hi })
		})
	case a.bits != nil && b.bits != nil:
		return a.bits.meets(b.bits)
	case a.bits != nil:
		return meetBits(a, b)
	case b.bits != nil:
		return meetBits(b, a)
	}
	if n, ok := common(a, b); ok {
		return n > 0
	}
	return a.automaton().meets(b.automaton())
}
