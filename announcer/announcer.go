package announcer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/catchment-bgp/catchment/announcer/guard"
	"github.com/catchment-bgp/catchment/announcer/host"
)

// Announcer holds the sessions with all neighbours of this node. Its methods may
// be called from any goroutine and never wait for a neighbour, but for those
// that take a context.
type Announcer struct {
	log *slog.Logger
	// byDefault is told of default routes of AcceptDefault neighbours.
	byDefault func(neighbor string, change host.DefaultChange)
	// moved says that Status would now answer something else.
	moved chan struct{}

	mu        sync.Mutex
	local     Local
	sessions  map[string]*session
	listeners map[listenKey]*guard.Listener
	closed    bool
	ending    sync.WaitGroup // sessions that end in the background
}

// Local is this node as its neighbours see it.
type Local struct {
	ASN      uint32
	RouterID netip.Addr // IPv4
}

// Options are the parts of an Announcer that may be left out.
type Options struct {
	// Log gets one line per change of a session; slog.Default() where nil.
	Log *slog.Logger
	// Default, where set, is told when an AcceptDefault neighbour announces or
	// withdraws a default route, and that both are withdrawn when its session
	// ends. It must return soon.
	Default func(neighbor string, change host.DefaultChange)
}

type listenKey struct {
	addr   netip.AddrPort
	device string
}

// Status is what is known of one neighbour.
type Status struct {
	guard.Status
	// Standing is what the neighbour was told, as written to its socket; empty
	// while no session is established. In order of the prefix.
	Standing []Route
	// Wanted is what Set asked for last, in order of the prefix.
	Wanted []Route
	// NotCarried are the wanted prefixes whose family, or whose form of next hop
	// (RFC 8950), the neighbour did not agree to; empty while there is no session.
	NotCarried []netip.Prefix
	// Settled says that all that is wanted and that the session can carry, and
	// nothing else, stands there.
	Settled bool
	// Fault is why what is wanted could not be handed to the speaker; nil: it was.
	Fault error
}

// New makes an Announcer without neighbours.
func New(o Options) *Announcer {
	if o.Log == nil {
		o.Log = slog.Default()
	}
	return &Announcer{
		log: o.Log, byDefault: o.Default, moved: make(chan struct{}, 1),
		sessions: map[string]*session{}, listeners: map[listenKey]*guard.Listener{},
	}
}

// ErrClosed is returned by calls after Close.
var ErrClosed = errors.New("announcer: it is closed")

// SetNeighbors makes the sessions be exactly those given. A session whose
// Neighbor is unchanged is not touched; a changed one starts anew; one that is
// not listed ends with Cease/Peer De-configured (RFC 4486, section 4), which
// withdraws its routes. New sessions begin with nothing to announce, changed
// ones keep what was wanted. It does not wait for sessions to end or to come up.
// On an error nothing has changed.
func (a *Announcer) SetNeighbors(local Local, ns []Neighbor) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return ErrClosed
	}
	old := a.sessions
	next := make(map[string]*session, len(ns))
	var fresh []*session
	undo := func(err error) error {
		for _, s := range fresh {
			s.discard()
		}
		a.closeUnusedListeners(old)
		return err
	}
	for _, n := range ns {
		if next[n.Name] != nil {
			return undo(fmt.Errorf("announcer: neighbour %q is listed twice", n.Name))
		}
		if was := old[n.Name]; was != nil && was.neighbor == n && was.local == local {
			next[n.Name] = was
			continue
		}
		s, err := a.newSession(local, n)
		if err != nil {
			return undo(fmt.Errorf("announcer: neighbour %s: %w", n.Name, err))
		}
		fresh = append(fresh, s)
		next[n.Name] = s
	}
	a.local, a.sessions = local, next
	for name, was := range old {
		if s := next[name]; s != was {
			if s != nil {
				s.inherit(was)
			}
			a.ending.Go(func() {
				ctx, cancel := context.WithTimeout(context.Background(), endTime)
				defer cancel()
				was.end(ctx, guard.Cease{Subcode: ceaseDeconfigured, Text: "configuration changed"})
				a.startIn(name, s)
			})
		}
	}
	for _, s := range fresh {
		if old[s.neighbor.Name] == nil {
			s.start()
		}
	}
	a.closeUnusedListeners(next)
	a.poke()
	return nil
}

// startIn starts a session that waited for the one it replaces to end, unless
// it is no longer wanted.
func (a *Announcer) startIn(name string, s *session) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if s != nil && a.sessions[name] == s {
		s.start()
	}
}

// Subcodes of Cease (RFC 4486, section 4).
const (
	ceaseShutdown     = 2
	ceaseDeconfigured = 3
	ceaseReset        = 4
)

// endTime bounds the end of a session that a new configuration took away.
const endTime = 5 * time.Second

// listener returns the listener for a neighbour that connects to us.
func (a *Announcer) listener(n Neighbor) (*guard.Listener, error) {
	key := listenKey{netip.AddrPortFrom(n.LocalAddress, n.port()), n.BindDevice}
	if l := a.listeners[key]; l != nil {
		return l, nil
	}
	l, err := guard.NewListener(context.Background(), key.addr, key.device)
	if err != nil {
		return nil, err
	}
	a.listeners[key] = l
	return l, nil
}

func (a *Announcer) closeUnusedListeners(used map[string]*session) {
	keep := map[listenKey]bool{}
	for _, s := range used {
		if n := s.neighbor; n.Listen {
			keep[listenKey{netip.AddrPortFrom(n.LocalAddress, n.port()), n.BindDevice}] = true
		}
	}
	for key, l := range a.listeners {
		if !keep[key] {
			l.Close()
			delete(a.listeners, key)
		}
	}
}

func (n Neighbor) port() uint16 {
	if n.Port == 0 {
		return 179
	}
	return n.Port
}

// Set says everything that a neighbour shall know; no routes means that all are
// withdrawn. It returns at once: the routes go out when the session is up, and a
// failure on the way is retried until they stand (see Status.Fault). Routes that
// look the same on the wire as what was said before cause no UPDATE. On an error
// (an unknown neighbour, a route that cannot be sent there, a prefix twice)
// nothing has changed.
func (a *Announcer) Set(neighbor string, routes []Route) error {
	a.mu.Lock()
	s := a.sessions[neighbor]
	closed := a.closed
	a.mu.Unlock()
	if closed {
		return ErrClosed
	}
	if s == nil {
		return fmt.Errorf("announcer: there is no neighbour %q", neighbor)
	}
	return s.set(routes)
}

// Status returns the state of every neighbour by name.
func (a *Announcer) Status() map[string]Status {
	all := a.all()
	out := make(map[string]Status, len(all))
	for _, s := range all {
		out[s.neighbor.Name] = s.status()
	}
	return out
}

// Sessions returns the state of every session by the neighbour's name: Status
// without routes, which costs little however many there are.
func (a *Announcer) Sessions() map[string]guard.Status {
	all := a.all()
	out := make(map[string]guard.Status, len(all))
	for _, s := range all {
		out[s.neighbor.Name] = s.guard.Status()
	}
	return out
}

func (a *Announcer) all() []*session {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Collect(maps.Values(a.sessions))
}

// Changed receives a value after Status has changed. Changes that come close
// together may be told as one.
func (a *Announcer) Changed() <-chan struct{} { return a.moved }

func (a *Announcer) poke() {
	select {
	case a.moved <- struct{}{}:
	default:
	}
}

// Settle waits until at each neighbour with an established session exactly what
// is wanted stands, written to its socket. It returns the context's error, with
// the neighbours that are left, when that takes too long.
func (a *Announcer) Settle(ctx context.Context) error {
	t := time.NewTicker(settlePoll)
	defer t.Stop()
	for {
		all := a.all()
		// One that is not settled is enough to wait on: with many routes each look
		// at a session takes a while.
		if !slices.ContainsFunc(all, (*session).unsettled) {
			return nil
		}
		select {
		case <-ctx.Done():
			var left []string
			for _, s := range all {
				if s.unsettled() {
					left = append(left, s.neighbor.Name)
				}
			}
			if left == nil {
				return nil
			}
			slices.Sort(left)
			return fmt.Errorf("announcer: not settled at %v: %w", left, ctx.Err())
		case <-t.C:
		}
	}
}

const settlePoll = 2 * time.Millisecond

// Close ends all sessions with Cease/Administrative Shutdown and the text (RFC
// 9003; 255 bytes at most, longer ones are cut), and frees everything. Withdraw
// first (Set with no routes, Settle): Close does not wait for UPDATEs. The
// context bounds it. Close may be called more than once.
func (a *Announcer) Close(ctx context.Context, text string) {
	a.mu.Lock()
	a.closed = true
	sessions := a.sessions
	a.sessions = map[string]*session{}
	a.mu.Unlock()
	for _, s := range sessions {
		a.ending.Go(func() { s.end(ctx, guard.Cease{Subcode: ceaseShutdown, Text: text}) })
	}
	a.ending.Wait()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.closeUnusedListeners(nil)
}
