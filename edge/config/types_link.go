package config

import (
	"time"

	"github.com/catchment-bgp/catchment/load"
)

// Link is what traffic crosses.
type Link struct {
	Name string
	// Capacity is in bit/s; zero means unknown: no load control there.
	Capacity uint64
	// Interface is the interface whose counters are the link's load; empty: none.
	Interface string
	Feed      *Feed
	Fast      *Source
	Exact     *Source
	// Direction is which one of Interface or Feed is the load.
	Direction load.Direction
	// Smooth is the time constant of the average of an interface's figures.
	Smooth time.Duration
	// Landing is the share, 0..1, of what is shed here that is expected to land on
	// other links of ours, until it has been measured.
	Landing float64
}

// Measured tells whether the link names a source of figures.
func (l *Link) Measured() bool {
	return l.Interface != "" || l.Feed != nil || l.Fast != nil || l.Exact != nil
}

// HasInterface tells whether an interface stands behind the link, whose speed the
// kernel may know.
func (l *Link) HasInterface() bool {
	of := func(s *Source) bool { return s != nil && s.Interface != "" }
	return l.Interface != "" || of(l.Fast) || of(l.Exact)
}

// Source is one origin of a link's load figures; exactly one field is set.
type Source struct {
	Interface  string
	Feed       *Feed
	Prometheus *Prometheus
	// Direction is which one is the load, of an interface or a feed.
	Direction load.Direction
	// Delay is how much older the figures are than they say.
	Delay time.Duration
	// Average is over how long a time before it an exact figure is the average.
	Average time.Duration
}

// Feed is a JSON document of load figures, polled over HTTP.
type Feed struct {
	URL    string
	Period time.Duration
}

// Prometheus is an instant query whose result is the load in bit/s.
type Prometheus struct {
	URL    string
	Query  string
	Period time.Duration
}
