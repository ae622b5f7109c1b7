package identity

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"time"

	"google.golang.org/grpc/status"
)

// HTTP returns a handler that finds out who calls before next, the JSON gateway on a
// Local's client, passes the call on: the interceptors decide as for any other call.
// What a browser was made to send by another site is refused, as is a body over
// MaxMessage or one that takes longer than bodyTime.
func (g *Gate) HTTP(next http.Handler) http.Handler { return g.behind(g.httpVerdict, next) }

// behind puts the caller, as whom finds it, into the context of each request to next.
func (g *Gate) behind(whom func(*http.Request) verdict, next http.Handler) http.Handler {
	guard := http.NewCrossOriginProtection()
	guard.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v, _ := r.Context().Value(verdictKey{}).(verdict)
		g.answer(w, r, Refusal{Reason: CrossOrigin, Text: "a browser sent this for another site"}, v, http.StatusForbidden)
	}))
	next = guard.Handler(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v := whom(r)
		if g.cfg.Dev && CheckLoopback(hostPort(r.Host)) != nil {
			// A page from elsewhere whose name was made to lead here.
			g.answer(w, r, Refusal{Reason: BadName, Text: "with --dev, ask by a loopback address, not " + clip(r.Host)}, v, http.StatusForbidden)
			return
		}
		if r.ContentLength > MaxMessage {
			g.answer(w, r, Refusal{Reason: TooLarge, Text: "the body is larger than 1 MiB"}, v, http.StatusRequestEntityTooLarge)
			return
		}
		ctx := context.WithValue(r.Context(), verdictKey{}, v)
		r = r.WithContext(ctx)
		if r.ContentLength != 0 {
			g.bound(w, r, v) // it has the server's own writer, which it tells of what is too long
		}
		if v.Reason == "" {
			p := g.paced(w)
			defer p.hurry() // what is left is sent after the handler
			w = p
		}
		next.ServeHTTP(w, r)
	})
}

// bound bounds a request's body, in size and time.
func (g *Gate) bound(w http.ResponseWriter, r *http.Request, v verdict) {
	ctx, path := r.Context(), r.URL.Path
	control := http.NewResponseController(w)
	// It fails for writers that are no connection's: those of tests.
	_ = control.SetReadDeadline(time.Now().Add(g.bodyTime))
	r.Body = &bounded{ReadCloser: http.MaxBytesReader(w, r.Body, MaxMessage),
		read: func() { _ = control.SetReadDeadline(time.Time{}) }, // an answer may take as long as it likes
		over: func(reason Reason, text string) {
			_ = g.refuse(ctx, Refusal{Reason: reason, Peer: v.Peer, Addr: v.Addr, Method: path, Text: text})
		}}
}

func (g *Gate) answer(w http.ResponseWriter, r *http.Request, refusal Refusal, v verdict, code int) {
	refusal.Peer, refusal.Addr, refusal.Method = v.Peer, v.Addr, r.URL.Path
	err := g.refuse(r.Context(), refusal)
	http.Error(w, status.Convert(err).Message(), code)
}

func (g *Gate) httpVerdict(r *http.Request) verdict {
	switch {
	case g.cfg.Dev:
		return g.devVerdict(r.RemoteAddr)
	case r.TLS == nil:
		return verdict{Reason: NoCertificate, Text: "plain HTTP; use https and a client certificate", Addr: r.RemoteAddr}
	}
	v := g.identify(*r.TLS, r.RemoteAddr)
	knownIf(r, v)
	return v
}

// knownIf says of a request's connection that its caller is known, where it is.
func knownIf(r *http.Request, v verdict) {
	if visit, ok := r.Context().Value(visitKey{}).(*visit); ok && v.Reason == "" {
		visit.known()
	}
}

// hostPort gives a Host header a port if it has none.
func hostPort(host string) string {
	if _, _, err := net.SplitHostPort(host); err == nil {
		return host
	}
	if len(host) > 2 && host[0] == '[' && host[len(host)-1] == ']' {
		host = host[1 : len(host)-1]
	}
	return net.JoinHostPort(host, "80")
}

// bounded tells once when a body is longer, or takes longer, than it may.
type bounded struct {
	io.ReadCloser
	read func()
	over func(Reason, string)
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	var tooLarge *http.MaxBytesError
	var timeout net.Error
	switch {
	case b.over == nil || err == nil:
	case errors.Is(err, io.EOF):
		b.read()
	case errors.As(err, &tooLarge):
		b.over(TooLarge, "the body is larger than 1 MiB")
		b.over = nil
	case errors.As(err, &timeout) && timeout.Timeout():
		b.over(TooSlow, "the body did not come in time")
		b.over = nil
	}
	return n, err
}
