package edge

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/catchment-bgp/catchment/edge/config"
)

// Confirm keeps the configuration that waits for it.
func (e *Edge) Confirm(ctx context.Context) error {
	var bad error
	err := e.change(ctx, byConfig, func(time.Time) {
		if e.pending == nil {
			bad = usagef("nothing waits for a confirmation")
			return
		}
		bad = e.confirm()
	})
	return first(err, bad)
}

// Rollback goes back: from a configuration that waits for its confirmation to
// the one before, which needs no leave, otherwise to the file before the last
// Apply, which is taken up as by Apply.
func (e *Edge) Rollback(ctx context.Context) ([]Plan, error) {
	var plans []Plan
	var bad error
	if err := e.consentToPrevious(ctx); err != nil {
		return nil, err
	}
	err := e.change(ctx, byConfig, func(now time.Time) {
		if e.pending != nil {
			plans, bad = e.revert(now)
			return
		}
		plans, bad = e.restorePrevious(now)
	})
	return plans, first(err, bad)
}

// revert goes back to the configuration before the pending one.
func (e *Edge) revert(now time.Time) ([]Plan, error) {
	p := e.pending
	plans, err := e.take(now, p.before, p.warnings)
	if err != nil {
		e.log.Error("going back failed; trying again", "error", err)
		p.deadline = now.Add(retryAfter)
		return nil, err
	}
	e.drop()
	return plans, nil
}

// drop forgets the pending configuration.
func (e *Edge) drop() {
	if e.pending != nil && e.pending.staged != "" {
		os.Remove(e.pending.staged)
	}
	e.pending = nil
}

func (e *Edge) restorePrevious(now time.Time) ([]Plan, error) {
	c, warnings, content, err := e.previous()
	if err != nil {
		return nil, err
	}
	staged, err := e.stage(content)
	if err != nil {
		return nil, err
	}
	before, oldWarnings := e.cfg, e.warnings
	plans, err := e.takeWithLeave(now, c, warnings)
	if err != nil {
		os.Remove(staged)
		return nil, err
	}
	e.pending = &pending{before: before, warnings: oldWarnings, staged: staged}
	return plans, e.confirmOrRevert(now)
}

// previous is the configuration before the last Apply.
func (e *Edge) previous() (*config.Config, []config.Problem, []byte, error) {
	if e.opt.File == "" {
		return nil, nil, nil, usagef("there is no earlier configuration to go back to")
	}
	content, err := os.ReadFile(e.previousFile())
	if err != nil {
		return nil, nil, nil, usagef("there is no earlier configuration to go back to: nothing was applied")
	}
	c, warnings, err := e.Parse(e.opt.File, content)
	return c, warnings, content, err
}

// confirmOrRevert keeps the pending configuration, or goes back if the file
// cannot be replaced.
func (e *Edge) confirmOrRevert(now time.Time) error {
	err := e.confirm()
	if err != nil {
		_, back := e.revert(now)
		return errors.Join(err, back)
	}
	return nil
}
