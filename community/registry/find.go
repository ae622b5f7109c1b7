package registry

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/catchment-bgp/catchment/community"
)

// Query is what shall be done, by whom and towards whom.
type Query struct {
	// At is the AS that shall do it: the neighbour that gets the route.
	At     uint32
	Verb   Verb
	Number uint32 // of times or the value, with a verb that has one
	// Target is towards whom; the zero Target: all.
	Target Target
}

// String is the query in words, as commands take it.
func (q Query) String() string {
	s := fmt.Sprintf("%s at AS%d", q.Verb, q.At)
	if q.Verb.Numbered() {
		s = fmt.Sprintf("%s %d at AS%d", q.Verb, q.Number, q.At)
	}
	switch {
	case q.Target.ASN != 0:
		s += fmt.Sprintf(" towards AS%d", q.Target.ASN)
	case q.Target.Name != "":
		s += " towards " + q.Target.Name
	case q.Target.Kind != "" && q.Target.Kind != All:
		s += " towards " + string(q.Target.Kind)
	}
	return s
}

// Finding is a value that gets done what was asked for.
type Finding struct {
	Value community.Value `json:"value"`
	Entry Entry           `json:"entry"`
}

// nearestMost is how many near entries an answer has.
const nearestMost = 5

// Sure is the confidence from which on an entry may answer what Find is asked. What is
// less sure is only near: a wrong value sends traffic the wrong way.
const Sure = 0.75

// Find returns the values that ask q.At for what q says, best first: what is documented
// for that target alone, then by a pattern; standard communities before large ones. An
// entry that is for others too, that is less than [Sure] or whose value another entry of
// that AS says otherwise of does not answer. If none does, nearest are the entries of that
// AS that come closest.
func (r *Registry) Find(q Query) (found []Finding, nearest []Entry) {
	type near struct {
		score int
		entry *Entry
	}
	var nears []near
	for i := range r.entries {
		e := &r.entries[i]
		if e.Kind != KindAction || e.Owner != q.At && e.Owner != 0 || e.Owner == 0 && !everywhere(q) {
			continue
		}
		if v, ok := e.answers(q); ok && e.Confidence >= Sure && !r.contested(v, e) {
			found = append(found, Finding{v, *e})
		} else if score := e.nearness(q); score > 1 {
			nears = append(nears, near{score, e})
		}
	}
	if len(found) > 0 {
		slices.SortStableFunc(found, func(a, b Finding) int {
			return cmp.Or(cmp.Compare(a.Value.Kind(), b.Value.Kind()), cmp.Compare(b.Entry.Confidence, a.Entry.Confidence))
		})
		return found, nil
	}
	slices.SortStableFunc(nears, func(a, b near) int { return cmp.Compare(b.score, a.score) })
	for _, n := range nears[:min(len(nears), nearestMost)] {
		nearest = append(nearest, *n.entry)
	}
	return nil, nearest
}

// contested reports whether another entry of the same AS, as near to a value as e or
// nearer, says that it does something else.
func (r *Registry) contested(v community.Value, e *Entry) bool {
	does := e.explain(v).Action
	other := false
	r.Lookup(v, func(m *Entry) bool {
		if m.Owner != e.Owner {
			return true
		}
		if m.Pattern.String() != e.Pattern.String() && m.Pattern.Compare(e.Pattern) > 0 {
			return false
		}
		other = m != e && (m.Kind == KindAction || m.Kind == KindInfo) && !sameAction(m.explain(v).Action, does)
		return !other
	})
	return other
}

func sameAction(a, b *Action) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Verb == b.Verb && a.Var == b.Var && (a.Number == nil) == (b.Number == nil) && (a.Number == nil || *a.Number == *b.Number)
}

// everywhere reports whether what an RFC defines may answer: it has no target.
func everywhere(q Query) bool {
	return q.Target.Kind == "" || q.Target.Kind == All
}

// answers returns the value of an entry that does what q asks for.
func (e *Entry) answers(q Query) (community.Value, bool) {
	set := map[string]string{}
	if !e.does(q, set) || !e.aims(q.Target, set) {
		return community.Value{}, false
	}
	v, err := e.Pattern.Fill(func(name string) (string, bool) { d, ok := set[name]; return d, ok })
	return v, err == nil
}

// does reports whether an entry's action is the one asked for, with the digits that
// make it so in set.
func (e *Entry) does(q Query, set map[string]string) bool {
	for _, l := range e.Legends {
		if l.Action == nil || l.Action.Verb != q.Verb {
			continue
		}
		switch {
		case l.Action.Number != nil && *l.Action.Number == q.Number, !q.Verb.Numbered():
			set[l.Var] = firstDigits(l.Digits)
			return true
		case l.Action.Var == l.Var && inDigits(l.Digits, strconv.FormatUint(uint64(q.Number), 10)):
			set[l.Var] = strconv.FormatUint(uint64(q.Number), 10)
			return true
		}
	}
	if e.Action == nil || e.Action.Verb != q.Verb {
		return false
	}
	switch {
	case !q.Verb.Numbered():
		// Where the digits say what is done, only those of a legend do.
		return e.Action.Var == ""
	case e.Action.Number != nil:
		return *e.Action.Number == q.Number
	case e.Action.Var == "":
		return false
	}
	digits := strconv.FormatUint(uint64(q.Number), 10)
	if !e.allows(e.Action.Var, digits) {
		return false
	}
	set[e.Action.Var] = digits
	return true
}

// allows reports whether a variable may be some digits: any, unless legends say which.
func (e *Entry) allows(name, digits string) bool {
	told := false
	for _, l := range e.Legends {
		if l.Var != name {
			continue
		}
		told = true
		if inDigits(l.Digits, digits) {
			return l.Action == nil || l.Action.Verb == e.Action.Verb
		}
	}
	return !told
}

// aims reports whether an entry is for a target and nobody else, with the digits that
// make it so in set. Several targets may narrow each other (Cogent, in Europe) or add to
// each other; neither is what was asked for. Only a word for many beside a name says
// nothing more: Cogent, a transit.
func (e *Entry) aims(t Target, set map[string]string) bool {
	if t.Kind == "" {
		t.Kind = All
	}
	if len(e.Targets) == 0 {
		return t.Kind == All
	}
	one, somebody, crowd := false, false, false
	for _, have := range e.Targets {
		switch {
		case e.aimsAt(have, t, set):
			one, somebody = true, somebody || have.Kind == Named || have.Kind == AS
		case !slices.Contains(crowds, have.Kind):
			return false
		default:
			crowd = true
		}
	}
	return one && (!crowd || somebody || e.forAllPeers(t))
}

// forAllPeers reports whether a target is one of the two that are the same at a route
// server: all, and its peers.
func (e *Entry) forAllPeers(t Target) bool {
	return (t.Kind == All || t.Kind == Peers) && slices.Contains(e.Targets, Target{Kind: All}) && slices.Contains(e.Targets, Target{Kind: Peers})
}

// aimsAt reports whether one of the targets of an entry is the one asked for.
func (e *Entry) aimsAt(have, t Target, set map[string]string) bool {
	if have.Kind == Named && t.Name != "" {
		return Plain(have.Name) == Plain(t.Name)
	}
	if have.Kind != t.Kind {
		return false
	}
	switch {
	case have.Var != "" && t.ASN != 0 && e.codes(have.Var):
		digits, ok := e.codeOf(have.Var, t.ASN)
		set[have.Var] = digits
		return ok
	case have.Var != "" && t.ASN != 0:
		set[have.Var] = strconv.FormatUint(uint64(t.ASN), 10)
		return true
	case have.Var != "":
		digits, ok := e.legendOf(have.Var, t.Name)
		set[have.Var] = digits
		return ok
	case t.Kind == AS:
		return have.ASN == t.ASN
	}
	return t.Name == "" && have.Name == "" || t.Name != "" && strings.EqualFold(have.Name, t.Name)
}

// legendOf returns the digits that a legend gives a name.
func (e *Entry) legendOf(variable, name string) (string, bool) {
	for _, l := range e.Legends {
		if l.Var == variable && name != "" && Plain(l.Meaning) == Plain(name) {
			return firstDigits(l.Digits), true
		}
	}
	return "", false
}

// codes reports whether a variable for an AS is not its number, but a code that legends
// explain: 1 for Cogent (AS174).
func (e *Entry) codes(variable string) bool {
	return slices.ContainsFunc(e.Legends, func(l Legend) bool {
		_, ok := asIn(l.Meaning)
		return l.Var == variable && ok
	})
}

// codeOf returns the digits that a legend gives an AS.
func (e *Entry) codeOf(variable string, asn uint32) (string, bool) {
	for _, l := range e.Legends {
		if n, ok := asIn(l.Meaning); l.Var == variable && ok && n == asn {
			return firstDigits(l.Digits), true
		}
	}
	return "", false
}

// asIn reads the first AS number in a text: AS174.
func asIn(text string) (uint32, bool) {
	for w := range strings.FieldsFuncSeq(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		if len(w) > 2 && strings.EqualFold(w[:2], "as") {
			if n, ok := number(w[2:]); ok {
				return n, true
			}
		}
	}
	return 0, false
}

// nearness is how much of a query an entry answers; 0: nothing.
func (e *Entry) nearness(q Query) int {
	score := 0
	if e.Action != nil && e.Action.Verb == q.Verb || slices.ContainsFunc(e.Legends, func(l Legend) bool { return l.Action != nil && l.Action.Verb == q.Verb }) {
		score += 2
		if e.does(q, map[string]string{}) {
			score++
		}
	}
	switch {
	case !e.aims(q.Target, map[string]string{}):
	case everywhere(q): // most are for all
		score++
	default:
		score += 2
	}
	return score
}

// number reads digits.
func number(digits string) (uint32, bool) {
	n, err := strconv.ParseUint(digits, 10, 32)
	return uint32(n), err == nil
}

// inDigits reports whether digits are one of a legend's, which are a number, a range or
// several of them with commas; an empty one has all.
func inDigits(legend, digits string) bool {
	if legend == "" || legend == digits {
		return true
	}
	n, ok := number(digits)
	if !ok {
		return false
	}
	for part := range strings.SplitSeq(legend, ",") {
		lo, hi, isRange := strings.Cut(strings.TrimSpace(part), "-")
		if !isRange {
			hi = lo
		}
		from, okFrom := number(strings.TrimSpace(lo))
		to, okTo := number(strings.TrimSpace(hi))
		if okFrom && okTo && from <= n && n <= to {
			return true
		}
	}
	return false
}

// firstDigits is the first number of a legend.
func firstDigits(legend string) string {
	first, _, _ := strings.Cut(legend, ",")
	first, _, _ = strings.Cut(first, "-")
	return strings.TrimSpace(first)
}
