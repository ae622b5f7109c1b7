package web

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	"google.golang.org/grpc/status"

	"github.com/catchment-bgp/catchment/central/identity"
)

// loginView is what the page to sign in shows.
type loginView struct {
	Then  string // where to go afterwards, a path of ours
	Fault string
	// Elsewhere is the host that signs people in besides; empty: none.
	Elsewhere string
}

// showLogin shows the page to sign in.
func (s *Site) showLogin(w http.ResponseWriter, r *http.Request, code int, v loginView) {
	if s.cfg.Elsewhere != nil {
		v.Elsewhere = s.cfg.Elsewhere.Host()
	}
	s.show(w, r, code, "login", layout{Title: "Sign in", Body: v})
}

// notSignedIn shows it again, with what was wrong.
func (s *Site) notSignedIn(w http.ResponseWriter, r *http.Request, then string, err error) {
	st := status.Convert(err)
	code := httpCode(st.Code())
	if code == http.StatusInternalServerError {
		code = http.StatusForbidden
	}
	s.showLogin(w, r, code, loginView{Then: then, Fault: st.Message()})
}

// signedIn gives the browser its session.
func signedIn(w http.ResponseWriter, r *http.Request, cookie string, until time.Time, then string) {
	http.SetCookie(w, &http.Cookie{Name: identity.SessionCookie, Value: cookie, Path: "/", Expires: until, Secure: true, HttpOnly: true,
		SameSite: http.SameSiteLaxMode})
	http.Redirect(w, r, then, http.StatusSeeOther)
}

// stranger sends who may see nothing to sign in; a script is told so.
func (s *Site) stranger(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet || strings.HasPrefix(r.URL.Path, "/part/") || r.URL.Path == "/events" {
		http.Error(w, "sign in first: /login", http.StatusUnauthorized)
		return
	}
	to := "/login"
	if then := r.URL.RequestURI(); then != "/" {
		to += "?then=" + url.QueryEscape(then)
	}
	http.Redirect(w, r, to, http.StatusSeeOther)
}

func (s *Site) login(w http.ResponseWriter, r *http.Request) {
	then := ours(r.URL.Query().Get("then"))
	if _, err := s.cfg.Caller(r.Context()); err == nil {
		http.Redirect(w, r, then, http.StatusSeeOther)
		return
	}
	s.showLogin(w, r, http.StatusOK, loginView{Then: then})
}

// ours is a path of this site: what an address asks to go to is not believed.
func ours(then string) string {
	u, err := url.Parse(then)
	if err != nil || u.Scheme != "" || u.Host != "" || !strings.HasPrefix(then, "/") || strings.HasPrefix(then, "//") || strings.ContainsAny(then, "\\\r\n\t") {
		return "/"
	}
	return then
}

func (s *Site) signIn(w http.ResponseWriter, r *http.Request) {
	s.form(func(w http.ResponseWriter, r *http.Request) {
		then := ours(r.PostForm.Get("then"))
		if s.cfg.Logins == nil {
			http.Redirect(w, r, then, http.StatusSeeOther)
			return
		}
		cookie, until, err := s.cfg.Logins.SignIn(r.Context(), r.PostForm.Get("code"))
		if err != nil {
			s.notSignedIn(w, r, then, err)
			return
		}
		signedIn(w, r, cookie, until, then)
	})(w, r)
}

func (s *Site) signOut(w http.ResponseWriter, r *http.Request) {
	if c, err := r.Cookie(identity.SessionCookie); err == nil && s.cfg.Logins != nil {
		if err := s.cfg.Logins.SignOut(r.Context(), c.Value); err != nil {
			s.failed(w, r, err)
			return
		}
	}
	http.SetCookie(w, &http.Cookie{Name: identity.SessionCookie, Path: "/", MaxAge: -1, Secure: true, HttpOnly: true, SameSite: http.SameSiteLaxMode})
	http.Redirect(w, r, "/login", http.StatusSeeOther)
}
