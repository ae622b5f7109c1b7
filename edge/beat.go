package edge

import (
	"fmt"
	"time"

	"github.com/catchment-bgp/catchment/announcer/guard"
	"github.com/catchment-bgp/catchment/policy"
)

// Supervisor is who restarts this process when its loop is stuck. The loop itself
// calls it, so that nothing but a loop that goes round can make it content.
type Supervisor interface {
	// Beat says that the loop has come round, and the state of the node in a line
	// of words. It must return at once.
	Beat(status string)
	// Stopping says that the loop has ended and that the node leaves.
	Stopping(status string)
}

const (
	// beatEvery is the longest pause between beats where Options say none.
	beatEvery = 10 * time.Second
	// beatPause is the shortest one: a loop that is busy need not tell so.
	beatPause = time.Second
)

// beats is when the supervisor was told last.
type beats struct {
	last time.Time
	due  bool // a step since then was not told
}

// beat tells the supervisor of a step.
func (e *Edge) beat(now time.Time) {
	if e.opt.Supervisor == nil {
		return
	}
	every := e.beatEvery()
	if since := now.Sub(e.beats.last); since >= 0 && since < min(beatPause, every) {
		e.beats.due = true
		return
	}
	e.beats = beats{last: now}
	e.opt.Supervisor.Beat(e.words())
}

// nextBeat is when the loop must come round for the supervisor; zero: never.
func (e *Edge) nextBeat() time.Time {
	switch {
	case e.opt.Supervisor == nil:
		return time.Time{}
	case e.beats.due:
		return e.beats.last.Add(min(beatPause, e.beatEvery()))
	}
	return e.beats.last.Add(e.beatEvery())
}

func (e *Edge) beatEvery() time.Duration {
	if e.opt.BeatEvery > 0 {
		return e.opt.BeatEvery
	}
	return beatEvery
}

// words is the state of the node in a line: how many services and sessions are as
// they should be, and what is the matter with the first service that is not.
func (e *Edge) words() string {
	announced, matter := 0, ""
	for _, sd := range e.decision.Services {
		if sd.Severity == policy.Announced {
			announced++
		}
		if matter == "" && (sd.Severity != policy.Announced || sd.Reason != policy.Normal) {
			matter = fmt.Sprintf("; %s %s (%s): %s", sd.Name, sd.Severity, sd.Reason, sd.Detail)
		}
	}
	up, all := 0, 0
	for _, st := range e.opt.Announcer.Sessions() {
		all++
		if st.State == guard.Established {
			up++
		}
	}
	return fmt.Sprintf("%d of %d services announced, %d of %d sessions up%s", announced, len(e.decision.Services), up, all, matter)
}
