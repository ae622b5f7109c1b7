package guard

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"time"
)

// How long a session that ends waits until what the leg wrote is written to the
// router: drainMost in Close, and resetDrain in Reset, which is for sessions
// that are stuck.
const (
	drainMost  = 5 * time.Second
	resetDrain = 500 * time.Millisecond
)

// loop is the one goroutine that decides about a guard's connections.
type loop struct {
	g        *Guard
	config   *Config
	ctx      context.Context
	wg       sync.WaitGroup
	notes    chan note
	sessions []*session
	dialling *dialling // nil: not dialling
	retry    *time.Timer
	waiting  bool // for retry
	backoff  backoff
	upSince  time.Time
	warned   string // the last failure that was logged as a warning
}

// dialling is a TCP handshake under way.
type dialling struct {
	cancel context.CancelFunc
	result chan dialResult
}

type dialResult struct {
	conn *net.TCPConn
	err  error
}

func newLoop(ctx context.Context, g *Guard) *loop {
	l := &loop{
		g: g, config: &g.config, ctx: ctx, notes: make(chan note), retry: time.NewTimer(time.Hour),
		backoff: backoff{timers: &g.config.Timers, holds: g.config.holdTimes()},
	}
	l.retry.Stop()
	return l
}

func (l *loop) run() {
	defer l.wg.Wait()
	defer l.stopDialling()
	stopListening := l.listen()
	defer stopListening()
	l.dial()
	for {
		var result chan dialResult
		if l.dialling != nil {
			result = l.dialling.result
		}
		select {
		case <-l.ctx.Done():
			l.dropAll(&fault{reason: "the guard was stopped"})
			return
		case <-l.g.closing:
			stopListening()
			l.leave(l.g.reason.notification(ceaseShutdown), "closed", drainMost)
			return
		case reason := <-l.g.resets:
			l.leave(reason.notification(ceaseReset), "reset", resetDrain)
			select {
			case <-l.g.resets: // it was meant for the session that has just ended
			default:
			}
			l.dial()
		case <-l.retry.C:
			l.waiting = false
			l.dial()
		case r := <-result:
			l.dialled(r)
		case conn := <-l.g.accepted:
			l.accept(conn)
		case n := <-l.notes:
			// A context that is done closes connections by itself: not a failure.
			if l.ctx.Err() == nil && slices.Contains(l.sessions, n.from) {
				l.note(n)
			}
		}
	}
}

// listen registers with the listener and returns how to undo that.
func (l *loop) listen() (stop func()) {
	listener, peer := l.config.Listener, l.config.Peer.Addr()
	if listener == nil {
		return func() {}
	}
	accept := func(conn *net.TCPConn) {
		select {
		case l.g.accepted <- conn:
		default:
			conn.Close() // the router connects faster than sessions can fail
		}
	}
	if err := listener.register(peer, l.config.Password, l.config.Name, accept); err != nil {
		l.fail(fmt.Sprintf("connections from the neighbour are not accepted: %v", err))
		return func() {}
	}
	return sync.OnceFunc(func() {
		listener.unregister(peer, l.config.Name)
		for {
			select {
			case conn := <-l.g.accepted:
				conn.Close()
			default:
				return
			}
		}
	})
}

// note deals with what a session reports.
func (l *loop) note(n note) {
	s := n.from
	switch n.kind {
	case failed:
		l.failed(s, n.fault)
	case opened:
		s.agreed = n.agreed
		l.opened(s)
	case sawKeepalive:
		s.seen = true
		close(s.heard)
		l.establish(s)
	case sentKeepalive:
		s.answered = true
		l.establish(s)
	case timedOpen:
		if s.stage == opening {
			l.failed(s, &fault{
				reason: noOpen(l.config),
				notify: &notification{code: codeHold},
			})
		}
	case timedCollision:
		if s.stage == ready {
			l.choose(s)
		}
	case timedHeld:
		if s.stage == held {
			l.open(s)
		}
	}
}

// noOpen is the reason of a connection on which no OPEN came.
func noOpen(c *Config) string {
	reason := fmt.Sprintf("neighbour sent no OPEN within %s", c.Timers.Open)
	if c.TTLSecurity {
		reason += "; does it have TTL security (GTSM) for this session, too?"
	}
	return reason
}

// wantsDial reports whether a connection of our own would be of use.
func (l *loop) wantsDial() bool {
	return l.dialling == nil && !slices.ContainsFunc(l.sessions, func(s *session) bool {
		return s.dialled || s.stage >= ready
	})
}

// dial starts a connection of our own if one is of use.
func (l *loop) dial() {
	l.stopWaiting()
	if !l.wantsDial() {
		return
	}
	ctx, cancel := context.WithCancel(l.ctx)
	d := &dialling{cancel: cancel, result: make(chan dialResult, 1)}
	l.dialling = d
	l.wg.Go(func() {
		conn, err := l.config.dialRouter(ctx)
		d.result <- dialResult{conn, err}
	})
	l.settle("dialling " + l.config.Peer.String())
}

// stopDialling gives a TCP handshake up. No byte was sent on its connection.
func (l *loop) stopDialling() {
	d := l.dialling
	if d == nil {
		return
	}
	l.dialling = nil
	d.cancel()
	l.wg.Go(func() {
		if r := <-d.result; r.conn != nil {
			r.conn.Close()
		}
	})
}

func (l *loop) stopWaiting() {
	l.retry.Stop()
	l.waiting = false
	l.update(func(s *Status) { s.NextTry = time.Time{} })
}

// dialled takes the end of a TCP handshake.
func (l *loop) dialled(r dialResult) {
	l.dialling.cancel()
	l.dialling = nil
	if r.err != nil {
		l.fail(l.config.dialReason(r.err))
		l.schedule(nil)
		return
	}
	l.open(l.add(r.conn, true))
}

// add takes a connection over, in the stage held.
func (l *loop) add(conn *net.TCPConn, dialled bool) *session {
	s := newSession(l.ctx, l.config, conn, dialled, &l.g.count, l.notes)
	l.sessions = append(l.sessions, s)
	return s
}

// schedule sets when to dial next.
func (l *loop) schedule(received *notification) {
	wait, override := l.backoff.next(received)
	if override {
		l.stopDialling()
		l.stopWaiting()
	}
	if l.waiting || !l.wantsDial() {
		return
	}
	wait = jitter(wait, rand.Float64())
	l.waiting = true
	l.retry.Reset(wait)
	l.update(func(s *Status) { s.NextTry = time.Now().Add(wait) })
}

// fail records why there is no session. A reason that stays the same from try
// to try is logged once.
func (l *loop) fail(reason string) {
	wasUp := false
	l.update(func(s *Status) {
		wasUp = s.State == Established
		s.LastError, s.LastErrorAt = reason, time.Now()
	})
	if reason != l.warned && !wasUp { // settle logs the end of a session
		l.config.Log.Warn("no session", "neighbor", l.config.Name, "reason", reason)
	}
	l.warned = reason
	l.settle(reason)
}

// update changes the status.
func (l *loop) update(change func(*Status)) {
	l.g.mu.Lock()
	change(&l.g.status)
	l.g.mu.Unlock()
}

// settle publishes the state that the connections are in now.
func (l *loop) settle(reason string) {
	state, best := Idle, (*session)(nil)
	if l.dialling != nil {
		state = Connect
	}
	for _, s := range l.sessions {
		if st := s.stage.state(); best == nil || st > state {
			state, best = max(state, st), s
		}
	}
	e := Event{State: state, Reason: reason, At: time.Now()}
	l.update(func(s *Status) {
		e.Previous = s.State
		l.describe(s, best)
		if s.State != state || s.Since.IsZero() {
			s.State, s.Since = state, e.At
		}
	})
	if e.Previous == e.State {
		return
	}
	level := slog.LevelDebug
	switch {
	case e.State == Established:
		level = slog.LevelInfo
	case e.Previous == Established:
		level = slog.LevelWarn
	}
	l.config.Log.Log(l.ctx, level, "session "+e.State.String(), "neighbor", l.config.Name,
		"previous", e.Previous.String(), "reason", e.Reason)
	if l.config.Event != nil {
		l.config.Event(e)
	}
}

// describe fills in what was agreed with the session that is furthest.
func (l *loop) describe(s *Status, best *session) {
	var a agreement
	s.HoldTime = l.backoff.proposal()
	if best != nil && best.stage >= ready {
		a = best.agreed
		s.HoldTime = a.hold
	}
	s.Families, s.ExtendedNextHop, s.FourOctet = a.families.list(), a.extended, a.fourOctet
	s.PeerRouterID, s.PeerRole = a.id, a.role
	s.Local, s.Remote = best.addresses()
}
