package config

import (
	"slices"
	"time"

	"github.com/catchment-bgp/catchment/community"
	"github.com/catchment-bgp/catchment/load"
)

// LoadMode names a load controller.
type LoadMode string

// The load controllers.
const (
	LoadOff       LoadMode = "off"
	LoadThreshold LoadMode = "threshold"
	LoadCurve     LoadMode = "curve"
	LoadDamped    LoadMode = "damped"
	LoadPI        LoadMode = "pi"
)

// LoadControl configures the load controller of the node.
type LoadControl struct {
	// Mode is LoadOff by default, and LoadPI where a link has a capacity.
	Mode LoadMode
	// Target is the share of the capacity to hold.
	Target        float64
	Interval      time.Duration
	AllowWithdraw bool
	// DwellUp and DwellDown are the least times on a rung before the next one up
	// and down, DownAfter how long the load must allow a step down before it.
	DwellUp   time.Duration
	DwellDown time.Duration
	DownAfter time.Duration
	// DeadTime is how long a change may take to show in full.
	DeadTime time.Duration
	// Slowdown is the share of new sessions that should go elsewhere, Drop that of
	// current ones, by the load: corners of lines, of growing load. Empty: the
	// controller's own.
	Slowdown, Drop []Point
	Flap           Flap
	// Node is what of the machine itself is watched; its VIPs are left empty.
	Node load.Resources
	// Quality is the time between two looks at how connections fare; 0: none.
	Quality time.Duration
}

// Point is a corner of a curve: at a load, in shares of the capacity, what share
// of the demand shall go elsewhere.
type Point struct{ Load, Share float64 }

// Flap says how others damp a prefix that flaps (RFC 2439), which automatic
// changes must never reach.
type Flap struct {
	// Profiles are the makers whose defaults are kept to.
	Profiles []FlapProfile
	// Exploration multiplies what one change of ours costs elsewhere.
	Exploration float64
	// Margin is the part of the suppress threshold, 0..1, that is never used.
	Margin float64
}

// FlapProfile names a maker of routers.
type FlapProfile string

// The makers.
const (
	FlapCisco   FlapProfile = "cisco"
	FlapJuniper FlapProfile = "juniper"
)

// MayWithdraw tells whether a rung takes routes away, or may make the neighbour
// take them away from others: GSHUT, communities that limit where a route goes
// (RFC 1997, RFC 3765, RFC 7999), what `steer` finds to do so, and what `leaves: true`
// says so of.
func (r *Rung) MayWithdraw() bool {
	return r.Withdraw || r.GSHUT || r.Leaves || r.Steer != nil && takesAway(r.Steer.Verb) || slices.ContainsFunc(r.Communities, limits)
}

func limits(v community.Value) bool {
	switch v {
	case community.NoExport, community.NoAdvertise, community.NoExportSubconfed, community.NoPeer, community.Blackhole, community.GracefulShutdown:
		return true
	}
	return false
}
