package bmp

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// deadline bounds every wait on sockets.
const deadline = 20 * time.Second

// served is a station with the views a and b at 127.0.0.1 and 127.0.0.2.
type served struct {
	*Station
	t    *testing.T
	addr string
	log  *lockedLog
}

// lockedLog is a log that a test may read.
type lockedLog struct {
	sync.Mutex
	bytes.Buffer
}

func (l *lockedLog) Write(b []byte) (int, error) {
	l.Lock()
	defer l.Unlock()
	return l.Buffer.Write(b)
}

// count is how often a word is there.
func (l *lockedLog) count(word string) int {
	l.Lock()
	defer l.Unlock()
	return strings.Count(l.String(), word)
}

func serve(t *testing.T) *served {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &served{t: t, addr: l.Addr().String(), log: &lockedLog{}}
	s.Station = New([]View{{"a", netip.MustParseAddr("127.0.0.1"), Post}, {"b", netip.MustParseAddr("127.0.0.2"), Post}}, slog.New(slog.NewTextHandler(s.log, nil)))
	s.Want(map[string][]netip.Prefix{"a": {video4, video6}, "b": {video4}})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return s
}

// dial connects from an address and sends messages.
func (s *served) dial(from string, messages ...[]byte) net.Conn {
	s.t.Helper()
	conn, err := (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}, Timeout: deadline}).Dial("tcp", s.addr)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = conn.Close() })
	if _, err := conn.Write(join(messages)); err != nil {
		s.t.Fatal(err)
	}
	return conn
}

// await waits until a view stands as ok says.
func (s *served) await(view int, what string, ok func(State) bool) State {
	s.t.Helper()
	limit := time.After(deadline)
	for {
		if st := s.States(time.Now())[view]; ok(st) {
			return st
		}
		select {
		case <-s.Changed():
		case <-time.After(20 * time.Millisecond):
		case <-limit:
			s.t.Fatalf("no %s: %+v", what, s.States(time.Now())[view])
		}
	}
}

// closed waits until the station has closed a connection.
func closed(t *testing.T, conn net.Conn) {
	t.Helper()
	_ = conn.SetReadDeadline(time.Now().Add(deadline))
	if n, err := conn.Read(make([]byte, 1)); err == nil || os.IsTimeout(err) {
		t.Errorf("%d octets and %v, where the connection should be closed", n, err)
	}
}

func whole(s State) bool { return s.Up && s.Done == [2]bool{true, true} }
func away(s State) bool  { return !s.Up && s.Why != "" }

func TestAViewIsThereWhileItIsConnected(t *testing.T) {
	s := serve(t)
	if st := s.States(time.Now()); len(st) != 2 || st[0].Name != "a" || st[0].Up || st[0].Why != "" || !st[0].Since.IsZero() {
		t.Errorf("before the first connection: %+v", st)
	}
	conn := s.dial("127.0.0.1", captured(t, "frr-8.4.4-post-dump.txt")...)
	s.await(0, "table", func(st State) bool { return whole(st) && slices.Equal(lines(st), []string{frr4, frr6}) })
	s.dial("127.0.0.2", captured(t, "frr-8.4.4-post-dump.txt")...)
	s.await(1, "table of b, which wants IPv4 alone", func(st State) bool { return whole(st) && slices.Equal(lines(st), []string{frr4}) })
	_ = conn.Close()
	st := s.await(0, "end", away)
	if st.Why != "the router closed the connection" || len(st.Routes) > 0 || st.Done != [2]bool{} {
		t.Errorf("%+v", st)
	}
	s.await(0, "lines in the log", func(State) bool {
		return s.log.count("a BMP view is there") == 2 && s.log.count("a BMP view is gone") == 1
	})
}

func TestStrangersAreClosed(t *testing.T) {
	s := serve(t)
	for range 3 {
		closed(t, s.dial("127.0.0.9", captured(t, "frr-8.4.4-post-dump.txt")[0]))
	}
	if n := s.log.count("of no view"); n != 1 {
		t.Errorf("%d lines about strangers", n)
	}
}

func TestTheNewerConnectionOfAViewStands(t *testing.T) {
	s := serve(t)
	old := s.dial("127.0.0.1", captured(t, "frr-8.4.4-post-dump.txt")...)
	s.await(0, "table", whole)
	s.dial("127.0.0.1", captured(t, "frr-8.4.4-post-dump.txt")[0])
	closed(t, old)
	s.await(0, "new session", func(st State) bool { return st.Up && st.Peers == 0 })
}

func TestAMalformedMessageEndsTheSessionOfItsViewAlone(t *testing.T) {
	s := serve(t)
	s.dial("127.0.0.2", captured(t, "frr-8.4.4-post-dump.txt")...)
	s.await(1, "table", whole)
	conn := s.dial("127.0.0.1", append(captured(t, "frr-8.4.4-post-dump.txt"), octetsOf(t, `bmp[ 09 ]`))...)
	closed(t, conn)
	st := s.await(0, "end", away)
	if !strings.Contains(st.Why, "a message of type 9") {
		t.Errorf("%+v", st)
	}
	closed(t, s.dial("127.0.0.1", captured(t, "frr-8.4.4-post-dump.txt")[0])) // too soon
	if st := s.States(time.Now())[1]; !whole(st) {
		t.Errorf("the other view: %+v", st)
	}
	s.slots[0].mu.Lock()
	s.slots[0].barred = time.Now()
	s.slots[0].mu.Unlock()
	s.dial("127.0.0.1", captured(t, "frr-8.4.4-post-dump.txt")...)
	s.await(0, "table once more", whole)
}

func TestMoreWantedIsAskedForAnewAndLessIsForgotten(t *testing.T) {
	s := serve(t)
	conn := s.dial("127.0.0.1", captured(t, "frr-8.4.4-post-dump.txt")...)
	s.await(0, "table", whole)
	s.Want(map[string][]netip.Prefix{"a": {video4}})
	if got := lines(s.States(time.Now())[0]); !slices.Equal(got, []string{frr4}) {
		t.Errorf("%q", got)
	}
	s.Want(map[string][]netip.Prefix{"a": {video4, video6}})
	closed(t, conn)
	s.await(0, "end", away)
	s.dial("127.0.0.1", captured(t, "frr-8.4.4-post-dump.txt")...)
	s.await(0, "table", func(st State) bool { return whole(st) && len(st.Routes) == 2 })
}

func TestWhatAViewToldStandsUntilItHasToldItAgain(t *testing.T) {
	s := serve(t)
	conn := s.dial("127.0.0.1", captured(t, "frr-8.4.4-post-dump.txt")...)
	before := s.await(0, "table", whole)
	if !s.Again("a", time.Now()) || s.Again("b", time.Now()) || s.Again("a", time.Now()) {
		t.Error("only a is connected, and it is asked once")
	}
	closed(t, conn)
	messages := captured(t, "frr-8.4.4-post-dump.txt")
	conn = s.dial("127.0.0.1", messages[:2]...)
	s.await(0, "old table", func(st State) bool { return st.Since.Equal(before.Since) && whole(st) && len(st.Routes) == 2 })
	if _, err := conn.Write(join(messages[2:])); err != nil {
		t.Fatal(err)
	}
	s.await(0, "new table", func(st State) bool { return st.Since.After(before.Since) && whole(st) && len(st.Routes) == 2 })
	s.Again("a", time.Now())
	closed(t, conn)
	if st := s.States(time.Now())[0]; !whole(st) {
		t.Errorf("after it was asked: %+v", st)
	}
	if st := s.States(time.Now().Add(AgainTime))[0]; !away(st) {
		t.Errorf("after it has not come back: %+v", st)
	}
}

func TestAFullTableCostsNothing(t *testing.T) {
	s := serve(t)
	conn := s.dial("127.0.0.1", captured(t, "frr-8.4.4-post-dump.txt")[:2]...)
	full := bytes.Repeat(split(t, strings.ReplaceAll(routes("", origin+path+hop+tag, `18 cb0071 10 c633`), "c0000201 0000e11d", "0a4d0101 0000e11d"))[0], 1000)
	for range 50 { // 100,000 prefixes
		if _, err := conn.Write(full); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := conn.Write(join(captured(t, "frr-8.4.4-post-dump.txt")[2:])); err != nil {
		t.Fatal(err)
	}
	s.await(0, "table", func(st State) bool { return whole(st) && len(st.Routes) == 2 })
}

// TestAMessageThatBeginsMustEnd is in a bubble: the connection is a pipe.
func TestAMessageThatBeginsMustEnd(t *testing.T) {
	initiation := captured(t, "frr-8.4.4-post-dump.txt")[0]
	for name, sent := range map[string][]byte{"nothing at all": nil, "half an Initiation": initiation[:9], "half a message after it": append(slices.Clone(initiation), 3, 0)} {
		synctest.Test(t, func(t *testing.T) {
			router, here := net.Pipe()
			begun, done := time.Now(), make(chan error, 1)
			go func() {
				r := newReader(here)
				for {
					if _, _, err := r.next(); err != nil {
						done <- err
						return
					}
				}
			}()
			if _, err := router.Write(sent); err != nil {
				t.Fatal(err)
			}
			if err := <-done; !os.IsTimeout(err) || reason(err) != "no whole message came within 30s" || time.Since(begun) != MessageTime {
				t.Errorf("%s: %v after %v", name, err, time.Since(begun))
			}
			_ = router.Close()
		})
	}
}

// TestARouterWithoutNewsIsWaitedFor as long as TCP holds.
func TestARouterWithoutNewsIsWaitedFor(t *testing.T) {
	messages := captured(t, "frr-8.4.4-post-dump.txt")
	synctest.Test(t, func(t *testing.T) {
		router, here := net.Pipe()
		r, got := newReader(here), make(chan byte, 2)
		go func() {
			for {
				kind, _, err := r.next()
				if err != nil {
					close(got)
					return
				}
				got <- kind
			}
		}()
		for _, m := range messages[:2] {
			if _, err := router.Write(m); err != nil {
				t.Fatal(err)
			}
			time.Sleep(24 * time.Hour) // in a bubble, where it takes no time
		}
		if a, b := <-got, <-got; a != typeInitiation || b != typePeerUp {
			t.Errorf("%d, %d", a, b)
		}
		_ = router.Close()
		if _, more := <-got; more {
			t.Error("a message after the end")
		}
	})
}

// A router that connects and goes in a hurry, or somebody at its address, costs neither memory nor a full log, and the other
// views nothing.
func TestAViewThatComesAndGoesFillsNoLog(t *testing.T) {
	s := serve(t)
	other := append(split(t, initiation), split(t, up(openOurs, openTheirs))...)
	s.dial("127.0.0.2", other...)
	began := s.await(1, "the other view", func(st State) bool { return st.Peers == 1 })
	for range 3 * mostLines {
		conn := s.dial("127.0.0.1", split(t, initiation)...)
		s.await(0, "view", func(st State) bool { return st.Up })
		if err := conn.Close(); err != nil {
			t.Fatal(err)
		}
		s.await(0, "end", away)
	}
	if n := s.log.count("view=a"); n < mostLines || n > 3*mostLines { // of a slow minute there may be two
		t.Errorf("%d lines", n)
	}
	if s.log.count("it comes and goes") == 0 {
		t.Error("nobody is told why there are no more lines")
	}
	if st := s.States(time.Now())[1]; !st.Up || st.Peers != 1 || !st.Since.Equal(began.Since) {
		t.Errorf("the other view: %+v", st)
	}
}
