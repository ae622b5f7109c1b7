package policy

import (
	"fmt"
	"slices"
	"time"
)

// Verb is what an operator asks for.
type Verb uint8

// The verbs.
const (
	// Drain announces GSHUT for the service's drain time, then withdraws.
	Drain Verb = iota + 1
	// Withdraw withdraws at once.
	Withdraw
	// Announce keeps announcing as configured through soft failures and load.
	Announce
)

var verbNames = [...]string{"", "drain", "withdraw", "announce"}

// String gives the name of the command.
func (v Verb) String() string { return name(verbNames[:], int(v)) }

// MarshalText gives the name of the command.
func (v Verb) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText reads the name of a command.
func (v *Verb) UnmarshalText(text []byte) error {
	i := slices.Index(verbNames[1:], string(text))
	if i < 0 {
		return fmt.Errorf("policy: %q is not a verb: write drain, withdraw or announce", text)
	}
	*v = Verb(i + 1)
	return nil
}

// Override is an operator's word on one service, at one neighbour or at all.
type Override struct {
	Service  string `json:"service"`
	Neighbor string `json:"neighbor,omitempty"` // empty: all
	Verb     Verb   `json:"verb"`
	// Reason is the operator's, for others to read; By says who it was.
	Reason string    `json:"reason"`
	By     string    `json:"by,omitempty"`
	Since  time.Time `json:"since"`
	Until  time.Time `json:"until,omitzero"` // zero: until it is lifted
	// WithdrawAt ends the GSHUT of a Drain: withdrawn from then on. It is fixed
	// when the drain begins, so that nothing later announces again.
	WithdrawAt time.Time `json:"withdraw_at,omitzero"`
	// EvenIfDead lets Announce override a hard failure.
	EvenIfDead bool `json:"even_if_dead,omitempty"`
}

// Active says whether the override still holds.
func (o Override) Active(now time.Time) bool { return o.Until.IsZero() || now.Before(o.Until) }

// covers says whether the override speaks of a service at a neighbour.
func (o Override) covers(service, neighbor string) bool {
	return o.Service == service && (o.Neighbor == "" || o.Neighbor == neighbor)
}

// cause is what the override asks for at a time. A drain that began in the future
// (a clock that was set back) counts as over: what it withdrew stays withdrawn.
func (o Override) cause(now time.Time) Cause {
	c := Cause{Reason: Overridden, Detail: o.Verb.String() + ": " + o.Reason}
	switch o.Verb {
	case Withdraw:
		c.Severity = Withdrawn
	case Drain:
		c.Severity = Withdrawn
		if !now.Before(o.Since) && now.Before(o.WithdrawAt) {
			c.Severity = Draining
		}
	}
	return c
}
