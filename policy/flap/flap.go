// Package flap keeps our own announcements from being damped by others.
//
// Routers that damp (RFC 2439, RFC 7196) add a penalty to a prefix at each
// change and suppress it for up to an hour when the penalty passes a threshold:
// an outage of the sender's making. In goes what was announced, changed and
// withdrawn, and when; out comes the penalty that others keep by now, and whether
// one more automatic change fits below their threshold.
//
// The package does no I/O, starts no goroutine and reads no clock.
package flap

import (
	"net/netip"
	"time"
)

// Event is what a router charges for.
type Event uint8

// The events (RFC 2439, section 4.4.3).
const (
	Withdrawal Event = iota + 1
	Readvertisement
	AttributeChange
)

// Profile is one maker's defaults for damping.
type Profile struct {
	Name string
	// Withdrawal, Readvertisement and AttributeChange are what one event adds.
	Withdrawal, Readvertisement, AttributeChange float64
	// Suppress is the penalty from which a prefix is not used; Reuse that below
	// which it is again.
	Suppress, Reuse float64
	// HalfLife is the time in which a penalty falls to its half.
	HalfLife time.Duration
	// MaxSuppress bounds how long a prefix is suppressed, and so the penalty.
	MaxSuppress time.Duration
}

// Key names what has a penalty: a prefix as the routers of one AS see it.
type Key struct {
	ASN    uint32       `json:"asn"`
	Prefix netip.Prefix `json:"prefix"`
}

// Share is this node's part of the budget at an AS: it is number Index of Edges
// edges that announce there. The zero value is a node that is alone.
type Share struct{ Edges, Index int }

// Config says what must not be passed.
type Config struct {
	// Profiles must all be kept to.
	Profiles []Profile
	// Exploration multiplies each charge: behind several ASes one change is seen
	// as several (path exploration). 0 counts as 1.
	Exploration float64
	// Margin is the part of Suppress, 0..1, that is never used.
	Margin float64
}
