package identity

import (
	"context"
	"crypto/tls"
	"io"
	"log"
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

const (
	// headerTime is how long an HTTP client may take for its handshake and again to say
	// what it wants, bodyTime for all of a body, answerTime to read the answer (who
	// is known: each step of it, since it may be a stream), and idleTime between two requests.
	headerTime = 10 * time.Second
	bodyTime   = 30 * time.Second
	answerTime = time.Minute
	idleTime   = time.Minute
)

// Web returns an HTTP server with the limits that every one of the centre has. It
// counts connections that ended before they had asked for anything. What of the
// handler needs a caller must be behind Gate.HTTP.
func (g *Gate) Web(handler http.Handler) *http.Server {
	return &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if v, ok := r.Context().Value(visitKey{}).(*visit); ok {
				v.asked.Store(true)
			}
			// It fails for writers that are no connection's: those of tests.
			_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(g.answerTime))
			handler.ServeHTTP(w, r)
		}),
		ReadHeaderTimeout: headerTime,
		IdleTimeout:       idleTime,
		MaxHeaderBytes:    maxHeaders,
		// The deadline of an answer ends its stream; this one ends a connection that takes nothing at all.
		HTTP2: &http.HTTP2Config{WriteByteTimeout: g.answerTime},
		// Each failed handshake would be a line: strangers do not write our log.
		ErrorLog: log.New(io.Discard, "", 0),
		ConnContext: func(ctx context.Context, conn net.Conn) context.Context {
			v := &visit{conn: conn}
			v.takeLittle()
			g.visits.Store(conn, v)
			return context.WithValue(ctx, visitKey{}, v)
		},
		ConnState: g.connState,
	}
}

type visitKey struct{}

// visit is one connection for HTTP.
type visit struct {
	conn  net.Conn
	asked atomic.Bool
}

// takeLittle bounds what the system takes of an answer before its reader does. It wakes a writer
// once a third of that has gone: of the megabytes that it would take by itself, a reader who is
// slow and reads on would not make room in answerTime. It fails for what is no connection of TCP.
func (v *visit) takeLittle() {
	conn := v.transport()
	if g, ok := conn.(*guest); ok {
		conn = g.Conn
	}
	if c, ok := conn.(interface{ SetWriteBuffer(int) error }); ok {
		_ = c.SetWriteBuffer(sendBuffer)
	}
}

// transport is the connection below TLS, if there is that.
func (v *visit) transport() net.Conn {
	if secure, ok := v.conn.(*tls.Conn); ok {
		return secure.NetConn()
	}
	return v.conn
}

// known says that the caller has shown who it is.
func (v *visit) known() { known(v.transport()) }

// connState counts connections that come to nothing.
func (g *Gate) connState(conn net.Conn, s http.ConnState) {
	if s != http.StateClosed && s != http.StateHijacked {
		return
	}
	v, ok := g.visits.LoadAndDelete(conn)
	if !ok || v.(*visit).asked.Load() {
		return
	}
	addr := conn.RemoteAddr().String()
	if secure, ok := conn.(*tls.Conn); ok && !secure.ConnectionState().HandshakeComplete {
		if err := secure.Handshake(); err != nil { // that which it has failed with
			g.handshakeFailed(addr, err)
		}
		return
	}
	_ = g.refuse(context.Background(), Refusal{Reason: NoRequest, Addr: addr, Text: "no request came in time"})
}

// tooMany counts a connection that was closed since there are too many of strangers.
func (g *Gate) tooMany(conn net.Conn) {
	_ = g.refuse(context.Background(), Refusal{Reason: TooMany, Addr: conn.RemoteAddr().String(), Text: "too many connections of strangers"})
}
