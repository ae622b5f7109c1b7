package guard

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"net/netip"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds every wait of a test.
const patience = 10 * time.Second

var (
	loopback4 = netip.MustParseAddr("127.0.0.1")
	ourID     = netip.MustParseAddr("10.0.0.1")
	routerID  = netip.MustParseAddr("10.0.0.2")
)

const (
	ourASN    = 57629
	routerASN = 65001
)

// routerOpen is the OPEN of a neighbour that suits the config of newEnv.
func routerOpen() open {
	o := open{asn: routerASN, hold: 90, id: routerID, refresh: true, fourOctet: true}
	o.families.add(IPv4)
	o.families.add(IPv6)
	return o
}

// end is one end of a BGP connection, driven by the test.
type end struct {
	t *testing.T
	net.Conn
}

// read gives the next message; ok is false at the end of the connection.
func (e *end) read() (kind byte, body []byte, ok bool) {
	e.t.Helper()
	_ = e.SetReadDeadline(time.Now().Add(patience))
	m, err := readMessage(e.Conn)
	if err == io.EOF {
		return 0, nil, false
	}
	if err != nil {
		e.t.Errorf("read: %v", err)
		return 0, nil, false
	}
	return m[18], m[headerLen:], true
}

// expect reads messages until one of the kind comes; others may only be
// KEEPALIVEs.
func (e *end) expect(kind byte) []byte {
	e.t.Helper()
	for {
		k, body, ok := e.read()
		switch {
		case !ok:
			e.t.Fatalf("connection ended before a message of type %d", kind)
		case k == kind:
			return body
		case k != typeKeepalive:
			e.t.Fatalf("message of type %d (%x), want %d", k, body, kind)
		}
	}
}

// expectNotification reads up to a NOTIFICATION and the end of the connection.
func (e *end) expectNotification(code, subcode byte) notification {
	e.t.Helper()
	n := parseNotification(e.expect(typeNotification))
	if n.code != code || n.subcode != subcode {
		e.t.Fatalf("NOTIFICATION %s (%d/%d), want %d/%d", n, n.code, n.subcode, code, subcode)
	}
	if _, _, ok := e.read(); ok {
		e.t.Fatal("a message follows the NOTIFICATION")
	}
	return n
}

func (e *end) send(b []byte) {
	e.t.Helper()
	if _, err := e.Write(b); err != nil {
		e.t.Fatalf("write: %v", err)
	}
}

// handshake plays a router up to Established and returns the guard's OPEN.
func (e *end) handshake(o open) open {
	e.t.Helper()
	theirs, f := parseOpen(e.expect(typeOpen))
	if f != nil {
		e.t.Fatalf("guard's OPEN: %s", f.reason)
	}
	e.send(append(o.append(nil), keepalive...))
	if k, body, _ := e.read(); k != typeKeepalive {
		e.t.Fatalf("message of type %d (%x), want a KEEPALIVE", k, body)
	}
	return theirs
}

func readMessage(r io.Reader) ([]byte, error) {
	m := make([]byte, headerLen, maxMessage)
	if _, err := io.ReadFull(r, m); err != nil {
		return nil, err
	}
	m = m[:binary.BigEndian.Uint16(m[16:18])]
	_, err := io.ReadFull(r, m[headerLen:])
	return m, err
}

// update makes an UPDATE message with a body of n bytes.
func update(n int) []byte { return append(appendHeader(nil, typeUpdate, n), make([]byte, n)...) }

// numbered makes an UPDATE message that carries a number.
func numbered(i int) []byte {
	return binary.BigEndian.AppendUint32(appendHeader(nil, typeUpdate, 4), uint32(i))
}

func listen(t *testing.T, addr string, opts ...option) *net.TCPListener {
	t.Helper()
	lc := net.ListenConfig{Control: func(_, _ string, raw syscall.RawConn) error {
		return apply(raw, "a test", opts)
	}}
	lc.SetMultipathTCP(false)
	a := netip.MustParseAddrPort(addr)
	l, err := lc.Listen(context.Background(), network(a.Addr()), addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l.(*net.TCPListener)
}

func addrOf(l *net.TCPListener) netip.AddrPort { return l.Addr().(*net.TCPAddr).AddrPort() }

// fakeLeg stands for the GoBGP server: it says its OPEN, reads ours, confirms.
type fakeLeg struct {
	listener *net.TCPListener
	sessions chan *legSession
}

// legSession is one connection of the guard with the leg.
type legSession struct {
	conn net.Conn
	open open
	msgs chan []byte // what came after the OPEN; closed at the end
}

func legOpen() open {
	o := routerOpen()
	o.asn, o.hold, o.id, o.extended = ourASN, 240, ourID, true
	return o
}

func newFakeLeg(t *testing.T, o open, opts ...option) *fakeLeg {
	f := &fakeLeg{listener: listen(t, "127.0.0.1:0", opts...), sessions: make(chan *legSession, 256)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := f.listener.Accept()
			if err != nil {
				return
			}
			go f.serve(conn, o)
		}
	}()
	t.Cleanup(func() { f.listener.Close(); <-done })
	return f
}

func (f *fakeLeg) serve(conn net.Conn, o open) {
	defer conn.Close()
	if _, err := conn.Write(o.append(nil)); err != nil {
		return
	}
	m, err := readMessage(conn)
	if err != nil || m[18] != typeOpen {
		return
	}
	s := &legSession{conn: conn, msgs: make(chan []byte, 1<<16)}
	defer close(s.msgs)
	s.open, _ = parseOpen(m[headerLen:])
	if _, err := conn.Write(keepalive); err != nil {
		return
	}
	f.sessions <- s
	for {
		m, err := readMessage(conn)
		if err != nil {
			return
		}
		s.msgs <- m
	}
}

// next gives the next message that the leg got from the guard.
func (s *legSession) next(t *testing.T) []byte {
	t.Helper()
	m, ok := receive(t, s.msgs)
	if !ok {
		t.Fatal("the guard closed the leg")
	}
	return m
}

func receive[T any](t *testing.T, c <-chan T) (T, bool) {
	t.Helper()
	select {
	case v, ok := <-c:
		return v, ok
	case <-time.After(patience):
		t.Fatal("waited in vain")
		panic("unreachable")
	}
}

// eventually polls a condition.
func eventually(t *testing.T, what string, cond func() bool) {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(patience); !cond(); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatalf("%s: waited in vain", what)
		}
	}
}

// env is a guard between a router and a leg that the test plays.
type env struct {
	t      *testing.T
	guard  *Guard
	router *net.TCPListener
	leg    *fakeLeg
	events chan Event
	sent   chan []byte
}

// newEnv starts a guard with short timers whose router listens on addr.
func newEnv(t *testing.T, change func(*Config)) *env {
	t.Helper()
	e := prepareEnv(t, listen(t, "127.0.0.1:0"), newFakeLeg(t, legOpen()), change)
	e.start()
	return e
}

func prepareEnv(t *testing.T, router *net.TCPListener, leg *fakeLeg, change func(*Config)) *env {
	t.Helper()
	e := &env{t: t, router: router, leg: leg, events: make(chan Event, 1<<12), sent: make(chan []byte, 1<<16)}
	c := Config{
		Name: "r1", LocalASN: ourASN, PeerASN: routerASN, RouterID: ourID, Peer: addrOf(router),
		HoldTime: 9 * time.Second, Families: []Family{IPv4, IPv6}, Leg: addrOf(leg.listener),
		Sent:  func(b []byte) { e.sent <- append([]byte(nil), b...) },
		Event: func(ev Event) { e.events <- ev },
		Timers: Timers{
			RetryMin: 10 * time.Millisecond, RetryMax: 80 * time.Millisecond,
			HoldRetry: time.Millisecond, Linger: time.Second,
		},
	}
	if change != nil {
		change(&c)
	}
	g, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	e.guard = g
	return e
}

func (e *env) start() {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); e.guard.Run(ctx) }()
	e.t.Cleanup(func() { cancel(); <-done })
}

// accept takes the guard's next connection.
func (e *env) accept() *end {
	e.t.Helper()
	_ = e.router.SetDeadline(time.Now().Add(patience))
	conn, err := e.router.Accept()
	if err != nil {
		e.t.Fatal(err)
	}
	e.t.Cleanup(func() { conn.Close() })
	return &end{e.t, conn}
}

// establish brings a session up.
func (e *env) establish() (*end, *legSession) {
	e.t.Helper()
	r := e.accept()
	r.handshake(routerOpen())
	s, _ := receive(e.t, e.leg.sessions)
	e.await(Established)
	if m := s.next(e.t); m[18] != typeKeepalive { // a BGP server sends nothing before
		e.t.Fatalf("leg got a message of type %d, want a KEEPALIVE", m[18])
	}
	return r, s
}

// await reads events up to a state.
func (e *env) await(s State) Event {
	e.t.Helper()
	for {
		if ev, _ := receive(e.t, e.events); ev.State == s {
			return ev
		}
	}
}

// close ends the guard politely.
func (e *env) close(reason Cease) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	e.guard.Close(ctx, reason)
}
