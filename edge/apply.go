package edge

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/catchment-bgp/catchment/announcer"
	"github.com/catchment-bgp/catchment/edge/config"
	"github.com/catchment-bgp/catchment/policy"
)

// Plan is what one neighbour would see change.
type Plan struct {
	Neighbor string
	// Session is "kept", "restarted", "added" or "removed".
	Session   string
	Announced []announcer.Route
	Changed   []RouteChange
	Withdrawn []announcer.Route
}

// RouteChange is a route that stays announced and looks different.
type RouteChange struct{ From, To announcer.Route }

// pending is a configuration that goes back unless it is confirmed.
type pending struct {
	deadline time.Time
	before   *config.Config
	warnings []config.Problem
	// staged is the file beside the configuration file that Confirm moves there.
	staged string
}

// byConfig is the trigger of decisions that a configuration brought about.
const byConfig = "configuration"

// reloads is what became of the last reload, for the metrics and the status.
type reloads struct {
	ok   bool
	last time.Time
	why  string // it was not taken up
}

// Plan says how announcements would change under another configuration, with
// everything else as it is now, and what of it needs the centre's leave. Services
// that are new count as healthy, unless they take prefixes over from one that is
// not.
func (e *Edge) Plan(ctx context.Context, c *config.Config) ([]Plan, []Loss, error) {
	var plans []Plan
	var lost []Loss
	var bad error
	err := e.read(ctx, func(now time.Time) {
		if bad = e.fixed(c); bad == nil {
			plans, lost = e.plan(now, c), e.lowered(now, c)
		}
	})
	return plans, lost, first(err, bad)
}

// Differences names each part of the configuration in force that another would change, as
// config.Differences does.
func (e *Edge) Differences(ctx context.Context, c *config.Config) ([]string, error) {
	var now *config.Config
	if err := e.read(ctx, func(time.Time) { now = e.cfg }); err != nil {
		return nil, err
	}
	return config.Differences(now, c)
}

func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// footing is what neighbours are told under a configuration.
type footing struct {
	config *config.Config
	local  announcer.Local
	routes map[string][]announcer.Route
}

// foresee is what neighbours are told now, and what they would be under another
// configuration.
func (e *Edge) foresee(now time.Time, c *config.Config) (was, will footing) {
	in := e.input(now, c)
	line := heirs(e.cfg, c)
	for _, svc := range c.Services {
		if old, ok := line[svc.Name]; ok {
			in.Health[svc.Name] = e.checks.health(*service(e.cfg, old), nil)
		} else if service(e.cfg, svc.Name) == nil {
			in.Health[svc.Name] = policy.Health{Hard: policy.Up, Soft: policy.Up}
		}
	}
	in.Overrides, in.Pins = inheritOverrides(e.overrides, line), carryPins(e.pins, e.cfg, c)
	_, d := policy.Next(e.shared(policyConfig(c)), e.carried(line, c), in)
	return footing{e.cfg, e.local(e.cfg), e.render(e.cfg, e.decision)}, footing{c, e.local(c), e.render(c, d)}
}

func (e *Edge) plan(now time.Time, c *config.Config) []Plan {
	was, will := e.foresee(now, c)
	old, next := map[string]config.Neighbor{}, map[string]config.Neighbor{}
	var names []string
	for _, n := range c.Neighbors {
		next[n.Name] = n
		names = append(names, n.Name)
	}
	for _, n := range e.cfg.Neighbors {
		old[n.Name] = n
		if _, stays := next[n.Name]; !stays {
			names = append(names, n.Name)
		}
	}
	var plans []Plan
	for _, name := range names {
		p := diff(was.routes[name], will.routes[name])
		p.Neighbor = name
		n, isNew := next[name]
		o, isOld := old[name]
		switch {
		case !isNew:
			p.Session = "removed"
		case !isOld:
			p.Session = "added"
		case n.Neighbor != o.Neighbor || will.local != was.local:
			p.Session = "restarted"
		default:
			p.Session = "kept"
		}
		plans = append(plans, p)
	}
	return plans
}

// diff compares two lists of routes by prefix.
func diff(was, will []announcer.Route) Plan {
	var p Plan
	for _, r := range will {
		i := slices.IndexFunc(was, func(o announcer.Route) bool { return o.Prefix == r.Prefix })
		switch {
		case i < 0:
			p.Announced = append(p.Announced, r)
		case !was[i].Equal(r):
			p.Changed = append(p.Changed, RouteChange{was[i], r})
		}
	}
	for _, o := range was {
		if !slices.ContainsFunc(will, func(r announcer.Route) bool { return r.Prefix == o.Prefix }) {
			p.Withdrawn = append(p.Withdrawn, o)
		}
	}
	return p
}

// fixed refuses changes that only a restart can bring about.
func (e *Edge) fixed(c *config.Config) error {
	for _, f := range []struct{ key, is, want string }{
		{"node", e.cfg.Node, c.Node},
		{"state_dir", e.cfg.StateDir, c.StateDir},
		{"control", e.cfg.Control, c.Control},
		{"metrics", e.cfg.Metrics, c.Metrics},
	} {
		if f.is != f.want {
			return usagef("%s cannot change from %q to %q while the node runs: restart catchment-edge for that", f.key, f.is, f.want)
		}
	}
	return nil
}

// Reload takes a configuration up for good, as read from the file. What can
// fail comes first; on an error nothing has changed. Sessions and checks whose
// configuration is the same are not touched. A configuration that waits for
// its confirmation is dropped. One that lowers the fleet's capacity waits for the
// centre's leave; without it the error is a RefusedError.
func (e *Edge) Reload(ctx context.Context, c *config.Config, warnings []config.Problem) ([]Plan, error) {
	if err := e.consent(ctx, c, ApplyOptions{}); err != nil {
		return nil, err
	}
	var plans []Plan
	var bad error
	err := e.change(ctx, byConfig, func(now time.Time) {
		plans, bad = e.takeWithLeave(now, c, warnings)
		if bad == nil {
			e.drop()
		}
	})
	return plans, first(err, bad)
}

// ReloadFile is Reload with the configuration file as it stands now.
func (e *Edge) ReloadFile(ctx context.Context) ([]Plan, error) {
	c, warnings, err := config.Load(e.opt.File)
	if err == nil {
		var plans []Plan
		if plans, err = e.Reload(ctx, c, warnings); err == nil {
			return plans, nil
		}
	}
	e.log.Error("the configuration file was not taken up; the node runs on as before", "error", err)
	why := err.Error()
	return nil, errors.Join(err, e.change(ctx, byConfig, func(now time.Time) { e.reloads = reloads{last: now, why: why} }))
}

// take makes a configuration the running one.
func (e *Edge) take(now time.Time, c *config.Config, warnings []config.Problem) ([]Plan, error) {
	e.reloads = reloads{last: now}
	if err := e.fixed(c); err != nil {
		return nil, err
	}
	plans := e.plan(now, c)
	if err := e.opt.Announcer.SetNeighbors(e.local(c), sessions(c)); err != nil {
		return nil, err
	}
	for _, p := range plans {
		if p.Session != "kept" {
			delete(e.told, p.Neighbor)
			e.learnt.forget(p.Neighbor)
		}
	}
	line := heirs(e.cfg, c)
	e.overrides, e.state, e.pins = inheritOverrides(e.overrides, line), e.carried(line, c), carryPins(e.pins, e.cfg, c)
	e.checks.set(e.work, c, e.cfg)
	e.cfg, e.warnings = c, warnings
	e.measure(now)
	e.joinCentre(now)
	e.reloads = reloads{ok: true, last: now}
	e.log.Info("configuration taken up", "services", len(c.Services), "neighbors", len(c.Neighbors))
	e.logWarnings()
	return plans, nil
}

// ApplyOptions say how a configuration is taken up.
type ApplyOptions struct {
	// ConfirmWithin is when the node goes back unless Confirm comes; zero: never.
	ConfirmWithin time.Duration
	// OverrideSafety takes it up without the centre's leave; it needs a Reason. By
	// says who it was.
	OverrideSafety bool
	Reason, By     string
}

func (o ApplyOptions) check() error {
	switch {
	case o.ConfirmWithin < 0:
		return usagef("--confirm-within %s: write a time to come, such as 2m", o.ConfirmWithin)
	case o.OverrideSafety:
		return Word{Verb: policy.Announce, Reason: o.Reason}.check()
	}
	return nil
}

// Apply takes a configuration up. Without ConfirmWithin it replaces the
// configuration file at once; with it the node goes back by itself unless
// Confirm comes in time. It returns when it would go back. One that lowers the
// fleet's capacity takes the centre's leave: a refusal is a RefusedError, and
// changes nothing.
func (e *Edge) Apply(ctx context.Context, c *config.Config, warnings []config.Problem, content []byte, o ApplyOptions) ([]Plan, time.Time, error) {
	var plans []Plan
	var revertsAt time.Time
	var bad error
	if err := first(o.check(), e.waitsForNone(ctx)); err != nil {
		return nil, revertsAt, err
	}
	if err := e.consent(ctx, c, o); err != nil {
		return nil, revertsAt, err
	}
	err := e.change(ctx, byConfig, func(now time.Time) {
		if bad = e.onTrial(); bad != nil {
			return
		}
		var staged string
		if staged, bad = e.stage(content); bad != nil {
			return
		}
		before, oldWarnings := e.cfg, e.warnings
		if plans, bad = e.takeWithLeave(now, c, warnings); bad != nil {
			os.Remove(staged)
			return
		}
		e.pending = &pending{before: before, warnings: oldWarnings, staged: staged}
		if o.ConfirmWithin == 0 {
			bad = e.confirmOrRevert(now)
			return
		}
		revertsAt = now.Add(o.ConfirmWithin)
		e.pending.deadline = revertsAt
	})
	return plans, revertsAt, first(err, bad)
}

// waitsForNone is onTrial, asked before the centre is.
func (e *Edge) waitsForNone(ctx context.Context) error {
	var bad error
	err := e.read(ctx, func(time.Time) { bad = e.onTrial() })
	return first(err, bad)
}

// onTrial refuses a second configuration beside one that waits.
func (e *Edge) onTrial() error {
	if e.pending == nil {
		return nil
	}
	return refusedf("another configuration waits for its confirmation until %s: confirm it or roll it back first", e.pending.deadline.Format(time.TimeOnly))
}

// stage writes the new file beside the old one: if that fails, nothing changes.
func (e *Edge) stage(content []byte) (string, error) {
	if e.opt.File == "" {
		return "", nil
	}
	mode := os.FileMode(0o640)
	if st, err := os.Stat(e.opt.File); err == nil {
		mode = st.Mode().Perm()
	}
	return writeBeside(e.opt.File, content, mode)
}

// confirm makes the pending configuration the file's.
func (e *Edge) confirm() error {
	p := e.pending
	if p.staged != "" {
		if err := e.keepPrevious(); err != nil {
			return err
		}
		if err := moveInto(p.staged, e.opt.File); err != nil {
			return err
		}
	}
	e.pending = nil
	e.log.Info("configuration confirmed")
	return nil
}

// previousFile is the configuration file before the last confirmed Apply.
func (e *Edge) previousFile() string { return filepath.Join(e.cfg.StateDir, "previous.yaml") }

func (e *Edge) keepPrevious() error {
	old, err := os.ReadFile(e.opt.File)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil // there is none to keep
	case err != nil:
		return fmt.Errorf("edge: keep the previous configuration: %w", err)
	}
	return writeFile(e.previousFile(), old, 0o600)
}

// Parse reads a configuration as if it were the node's file: secrets come from
// the node's environment and from beside its file.
func (e *Edge) Parse(name string, content []byte) (*config.Config, []config.Problem, error) {
	return config.Parse(name, content, config.Options{
		Getenv: os.LookupEnv, ReadFile: os.ReadFile,
		Dir: filepath.Dir(e.opt.File),
	})
}
