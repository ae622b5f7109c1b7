package registry

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/catchment-bgp/catchment/community"
)

// DifferenceCode says how two sets of entries differ.
type DifferenceCode string

// The codes of Diff, and those of Verify.
const (
	Added   DifferenceCode = "added"   // only the second has it
	Removed DifferenceCode = "removed" // only the first has it
	Changed DifferenceCode = "changed" // both have the pattern, and mean something else
	Missing DifferenceCode = "missing" // ours, and not published
	Wrong   DifferenceCode = "wrong"   // published with another meaning than ours
	Stale   DifferenceCode = "stale"   // published, and not ours any more
)

// Difference is an entry that one of two sets lacks, or has otherwise.
type Difference struct {
	Code    DifferenceCode
	Pattern string
	Words   string // what differs
	A, B    *Entry // that of the first and of the second set; nil: none
}

// MarshalJSON writes code, pattern, text, a and b, of which one may be null.
func (d Difference) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Code    DifferenceCode `json:"code"`
		Pattern string         `json:"pattern"`
		Text    string         `json:"text"`
		A       *Entry         `json:"a"`
		B       *Entry         `json:"b"`
	}{d.Code, d.Pattern, d.Words, d.A, d.B})
}

// String is CODE PATTERN: WORDS (PLACE; PLACE).
func (d Difference) String() string {
	var at []string
	for _, e := range []*Entry{d.A, d.B} {
		if e != nil {
			at = append(at, e.Source.String())
		}
	}
	return fmt.Sprintf("%s %s: %s (%s)", d.Code, d.Pattern, d.Words, strings.Join(at, "; "))
}

// String is FILE:LINE, or FILE where there is no line.
func (s Source) String() string {
	if s.Line == 0 {
		return s.File
	}
	return fmt.Sprintf("%s:%d", s.File, s.Line)
}

// Diff returns how b differs from a, in the order of the patterns; the result is never
// nil. Entries are the same if their values are, in whatever spelling, and their owner, and
// if they say the same: case, blanks and marks at the ends of a meaning do not count. It takes time in proportion to
// the number of entries.
func Diff(a, b []Entry) []Difference {
	return compare(a, b, differs, [3]DifferenceCode{Removed, Changed, Added})
}

// Verify returns what is published otherwise than ours, in the order of the patterns; the
// result is never nil. A meaning that was written in Latin-1 for the RIPE DB is the same,
// and so is an entry whose kind or action only one side knows.
func Verify(published, ours []Entry) []Difference {
	return compare(published, ours, misleads, [3]DifferenceCode{Stale, Wrong, Missing})
}

// identity is what makes two entries about the same.
type identity struct {
	pattern string
	owner   uint32
}

func (e *Entry) identity() identity {
	if v, ok := e.Pattern.Value(); ok {
		return identity{v.Typed(), e.Owner}
	}
	return identity{e.Pattern.String(), e.Owner}
}

// about is what entries of the same values have alike.
type about struct {
	kind           community.Kind
	owner          uint32
	least, largest [3]uint32
}

// sides are the entries of the same values, of the first set and of the second.
type sides struct{ a, b []*Entry }

// group puts the entries of both sets together that have the same values, in whatever
// spelling. Of those between the same bounds mostAlike spellings are compared.
func group(a, b []Entry) []*sides {
	var all []*sides
	same := map[identity]*sides{}
	near := map[about][]*sides{}
	at := func(e *Entry) *sides {
		id := e.identity()
		if s := same[id]; s != nil {
			return s
		}
		least, largest := e.Pattern.Bounds()
		key := about{e.Pattern.Kind(), e.Owner, least, largest}
		for _, s := range near[key][:min(len(near[key]), mostAlike)] {
			if first := slices.Concat(s.a, s.b)[0]; first.Pattern.Same(e.Pattern) {
				same[id] = s
				return s
			}
		}
		s := &sides{}
		same[id], near[key], all = s, append(near[key], s), append(all, s)
		return s
	}
	for i := range a {
		s := at(&a[i])
		s.a = append(s.a, &a[i])
	}
	for i := range b {
		s := at(&b[i])
		s.b = append(s.b, &b[i])
	}
	return all
}

func compare(a, b []Entry, differ func(a, b *Entry) string, codes [3]DifferenceCode) []Difference {
	out := []Difference{}
	for _, s := range group(a, b) {
		s.a, s.b = unlike(s.a, s.b, differ)
		for len(s.a) > 0 && len(s.b) > 0 {
			out = append(out, Difference{codes[1], s.b[0].Pattern.String(), differ(s.a[0], s.b[0]), s.a[0], s.b[0]})
			s.a, s.b = s.a[1:], s.b[1:]
		}
		for _, e := range s.a {
			out = append(out, Difference{codes[0], e.Pattern.String(), e.Meaning, e, nil})
		}
		for _, e := range s.b {
			out = append(out, Difference{codes[2], e.Pattern.String(), e.Meaning, nil, e})
		}
	}
	slices.SortFunc(out, func(x, y Difference) int {
		ex, ey := cmp.Or(x.B, x.A), cmp.Or(y.B, y.A)
		return cmp.Or(inOrder(ex, ey), cmp.Compare(x.Code, y.Code), cmp.Compare(ex.Source.Line, ey.Source.Line))
	})
	return out
}

// mostAlike bounds how many entries of the same values, and how many spellings between the
// same bounds, are compared each with each.
const mostAlike = 64

// unlike takes the pairs that do not differ out, but for what one pattern has too many
// entries of.
func unlike(a, b []*Entry, differ func(a, b *Entry) string) (restA, restB []*Entry) {
	for _, x := range a {
		i := slices.IndexFunc(b[:min(len(b), mostAlike)], func(y *Entry) bool { return differ(x, y) == "" })
		if i < 0 {
			restA = append(restA, x)
			continue
		}
		b = slices.Delete(b, i, i+1)
	}
	return restA, b
}

// inOrder sorts entries by the numbers of their patterns.
func inOrder(a, b *Entry) int {
	loA, hiA := a.Pattern.Bounds()
	loB, hiB := b.Pattern.Bounds()
	return cmp.Or(cmp.Compare(a.Pattern.Kind(), b.Pattern.Kind()), slices.Compare(loA[:], loB[:]), slices.Compare(hiA[:], hiB[:]),
		cmp.Compare(a.Pattern.String(), b.Pattern.String()), cmp.Compare(a.Owner, b.Owner))
}

// differs says in words what b has otherwise than a; "": nothing.
func differs(a, b *Entry) string {
	var words []string
	if Plain(a.Meaning) != Plain(b.Meaning) {
		words = append(words, fmt.Sprintf("%q became %q", a.Meaning, b.Meaning))
	}
	if a.Kind != b.Kind {
		words = append(words, fmt.Sprintf("kind %s became %s", a.Kind, b.Kind))
	}
	if !reflect.DeepEqual(a.Action, b.Action) {
		words = append(words, fmt.Sprintf("action %s became %s", a.Action, b.Action))
	}
	if !slices.Equal(a.Targets, b.Targets) {
		words = append(words, "the targets changed")
	}
	if !slices.EqualFunc(a.Legends, b.Legends, func(x, y Legend) bool { return reflect.DeepEqual(x, y) }) {
		words = append(words, "the legend changed")
	}
	return strings.Join(words, "; ")
}

// misleads says in words what is published wrongly.
func misleads(published, ours *Entry) string {
	var words []string
	if latin(published.Meaning) != latin(ours.Meaning) && latin(published.Meaning) != latin(ours.inFull()) {
		words = append(words, fmt.Sprintf("published %q, ours %q", published.Meaning, ours.Meaning))
	}
	if published.Kind != ours.Kind && published.Kind != KindUnknown && ours.Kind != KindUnknown {
		words = append(words, fmt.Sprintf("published as %s, ours is %s", published.Kind, ours.Kind))
	}
	if published.Action != nil && ours.Action != nil && !reflect.DeepEqual(published.Action, ours.Action) {
		words = append(words, fmt.Sprintf("published action %s, ours %s", published.Action, ours.Action))
	}
	return strings.Join(words, "; ")
}

// inFull is the meaning with what the legends say behind it, as the forms have it that
// have no place for legends.
func (e *Entry) inFull() string {
	text := e.Meaning
	for _, l := range e.Legends {
		if l.Meaning != "*" {
			text += "; " + l.String()
		}
	}
	return text
}

func latin(meaning string) string {
	text, _ := Latin1(meaning)
	return Plain(text)
}

// String is the verb, with its number or variable; "none" of nil.
func (a *Action) String() string {
	switch {
	case a == nil:
		return "none"
	case a.Number != nil:
		return fmt.Sprintf("%s %d", a.Verb, *a.Number)
	case a.Var != "":
		return fmt.Sprintf("%s %s", a.Verb, a.Var)
	}
	return string(a.Verb)
}
