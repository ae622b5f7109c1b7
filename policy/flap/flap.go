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
	"fmt"
	"math"
	"net/netip"
	"time"
)

// Event is what a router charges for.
type Event uint8

// The events (RFC 2439, sections 4.8.2 to 4.8.4). An unknown one is charged like
// the dearest.
const (
	Withdrawal Event = iota + 1
	Readvertisement
	AttributeChange
)

// Profile is one maker's defaults for damping. Penalties are in points.
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

// Cisco is the profile of Cisco's routers, and of FRR, as they come (RFC 7196,
// section 3).
func Cisco() Profile {
	return Profile{
		Name: "cisco", Withdrawal: 1000, AttributeChange: 500, Suppress: 2000, Reuse: 750,
		HalfLife: 15 * time.Minute, MaxSuppress: time.Hour,
	}
}

// Juniper is the profile of Juniper's routers as they come (RFC 7196, section 3).
func Juniper() Profile {
	return Profile{
		Name: "juniper", Withdrawal: 1000, Readvertisement: 1000, AttributeChange: 500, Suppress: 3000, Reuse: 750,
		HalfLife: 15 * time.Minute, MaxSuppress: time.Hour,
	}
}

// Key names what has a penalty: a prefix as the routers of one AS see it.
// Host bits do not count.
type Key struct {
	ASN    uint32       `json:"asn"`
	Prefix netip.Prefix `json:"prefix"`
}

// Share is this node's part of the budget at an AS: it is number Index, from 0,
// of Edges edges that announce there. The zero value is a node that is alone.
type Share struct{ Edges, Index int }

// Config says what must not be passed. The edges that share a budget must have
// the same.
type Config struct {
	// Profiles must all be kept to. Without any there is no budget: nothing is
	// charged and everything is allowed.
	Profiles []Profile
	// Exploration multiplies each charge: behind several ASes one change is seen
	// as several (path exploration). Below 1 counts as 1.
	Exploration float64
	// Margin is the part of Suppress, 0..1, that is never used. At least 0.02 is
	// kept back: some routers suppress at the threshold, all of them round, and
	// the ledger forgets what is below 0.01.
	Margin float64
}

// Default keeps below both profiles with charges doubled and a margin of 0.1.
func Default() Config {
	return Config{Profiles: []Profile{Cisco(), Juniper()}, Exploration: 2, Margin: 0.1}
}

const (
	leastMargin = 0.02
	forgotten   = 0.01 // of Suppress
	// mostPenalty bounds what is kept, whatever the profile says.
	mostPenalty = 1e9
)

// Check returns what makes no sense in the configuration. Such a one does no
// harm: it allows less.
func (c Config) Check() error {
	seen := map[string]bool{}
	for i, p := range c.Profiles {
		if err := p.check(); err != nil {
			return fmt.Errorf("flap profile %d (%q): %w", i, p.Name, err)
		}
		if seen[p.Name] {
			return fmt.Errorf("flap profile %d (%q): the name stands twice", i, p.Name)
		}
		seen[p.Name] = true
	}
	switch {
	case c.Exploration != 0 && !(c.Exploration >= 1 && c.Exploration <= 100):
		return fmt.Errorf("flap exploration %v: want 1 to 100, or 0 for 1", c.Exploration)
	case !(c.Margin >= 0 && c.Margin < 1):
		return fmt.Errorf("flap margin %v: want 0 or more, and less than 1", c.Margin)
	}
	return nil
}

func (p Profile) check() error {
	charge := func(v float64) bool { return v >= 0 && v <= mostPenalty }
	switch {
	case p.Name == "":
		return fmt.Errorf("it has no name")
	case !charge(p.Withdrawal) || !charge(p.Readvertisement) || !charge(p.AttributeChange):
		return fmt.Errorf("charges %v, %v and %v: want 0 to %v", p.Withdrawal, p.Readvertisement, p.AttributeChange, mostPenalty)
	case !(p.Reuse > 0 && p.Reuse < p.Suppress):
		return fmt.Errorf("reuse %v: want more than 0 and less than suppress, %v", p.Reuse, p.Suppress)
	case p.HalfLife < time.Second:
		return fmt.Errorf("half-life %v: want 1s or more", p.HalfLife)
	case !(p.ceiling() > p.Suppress && p.ceiling() <= mostPenalty):
		return fmt.Errorf("max suppress %v: the most a penalty can be is then %.0f; want more than suppress, %v, and at most %v",
			p.MaxSuppress, p.ceiling(), p.Suppress, mostPenalty)
	}
	return nil
}

// ceiling is the most that a penalty can be (RFC 2439, section 4.2): from there
// it falls to Reuse within MaxSuppress.
func (p Profile) ceiling() float64 {
	return p.Reuse * math.Exp2(float64(p.MaxSuppress)/float64(p.HalfLife))
}

// decayed is what is left of a penalty after d. Time that runs backwards takes
// nothing away, nor does a half-life that is none.
func (p Profile) decayed(penalty float64, d time.Duration) float64 {
	if d <= 0 || p.HalfLife <= 0 {
		return penalty
	}
	return penalty * math.Exp2(-float64(d)/float64(p.HalfLife))
}

// raised is the penalty after a charge.
func (p Profile) raised(penalty, charge float64) float64 {
	sum := min(penalty+charge, max(p.ceiling(), penalty))
	if !(sum >= 0 && sum <= mostPenalty) {
		return mostPenalty
	}
	return sum
}

// cost is what the event adds, exploration included.
func (c Config) cost(p Profile, e Event) float64 {
	var charge float64
	switch e {
	case Withdrawal:
		charge = p.Withdrawal
	case Readvertisement:
		charge = p.Readvertisement
	case AttributeChange:
		charge = p.AttributeChange
	default:
		charge = max(p.Withdrawal, p.Readvertisement, p.AttributeChange)
	}
	return max(charge, 0) * max(c.Exploration, 1)
}

// limit is what a penalty may reach by an automatic change.
func (c Config) limit(p Profile) float64 {
	return p.Suppress * (1 - max(c.Margin, leastMargin))
}
