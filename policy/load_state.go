package policy

import (
	"time"

	"github.com/catchment-bgp/catchment/policy/flap"
)

// LoadState is what load control remembers. Its JSON form keeps the rungs, what
// was learned of them, and the flap ledger.
type LoadState struct {
	Climbers []ClimberState `json:"climbers,omitempty"`
	Ledger   flap.Ledger    `json:"ledger,omitzero"`
}

// ClimberState is what is remembered of one neighbour.
type ClimberState struct {
	Name string `json:"name"`
	// Rung in force, and the time of the figure for which it was taken.
	Rung  int       `json:"rung"`
	Since time.Time `json:"since,omitzero"`
	// Epoch of the neighbour that this is about.
	Epoch string `json:"epoch,omitempty"`
	// Pinned is true while an operator holds the rung.
	Pinned bool `json:"pinned,omitempty"`
}

// find returns the element with a name: where it was last time, or elsewhere;
// nil: there is none.
func find[T any](s []T, at int, name string, nameOf func(*T) string) *T {
	if at < len(s) && nameOf(&s[at]) == name {
		return &s[at]
	}
	for i := range s {
		if nameOf(&s[i]) == name {
			return &s[i]
		}
	}
	return nil
}
