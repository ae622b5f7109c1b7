package flap

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// file is the JSON form of a ledger.
type file struct {
	Profiles  []string `json:"profiles"`
	Penalties []line   `json:"penalties"`
}

// line is the JSON form of an entry.
type line struct {
	Key
	At     time.Time `json:"at"`
	Points []float64 `json:"points"`
}

// MarshalJSON gives the profiles' names, and for each key, in order, when it was
// last charged and what the penalty of each profile was then.
func (l Ledger) MarshalJSON() ([]byte, error) {
	f := file{Profiles: append([]string{}, l.names...), Penalties: make([]line, len(l.entries))}
	for i, e := range l.entries {
		f.Penalties[i] = line{e.key, e.at.Round(0).UTC(), l.points[i*len(l.names):][:len(l.names)]}
	}
	return json.Marshal(f)
}

// UnmarshalJSON reads what MarshalJSON wrote, in any order. Whatever cannot be a
// penalty is an error that names the place; the ledger is then as it was.
func (l *Ledger) UnmarshalJSON(data []byte) error {
	var f file
	if err := json.Unmarshal(data, &f); err != nil {
		return fmt.Errorf("flap ledger: %w", err)
	}
	for i, p := range f.Penalties {
		if err := p.check(len(f.Profiles)); err != nil {
			return fmt.Errorf("flap ledger: penalty %d (AS %d, %v): %w", i, p.ASN, p.Prefix, err)
		}
	}
	slices.SortFunc(f.Penalties, func(a, b line) int { return a.Key.compare(b.Key) })
	out := Ledger{names: f.Profiles, cold: true}
	for i, p := range f.Penalties {
		if i > 0 && p.Key == f.Penalties[i-1].Key {
			return fmt.Errorf("flap ledger: AS %d, %v stands twice", p.ASN, p.Prefix)
		}
		out.entries = append(out.entries, entry{p.Key, p.At})
		out.points = append(out.points, p.Points...)
	}
	if len(out.entries) == 0 {
		out = Ledger{}
	}
	*l = out
	return nil
}

func (l line) check(profiles int) error {
	if plain, ok := l.Key.plain(); !ok || plain != l.Key {
		return fmt.Errorf("prefix %v: want a prefix without host bits", l.Prefix)
	}
	if year := l.At.UTC().Year(); l.At.IsZero() || year < 1 || year > 9999 {
		return fmt.Errorf("at %v: want a time of the years 1 to 9999", l.At)
	}
	if profiles == 0 || len(l.Points) != profiles {
		return fmt.Errorf("it has points for %d profiles of %d", len(l.Points), profiles)
	}
	for _, v := range l.Points {
		if !(v >= 0 && v <= mostPenalty) {
			return fmt.Errorf("points %v: want 0 to %v", v, mostPenalty)
		}
	}
	return nil
}
