package central

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/catchment-bgp/catchment/central/audit"
	"github.com/catchment-bgp/catchment/central/identity"
	"github.com/catchment-bgp/catchment/central/store"
)

// Fleet is the centre without its servers. All methods may be called at the same time.
type Fleet struct {
	settings Settings
	store    store.Store
	audit    *audit.Log
	log      *slog.Logger
	meters   *meters

	mu       sync.RWMutex
	w        *world
	sessions map[string]*session
	refused  map[string]string   // what was audited of a refusal last, by node and id
	spared   *identity.Allowance // bounds how many refusals a caller has written down
	news     chan struct{}       // closed and made anew when the view is
	followed chan struct{}       // closed and made anew when the watch brings something

	// cut is true while the store is out of reach; tellHealth hears of it. reached is when it was reached last: what finds
	// that out may hang itself.
	cut        atomic.Bool
	reached    atomic.Pointer[time.Time]
	begun      atomic.Pointer[time.Time] // when Run had read the store
	tellHealth func(ok bool)

	view  atomic.Pointer[view]
	fan   fan
	dirty chan struct{}
	ready chan struct{}
	// leaving is closed when Run ends: watches end with it.
	leaving chan struct{}

	details *details
	// webCodes bounds the codes that a person can have made.
	webCodes identity.Allowance

	publish struct {
		sync.Mutex
		nodes map[string]bool
		wake  chan struct{}
	}
}

// NewFleet returns a centre over a store. It does nothing before Run.
func NewFleet(s store.Store, settings Settings) *Fleet {
	if settings.Log == nil {
		settings.Log = slog.New(slog.DiscardHandler)
	}
	if settings.Replica == "" {
		settings.Replica = newID("r")
	}
	f := &Fleet{settings: settings, store: s, audit: audit.New(s, time.Now, settings.Log), log: settings.Log, meters: newMeters(),
		w: newWorld(settings), sessions: map[string]*session{}, refused: map[string]string{}, spared: identity.NamedRefusals(), news: make(chan struct{}), followed: make(chan struct{}),
		dirty: make(chan struct{}, 1), ready: make(chan struct{}), leaving: make(chan struct{}), tellHealth: func(bool) {}}
	f.webCodes = identity.Allowance{Burst: webCodeBurst, Every: webCodeEvery, AllBurst: 100 * webCodeBurst, AllEvery: webCodeEvery / 100}
	f.details = &details{f: f, waits: map[string]detailDoc{}}
	f.fan.nodes = map[string]bool{}
	f.publish.nodes, f.publish.wake = map[string]bool{}, make(chan struct{}, 1)
	return f
}

// Ready is closed once the store has been read.
func (f *Fleet) Ready() <-chan struct{} { return f.ready }

// Run works until ctx ends: it follows the store, publishes what this process
// hears and, as long as it is the first of the centres, steers. The error is the
// store's when it has ended.
func (f *Fleet) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var work sync.WaitGroup
	defer work.Wait()
	if err := f.load(ctx); err != nil {
		return err
	}
	begun := time.Now()
	f.begun.Store(&begun)
	f.renew(begun)
	close(f.ready)
	for _, loop := range []func(context.Context){f.beats, f.publishes, f.steers, f.remembers, f.prunes, f.webPrunes, f.writesDetails, f.observes} {
		work.Go(func() { loop(ctx) })
	}
	defer close(f.leaving)
	defer f.closeAll()
	defer cancel()
	return f.follow(ctx)
}

// mirrored are the kinds that a world has.
var mirrored = []string{kindNode, kindSession, kindLive, kindReplica, kindWindow, kindOverride, kindGrant, kindFence,
	kindKeep, kindTurn, kindFleet, kindPeaks, kindOutside, kindDetail}

// load reads the store as of one revision.
func (f *Fleet) load(ctx context.Context) error {
	w := newWorld(f.settings)
	for i, kind := range mirrored {
		span := store.Prefix(kind + "/")
		span.At = w.revision
		items, revision, err := f.store.Range(ctx, span)
		if err != nil {
			return fmt.Errorf("reading the store: %w", err)
		}
		if i == 0 {
			w.revision = revision
		}
		for _, item := range items {
			if _, err := w.apply(item.Key, item.Value, item.Revision, time.Time{}); err != nil {
				return fmt.Errorf("reading the store: %s: %w", kind, err)
			}
		}
	}
	f.mu.Lock()
	w.local, w.sights = f.w.local, f.w.sights
	for name, t := range f.w.heard {
		w.heard[name] = t
	}
	f.w = w
	close(f.followed)
	f.followed = make(chan struct{})
	f.mu.Unlock()
	f.wakeAll()
	return nil
}

// follow takes in what changes in the store.
func (f *Fleet) follow(ctx context.Context) error {
	for {
		f.mu.RLock()
		from := f.w.revision
		f.mu.RUnlock()
		err := f.watch(ctx, from)
		if ctx.Err() != nil {
			return nil
		}
		if errors.Is(err, store.ErrClosed) {
			return err
		}
		f.log.Warn("reading the store anew", "reason", err)
		for f.load(ctx) != nil {
			if !pause(ctx, time.Second) {
				return nil
			}
		}
	}
}

func (f *Fleet) watch(ctx context.Context, from store.Revision) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for e := range f.store.Watch(ctx, "", from) {
		if e.Err != nil {
			return e.Err
		}
		ops := make([]store.Op, 0, len(e.Items)+len(e.Deleted))
		for _, item := range e.Items {
			ops = append(ops, store.Op{Key: item.Key, Value: item.Value})
		}
		for _, k := range e.Deleted {
			ops = append(ops, store.Op{Key: k})
		}
		f.take(ops, e.Revision, true)
	}
	return errors.New("the watch has ended")
}

// take applies what a transaction changed, and wakes whom it concerns. followed:
// it comes from the watch, so that nothing before it is missing.
func (f *Fleet) take(ops []store.Op, at store.Revision, followed bool) {
	now := time.Now()
	var nodes []string
	all, changed := false, false
	f.mu.Lock()
	for _, op := range ops {
		did, err := f.w.apply(op.Key, op.Value, at, now)
		if err != nil {
			f.log.Error("a document cannot be read and is passed over", "key", op.Key, "error", err)
		}
		if !did {
			continue
		}
		changed = true
		switch kind, name := split(op.Key); kind {
		case kindNode:
			nodes = append(nodes, name)
		case kindGrant:
			node, _ := split(name)
			nodes = append(nodes, node)
		case kindSession:
			f.replaced(name)
		case kindWindow, kindOverride, kindFleet, kindKeep, kindTurn:
			all = true
		}
	}
	if followed {
		f.w.revision = max(f.w.revision, at)
		close(f.followed)
		f.followed = make(chan struct{})
	}
	for _, n := range nodes {
		if s := f.sessions[n]; s != nil {
			s.poke()
		}
	}
	f.mu.Unlock()
	if all {
		f.wakeAll()
	}
	if changed {
		f.touch()
	}
}

// replaced ends a stream of a node that has a newer one elsewhere; under the lock.
func (f *Fleet) replaced(node string) {
	if s := f.sessions[node]; s != nil && f.w.sessions.get(node).Epoch > s.epoch {
		s.end(errReplaced)
	}
}

func (f *Fleet) wakeAll() {
	f.mu.RLock()
	defer f.mu.RUnlock()
	for _, s := range f.sessions {
		s.poke()
	}
}

// touch says that the view is no longer that of the world.
func (f *Fleet) touch() {
	select {
	case f.dirty <- struct{}{}:
	default:
	}
}

// commit makes a change in the store, with its records, and takes it in at once.
func (f *Fleet) commit(ctx context.Context, c change) error {
	var err error
	var at store.Revision
	if len(c.entries) > 0 {
		_, at, err = f.audit.Commit(ctx, c.conds, c.ops, c.entries...)
	} else {
		at, err = f.store.Commit(ctx, c.conds, c.ops)
	}
	if err != nil {
		return err
	}
	f.take(c.ops, at, false)
	return nil
}

// writeRefusal writes down what a rule of the fleet refused a caller, if its source has
// not had too much written down of late.
func (f *Fleet) writeRefusal(ctx context.Context, source string, e audit.Entry) error {
	ok, missed := f.spared.Take(source, time.Now())
	if !ok {
		f.log.Warn("a refusal is not recorded: too many of this caller", "who", e.Who, "target", e.Target, "detail", e.Detail)
		return nil
	}
	e.Detail = more(e.Detail, missed)
	return f.commit(ctx, change{entries: []audit.Entry{e}})
}

// change is what a decision comes to: it holds if the conditions do.
type change struct {
	conds   []store.Cond
	ops     []store.Op
	entries []audit.Entry
}

// tries is how often a decision is made anew because its world had changed.
const tries = 20

// catchUpTime bounds the wait for what others have changed.
const catchUpTime = 3 * time.Second

// decide makes a decision on the world as it is and commits it; if the world has
// changed meanwhile it is made anew.
func (f *Fleet) decide(ctx context.Context, decision func(w *world, now time.Time) (change, error)) error {
	for try := 1; ; try++ {
		f.mu.RLock()
		c, err := decision(f.w, time.Now())
		f.mu.RUnlock()
		if err != nil || len(c.ops)+len(c.entries) == 0 {
			return err
		}
		var conflict *store.ConflictError
		err = f.commit(ctx, c)
		if err == nil || !errors.As(err, &conflict) || try == tries {
			return err
		}
		f.meters.conflicts.Inc()
		if err := f.catchUp(ctx, conflict.Keys); err != nil {
			return err
		}
	}
}

// catchUp waits until the watch has brought the changes of some documents. They
// are not read one by one: a decision on a fence that is new and on grants that are
// old would be wrong, and would hold.
func (f *Fleet) catchUp(ctx context.Context, keys []string) error {
	ctx, cancel := context.WithTimeout(ctx, catchUpTime)
	defer cancel()
	for _, k := range keys {
		item, err := f.store.Get(ctx, k)
		gone := errors.Is(err, store.ErrNotFound)
		if err != nil && !gone {
			return err
		}
		for {
			f.mu.RLock()
			done := f.w.revision >= item.Revision
			if gone {
				done = !f.w.has(k)
			}
			followed := f.followed
			f.mu.RUnlock()
			if done {
				break
			}
			select {
			case <-followed:
			case <-ctx.Done():
				return fmt.Errorf("%w: the changes of others do not arrive", store.ErrUnavailable)
			}
		}
	}
	return nil
}

// pause waits, and reports whether ctx has not ended.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
