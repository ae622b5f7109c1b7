package edge

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/catchment-bgp/catchment/announcer"
	"github.com/catchment-bgp/catchment/edge/config"
	"github.com/catchment-bgp/catchment/healthcheck"
	"github.com/catchment-bgp/catchment/maintenance"
	"github.com/catchment-bgp/catchment/policy"
)

// Snapshot is the node at one moment, in the terms of the packages that know.
type Snapshot struct {
	At       time.Time
	Started  time.Time
	Version  string         // of this program
	Commit   string         // that it was built from; empty: not known
	Config   *config.Config // not to be changed
	Warnings []config.Problem
	Decision policy.Decision
	// Overrides and Pins in force.
	Overrides []policy.Override
	Pins      []policy.Pin
	// Load is what load control was given and did.
	Load LoadView
	// Sessions by neighbour.
	Sessions map[string]announcer.Status
	// Checks by service, in the order of the configuration.
	Checks             map[string][]CheckStatus
	WayBack4, WayBack6 policy.Verdict
	// ReturnFaults says by neighbour why replies do not leave as configured.
	ReturnFaults map[string]string
	// Centre is how the node stands with the centre.
	Centre CentreView
	// Maintenance is what windows and operators have under maintenance for a time.
	Maintenance []maintenance.Scope
	// RevertsAt is when a configuration that nobody confirmed goes back; zero:
	// none waits.
	RevertsAt time.Time
	// Reloaded says whether the last reload, at ReloadedAt, was taken up, and
	// ReloadFault why not.
	Reloaded    bool
	ReloadedAt  time.Time
	ReloadFault string
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
	err := e.read(ctx, func(now time.Time) { s = e.snapshot(now) })
	return s, err
}

func (e *Edge) snapshot(now time.Time) Snapshot {
	s := Snapshot{
		At: now, Started: e.started, Version: e.opt.Version, Commit: e.opt.Commit, Config: e.cfg, Warnings: e.warnings,
		Decision: e.decision.Aged(e.policyConfig(), e.state, now), Sessions: e.opt.Announcer.Status(), Checks: map[string][]CheckStatus{},
		Reloaded: e.reloads.ok, ReloadedAt: e.reloads.last, ReloadFault: e.reloads.why, Changes: maps.Clone(e.changes),
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
	s.Pins, s.Load = slices.Clone(e.pins), e.load.view()
	s.ReturnFaults = maps.Clone(e.returns.faults)
	s.WayBack4, s.WayBack6 = e.wayBackVerdicts(e.cfg)
	s.Centre, s.Maintenance = e.centre.view(now), e.maintained(now)
	if e.pending != nil {
		s.RevertsAt = e.pending.deadline
	}
	return s
}

// News returns a channel that is closed when the status may next have changed.
func (e *Edge) News() <-chan struct{} { return e.news.next() }

// Gone is closed when the node has left.
func (e *Edge) Gone() <-chan struct{} { return e.gone }

// Why returns the last changes of a service (empty: of all), and of the rungs at
// its neighbours, newest first and no more than limit of each.
func (e *Edge) Why(ctx context.Context, service string, limit int) ([]Change, []LoadChange, error) {
	var out []Change
	var loads []LoadChange
	var bad error
	err := e.read(ctx, func(time.Time) {
		sd := before(e.decision, service)
		if service != "" && sd.Name == "" {
			bad = usagef("there is no service %q; this node has %s", service, serviceNames(e.cfg))
			return
		}
		out = slices.Clone(e.history.newest(service, limit))
		loads = e.load.newest(limit, func(c LoadChange) bool {
			return service == "" || c.Neighbor == "" || slices.ContainsFunc(sd.Neighbors, func(nd policy.NeighborDecision) bool { return nd.Name == c.Neighbor })
		})
	})
	return out, loads, first(err, bad)
}
