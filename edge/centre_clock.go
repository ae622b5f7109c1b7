package edge

import (
	"time"

	"golang.org/x/sys/unix"
)

const (
	// clockEvery is how often the kernel is asked whether the clock is synchronised.
	clockEvery = 30 * time.Second
	// mostSkew is how far the clock may be from the centre's, and stampLasts how long
	// the centre's stamp proves that it is not.
	mostSkew   = 5 * time.Second
	stampLasts = 90 * time.Second
)

// kernelClock asks the kernel whether its clock is synchronised (adjtimex(2)).
func kernelClock() bool {
	var t unix.Timex
	state, err := unix.Adjtimex(&t)
	return err == nil && state != unix.TIME_ERROR && t.Status&unix.STA_UNSYNC == 0
}

// wallClock is what is known of this machine's clock.
type wallClock struct {
	synchronised bool
	asked        time.Time
	// skew is how far the clock was ahead of the centre's at the stamp; the zero stamp:
	// none came yet in this run.
	skew  time.Duration
	stamp time.Time
}

// look asks the kernel now and then.
func (w *wallClock) look(now time.Time, ask func() bool) {
	if since := now.Sub(w.asked); w.asked.IsZero() || since < 0 || since >= clockEvery {
		w.synchronised, w.asked = ask(), now
	}
}

// stamped takes a stamp of the centre in. The clock is taken to be so much further
// ahead than it is.
func (w *wallClock) stamped(now, sent time.Time, further time.Duration) {
	if !sent.IsZero() {
		w.skew, w.stamp = now.Round(0).Sub(sent)+further, now
	}
}

// ahead is how far the clock is ahead of the centre's by now: as at the stamp, and
// as far as it was set since.
func (w *wallClock) ahead(now time.Time) time.Duration {
	if w.stamp.IsZero() {
		return w.skew
	}
	return w.skew + now.Round(0).Sub(w.stamp.Round(0)) - now.Sub(w.stamp)
}

// good says whether windows may open by the clock: it is within 5 s of the centre's,
// and that was proved by a stamp just now, or the kernel says that it is synchronised.
func (w *wallClock) good(now time.Time) bool {
	fresh := !w.stamp.IsZero() && now.Sub(w.stamp) < stampLasts
	return w.ahead(now).Abs() <= mostSkew && (fresh || w.synchronised)
}
