package edge

import (
	"context"
	"slices"
	"time"

	"github.com/catchment-bgp/catchment/edge/config"
	"github.com/catchment-bgp/catchment/policy/fleet"
)

const (
	// breakGlassConfig says how a configuration is taken up all the same.
	breakGlassConfig = "`apply --override-safety --reason WHY` does it all the same, and is audited"
	// configSettles is for how long leave is held after a configuration was taken up
	// with it: sessions that began anew are up by then.
	configSettles = 30 * time.Second
)

// lowered is what a configuration takes away here that needs the centre's leave:
// nothing where there is no centre.
func (e *Edge) lowered(now time.Time, c *config.Config) []Loss {
	if e.centre.link == nil {
		return nil
	}
	was, will := e.foresee(now, c)
	return losses(was, will, func(n string) bool { return e.load.sessions[n].Up })
}

// consent asks the centre for leave to take a configuration up, where it lowers the
// fleet's capacity, and waits for the answer. A refusal is a RefusedError.
func (e *Edge) consent(ctx context.Context, c *config.Config, o ApplyOptions) error {
	var lost []Loss
	if err := e.read(ctx, func(now time.Time) {
		if e.fixed(c) == nil { // else taking it up fails anyway
			lost = e.lowered(now, c)
		}
	}); err != nil || len(lost) == 0 {
		return err
	}
	var bad error
	var keys []string
	err := e.change(ctx, byConfig, func(now time.Time) { keys, bad = e.requestConfig(now, lost, o) })
	if err := first(err, bad); err != nil {
		return err
	}
	return e.awaitLeave(ctx, keys, breakGlassConfig)
}

// consentToPrevious is consent for the configuration that a rollback takes up, if it
// takes up one.
func (e *Edge) consentToPrevious(ctx context.Context) error {
	trial := false
	if err := e.read(ctx, func(time.Time) { trial = e.pending != nil }); err != nil || trial {
		return err
	}
	c, _, _, err := e.previous()
	if err != nil {
		return err
	}
	return e.consent(ctx, c, ApplyOptions{})
}

func configKey(service string) string { return "config/" + service }

// requestConfig asks for leave for all that a configuration takes away.
func (e *Edge) requestConfig(now time.Time, lost []Loss, o ApplyOptions) ([]string, error) {
	if !o.OverrideSafety && !e.centre.connected() {
		return nil, refusedf("the centre is away, and this configuration withdraws %s here, which needs its leave: %s", lossTexts(lost), breakGlassConfig)
	}
	var keys []string
	for _, l := range lost {
		want := lease{Lease: fleet.Lease{Kind: fleet.Override}, Service: l.Service, Override: o.OverrideSafety,
			Reason: "a configuration withdraws " + l.String(), Until: now.Add(2 * answerTime)}
		for _, p := range l.Prefixes {
			want.Prefixes = append(want.Prefixes, p.String())
		}
		if o.OverrideSafety {
			want.Reason += " in spite of the limits: " + o.Reason + " (" + o.By + ")"
		}
		got := e.ask(now, configKey(l.Service), want)
		if !o.OverrideSafety {
			keys = append(keys, configKey(l.Service))
			continue
		}
		got.Begun, got.BegunAt = true, now
		e.centre.kept.Leases[configKey(l.Service)] = got
		e.log.Warn("the limits of the fleet are overridden", "service", l.Service, "verb", "apply", "reason", o.Reason, "by", o.By)
	}
	return keys, nil
}

// takeWithLeave is take, if there is leave for what the configuration takes away by
// now.
func (e *Edge) takeWithLeave(now time.Time, c *config.Config, warnings []config.Problem) ([]Plan, error) {
	var lost []Loss
	if e.fixed(c) == nil {
		lost = e.lowered(now, c)
	}
	for _, l := range lost {
		has, ok := e.centre.kept.Leases[configKey(l.Service)]
		for _, p := range l.Prefixes {
			ok = ok && slices.Contains(has.Prefixes, p.String())
		}
		if !ok || !has.Begun || !has.mayAct(now) {
			return nil, refusedf("this configuration withdraws %s here by now, for which there is no leave: try again", l)
		}
	}
	plans, err := e.take(now, c, warnings)
	if err != nil {
		return nil, err
	}
	for _, l := range lost {
		if has, ok := e.centre.kept.Leases[configKey(l.Service)]; ok {
			has.Until = now.Add(configSettles)
			e.centre.kept.Leases[configKey(l.Service)] = has
		}
	}
	return plans, nil
}

// needsConfigLease says whether leave for a configuration is still of use: while it is
// on trial, and what overrides the limits until the centre has heard of it. Leave that
// is revoked ends the trial.
func (e *Edge) needsConfigLease(now time.Time, l *lease) bool {
	if e.pending == nil {
		return l.Override && l.State == "" && l.Refused == ""
	}
	if l.State == fleet.Revoked && l.Begun {
		e.pending.deadline = now
	}
	return true
}
