package registry

import (
	"cmp"
	"slices"
	"strings"

	"github.com/catchment-bgp/catchment/community"
)

// Registry is entries, ready to be looked up.
type Registry struct {
	entries []Entry // best first
	exact   map[community.Value][]int32
	first   map[firstKey][]int32 // patterns with one number at the first place
	rest    map[community.Kind][]int32
}

type firstKey struct {
	kind   community.Kind
	number uint32
}

// New makes a registry of entries and of the well-known communities. Entries that are
// the same but for their source are one, that of the first source.
func New(entries ...Entry) *Registry {
	r := &Registry{exact: map[community.Value][]int32{}, first: map[firstKey][]int32{}, rest: map[community.Kind][]int32{}}
	r.entries = unique(slices.Concat(entries, wellKnown()))
	slices.SortStableFunc(r.entries, better)
	for i := range r.entries {
		p := r.entries[i].Pattern
		if v, ok := p.Value(); ok {
			r.exact[v] = append(r.exact[v], int32(i))
		} else if n, ok := p.First(); ok {
			key := firstKey{p.Kind(), n}
			r.first[key] = append(r.first[key], int32(i))
		} else {
			r.rest[p.Kind()] = append(r.rest[p.Kind()], int32(i))
		}
	}
	return r
}

// unique leaves of equal entries the first.
func unique(entries []Entry) []Entry {
	type same struct {
		pattern, meaning string
		owner            uint32
		kind             community.Kind
	}
	seen := map[same]bool{}
	return slices.DeleteFunc(entries, func(e Entry) bool {
		key := same{e.Pattern.String(), Plain(e.Meaning), e.Owner, e.Pattern.Kind()}
		dup := seen[key]
		seen[key] = true
		return dup
	})
}

// Plain is a text for comparing: without case, without blanks and marks at its ends,
// and with single blanks.
func Plain(text string) string {
	return strings.Trim(strings.ToLower(strings.Join(strings.Fields(text), " ")), " .,;:-")
}

// better puts the more specific pattern first, then what the AS on the left documents
// itself, then what was understood more surely, then the later document.
func better(a, b Entry) int {
	ap, bp := a.Pattern, b.Pattern
	if ap.String() != bp.String() {
		if c := ap.Compare(bp); c != 0 {
			return c
		}
	}
	return cmp.Or(cmp.Compare(own(b), own(a)), cmp.Compare(b.Confidence, a.Confidence), b.Source.Date.Compare(a.Source.Date),
		cmp.Compare(a.Owner, b.Owner), cmp.Compare(a.Source.File, b.Source.File), cmp.Compare(a.Source.Line, b.Source.Line))
}

// own is 1 if the left number is that of the AS that documents the entry, or if it is
// everybody's.
func own(e Entry) int {
	if n, ok := e.Pattern.First(); e.Owner == 0 || ok && n == e.Owner {
		return 1
	}
	return 0
}

// Entries are all entries, best first. They may not be changed.
func (r *Registry) Entries() []Entry { return r.entries }

// Lookup yields the entries that match v, best first, until yield returns false. It
// allocates nothing.
func (r *Registry) Lookup(v community.Value, yield func(*Entry) bool) {
	for _, i := range r.exact[v] {
		if !yield(&r.entries[i]) {
			return
		}
	}
	var near []int32
	if n, ok := leftOf(v); ok {
		near = r.first[firstKey{v.Kind(), n}]
	}
	far := r.rest[v.Kind()]
	for len(near)+len(far) > 0 {
		var i int32
		if len(far) == 0 || len(near) > 0 && near[0] < far[0] {
			i, near = near[0], near[1:]
		} else {
			i, far = far[0], far[1:]
		}
		if e := &r.entries[i]; e.Pattern.Match(v) && !yield(e) {
			return
		}
	}
}

// leftOf is the number on the left of a value.
func leftOf(v community.Value) (uint32, bool) {
	if n, ok := v.Standard(); ok {
		return n >> 16, true
	}
	if n, ok := v.Large(); ok {
		return n[0], true
	}
	return v.Admin()
}

// Match is one explanation of a value.
type Match struct {
	Entry Entry
	// Bindings are what the pattern's variables stand for.
	Bindings []community.Binding
	// Action is the entry's action with its number, nil if it is none.
	Action *Action
	// Targets are the entry's, with the variables' numbers.
	Targets []Target
	// Meaning is the entry's, with what the legend says of the digits.
	Meaning string
}

// Explain returns all that documents say of a value, best first.
func (r *Registry) Explain(v community.Value) []Match {
	var out []Match
	r.Lookup(v, func(e *Entry) bool {
		out = append(out, e.explain(v))
		return true
	})
	return out
}

func (e *Entry) explain(v community.Value) Match {
	m := Match{Entry: *e, Action: e.Action, Targets: slices.Clone(e.Targets), Meaning: e.Meaning}
	m.Bindings, _ = e.Pattern.Bind(v)
	digits := map[string]string{}
	for _, b := range m.Bindings {
		digits[b.Name] = b.Text
	}
	for _, l := range e.Legends {
		if d, ok := digits[l.Var]; ok && inDigits(l.Digits, d) {
			m.Meaning += "; " + l.Var + " = " + d
			if !e.Tells(l) {
				m.Meaning += ": " + l.Meaning
			}
			if l.Action != nil {
				m.Action = l.Action
			}
		}
	}
	if m.Action != nil && m.Action.Var != "" {
		if n, ok := number(digits[m.Action.Var]); ok {
			m.Action = &Action{Verb: m.Action.Verb, Number: &n}
		}
	}
	for i, t := range m.Targets {
		if d, ok := digits[t.Var]; ok && t.Var != "" {
			if t.Kind == AS && e.codes(t.Var) {
				m.Targets[i] = e.coded(t.Var, d)
			} else if n, ok := number(d); ok && t.Kind == AS {
				m.Targets[i] = Target{Kind: AS, ASN: n}
			} else {
				m.Targets[i].Name = d
			}
		}
	}
	return m
}

// coded is the AS that digits stand for in a legend.
func (e *Entry) coded(variable, digits string) Target {
	for _, l := range e.Legends {
		if l.Var == variable && inDigits(l.Digits, digits) {
			if n, ok := asIn(l.Meaning); ok {
				return Target{Kind: AS, ASN: n, Name: l.Meaning}
			}
		}
	}
	return Target{Kind: AS, Name: digits}
}
