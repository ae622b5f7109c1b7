package web

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"log/slog"
	"net/http"
	"time"
	"unicode/utf8"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
	"github.com/catchment-bgp/catchment/central/identity"
	"github.com/catchment-bgp/catchment/community/registry"
)

// Config is what a Site is made of.
type Config struct {
	// Fleet is the API. Its client passes on who calls, as that of an identity.Local does.
	Fleet centralv1.FleetClient
	// Source says how the fleet stands, to draw once for all who look.
	Source Source
	// Caller returns who calls, or an error that wraps identity.ErrStranger.
	Caller func(context.Context) (identity.Peer, error)
	// Logins sign browsers in; nil: nobody needs to.
	Logins Logins
	// Elsewhere signs browsers in by another host; nil: none does.
	Elsewhere Elsewhere
	// Registry knows what communities mean; nil: nothing is documented.
	Registry *registry.Registry
	// Version is that of this program.
	Version string
	// Log gets a line for what goes wrong here; nil: none.
	Log *slog.Logger
}

// Source is the fleet as all viewers see it.
type Source interface {
	// Status is the fleet now.
	Status() *centralv1.FleetStatus
	// News returns a channel that is closed when the fleet has changed since.
	News() <-chan struct{}
}

// Logins keep the sessions of browsers.
type Logins interface {
	// SignIn takes a code for a session's cookie, once.
	SignIn(ctx context.Context, code string) (cookie string, until time.Time, err error)
	// SignOut ends a session.
	SignOut(ctx context.Context, cookie string) error
}

//go:embed templates static
var files embed.FS

// Site serves the pages. It is an http.Handler, to be put behind identity.Gate.Pages.
type Site struct {
	cfg   Config
	mux   *http.ServeMux
	pages map[string]*template.Template
	live  *live
	known *registry.Registry
	now   func() time.Time
}

// New returns a site; the errors are of its own files.
func New(cfg Config) (*Site, error) {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	s := &Site{cfg: cfg, mux: http.NewServeMux(), known: cfg.Registry, now: time.Now}
	if s.known == nil {
		s.known = registry.New() // what is well known
	}
	var err error
	if s.pages, err = parse(files); err != nil {
		return nil, fmt.Errorf("web: %w", err)
	}
	s.live = newLive(cfg.Source, func(f *centralv1.FleetStatus) ([]byte, error) {
		return s.draw("fleet", "live", fleetView(f, s.now()))
	})
	static, err := fs.Sub(files, "static")
	if err != nil {
		return nil, fmt.Errorf("web: %w", err)
	}
	s.mux.Handle("GET /static/", http.StripPrefix("/static/", assets(static)))
	s.routes()
	return s, nil
}

// routes has every address of the site. What is not public asks who calls.
func (s *Site) routes() {
	s.mux.HandleFunc("GET /{$}", s.seen(s.fleet))
	s.mux.HandleFunc("GET /part/fleet", s.seen(s.fleetPart))
	s.mux.HandleFunc("GET /events", s.seen(s.events))
	s.nodeRoutes()
	s.mux.HandleFunc("GET /login", s.login)
	s.mux.HandleFunc("POST /login", s.signIn)
	s.mux.HandleFunc("GET /login/oidc", s.leave)
	s.mux.HandleFunc("GET "+BackFromElsewhere, s.back)
	s.mux.HandleFunc("POST /logout", s.seen(s.form(s.signOut)))
	s.maintenanceRoutes()
	s.mux.HandleFunc("GET /communities", s.seen(s.communities))
	s.mux.HandleFunc("GET /communities/rpsl", s.seen(s.rpsl))
	s.mux.HandleFunc("POST /communities", s.seen(s.bounded(maxPasteForm, s.form(s.explain))))
	s.mux.HandleFunc("GET /audit", s.seen(s.audit))
	s.mux.HandleFunc("/", s.seen(func(w http.ResponseWriter, r *http.Request) {
		s.fail(w, r, http.StatusNotFound, "There is no page at "+r.URL.Path+".")
	}))
}

// ServeHTTP answers a request. No answer may be kept by others, shown within another
// site's page, or run a script that is not a file of ours.
func (s *Site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "+
		"form-action 'self'; frame-ancestors 'none'; base-uri 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	if r.TLS != nil {
		h.Set("Strict-Transport-Security", "max-age=31536000")
	}
	if !utf8.ValidString(r.URL.Path) || !utf8Only(r.URL.Query()) {
		http.Error(w, notText, http.StatusBadRequest)
		return
	}
	s.mux.ServeHTTP(w, r)
}

// Run keeps the pages of viewers up to date until ctx ends; then their streams end.
func (s *Site) Run(ctx context.Context) { s.live.run(ctx) }

type peerKey struct{}

// peerOf is who asks, within what seen has let in.
func peerOf(r *http.Request) identity.Peer {
	p, _ := r.Context().Value(peerKey{}).(identity.Peer)
	return p
}

// seen lets only those in who may see the fleet. Others are sent to sign in.
func (s *Site) seen(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		p, err := s.cfg.Caller(r.Context())
		if errors.Is(err, identity.ErrStranger) {
			s.stranger(w, r)
			return
		}
		if err != nil {
			s.fail(w, r, http.StatusForbidden, err.Error())
			return
		}
		next(w, r.WithContext(context.WithValue(r.Context(), peerKey{}, p)))
	}
}
