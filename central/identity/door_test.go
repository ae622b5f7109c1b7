package identity

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
)

// fakeConn is a connection from an address.
type fakeConn struct {
	net.Conn
	from   string
	closed bool
}

type fakeAddr string

func (a fakeAddr) Network() string { return "tcp" }
func (a fakeAddr) String() string  { return string(a) }

func (c *fakeConn) RemoteAddr() net.Addr { return fakeAddr(c.from) }
func (c *fakeConn) Close() error         { c.closed = true; return nil }

// queue is a listener that has some connections.
type queue struct {
	net.Listener
	conns []*fakeConn
}

func (q *queue) Accept() (net.Conn, error) {
	if len(q.conns) == 0 {
		return nil, net.ErrClosed
	}
	c := q.conns[0]
	q.conns = q.conns[1:]
	return c, nil
}

func TestAFloodFromOneHostKeepsNobodyElseOut(t *testing.T) {
	c := newCentre(t)
	q := &queue{}
	d := c.gate.Door(q).(*door)
	d.most = 3
	from := func(addr string) *fakeConn {
		conn := &fakeConn{from: addr}
		q.conns = append(q.conns, conn)
		return conn
	}
	first, second, third := from("192.0.2.1:1"), from("192.0.2.1:2"), from("192.0.2.1:3")
	accepted := make([]net.Conn, 3)
	for i := range accepted {
		var err error
		if accepted[i], err = d.Accept(); err != nil {
			t.Fatal(err)
		}
	}
	fourth, other := from("192.0.2.1:4"), from("192.0.2.2:1")
	got, err := d.Accept()
	if err != nil || got.(*guest).Conn != other || !fourth.closed || !first.closed || second.closed || third.closed {
		t.Errorf("%v, %v; closed: %t %t %t %t", got, err, first.closed, second.closed, third.closed, fourth.closed)
	}
	if c.counts.count(TooMany) != 2 {
		t.Errorf("counted: %v", c.counts.by)
	}
	// Those that are known make room, and so do those that are closed, once.
	known(accepted[1])
	_ = got.Close()
	_ = got.Close()
	known(got)
	from("192.0.2.1:5")
	from("192.0.2.1:6")
	for range 2 {
		if _, err := d.Accept(); err != nil {
			t.Fatal(err)
		}
	}
	if d.count != 3 || len(d.guests) != 1 {
		t.Errorf("%d guests of %d hosts", d.count, len(d.guests))
	}
	if _, err := d.Accept(); err == nil || second.closed {
		t.Errorf("%v", err)
	}
}

func TestOnlyStrangersAreGuests(t *testing.T) {
	c := newCentre(t)
	guests := func() int {
		c.door.mu.Lock()
		defer c.door.mu.Unlock()
		return c.door.count
	}
	edge := c.dial(t, c.open(t, c.ca, Order{Kind: Edge, Name: "msk1"}, "edge", time.Now()))
	if _, err := connect(t, edge, "msk1"); err != nil {
		t.Fatal(err)
	}
	if guests() != 0 {
		t.Errorf("%d guests", guests())
	}
	nobody := c.dial(t, nil)
	if _, err := who(t.Context(), nobody); status.Code(err) != codes.Unauthenticated {
		t.Error(err)
	}
	if guests() != 1 {
		t.Errorf("%d guests", guests())
	}
	_ = nobody.Close()
	until(t, "the stranger is gone", func() bool { return guests() == 0 })
}

// TestNothingIsReadOfACallThatIsRefused opens calls and never sends their messages.
func TestNothingIsReadOfACallThatIsRefused(t *testing.T) {
	c := newCentre(t)
	c.gate.callTime = 100 * time.Millisecond
	open := func(conn *grpc.ClientConn, method string) error {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		s, err := conn.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true}, method)
		if err != nil {
			return err
		}
		return s.RecvMsg(&centralv1.FleetStatus{})
	}
	if err := open(c.dial(t, nil), centralv1.Fleet_GetFleet_FullMethodName); status.Code(err) != codes.Unauthenticated || c.counts.count(NoCertificate) != 1 {
		t.Errorf("nobody: %v, %v", err, c.counts.by)
	}
	vera := c.dial(t, c.open(t, c.ca, Order{Kind: NOC, Name: "vera"}, "vera", time.Now()))
	if err := open(vera, centralv1.Fleet_Freeze_FullMethodName); status.Code(err) != codes.PermissionDenied || c.counts.count(WrongRole) != 1 {
		t.Errorf("a viewer who writes: %v, %v", err, c.counts.by)
	}
	if err := open(vera, centralv1.Fleet_GetFleet_FullMethodName); err == nil {
		t.Error("a call without a message stays")
	}
	if err := open(c.dial(t, nil), centralv1.Edges_Join_FullMethodName); err == nil {
		t.Error("a join without a token stays")
	}
}

// dialWeb opens a TCP connection to the JSON port.
func (c *centre) dialWeb(t *testing.T) net.Conn {
	t.Helper()
	conn, err := net.DialTimeout("tcp", strings.TrimPrefix(c.url, "https://"), 10*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return conn
}

// secured does the handshake, without a certificate.
func (c *centre) secured(t *testing.T) *tls.Conn {
	t.Helper()
	conn := tls.Client(c.dialWeb(t), &tls.Config{InsecureSkipVerify: true})
	if err := conn.HandshakeContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	return conn
}

// gone waits until the centre has closed a connection.
func gone(t *testing.T, conn net.Conn) {
	t.Helper()
	var err error
	for buf := make([]byte, 1024); err == nil; {
		_, err = conn.Read(buf)
	}
	if e, ok := err.(net.Error); ok && e.Timeout() {
		t.Error("the connection stays")
	}
}

func TestConnectionsThatComeToNothingAreCountedOnBothPorts(t *testing.T) {
	c := newCentreWith(t, 2*time.Second) // with less, a handshake on a busy machine is too slow
	c.gate.bodyTime = 100 * time.Millisecond
	counted := func(r Reason, n int) {
		t.Helper()
		until(t, fmt.Sprintf("%s is counted %d times", r, n), func() bool { return c.counts.count(r) == n })
	}
	resp, err := http.Get("http://" + c.address)
	if err == nil {
		_ = resp.Body.Close()
	}
	http.DefaultClient.CloseIdleConnections()
	counted(NotTLS, 1)
	plain := c.dialWeb(t)
	fmt.Fprint(plain, "GET /v1/fleet HTTP/1.1\r\nHost: x\r\n\r\n")
	gone(t, plain)
	counted(NotTLS, 2)

	left := c.dialWeb(t)
	_ = left.Close()
	counted(NoHandshake, 1)

	gone(t, c.dialWeb(t)) // never says a word
	counted(TooSlow, 1)

	gone(t, c.secured(t)) // no word after the handshake
	counted(NoRequest, 1)

	loris := c.secured(t)
	fmt.Fprint(loris, "GET /v1/fleet HTTP/1.1\r\nHost: x\r\nX-A: ")
	gone(t, loris)
	counted(NoRequest, 2)

	body := c.secured(t)
	fmt.Fprint(body, "POST /v1/join HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{")
	gone(t, body)
	counted(TooSlow, 2)

	good := c.secured(t)
	fmt.Fprint(good, "GET /v1/fleet HTTP/1.1\r\nHost: x\r\n\r\n")
	if answer, err := http.ReadResponse(bufio.NewReader(good), nil); err != nil || answer.StatusCode != http.StatusUnauthorized {
		t.Errorf("%v, %v", answer, err)
	}
	_ = good.Close()
	counted(NoCertificate, 1)
	entries := 0
	until(t, "nothing is kept of connections that are gone", func() bool {
		entries = 0
		c.gate.visits.Range(func(any, any) bool { entries++; return true })
		return entries == 0
	})
	if c.counts.count(NoRequest) != 2 {
		t.Errorf("one that has asked counts: %v", c.counts.by)
	}
}

// TestAStrangerWhoDoesNotReadTheAnswerIsLeft asks for an answer without end.
func TestAStrangerWhoDoesNotReadTheAnswerIsLeft(t *testing.T) {
	c := newCentre(t)
	c.gate.answerTime = 100 * time.Millisecond
	ended := make(chan error, 2)
	endless := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, known := r.Context().Value(verdictKey{}).(verdict)
		for part := make([]byte, 64<<10); ; {
			if _, err := w.Write(part); err != nil {
				ended <- err
				return
			}
			if known { // it was let in: nothing ends it but its own end
				<-r.Context().Done()
			}
		}
	})
	mux := http.NewServeMux()
	mux.Handle("/metrics", endless)
	mux.Handle("/v1/", c.gate.HTTP(endless))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server, done := c.gate.Web(mux), make(chan struct{})
	go func() { defer close(done); _ = server.Serve(tls.NewListener(l, c.gate.cfg.Files.ServerTLS())) }()
	t.Cleanup(func() { _ = server.Close(); <-done })
	ask := func(cfg *tls.Config, path string) *tls.Conn {
		conn, err := tls.Dial("tcp", l.Addr().String(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", path)
		return conn
	}
	ask(&tls.Config{InsecureSkipVerify: true}, "/metrics")
	select {
	case err := <-ended:
		if e, ok := err.(net.Error); !ok || !e.Timeout() {
			t.Errorf("it ends with %v", err)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("the answer goes on")
	}
	vera := c.open(t, c.ca, Order{Kind: NOC, Name: "vera"}, "vera", time.Now())
	cfg, err := vera.ClientTLS()
	if err != nil {
		t.Fatal(err)
	}
	cfg.ServerName = "127.0.0.1"
	watch := ask(cfg, "/v1/fleet/watch")
	select {
	case err := <-ended:
		t.Errorf("who is known is left: %v", err)
	case <-time.After(3 * c.gate.answerTime):
	}
	_ = watch.Close()
	<-ended
}
