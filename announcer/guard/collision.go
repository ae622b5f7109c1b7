package guard

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"time"
)

// heldMost is how long a connection that came in while another one was being
// confirmed waits for its OPEN. The other one is Established by then, and this
// one closed, unless the leg or the router is slow.
const heldMost = 200 * time.Millisecond

// collided is what the connection that loses gets to hear (RFC 4271, section
// 6.8; RFC 4486).
func collided(reason string) *fault {
	return &fault{reason: reason, notify: &notification{code: codeCease, subcode: ceaseCollision}}
}

// accept takes a connection that the router made.
func (l *loop) accept(conn *net.TCPConn) {
	raw, err := conn.SyscallConn()
	if err == nil {
		err = apply(raw, "neighbour "+l.config.Name, l.config.peerOptions())
	}
	if err != nil {
		conn.Close()
		l.fail(fmt.Sprintf("connection from the neighbour: %v", err))
		return
	}
	for _, old := range slices.Clone(l.sessions) {
		// A router has one connection of its own at a time: an older one is dead.
		if !old.dialled && old.stage < chosen {
			l.drop(old, collided("the neighbour connected anew"))
		}
	}
	s := l.add(conn, false)
	switch l.furthest() {
	case up:
		l.drop(s, collided("a session is established already"))
	case chosen:
		// Its OPEN could make the router give up the connection that is about to
		// be Established.
		s.after(heldMost, note{kind: timedHeld})
	default:
		l.open(s)
	}
}

func (l *loop) furthest() stage {
	most := held
	for _, s := range l.sessions {
		most = max(most, s.stage)
	}
	return most
}

// open sends our OPEN and starts reading.
func (l *loop) open(s *session) {
	us := l.config.ours(l.backoff.proposal())
	s.stage = opening
	s.readDone = make(chan struct{})
	l.wg.Go(func() {
		if err := s.wire.write(us.append(nil)); err != nil {
			s.report(note{kind: failed, fault: writeFault(err)})
		}
		s.read(us)
	})
	s.after(l.config.Timers.Open, note{kind: timedOpen})
	how := "accepted a connection from"
	if s.dialled {
		how = "connected to"
	}
	l.settle(fmt.Sprintf("%s %s", how, s.tcp.RemoteAddr()))
}

// opened deals with an OPEN that was accepted. Of two connections one must go
// before either is confirmed.
func (l *loop) opened(s *session) {
	s.stage = ready
	defer l.settle("neighbour's OPEN was accepted")
	if l.furthest() > ready {
		return // the other one is being confirmed: whether it lives will show
	}
	for _, rival := range slices.Clone(l.sessions) {
		switch {
		case rival == s || rival.stage == held:
		case l.config.wins(s.dialled, s.agreed.id):
			l.drop(rival, collided("the other connection of a collision was kept"))
		case rival.stage == opening:
			s.after(l.config.Timers.Collision, note{kind: timedCollision})
			return
		default:
			l.drop(s, collided("the other connection of a collision was kept"))
			l.choose(rival)
			return
		}
	}
	l.choose(s)
}

// choose goes on with one connection and ends the others.
func (l *loop) choose(s *session) {
	l.stopDialling()
	l.stopWaiting()
	for _, rival := range slices.Clone(l.sessions) {
		if rival != s && rival.stage != held {
			l.drop(rival, collided("the other connection of a collision was kept"))
		}
	}
	s.stage = chosen
	s.wire.setHold(l.config.sendHold(s.agreed.hold))
	s.prepare(&l.g.count)
	s.joinDone = make(chan struct{})
	a := s.agreed
	l.wg.Go(func() { s.join(a) })
}

// establish brings the session up once both sides have confirmed.
func (l *loop) establish(s *session) {
	if s.stage != chosen || !s.seen || !s.answered {
		return
	}
	s.stage = up
	for _, rival := range slices.Clone(l.sessions) {
		if rival != s {
			l.drop(rival, collided("a session is established already"))
		}
	}
	l.upSince, l.warned = time.Now(), ""
	l.g.count.sessions.Add(1)
	l.settle(fmt.Sprintf("session is up: hold time %s, families %v", s.agreed.hold, s.agreed.families.list()))
	// The leg writes UPDATEs as soon as it has the KEEPALIVE, that is, after
	// the event.
	s.live.Store(true)
	if err := s.write(keepalive); err != nil {
		l.failed(s, legFault(err))
		return
	}
	close(s.alive)
}

// failed ends a session that cannot go on, and goes on with another one.
func (l *loop) failed(s *session, f *fault) {
	wasUp := s.stage == up
	l.drop(s, f)
	if wasUp {
		l.backoff.down(time.Since(l.upSince))
	}
	if len(l.sessions) == 0 {
		l.fail(f.reason)
	}
	l.schedule(f.received)
	l.advance()
	l.settle(f.reason)
}

// advance finds the next connection to go on with, if one is left.
func (l *loop) advance() {
	if l.furthest() > ready {
		return
	}
	stages := map[stage]*session{}
	for _, s := range l.sessions {
		stages[s.stage] = s
	}
	switch {
	case stages[held] != nil:
		l.open(stages[held])
	case stages[opening] == nil && stages[ready] != nil:
		l.choose(stages[ready])
	}
}

// drop ends a session and waits until nothing of it can reach Sent or Received.
func (l *loop) drop(s *session, f *fault) {
	l.sessions = slices.DeleteFunc(l.sessions, func(o *session) bool { return o == s })
	for _, t := range s.timers {
		t.Stop()
	}
	close(s.gone)
	s.in.stop()
	s.unjoin()
	l.wg.Go(func() { s.end(f) })
	if s.joinDone != nil {
		<-s.joinDone
	}
}

func (l *loop) dropAll(f *fault) {
	for _, s := range slices.Clone(l.sessions) {
		l.drop(s, f)
	}
	l.stopDialling()
	l.stopWaiting()
	l.settle(f.reason)
}

// leave ends all connections politely: what the leg wrote goes out first, if the
// router takes it in the time given.
func (l *loop) leave(n notification, reason string, within time.Duration) {
	for _, s := range l.sessions {
		if s.stage == up {
			l.drain(s, within)
		}
	}
	if len(n.data) > 0 {
		reason += " with " + n.String()
	}
	l.dropAll(&fault{reason: reason, notify: &n})
}

// drain waits until the router has what the leg wrote.
func (l *loop) drain(s *session, within time.Duration) {
	s.out.drain()
	limit := time.NewTimer(within)
	defer limit.Stop()
	for {
		select {
		case <-s.joinDone:
			return
		case <-l.notes: // whatever happens now, the session ends
		case <-limit.C:
			return
		case <-l.ctx.Done():
			return
		}
	}
}

// addresses are the ends of the connection, if there is one.
func (s *session) addresses() (local, remote netip.AddrPort) {
	if s == nil {
		return
	}
	return s.tcp.LocalAddr().(*net.TCPAddr).AddrPort(), s.tcp.RemoteAddr().(*net.TCPAddr).AddrPort()
}
