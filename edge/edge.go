package edge

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/catchment-bgp/catchment/announcer"
	"github.com/catchment-bgp/catchment/announcer/host"
	"github.com/catchment-bgp/catchment/edge/config"
	"github.com/catchment-bgp/catchment/healthcheck"
	"github.com/catchment-bgp/catchment/policy"
)

// Announcer is what the loop needs of an announcer.Announcer.
type Announcer interface {
	SetNeighbors(local announcer.Local, ns []announcer.Neighbor) error
	Set(neighbor string, routes []announcer.Route) error
	Status() map[string]announcer.Status
	Changed() <-chan struct{}
	Settle(ctx context.Context) error
	Close(ctx context.Context, text string)
}

// VIPs is what the loop needs of a host.VIPs.
type VIPs interface {
	Set(want map[string][]netip.Prefix) error
	Watch(ctx context.Context) (<-chan struct{}, error)
	Close() error
}

// Defaults is what the loop needs of a host.Defaults.
type Defaults interface {
	Set(want map[string]host.Default) error
	Close() error
}

// Options are the parts around the loop. New fills in what is left out with the
// real ones.
type Options struct {
	// File is the configuration file, for Apply, Confirm and Rollback; empty:
	// what is applied lasts until the process ends.
	File    string
	Version string
	Log     *slog.Logger

	Announcer Announcer
	VIPs      VIPs
	Defaults  Defaults
	// WayBack reports whether replies find their way, until the context ends.
	WayBack func(ctx context.Context, report func(host.WayBack)) error
	// Checks runs a check until the context ends.
	Checks func(ctx context.Context, c healthcheck.Check, report func(healthcheck.Status)) error
}

// Edge is one edge node. Its methods may be called from any goroutine.
type Edge struct {
	opt     Options
	log     *slog.Logger
	started time.Time

	requests chan func(now time.Time)
	wayBacks chan host.WayBack
	defaults chan defaultNews
	gone     chan struct{} // closed when the loop has ended

	news broadcast // tells watchers that the status may have changed

	// All that follows belongs to the loop.
	work      context.Context // ends when the node leaves
	cfg       *config.Config
	warnings  []config.Problem
	checks    *checks
	store     *store
	state     policy.State
	decision  policy.Decision
	overrides []policy.Override
	wayBack   *host.WayBack
	learnt    map[string]host.Default
	given     map[string][]announcer.Route // by neighbour, as last told to the announcer
	retry     time.Time                    // when to try again what failed; zero: nothing did
	vips      vipKeeper
	history   history
	changes   map[ServiceReason]int
	pending   *pending
	reloads   reloads
}

type defaultNews struct {
	neighbor string
	change   host.DefaultChange
}

const (
	// retryAfter is when something that failed is tried again.
	retryAfter = time.Second
	// settleTime bounds the wait for the last withdrawals when leaving.
	settleTime = 3 * time.Second
	// closeTime bounds the end of the sessions when leaving.
	closeTime = 3 * time.Second
)

// New makes an edge node of a valid configuration. It opens the state directory
// and what reaches into the kernel, but starts nothing.
func New(c *config.Config, warnings []config.Problem, o Options) (*Edge, error) {
	if o.Log == nil {
		o.Log = slog.Default()
	}
	e := &Edge{
		opt: o, log: o.Log, started: time.Now(), cfg: c, warnings: warnings,
		requests: make(chan func(time.Time)), wayBacks: make(chan host.WayBack, 1),
		defaults: make(chan defaultNews, 64), gone: make(chan struct{}),
		checks: newChecks(), learnt: map[string]host.Default{}, given: map[string][]announcer.Route{},
		changes: map[ServiceReason]int{}, news: newBroadcast(),
	}
	if o.Checks != nil {
		e.checks.runner = o.Checks
	}
	var s stored
	var err error
	e.store, s, err = openStore(c.StateDir, func(err error) { e.log.Error("the state could not be kept", "error", err) })
	if err != nil {
		return nil, err
	}
	e.state, e.overrides = s.Policy, s.Overrides
	if err := e.fillIn(); err != nil {
		e.store.close(context.Background())
		return nil, err
	}
	e.vips = newVIPKeeper(e.opt.VIPs)
	return e, nil
}

// fillIn makes the real parts where the caller gave none.
func (e *Edge) fillIn() error {
	o := &e.opt
	var err error
	if o.Announcer == nil {
		o.Announcer = announcer.New(announcer.Options{Log: e.log, Default: e.hearDefault})
	}
	if o.VIPs == nil {
		if o.VIPs, err = host.NewVIPs(host.VIPOptions{StateDir: e.cfg.StateDir, Log: e.log}); err != nil {
			return err
		}
	}
	if err = e.needDefaults(e.cfg); err != nil {
		return err
	}
	if o.WayBack == nil {
		o.WayBack = func(ctx context.Context, report func(host.WayBack)) error {
			return host.WatchWayBack(ctx, host.WayBackOptions{Log: e.log}, report)
		}
	}
	return nil
}

// Run announces until the context is done, and then leaves: all routes are
// withdrawn, the hold passes, the VIPs go, the sessions end. It returns an error
// only if the node could not start. Run may be called once.
func (e *Edge) Run(ctx context.Context) error {
	defer close(e.gone)
	work, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	var side sync.WaitGroup
	defer side.Wait()
	defer stop()
	e.work = work

	if err := e.opt.Announcer.SetNeighbors(e.local(e.cfg), sessions(e.cfg)); err != nil {
		e.store.close(ctx)
		return err
	}
	vipNews, err := e.opt.VIPs.Watch(work)
	if err != nil {
		e.log.Warn("changes of addresses on this machine go unseen", "error", err)
	}
	side.Go(func() { e.watchWayBack(work) })
	e.checks.set(work, e.cfg, nil)
	e.logWarnings()
	e.log.Info("started", "node", e.cfg.Node, "asn", e.cfg.ASN, "version", e.opt.Version)
	e.loop(ctx, vipNews)
	e.leave()
	e.checks.stop()
	return nil
}

// loop is the one goroutine that owns the state.
func (e *Edge) loop(ctx context.Context, vipNews <-chan struct{}) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	trigger := "start"
	for {
		now := time.Now()
		e.step(now, trigger)
		timer.Reset(e.sleep(now))
		trigger = ""
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
			trigger = "timer"
			e.expire(time.Now())
		case r := <-e.checks.results:
			if e.checks.take(r) {
				trigger = fmt.Sprintf("check %s of %s", r.key.check, r.key.service)
			}
		case wb := <-e.wayBacks:
			e.wayBack = &wb
			trigger = "routes of this machine"
		case d := <-e.defaults:
			e.learn(d)
		case <-e.opt.Announcer.Changed():
			trigger = "sessions"
		case _, ok := <-vipNews:
			if !ok {
				vipNews = nil
			}
			e.vips.dirty = true
			trigger = "addresses of this machine"
		case ask := <-e.requests:
			ask(time.Now())
			trigger = "operator"
		}
	}
}

// do runs a function in the loop and waits for it.
func (e *Edge) do(ctx context.Context, f func(now time.Time)) error {
	done := make(chan struct{})
	ask := func(now time.Time) { defer close(done); f(now) }
	select {
	case e.requests <- ask:
		<-done
		return nil
	case <-e.gone:
		return errLeaving
	case <-ctx.Done():
		return ctx.Err()
	}
}

var errLeaving = errors.New("edge: the node is leaving")

// sleep is how long the loop may wait without an event.
func (e *Edge) sleep(now time.Time) time.Duration {
	next := earliest(e.decision.Wake, e.retry, e.vips.wake())
	if e.pending != nil {
		next = earliest(next, e.pending.deadline)
	}
	if next.IsZero() {
		return time.Hour
	}
	return max(0, next.Sub(now))
}

func earliest(ts ...time.Time) time.Time {
	var out time.Time
	for _, t := range ts {
		if !t.IsZero() && (out.IsZero() || t.Before(out)) {
			out = t
		}
	}
	return out
}

// step decides and brings about what was decided. An empty trigger says that
// nothing that a decision depends on has changed.
func (e *Edge) step(now time.Time, trigger string) {
	e.retry = time.Time{}
	e.keepVIPs(now)
	in := e.input(now, e.cfg)
	state, d := policy.Next(e.policyConfig(e.cfg), e.state, in)
	e.record(now, trigger, in, d)
	e.state, e.decision = state, d
	for neighbor, routes := range Routes(e.cfg, d) {
		e.announce(now, neighbor, routes)
	}
	e.releaseVIPs(now)
	e.store.save(e.stored())
	e.news.tell()
}

// announce tells the announcer what a neighbour shall know, if that is new.
func (e *Edge) announce(now time.Time, neighbor string, routes []announcer.Route) {
	if was, ok := e.given[neighbor]; ok && slices.EqualFunc(was, routes, announcer.Route.Equal) {
		return
	}
	if err := e.opt.Announcer.Set(neighbor, routes); err != nil {
		if _, failing := e.given[neighbor]; failing || e.retry.IsZero() {
			e.log.Error("the neighbour could not be told; it is tried again", "neighbor", neighbor, "error", err)
		}
		delete(e.given, neighbor)
		e.retry = now.Add(retryAfter)
		return
	}
	e.given[neighbor] = routes
}

// input collects what is the case.
func (e *Edge) input(now time.Time, c *config.Config) policy.Input {
	in := policy.Input{Now: now, Overrides: e.overrides, Health: map[string]policy.Health{}}
	for _, svc := range c.Services {
		h := e.checks.health(svc)
		if fault := e.vips.fault(svc.Name); fault != "" {
			h.Hard, h.HardDetail = policy.Down, fault
		}
		in.Health[svc.Name] = h
	}
	in.WayBack4, in.WayBack6 = e.wayBackVerdicts(c)
	return in
}

func (e *Edge) wayBackVerdicts(c *config.Config) (v4, v6 policy.Verdict) {
	verdict := func(there bool) policy.Verdict {
		if there {
			return policy.Up
		}
		return policy.Down
	}
	switch {
	case !c.WayBack.Required:
		return policy.Up, policy.Up
	case e.wayBack == nil:
		return policy.Unknown, policy.Unknown
	}
	return verdict(e.wayBack.IPv4), verdict(e.wayBack.IPv6)
}

// policyConfig is what the policy needs of a configuration.
func (e *Edge) policyConfig(c *config.Config) policy.Config {
	pc := policy.Config{ReturnAfter: c.ReturnAfter, Grace: c.WayBack.Grace}
	for _, svc := range c.Services {
		ps := policy.Service{Name: svc.Name, Neighbors: svc.Neighbors, Drain: svc.Drain}
		for _, p := range svc.Prefixes {
			ps.IPv4 = ps.IPv4 || p.Addr().Is4()
			ps.IPv6 = ps.IPv6 || p.Addr().Is6()
		}
		pc.Services = append(pc.Services, ps)
	}
	return pc
}

func (e *Edge) stored() stored {
	return stored{Overrides: append([]policy.Override{}, e.overrides...), Policy: e.state}
}

func (e *Edge) local(c *config.Config) announcer.Local {
	return announcer.Local{ASN: c.ASN, RouterID: c.RouterID}
}

func sessions(c *config.Config) []announcer.Neighbor {
	out := make([]announcer.Neighbor, 0, len(c.Neighbors))
	for _, n := range c.Neighbors {
		out = append(out, n.Neighbor)
	}
	return out
}

// expire ends what has run out: overrides, and a configuration never confirmed.
func (e *Edge) expire(now time.Time) {
	e.overrides = slices.DeleteFunc(slices.Clone(e.overrides), func(o policy.Override) bool {
		if !o.Active(now) {
			e.log.Info("override ended", "service", o.Service, "neighbor", o.Neighbor, "verb", o.Verb.String())
		}
		return !o.Active(now)
	})
	if e.pending != nil && !now.Before(e.pending.deadline) {
		e.log.Warn("the new configuration was not confirmed: going back")
		e.revert(now)
	}
}

func (e *Edge) watchWayBack(ctx context.Context) {
	for ctx.Err() == nil {
		err := e.opt.WayBack(ctx, func(wb host.WayBack) {
			select {
			case e.wayBacks <- wb:
			case <-ctx.Done():
			}
		})
		if err == nil {
			return
		}
		e.log.Error("the routes of this machine cannot be watched; trying again", "error", err)
		select {
		case <-ctx.Done():
		case <-time.After(retryAfter):
		}
	}
}

// leave is the end of an orderly run: withdraw, wait until that is on the wire,
// hold, take the VIPs away, end the sessions.
func (e *Edge) leave() {
	e.log.Info("leaving: withdrawing all routes")
	for _, n := range e.cfg.Neighbors {
		if err := e.opt.Announcer.Set(n.Name, nil); err != nil {
			e.log.Error("withdraw", "neighbor", n.Name, "error", err)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), settleTime)
	if err := e.opt.Announcer.Settle(ctx); err != nil {
		e.log.Error("not all withdrawals were sent; ending the sessions withdraws the rest", "error", err)
	}
	cancel()
	time.Sleep(e.cfg.LeaveHold)
	if err := e.opt.VIPs.Set(nil); err != nil {
		e.log.Error("VIPs could not be taken away", "error", err)
	}
	ctx, cancel = context.WithTimeout(context.Background(), closeTime)
	defer cancel()
	e.opt.Announcer.Close(ctx, "catchment: node "+e.cfg.Node+" leaves")
	if e.opt.Defaults != nil {
		if err := errors.Join(e.opt.Defaults.Set(nil), e.opt.Defaults.Close()); err != nil {
			e.log.Error("default routes could not be taken away", "error", err)
		}
	}
	if err := e.opt.VIPs.Close(); err != nil {
		e.log.Error("close", "error", err)
	}
	e.store.save(e.stored())
	e.store.close(ctx)
	e.log.Info("left")
}

func (e *Edge) logWarnings() {
	for _, w := range e.warnings {
		e.log.Warn("configuration", "warning", w.String(), "file", filepath.Base(w.File))
	}
}
