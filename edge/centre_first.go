package edge

import (
	"time"

	"github.com/catchment-bgp/catchment/policy"
)

// firstIntentTime is how long a node that starts without anything from the centre on
// its disk waits for the centre's first word before it announces.
const firstIntentTime = 30 * time.Second

// firstWord is the wait of a node that has never heard of a centre what it is: it may
// be a reserve, or be disabled. Its zero value waits for nothing.
type firstWord struct {
	until time.Time
	// standby: the node's own file says that it is a reserve, for as long as need be.
	standby bool
}

// silent says why the node does not announce yet; empty: it may.
func (f *firstWord) silent(now time.Time) string {
	switch {
	case f.standby:
		return "standby: announces only when the centre calls it, which has not been heard yet"
	case now.Before(f.until):
		return "waits until " + f.until.UTC().Format(time.TimeOnly) + " UTC for the centre's first word"
	}
	return ""
}

// wake is when the wait is over.
func (f *firstWord) wake(now time.Time) time.Time {
	if f.standby || !now.Before(f.until) {
		return time.Time{}
	}
	return f.until
}

// withdrawn is the word that keeps all services silent.
func (e *Edge) withdrawn(now time.Time, reason string) []policy.Override {
	var out []policy.Override
	for i := range e.cfg.Services {
		out = append(out, policy.Override{Service: e.cfg.Services[i].Name, Verb: policy.Withdraw, Reason: reason, By: byCentre, Since: now})
	}
	return out
}
