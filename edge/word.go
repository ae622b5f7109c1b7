package edge

import (
	"context"
	"slices"
	"time"

	"github.com/catchment-bgp/catchment/edge/config"
	"github.com/catchment-bgp/catchment/policy"
)

// SetOverride takes an operator's word. It returns the overrides that are now in
// force for the services selected, and how many services were hit, when that is
// on disk.
func (e *Edge) SetOverride(ctx context.Context, s Selector, w Word) ([]policy.Override, int, error) {
	if err := w.check(); err != nil {
		return nil, 0, err
	}
	if err := e.permit(ctx, s, w); err != nil {
		return nil, 0, err
	}
	return e.override(ctx, s, w.Reason, w.By, w.name(), func(now time.Time, services []config.Service, neighbors []string) ([]policy.Override, error) {
		withdrawAt := func(svc config.Service, n string) time.Time { return e.withdrawAt(now, svc, n) }
		fresh := w.build(now, services, neighbors, withdrawAt)
		return overridesWith(e.overrides, fresh), e.refuseDead(now, services, neighbors, w, fresh)
	})
}

// refuseDead refuses to announce a dead service without EvenIfDead: if for a hard
// failure nothing that was asked for would be announced, whatever else was said.
func (e *Edge) refuseDead(now time.Time, services []config.Service, neighbors []string, w Word, fresh []policy.Override) error {
	if w.Verb != policy.Announce || w.EvenIfDead {
		return nil
	}
	in := e.input(now, e.cfg)
	in.Overrides = fresh
	_, d := policy.Next(e.policyConfig(), e.state, in)
	for _, svc := range services {
		var causes []policy.Cause
		for _, nd := range before(d, svc.Name).Neighbors {
			if len(neighbors) == 0 || slices.Contains(neighbors, nd.Name) {
				causes = append(causes, atNeighbor(nd))
			}
		}
		alive := slices.ContainsFunc(causes, func(c policy.Cause) bool { return c.Reason != policy.HardFailure })
		if len(causes) > 0 && !alive {
			return refusedf("service %s cannot serve (%s): clients would be drawn here in vain; --even-if-dead announces it all the same", svc.Name, causes[0].Detail)
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
		if err := e.refuseOthers(services, neighbors); err != nil {
			return nil, err
		}
		return overridesWithout(e.overrides, services, neighbors), nil
	})
}

// refuseOthers refuses to lift at one neighbour what was said for all of them.
func (e *Edge) refuseOthers(services []config.Service, neighbors []string) error {
	if len(neighbors) == 0 {
		return nil
	}
	for _, o := range e.overrides {
		if o.Neighbor == "" && slices.ContainsFunc(services, func(s config.Service) bool { return s.Name == o.Service }) {
			return usagef("%s of %s is in force at all neighbours: lift it without naming a neighbour, then say what shall hold at some", o.Verb, o.Service)
		}
	}
	return nil
}

// override changes the overrides in the loop and waits until they are on disk.
func (e *Edge) override(ctx context.Context, s Selector, reason, by, verb string,
	change func(now time.Time, services []config.Service, neighbors []string) ([]policy.Override, error),
) ([]policy.Override, int, error) {
	var out []policy.Override
	var hit int
	var bad error
	var written <-chan error
	err := e.change(ctx, "operator", func(now time.Time) {
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
	return out, hit, wait(ctx, written)
}
