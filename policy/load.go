package policy

import (
	"net/netip"
	"time"

	"github.com/catchment-bgp/catchment/policy/control"
	"github.com/catchment-bgp/catchment/policy/flap"
)

// LoadConfig configures load control.
type LoadConfig struct {
	// Control has the mode, off by default, and the target.
	Control control.Config
	Flap    flap.Config
	// AllowWithdraw lets the ladders' withdrawals be used without a grant.
	AllowWithdraw bool
	// DwellUp is the least time on a rung before the next higher one, DwellDown
	// before the next lower one.
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
	// Landing is the share of what is shed here that is expected at our other
	// links, until it has been measured.
	Landing float64
	// Off says why nothing can be shed here, if so.
	Off string
}

// Climber is a neighbour with a ladder.
type Climber struct {
	Name string
	ASN  uint32
	Link string
	// Weight is the neighbour's share of its link's demand; 0: an equal part.
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
	// Sheds is the share of the neighbour's demand expected to leave, 0..1.
	Sheds float64
	// Withdraw takes the routes away.
	Withdraw bool
	// Leave says that others may withdraw for it (GSHUT, no-export and alike): it
	// is charged, and allowed, like a withdrawal.
	Leave bool
	// Prefixes that the rung touches; empty: all.
	Prefixes []netip.Prefix
}

// Sample is the newest figure of a link's load, or of the node's own resources.
type Sample struct {
	// Load and Capacity are in one unit, bit/s for links; of the node's resources
	// the capacity is 1. Capacity 0: as configured.
	Load, Capacity float64
	// At is when the figure was true; zero: there is none.
	At time.Time
}

// Session is what is known of a neighbour's BGP session.
type Session struct {
	Up bool
	// Losses counts how often it went down since the process began.
	Losses uint64
}

// Pin is an operator's word that a neighbour stays on a rung.
type Pin struct {
	Neighbor string    `json:"neighbor"`
	Rung     int       `json:"rung"`
	Reason   string    `json:"reason"`
	By       string    `json:"by,omitempty"`
	Since    time.Time `json:"since"`
	Until    time.Time `json:"until,omitzero"` // zero: until it is lifted
}

// LinkDecision is what was found and asked for on a link.
type LinkDecision struct {
	Name string
	// Known is false before the first figure.
	Known, Stale bool
	// Utilization is the load in shares of the capacity, Age that of its figure.
	Utilization float64
	Age         time.Duration
	// Shed, Slowdown and Drop are what the controller asks for.
	Shed, Slowdown, Drop float64
	// Absorb is true when there is more to shed than anything can take.
	Absorb bool
	// Detail says in a few words what holds back, if anything.
	Detail string
}

// ClimberDecision is where a neighbour stands on its ladder.
type ClimberDecision struct {
	Name string
	// Rung in force; 0: as configured.
	Rung int
	// Shed is what the rung is believed to shed of the neighbour's demand.
	Shed float64
	// Penalty is the highest that routers of the neighbour's AS may keep of us.
	Penalty float64
	// Detail says why it stands there.
	Detail string
}
