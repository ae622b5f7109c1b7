package healthcheck

import "time"

// RequireMode says how a service's checks combine.
type RequireMode uint8

// The ways to combine checks.
const (
	RequireAll     RequireMode = iota // every check is up
	RequireAny                        // one check or more is up
	RequireAtLeast                    // N checks or more are up
	RequirePercent                    // N per cent of the checks or more are up
)

// Require is a RequireMode with its number: a count or a percentage.
type Require struct {
	Mode RequireMode
	N    int
}

// Check is one health check of a service. Exactly one of the kinds is set.
type Check struct {
	Name string
	// The kinds.
	HTTP *HTTP
	TCP  *TCP
	DNS  *DNS
	ICMP *ICMP
	GRPC *GRPC
	Exec *Exec
	Unit *Unit
	File *File
	// Interval is the time from the start of one probe to the start of the next.
	Interval time.Duration
	// FastInterval is used while the verdict is undecided; Interval by default.
	FastInterval time.Duration
	// Timeout bounds a whole probe, from the look-up of the name to the last byte.
	Timeout time.Duration
	// Rise passes in a row make the check up, Fall failures in a row make it down.
	Rise, Fall int
	// Soft marks a check of something shared or remote.
	Soft bool
	// Jitter is the share of the interval, 0..0.5, by which probes are spread. It
	// only ever shortens the interval, so that Fall x Interval stays a bound. A Pace
	// chooses within it.
	Jitter float64
	// Watch keeps a connection open to notice the service's death at once; for HTTP
	// and TCP only.
	Watch bool
	// RestartGrace holds a verdict that refused probes of a watched check brought
	// about; 0: no hold. Without Watch it has no effect.
	RestartGrace time.Duration
}

// HTTP asks for a URL.
type HTTP struct {
	// URL is absolute, http or https. User and password in it become basic
	// authentication (RFC 7617).
	URL string
	// Method is GET where empty. No method sends a body.
	Method string
	// Headers are sent as written; "Host" replaces the URL's host in the request,
	// not in the connection or the TLS name.
	Headers map[string]string
	// Status are the accepted status codes, 200..599; empty: 200 to 299. A redirect
	// is a status like any other.
	Status []int
	// Body is a regular expression (RE2) that the first 64 KiB must match; empty: any.
	// No more is read, but for MinBytes.
	Body string
	// ExpectHeaders are headers that the answer must have, each with a regular
	// expression (RE2) that one of its values must match.
	ExpectHeaders map[string]string
	// MinBytes is how long the body must be, transfer encoding undone; 0: any. What
	// comes after is not read, but for Body.
	MinBytes int64
	// MaxTime bounds the time from the probe's start to the last byte that it reads,
	// which is number MinBytes where no Body is looked for; 0: Timeout alone.
	// It is not above Timeout.
	MaxTime time.Duration
	// TLS is for https.
	TLS TLS
}

// TCP connects to an address, host:port with a numeric port. That the kernel
// accepted the connection is all it shows.
type TCP struct{ Address string }

// Status is what is known of a check after a probe.
type Status struct {
	Name string
	Soft bool
	// Up is the verdict: false until Rise probes in a row have passed.
	Up bool
	// Decided is true once Rise or Fall was reached since Run began.
	Decided bool
	// Since is when Up last changed; at first, when Run began.
	Since time.Time
	// Last is the end of the last probe, Duration how long it took.
	Last     time.Time
	Duration time.Duration
	// Error says why the last probe failed, in at most 200 bytes; "" when it passed.
	// It may be set while Up is true: Fall is not reached, or RestartGrace holds.
	Error string
}
