package community

import (
	"strconv"
	"strings"
)

// Bounds returns the least and the largest number of p at each of its places. All
// values of p are between them, though not all values between them are p's. What has
// two numbers has 0 in the third place.
func (p Pattern) Bounds() (least, largest [3]uint32) {
	for i := range p.segs {
		least[i], largest[i] = p.segs[i].least, p.segs[i].largest
	}
	return least, largest
}

func (s *segment) bounds() (least, largest uint32) {
	switch {
	case s.form == literal:
		return s.lo, s.lo
	case s.form == anything:
		return 0, s.widest
	case s.form == ranged:
		return s.spans[0].lo, s.spans[len(s.spans)-1].hi
	case s.form == template:
		return uint32(s.shape.least()), s.largest
	case s.bits != nil:
		return s.bits.extreme(2, true), s.bits.extreme(2, false)
	}
	return s.auto.extreme(10, true), s.auto.extreme(10, false)
}

// extreme is the least or the largest number that is accepted. Of two numbers in digits
// without leading zeros the longer one is larger; those in bits have one length.
func (a *automaton) extreme(base uint64, least bool) uint32 {
	known := make([]int, len(a.next)) // digits from a state to the end, and 1
	better := func(x, y int) bool { return y == 0 || x != 0 && (x < y) == least }
	var length func(state int32) int
	length = func(state int32) int {
		if known[state] != 0 {
			return known[state]
		}
		best := 0
		for _, to := range a.next[state] {
			if to >= 0 {
				if n := length(to); n != 0 && better(n+1, best) {
					best = n + 1
				}
			}
		}
		if a.accept[state] && better(1, best) {
			best = 1
		}
		known[state] = best
		return best
	}
	n, state := uint64(0), int32(0)
	for rest := length(0); rest > 1; rest-- {
		digit, next := -1, int32(-1)
		for d, to := range a.next[state] {
			if to >= 0 && length(to) == rest-1 && (digit < 0 || !least) {
				digit, next = d, to
			}
		}
		n, state = n*base+uint64(digit), next
	}
	return uint32(n)
}

// Parts are the numbers of p as they are written, without what makes it extended.
func (p Pattern) Parts() []string {
	var out []string
	for i := range p.segs {
		out = append(out, p.segs[i].text)
	}
	return out
}

// Type returns the type and the sub-type of the extended communities that p is about;
// of rt: and ro:, which may have an ASN of 2 or of 4 octets, that of the ASN in it. It
// returns false if p is about another kind.
func (p Pattern) Type() (typ, subType byte, ok bool) {
	if p.kind != Extended {
		return 0, 0, false
	}
	if asn, _ := p.First(); !p.ext.exact && asn > 0xFFFF {
		return typeFourOctetAS, p.ext.subType, true
	}
	return p.ext.typ, p.ext.subType, true
}

// Expressions are, for each number of p, a POSIX ERE of digits and -.*?^$+|(){}[] that
// has the same numbers when it is anchored; "" where there is none. Fields have none,
// see [Pattern.Layout].
func (p Pattern) Expressions() []string {
	var out []string
	for i := range p.segs {
		out = append(out, p.segs[i].expression())
	}
	return out
}

func (s *segment) expression() string {
	switch s.form {
	case literal:
		return strconv.FormatUint(uint64(s.lo), 10)
	case anything:
		return ".*"
	case ranged:
		var all []string
		for _, sp := range s.spans {
			all = append(all, between(sp.lo, sp.hi)...)
		}
		return strings.Join(all, "|")
	case template:
		return digitsFor(templateExpression(s.text))
	case expressed:
		text := s.text
		if starred(text) {
			text = strings.ReplaceAll(text, "*", "[0-9]*")
		}
		if strings.Trim(text, "-0123456789.,*?^$+|(){}[]") == "" {
			return text
		}
	}
	return ""
}

// digitsFor is a template's expression with digits for its dots; the first digit of a
// number of several is no zero.
func digitsFor(expression string) string {
	parts := strings.Split(expression, "|")
	for i, part := range parts {
		if len(part) > 1 && part[0] == '.' {
			part = "[1-9]" + part[1:]
		}
		parts[i] = strings.ReplaceAll(part, ".", "[0-9]")
	}
	return strings.Join(parts, "|")
}
