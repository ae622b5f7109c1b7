package sim

import (
	"net/netip"
	"time"

	"github.com/catchment-bgp/catchment/policy/control"
)

// Scenario is a world and what happens in it. Rates are in bit/s, shares 0..1,
// times count from the start of the run.
type Scenario struct {
	Name, About string
	// Duration is that of a run, Step that of one step of it.
	Duration, Step time.Duration
	// Actuator is what a controller moves: routes or sessions.
	Actuator Actuator
	Sessions Sessions
	Metrics  Metrics
	BGP      BGP
	Load     Load
	Prefixes []Prefix
	Sites    []Site
	Groups   []Group
	Events   []Event
	// Window is when swings are measured: after a surge has settled.
	Window Window
	// Variants are the same scenario with some values changed.
	Variants []*Scenario
}

// Actuator is what a controller moves.
type Actuator uint8

// The actuators.
const (
	// ByRoutes moves clients by what is announced: the neighbours' ladders.
	ByRoutes Actuator = iota
	// BySessions refuses new sessions and moves current ones.
	BySessions
)

// Sessions says what a session is.
type Sessions struct {
	// Bitrate of one.
	Bitrate float64
	// Min and Max are the bounds of its length, which is uniform between them.
	Min, Max time.Duration
	// Segment is the time between two requests of one.
	Segment time.Duration
	// Sticky sessions stay where they were moved to; others try their first
	// choice again at each segment.
	Sticky bool
}

// Metrics says how the load becomes known.
type Metrics struct {
	// Period is the time between two figures, Delay how late each is.
	Period, Delay time.Duration
	// Mean has a figure be the mean of its period, not the load at one moment.
	Mean bool
	// Noise is the standard deviation of a figure, as a share of it.
	Noise float64
}

// BGP says how the Internet takes changes in.
type BGP struct {
	// DeadMin and DeadMax bound the time until a group of clients follows a
	// change: uniform between them, drawn for each group and change.
	DeadMin, DeadMax time.Duration
	// Damping are those who damp.
	Damping []Damping
	// Exploration is how many updates a group sees for one change.
	Exploration float64
}

// Damping is a share of the groups that damp routes (RFC 2439) by a maker's
// defaults.
type Damping struct {
	Share float64
	Maker Maker
}

// Maker names defaults for damping.
type Maker string

// The makers.
const (
	Cisco   Maker = "cisco"
	Juniper Maker = "juniper"
)

// Load is how the controllers are configured.
type Load struct {
	Target float64
	// Slowdown and Drop are the curves of new and current sessions; empty: the
	// controller's own.
	Slowdown, Drop []control.Point
	DwellUp        time.Duration
	DwellDown      time.Duration
	DownAfter      time.Duration
	// DeadTime is what the controller believes a move takes to show.
	DeadTime time.Duration
	// AllowWithdraw lets ladders' withdrawals be used without a grant.
	AllowWithdraw bool
	// Error is how wrong the configured sheds of the rungs are: each neighbour's
	// are too high or too low by this share.
	Error float64
	// Ledger says which makers' damping the flap ledger keeps to, with which path
	// exploration and margin.
	Makers      []Maker
	Exploration float64
	Margin      float64
	// Centre is true where nodes know when others of overlapping catchments moved,
	// and none must divide its budget of changes by the number of edges.
	Centre bool
	// Turns has edges that share an AS told of each other's penalties by the centre,
	// and take the turns that real ones take.
	Turns bool
}

// Prefix is one that is announced, with its share of the traffic.
type Prefix struct {
	Prefix netip.Prefix
	Weight float64
}

// Site is edges that share links and routers.
type Site struct {
	Name string
	// Edges is how many nodes there are: each announces to every neighbour.
	Edges     int
	Links     []Link
	Neighbors []Neighbor
}

// Link is what traffic crosses.
type Link struct {
	Name     string
	Capacity float64
	// Landing is the share of what is shed here that the controller expects at the
	// site's other links.
	Landing float64
	// Off says why nothing can be shed here, if so.
	Off string
}

// Neighbor is a BGP peer of a site.
type Neighbor struct {
	Name   string
	ASN    uint32
	Link   string
	Ladder []Rung
}

// Rung is a step of a ladder, as the world takes it.
type Rung struct {
	// Steer is the share of the groups that a steering community has prefer any
	// other route. It is the same groups at all neighbours of a site: two at once
	// move them to another site.
	Steer float64
	// Prepend is how much longer the path becomes.
	Prepend int
	// Gshut (RFC 8326) makes the route the last resort of everybody.
	Gshut bool
	// Withdraw takes the route away.
	Withdraw bool
	// Prefixes that it touches; empty: all.
	Prefixes []netip.Prefix
	// Sheds is what the controller is told that it sheds; NaN: what it does shed in
	// this world, wrong by Load.Error.
	Sheds float64
}

// Group is clients that behave alike.
type Group struct {
	Name string
	// Count is into how many groups of equal size, with paths of their own, it is
	// divided.
	Count int
	// Demand is what all of them want while all shapes are at 1.
	Demand float64
	Shapes []Shape
	// Noise is the standard deviation of the demand of each of them, as a share of
	// it; it changes within a minute.
	Noise float64
	// Near are the sites by distance: each further one is one AS more away. Via has
	// single routes beside or instead of them.
	Near []string
	Via  []Via
	// Loyal is the share of them that prefer one neighbour of the first site
	// whatever its path is, as customers' routes are preferred.
	Loyal float64
	// First are the links by first choice, for the actuator sessions.
	First []Choice
}

// Via is a route of a group.
type Via struct {
	Site, Neighbor string
	Preference     int
	Path           int
}

// Choice is a link (SITE/LINK) that a share of the sessions tries first. Who is
// refused tries the links that follow, from the last on to the first.
type Choice struct {
	Link  string
	Share float64
}

// Event is something that happens.
type Event struct {
	At, For time.Duration
	// Down is a site whose nodes die.
	Down string
	// Silent is a link, SITE/LINK, or a whole SITE, whose figures do not arrive.
	Silent string
}

// Window is a time from and to.
type Window struct{ From, To time.Duration }
