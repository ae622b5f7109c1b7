package identity

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"google.golang.org/grpc/status"
)

// SessionCookie holds what a browser shows after it has signed in. Its prefix makes
// browsers take it from this host alone, and over TLS.
const SessionCookie = "__Host-catchment"

// Sessions knows the browsers that have signed in.
type Sessions interface {
	// Session returns whose session a cookie's value is; false: nobody's. The peer's
	// NotAfter is when the session ends.
	Session(ctx context.Context, cookie string) (Peer, bool)
}

// Pages returns a handler that finds out who calls before next, pages for people, is
// called: by the certificate or else by the session's cookie. Strangers reach next too,
// since it is there that they sign in: Caller tells it who calls, and calls on a Local's
// client are refused as they are elsewhere.
func (g *Gate) Pages(sessions Sessions, next http.Handler) http.Handler {
	return g.behind(func(r *http.Request) verdict {
		v := g.httpVerdict(r)
		if v.Reason == "" || r.TLS == nil || sessions == nil {
			return v
		}
		cookie, err := r.Cookie(SessionCookie)
		if err != nil {
			return v
		}
		p, ok := sessions.Session(r.Context(), cookie.Value)
		if !ok {
			return v
		}
		v = verdict{Peer: p, Addr: r.RemoteAddr}
		knownIf(r, v)
		return v
	}, next)
}

// ErrStranger is wrapped by Caller's errors: nobody who may see a page.
var ErrStranger = errors.New("not signed in")

// Caller returns who calls a handler behind Pages, with the role that it has now. The
// error, which wraps ErrStranger, says why nobody does who may see anything.
func (g *Gate) Caller(ctx context.Context) (Peer, error) {
	v, ok := ctx.Value(verdictKey{}).(verdict)
	switch {
	case !ok:
		return Peer{}, ErrStranger
	case v.Peer.Dev:
		return v.Peer, nil
	case v.Reason != "":
		return Peer{}, stranger{v.Text}
	case g.cfg.Now().After(v.Peer.NotAfter):
		return Peer{}, stranger{"the certificate or session has ended"}
	}
	v.Peer.Role = g.roleNow(v.Peer)
	if !v.Peer.Role.covers(Viewer) {
		return Peer{}, stranger{v.Peer.Name.Short() + " may see nothing here"}
	}
	return v.Peer, nil
}

// stranger says why somebody is one.
type stranger struct{ why string }

// Error says why.
func (s stranger) Error() string { return s.why }

// Unwrap makes it an ErrStranger.
func (s stranger) Unwrap() error { return ErrStranger }

// Try runs check, which looks at a secret that a stranger shows on a page. A failure is
// counted, charged and reported like a join token that is no good; who fails too often
// waits, and check is not run.
func (g *Gate) Try(ctx context.Context, method string, check func() error) error {
	v, _ := ctx.Value(verdictKey{}).(verdict)
	r := Refusal{Reason: BadToken, Peer: v.Peer, Addr: v.Addr, Method: method}
	if g.limiter.spent(source(v.Peer, v.Addr), g.cfg.Now()) {
		r.Reason, r.Text = TooMany, fmt.Sprintf("refused too often; try again in %v", refusalEvery)
		return g.refuse(ctx, r)
	}
	err := check()
	var known interface{ GRPCStatus() *status.Status }
	if err == nil || errors.As(err, &known) { // the store's trouble is nobody's fault
		return err
	}
	r.Text = err.Error()
	return g.refuse(ctx, r)
}
