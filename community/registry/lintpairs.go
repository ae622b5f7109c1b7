package registry

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"

	"github.com/catchment-bgp/catchment/community"
)

// mostAround bounds with how many entries around it one is compared.
const mostAround = 64

// span is an entry and the numbers that it is between.
type span struct {
	e           *Entry
	lo, hi      [3]uint32
	narrower    int // entries that take values from it
	firstTaker  *Entry
	singles     float64 // values with an entry of their own
	lastSingle  community.Value
	firstSingle *Entry
}

// pairs compares the entries of one owner with those around them. Each entry is opened
// at its least number, and closed behind its largest: those open at one time overlap.
func (l *linter) pairs() {
	spans := make([]*span, 0, len(l.entries))
	for i := range l.entries {
		s := &span{e: &l.entries[i]}
		s.lo, s.hi = s.e.Pattern.Bounds()
		spans = append(spans, s)
	}
	slices.SortStableFunc(spans, func(a, b *span) int {
		return cmp.Or(cmp.Compare(a.e.Owner, b.e.Owner), cmp.Compare(a.e.Pattern.Kind(), b.e.Pattern.Kind()),
			slices.Compare(a.lo[:], b.lo[:]), slices.Compare(b.hi[:], a.hi[:]))
	})
	var open []*span
	for i, s := range spans {
		if i > 0 && (s.e.Owner != spans[i-1].e.Owner || s.e.Pattern.Kind() != spans[i-1].e.Pattern.Kind()) {
			open = open[:0]
		}
		open = slices.DeleteFunc(open, func(o *span) bool { return slices.Compare(o.hi[:], s.lo[:]) < 0 })
		for _, o := range open {
			l.pair(o, s)
			l.compared++
		}
		if open = append(open, s); len(open) > mostAround {
			// The widest stay: what they say is most often overruled.
			open = slices.Delete(open, len(open)-2, len(open)-1)
		}
	}
	for _, s := range spans {
		switch {
		case s.singles > 0 && s.singles == s.e.Pattern.Count():
			l.put(Defect{Code: Shadowed, Level: Warning, Pattern: s.e.Pattern.String(), At: s.e.Source, Other: &s.firstSingle.Source,
				Words: fmt.Sprintf("each of its %.0f values has an entry of its own, %s and so on; it says nothing", s.singles, s.firstSingle.Pattern)})
		case s.narrower > 0:
			l.add(Shadowed, s.e, s.firstTaker, "%s, which is more specific, takes values from it%s", s.firstTaker.Pattern, andOthers(s.narrower-1))
		}
	}
}

func andOthers(n int) string {
	switch n {
	case 0:
		return ""
	case 1:
		return ", and so does 1 other"
	}
	return fmt.Sprintf(", and so do %d others", n)
}

// pair compares two entries of one owner.
func (l *linter) pair(a, b *span) {
	if b.e.Source.File == a.e.Source.File && b.e.Source.Line < a.e.Source.Line {
		a, b = b, a
	}
	p, q := a.e.Pattern, b.e.Pattern
	if !p.Overlaps(q) {
		return
	}
	a.own(b)
	b.own(a)
	same := Plain(a.e.Meaning) == Plain(b.e.Meaning)
	over, under := p.Covers(q), q.Covers(p)
	switch {
	case over && under && !same:
		l.add(Clash, b.e, a.e, "%q here, and %q there; one value has one meaning", b.e.Meaning, a.e.Meaning)
	case over && published(a.e, b.e):
		l.put(Defect{Code: Shadowed, Level: Warning, Pattern: q.String(), At: b.e.Source, Other: &a.e.Source,
			Words: fmt.Sprintf("%s stands before it and has all its values; who takes the first that matches never sees it", a.e.Pattern)})
	case same:
	case over && !under:
		a.take(b.e)
	case under && !over:
		b.take(a.e)
	default:
		l.add(Overlap, b.e, a.e, "some values mean %q here and %q there, and neither pattern is a part of the other", b.e.Meaning, a.e.Meaning)
	}
}

// own counts the values of s that have entries of their own. Those come in their order.
func (s *span) own(by *span) {
	v, single := by.e.Pattern.Value()
	if _, alsoSingle := s.e.Pattern.Value(); !single || alsoSingle || v == s.lastSingle || !s.e.Pattern.Match(v) {
		return
	}
	if s.firstSingle == nil {
		s.firstSingle = by.e
	}
	s.singles, s.lastSingle = s.singles+1, v
}

func (s *span) take(by *Entry) {
	if s.firstTaker == nil {
		s.firstTaker = by
	}
	s.narrower++
}

// published reports whether two entries stand in one document in which the first that
// matches counts: that of the YANG module (its draft, section 7.2).
func published(a, b *Entry) bool {
	return a.Source.File == b.Source.File && a.Source.Line < b.Source.Line && hasLayout(a.Pattern) && hasLayout(b.Pattern)
}

func hasLayout(p community.Pattern) bool {
	for place := range 3 {
		if _, ok := p.Layout(place); ok {
			return true
		}
	}
	return false
}

// use compares what is documented with what is used.
func (l *linter) use(inUse []Use) {
	if len(inUse) == 0 {
		return
	}
	r := New(l.entries...)
	used, told := map[identity]bool{}, map[string]bool{}
	for _, u := range inUse {
		known := false
		r.around(u.Pattern, func(e *Entry) {
			known = true
			used[e.identity()] = true
		})
		text := u.Pattern.String()
		if !known && !told[text] {
			told[text] = true
			l.put(Defect{Code: Undocumented, Pattern: text, At: u.Source, Words: "it is in use, and nothing says what it means"})
		}
	}
	for i := range l.entries {
		if e := &l.entries[i]; !used[e.identity()] {
			l.add(Unused, e, nil, "it is documented, and not in use")
		}
	}
}

// around yields the entries that have a value in common with a pattern.
func (r *Registry) around(p community.Pattern, yield func(*Entry)) {
	if v, ok := p.Value(); ok {
		r.Lookup(v, func(e *Entry) bool {
			yield(e)
			return true
		})
		return
	}
	for i := range r.entries {
		if e := &r.entries[i]; e.Pattern.Overlaps(p) {
			yield(e)
		}
	}
}

// largeVerbs are the verbs towards an AS for which an owner has a large community.
func (l *linter) largeVerbs() map[identity]bool {
	out := map[identity]bool{}
	for i := range l.entries {
		if e := &l.entries[i]; e.Pattern.Kind() == community.Large && e.Action != nil {
			out[identity{string(e.Action.Verb), e.Owner}] = true
		}
	}
	return out
}

// wide looks for ASNs of 4 octets that a standard community should name.
func (l *linter) wide(e *Entry, large map[identity]bool) {
	if e.Pattern.Kind() != community.Standard {
		return
	}
	for _, t := range e.Targets {
		switch {
		case t.Kind != AS:
		case t.ASN > 0xFFFF && slices.Contains(e.Pattern.Names(), t.Var):
			l.add(WideASN, e, nil, "AS%d does not fit into a standard community; write a large one", t.ASN)
		case t.Var != "" && len(e.Legends) == 0 && e.Action != nil && !large[identity{string(e.Action.Verb), e.Owner}]:
			l.put(Defect{Code: WideASN, Level: Note, Pattern: e.Pattern.String(), At: e.Source,
				Words: fmt.Sprintf("%s has no room for an ASN of 4 octets, and no large community does the same", t.Var)})
		}
	}
}

// standardValue is what looks like a standard community.
var standardValue = regexp.MustCompile(`(?:^|[^0-9:.])([0-9]{1,10}):([0-9]{1,10})(?:$|[^0-9:.])`)

// wideProblem tells of a value that the import refused because an ASN does not fit.
func (l *linter) wideProblem(p Problem) {
	for _, m := range standardValue.FindAllStringSubmatch(p.Text, 4) {
		left, errLeft := strconv.ParseUint(m[1], 10, 32)
		right, errRight := strconv.ParseUint(m[2], 10, 32)
		if errLeft != nil || errRight != nil || left <= 0xFFFF && right <= 0xFFFF {
			continue
		}
		l.put(Defect{Code: WideASN, Pattern: m[1] + ":" + m[2], At: Source{File: p.File, Line: p.Line},
			Words: fmt.Sprintf("a standard community has two numbers of 0..65535; a large one is %d:0:%d", left, right)})
	}
}
