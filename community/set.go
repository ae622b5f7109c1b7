package community

import (
	"encoding/json"
	"slices"
)

// Set is a set of communities: sorted by [Compare] and without repeats. NewSet
// and the methods make Sets; a Set must not be changed in place, nor built from
// a literal of more than one value. Sets may share memory. Nil is the empty set.
type Set []Value

// NewSet returns the set of values, which it copies. The zero Value, which is no
// community, is left out.
func NewSet(values ...Value) Set {
	s := make(Set, 0, len(values))
	for _, v := range values {
		if v != (Value{}) {
			s = append(s, v)
		}
	}
	if len(s) == 0 {
		return nil
	}
	slices.SortFunc(s, Compare)
	return slices.Compact(s)
}

// Union returns the values that are in s or in t.
func (s Set) Union(t Set) Set {
	return NewSet(slices.Concat(s, t)...)
}

// Without returns the values of s that are not in t.
func (s Set) Without(t Set) Set {
	var out Set
	for _, v := range s {
		if !t.Contains(v) {
			out = append(out, v)
		}
	}
	return out
}

// Of returns the values of s that are of kind k.
func (s Set) Of(k Kind) Set {
	from, _ := slices.BinarySearchFunc(s, k, func(v Value, k Kind) int { return int(v.kind) - int(k) })
	to := from
	for to < len(s) && s[to].kind == k {
		to++
	}
	if from == to {
		return nil
	}
	return s[from:to:to]
}

// Contains reports whether v is in s.
func (s Set) Contains(v Value) bool {
	_, found := slices.BinarySearchFunc(s, v, Compare)
	return found
}

// Equal reports whether s and t hold the same values; nil and empty are equal.
func (s Set) Equal(t Set) bool { return slices.Equal(s, t) }

// Strings returns the canonical text of each value, in the order of the set. It
// is never nil.
func (s Set) Strings() []string {
	out := make([]string, len(s))
	for i, v := range s {
		out[i] = v.String()
	}
	return out
}

// MarshalJSON writes a JSON array of texts: [] if s is empty, never null.
func (s Set) MarshalJSON() ([]byte, error) { return json.Marshal(s.Strings()) }

// UnmarshalJSON reads a JSON array of texts, in any order and with repeats. On
// an error s is unchanged.
func (s *Set) UnmarshalJSON(b []byte) error {
	return s.read(func(v any) error { return json.Unmarshal(b, v) })
}

// UnmarshalYAML reads a YAML sequence of texts, in any order and with repeats.
// On an error s is unchanged.
func (s *Set) UnmarshalYAML(unmarshal func(any) error) error { return s.read(unmarshal) }

// read sets s to the texts that unmarshal finds.
func (s *Set) read(unmarshal func(any) error) error {
	var texts []string
	if err := unmarshal(&texts); err != nil {
		return err
	}
	values := make([]Value, len(texts))
	for i, text := range texts {
		var err error
		if values[i], err = Parse(text); err != nil {
			return err
		}
	}
	*s = NewSet(values...)
	return nil
}
