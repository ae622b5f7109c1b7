package healthcheck

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"time"
)

// Checker runs one Check. It holds no state of a run: Run may be called again,
// and each Run starts down.
type Checker struct {
	// Pace is shared with other checks of the process; nil: this one probes at
	// moments of its own. It is set before Run.
	Pace *Pace

	check  Check
	probe  probe
	watch  watch          // nil: not watched
	random func() float64 // 0..1, for Jitter
}

// New validates c. The error is an errors.Join of one error for each thing that
// is wrong; each begins with the field as it is called in the configuration
// ("timeout:", "http.url:") and says what to write instead. Zero values mean what
// the fields' comments say; no other default is filled in.
func New(c Check) (*Checker, error) {
	c = c.withDefaults()
	t, wrong := c.target()
	if err := errors.Join(append(c.validate(), wrong...)...); err != nil {
		return nil, err
	}
	checker := &Checker{check: c, probe: t.probe, random: rand.Float64}
	if c.Watch {
		checker.watch = watchAddress(t.address, c.Timeout)
	}
	return checker, nil
}

// Run probes until ctx ends, the first time at once, and calls report after each
// probe. It returns when everything that it opened is closed; a probe that ctx
// cut short is not reported. report is called from this goroutine and should be
// quick: the next probe waits for it.
func (c *Checker) Run(ctx context.Context, report func(Status)) {
	r := &run{
		Checker: c,
		judge:   judge{tracker: NewTracker(c.check.Rise, c.check.Fall), watched: c.watch != nil, grace: c.check.RestartGrace},
		watcher: newWatcher(c.watch),
		status:  Status{Name: c.check.Name, Soft: c.check.Soft, Since: time.Now()},
	}
	defer r.watcher.stop()
	for ctx.Err() == nil {
		start := time.Now()
		err := c.attempt(ctx)
		if ctx.Err() != nil {
			return
		}
		due := r.take(start, time.Now(), err)
		report(r.status)
		if err == nil && r.status.Up {
			r.watcher.start(ctx)
		}
		r.wait(ctx, due)
	}
}

// run is the state of one Run.
type run struct {
	*Checker
	judge   judge
	watcher *watcher
	status  Status
}

// take judges a probe and returns when the next is due.
func (r *run) take(start, now time.Time, err error) (due time.Time) {
	up, changed := r.judge.next(outcomeOf(err), now)
	if changed {
		r.status.Since = now
	}
	r.status.Up, r.status.Decided = up, r.judge.tracker.Decided()
	r.status.Last, r.status.Duration, r.status.Error = now, now.Sub(start), explain(err)
	interval := r.check.Interval
	if r.judge.tracker.Undecided() {
		interval = r.check.FastInterval
	}
	due = r.judge.due(start, now, spread(interval, r.check.Jitter, r.random))
	if r.Pace == nil || r.judge.pause > 0 {
		return due
	}
	earliest, latest := start.Add(interval-time.Duration(r.check.Jitter*float64(interval))), start.Add(interval)
	if due.After(latest) { // the probe took longer, and moments were skipped
		return due
	}
	return r.Pace.choose(now, earliest, latest, due)
}

// wait returns when due has come, ctx has ended, or the watch asks for a probe.
func (r *run) wait(ctx context.Context, due time.Time) {
	timer := time.NewTimer(time.Until(due))
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
			return
		case e := <-r.watcher.ended:
			r.watcher.took(e)
			if e.lost {
				r.judge.connectionLost(e.at)
				return
			}
		}
	}
}

// attempt makes one probe. One that comes back late has failed, whatever it says.
func (c *Checker) attempt(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, c.check.Timeout)
	defer cancel()
	err := c.probe(ctx)
	if ctx.Err() == nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		return err
	}
	var got progress
	if errors.As(err, &got) && got != "" {
		return fmt.Errorf("timeout after %v: %s", c.check.Timeout, string(got))
	}
	return fmt.Errorf("timeout after %v", c.check.Timeout)
}

// progress is the error of a probe that its context cut short, where the probe
// can say how far it came.
type progress string

// Error is that text.
func (p progress) Error() string { return string(p) }
