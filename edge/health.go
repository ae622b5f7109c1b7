package edge

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"sync"

	"github.com/catchment-bgp/catchment/edge/config"
	"github.com/catchment-bgp/catchment/healthcheck"
	"github.com/catchment-bgp/catchment/policy"
)

// checkKey names a check of a service.
type checkKey struct{ service, check string }

// check is a running check with its last result.
type check struct {
	config healthcheck.Check
	status healthcheck.Status
	// observing: a reload added it, and it has not passed yet; it does not count.
	observing bool
	stop      context.CancelFunc
}

// checkResult is what a check reports to the loop. The pointer tells a check
// from an earlier one of the same name.
type checkResult struct {
	key    checkKey
	from   *check
	status healthcheck.Status
}

// checks runs the checks of all services.
type checks struct {
	run     map[checkKey]*check
	results chan checkResult
	running sync.WaitGroup
	// runner starts a check; tests replace it.
	runner func(ctx context.Context, c healthcheck.Check, report func(healthcheck.Status)) error
	// last is the verdict that stands while all checks of a service only observe.
	last map[string]policy.Verdict
}

func newChecks() *checks {
	return &checks{
		run: map[checkKey]*check{}, results: make(chan checkResult, 64),
		last: map[string]policy.Verdict{}, runner: runCheck,
	}
}

func runCheck(ctx context.Context, c healthcheck.Check, report func(healthcheck.Status)) error {
	checker, err := healthcheck.New(c)
	if err != nil {
		return err
	}
	checker.Run(ctx, report)
	return nil
}

// set makes the running checks be those of the configuration. Unchanged ones
// run on. Those that a reload adds to a service only observe until they have
// passed once: a mistake in a new check takes nothing down.
func (cs *checks) set(ctx context.Context, c *config.Config, known map[string]bool) {
	want := map[checkKey]healthcheck.Check{}
	for _, svc := range c.Services {
		for _, hc := range svc.Checks {
			want[checkKey{svc.Name, hc.Name}] = hc
		}
	}
	for key, running := range cs.run {
		if hc, ok := want[key]; !ok || !reflect.DeepEqual(hc, running.config) {
			running.stop()
			delete(cs.run, key)
		}
	}
	for key, hc := range want {
		if cs.run[key] == nil {
			cs.start(ctx, key, hc, known[key.service])
		}
	}
}

func (cs *checks) start(ctx context.Context, key checkKey, hc healthcheck.Check, observing bool) {
	ctx, cancel := context.WithCancel(ctx)
	ck := &check{config: hc, observing: observing, stop: cancel,
		status: healthcheck.Status{Name: hc.Name, Soft: hc.Soft}}
	cs.run[key] = ck
	report := func(st healthcheck.Status) {
		select {
		case cs.results <- checkResult{key, ck, st}:
		case <-ctx.Done():
		}
	}
	cs.running.Go(func() {
		if err := cs.runner(ctx, hc, report); err != nil {
			report(healthcheck.Status{Name: hc.Name, Soft: hc.Soft, Decided: true, Error: err.Error()})
		}
	})
}

// take takes a result in. It says whether the verdict of the check changed.
func (cs *checks) take(r checkResult) bool {
	ck := cs.run[r.key]
	if ck != r.from || ck == nil {
		return false // of a check that a reload took away
	}
	changed := ck.status.Up != r.status.Up || ck.status.Decided != r.status.Decided
	ck.status = r.status
	if r.status.Up && ck.observing {
		ck.observing = false
		changed = true
	}
	return changed
}

func (cs *checks) stop() {
	for key, ck := range cs.run {
		ck.stop()
		delete(cs.run, key)
	}
	cs.running.Wait()
}

// health combines the checks of a service.
func (cs *checks) health(svc config.Service) policy.Health {
	var h policy.Health
	h.Hard, h.HardDetail = cs.group(svc, false)
	h.Soft, h.SoftDetail = cs.group(svc, true)
	return h
}

// group combines the checks of one scope by the service's requirement. A
// required count never asks for more checks than the scope has.
func (cs *checks) group(svc config.Service, soft bool) (policy.Verdict, string) {
	var up, open, total, observing int
	var failing []string
	for _, hc := range svc.Checks {
		ck := cs.run[checkKey{svc.Name, hc.Name}]
		if hc.Soft != soft || ck == nil {
			continue
		}
		if ck.observing {
			observing++
			continue
		}
		total++
		switch {
		case ck.status.Up:
			up++
		case !ck.status.Decided:
			open++
		default:
			failing = append(failing, hc.Name+": "+ck.status.Error)
		}
	}
	last := fmt.Sprint(svc.Name, soft)
	if total == 0 && observing > 0 {
		return cs.last[last], "" // nothing new is known
	}
	need := svc.Require
	if need.Mode == healthcheck.RequireAtLeast {
		need.N = min(need.N, total)
	}
	v := policy.Down
	switch {
	case need.Met(up, total):
		v = policy.Up
	case need.Met(up+open, total):
		v = policy.Unknown
	}
	cs.last[last] = v
	if v == policy.Up {
		return v, ""
	}
	if failing == nil {
		return v, ""
	}
	return v, strings.Join(failing, "; ")
}
