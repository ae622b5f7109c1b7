package edge

import (
	"context"
	"maps"
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
	// inherited: status is that of a check of the same thing at other times, which
	// a reload replaced; it stands until this one has a verdict.
	inherited bool
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
	// ahead was received before its time: it comes before what is in results.
	ahead   *checkResult
	running sync.WaitGroup
	// runner starts a check; tests replace it.
	runner func(ctx context.Context, c healthcheck.Check, report func(healthcheck.Status)) error
	// last is what stands while all checks of a group only observe.
	last map[groupKey]outcome
}

// groupKey names the checks of a service that have one scope.
type groupKey struct {
	service string
	soft    bool
}

// outcome is what a group of checks says.
type outcome struct {
	verdict policy.Verdict
	detail  string
}

func newChecks() *checks {
	return &checks{
		run: map[checkKey]*check{}, results: make(chan checkResult, 64),
		last: map[groupKey]outcome{}, runner: runAtPace(&healthcheck.Pace{}),
	}
}

// runAtPace runs checks that share a pace.
func runAtPace(pace *healthcheck.Pace) func(context.Context, healthcheck.Check, func(healthcheck.Status)) error {
	return func(ctx context.Context, c healthcheck.Check, report func(healthcheck.Status)) error {
		checker, err := healthcheck.New(c)
		if err != nil {
			return err
		}
		checker.Pace = pace
		checker.Run(ctx, report)
		return nil
	}
}

// set makes the running checks be those of the configuration; was is the one
// before it, nil at the start. Unchanged checks run on. Those that a reload adds to
// a service, or points at something else, only observe until they have passed
// once: a mistake in a check takes nothing down. Those of a service that takes
// prefixes over from another one, as when it was renamed, go on from its verdicts.
func (cs *checks) set(ctx context.Context, c, was *config.Config) {
	known := map[string]bool{}
	if was != nil {
		for _, svc := range was.Services {
			known[svc.Name] = true
			cs.last[groupKey{svc.Name, false}] = cs.group(svc, nil, false)
			cs.last[groupKey{svc.Name, true}] = cs.group(svc, nil, true)
		}
	}
	old, all := cs.run, maps.Clone(cs.run)
	cs.run = map[checkKey]*check{}
	for _, svc := range c.Services {
		for _, hc := range svc.Checks {
			key := checkKey{svc.Name, hc.Name}
			if running := old[key]; running != nil && reflect.DeepEqual(hc, running.config) {
				cs.run[key] = running
				delete(old, key)
				continue
			}
			ck := &check{config: hc, observing: known[svc.Name], status: healthcheck.Status{Name: hc.Name, Soft: hc.Soft}}
			if running := old[key]; running != nil && sameTarget(hc, running.config) {
				ck.inherit(running)
			} else if !known[svc.Name] && was != nil {
				ck.inherit(predecessor(all, was.Services, svc, hc))
			}
			cs.start(ctx, key, ck)
		}
	}
	for _, running := range old {
		running.stop()
	}
}

// inherit takes over what is known of another check; nil: nothing is.
func (ck *check) inherit(from *check) {
	if from == nil {
		return
	}
	ck.observing, ck.status, ck.inherited = from.observing, from.status, true
	ck.status.Name = ck.config.Name
}

// predecessor finds the check of another service that announced a prefix of svc
// and asked the same as hc; nil: there is none.
func predecessor(running map[checkKey]*check, was []config.Service, svc config.Service, hc healthcheck.Check) *check {
	for _, old := range was {
		if !sharePrefix(old, svc) {
			continue
		}
		for _, oc := range old.Checks {
			if ck := running[checkKey{old.Name, oc.Name}]; ck != nil && sameTarget(hc, oc) {
				return ck
			}
		}
	}
	return nil
}

// sameTarget says whether two checks ask the same, if at other times or under
// another name.
func sameTarget(a, b healthcheck.Check) bool {
	for _, c := range []*healthcheck.Check{&a, &b} {
		c.Name, c.Interval, c.FastInterval, c.Rise, c.Fall, c.Jitter, c.Watch, c.RestartGrace = "", 0, 0, 0, 0, 0, false, 0
	}
	return reflect.DeepEqual(a, b)
}

func (cs *checks) start(ctx context.Context, key checkKey, ck *check) {
	ctx, ck.stop = context.WithCancel(ctx)
	cs.run[key] = ck
	hc := ck.config
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

// next is a result that was received before its time, if there is one.
func (cs *checks) next() (checkResult, bool) {
	if cs.ahead == nil {
		return checkResult{}, false
	}
	r := *cs.ahead
	cs.ahead = nil
	return r, true
}

// taken is what a result changes.
type taken uint8

const (
	nothingNew taken = iota
	newWords         // why it fails, or whether it counts
	newVerdict
)

// take takes a result in, and says what it changes.
func (cs *checks) take(r checkResult) taken {
	ck := cs.run[r.key]
	if ck != r.from || ck == nil {
		return nothingNew // of a check that a reload took away
	}
	st := r.status
	if ck.inherited = ck.inherited && !st.Decided; ck.inherited {
		st.Up, st.Decided, st.Since = ck.status.Up, ck.status.Decided, ck.status.Since
	}
	was, observed := ck.status, ck.observing
	ck.status = st
	ck.observing = ck.observing && !st.Up
	switch {
	case was.Up != st.Up || was.Decided != st.Decided:
		return newVerdict
	case was.Error != st.Error || observed != ck.observing:
		return newWords
	}
	return nothingNew
}

func (cs *checks) stop() {
	for key, ck := range cs.run {
		ck.stop()
		delete(cs.run, key)
	}
	cs.running.Wait()
}

// health combines the checks of a service as a configuration wants it; was is the
// service as it is configured now, nil if it is new.
func (cs *checks) health(svc config.Service, was *config.Service) policy.Health {
	hard, soft := cs.group(svc, was, false), cs.group(svc, was, true)
	return policy.Health{Hard: hard.verdict, HardDetail: hard.detail, Soft: soft.verdict, SoftDetail: soft.detail}
}

// group combines the checks of one scope by the service's requirement. A required
// count never asks for more checks than the scope has. It changes nothing, so that
// a plan can ask what would be.
func (cs *checks) group(svc config.Service, was *config.Service, soft bool) outcome {
	var up, open, total, observing int
	var failing []string
	for _, hc := range svc.Checks {
		if hc.Soft != soft {
			continue
		}
		ck := cs.run[checkKey{svc.Name, hc.Name}]
		if ck == nil || ck.observing || !sameTarget(hc, ck.config) {
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
	if total == 0 && observing > 0 { // nothing new is known
		if was != nil {
			return cs.group(*was, nil, soft)
		}
		return cs.last[groupKey{svc.Name, soft}]
	}
	need := svc.Require
	if need.Mode == healthcheck.RequireAtLeast {
		need.N = min(need.N, total)
	}
	switch {
	case need.Met(up, total):
		return outcome{verdict: policy.Up}
	case need.Met(up+open, total):
		return outcome{verdict: policy.Unknown, detail: strings.Join(failing, "; ")}
	}
	return outcome{verdict: policy.Down, detail: strings.Join(failing, "; ")}
}
