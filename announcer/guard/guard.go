package guard

import (
	"context"
	"log/slog"
	"net"
	"sync"
)

// Guard holds one session. Its methods may be called from any goroutine.
type Guard struct {
	config   Config
	count    counters
	accepted chan *net.TCPConn
	resets   chan Cease
	closing  chan struct{} // closed by the first Close
	done     chan struct{} // closed when Run has returned

	mu      sync.Mutex
	status  Status
	started bool
	closed  bool
	reason  Cease              // of Close
	kill    context.CancelFunc // ends Run at once
}

// New checks the configuration and starts nothing. The error names every
// field that is wrong and says what to write instead.
func New(c Config) (*Guard, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	c = c.withDefaults()
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return &Guard{
		config:   c,
		accepted: make(chan *net.TCPConn, 4),
		resets:   make(chan Cease, 1),
		closing:  make(chan struct{}),
		done:     make(chan struct{}),
		status:   Status{HoldTime: c.HoldTime},
	}, nil
}

// Run keeps the session up until the context is done or Close is called, and
// returns when every connection is closed and every goroutine has ended. A
// context that is done closes the connections at once, without a NOTIFICATION;
// Close is the polite way. Only the first call does something, and none after
// Close.
func (g *Guard) Run(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if !g.begin(cancel) {
		return
	}
	defer close(g.done)
	newLoop(ctx, g).run()
}

// begin reports whether Run has something to do.
func (g *Guard) begin(kill context.CancelFunc) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.started || g.closed {
		return false
	}
	g.started, g.kill = true, kill
	return true
}

// Status tells what the session is doing.
func (g *Guard) Status() Status {
	g.mu.Lock()
	s := g.status
	g.mu.Unlock()
	s.Families = append([]Family(nil), s.Families...)
	s.UpdatesDropped = g.count.updatesDropped.Load()
	s.BytesDropped = g.count.bytesDropped.Load()
	s.UpdatesSent = g.count.updatesSent.Load()
	s.RefreshPassed = g.count.refreshPassed.Load()
	s.RefreshDropped = g.count.refreshDropped.Load()
	s.Sessions = g.count.sessions.Load()
	return s
}

// Close ends the session and Run: what the leg has written so far is written to
// the router, then the NOTIFICATION, then the TCP connection is closed. It
// returns when Run has returned, or when the context is done; what is left then
// is closed at once. Later calls change nothing and only wait.
func (g *Guard) Close(ctx context.Context, reason Cease) {
	g.mu.Lock()
	if !g.closed {
		g.closed, g.reason = true, reason
		close(g.closing)
	}
	started, kill := g.started, g.kill
	g.mu.Unlock()
	if !started {
		return
	}
	select {
	case <-g.done:
	case <-ctx.Done():
		kill()
	}
}

// Reset drops the session with a NOTIFICATION, if there is one, and connects
// again at once. It does not wait. What the leg has written so far is written
// to the router before, if the router takes it within half a second. Calls
// while a session is being dropped count as one.
func (g *Guard) Reset(reason Cease) {
	select {
	case g.resets <- reason:
	default: // one is waiting already
	}
}
