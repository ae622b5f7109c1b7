package central

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/catchment-bgp/catchment/central/identity"
	"github.com/catchment-bgp/catchment/central/idp"
	"github.com/catchment-bgp/catchment/central/idp/idptest"
	"github.com/catchment-bgp/catchment/central/store"
	"github.com/catchment-bgp/catchment/policy/fleet"
)

// paged is a centre over TLS with a page, and roles that the test changes.
type paged struct {
	*served
	t     *testing.T
	roles sync.Map // KIND/NAME -> identity.Role
	idp   *idptest.Provider
}

// page starts one; with a provider if asked.
func page(t *testing.T, provider bool) *paged {
	t.Helper()
	p := &paged{t: t, served: &served{dir: t.TempDir()}}
	var err error
	if p.ca, err = identity.Init(filepath.Join(p.dir, "ca"), "example.net", time.Now()); err != nil {
		t.Fatal(err)
	}
	id := Identity{Domain: "example.net", CA: p.ca, Files: p.files(t, identity.Order{Kind: identity.Central, Name: "c1", Hosts: []string{"127.0.0.1"}}),
		Roles: func(n identity.Name) (identity.Role, bool) {
			role, set := p.roles.Load(n.Short())
			if !set {
				return "", false
			}
			return role.(identity.Role), true
		}}
	web, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p.web = web.Addr().String()
	if provider {
		p.idp = idptest.New(t)
		p.idp.Public = true
		id.Provider = idp.New(idp.Config{Issuer: p.idp.URL, ClientID: idptest.ClientID, Redirect: "https://" + p.web + idptest.Back, Claim: "groups",
			Roles: map[string]identity.Role{"noc": identity.Operator}, NameClaim: "preferred_username", Domain: "example.net"})
	}
	memory := store.NewMemory()
	p.f = NewFleet(memory, Settings{ASN: 57629, Services: map[string]fleet.Limits{video: {MinAnnouncing: 1}}})
	server, err := NewServer(p.f, id)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ran, answered := make(chan error, 1), make(chan error, 1)
	go func() { ran <- p.f.Run(ctx) }()
	<-p.f.Ready()
	go func() { answered <- server.Serve(ctx, listener, web) }()
	t.Cleanup(func() {
		cancel()
		if err := <-answered; err != nil {
			t.Errorf("serving: %v", err)
		}
		if err := <-ran; err != nil {
			t.Errorf("running: %v", err)
		}
		_ = memory.Close()
	})
	return p
}

func TestABrowserSignsInByACodeAndOutAgain(t *testing.T) {
	p := page(t, false)
	s := p.surf(nil)
	if a := s.get("/?x=1"); a.StatusCode != http.StatusSeeOther || a.at() != "/login?then=%2F%3Fx%3D1" {
		t.Errorf("a stranger: %s to %q", a.Status, a.at())
	}
	if a := s.get("/part/fleet"); a.StatusCode != http.StatusUnauthorized {
		t.Errorf("a stranger's script: %s", a.Status)
	}
	if a := s.get("/login"); a.StatusCode != http.StatusOK || strings.Contains(a.text, "<nav") || strings.Contains(a.text, "Sign out") || !strings.Contains(a.text, "login.js") {
		t.Errorf("the page to sign in: %s %s", a.Status, a.text)
	}
	code := p.code("olga", identity.Operator)
	if a := s.post("/static/icon.svg", "/login", url.Values{"code": {code}}); a.StatusCode != http.StatusForbidden || !strings.Contains(a.text, "not of this page") {
		t.Errorf("without the form's token: %s", a.Status)
	}
	a := s.post("/login", "/login", url.Values{"code": {code}, "then": {"/?x=1"}})
	if a.StatusCode != http.StatusSeeOther || a.at() != "/?x=1" {
		t.Fatalf("with a code: %s to %q, %s", a.Status, a.at(), a.text)
	}
	cookie := a.Header.Get("Set-Cookie")
	for _, want := range []string{identity.SessionCookie + "=", "; Path=/;", "; HttpOnly", "; Secure", "; SameSite=Lax", "; Expires="} {
		if !strings.Contains(cookie, want) {
			t.Errorf("the cookie %q lacks %q", cookie, want)
		}
	}
	if strings.Contains(cookie, "Domain") || strings.Contains(cookie, code) {
		t.Errorf("the cookie %q", cookie)
	}
	if a := s.get("/"); a.StatusCode != http.StatusOK || !strings.Contains(a.text, "noc/olga") || !strings.Contains(a.text, "(operator)") || a.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("signed in: %s %s", a.Status, a.text)
	}
	if a := s.get("/login?then=/audit"); a.StatusCode != http.StatusSeeOther || a.at() != "/audit" {
		t.Errorf("signing in again: %s to %q", a.Status, a.at())
	}
	if a := s.post("/static/icon.svg", "/logout", url.Values{}); a.StatusCode != http.StatusForbidden {
		t.Errorf("signing out without the token: %s", a.Status)
	}
	if a := s.post("/", "/logout", url.Values{}); a.StatusCode != http.StatusSeeOther || a.at() != "/login" || !strings.Contains(a.Header.Get("Set-Cookie"), "Max-Age=0") {
		t.Errorf("signing out: %s to %q", a.Status, a.at())
	}
	if a := s.get("/"); a.at() != "/login" {
		t.Errorf("signed out: %s to %q", a.Status, a.at())
	}
}

func TestTheFormsCookieIsOfThisHostAlone(t *testing.T) {
	p := page(t, false)
	cookie := p.surf(nil).get("/login").Header.Get("Set-Cookie")
	for _, want := range []string{"__Host-catchment-form=", "; Path=/", "; HttpOnly", "; Secure", "; SameSite=Strict"} {
		if !strings.Contains(cookie, want) {
			t.Errorf("the cookie %q lacks %q", cookie, want)
		}
	}
}

func TestACertificateNeedsNoCode(t *testing.T) {
	p := page(t, false)
	s := p.surf(p.files(t, identity.Order{Kind: identity.NOC, Name: "vera"}))
	if a := s.get("/"); a.StatusCode != http.StatusOK || !strings.Contains(a.text, "noc/vera") || strings.Contains(a.text, "Sign out") {
		t.Errorf("%s %s", a.Status, a.text)
	}
	edge := p.surf(p.files(t, identity.Order{Kind: identity.Edge, Name: "msk1"}))
	if a := edge.get("/"); a.at() != "/login" {
		t.Errorf("an edge: %s to %q", a.Status, a.at())
	}
}

// TestARoleThatIsTakenAwayIsGoneAtOnce, for sessions that stand, too.
func TestARoleThatIsTakenAwayIsGoneAtOnce(t *testing.T) {
	p := page(t, false)
	s := p.signIn("olga", identity.Operator)
	p.roles.Store("noc/olga", identity.Viewer)
	if a := s.get("/"); a.StatusCode != http.StatusOK || !strings.Contains(a.text, "(viewer)") {
		t.Errorf("a viewer now: %s", a.Status)
	}
	p.roles.Store("noc/olga", identity.None)
	if a := s.get("/"); a.StatusCode != http.StatusSeeOther {
		t.Errorf("nobody now: %s", a.Status)
	}
	if a := s.get("/part/fleet"); a.StatusCode != http.StatusUnauthorized {
		t.Errorf("nobody's script: %s", a.Status)
	}
	p.roles.Delete("noc/olga")
	if a := s.get("/"); a.StatusCode != http.StatusOK || !strings.Contains(a.text, "(operator)") {
		t.Errorf("an operator again: %s", a.Status)
	}
}

// TestASessionIsNoKeyToTheAPI: cookies go along with what other sites have a browser send.
func TestASessionIsNoKeyToTheAPI(t *testing.T) {
	p := page(t, false)
	s := p.signIn("anna", identity.Admin)
	if a := s.get("/v1/nodes"); a.StatusCode != http.StatusUnauthorized {
		t.Errorf("%s %s", a.Status, a.text)
	}
}

// TestPagesComeOverHTTP2: of HTTP/1.1 a browser opens six connections to a host, and each
// page that is live holds one.
func TestPagesComeOverHTTP2(t *testing.T) {
	p := page(t, false)
	s := p.signIn("vera", identity.Viewer)
	if a := s.get("/"); a.Proto != "HTTP/2.0" {
		t.Errorf("it comes over %s", a.Proto)
	}
	ctx, cancel := context.WithCancel(limited(t))
	defer cancel()
	for i := range 20 {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.base+"/events", nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := s.http.Do(r)
		if err != nil {
			t.Fatalf("stream %d: %v", i, err)
		}
		defer resp.Body.Close()
		first := make([]byte, len("retry: 2000\nevent: fleet\n"))
		if _, err := io.ReadFull(resp.Body, first); err != nil || resp.Proto != "HTTP/2.0" || !strings.Contains(string(first), "event: fleet") {
			t.Fatalf("stream %d: %s %q %v", i, resp.Proto, first, err)
		}
	}
	if a := s.get("/part/fleet"); a.StatusCode != http.StatusOK {
		t.Errorf("beside 20 streams: %s", a.Status)
	}
}

func TestWhoGuessesCodesHasToWait(t *testing.T) {
	p := page(t, false)
	good := p.code("vera", identity.Viewer)
	s := p.surf(nil)
	var last answered
	for i := range 30 {
		last = s.post("/login", "/login", url.Values{"code": {fmt.Sprint("guess", i)}})
		if last.StatusCode == http.StatusTooManyRequests {
			break
		}
		if last.StatusCode != http.StatusForbidden || !strings.Contains(last.text, "not known") {
			t.Fatalf("guess %d: %s %s", i, last.Status, last.text)
		}
	}
	if last.StatusCode != http.StatusTooManyRequests || !strings.Contains(last.text, "try again in") {
		t.Errorf("the last guess: %s %s", last.Status, last.text)
	}
	if a := s.post("/login", "/login", url.Values{"code": {good}}); a.StatusCode != http.StatusTooManyRequests {
		t.Errorf("a good code after that: %s", a.Status)
	}
}

func TestAProviderSignsIn(t *testing.T) {
	p := page(t, true)
	s := p.surf(nil)
	if a := s.get("/login?then=/audit"); !strings.Contains(a.text, `href="/login/oidc?then=%2faudit"`) {
		t.Errorf("the page to sign in has no link: %s", a.text)
	}
	if p.idp.Asked() != 0 {
		t.Errorf("the provider was asked %d times before anybody has signed in", p.idp.Asked())
	}
	a := s.get("/login/oidc?then=/audit")
	cookie := a.Header.Get("Set-Cookie")
	if a.StatusCode != http.StatusSeeOther || !strings.HasPrefix(a.at(), p.idp.URL+"/auth?") {
		t.Fatalf("%s to %q: %s", a.Status, a.at(), a.text)
	}
	for _, want := range []string{"__Host-catchment-oidc=", "; Path=/;", "; Max-Age=600", "; HttpOnly", "; Secure", "; SameSite=Lax"} {
		if !strings.Contains(cookie, want) {
			t.Errorf("the cookie %q lacks %q", cookie, want)
		}
	}
	back := idptest.Back + "?" + p.idp.Visit(a.at()).Encode()
	if other := p.surf(nil).get(back); other.StatusCode == http.StatusSeeOther || !strings.Contains(other.text, "has not begun to sign in here") {
		t.Errorf("in another browser: %s %s", other.Status, other.text)
	}
	if a := s.get(back); a.StatusCode != http.StatusSeeOther || a.at() != "/audit" {
		t.Fatalf("back: %s to %q, %s", a.Status, a.at(), a.text)
	}
	if a := s.get("/"); a.StatusCode != http.StatusOK || !strings.Contains(a.text, "noc/anna") || !strings.Contains(a.text, "(operator)") {
		t.Errorf("signed in: %s %s", a.Status, a.text)
	}
	if a := s.get(back); a.StatusCode == http.StatusSeeOther {
		t.Errorf("the answer a second time: %s", a.Status)
	}
	p.roles.Store("noc/anna", identity.None)
	if a := s.get("/"); a.StatusCode != http.StatusSeeOther {
		t.Errorf("with the role taken away: %s", a.Status)
	}
}

func TestAProviderThatRefusesOrIsAwayStopsNobodyElse(t *testing.T) {
	p := page(t, true)
	p.idp.Claims = map[string]any{"groups": []string{"sales"}}
	s := p.surf(nil)
	back := func() answered {
		return s.get(idptest.Back + "?" + p.idp.Visit(s.get("/login/oidc").at()).Encode())
	}
	if a := back(); a.StatusCode != http.StatusForbidden || !strings.Contains(a.text, "noc/anna has signed in") || !strings.Contains(a.text, "has a role here") {
		t.Errorf("without a group: %s %s", a.Status, a.text)
	}
	p.idp.Claims = map[string]any{"preferred_username": "<b>Anna</b>"}
	if a := back(); a.StatusCode != http.StatusForbidden || !strings.Contains(a.text, "is no name here") || strings.Contains(a.text, "<b>") {
		t.Errorf("with no name: %s %s", a.Status, a.text)
	}
	if a := s.get("/"); a.at() != "/login" {
		t.Errorf("who was refused sees %s", a.Status)
	}
	// It has the provider's answer still, so that only the end of the way is closed.
	begun := s.get("/login/oidc").at()
	denied := p.surf(p.files(t, identity.Order{Kind: identity.NOC, Name: "otto"})).get("/v1/audit").text
	if !strings.Contains(denied, "noc/anna has signed in at") || strings.Count(denied, `"outcome":"denied"`) != 2 {
		t.Errorf("the audit log has %s", denied)
	}
	p.idp.Down = true
	if a := s.get(idptest.Back + "?" + p.idp.Visit(begun).Encode()); a.StatusCode != http.StatusServiceUnavailable || !strings.Contains(a.text, "the provider cannot be asked") || !strings.Contains(a.text, "catchment web login") {
		t.Errorf("while it is away: %s %s", a.Status, a.text)
	}
	if a := p.signIn("vera", identity.Viewer).get("/"); a.StatusCode != http.StatusOK {
		t.Errorf("by a code meanwhile: %s", a.Status)
	}
}
