package central

import (
	"crypto/tls"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"

	"github.com/catchment-bgp/catchment/central/identity"
)

// surfer is a browser as far as these tests need one: it keeps cookies and follows nothing.
type surfer struct {
	p    *paged
	http *http.Client
	base string
}

// surf starts one that shows a certificate; nil shows none.
func (p *paged) surf(files *identity.Files) *surfer {
	p.t.Helper()
	cfg := &tls.Config{InsecureSkipVerify: true}
	if files != nil {
		var err error
		if cfg, err = files.ClientTLS(); err != nil {
			p.t.Fatal(err)
		}
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		p.t.Fatal(err)
	}
	transport := &http.Transport{TLSClientConfig: cfg, ForceAttemptHTTP2: true}
	p.t.Cleanup(transport.CloseIdleConnections)
	return &surfer{p: p, base: "https://" + p.web, http: &http.Client{Transport: transport, Jar: jar, Timeout: patience,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

// answered is what a request came to.
type answered struct {
	*http.Response
	text string
}

// at is where an answer leads.
func (a answered) at() string { return a.Header.Get("Location") }

func (s *surfer) do(r *http.Request) answered {
	s.p.t.Helper()
	resp, err := s.http.Do(r)
	if err != nil {
		s.p.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		s.p.t.Fatal(err)
	}
	return answered{resp, string(text)}
}

func (s *surfer) get(path string) answered {
	s.p.t.Helper()
	r, err := http.NewRequestWithContext(limited(s.p.t), http.MethodGet, s.base+path, nil)
	if err != nil {
		s.p.t.Fatal(err)
	}
	return s.do(r)
}

var tokenInForm = regexp.MustCompile(`name="token" value="([^"]+)"`)

// post sends a form with the token that a page has.
func (s *surfer) post(from, path string, form url.Values) answered {
	s.p.t.Helper()
	if m := tokenInForm.FindStringSubmatch(s.get(from).text); m != nil {
		form.Set("token", m[1])
	}
	r, err := http.NewRequestWithContext(limited(s.p.t), http.MethodPost, s.base+path, strings.NewReader(form.Encode()))
	if err != nil {
		s.p.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return s.do(r)
}

// code gets one by a certificate.
func (p *paged) code(name string, role identity.Role) string {
	p.t.Helper()
	browser := p.surf(p.files(p.t, identity.Order{Kind: identity.NOC, Name: name, Role: role}))
	r, err := http.NewRequestWithContext(limited(p.t), http.MethodPost, browser.base+"/v1/web-login", strings.NewReader("{}"))
	if err != nil {
		p.t.Fatal(err)
	}
	a := browser.do(r)
	m := regexp.MustCompile(`"code":"([\w-]+)"`).FindStringSubmatch(a.text)
	if a.StatusCode != http.StatusOK || m == nil {
		p.t.Fatalf("a code for %s: %s %s", name, a.Status, a.text)
	}
	return m[1]
}

// signIn has a browser without a certificate signed in by a code.
func (p *paged) signIn(name string, role identity.Role) *surfer {
	p.t.Helper()
	s := p.surf(nil)
	if a := s.post("/login", "/login", url.Values{"code": {p.code(name, role)}, "then": {"/"}}); a.StatusCode != http.StatusSeeOther || a.at() != "/" {
		p.t.Fatalf("signing in: %s %s", a.Status, a.text)
	}
	return s
}
