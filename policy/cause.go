package policy

import (
	"fmt"
	"slices"
	"strings"
)

// Severity is how far a service is taken back from a neighbour. The greater one
// wins.
type Severity uint8

// The severities.
const (
	// Announced: as configured.
	Announced Severity = iota
	// Steered: announced, but less preferred than other nodes.
	Steered
	// Draining: announced with GSHUT (RFC 8326), to be withdrawn soon.
	Draining
	// Withdrawn: not announced.
	Withdrawn
)

var severityNames = [...]string{"announced", "steered", "draining", "withdrawn"}

// String gives the name that status and metrics use.
func (s Severity) String() string { return name(severityNames[:], int(s)) }

// Reason names why a service stands where it stands. Its order is the rank: of
// several causes of one severity the first names the outcome.
type Reason uint8

// The reasons by rank.
const (
	Overridden Reason = iota + 1
	Maintenance
	HardFailure
	FleetLimit
	SoftFailure
	Load
	Normal
)

var reasonNames = [...]string{"", "override", "maintenance", "hard_failure", "fleet_limit", "soft_failure", "load", "normal"}

// String gives the name that status and metrics use.
func (r Reason) String() string { return name(reasonNames[:], int(r)) }

// Reasons lists all reasons by rank.
func Reasons() []Reason {
	return []Reason{Overridden, Maintenance, HardFailure, FleetLimit, SoftFailure, Load, Normal}
}

func name(names []string, i int) string {
	if i < len(names) && names[i] != "" {
		return names[i]
	}
	return fmt.Sprintf("invalid(%d)", i)
}

// unname finds the value with a name.
func unname[T ~uint8](v *T, names []string, text []byte, what string) error {
	i := slices.Index(names, string(text))
	if i < 0 {
		return fmt.Errorf("policy: %q is not %s", text, what)
	}
	*v = T(i)
	return nil
}

// MarshalText gives the name that status and metrics use.
func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads that name.
func (s *Severity) UnmarshalText(text []byte) error {
	return unname(s, severityNames[:], text, "a severity")
}

// MarshalText gives the name that status and metrics use; no reason has none.
func (r Reason) MarshalText() ([]byte, error) {
	if r == 0 {
		return nil, nil
	}
	return []byte(r.String()), nil
}

// UnmarshalText reads that name.
func (r *Reason) UnmarshalText(text []byte) error { return unname(r, reasonNames[:], text, "a reason") }

// Cause is one thing that bears on an announcement.
type Cause struct {
	Severity Severity
	Reason   Reason
	// Detail says in a few words what is the matter; it may be empty.
	Detail string
}

// Combine returns the cause that decides: the most severe, and of several such
// the one whose reason ranks first. Of several with the same reason the details
// are joined. Without causes a service is announced as normal.
func Combine(causes ...Cause) Cause {
	out := Cause{Announced, Normal, ""}
	for _, c := range causes {
		out = out.and(c)
	}
	return out
}

// and combines two causes; the zero Cause is none.
func (c Cause) and(d Cause) Cause {
	switch {
	case d.Reason == 0:
		return c
	case c.Reason == 0, d.Severity > c.Severity, d.Severity == c.Severity && d.Reason < c.Reason:
		return d
	case d.Severity == c.Severity && d.Reason == c.Reason:
		c.Detail = join(c.Detail, d.Detail)
	}
	return c
}

func join(a, b string) string {
	switch {
	case a == "" || strings.Contains(b, a):
		return b
	case b == "" || strings.Contains(a, b):
		return a
	}
	return a + "; " + b
}
