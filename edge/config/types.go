package config

import (
	"net/netip"
	"time"

	"github.com/catchment-bgp/catchment/announcer"
	"github.com/catchment-bgp/catchment/community"
	"github.com/catchment-bgp/catchment/community/registry"
	"github.com/catchment-bgp/catchment/healthcheck"
)

// Config is a whole, valid edge configuration with every default filled in.
type Config struct {
	Node     string
	ASN      uint32
	RouterID netip.Addr
	StateDir string
	// Control is the path of the unix socket of the local API.
	Control string
	// Metrics is the address of /metrics, /healthz and /readyz; empty: none.
	Metrics   string
	Central   *Central
	Site      string
	Links     []Link
	Neighbors []Neighbor
	Services  []Service
	Load      LoadControl
	// LeaveHold passes between the last withdrawal and the VIP's removal.
	LeaveHold time.Duration
	WayBack   WayBack
	// ReturnAfter is how long health must last, uninterrupted, before a service
	// is announced again: the first, second, third ... hard failure of the last
	// hour; the last entry stands for all further ones.
	ReturnAfter []time.Duration
	// Registry are the files that document communities, for Rung.Steer.
	Registry []string
}

// Central says where the centre is and how to speak to it.
type Central struct {
	// Addresses are the hosts and ports of all centres; any of them will do.
	Addresses []string
	// Insecure speaks plain text, to loopback addresses only. TLS is empty then.
	Insecure bool
	TLS      TLS
	// Standby says that the node is a reserve until the centre says otherwise.
	Standby bool
}

// TLS names the files of a mutual TLS identity.
type TLS struct{ CA, Cert, Key string }

// Neighbor is a BGP neighbour: its session and what is sent there.
type Neighbor struct {
	announcer.Neighbor
	// PasswordFile is where Password was read from; empty: it stood in the file.
	PasswordFile string
	AllowPrepend bool
	// MaxPrefixes is how many routes the neighbour takes per family; 0: unknown.
	MaxPrefixes int
	Labels      map[string]string
	Contact     string
	// Prepend, MED, LocalPref and Communities hold at rung 0.
	Prepend     int
	MED         announcer.Metric
	LocalPref   announcer.Metric
	Communities community.Set
	Link        string
	// Weight is the neighbour's part of its link's traffic, in proportion to the
	// weights of the others there.
	Weight float64
	// EdgesAtASN are the names of all nodes that announce to the neighbour's AS,
	// or of sites whose nodes step alike; this node or its site is among them.
	// Sorted; empty: this one alone.
	EdgesAtASN []string
	// Symmetric is `return: symmetric`: replies leave where requests came in.
	Symmetric bool
	// NextHop4 and NextHop6 go with IPv4 and IPv6 prefixes. An invalid address
	// means that the family has no next hop and cannot be announced.
	NextHop4, NextHop6 netip.Addr
	Ladder             []Rung
}

// Rung is one step of a neighbour's ladder. What a rung leaves unset stays as at
// rung 0; prepends are totals.
type Rung struct {
	Communities community.Set
	// Steer is what a community among them does, where the file says it in words.
	Steer      *Steer
	Prepend    int
	PrependSet bool
	MED        announcer.Metric
	LocalPref  announcer.Metric
	GSHUT      bool
	Withdraw   bool
	// Prefixes limits the rung to some of a service's prefixes; empty: all.
	Prefixes []netip.Prefix
	// Sheds is the share of the neighbour's traffic expected to leave, 0..1.
	Sheds    float64
	ShedsSet bool
	// Leaves is `leaves: true`: the neighbour may withdraw the route from others
	// for it.
	Leaves bool
}

// Steer is a community that was found by what it does.
type Steer struct {
	registry.Query
	Value community.Value
	// Entry is the documentation that it was found in.
	Entry registry.Entry
}

// Service is what is announced as one.
type Service struct {
	Name        string
	Prefixes    []netip.Prefix
	VIPs        []netip.Prefix
	Interface   string // where the VIPs go; "lo" by default
	Communities community.Set
	// Neighbors are the names of the neighbours that get it, in the file's order
	// of neighbours. Left out in the file: all.
	Neighbors []string
	Require   healthcheck.Require
	Checks    []healthcheck.Check
	// Drain is how long GSHUT stands before a planned withdrawal.
	Drain time.Duration
}

// WayBack says whether the node must have a default route to announce.
type WayBack struct {
	// Required is false for `require: none`.
	Required bool
	Grace    time.Duration
}
