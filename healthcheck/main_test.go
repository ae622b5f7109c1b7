package healthcheck

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// serveVariable makes the test binary a service on the address in it, which dies
// with the end of its standard input at the latest.
const serveVariable = "HEALTHCHECK_TEST_SERVE"

func TestMain(m *testing.M) {
	if address := os.Getenv(serveVariable); address != "" {
		serveUntilKilled(address)
		return
	}
	goleak.VerifyTestMain(m)
}

// patience bounds every wait.
const patience = 10 * time.Second

// answerOK is a whole HTTP answer.
const answerOK = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nConnection: close\r\n\r\nok\n"

// service accepts connections at one address and can be stopped and started.
type service struct {
	t       *testing.T
	address string
	handle  func(net.Conn)
	mu      sync.Mutex
	l       net.Listener
	conns   map[net.Conn]bool // nil once stopped
	done    sync.WaitGroup
}

// newService starts one on a free port; handle gets each connection, which is
// closed when it returns.
func newService(t *testing.T, handle func(net.Conn)) *service {
	t.Helper()
	s := &service{t: t, address: "127.0.0.1:0", handle: handle}
	s.start()
	t.Cleanup(s.stop)
	return s
}

func (s *service) start() {
	s.t.Helper()
	l, err := net.Listen("tcp", s.address)
	if err != nil {
		s.t.Fatal(err)
	}
	s.l, s.address, s.conns = l, l.Addr().String(), map[net.Conn]bool{}
	s.done.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			if s.remember(conn) {
				s.done.Go(func() {
					defer s.forget(conn)
					s.handle(conn)
				})
			}
		}
	})
}

// remember returns false, with conn closed, when the service is stopping.
func (s *service) remember(conn net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conns == nil {
		conn.Close()
		return false
	}
	s.conns[conn] = true
	return true
}

func (s *service) forget(conn net.Conn) {
	s.mu.Lock()
	delete(s.conns, conn)
	s.mu.Unlock()
	conn.Close()
}

// closeConnections ends what was accepted and goes on listening.
func (s *service) closeConnections() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for conn := range s.conns {
		conn.Close()
	}
}

func (s *service) stop() {
	s.l.Close()
	s.closeConnections()
	s.mu.Lock()
	late := s.conns
	s.conns = nil
	s.mu.Unlock()
	for conn := range late {
		conn.Close()
	}
	s.done.Wait()
}

// hold keeps a connection until the other side or stop closes it.
func hold(conn net.Conn) { io.Copy(io.Discard, conn) }

// answer sends text once a request has come, and keeps the connection.
func answer(text string) func(net.Conn) {
	return func(conn net.Conn) {
		if _, err := conn.Read(make([]byte, 4096)); err == nil {
			io.WriteString(conn, text)
			hold(conn)
		}
	}
}

// blackHole is an address that takes no more connections and refuses none: a
// listener whose backlog is full.
func blackHole(t *testing.T) string {
	t.Helper()
	l, err := listenBacklog(0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	address := l.Addr().String()
	for range 64 {
		conn, err := net.DialTimeout("tcp", address, 100*time.Millisecond)
		if err != nil {
			var timeout net.Error
			if errors.As(err, &timeout) && timeout.Timeout() {
				return address
			}
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
	}
	t.Fatal("the backlog does not fill")
	return ""
}

// running is a Checker at work.
type running struct {
	t       *testing.T
	reports chan Status
	cancel  context.CancelFunc
	done    chan struct{}
}

// runCheck runs c and stops it at the end of the test.
func runCheck(t *testing.T, c Check) *running {
	t.Helper()
	checker, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	r := &running{t: t, reports: make(chan Status, 10000), cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(r.done)
		checker.Run(ctx, func(s Status) { r.reports <- s })
	}()
	t.Cleanup(r.stop)
	return r
}

func (r *running) stop() {
	r.cancel()
	<-r.done
}

// next is the next report.
func (r *running) next() Status {
	r.t.Helper()
	select {
	case s := <-r.reports:
		return s
	case <-time.After(patience):
		r.t.Fatal("no report")
		return Status{}
	}
}

// until returns the reports up to the first that is as wanted.
func (r *running) until(what string, wanted func(Status) bool) []Status {
	r.t.Helper()
	var seen []Status
	deadline := time.Now().Add(patience)
	for time.Now().Before(deadline) {
		s := r.next()
		seen = append(seen, s)
		if wanted(s) {
			return seen
		}
	}
	r.t.Fatalf("never %s; last reports: %+v", what, seen[max(0, len(seen)-5):])
	return nil
}

func isUp(s Status) bool   { return s.Up }
func isDown(s Status) bool { return !s.Up }

// waitFor polls until ok.
func waitFor(t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	deadline := time.After(patience)
	for !ok() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("never %s", what)
		}
	}
}

// sockets counts this process's open sockets.
func sockets(t *testing.T) int {
	t.Helper()
	links, err := filepath.Glob("/proc/self/fd/*")
	if err != nil || len(links) == 0 {
		t.Fatalf("cannot list descriptors: %v", err)
	}
	n := 0
	for _, link := range links {
		if to, err := os.Readlink(link); err == nil && bytes.HasPrefix([]byte(to), []byte("socket:")) {
			n++
		}
	}
	return n
}

// oneProbe makes one probe of c with a time limit and returns the words for it.
func oneProbe(t *testing.T, c Check) string {
	t.Helper()
	checker, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return explain(checker.attempt(t.Context()))
}

// tcpCheck and httpCheck are valid checks to start from.
func tcpCheck(address string) Check {
	return Check{
		Name: "port", TCP: &TCP{Address: address},
		Interval: 200 * time.Millisecond, FastInterval: 10 * time.Millisecond, Timeout: 150 * time.Millisecond,
		Rise: 1, Fall: 2,
	}
}

func httpCheck(h HTTP) Check {
	return Check{Name: "web", HTTP: &h, Interval: 10 * time.Second, Timeout: 5 * time.Second, Rise: 1, Fall: 2}
}

func serveUntilKilled(address string) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		fmt.Println("error:", err)
		return
	}
	fmt.Println(l.Addr())
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go answer(answerOK)(conn)
		}
	}()
	io.Copy(io.Discard, os.Stdin)
}

// discard is a log for servers whose clients are meant to fail.
var discard = log.New(io.Discard, "", 0)
