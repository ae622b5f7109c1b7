package load

import (
	"log/slog"
	"net/netip"
	"time"
)

// Sample is a figure of a link's load.
type Sample struct {
	// Load is in bit/s.
	Load float64
	// Capacity is in bit/s; 0: unknown.
	Capacity float64
	// At is when the figure was true. That of an average is the average's end.
	At time.Time
	// Period is the time between figures of the source that this one came from:
	// with two sources, that of the fast one while it lives.
	Period time.Duration
}

// Utilization is the load in shares of the capacity; false: that is unknown.
func (s Sample) Utilization() (float64, bool) {
	if s.Capacity <= 0 {
		return 0, false
	}
	return s.Load / s.Capacity, true
}

// Direction says which of a link's two directions is its load.
type Direction uint8

// The directions.
const (
	// Busier is the greater of the two. A feed's own total is taken before it.
	Busier Direction = iota
	// Transmit is what leaves the node; in a feed, its tx_bandwidth.
	Transmit
	// Receive is what comes in; in a feed, its rx_bandwidth.
	Receive
)

// Config says what to measure.
type Config struct {
	Links     []Link
	Resources Resources
	Quality   QualityConfig
	// Log gets a line when a source fails or recovers. Nil: none is written.
	Log *slog.Logger
}

// Link is what traffic crosses.
type Link struct {
	// Name is unique among the links.
	Name string
	// Capacity is in bit/s; 0: the live speed of Device, if that is known.
	Capacity float64
	// Device is an interface whose live speed bounds the capacity; empty: that of
	// an interface among the sources, the fast one's before the exact one's.
	Device string
	// Fast and Exact are the sources. A single one may stand as either; a link
	// without any has no figures.
	Fast, Exact *Source
	// Smooth is the time constant of the average (EWMA) of a fast source that is an interface; 0: none.
	// Other figures are left alone, so that several nodes that read them see the
	// same.
	Smooth time.Duration
}

// Period is the longest of the periods of the link's sources: figures are missing
// when that many times three has passed without one. 0: there is no source.
func (l Link) Period() time.Duration {
	var longest time.Duration
	for _, s := range []*Source{l.Fast, l.Exact} {
		if s != nil {
			longest = max(longest, s.period())
		}
	}
	return longest
}

// Source is one origin of figures; exactly one of Interface, Feed and Prometheus
// is set.
type Source struct {
	Interface  string
	Feed       *Feed
	Prometheus *Prometheus
	// Direction counts for Interface and Feed.
	Direction Direction
	// Delay is how much older a figure is than its source says, such as the time
	// between scrapes of a Prometheus, which gives the time of the query.
	Delay time.Duration
	// Average is how long a time before it a figure is the average of, such as 60 s
	// for rate(...[1m]); 0: it is of one moment. It counts for an exact source.
	Average time.Duration
}

// interfacePeriod is how often counters of interfaces are read.
const interfacePeriod = time.Second

func (s *Source) period() time.Duration {
	switch {
	case s.Feed != nil:
		return s.Feed.Period
	case s.Prometheus != nil:
		return s.Prometheus.Period
	default:
		return interfacePeriod
	}
}

// Feed is a JSON document, read by GET: one object with `timestamp` (RFC 3339) and
// bandwidths in kbit/s, `total_bandwidth`, `rx_bandwidth`, `tx_bandwidth`. Other
// fields are ignored.
//
// The load is the total; where that is missing, the greater of rx and tx; with a
// Direction, the one that it names. `tx_badwidth`, which is in use, is
// taken where tx_bandwidth is missing. A document without a timestamp, or without
// the figure that is asked for, is refused. The same timestamp once more is no new
// figure.
type Feed struct {
	URL string
	// Period is the time between requests, 1 s or more; each is moved by up to a
	// tenth of it. A request may take that long, 5 s at most.
	Period time.Duration
}

// Prometheus is an instant query (HTTP API v1) with one result, in bit/s: a scalar
// or a vector of one element. The time of the figure is that of the result, less
// the Delay of its Source: Prometheus gives the time of the query, not that of the
// scrape behind it.
type Prometheus struct {
	// URL is that of the server, without /api/v1/query.
	URL   string
	Query string
	// Period is as in Feed.
	Period time.Duration
}

// Resources says which of the node's own resources are watched. Each becomes a
// utilization: 1 is all that there is, or the limit.
type Resources struct {
	// Period is the time between two rounds; 0: 1 s.
	Period time.Duration
	// Smooth is the time constant of the averages (EWMA) of all but sessions; 0: none.
	Smooth time.Duration
	// CPU is the share of time in which the processors were not idle. Waiting for
	// disks is idle; what a hypervisor took away is not.
	CPU bool
	// Interfaces are watched by their busier direction.
	Interfaces []Interface
	// Disks are names as in /proc/diskstats; "*": every whole disk. The
	// utilization is the share of time in which requests were under way: a disk
	// that works on many at once has more to give at 1.
	Disks []string
	// PressureCPU, PressureIO and PressureMemory are limits for the share of time,
	// 0..1, in which work waits for that (PSI: "some" of the tasks for CPU, all of
	// them, "full", for I/O and memory); 0: not watched. It needs a kernel with PSI.
	PressureCPU, PressureIO, PressureMemory float64
	// Sessions is the limit of established TCP connections to VIPs; 0: not watched.
	Sessions int
	// SessionsPeriod is the time between two counts, as the kernel visits each
	// connection (about a microsecond each); 0: 5 s. It is longer where counts take more than a
	// fiftieth of it, with some 70,000 connections or more.
	SessionsPeriod time.Duration
	// VIPs are the addresses whose connections count.
	VIPs []netip.Prefix
}

// Interface is a network interface of the node.
type Interface struct {
	Name string
	// Speed is in bit/s; 0: what the kernel says.
	Speed float64
}

// Node is the load of the node's own resources.
type Node struct {
	// Utilization is the greatest of Resources; 1 is full.
	Utilization float64
	// Resource is which one that is, such as "cpu" or "disk sda".
	Resource string
	// At is when it was true: the round's time.
	At time.Time
	// Resources are all that could be measured, in a fixed order.
	Resources []Resource
}

// Resource is the utilization of one resource.
type Resource struct {
	// Name is "cpu", "interface NAME", "disk NAME", "cpu pressure", "io pressure",
	// "memory pressure" or "sessions".
	Name        string
	Utilization float64
	At          time.Time
}

// QualityConfig says whose connections tell of quality.
type QualityConfig struct {
	// Period is the time between two looks, each of which visits all connections
	// (about two microseconds each): 30 s is a good one. 0: none is taken.
	Period time.Duration
	// VIPs are the addresses whose connections count.
	VIPs []netip.Prefix
	// Mask is the bits of a connection mark that name a neighbour; 0: connections
	// are not attributed, and all are under the neighbour "".
	Mask uint32
}

// Quality is how connections of one neighbour's clients fared since the look
// before. It is of a sample of all connections of the node, at most 512, which is
// kept from look to look while they last.
type Quality struct {
	// Neighbor is by the connection mark that `return: symmetric` sets, asked of
	// connection tracking (CAP_NET_ADMIN); "" has those without a mark or with one
	// that nobody named, which is all where marks are not set.
	Neighbor string
	// RTT is the median of the smoothed round trip times, of connections that sent
	// something since.
	RTT time.Duration
	// Retransmits is the share, 0..1, of segments with data that were sent again.
	Retransmits float64
	// Connections is how many of the sample had sent something.
	Connections int
	At          time.Time
}

// Handler takes figures. A function that is nil is not called. They are called one
// at a time, and hold up the source whose figure it is and those that come after;
// one that waits must return when the context of Run has ended.
type Handler struct {
	// Link takes a link's new figure. At only grows.
	Link func(link string, s Sample)
	// Node takes the node's, where at least one resource could be measured.
	Node func(Node)
	// Quality takes all neighbours that had connections, sorted by name.
	Quality func([]Quality)
}
