package policy

import (
	"net/netip"
	"slices"
	"time"

	"github.com/catchment-bgp/catchment/policy/control"
	"github.com/catchment-bgp/catchment/policy/flap"
)

// LoadConfig configures load control. Its zero value is: none.
type LoadConfig struct {
	// Control has the mode, off by default, the target and the curves.
	Control control.Config
	Flap    flap.Config
	// AllowWithdraw lets rungs be used that withdraw, or make others withdraw.
	AllowWithdraw bool
	// UpAfter is how long more must be wanted before a step up; 0: 20 s.
	UpAfter time.Duration
	// DwellUp is the least time on a rung before the next higher one (half of it
	// while the load is over the capacity), DwellDown before the next lower one.
	DwellUp, DwellDown time.Duration
	// DownAfter is how long the load must be low before a step down.
	DownAfter time.Duration
	// Seed makes the jitter: the same for nodes that shall move alike.
	Seed     string
	Links    []Link
	Climbers []Climber
}

// Link is what traffic crosses.
type Link struct {
	Name string
	// Capacity is in the unit of its samples; 0: that of the sample counts.
	Capacity float64
	// Period is the time between its figures: after three without one it is stale.
	Period time.Duration
	// Landing is the share of what is shed here, 0..1, that is expected at our
	// other links, until it has been measured.
	Landing float64
	// Off says why nothing can be shed here, if so.
	Off string
}

// Climber is a neighbour as load control sees it. One without rungs is only
// charged for what its AS is shown.
type Climber struct {
	Name string
	ASN  uint32
	Link string
	// Weight is the neighbour's share of its link's demand; 0: an equal part of
	// what the others leave.
	Weight float64
	// Rungs from the first above "as configured" to the top.
	Rungs []Rung
	// Share is the node's part of the flap budget at the neighbour's AS.
	Share flap.Share
	// Epoch names the neighbour as it is: when it changes, what was learned of
	// its ladder is forgotten.
	Epoch string
}

// Rung is one step of a ladder.
type Rung struct {
	// Sheds is the share of the neighbour's demand, 0..1, expected to be gone on
	// this rung.
	Sheds float64
	// Withdraw takes the routes away.
	Withdraw bool
	// Leave says that others may withdraw for it (GSHUT, no-export and alike): it
	// is charged, and allowed, like a withdrawal.
	Leave bool
	// Prefixes that the rung touches; empty: all.
	Prefixes []netip.Prefix
}

// Governs returns the rung whose values hold for a prefix while the climber stands
// on a rung: the highest up to there that touches it; 0: as configured.
func (c Climber) Governs(rung int, p netip.Prefix) int {
	for r := min(rung, len(c.Rungs)); r > 0; r-- {
		if ps := c.Rungs[r-1].Prefixes; len(ps) == 0 || slices.Contains(ps, p) {
			return r
		}
	}
	return 0
}

// Sample is the newest figure of a link's load, or of the node's own resources.
type Sample struct {
	// Load and Capacity are in one unit, bit/s for links; of the node's resources
	// the capacity is 1. Capacity 0: as configured.
	Load     float64 `json:"load"`
	Capacity float64 `json:"capacity,omitempty"`
	// At is when the figure was true; zero: there is none.
	At time.Time `json:"at"`
}

// Session is what is known of a neighbour's BGP session.
type Session struct {
	Up bool `json:"up"`
	// Losses counts how often it went down since the process began.
	Losses uint64 `json:"losses"`
}

// Pin is an operator's word that a neighbour stays on a rung.
type Pin struct {
	Neighbor string `json:"neighbor"`
	// Rung to stand on; one past the top is the top.
	Rung   int       `json:"rung"`
	Reason string    `json:"reason"`
	By     string    `json:"by,omitempty"`
	Since  time.Time `json:"since"`
	Until  time.Time `json:"until,omitzero"` // zero: until it is lifted
}

// Active says whether the pin still holds.
func (p Pin) Active(now time.Time) bool { return p.Until.IsZero() || now.Before(p.Until) }
