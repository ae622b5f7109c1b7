package guard

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"syscall"
	"time"
)

// Listener accepts connections for the guards that share one local address and
// port. Connections from addresses that no running guard has as its Peer are
// closed at once.
type Listener struct {
	tcp  *net.TCPListener
	stop func() bool
	done chan struct{}

	mu    sync.Mutex
	peers map[netip.Addr]*peerEntry
}

// peerEntry is a registered guard.
type peerEntry struct {
	accept   func(*net.TCPConn)
	password bool
}

// NewListener listens on a local address and port, on one device unless
// bindDevice is empty, until Close is called or the context is done.
func NewListener(ctx context.Context, local netip.AddrPort, bindDevice string) (*Listener, error) {
	addr := local.Addr()
	if !addr.IsValid() || addr.Is4In6() {
		return nil, fmt.Errorf("listen on %s: give an IPv4 or an IPv6 address", local)
	}
	// The TTL of SYN-ACKs is the listener's. 255 suits every neighbour, with
	// GTSM or without; a MINTTL here would shut out those without.
	opts := []option{trafficOption(addr.Is6()), ttlOption(addr.Is6(), 255)}
	if bindDevice != "" {
		opts = append(opts, deviceOption(bindDevice))
	}
	lc := net.ListenConfig{
		KeepAlive: -1,
		Control: func(_, _ string, raw syscall.RawConn) error {
			return apply(raw, "the listener on "+local.String(), opts)
		},
	}
	lc.SetMultipathTCP(false) // MPTCP sockets have no MD5 signatures
	nl, err := lc.Listen(ctx, network(addr), local.String())
	if err != nil {
		return nil, fmt.Errorf("listen for neighbours on %s: %w (is another BGP daemon running, or CAP_NET_BIND_SERVICE missing?)", local, err)
	}
	l := &Listener{tcp: nl.(*net.TCPListener), done: make(chan struct{}), peers: map[netip.Addr]*peerEntry{}}
	l.stop = context.AfterFunc(ctx, func() { l.tcp.Close() })
	go l.run()
	return l, nil
}

// Addr is the address that the listener has, with the port that the kernel
// chose when it was asked for port 0.
func (l *Listener) Addr() netip.AddrPort {
	return l.tcp.Addr().(*net.TCPAddr).AddrPort()
}

// Close stops listening and waits for that. Sessions that were accepted live on.
func (l *Listener) Close() error {
	l.stop()
	err := l.tcp.Close()
	<-l.done
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

func (l *Listener) run() {
	defer close(l.done)
	for {
		conn, err := l.tcp.AcceptTCP()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			// Out of file descriptors or memory: others must free some first.
			time.Sleep(50 * time.Millisecond)
			continue
		}
		l.hand(conn)
	}
}

func (l *Listener) hand(conn *net.TCPConn) {
	from := conn.RemoteAddr().(*net.TCPAddr).AddrPort().Addr().Unmap()
	l.mu.Lock()
	defer l.mu.Unlock()
	if p := l.peers[from]; p != nil {
		p.accept(conn)
		return
	}
	conn.Close()
}

// register has connections from peer handed to accept, which must not block.
// The MD5 key stands before the first connection can be accepted.
func (l *Listener) register(peer netip.Addr, password, who string, accept func(*net.TCPConn)) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.peers[peer] != nil {
		return fmt.Errorf("neighbour %s: another session already listens for %s on %s: give one of them another local address",
			who, peer, l.Addr())
	}
	if password != "" {
		if err := l.setKey(peer, password, who); err != nil {
			return err
		}
	}
	l.peers[peer] = &peerEntry{accept: accept, password: password != ""}
	return nil
}

// unregister undoes register. The key of a closed listener is gone by itself.
func (l *Listener) unregister(peer netip.Addr, who string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.peers[peer]
	delete(l.peers, peer)
	if p != nil && p.password {
		_ = l.setKey(peer, "", who)
	}
}

func (l *Listener) setKey(peer netip.Addr, key, who string) error {
	raw, err := l.tcp.SyscallConn()
	if err != nil {
		return fmt.Errorf("listener of neighbour %s: %w", who, err)
	}
	return apply(raw, "neighbour "+who+" on the listener", []option{md5Option(peer, key)})
}
