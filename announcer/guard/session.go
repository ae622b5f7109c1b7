package guard

import (
	"bufio"
	"context"
	"io"
	"net"
	"sync/atomic"
	"time"
)

// stage is how far one connection has come.
type stage uint8

const (
	held    stage = iota // accepted while another one was chosen; nothing sent
	opening              // our OPEN is sent
	ready                // the router's OPEN came; a collision is open
	chosen               // the one to go on with; the leg is being joined
	up                   // Established
)

// state is the stage as RFC 4271 has it.
func (s stage) state() State {
	return [...]State{Connect, OpenSent, OpenConfirm, OpenConfirm, Established}[s]
}

// session is one TCP connection with the router and what hangs on it. Its
// goroutines report to the loop, which owns the fields up to the blank line.
type session struct {
	stage    stage
	dialled  bool
	agreed   agreement
	seen     bool // the router's KEEPALIVE came
	answered bool // ours was written
	timers   []*time.Timer

	tcp    *net.TCPConn
	config *Config
	notes  chan<- note
	gone   chan struct{}   // closed when the loop has dropped the session
	alive  chan struct{}   // closed when the session is Established
	heard  chan struct{}   // closed when the router's KEEPALIVE came
	ctx    context.Context // of the guard: done means close at once
	joins  context.Context // done when the session has no more use for a leg
	unjoin context.CancelFunc

	wire     wire
	in       inbound
	readDone chan struct{} // nil: not reading
	out      outbound
	leg      atomic.Pointer[leg]
	joinDone chan struct{} // nil: not joined

	confirmed, live atomic.Bool
}

// note is what a session reports to the loop.
type note struct {
	from   *session
	kind   noteKind
	fault  *fault    // of failed
	agreed agreement // of opened
}

type noteKind uint8

const (
	failed noteKind = iota
	opened
	sawKeepalive
	sentKeepalive
	timedOpen
	timedCollision
	timedHeld
)

// newSession takes a connection over. Nothing is read or written yet.
func newSession(ctx context.Context, c *Config, tcp *net.TCPConn, dialled bool, count *counters, notes chan<- note) *session {
	s := &session{
		dialled: dialled, tcp: tcp, config: c, notes: notes,
		gone: make(chan struct{}), alive: make(chan struct{}), heard: make(chan struct{}),
	}
	s.ctx = ctx
	s.joins, s.unjoin = context.WithCancel(ctx)
	s.wire = wire{conn: tcp, linger: c.Timers.Linger, hold: c.sendHold(c.HoldTime)}
	s.in.r = bufio.NewReaderSize(tcp, readBuffer)
	s.in.now, s.in.count, s.in.received = time.Now, count, c.Received
	s.in.confirmed = &s.confirmed
	s.in.leg = s
	return s
}

// report hands a note to the loop, unless the loop has dropped the session.
func (s *session) report(n note) {
	n.from = s
	select {
	case s.notes <- n:
	case <-s.gone:
	}
}

// after reports a note later.
func (s *session) after(d time.Duration, n note) {
	s.timers = append(s.timers, time.AfterFunc(d, func() { s.report(n) }))
}

// read runs the inbound until the connection ends. What comes after a fault is
// dropped, so that closing does not reset the connection while our last message
// is on its way.
func (s *session) read(us open) {
	defer close(s.readDone)
	s.in.tell = inboundEvents{
		open: func(them open) (agreement, *fault) {
			a, f := s.config.negotiate(us, them)
			if f == nil {
				s.report(note{kind: opened, agreed: a})
			}
			return a, f
		},
		alive: func() { s.report(note{kind: sawKeepalive}) },
		live: func() bool {
			select {
			case <-s.alive:
				return true
			case <-s.gone:
				return false
			}
		},
	}
	s.report(note{kind: failed, fault: s.in.run()})
	_, _ = io.Copy(io.Discard, s.in.r)
}

// prepare fills in what carries the leg's messages.
func (s *session) prepare(count *counters) {
	s.out.write, s.out.sent, s.out.count = s.wire.write, s.config.Sent, count
	s.out.confirmed, s.out.live = &s.confirmed, &s.live
	s.out.confirm = func() { s.report(note{kind: sentKeepalive}) }
}

// join connects the leg and carries its messages to the router.
func (s *session) join(a agreement) {
	defer close(s.joinDone)
	s.report(note{kind: failed, fault: s.carry(a)})
}

// hesitate is how long the leg is left alone until the router's KEEPALIVE says
// that it accepts our OPEN. A refusal costs the leg nothing then, whereas a
// GoBGP that loses a session refuses the next for 5 s. A router that waits for
// our KEEPALIVE first gets it after this time.
const hesitate = time.Second

func (s *session) carry(a agreement) *fault {
	select {
	case <-s.heard:
	case <-time.After(hesitate):
	case <-s.joins.Done():
	}
	l, err := s.config.connectLeg(s.joins, a)
	if err != nil {
		return legFault(err)
	}
	defer l.conn.Close()
	stop := context.AfterFunc(s.joins, func() { l.conn.Close() })
	defer stop()
	s.leg.Store(l)
	if err := l.write(a.compose().append(nil)); err != nil {
		return legFault(err)
	}
	s.out.leg, s.out.limit = l.conn, l.conn
	return s.out.run()
}

// write is the way to the leg for the inbound.
func (s *session) write(msg []byte) error {
	if l := s.leg.Load(); l != nil {
		return l.write(msg)
	}
	return errClosing
}

// end closes the session: with a NOTIFICATION where the fault has one. It
// returns when the TCP connection is closed.
func (s *session) end(f *fault) {
	defer s.tcp.Close()
	if f.notify == nil && !f.told || s.ctx.Err() != nil {
		return
	}
	stop := context.AfterFunc(s.ctx, func() { s.tcp.Close() })
	defer stop()
	if f.notify != nil && s.wire.farewell(*f.notify) != nil {
		return
	}
	// FIN, not RST: the router shall read everything up to it.
	_ = s.tcp.CloseWrite()
	_ = s.tcp.SetReadDeadline(time.Now().Add(s.config.Timers.Linger))
	if s.readDone == nil {
		_, _ = io.Copy(io.Discard, s.tcp)
		return
	}
	<-s.readDone
}
