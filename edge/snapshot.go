package edge

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/catchment-bgp/catchment/announcer"
	"github.com/catchment-bgp/catchment/edge/config"
	"github.com/catchment-bgp/catchment/healthcheck"
	"github.com/catchment-bgp/catchment/policy"
)

// Snapshot is the node at one moment, in the terms of the packages that know.
type Snapshot struct {
	At       time.Time
	Started  time.Time
	Version  string
	Config   *config.Config // not to be changed
	Warnings []config.Problem
	Decision policy.Decision
	// Overrides in force.
	Overrides []policy.Override
	// Sessions by neighbour.
	Sessions map[string]announcer.Status
	// Checks by service, in the order of the configuration.
	Checks             map[string][]CheckStatus
	WayBack4, WayBack6 policy.Verdict
	// RevertsAt is when a configuration that nobody confirmed goes back; zero:
	// none waits.
	RevertsAt time.Time
	// Reloaded says whether the last reload, at ReloadedAt, was taken up.
	Reloaded   bool
	ReloadedAt time.Time
	// Changes counts changes of services' states by service and reason.
	Changes map[ServiceReason]int
}

// CheckStatus is a check's last result.
type CheckStatus struct {
	healthcheck.Status
	// Observing: a reload added it, and it does not count before it has passed.
	Observing bool
}

// ServiceReason counts changes by service and reason.
type ServiceReason struct {
	Service string
	Reason  policy.Reason
}

// Snapshot returns the node as it stands now.
func (e *Edge) Snapshot(ctx context.Context) (Snapshot, error) {
	var s Snapshot
	err := e.do(ctx, func(now time.Time) { s = e.snapshot(now) })
	return s, err
}

func (e *Edge) snapshot(now time.Time) Snapshot {
	s := Snapshot{
		At: now, Started: e.started, Version: e.opt.Version, Config: e.cfg, Warnings: e.warnings,
		Decision: e.decision, Sessions: e.opt.Announcer.Status(), Checks: map[string][]CheckStatus{},
		Reloaded: e.reloads.ok, ReloadedAt: e.reloads.last, Changes: maps.Clone(e.changes),
	}
	for _, o := range e.overrides {
		if o.Active(now) {
			s.Overrides = append(s.Overrides, o)
		}
	}
	for _, svc := range e.cfg.Services {
		for _, hc := range svc.Checks {
			if ck := e.checks.run[checkKey{svc.Name, hc.Name}]; ck != nil {
				s.Checks[svc.Name] = append(s.Checks[svc.Name], CheckStatus{ck.status, ck.observing})
			}
		}
	}
	s.WayBack4, s.WayBack6 = e.wayBackVerdicts(e.cfg)
	if e.pending != nil {
		s.RevertsAt = e.pending.deadline
	}
	return s
}

// News returns a channel that is closed when the status may next have changed.
func (e *Edge) News() <-chan struct{} { return e.news.next() }

// Gone is closed when the node has left.
func (e *Edge) Gone() <-chan struct{} { return e.gone }

// Why returns the last changes of a service (empty: of all), newest first.
func (e *Edge) Why(ctx context.Context, service string, limit int) ([]Change, error) {
	var out []Change
	var bad error
	err := e.do(ctx, func(time.Time) {
		if service != "" && before(e.decision, service).Name == "" {
			bad = usagef("there is no service %q; this node has %s", service, serviceNames(e.cfg))
			return
		}
		out = slices.Clone(e.history.newest(service, limit))
	})
	return out, first(err, bad)
}

// SetOverride takes an operator's word. It returns the overrides that are now in
// force for the services selected, and how many services were hit, when that is
// on disk.
func (e *Edge) SetOverride(ctx context.Context, s Selector, w Word) ([]policy.Override, int, error) {
	if err := w.check(); err != nil {
		return nil, 0, err
	}
	return e.override(ctx, s, w.Reason, w.By, w.Verb.String(), func(now time.Time, services []config.Service, neighbors []string) ([]policy.Override, error) {
		if err := e.refuseDead(services, w); err != nil {
			return nil, err
		}
		return overridesWith(e.overrides, w.build(now, e.overrides, services, neighbors)), nil
	})
}

// refuseDead refuses to announce a dead service without EvenIfDead.
func (e *Edge) refuseDead(services []config.Service, w Word) error {
	if w.Verb != policy.Announce || w.EvenIfDead {
		return nil
	}
	for _, svc := range services {
		if sd := before(e.decision, svc.Name); sd.Severity == policy.Withdrawn && sd.Reason == policy.HardFailure {
			return refusedf("service %s is dead (%s): clients would be drawn here and not be served; --even-if-dead announces it all the same", svc.Name, sd.Detail)
		}
	}
	return nil
}

// ClearOverride lifts overrides. It returns those that are still in force for
// the services selected, and how many services were hit.
func (e *Edge) ClearOverride(ctx context.Context, s Selector, reason, by string) ([]policy.Override, int, error) {
	if err := (Word{Verb: policy.Announce, Reason: reason}).check(); err != nil {
		return nil, 0, err
	}
	return e.override(ctx, s, reason, by, "auto", func(_ time.Time, services []config.Service, neighbors []string) ([]policy.Override, error) {
		return overridesWithout(e.overrides, services, neighbors), nil
	})
}

// override changes the overrides in the loop and waits until they are on disk.
func (e *Edge) override(ctx context.Context, s Selector, reason, by, verb string,
	change func(now time.Time, services []config.Service, neighbors []string) ([]policy.Override, error),
) ([]policy.Override, int, error) {
	var out []policy.Override
	var hit int
	var bad error
	var written <-chan error
	err := e.do(ctx, func(now time.Time) {
		services, neighbors, err := s.resolve(e.cfg)
		if err != nil {
			bad = err
			return
		}
		next, err := change(now, services, neighbors)
		if err != nil {
			bad = err
			return
		}
		e.overrides = next
		hit = len(services)
		for _, svc := range services {
			e.log.Info("operator", "verb", verb, "service", svc.Name, "neighbors", neighbors, "reason", reason, "by", by)
			for _, o := range next {
				if o.Service == svc.Name {
					out = append(out, o)
				}
			}
		}
		written = e.store.saved(e.stored())
	})
	if err := first(err, bad); err != nil {
		return nil, 0, err
	}
	select {
	case err := <-written:
		return out, hit, err
	case <-ctx.Done():
		return out, hit, ctx.Err()
	}
}
