package policy

import (
	"time"

	"github.com/catchment-bgp/catchment/policy/control"
	"github.com/catchment-bgp/catchment/policy/flap"
)

// LoadState is what load control remembers. Its JSON form keeps the rungs, what
// was learned of them, and the flap ledger. Times of rungs and loads are those of
// the figures, so that nodes which see the same figures decide alike.
type LoadState struct {
	Links    []LinkState    `json:"links,omitempty"`
	Node     LinkState      `json:"-"`
	Climbers []ClimberState `json:"climbers,omitempty"`
	Ledger   flap.Ledger    `json:"ledger,omitzero"`
	// Moved is when this node last moved by itself.
	Moved time.Time `json:"moved,omitzero"`
	// Running is false of a state that was read from a file.
	Running bool `json:"-"`
	// Shown is what was announced last, for the ledger.
	Shown []Shown `json:"shown,omitempty"`
}

// LinkState is what is remembered of a link.
type LinkState struct {
	Name    string        `json:"name"`
	Control control.State `json:"-"`
	// Capacity is the newest known, in the unit of the samples.
	Capacity float64 `json:"-"`
	// InForce is the believed shed of the rungs in force, as a share of the link's
	// demand; Before is what it was before the last change, at Moved.
	InForce float64   `json:"in_force,omitempty"`
	Before  float64   `json:"before,omitempty"`
	Moved   time.Time `json:"moved,omitzero"`
	// OverSince is since when more should be shed; zero: it should not.
	OverSince time.Time `json:"-"`
	// Then is what its demand was when this node last moved.
	Then float64 `json:"-"`
	// Landed has where what it sheds was seen to land, by other link.
	Landed []Landed `json:"landed,omitempty"`
}

// Landed is the share of what one link sheds that was seen to land on another.
type Landed struct {
	Link  string  `json:"link"`
	Share float64 `json:"share"`
	// Weight is how often it was seen, at most a few times.
	Weight float64 `json:"weight"`
}

// ClimberState is what is remembered of one neighbour.
type ClimberState struct {
	Name string `json:"name"`
	// Epoch of the neighbour that this is about.
	Epoch string `json:"epoch,omitempty"`
	// Rung in force, the time of the figure that it was taken for, and when.
	Rung    int       `json:"rung"`
	Since   time.Time `json:"since,omitzero"`
	Changed time.Time `json:"changed,omitzero"`
	// Pinned is true while an operator holds the rung.
	Pinned bool `json:"pinned,omitempty"`
	// Learned has what the rungs were seen to shed, by rung less one.
	Learned []Learned `json:"learned,omitempty"`
	Trial   Trial     `json:"-"`
	// Futile is until when climbing is not tried again, having moved nothing, and
	// Futiles how often that was so since the load was last below the target.
	Futile  time.Time `json:"futile,omitzero"`
	Futiles int       `json:"futiles,omitempty"`
	// Idle is true on a rung that moved nothing; Back is the one before it.
	Idle bool `json:"idle,omitempty"`
	Back int  `json:"back,omitempty"`
	// LowSince is since when a step down would be safe; zero: it is not.
	LowSince time.Time `json:"-"`
	// Losses is how many session losses are in the ledger, Down whether the return
	// after one is still to be charged.
	Losses uint64 `json:"-"`
	Down   bool   `json:"-"`
}

// Learned is what a rung was seen to shed.
type Learned struct {
	Shed float64 `json:"shed"`
	// Weight is how often it was seen, at most a few times; Off how far apart.
	Weight float64   `json:"weight"`
	Off    float64   `json:"off"`
	At     time.Time `json:"at"`
}

// Shown is what one neighbour was last shown of one service: the severities but
// for load, of which the rung tells.
type Shown struct {
	Service  string   `json:"service"`
	Neighbor string   `json:"neighbor"`
	IPv4     Severity `json:"ipv4"`
	IPv6     Severity `json:"ipv6"`
	Rung     int      `json:"rung"`
	// Ever4 and Ever6 are true once the family was announced: what nobody ever had
	// is not announced again.
	Ever4 bool `json:"ever4,omitempty"`
	Ever6 bool `json:"ever6,omitempty"`
}

// counts is the rung by which it is judged what a climber sheds.
func (s *ClimberState) counts() int {
	if s.Idle {
		return min(s.Back, s.Rung)
	}
	return s.Rung
}

// below is the rung of the next step down.
func (s *ClimberState) below() int {
	if s.Idle {
		return s.counts()
	}
	return s.Rung - 1
}

func nameOfLink(s *LinkState) string       { return s.Name }
func nameOfClimber(s *ClimberState) string { return s.Name }

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
