package edge

import (
	"context"
	"slices"
	"time"

	"github.com/catchment-bgp/catchment/edge/config"
	"github.com/catchment-bgp/catchment/policy"
	"github.com/catchment-bgp/catchment/policy/fleet"
)

// permit asks the centre for leave before a local word that takes services away as a
// whole, and waits for the answer. A refusal is a RefusedError. The leases stay for a
// while, for the word to begin on.
func (e *Edge) permit(ctx context.Context, s Selector, w Word) error {
	if w.Verb != policy.Drain && w.Verb != policy.Withdraw {
		return nil
	}
	var bad error
	var keys []string
	governed := false
	if err := e.read(ctx, func(time.Time) { governed = e.centre.link != nil }); err != nil || !governed {
		return err
	}
	err := e.change(ctx, "operator", func(now time.Time) {
		var services []config.Service
		var neighbors []string
		if services, neighbors, bad = s.resolve(e.cfg); bad == nil && e.centre.link != nil {
			keys, bad = e.request(now, services, neighbors, w)
		}
	})
	if err := first(err, bad); err != nil || len(keys) == 0 {
		return err
	}
	return e.awaitLeave(ctx, keys, breakGlass)
}

// awaitLeave waits for the answer to requests, and begins to act on them. glass says
// what to do where the answer is no.
func (e *Edge) awaitLeave(ctx context.Context, keys []string, glass string) error {
	if len(keys) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, answerTime, RefusedError{"the centre has not answered within " + answerTime.String() + ": " + glass})
	defer cancel()
	for {
		news := e.News()
		open := false
		var bad error
		if err := e.read(ctx, func(time.Time) { open, bad = e.answered(keys, glass, false) }); err != nil || bad != nil || !open {
			return e.giveUp(first(cause(ctx, err), bad), keys)
		}
		select {
		case <-news:
		case <-ctx.Done():
			if err := e.read(context.Background(), func(time.Time) { _, bad = e.answered(keys, glass, true) }); err != nil {
				return err
			}
			return e.giveUp(first(bad, context.Cause(ctx)), keys)
		case <-e.leaving:
			return errLeaving
		}
	}
}

const breakGlass = "--override-safety --for TIME does it all the same, and is audited"

// request asks for leave for a word, where it needs any.
func (e *Edge) request(now time.Time, services []config.Service, neighbors []string, w Word) ([]string, error) {
	var keys []string
	for i := range services {
		svc := &services[i]
		sd := before(e.decision, svc.Name)
		stays := func(nd policy.NeighborDecision) bool {
			return !slices.Contains(neighbors, nd.Name) && atNeighbor(nd).Severity < policy.Draining
		}
		if len(neighbors) > 0 && slices.ContainsFunc(sd.Neighbors, stays) {
			continue
		}
		key := "local/" + svc.Name
		if l, has := e.centre.kept.Leases[key]; has && l.mayAct(now) && l.Begun {
			continue
		}
		if !w.OverrideSafety && !e.centre.connected() {
			return nil, refusedf("the centre is away, and what takes %s away from all neighbours needs its leave: %s", svc.Name, breakGlass)
		}
		l := e.ask(now, key, lease{Lease: fleet.Lease{Kind: fleet.Override}, Service: svc.Name, Reason: w.Reason, Override: w.OverrideSafety, Until: now.Add(2 * answerTime)})
		if w.OverrideSafety {
			l.Begun, l.BegunAt = true, now
			e.centre.kept.Leases[key] = l
			e.log.Warn("the limits of the fleet are overridden", "service", svc.Name, "verb", w.Verb.String(), "reason", w.Reason, "by", w.By)
			continue
		}
		keys = append(keys, key)
	}
	return keys, nil
}

// answered says whether an answer is still to come, and what was refused. A node that
// is to stay in a hard failure waits until others have taken over: unless last, the
// answer to that is still to come.
func (e *Edge) answered(keys []string, glass string, last bool) (open bool, refused error) {
	for _, key := range keys {
		switch l := e.centre.kept.Leases[key]; {
		case l.Limit == fleet.Keeper && l.State == "" && !last:
			open = true
		case l.Refused != "":
			return false, refusedf("the fleet cannot spare %s here: %s; %s", l.Service, l.Refused, glass)
		case l.State == fleet.Revoked:
			return false, refusedf("the leave for %s was revoked at once", l.Service)
		case l.State == "":
			open = true
		default:
			l.Begun, l.BegunAt = true, time.Now()
			e.centre.kept.Leases[key] = l
		}
	}
	return open, nil
}

// giveUp takes requests back after an error.
func (e *Edge) giveUp(err error, keys []string) error {
	if err == nil {
		return nil
	}
	_ = e.change(context.Background(), "operator", func(time.Time) {
		for _, key := range keys {
			delete(e.centre.kept.Leases, key)
		}
	})
	return err
}
