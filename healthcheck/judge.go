package healthcheck

import "time"

const (
	quick    = 10 * time.Millisecond // between refused probes of a watched check
	quickMax = 50 * time.Millisecond // what that grows to while a verdict is held
)

// outcome is what a probe's error means for the verdict.
type outcome uint8

const (
	passed  outcome = iota
	gone            // refused: nobody is there, which a restart looks like, too
	failing         // somebody is there and does not do as asked
)

func outcomeOf(err error) outcome {
	switch {
	case err == nil:
		return passed
	case refused(err):
		return gone
	default:
		return failing
	}
}

// judge is the Tracker plus the rules of a watch. It has no clock.
//
// A lapse is the time in which an up, watched service may be restarting: from the
// end of the connection, or a refused probe, to the next pass or the verdict
// "down". During the grace at its beginning refused probes are held back from the
// tracker. They are forgotten when the service answers, well or badly, and
// counted when the grace is over.
type judge struct {
	tracker Tracker
	watched bool
	grace   time.Duration
	lapse   bool
	lost    time.Time     // when the lapse began
	held    int           // refused probes in a row that the tracker was not shown
	pause   time.Duration // until the next probe of the lapse; 0: the ordinary interval
}

// connectionLost notes that the watched connection ended.
func (j *judge) connectionLost(at time.Time) {
	if j.tracker.Up() && !j.lapse {
		j.lapse, j.lost = true, at
	}
}

// next takes a probe's outcome at its end, now, and returns the verdict.
func (j *judge) next(o outcome, now time.Time) (up, changed bool) {
	if o == gone && j.watched {
		j.connectionLost(now)
	}
	switch {
	case o == passed:
		j.end()
		return j.tracker.Next(true)
	case !j.lapse:
		return j.tracker.Next(false)
	case o == gone && now.Before(j.graceEnd()):
		j.hold()
		return j.tracker.Up(), false
	case now.Before(j.graceEnd()):
		j.held = 0
	}
	up, changed = j.count(j.held + 1)
	j.held, j.pause = 0, 0
	switch {
	case !up:
		j.end()
	case o == gone:
		j.pause = quick
	}
	return up, changed
}

// hold keeps a refused probe back and sets the pace of the next one.
func (j *judge) hold() {
	j.held++
	switch {
	case j.held <= j.tracker.fall:
		j.pause = quick
	default:
		j.pause = min(2*j.pause, quickMax)
	}
}

// count shows the tracker n failures.
func (j *judge) count(n int) (up, changed bool) {
	for range min(n, j.tracker.fall) {
		var c bool
		up, c = j.tracker.Next(false)
		changed = changed || c
	}
	return up, changed
}

func (j *judge) end() { j.lapse, j.held, j.pause = false, 0, 0 }

func (j *judge) graceEnd() time.Time { return j.lost.Add(j.grace) }

// due is when to probe next after a probe that began at start and ended at now,
// where ordinary is the interval outside a lapse. Moments that have passed are
// skipped. While a verdict is held the last probe falls on the end of the grace,
// so that the verdict rests on a fresh result.
func (j *judge) due(start, now time.Time, ordinary time.Duration) time.Time {
	if j.pause == 0 {
		return following(start, now, ordinary)
	}
	due := following(start, now, j.pause)
	if end := j.graceEnd(); j.held > 0 && due.After(end) {
		return end
	}
	return due
}

// following is the first of start+d, start+2d, ... that is not before now.
func following(start, now time.Time, d time.Duration) time.Time {
	if took := now.Sub(start); took > d {
		return start.Add((took + d - 1) / d * d)
	}
	return start.Add(d)
}
