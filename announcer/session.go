package announcer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/netip"
	"runtime"
	"slices"
	"sync"
	"time"

	api "github.com/osrg/gobgp/v3/api"

	"github.com/catchment-bgp/catchment/announcer/guard"
	"github.com/catchment-bgp/catchment/announcer/host"
)

// session is one neighbour: its GoBGP server, the guard before it, and the
// worker that brings the server to what is wanted.
type session struct {
	neighbor Neighbor
	local    Local
	log      *slog.Logger
	owner    *Announcer
	speaker  *speaker
	guard    *guard.Guard

	wake    chan struct{}
	stop    context.CancelFunc
	running sync.WaitGroup

	// params belongs to the goroutine of the guard that calls event and received.
	params host.DefaultParams

	// given is what the speaker holds; only the worker touches it.
	given map[netip.Prefix]given

	mu       sync.Mutex
	want     map[netip.Prefix]Route
	standing map[netip.Prefix]Route
	fault    error
	// agreed is what the session carries; nil while there is none.
	agreed *agreed
	// left are the wanted routes that the session cannot carry, as last told.
	left string
	// unwanted are the prefixes that stand at the neighbour and are not wanted there.
	unwanted map[netip.Prefix]struct{}
	// behind is since when there are some; zero: there are none. moved is when an
	// UPDATE was last written.
	behind, moved time.Time
}

// given is one path in the speaker.
type given struct {
	route Route
	path  *api.Path
}

const (
	retryAfter = time.Second
	// callTime bounds one call of the embedded server.
	callTime = 5 * time.Second
	// withdrawTime is how long a withdrawal may take to reach the socket, while
	// nothing else reaches it either, before the session is ended, which withdraws
	// everything; longestWithdraw is the same while others do.
	withdrawTime    = 5 * time.Second
	longestWithdraw = 2 * time.Minute
)

// turns bounds how many calls of embedded servers run at once, over all neighbours:
// thousands of routes for hundreds of neighbours would take all processors for
// seconds, and what watches the services and keeps the sessions alive would come
// too late.
var turns = make(chan struct{}, max(1, runtime.GOMAXPROCS(0)-1))

// turnTime is how long a turn lasts at most: a server that hangs holds up no other.
const turnTime = 50 * time.Millisecond

// inTurn makes a call of an embedded server when it is its turn.
func inTurn(what string, call func() error) error {
	turns <- struct{}{}
	end := sync.OnceFunc(func() { <-turns })
	defer time.AfterFunc(turnTime, end).Stop()
	defer end()
	return within(callTime, what, call)
}

// newSession makes everything that can fail, and starts nothing.
func (a *Announcer) newSession(local Local, n Neighbor) (*session, error) {
	s := &session{
		neighbor: n, local: local, owner: a,
		log:      a.log.With("neighbor", n.Name),
		wake:     make(chan struct{}, 1),
		given:    map[netip.Prefix]given{},
		want:     map[netip.Prefix]Route{},
		standing: map[netip.Prefix]Route{},
		unwanted: map[netip.Prefix]struct{}{},
	}
	if (n.Kind == Internal) != (n.ASN == local.ASN) {
		return nil, fmt.Errorf("AS %d and our AS %d do not go with its kind: internal means the same ASN", n.ASN, local.ASN)
	}
	var err error
	if s.speaker, err = takeSpeaker(a.log); err != nil {
		return nil, err
	}
	if err = s.speaker.join(local.ASN, n.ASN, n.IPv4, n.IPv6); err != nil {
		return nil, err
	}
	if s.guard, err = s.newGuard(); err != nil {
		s.discard()
		return nil, err
	}
	return s, nil
}

func (s *session) newGuard() (*guard.Guard, error) {
	n := s.neighbor
	c := guard.Config{
		Name: n.Name, LocalASN: s.local.ASN, PeerASN: n.ASN, RouterID: s.local.RouterID,
		Peer: netip.AddrPortFrom(n.Address, n.port()), LocalAddress: n.LocalAddress, BindDevice: n.BindDevice,
		Password: n.Password, TTLSecurity: n.TTLSecurity, Multihop: n.Multihop, Role: n.role(),
		HoldTime: n.HoldTime, ExtendedNextHop: n.ExtendedNextHop,
		Leg: s.speaker.addr, LegPassword: s.speaker.key,
		Sent: s.sent, Event: s.event, Log: s.owner.log,
	}
	if n.IPv4 {
		c.Families = append(c.Families, guard.IPv4)
	}
	if n.IPv6 {
		c.Families = append(c.Families, guard.IPv6)
	}
	if s.takesDefault() {
		c.Received = s.received
	}
	if n.Listen {
		l, err := s.owner.listener(n)
		if err != nil {
			return nil, err
		}
		c.Listener = l
	}
	return guard.New(c)
}

// role derives our side of the session (RFC 9234, section 4) from the kind.
func (n Neighbor) role() guard.Role {
	switch n.Kind {
	case Transit:
		return guard.Customer
	case Peer, IX:
		return guard.Peer
	case RouteServer:
		return guard.RSClient
	default:
		return guard.NoRole
	}
}

// inherit takes over what was wanted at a session that this one replaces.
func (s *session) inherit(was *session) {
	was.mu.Lock()
	routes := slices.Collect(maps.Values(was.want))
	was.mu.Unlock()
	if err := s.set(routes); err != nil {
		s.log.Warn("what was announced does not fit the changed neighbour", "error", err)
	}
}

func (s *session) start() {
	ctx, cancel := context.WithCancel(context.Background())
	s.stop = cancel
	s.running.Go(func() { s.guard.Run(ctx) })
	s.running.Go(func() { s.work(ctx) })
}

// end closes the session and hands the speaker back.
func (s *session) end(ctx context.Context, reason guard.Cease) {
	if s.stop != nil { // it may never have been started
		s.guard.Close(ctx, reason)
		s.stop()
		s.running.Wait()
	}
	s.discard()
}

// discard gives the speaker of a session back that is not running.
func (s *session) discard() {
	var paths []*api.Path
	for _, g := range s.given {
		paths = append(paths, g.path)
	}
	speaker := s.speaker
	err := within(callTime, "end a session", func() error { return speaker.giveBack(paths) })
	if err != nil {
		s.log.Warn("the embedded BGP server is given up", "error", err)
	}
}

// set takes over everything that the neighbour shall know.
func (s *session) set(routes []Route) error {
	want := make(map[netip.Prefix]Route, len(routes))
	var errs []error
	for _, r := range routes {
		if err := r.check(s.neighbor); err != nil {
			errs = append(errs, err)
		}
		if _, twice := want[r.Prefix]; twice {
			errs = append(errs, fmt.Errorf("announcer: %s to %s is listed twice", r.Prefix, s.neighbor.Name))
		}
		want[r.Prefix] = r
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	s.mu.Lock()
	s.want = want
	clear(s.unwanted)
	for p := range s.standing {
		s.mark(p)
	}
	s.clock(time.Now())
	s.mu.Unlock()
	s.tellLeft()
	s.poke()
	return nil
}

func (s *session) poke() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// work brings the speaker to what is wanted, and tries again where that fails.
func (s *session) work(ctx context.Context) {
	t := time.NewTimer(0)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.wake:
		case <-t.C:
		}
		err := s.apply()
		s.mu.Lock()
		changed := (err == nil) != (s.fault == nil)
		s.fault = err
		late := s.stuck(time.Now())
		if late {
			s.behind = time.Now() // the reset takes a moment, and one is enough
		}
		pending := !s.behind.IsZero()
		s.mu.Unlock()
		switch {
		case late:
			s.log.Error("a withdrawal did not reach the neighbour in time: the session is reset", "limit", withdrawTime)
			s.guard.Reset(guard.Cease{Subcode: ceaseReset, Text: "withdrawal stuck"})
			t.Reset(retryAfter)
		case err != nil || pending:
			t.Reset(retryAfter)
		}
		if changed {
			if err != nil {
				s.log.Error("what is wanted could not be announced; it is tried again", "error", err)
			}
			s.owner.poke()
		}
	}
}

// apply hands the differences between want and given to the speaker.
func (s *session) apply() error {
	want := s.possible()
	var errs []error
	for p, g := range s.given {
		if _, ok := want[p]; ok {
			continue
		}
		if err := inTurn("withdraw "+p.String(), func() error { return s.speaker.withdraw(g.path) }); err != nil {
			errs = append(errs, err)
			continue
		}
		delete(s.given, p)
	}
	for p, r := range want {
		if g, ok := s.given[p]; ok && g.route.Equal(r) {
			continue
		}
		path, err := render(r, s.neighbor, s.local.ASN)
		if err == nil {
			err = inTurn("announce "+p.String(), func() error { return s.speaker.announce(path) })
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		s.given[p] = given{r, path}
	}
	return errors.Join(errs...)
}
