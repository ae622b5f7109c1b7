package guard

import "time"

// backoff decides when to dial again. It has no clock.
type backoff struct {
	timers   *Timers
	holds    []time.Duration // the ladder of hold times to propose
	rung     int             // of holds
	failures int             // since the last session that lasted
	prefixes int             // Cease/Maximum Number of Prefixes, since a long session
}

// proposal is the hold time for the next OPEN.
func (b *backoff) proposal() time.Duration { return b.holds[b.rung] }

// down says that a session ended after a time. A neighbour that ends every
// session at once must not be tried each second: each session makes the routes
// flap. One that outlived the longest wait shows that its cause is gone.
func (b *backoff) down(lasted time.Duration) {
	if lasted > b.timers.RetryMax {
		b.failures = 0
	}
	if lasted > b.timers.PrefixLimitMax {
		b.prefixes = 0
	}
}

// next is the wait after a failure, and whether it must override a shorter one
// that is already running. Received is the neighbour's NOTIFICATION, or nil.
func (b *backoff) next(received *notification) (wait time.Duration, override bool) {
	if received != nil {
		switch [2]byte{received.code, received.subcode} {
		case [2]byte{codeCease, ceaseMaxPrefix}:
			b.prefixes++
			return double(b.timers.PrefixLimitMin, b.timers.PrefixLimitMax, b.prefixes), true
		case [2]byte{codeCease, ceaseShutdown}, [2]byte{codeCease, ceaseRemoved}:
			return b.timers.Shutdown, true
		case [2]byte{codeCease, ceaseCollision}:
			// The other connection was to live. Where it did not, try soon.
			return b.timers.RetryMin, false
		case [2]byte{codeOpen, openHoldTime}:
			b.rung = (b.rung + 1) % len(b.holds)
			if b.rung == 0 {
				return b.timers.RetryMax, true
			}
			return b.timers.HoldRetry, true
		}
	}
	b.failures++
	return double(b.timers.RetryMin, b.timers.RetryMax, b.failures), false
}

// double is the nth wait of a series that starts at least and doubles to most.
func double(least, most time.Duration, n int) time.Duration {
	wait := least
	for ; n > 1 && wait < most; n-- {
		wait *= 2
	}
	return min(wait, most)
}

// jitter takes up to a quarter off (RFC 4271, section 10). r is in [0, 1).
func jitter(d time.Duration, r float64) time.Duration {
	return d - time.Duration(float64(d)*r/4)
}
