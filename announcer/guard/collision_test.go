package guard

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"sync"
	"testing"
	"time"
)

// activeRouter is a router that dials as well as listens, and resolves
// collisions by the letter of RFC 4271, section 6.8: upon an OPEN, with an eye
// on connections in OpenConfirm and Established only.
type activeRouter struct {
	open   open
	peerID netip.Addr

	mu    sync.Mutex
	conns []*routerConn
}

type routerConn struct {
	net.Conn
	dialled   bool
	confirmed bool // OpenConfirm or further
	up        bool
}

// serve plays one connection until it ends.
func (a *activeRouter) serve(conn net.Conn, dialled bool) {
	c := &routerConn{Conn: conn, dialled: dialled}
	a.mu.Lock()
	a.conns = append(a.conns, c)
	_, _ = c.Write(a.open.append(nil))
	a.mu.Unlock()
	defer a.remove(c)
	for r := bufio.NewReader(conn); ; {
		m, err := readMessage(r)
		if err != nil || !a.message(c, m[18]) {
			return
		}
	}
}

func (a *activeRouter) message(c *routerConn, kind byte) (goOn bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch kind {
	case typeOpen:
		if !a.resolve(c) {
			return false
		}
		c.confirmed = true
		_, _ = c.Write(keepalive)
	case typeKeepalive:
		c.up = true
	case typeNotification:
		return false
	}
	return true
}

// resolve reports whether c lives on.
func (a *activeRouter) resolve(c *routerConn) bool {
	cease := notification{code: codeCease, subcode: ceaseCollision}.append(nil)
	for _, o := range a.conns {
		if o == c || !o.confirmed {
			continue
		}
		oursWins := a.open.id.Compare(a.peerID) > 0
		if o.up || c.dialled != oursWins {
			_, _ = c.Write(cease)
			return false
		}
		_, _ = o.Write(cease)
		_ = o.Conn.(*net.TCPConn).CloseWrite()
		o.confirmed, o.up = false, false
	}
	return true
}

func (a *activeRouter) remove(c *routerConn) {
	c.Close()
	a.mu.Lock()
	defer a.mu.Unlock()
	for i, o := range a.conns {
		if o == c {
			a.conns = append(a.conns[:i], a.conns[i+1:]...)
			return
		}
	}
}

// count gives the connections that are open and those that are Established.
func (a *activeRouter) count() (open, up int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, c := range a.conns {
		if c.up {
			up++
		}
	}
	return len(a.conns), up
}

func TestHundredStartsOfBothSides(t *testing.T) {
	for name, id := range map[string]netip.Addr{
		"our connection wins":   netip.MustParseAddr("10.0.0.0"),
		"their connection wins": routerID,
	} {
		t.Run(name, func(t *testing.T) {
			// One listener of ours serves all: each router has its own address.
			listener := newListener(t, "127.0.0.1:0")
			pairs := make([]*pair, 100)
			for i := range pairs {
				pairs[i] = newPair(t, fmt.Sprintf("127.0.1.%d", i+1), id, listener)
			}
			ctx, cancel := context.WithCancel(context.Background())
			for _, p := range pairs {
				p.start(ctx)
			}
			for _, p := range pairs {
				eventually(t, p.addr+" is Established on one connection", p.settled)
			}
			cancel()
			for _, p := range pairs {
				p.env.router.Close()
				p.wg.Wait()
			}
		})
	}
}

// newListener makes a Listener that the test closes.
func newListener(t *testing.T, addr string) *Listener {
	t.Helper()
	l, err := NewListener(context.Background(), netip.MustParseAddrPort(addr), "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// pair is a guard and a router that dial each other.
type pair struct {
	addr     string
	env      *env
	router   *activeRouter
	listener *Listener
	wg       sync.WaitGroup
}

func newPair(t *testing.T, addr string, id netip.Addr, listener *Listener) *pair {
	p := &pair{addr: addr, listener: listener, router: &activeRouter{open: routerOpen(), peerID: ourID}}
	p.router.open.id = id
	p.env = prepareEnv(t, listen(t, addr+":0"), newFakeLeg(t, legOpen()), func(c *Config) { c.Listener = listener })
	return p
}

// start has both sides dial at the same moment.
func (p *pair) start(ctx context.Context) {
	p.wg.Go(func() {
		for {
			conn, err := p.env.router.Accept()
			if err != nil {
				return
			}
			p.wg.Go(func() { p.router.serve(conn, false) })
		}
	})
	p.wg.Go(func() { p.env.guard.Run(ctx) })
	p.wg.Go(func() {
		d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(p.addr)}}
		for _, up := p.router.count(); up == 0 && ctx.Err() == nil; _, up = p.router.count() {
			if conn, err := d.DialContext(ctx, "tcp4", p.listener.Addr().String()); err == nil {
				p.router.serve(conn, true)
			}
			wait(ctx, 20*time.Millisecond)
		}
	})
}

// settled reports whether one connection is left, Established at both ends.
func (p *pair) settled() bool {
	n, up := p.router.count()
	return n == 1 && up == 1 && p.env.guard.Status().State == Established
}

func wait(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// collide starts a guard with both connections open and our OPEN sent on both.
func collide(t *testing.T, id netip.Addr) (e *env, ours, theirs *end, o open) {
	t.Helper()
	listener := newListener(t, "127.0.0.1:0")
	e = newEnv(t, func(c *Config) { c.Listener = listener })
	ours = e.accept()
	ours.expect(typeOpen)
	theirs = dialListener(t, listener, "127.0.0.1")
	theirs.expect(typeOpen)
	o = routerOpen()
	o.id = id
	return e, ours, theirs, o
}

func dialListener(t *testing.T, l *Listener, from string, opts ...option) *end {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	conn, err := dial(ctx, l.Addr(), netip.MustParseAddr(from), "a test", opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return &end{t, conn}
}

func TestCollisionKeepsTheConnectionOfTheHigherIdentifier(t *testing.T) {
	low, high := netip.MustParseAddr("10.0.0.0"), routerID
	for name, tt := range map[string]struct {
		id        netip.Addr
		oursWins  bool
		oursFirst bool // the order of the router's OPENs
	}{
		"ours wins, its OPEN first":    {low, true, true},
		"ours wins, its OPEN last":     {low, true, false},
		"theirs wins, its OPEN first":  {high, false, false},
		"theirs wins, its OPEN last":   {high, false, true},
		"equal identifiers, lower ASN": {ourID, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			e, ours, theirs, o := collide(t, tt.id)
			winner, loser := theirs, ours
			if tt.oursWins {
				winner, loser = ours, theirs
			}
			if tt.oursWins == tt.oursFirst {
				winner.send(started(o))
				loser.expectNotification(codeCease, ceaseCollision)
			} else {
				loser.send(started(o))
				// The loser waits for the winner's OPEN: nothing is confirmed.
				eventually(t, "OpenConfirm", func() bool { return e.guard.Status().State == OpenConfirm })
				winner.send(started(o))
				loser.expectNotification(codeCease, ceaseCollision)
			}
			if kind, _, _ := winner.read(); kind != typeKeepalive {
				t.Errorf("winner got a message of type %d, want a KEEPALIVE", kind)
			}
			e.await(Established)
		})
	}
}

func TestLoserOfACollisionServesWhenTheWinnerDies(t *testing.T) {
	e, ours, theirs, o := collide(t, routerID)
	ours.send(started(o)) // loses, waits
	eventually(t, "OpenConfirm", func() bool { return e.guard.Status().State == OpenConfirm })
	theirs.Close()
	if kind, _, _ := ours.read(); kind != typeKeepalive {
		t.Errorf("got a message of type %d, want a KEEPALIVE", kind)
	}
	e.await(Established)
}

func TestLoserOfACollisionServesWhenTheWinnerIsSilent(t *testing.T) {
	listener := newListener(t, "127.0.0.1:0")
	e := newEnv(t, func(c *Config) { c.Listener = listener; c.Timers.Collision = 30 * time.Millisecond })
	ours := e.accept()
	ours.expect(typeOpen)
	theirs := dialListener(t, listener, "127.0.0.1")
	theirs.expect(typeOpen)
	ours.send(started(routerOpen()))
	theirs.expectNotification(codeCease, ceaseCollision)
	e.await(Established)
}

func TestEstablishedSessionWinsOverANewConnection(t *testing.T) {
	listener := newListener(t, "127.0.0.1:0")
	e := newEnv(t, func(c *Config) { c.Listener = listener })
	r, s := e.establish()
	late := dialListener(t, listener, "127.0.0.1")
	late.expectNotification(codeCease, ceaseCollision)
	_, _ = s.conn.Write(numbered(1))
	r.expect(typeUpdate)
	if got := e.guard.Status(); got.State != Established || got.Sessions != 1 {
		t.Errorf("status %+v", got)
	}
}

func TestRouterThatConnectsAnewReplacesItsOldConnection(t *testing.T) {
	listener := newListener(t, "127.0.0.1:0")
	e := newEnv(t, func(c *Config) { c.Listener = listener; c.Timers.RetryMin, c.Timers.RetryMax = time.Hour, time.Hour })
	e.accept().Close() // our own try is over
	first := dialListener(t, listener, "127.0.0.1")
	first.expect(typeOpen)
	second := dialListener(t, listener, "127.0.0.1")
	second.handshake(routerOpen())
	first.expectNotification(codeCease, ceaseCollision)
	e.await(Established)
}

func TestConnectionDuringConfirmationIsHeld(t *testing.T) {
	// The leg answers only when told: the first connection stays unconfirmed.
	slow := listen(t, "127.0.0.1:0")
	leg := &fakeLeg{listener: slow, sessions: make(chan *legSession, 1)}
	listener := newListener(t, "127.0.0.1:0")
	e := prepareEnv(t, listen(t, "127.0.0.1:0"), leg, func(c *Config) { c.Listener = listener })
	e.start()
	first := e.accept()
	first.expect(typeOpen)
	first.send(started(routerOpen()))
	conn, err := slow.Accept() // the first connection was chosen
	if err != nil {
		t.Fatal(err)
	}
	second := dialListener(t, listener, "127.0.0.1")
	second.expect(typeOpen) // after heldMost
	second.send(started(routerOpen()))
	done := make(chan struct{})
	go func() { defer close(done); leg.serve(conn, legOpen()) }()
	second.expectNotification(codeCease, ceaseCollision)
	if kind, _, _ := first.read(); kind != typeKeepalive {
		t.Errorf("got a message of type %d, want a KEEPALIVE", kind)
	}
	e.await(Established)
	e.close(Cease{})
	<-done
}

func TestStrangerIsRefused(t *testing.T) {
	listener := newListener(t, "127.0.0.1:0")
	e := newEnv(t, func(c *Config) { c.Listener = listener })
	e.establish()
	stranger := dialListener(t, listener, "127.0.0.77")
	_ = stranger.SetReadDeadline(time.Now().Add(patience))
	if n, err := stranger.Conn.Read(make([]byte, 1)); n != 0 || err != io.EOF {
		t.Errorf("stranger read %d bytes, %v", n, err)
	}
}

func TestTwoGuardsForOneNeighbourOnOneListener(t *testing.T) {
	listener := newListener(t, "127.0.0.1:0")
	router := listen(t, "127.0.0.1:0")
	one := prepareEnv(t, router, newFakeLeg(t, legOpen()), func(c *Config) { c.Listener = listener })
	one.start()
	one.establish()
	two := prepareEnv(t, router, newFakeLeg(t, legOpen()), func(c *Config) { c.Listener = listener })
	two.start()
	eventually(t, "the second one says why it does not listen", func() bool {
		return two.guard.Status().LastError != ""
	})
	one.close(Cease{})
}

func TestWhichConnectionWins(t *testing.T) {
	// RFC 4271, section 6.8, and RFC 6286, section 2.3.
	for _, tt := range []struct {
		ours, theirs      string
		ourASN, theirASN  uint32
		dialled, accepted bool
	}{
		{"10.0.0.2", "10.0.0.1", 1, 2, true, false},
		{"10.0.0.1", "10.0.0.2", 2, 1, false, true},
		{"10.0.0.1", "10.0.0.1", 2, 1, true, false},
		{"10.0.0.1", "10.0.0.1", 1, 2, false, true},
		{"9.255.0.0", "10.0.0.1", 1, 2, false, true}, // as numbers, not as text
	} {
		c := Config{RouterID: netip.MustParseAddr(tt.ours), LocalASN: tt.ourASN, PeerASN: tt.theirASN}
		them := netip.MustParseAddr(tt.theirs)
		if c.wins(true, them) != tt.dialled || c.wins(false, them) != tt.accepted {
			t.Errorf("%+v: dialled wins %t, accepted wins %t", tt, c.wins(true, them), c.wins(false, them))
		}
	}
}
