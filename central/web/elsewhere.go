package web

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// BackFromElsewhere is the path that another host sends browsers back to.
const BackFromElsewhere = "/login/oidc/back"

const (
	// ticketCookie is what a browser carries while it is elsewhere, for ticketLife.
	ticketCookie = "__Host-catchment-oidc"
	ticketLife   = 10 * time.Minute
)

// Elsewhere signs people in by another host, such as an OpenID provider.
type Elsewhere interface {
	// Host is its name, for people.
	Host() string
	// Begin returns where to send the browser, and what it has to bring back.
	Begin(ctx context.Context) (address, ticket string, err error)
	// End takes the ticket and what the other host answers for a session's cookie.
	End(ctx context.Context, ticket string, answer url.Values) (cookie string, until time.Time, err error)
}

// leave sends the browser to sign in elsewhere. A link leads here, and no form: the policy
// of the pages (form-action) lets forms lead to this host alone.
func (s *Site) leave(w http.ResponseWriter, r *http.Request) {
	then := ours(r.URL.Query().Get("then"))
	if s.cfg.Elsewhere == nil || r.TLS == nil {
		s.fail(w, r, http.StatusNotFound, "This centre signs nobody in by another host.")
		return
	}
	address, ticket, err := s.cfg.Elsewhere.Begin(r.Context())
	if err != nil {
		s.notSignedIn(w, r, then, err)
		return
	}
	// Lax: the other host's answer is a link to here.
	http.SetCookie(w, &http.Cookie{Name: ticketCookie, Value: ticket + "." + url.QueryEscape(then), Path: "/", MaxAge: int(ticketLife.Seconds()),
		Secure: true, HttpOnly: true, SameSite: http.SameSiteLaxMode})
	http.Redirect(w, r, address, http.StatusSeeOther)
}

// back takes the browser from there. A ticket is good for one answer.
func (s *Site) back(w http.ResponseWriter, r *http.Request) {
	if s.cfg.Elsewhere == nil || r.TLS == nil {
		s.fail(w, r, http.StatusNotFound, "This centre signs nobody in by another host.")
		return
	}
	ticket, then := "", "/"
	if c, err := r.Cookie(ticketCookie); err == nil {
		if at := strings.LastIndexByte(c.Value, '.'); at >= 0 {
			text, _ := url.QueryUnescape(c.Value[at+1:]) // ours makes "/" of what is none
			ticket, then = c.Value[:at], ours(text)
		}
	}
	http.SetCookie(w, &http.Cookie{Name: ticketCookie, Path: "/", MaxAge: -1, Secure: true, HttpOnly: true, SameSite: http.SameSiteLaxMode})
	cookie, until, err := s.cfg.Elsewhere.End(r.Context(), ticket, r.URL.Query())
	if err != nil {
		s.notSignedIn(w, r, then, err)
		return
	}
	signedIn(w, r, cookie, until, then)
}
