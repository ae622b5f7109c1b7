package identity

import (
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Reason is why a call was refused; its text is that of the counter's label.
type Reason string

// The reasons.
const (
	NoCertificate Reason = "no_certificate"
	UnknownCA     Reason = "unknown_ca"
	Expired       Reason = "expired"
	NotYetValid   Reason = "not_yet_valid"
	BadName       Reason = "bad_name"     // no name, more than one, or one of another domain
	NoRole        Reason = "no_role"      // the role was taken away
	WrongRole     Reason = "wrong_role"   // the role does not cover the method
	OtherNode     Reason = "other_node"   // an edge speaks for another
	NoRule        Reason = "no_rule"      // the method is not in the table
	TooLarge      Reason = "too_large"    // a message over the limit
	TooMany       Reason = "too_many"     // messages, or refusals, faster than allowed
	NotTLS        Reason = "no_handshake" // the TLS handshake failed
	CrossOrigin   Reason = "cross_origin" // a browser was made to send it by another site
	BadToken      Reason = "bad_token"    // a join token that is unknown, used or expired, or a bad request with it
)

// Refusal is a call that was not allowed.
type Refusal struct {
	Reason Reason
	// Peer is as far as it is known: its name only if its certificate is good.
	Peer   Peer
	Addr   string // where the connection came from
	Method string // "": the connection itself
	Text   string // what the caller was told
	// Suppressed counts refusals that were counted but not reported since the last
	// one that was.
	Suppressed uint64
}

// Counter counts refusals by reason. It must not block.
type Counter interface {
	// Refused counts one refusal.
	Refused(Reason)
}

// status is what the caller is told.
func (r Refusal) status() error {
	switch r.Reason {
	case NoCertificate, UnknownCA, Expired, NotYetValid, BadName, BadToken:
		return status.Error(codes.Unauthenticated, r.Text)
	case TooLarge, TooMany:
		return status.Error(codes.ResourceExhausted, r.Text)
	}
	return status.Error(codes.PermissionDenied, r.Text)
}

const (
	// A source may be refused refusalBurst times at once and then once in
	// refusalEvery before it is only told to wait.
	refusalBurst = 20
	refusalEvery = 3 * time.Second
	// All sources together: what may be reported, and so written down.
	reportBurst = 100
	reportEvery = time.Second
	maxSources  = 1024
)

// bucket is a token bucket; full when it is new.
type bucket struct {
	left float64
	at   time.Time
}

// take takes a token, if there is one.
func (b *bucket) take(now time.Time, burst int, every time.Duration) bool {
	if b.at.IsZero() {
		b.left, b.at = float64(burst), now
	}
	if gone := now.Sub(b.at); gone > 0 {
		b.left, b.at = min(float64(burst), b.left+gone.Seconds()/every.Seconds()), now
	}
	if b.left < 1 {
		return false
	}
	b.left--
	return true
}

// limiter bounds how fast refusals are worked on and reported.
type limiter struct {
	mu         sync.Mutex
	sources    map[string]*bucket
	strangers  bucket // what may be reported of callers without a name,
	known      bucket // and of those with one: noise must not hide them
	suppressed uint64
}

// spent reports whether a source has been refused too often of late; it costs
// nothing.
func (l *limiter) spent(source string, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.sources[source]
	return b != nil && b.left+now.Sub(b.at).Seconds()/refusalEvery.Seconds() < 1
}

// refused charges a source, and says whether to report it, and how many were not
// reported before.
func (l *limiter) refused(source string, known bool, now time.Time) (report bool, suppressed uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.sources[source]
	if b == nil {
		if l.sources == nil || len(l.sources) >= maxSources {
			l.sources = map[string]*bucket{} // forgetting bounds the memory; the common buckets still hold
		}
		b = &bucket{}
		l.sources[source] = b
	}
	all := &l.strangers
	if known {
		all = &l.known
	}
	if !b.take(now, refusalBurst, refusalEvery) || !all.take(now, reportBurst, reportEvery) {
		l.suppressed++
		return false, 0
	}
	suppressed, l.suppressed = l.suppressed, 0
	return true, suppressed
}
