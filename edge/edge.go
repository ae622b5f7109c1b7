package edge

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"time"

	"github.com/catchment-bgp/catchment/announcer"
	"github.com/catchment-bgp/catchment/announcer/guard"
	"github.com/catchment-bgp/catchment/announcer/host"
	"github.com/catchment-bgp/catchment/edge/config"
	"github.com/catchment-bgp/catchment/healthcheck"
	"github.com/catchment-bgp/catchment/load"
	"github.com/catchment-bgp/catchment/policy"
	"github.com/catchment-bgp/catchment/policy/flap"
)

// Announcer is what the loop needs of an announcer.Announcer.
type Announcer interface {
	// SetNeighbors makes the sessions be exactly these; on an error nothing changed.
	SetNeighbors(local announcer.Local, ns []announcer.Neighbor) error
	// Set says everything that a neighbour shall know; on an error nothing changed.
	Set(neighbor string, routes []announcer.Route) error
	// Status is the state of every neighbour by name.
	Status() map[string]announcer.Status
	// Sessions is Status without routes, which costs little.
	Sessions() map[string]guard.Status
	// Changed receives a value after Status has changed.
	Changed() <-chan struct{}
	// Settle waits until what was Set is on the wire, where a session is up.
	Settle(ctx context.Context) error
	// Close ends all sessions with the text; the context bounds it.
	Close(ctx context.Context, text string)
}

// VIPs is what the loop needs of a host.VIPs.
type VIPs interface {
	// Set makes these, by interface, all VIPs of ours; a *host.SetError names
	// those that do not stand.
	Set(want map[string][]netip.Prefix) error
	// Watch receives a value when Set may have something to do.
	Watch(ctx context.Context) (<-chan struct{}, error)
	// Close frees what Set needs; the VIPs stay.
	Close() error
}

// Defaults is what the loop needs of a host.Defaults.
type Defaults interface {
	// Set makes these, by neighbour, all default routes of ours.
	Set(want map[string]host.Default) error
	// Close frees what Set needs; the routes stay.
	Close() error
}

// Returns is what the loop needs of a host.Return.
type Returns interface {
	// Set makes these all return paths of ours; a *host.SetError names those that
	// do not work.
	Set(want host.Returns) error
	// Marks says which neighbour each connection mark stands for.
	Marks() map[uint32]string
	// Watch receives a value when Set may have something to do.
	Watch(ctx context.Context) (<-chan struct{}, error)
	// Close frees what Set needs; the paths stay.
	Close() error
}

// Options are the parts around the loop. New fills in what is left out with the
// real ones.
type Options struct {
	// File is the configuration file, for Apply, Confirm and Rollback; empty:
	// what is applied lasts until the process ends.
	File string
	// Version and Commit are those of this program; empty: not known.
	Version, Commit string
	Log             *slog.Logger

	Announcer Announcer
	VIPs      VIPs
	Defaults  Defaults
	Returns   Returns
	// WayBack reports whether replies find their way, until the context ends.
	WayBack func(ctx context.Context, report func(host.WayBack)) error
	// Sampler prepares to measure load.
	Sampler func(c load.Config) (Sampler, error)
	// Flap replaces the flap budget of the configuration: for tests, as it may be
	// none.
	Flap *flap.Config
	// Checks runs a check until the context ends.
	Checks func(ctx context.Context, c healthcheck.Check, report func(healthcheck.Status)) error
	// DialCentre opens a connection to a centre.
	DialCentre func(ctx context.Context, address string) (net.Conn, error)
	// Clock says whether this machine's clock is synchronised.
	Clock func() bool
	// Ahead is how far this machine's clock is taken to be ahead where it is held
	// against the centre's: for tests, as containers share the machine's.
	Ahead time.Duration

	// Supervisor, where set, is told by the loop that it goes round: after its
	// steps, and never later than BeatEvery (0: 10 s) after it was told last.
	Supervisor Supervisor
	BeatEvery  time.Duration
}

// Edge is one edge node. Its methods may be called from any goroutine.
type Edge struct {
	opt     Options
	log     *slog.Logger
	started time.Time

	requests chan request
	wayBacks chan host.WayBack
	defaults chan defaultNews
	leaving  chan struct{} // closed when the loop has ended
	gone     chan struct{} // closed when the node has left

	news broadcast // tells watchers that the status may have changed

	// All that follows belongs to the loop.
	work      context.Context // ends when the node leaves
	cfg       *config.Config
	warnings  []config.Problem
	checks    *checks
	store     *store
	state     policy.State
	decision  policy.Decision
	triggers  map[string]string // what made the loop decide, by service, where it was a check
	rendered  rendering
	policyOf  *config.Config // what policyCfg was made of
	policyCfg policy.Config
	// ladderSteps are what the rungs of laddersOf do.
	laddersOf   *config.Config
	ladderSteps map[string][]step
	overrides   []policy.Override
	pins        []policy.Pin
	wayBack     *host.WayBack
	learnt      defaultKeeper
	told        map[string]told // by neighbour
	// sessionsAt is when the sessions were last looked at.
	sessionsAt time.Time
	vips       vipKeeper
	returns    returnKeeper
	load       loadKeeper
	centre     centreKeeper
	tape       tape
	history    history
	changes    map[ServiceReason]int
	pending    *pending
	reloads    reloads
	beats      beats
}

const (
	// retryAfter is when something that failed is tried again.
	retryAfter = time.Second
	// settleTime bounds the wait for the last withdrawals when leaving.
	settleTime = 3 * time.Second
	// closeTime bounds the end of the sessions when leaving.
	closeTime = 3 * time.Second
	// writeTime bounds the wait for the disk when leaving.
	writeTime = time.Second
)

// New makes an edge node of a valid configuration. It opens the state directory
// and what reaches into the kernel, but announces nothing; Run must follow, which
// frees it all.
func New(c *config.Config, warnings []config.Problem, o Options) (*Edge, error) {
	if o.Log == nil {
		o.Log = slog.Default()
	}
	e := &Edge{
		opt: o, log: o.Log, started: time.Now(), cfg: c, warnings: warnings,
		requests: make(chan request), wayBacks: make(chan host.WayBack, 1),
		defaults: make(chan defaultNews, 64), leaving: make(chan struct{}), gone: make(chan struct{}),
		checks: newChecks(), learnt: newDefaultKeeper(), told: map[string]told{},
		changes: map[ServiceReason]int{}, news: newBroadcast(), load: newLoadKeeper(),
		centre: newCentreKeeper(),
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
	e.state, e.overrides, e.pins = s.Policy, afterRestart(s.Overrides, e.started), s.Pins
	e.remap(s.Ladders)
	if c.Central != nil {
		if err := e.centre.restore(s.Centre, c, e.started); err != nil {
			return nil, errors.Join(err, e.store.close(context.Background()))
		}
	}
	if err := e.fillIn(); err != nil {
		return nil, errors.Join(err, e.free(context.Background()))
	}
	e.vips = newVIPKeeper(e.opt.VIPs)
	e.adoptDefaults()
	e.returns = newReturnKeeper(e.opt.Returns)
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
	if o.Defaults == nil {
		if o.Defaults, err = host.NewDefaults(host.DefaultsOptions{Log: e.log}); err != nil {
			return err
		}
	}
	if o.Returns == nil {
		if o.Returns, err = host.NewReturn(host.ReturnOptions{Log: e.log}); err != nil {
			return err
		}
	}
	if o.Sampler == nil {
		o.Sampler = func(c load.Config) (Sampler, error) {
			c.Log = e.log
			s, err := load.New(c)
			if err != nil {
				return nil, err
			}
			return s, nil
		}
	}
	if o.Clock == nil {
		o.Clock = kernelClock
	}
	if o.WayBack == nil {
		o.WayBack = func(ctx context.Context, report func(host.WayBack)) error {
			return host.WatchWayBack(ctx, host.WayBackOptions{Log: e.log}, report)
		}
	}
	return nil
}

// free lets go of what New opened.
func (e *Edge) free(ctx context.Context) error {
	var err error
	if e.opt.Defaults != nil {
		err = e.opt.Defaults.Close()
	}
	if e.opt.VIPs != nil {
		err = errors.Join(err, e.opt.VIPs.Close())
	}
	if e.opt.Returns != nil {
		err = errors.Join(err, e.opt.Returns.Close())
	}
	return errors.Join(err, e.store.close(ctx))
}
