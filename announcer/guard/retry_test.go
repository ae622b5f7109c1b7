package guard

import (
	"net"
	"strings"
	"testing"
	"time"
)

func TestBackoff(t *testing.T) {
	timers := Config{}.withDefaults().Timers
	cease := func(subcode byte) *notification { return &notification{code: codeCease, subcode: subcode} }
	hold := &notification{code: codeOpen, subcode: openHoldTime}
	for name, tt := range map[string]struct {
		received *notification
		want     []time.Duration
	}{
		"refused": {nil, []time.Duration{
			time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, 15 * time.Second, 15 * time.Second,
		}},
		"maximum prefixes": {cease(ceaseMaxPrefix), []time.Duration{
			time.Minute, 2 * time.Minute, 4 * time.Minute, 8 * time.Minute, 10 * time.Minute, 10 * time.Minute,
		}},
		"shutdown":       {cease(ceaseShutdown), []time.Duration{30 * time.Second, 30 * time.Second}},
		"de-configured":  {cease(ceaseRemoved), []time.Duration{30 * time.Second, 30 * time.Second}},
		"collision":      {cease(ceaseCollision), []time.Duration{time.Second, time.Second}},
		"another reason": {cease(ceaseReset), []time.Duration{time.Second, 2 * time.Second}},
		"hold time": {hold, []time.Duration{
			200 * time.Millisecond, 200 * time.Millisecond, 15 * time.Second, 200 * time.Millisecond,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			b := backoff{timers: &timers, holds: []time.Duration{9e9, 30e9, 90e9}}
			for i, want := range tt.want {
				if got, _ := b.next(tt.received); got != want {
					t.Errorf("wait %d is %s, want %s", i+1, got, want)
				}
			}
		})
	}
}

func TestBackoffForgets(t *testing.T) {
	timers := Config{}.withDefaults().Timers
	b := backoff{timers: &timers, holds: []time.Duration{9e9}}
	for range 5 {
		b.next(nil)
		b.next(&notification{code: codeCease, subcode: ceaseMaxPrefix})
	}
	b.down(14 * time.Second)
	if got, _ := b.next(nil); got != 15*time.Second {
		t.Errorf("after a session of 14 s the wait is %s, want 15s", got)
	}
	b.down(16 * time.Second)
	if got, _ := b.next(nil); got != time.Second {
		t.Errorf("after a session of 16 s the wait is %s, want 1s", got)
	}
	limit := &notification{code: codeCease, subcode: ceaseMaxPrefix}
	b.down(time.Minute)
	if got, _ := b.next(limit); got != 10*time.Minute {
		t.Errorf("after a short session the wait for the prefix limit is %s, want 10m", got)
	}
	b.down(time.Hour)
	if got, _ := b.next(limit); got != time.Minute {
		t.Errorf("after a long session the wait for the prefix limit is %s, want 1m", got)
	}
}

func TestJitterTakesUpToAQuarter(t *testing.T) {
	if got := jitter(time.Second, 0); got != time.Second {
		t.Errorf("at 0: %s", got)
	}
	if got := jitter(time.Second, 0.999999); got < 750*time.Millisecond || got > 751*time.Millisecond {
		t.Errorf("at 1: %s", got)
	}
}

func TestHoldTimeLadder(t *testing.T) {
	for hold, want := range map[time.Duration]int{3 * time.Second: 3, 30 * time.Second: 2, 60 * time.Second: 2, 90 * time.Second: 1, 180 * time.Second: 1} {
		c := Config{HoldTime: hold}
		if got := c.holdTimes(); len(got) != want || got[0] != hold {
			t.Errorf("%s: ladder %v", hold, got)
		}
	}
}

func TestSendHoldTimeDefault(t *testing.T) {
	c := Config{}
	if got := c.sendHold(9 * time.Second); got != 8*time.Minute {
		t.Errorf("hold 9 s: %s, want 8m", got)
	}
	if got := c.sendHold(10 * time.Minute); got != 20*time.Minute {
		t.Errorf("hold 10 min: %s, want 20m", got)
	}
}

func TestUnacceptableHoldTimeIsRaised(t *testing.T) {
	e := newEnv(t, nil)
	for _, want := range []uint16{9, 30} {
		r := e.accept()
		o, f := parseOpen(r.expect(typeOpen))
		if f != nil || o.hold != want {
			t.Fatalf("hold time %d, want %d (%v)", o.hold, want, f)
		}
		r.send(notification{code: codeOpen, subcode: openHoldTime}.append(nil))
		r.Close()
	}
	r := e.accept()
	if o := r.handshake(routerOpen()); o.hold != 90 {
		t.Errorf("hold time %d, want 90", o.hold)
	}
	e.await(Established)
	st := e.guard.Status()
	if st.HoldTime != 90*time.Second || !strings.Contains(st.LastError, "Unacceptable Hold Time") {
		t.Errorf("status %+v", st)
	}
	r.Close()
	if o := e.accept().handshake(routerOpen()); o.hold != 90 { // remembered
		t.Errorf("hold time %d, want 90", o.hold)
	}
}

func TestHoldTimeThatNeverFitsGoesAround(t *testing.T) {
	e := newEnv(t, nil)
	for _, want := range []uint16{9, 30, 90, 9, 30} {
		r := e.accept()
		if o, f := parseOpen(r.expect(typeOpen)); f != nil || o.hold != want {
			t.Fatalf("hold time %d, want %d (%v)", o.hold, want, f)
		}
		r.send(notification{code: codeOpen, subcode: openHoldTime}.append(nil))
		r.Close()
	}
}

func TestNotificationOfTheNeighbourIsShownAndWaitedFor(t *testing.T) {
	for name, tt := range map[string]struct {
		n      notification
		reason string
	}{
		"shutdown":   {notification{6, 2, []byte("\x07window\x07")}, `neighbour sent Cease/Administrative Shutdown: "window\a"`},
		"prefixes":   {notification{6, 1, nil}, `neighbour sent Cease/Maximum Number of Prefixes Reached`},
		"configured": {notification{6, 3, nil}, `neighbour sent Cease/Peer De-configured`},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEnv(t, nil)
			r, _ := e.establish()
			r.send(tt.n.append(nil))
			if ev := e.await(Idle); ev.Reason != tt.reason {
				t.Errorf("reason %q, want %q", ev.Reason, tt.reason)
			}
			eventually(t, "the next try is far", func() bool {
				st := e.guard.Status()
				return st.LastError == tt.reason && time.Until(st.NextTry) > 20*time.Second
			})
			e.guard.Reset(Cease{}) // an operator need not wait
			e.establish()
		})
	}
}

func TestRouterMayConnectWhileWeWait(t *testing.T) {
	listener := newListener(t, "127.0.0.1:0")
	e := newEnv(t, func(c *Config) { c.Listener = listener })
	r, _ := e.establish()
	r.send(notification{6, 2, nil}.append(nil))
	e.await(Idle)
	dialListener(t, listener, "127.0.0.1").handshake(routerOpen())
	e.await(Established)
}

func TestRefusedConnectionIsTriedAgainAndReported(t *testing.T) {
	e := prepareEnv(t, listen(t, "127.0.0.1:0"), newFakeLeg(t, legOpen()), nil)
	e.router.Close()
	e.start()
	for range 3 {
		if ev := e.await(Idle); ev.Previous != Connect || !strings.Contains(ev.Reason, "connection refused") {
			t.Errorf("event %+v", ev)
		}
	}
	e.router = listen(t, e.guard.config.Peer.String())
	e.establish()
}

func TestMalformedMessagesGetTheRightNotification(t *testing.T) {
	role := routerOpen()
	role.role = Provider
	wrongAS := routerOpen()
	wrongAS.asn = 65002
	never := routerOpen()
	never.hold = 0
	for name, tt := range map[string]struct {
		established   bool
		bytes         []byte
		code, subcode byte
	}{
		"wrong marker":          {false, make([]byte, 19), codeHeader, 1},
		"OPEN of another AS":    {false, wrongAS.append(nil), codeOpen, openPeerAS},
		"hold time 0":           {false, never.append(nil), codeOpen, openHoldTime},
		"role mismatch":         {false, role.append(nil), codeOpen, openRole},
		"KEEPALIVE for an OPEN": {false, keepalive, codeFSM, fsmOpenSent},
		"too long":              {true, []byte("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"), codeHeader, 2},
		"long KEEPALIVE":        {true, appendHeader(nil, typeKeepalive, 1), codeHeader, 2},
		"unknown type":          {true, appendHeader(nil, 77, 0), codeHeader, 3},
		"OPEN again":            {true, routerOpen().append(nil), codeFSM, fsmEstablished},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEnv(t, func(c *Config) { c.Role = RSClient })
			var r *end
			if tt.established {
				r, _ = e.establish()
			} else {
				r = e.accept()
				r.expect(typeOpen)
			}
			r.send(append(tt.bytes, update(200)...)) // what follows does not reset the connection
			r.expectNotification(tt.code, tt.subcode)
			r.Close()
			e.await(Idle)
			e.establish() // and it goes on
		})
	}
}

func TestLocalAddressIsBound(t *testing.T) {
	e := newEnv(t, func(c *Config) { c.LocalAddress = loopback4.Next() })
	r := e.accept()
	if got := r.RemoteAddr().(*net.TCPAddr).IP.String(); got != "127.0.0.2" {
		t.Errorf("dialled from %s, want 127.0.0.2", got)
	}
	r.handshake(routerOpen())
	e.await(Established)
}
