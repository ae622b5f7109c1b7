package healthcheck

import "time"

// RequireMode says how a service's checks combine.
type RequireMode uint8

// The ways to combine checks.
const (
	RequireAll RequireMode = iota
	RequireAny
	RequireAtLeast
	RequirePercent
)

// Require is a RequireMode with its number: a count or a percentage.
type Require struct {
	Mode RequireMode
	N    int
}

// Check is one health check of a service. Exactly one of HTTP and TCP is set.
type Check struct {
	Name     string
	HTTP     *HTTP
	TCP      *TCP
	Interval time.Duration
	// FastInterval is used while the verdict is undecided; Interval by default.
	FastInterval time.Duration
	Timeout      time.Duration
	Rise, Fall   int
	// Soft marks a check of something shared or remote.
	Soft bool
	// Jitter is the share of the interval, 0..0.5, by which probes are spread.
	Jitter float64
	// Watch keeps a connection open to notice the service's death at once.
	Watch bool
	// RestartGrace holds a verdict that a watch brought about.
	RestartGrace time.Duration
}

// HTTP asks for a URL.
type HTTP struct {
	URL     string
	Method  string
	Headers map[string]string
	// Status are the accepted status codes; empty: 200 to 299.
	Status []int
	// Body is a regular expression (RE2) that the first 64 KiB must match; empty: any.
	Body string
	// InsecureSkipVerify accepts any certificate.
	InsecureSkipVerify bool
	ServerName         string
}

// TCP connects to an address.
type TCP struct{ Address string }
