package web

import (
	"bytes"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"path"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/catchment-bgp/catchment/central/identity"
)

// layout is what every page has around its own content.
type layout struct {
	Title   string
	Section string // of the navigation
	Who     identity.Peer
	Token   string // for forms
	Version string
	// Part is where the content of the page comes from when the fleet has changed; empty:
	// it does not change.
	Part string
	// Writing: there is a form on the page, which loading it anew would empty.
	Writing bool
	// Live is that content, drawn; nil: Body stands for all.
	Live template.HTML
	Body any
}

// SignedIn reports whether the navigation is of use.
func (l layout) SignedIn() bool { return l.Who.Dev || l.Who.Name != identity.Name{} }

// May reports whether who looks may change something.
func (l layout) May() bool { return l.Who.Role == identity.Operator || l.Who.Role == identity.Admin }

// CanLeave reports whether there is a session to end.
func (l layout) CanLeave() bool { return l.SignedIn() && !l.Who.Dev && l.Who.Serial == "" }

// parse reads the templates: each page with the layout and the shared pieces.
func parse(files fs.FS) (map[string]*template.Template, error) {
	names, err := fs.Glob(files, "templates/*.html")
	if err != nil {
		return nil, err
	}
	const shared = "templates/layout.html"
	pages := map[string]*template.Template{}
	for _, name := range names {
		if name == shared {
			continue
		}
		t, err := template.New("").Funcs(funcs).ParseFS(files, shared, name)
		if err != nil {
			return nil, err
		}
		pages[strings.TrimSuffix(path.Base(name), ".html")] = t
	}
	return pages, nil
}

// draw executes one template of a page.
func (s *Site) draw(page, name string, data any) ([]byte, error) {
	t, ok := s.pages[page]
	if !ok {
		return nil, fmt.Errorf("web: there is no page %q", page)
	}
	var b bytes.Buffer
	if err := t.ExecuteTemplate(&b, name, data); err != nil {
		return nil, fmt.Errorf("web: %w", err)
	}
	return b.Bytes(), nil
}

// show answers with a whole page.
func (s *Site) show(w http.ResponseWriter, r *http.Request, code int, page string, l layout) {
	l.Who, l.Version = peerOf(r), s.cfg.Version
	if l.Token == "" {
		l.Token = s.token(w, r)
	}
	text, err := s.draw(page, "layout", l)
	if err != nil {
		s.cfg.Log.Error("a page cannot be drawn", "page", page, "error", err)
		http.Error(w, "this page cannot be drawn; the centre's log says why", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(code)
	_, _ = w.Write(text) // who asked is gone
}

// fail answers with a page that says what is wrong.
func (s *Site) fail(w http.ResponseWriter, r *http.Request, code int, text string) {
	s.show(w, r, code, "error", layout{Title: http.StatusText(code), Body: text})
}

// failed answers with what the API said instead of an answer.
func (s *Site) failed(w http.ResponseWriter, r *http.Request, err error) {
	st := status.Convert(err)
	if st.Code() == codes.Unauthenticated {
		s.stranger(w, r)
		return
	}
	s.fail(w, r, httpCode(st.Code()), st.Message())
}

// httpCode is the HTTP status for an API's code.
func httpCode(c codes.Code) int {
	switch c {
	case codes.InvalidArgument, codes.OutOfRange:
		return http.StatusUnprocessableEntity
	case codes.NotFound:
		return http.StatusNotFound
	case codes.PermissionDenied:
		return http.StatusForbidden
	case codes.FailedPrecondition, codes.Aborted:
		return http.StatusConflict
	case codes.ResourceExhausted:
		return http.StatusTooManyRequests
	case codes.Unavailable, codes.DeadlineExceeded:
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError
}

// assets serves our own style and script.
func assets(static fs.FS) http.Handler {
	kinds := map[string]string{".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, err := fs.ReadFile(static, path.Clean("/" + r.URL.Path)[1:])
		if err != nil {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Cache-Control", "no-cache")
		if has(w, r, tagOf(text)) {
			return
		}
		w.Header().Set("Content-Type", kinds[path.Ext(r.URL.Path)]+"; charset=utf-8")
		_, _ = w.Write(text)
	})
}
