package guard

import (
	"bytes"
	"context"
	"net"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestSessionComesUpWithComposedOpen(t *testing.T) {
	e := newEnv(t, func(c *Config) { c.Role = Customer; c.ExtendedNextHop = true })
	r := e.accept()
	o := routerOpen()
	o.role, o.extended = Provider, true
	got := r.handshake(o)
	want := open{
		asn: ourASN, hold: 9, id: ourID, refresh: true, fourOctet: true, extended: true,
		role: Customer, families: o.families, multiprotocol: true,
	}
	if got != want {
		t.Errorf("OPEN to the router\n got %+v\nwant %+v", got, want)
	}
	s, _ := receive(t, e.leg.sessions)
	want = open{
		asn: routerASN, hold: 9, id: routerID, refresh: true, fourOctet: true, extended: true,
		families: o.families, multiprotocol: true,
	}
	if s.open != want {
		t.Errorf("OPEN to the leg\n got %+v\nwant %+v", s.open, want)
	}
	e.await(Established)
	if m := s.next(t); !bytes.Equal(m, keepalive) {
		t.Errorf("leg got %x, want a KEEPALIVE", m)
	}
	st := e.guard.Status()
	if st.State != Established || st.HoldTime != 9*time.Second || st.PeerRole != Provider || !st.ExtendedNextHop ||
		!st.FourOctet || st.PeerRouterID != routerID || len(st.Families) != 2 || st.Sessions != 1 || st.Remote != addrOf(e.router) {
		t.Errorf("status %+v", st)
	}
}

func TestUpdatesPassUnchangedAndInOrder(t *testing.T) {
	e := newEnv(t, nil)
	r, s := e.establish()
	const n = 5000
	go func() {
		for i := range n {
			_, _ = s.conn.Write(numbered(i))
		}
	}()
	for i := range n {
		if body := r.expect(typeUpdate); !bytes.Equal(body, numbered(i)[headerLen:]) {
			t.Fatalf("UPDATE %d reads %x", i, body)
		}
		if m, _ := receive(t, e.sent); !bytes.Equal(m, numbered(i)) {
			t.Fatalf("Sent %d got %x", i, m)
		}
	}
	if got := e.guard.Status().UpdatesSent; got != n {
		t.Errorf("UpdatesSent %d, want %d", got, n)
	}
}

func TestWithdrawalPassesWhileTheNeighbourFloods(t *testing.T) {
	e := newEnv(t, nil)
	r, s := e.establish()
	stop := make(chan struct{})
	flooded := make(chan struct{})
	go func() {
		defer close(flooded)
		b := bytes.Repeat(update(400), 100)
		for {
			select {
			case <-stop:
				return
			default:
			}
			if _, err := r.Write(b); err != nil {
				return
			}
		}
	}()
	eventually(t, "the flood has come", func() bool { return e.guard.Status().UpdatesDropped > 1000 })
	took := make([]time.Duration, 101)
	for i := range took {
		start := time.Now()
		_, _ = s.conn.Write(numbered(i))
		r.expect(typeUpdate)
		took[i] = time.Since(start)
	}
	close(stop)
	<-flooded
	slices.Sort(took)
	t.Logf("a withdrawal took %s in the median, %s at most", took[50], took[100])
	if took[50] > 100*time.Millisecond { // one CPU is shared with the flood's source
		t.Errorf("withdrawals took %s in the median during a flood", took[50])
	}
}

func TestCloseWritesPendingUpdatesThenCeaseThenFIN(t *testing.T) {
	e := newEnv(t, nil)
	r, s := e.establish()
	const n = 2000
	for i := range n {
		if _, err := s.conn.Write(numbered(i)); err != nil {
			t.Fatal(err)
		}
	}
	closed := make(chan struct{})
	go func() { defer close(closed); e.close(Cease{Text: "maintenance"}) }()
	for i := range n {
		if body := r.expect(typeUpdate); !bytes.Equal(body, numbered(i)[headerLen:]) {
			t.Fatalf("UPDATE %d reads %x", i, body)
		}
	}
	n9003 := r.expectNotification(codeCease, ceaseShutdown)
	if got := n9003.String(); got != `Cease/Administrative Shutdown: "maintenance"` {
		t.Errorf("NOTIFICATION %s", got)
	}
	r.Close()
	receive(t, closed)
	if ev := e.await(Idle); !strings.Contains(ev.Reason, "maintenance") {
		t.Errorf("event %+v", ev)
	}
	if len(e.sent) != n {
		t.Errorf("Sent saw %d UPDATEs, want %d", len(e.sent), n)
	}
	e.close(Cease{}) // again: returns
}

func TestCeaseReachesANeighbourThatFloods(t *testing.T) {
	e := newEnv(t, nil)
	r, _ := e.establish()
	go func() { // until the guard closes
		for b := bytes.Repeat(update(400), 100); ; {
			if _, err := r.Write(b); err != nil {
				return
			}
		}
	}()
	go e.close(Cease{Text: "bye"})
	n := parseNotification(r.expect(typeNotification))
	if n.String() != `Cease/Administrative Shutdown: "bye"` {
		t.Errorf("NOTIFICATION %s", n)
	}
}

func TestCloseBeforeRunLeavesNothingToRun(t *testing.T) {
	e := prepareEnv(t, listen(t, "127.0.0.1:0"), newFakeLeg(t, legOpen()), nil)
	e.close(Cease{})
	e.guard.Run(t.Context()) // returns at once
	if st := e.guard.Status(); st.State != Idle {
		t.Errorf("state %s, want idle", st.State)
	}
}

func TestContextEndsEverythingAtOnce(t *testing.T) {
	e := prepareEnv(t, listen(t, "127.0.0.1:0"), newFakeLeg(t, legOpen()), nil)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); e.guard.Run(ctx) }()
	r, _ := e.establish()
	cancel()
	receive(t, done)
	if _, _, ok := r.read(); ok {
		t.Error("a message came after the context was done")
	}
	if ev := e.await(Idle); ev.Previous != Established {
		t.Errorf("event %+v", ev)
	}
}

func TestResetCeasesAndConnectsAgain(t *testing.T) {
	e := newEnv(t, nil)
	r, _ := e.establish()
	e.guard.Reset(Cease{Text: "new settings"})
	if n := r.expectNotification(codeCease, ceaseReset); n.String() != `Cease/Administrative Reset: "new settings"` {
		t.Errorf("NOTIFICATION %s", n)
	}
	r.Close()
	e.await(Idle)
	e.establish()
	if got := e.guard.Status().Sessions; got != 2 {
		t.Errorf("%d sessions, want 2", got)
	}
}

func TestResetOfAStuckSessionIsQuickAndHappensOnce(t *testing.T) {
	e := newEnv(t, func(c *Config) { c.Timers.Linger = 50 * time.Millisecond })
	_, s := e.establish() // the router reads nothing
	go func() {           // until the guard closes the leg
		for {
			if _, err := s.conn.Write(bytes.Repeat(update(4000), 16)); err != nil {
				return
			}
		}
	}()
	eventually(t, "UPDATEs are sent", func() bool { return e.guard.Status().UpdatesSent > 0 })
	start := time.Now()
	e.guard.Reset(Cease{})
	e.guard.Reset(Cease{}) // it is stuck still
	e.await(Idle)
	if took := time.Since(start); took > drainMost/2 {
		t.Errorf("it took %s", took)
	}
	r, s := e.establish()
	if _, err := s.conn.Write(update(4)); err != nil {
		t.Fatal(err)
	}
	r.expect(typeUpdate)
	if got := e.guard.Status().Sessions; got != 2 {
		t.Errorf("%d sessions, want 2", got)
	}
}

func TestNeighbourLossIsToldAndTriedAgain(t *testing.T) {
	e := newEnv(t, nil)
	r, s := e.establish()
	r.Close()
	if ev := e.await(Idle); ev.Previous != Established || ev.Reason != "neighbour closed the connection without a NOTIFICATION" {
		t.Errorf("event %+v", ev)
	}
	for range s.msgs { // the leg is closed, too
	}
	e.establish()
}

func TestLegLossCeasesTheSession(t *testing.T) {
	e := newEnv(t, nil)
	r, s := e.establish()
	s.conn.Close()
	r.expectNotification(codeCease, ceaseReset)
	if ev := e.await(Idle); !strings.Contains(ev.Reason, "local BGP server") {
		t.Errorf("event %+v", ev)
	}
}

func TestLegIsLeftAloneUntilTheRouterAcceptsOurOpen(t *testing.T) {
	e := newEnv(t, nil)
	r := e.accept()
	r.expect(typeOpen)
	r.send(append(routerOpen().append(nil), notification{code: codeOpen, subcode: openRole}.append(nil)...))
	if ev := e.await(Idle); ev.Reason != "neighbour sent OPEN Message Error/Role Mismatch" {
		t.Errorf("event %+v", ev)
	}
	if n := len(e.leg.sessions); n != 0 {
		t.Errorf("the leg was used %d times", n)
	}
}

func TestRouterThatWaitsForOurKeepalive(t *testing.T) {
	e := newEnv(t, nil)
	r := e.accept()
	r.expect(typeOpen)
	r.send(routerOpen().append(nil))
	if kind, _, _ := r.read(); kind != typeKeepalive {
		t.Fatalf("message of type %d, want a KEEPALIVE", kind)
	}
	if st := e.guard.Status().State; st != OpenConfirm {
		t.Errorf("state %s, want openconfirm", st)
	}
	r.send(keepalive)
	e.await(Established)
}

func TestLegThatIsNotReadyIsTriedAgain(t *testing.T) {
	// GoBGP in Idle takes connections and closes them.
	busy := listen(t, "127.0.0.1:0")
	leg := &fakeLeg{listener: busy, sessions: make(chan *legSession, 1)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := 0; ; i++ {
			conn, err := busy.Accept()
			if err != nil {
				return
			}
			if i < 5 {
				conn.Close()
				continue
			}
			go leg.serve(conn, legOpen())
		}
	}()
	t.Cleanup(func() { busy.Close(); <-done })
	e := prepareEnv(t, listen(t, "127.0.0.1:0"), leg, nil)
	e.start()
	e.establish()
}

func TestMissingLegIsReported(t *testing.T) {
	e := newEnv(t, func(c *Config) {
		l, err := net.Listen("tcp4", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		c.Leg = addrOf(l.(*net.TCPListener))
		l.Close()
		c.Timers.Leg = 50 * time.Millisecond
	})
	r := e.accept()
	r.expect(typeOpen)
	r.send(append(routerOpen().append(nil), keepalive...))
	r.expectNotification(codeCease, ceaseReset)
	if ev := e.await(Idle); !strings.Contains(ev.Reason, "no BGP server at 127.0.0.1") {
		t.Errorf("event %+v", ev)
	}
}

func TestLegForAnotherSessionIsRefused(t *testing.T) {
	for name, change := range map[string]func(*open){
		"is AS 1, not 57629":     func(o *open) { o.asn = 1 },
		"has a hold time of 3s":  func(o *open) { o.hold = 3 },
		"lacks address families": func(o *open) { o.families = 1 << IPv4 },
	} {
		t.Run(name, func(t *testing.T) {
			o := legOpen()
			change(&o)
			e := prepareEnv(t, listen(t, "127.0.0.1:0"), newFakeLeg(t, o), func(c *Config) {
				c.Timers.Leg = 100 * time.Millisecond
			})
			e.start()
			r := e.accept()
			r.expect(typeOpen)
			r.send(append(routerOpen().append(nil), keepalive...))
			r.expectNotification(codeCease, ceaseReset)
			if ev := e.await(Idle); !strings.Contains(ev.Reason, name) {
				t.Errorf("reason %q", ev.Reason)
			}
		})
	}
}

func TestLegNotificationPassesToTheRouter(t *testing.T) {
	e := newEnv(t, nil)
	r, s := e.establish()
	_, _ = s.conn.Write(notification{code: codeHold}.append(nil))
	r.expectNotification(codeHold, 0)
	if ev := e.await(Idle); ev.Reason != "neighbour was silent for the whole hold time" {
		t.Errorf("event %+v", ev)
	}
}

func TestSendHoldTimer(t *testing.T) {
	e := newEnv(t, func(c *Config) {
		c.SendHoldTime = 50 * time.Millisecond
		c.Timers.Linger = 50 * time.Millisecond
	})
	_, s := e.establish() // the router reads nothing
	go func() {           // until the guard closes the leg
		for {
			if _, err := s.conn.Write(bytes.Repeat(update(4000), 16)); err != nil {
				return
			}
		}
	}()
	if ev := e.await(Idle); !strings.Contains(ev.Reason, "RFC 9687") {
		t.Errorf("event %+v", ev)
	}
}

func TestNeighbourWithoutOpenIsGivenUp(t *testing.T) {
	e := newEnv(t, func(c *Config) { c.Timers.Open = 30 * time.Millisecond })
	r := e.accept()
	r.expect(typeOpen)
	r.expectNotification(codeHold, 0)
	if ev := e.await(Idle); !strings.Contains(ev.Reason, "no OPEN within 30ms") {
		t.Errorf("event %+v", ev)
	}
}

func TestNeighbourWithoutFourOctetASNs(t *testing.T) {
	const asn = 4200000000
	leg := legOpen()
	leg.asn = asn
	e := prepareEnv(t, listen(t, "127.0.0.1:0"), newFakeLeg(t, leg), func(c *Config) { c.LocalASN = asn })
	e.start()
	r := e.accept()
	body := r.expect(typeOpen)
	if got := int(body[1])<<8 | int(body[2]); got != asTrans {
		t.Errorf("My AS is %d, want AS_TRANS", got)
	}
	o := routerOpen()
	o.fourOctet = false
	r.send(append(o.append(nil), keepalive...))
	s, _ := receive(t, e.leg.sessions)
	if s.open.fourOctet || s.open.asn != routerASN {
		t.Errorf("OPEN to the leg %+v has the capability", s.open)
	}
	e.await(Established)
	if e.guard.Status().FourOctet {
		t.Error("status says that the neighbour speaks 4-octet AS numbers")
	}
}
