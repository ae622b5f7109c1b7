package edge

import (
	"maps"
	"slices"
	"time"

	"github.com/catchment-bgp/catchment/policy"
)

// learnEvery is how often what load control learned little by little goes to disk.
const learnEvery = 5 * time.Minute

// The triggers of decisions that come often and mostly change nothing.
const (
	byLoad     = "load"
	bySessions = "sessions"
	byTime     = "timer"
	byRenewal  = "the centre's answer"
)

// worthKeeping says whether a decision changed something that a restart must find:
// whatever a check, an operator or a configuration led to, and of the rest what
// changed an announcement, a hold or the flap ledger. What changes little by little
// is kept now and then: to write it out takes a while where there are many
// prefixes.
func (e *Edge) worthKeeping(now time.Time, trigger string, s *policy.State, d *policy.Decision) bool {
	since := now.Sub(e.load.saved)
	if !seldom(trigger) && since >= 0 && since < learnEvery && !e.changed(s, d) {
		return false
	}
	e.load.saved = now
	return true
}

// seldom reports whether a trigger is none of those that come all the time.
func seldom(trigger string) bool {
	return trigger != byLoad && trigger != bySessions && trigger != byRenewal && trigger != byTime && trigger != ""
}

func (e *Edge) changed(s *policy.State, d *policy.Decision) bool {
	return !slices.EqualFunc(d.Services, e.decision.Services, renderAlike) ||
		slices.ContainsFunc(d.Climbers, func(c policy.ClimberDecision) bool { return c.Moved }) ||
		!slices.EqualFunc(s.Load.Climbers, e.state.Load.Climbers, func(a, b policy.ClimberState) bool {
			return a.Losses == b.Losses && a.Down == b.Down
		}) ||
		!maps.EqualFunc(s.Services, e.state.Services, func(a, b policy.ServiceState) bool {
			return sameHold(a.Hard, b.Hard) && sameHold(a.Soft, b.Soft)
		}) ||
		!sameHold(s.WayBack4.Hold, e.state.WayBack4.Hold) || !sameHold(s.WayBack6.Hold, e.state.WayBack6.Hold)
}

func sameHold(a, b policy.Hold) bool {
	return a.Held == b.Held && a.After == b.After && slices.EqualFunc(a.Failures, b.Failures, time.Time.Equal)
}
