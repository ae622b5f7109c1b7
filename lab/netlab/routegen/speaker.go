package routegen

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Config is how a speaker presents itself.
type Config struct {
	LocalASN     uint32
	RouterID     netip.Addr    // IPv4; invalid: 10.255.255.1
	HoldTime     time.Duration // whole seconds; 0: 90 s; negative: offers 0, no hold time
	Families     []Family      // none: IPv4
	Role         *byte         // RFC 9234 section 4.1; nil: no role
	Capabilities []Capability  // further ones
	Open         []byte        // a whole message to send in place of the OPEN that these make
	NoHandshake  bool          // ready as soon as TCP is; the caller sends everything
	NoKeepalives bool          // none after the first
	TTL          int           // of outgoing packets; 0: the kernel's. 255 for a neighbour with GTSM
	Source       netip.Addr    // of Dial; invalid: the kernel's choice
}

// Speaker is one connection with a BGP speaker. Its methods may be called from several goroutines.
type Speaker struct {
	conn net.Conn
	peer Open

	write sync.Mutex // holds messages apart

	mu      sync.Mutex
	queue   []Message
	more    chan struct{} // 1 deep: the queue has grown or ended
	stalled chan struct{} // closed by Resume; nil while reading goes on
	err     error

	received chan Message
	ended    chan struct{} // closed when nothing more is read
	quit     chan struct{} // closed by Close
	once     sync.Once
	workers  sync.WaitGroup
}

// Dial connects to a BGP speaker ("10.77.1.2:179") and brings the session up. An error holds a *Notification when the
// other side sent one. ctx bounds the handshake only.
func Dial(ctx context.Context, address string, c Config) (*Speaker, error) {
	dialer := net.Dialer{Control: c.control}
	if c.Source.IsValid() {
		dialer.LocalAddr = &net.TCPAddr{IP: c.Source.AsSlice()}
	}
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	return start(ctx, conn, c)
}

// control sets the TTL before the first packet leaves.
func (c Config) control(network, _ string, raw syscall.RawConn) error {
	if c.TTL == 0 {
		return nil
	}
	var err error
	e := raw.Control(func(fd uintptr) {
		if network == "tcp6" {
			err = unix.SetsockoptInt(int(fd), unix.IPPROTO_IPV6, unix.IPV6_UNICAST_HOPS, c.TTL)
		} else {
			err = unix.SetsockoptInt(int(fd), unix.IPPROTO_IP, unix.IP_TTL, c.TTL)
		}
	})
	return errors.Join(e, err)
}

// Listener waits for BGP speakers that connect.
type Listener struct {
	tcp    net.Listener
	config Config
}

// Listen opens a listener on an address ("10.77.1.2:179").
func Listen(ctx context.Context, address string, c Config) (*Listener, error) {
	config := net.ListenConfig{Control: c.control}
	tcp, err := config.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	return &Listener{tcp: tcp, config: c}, nil
}

// Addr is where it listens.
func (l *Listener) Addr() net.Addr { return l.tcp.Addr() }

// Accept waits for the next connection and brings its session up. ctx bounds both. Not for concurrent use.
func (l *Listener) Accept(ctx context.Context) (*Speaker, error) {
	type deadliner interface{ SetDeadline(time.Time) error }
	if d, ok := l.tcp.(deadliner); ok {
		if err := d.SetDeadline(time.Time{}); err != nil {
			return nil, err
		}
		stop := context.AfterFunc(ctx, func() { _ = d.SetDeadline(time.Unix(1, 0)) })
		defer stop()
	}
	conn, err := l.tcp.Accept()
	if err != nil {
		return nil, errors.Join(err, ctx.Err())
	}
	return start(ctx, conn, l.config)
}

// Close stops listening; sessions live on.
func (l *Listener) Close() error { return l.tcp.Close() }

// start brings the session up on a connection and starts its goroutines.
func start(ctx context.Context, conn net.Conn, c Config) (*Speaker, error) {
	s := &Speaker{
		conn: conn, more: make(chan struct{}, 1), received: make(chan Message),
		ended: make(chan struct{}), quit: make(chan struct{}),
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	r := bufio.NewReaderSize(conn, 64<<10)
	var err error
	if !c.NoHandshake {
		err = s.handshake(r, c)
	}
	if !stop() {
		err = errors.Join(err, ctx.Err())
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("session with %s: %w", conn.RemoteAddr(), err), conn.Close())
	}
	s.workers.Go(func() { s.read(r) })
	s.workers.Go(s.deliver)
	if interval := s.keepalive(c); interval > 0 {
		s.workers.Go(func() { s.keep(interval) })
	}
	return s, nil
}

// handshake exchanges OPEN and KEEPALIVE.
func (s *Speaker) handshake(r *bufio.Reader, c Config) error {
	open := c.Open
	if open == nil {
		open = c.open().Message()
	}
	if err := s.Send(open); err != nil {
		return err
	}
	m, err := s.expect(r, TypeOpen)
	if err != nil {
		return err
	}
	if s.peer, err = ParseOpen(m.Body); err != nil {
		return err
	}
	if err := s.Send(Frame(TypeKeepalive, nil)); err != nil {
		return err
	}
	_, err = s.expect(r, TypeKeepalive)
	return err
}

func (s *Speaker) expect(r *bufio.Reader, kind byte) (Message, error) {
	m, err := readMessage(r)
	if err != nil {
		return m, err
	}
	s.queue = append(s.queue, m)
	if m.Type == kind {
		return m, nil
	}
	if m.Type == TypeNotification {
		n, err := ParseNotification(m.Body)
		if err != nil {
			return m, err
		}
		return m, n
	}
	return m, fmt.Errorf("message type %d in place of %d", m.Type, kind)
}

func (c Config) hold() time.Duration {
	switch {
	case c.HoldTime < 0:
		return 0
	case c.HoldTime == 0:
		return 90 * time.Second
	}
	return c.HoldTime
}

func (c Config) open() Open {
	open := Open{ASN: c.LocalASN, HoldTime: c.hold(), RouterID: c.RouterID}
	if !open.RouterID.Is4() {
		open.RouterID = netip.AddrFrom4([4]byte{10, 255, 255, 1})
	}
	families := c.Families
	if len(families) == 0 {
		families = []Family{IPv4}
	}
	for _, f := range families {
		value := append(binary.BigEndian.AppendUint16(nil, f.AFI), 0, f.SAFI)
		open.Capabilities = append(open.Capabilities, Capability{CapMultiprotocol, value})
	}
	open.Capabilities = append(open.Capabilities,
		Capability{CapRouteRefresh, nil},
		Capability{CapFourOctetASN, binary.BigEndian.AppendUint32(nil, c.LocalASN)})
	if c.Role != nil {
		open.Capabilities = append(open.Capabilities, Capability{CapRole, []byte{*c.Role}})
	}
	open.Capabilities = append(open.Capabilities, c.Capabilities...)
	return open
}

// keepalive is the time between KEEPALIVEs: a third of the smaller hold time (RFC 4271 section 10); 0 for none.
func (s *Speaker) keepalive(c Config) time.Duration {
	if c.NoHandshake || c.NoKeepalives {
		return 0
	}
	return min(c.hold(), s.peer.HoldTime) / 3
}
