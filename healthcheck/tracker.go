package healthcheck

// Tracker turns results into a verdict: rise passes in a row make it up, fall
// failures in a row make it down. It starts down and undecided. It is a value
// without clock or lock: a copy goes its own way.
type Tracker struct {
	rise, fall int
	up         bool
	decided    bool
	last       bool // the last result
	run        int  // results equal to last in a row, counted up to rise or fall
}

// NewTracker returns a Tracker at its start. A rise or fall under 1 counts as 1.
func NewTracker(rise, fall int) Tracker {
	return Tracker{rise: max(rise, 1), fall: max(fall, 1)}
}

// Next takes one more result. It returns the verdict and whether this result
// changed it; the first verdict "down" is no change, since the start is down.
func (t *Tracker) Next(passed bool) (up, changed bool) {
	if passed != t.last {
		t.run = 0
	}
	need := t.fall
	if passed {
		need = t.rise
	}
	t.last = passed
	if t.run < need {
		t.run++
	}
	if t.run < need {
		return t.up, false
	}
	changed = t.up != passed
	t.up, t.decided = passed, true
	return t.up, changed
}

// Up is the verdict.
func (t *Tracker) Up() bool { return t.up }

// Decided says whether rise or fall has been reached since the start.
func (t *Tracker) Decided() bool { return t.decided }

// Undecided says that more results are wanted soon: there is no verdict yet, or
// the last result speaks against it.
func (t *Tracker) Undecided() bool { return !t.decided || t.last != t.up }
