package guard

import (
	"context"
	"net/netip"
)

// Guard holds one session. Its methods may be called from any goroutine.
type Guard struct{}

// New checks the configuration and starts nothing. The error names the field
// and says what to write instead.
func New(c Config) (*Guard, error) { return &Guard{}, nil }

// Run keeps the session up until the context is done or Close is called, and
// returns when every connection is closed and every goroutine has ended. A
// context that is done closes the connections at once, without a NOTIFICATION;
// Close is the polite way. Run may be called once.
func (g *Guard) Run(ctx context.Context) {}

// Status tells what the session is doing.
func (g *Guard) Status() Status { return Status{} }

// Close ends the session and Run: what the leg has written so far is written to
// the router, then the NOTIFICATION, then the TCP connection is closed. It
// returns when Run has returned or the context is done; then what is left is
// closed at once. Further calls only wait.
func (g *Guard) Close(ctx context.Context, reason Cease) {}

// Reset drops the session with a NOTIFICATION, if there is one, and connects
// again at once. It does not wait.
func (g *Guard) Reset(reason Cease) {}

// Listener accepts connections for the guards that share one local address and
// port. Connections from addresses that no running guard has as its Peer are
// closed at once.
type Listener struct{}

// NewListener listens on a local address and port, on one device unless
// bindDevice is empty, until Close is called or the context is done.
func NewListener(ctx context.Context, local netip.AddrPort, bindDevice string) (*Listener, error) {
	return &Listener{}, nil
}

// Addr is the address that the listener has, with the port that the kernel
// chose when it was asked for port 0.
func (l *Listener) Addr() netip.AddrPort { return netip.AddrPort{} }

// Close stops listening. Sessions that were accepted live on.
func (l *Listener) Close() error { return nil }
