package identity

import (
	"crypto/tls"
	"errors"
	"net"
	"runtime"
	"time"

	"google.golang.org/grpc/credentials"
)

// When all edges come back at once, their handshakes are more work than there is
// time: worked on all at the same time they would all come to their end too late,
// when the edges have given up and try anew. So only some are worked on, and who waits
// for longer than turnWait is let go before any work was done: it waits, longer each
// time, and comes back.
const (
	turnsEach = 2               // for each processor
	turnWait  = 8 * time.Second // less than handshakeTime, and than edges wait
)

// errBusy ends a handshake that has waited too long for its turn.
var errBusy = errors.New("too many connections begin at once; try again")

// turns has a place for each handshake that is worked on. One that waits for the
// network has none, so that nobody can hold them.
type turns chan struct{}

func newTurns() turns { return make(turns, turnsEach*runtime.GOMAXPROCS(0)) }

// take waits for a turn.
func (t turns) take() error {
	select {
	case t <- struct{}{}:
		return nil
	default:
	}
	late := time.NewTimer(turnWait)
	defer late.Stop()
	select {
	case t <- struct{}{}:
		return nil
	case <-late.C:
		return errBusy
	}
}

// turnConn gives the turn of its handshake back when that waits for the other end.
type turnConn struct {
	net.Conn
	turns turns
	mine  bool // touched by the handshake only, and not after it
}

func (c *turnConn) Read(b []byte) (int, error) {
	c.leave()
	return c.Conn.Read(b)
}

func (c *turnConn) leave() {
	if c.mine {
		c.mine = false
		<-c.turns
	}
}

// handshake is the TLS handshake of one connection to a Gate. Sessions are not
// resumed: a centre that starts anew knows none, and who comes back to one that has
// not is to show its certificate.
func (g *Gate) handshake(raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	conn := &turnConn{Conn: raw, turns: g.turns}
	defer conn.leave()
	return g.tls.ServerHandshake(conn)
}

// serverTLS is what all handshakes of a Gate have in common.
func (g *Gate) serverTLS() credentials.TransportCredentials {
	cfg := g.cfg.Files.ServerTLS()
	cfg.SessionTicketsDisabled = true
	cfg.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		c, ok := hello.Conn.(*turnConn)
		if !ok {
			return nil, errors.New("identity: a handshake that is not the gate's")
		}
		err := c.turns.take()
		c.mine = err == nil
		return nil, err
	}
	return credentials.NewTLS(cfg)
}
