package idp

import (
	"cmp"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/catchment-bgp/catchment/central/identity"
	"github.com/catchment-bgp/catchment/central/idp/idptest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const redirect = "https://noc.example.net" + idptest.Back

// fake is a provider, and the test that it is for.
type fake struct {
	*idptest.Provider
	t *testing.T
}

func newFake(t *testing.T) *fake { return &fake{idptest.New(t), t} }

func (f *fake) provider(change func(*Config)) *Provider {
	f.t.Helper()
	cfg := Config{Issuer: f.URL, ClientID: idptest.ClientID, SecretFile: filepath.Join(f.t.TempDir(), "secret"), Redirect: redirect, Claim: "groups",
		Roles: map[string]identity.Role{"read": identity.Viewer, "noc": identity.Operator, "root": identity.Admin}, NameClaim: "preferred_username", Domain: "example.net"}
	if err := os.WriteFile(cfg.SecretFile, []byte(idptest.Secret+"\n"), 0o600); err != nil {
		f.t.Fatal(err)
	}
	if change != nil {
		change(&cfg)
	}
	return New(cfg)
}

// signIn goes the whole way.
func (f *fake) signIn(p *Provider, change func(t *Ticket, answer url.Values)) (Person, error) {
	f.t.Helper()
	address, ticket, err := p.Begin(f.t.Context())
	if err != nil {
		return Person{}, err
	}
	answer := f.Visit(address)
	if change != nil {
		change(&ticket, answer)
	}
	return p.End(f.t.Context(), ticket, answer)
}

func TestAGroupBecomesARoleAndTheClaimAName(t *testing.T) {
	f := newFake(t)
	for _, tt := range []struct {
		claims map[string]any
		change func(*Config)
		name   string
		role   identity.Role
	}{
		{nil, nil, "anna", identity.Operator},
		{map[string]any{"groups": []string{"read", "root", "noc"}}, nil, "anna", identity.Admin},
		{map[string]any{"groups": "read"}, nil, "anna", identity.Viewer},
		{map[string]any{"groups": []any{1, nil, "read"}}, nil, "anna", identity.Viewer},
		{map[string]any{"roles": "read", "groups": "root"}, func(c *Config) { c.Claim = "roles" }, "anna", identity.Viewer},
		{map[string]any{"email": "bob.b@example.net", "email_verified": true}, func(c *Config) { c.NameClaim, c.MailDomain = "email", "example.net" }, "bob.b", identity.Operator},
		{map[string]any{"aud": []string{"catchment", "other"}, "azp": "catchment"}, nil, "anna", identity.Operator},
		{nil, func(c *Config) { c.SecretFile, f.Public = "", true }, "anna", identity.Operator},
	} {
		f.Claims, f.Public = tt.claims, false
		got, err := f.signIn(f.provider(tt.change), nil)
		if want := (Person{identity.Name{Domain: "example.net", Kind: identity.NOC, Name: tt.name}, tt.role}); err != nil || got != want {
			t.Errorf("%v: %+v, %v", tt.claims, got, err)
		}
	}
}

// TestWhoIsNotSurelyThePersonIsRefused has one thing wrong in each case.
func TestWhoIsNotSurelyThePersonIsRefused(t *testing.T) {
	f := newFake(t)
	other, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		claims map[string]any
		config func(*Config)
		change func(t *Ticket, answer url.Values)
		key    *rsa.PrivateKey
		want   string
	}{
		"another state":          {change: func(_ *Ticket, a url.Values) { a.Set("state", secret()) }, want: "to no question of this browser"},
		"no state":               {change: func(k *Ticket, a url.Values) { k.State = ""; a.Del("state") }, want: "to no question of this browser"},
		"another nonce":          {change: func(k *Ticket, _ url.Values) { k.Nonce = secret() }, want: "another sign-in (nonce)"},
		"no nonce":               {claims: map[string]any{"nonce": nil}, want: "another sign-in (nonce)"},
		"another verifier":       {change: func(k *Ticket, _ url.Values) { k.Verifier = secret() }, want: "does not take the code"},
		"a made-up code":         {change: func(_ *Ticket, a url.Values) { a.Set("code", "x") }, want: "does not take the code"},
		"another issuer":         {change: func(_ *Ticket, a url.Values) { a.Set("iss", "https://evil.example") }, want: "the answer is of"},
		"refused there":          {change: func(_ *Ticket, a url.Values) { a.Set("error", "access_denied") }, want: `says "access_denied"`},
		"expired":                {claims: map[string]any{"exp": time.Now().Add(-time.Minute).Unix()}, want: "token is expired"},
		"another audience":       {claims: map[string]any{"aud": "shop"}, want: "expected audience"},
		"given to another":       {claims: map[string]any{"aud": []string{"catchment", "shop"}, "azp": "shop"}, want: "given to \"shop\""},
		"of another provider":    {claims: map[string]any{"iss": "https://evil.example"}, want: "different provider"},
		"signed by another":      {key: other, want: "failed to verify"},
		"no group":               {claims: map[string]any{"groups": nil}, want: "noc/anna has signed in"},
		"an unknown group":       {claims: map[string]any{"groups": []string{"sales", "NOC", "noc "}}, want: "no value of the claim groups has a role"},
		"groups of another kind": {claims: map[string]any{"groups": map[string]any{"noc": true}}, want: "has a role here"},
		"no name":                {claims: map[string]any{"preferred_username": nil}, want: "no claim preferred_username"},
		"a name with a slash":    {claims: map[string]any{"preferred_username": "../central/c1"}, want: "is no name"},
		"a name in capitals":     {claims: map[string]any{"preferred_username": "Anna"}, want: "is no name"},
		"a mail address":         {claims: map[string]any{"preferred_username": "anna@example.net"}, want: "is no name"},
		"an empty name":          {claims: map[string]any{"preferred_username": ""}, want: "is no name"},
		"another mail domain":    {claims: map[string]any{"preferred_username": "anna@evil.example"}, config: func(c *Config) { c.MailDomain = "example.net" }, want: "not of the domain"},
		"a mail not verified":    {claims: map[string]any{"email": "anna@example.net"}, config: func(c *Config) { c.NameClaim, c.MailDomain = "email", "example.net" }, want: "has not verified"},
	} {
		f.Claims = tt.claims
		f.Sign = cmp.Or(tt.key, must(idptest.Key()))
		got, err := f.signIn(f.provider(tt.config), tt.change)
		if err == nil || got != (Person{}) || !strings.Contains(err.Error(), tt.want) || errors.Is(err, ErrAway) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

func must[T any](v T, _ error) T { return v }

func TestACodeIsGoodOnce(t *testing.T) {
	f := newFake(t)
	p := f.provider(nil)
	address, ticket, err := p.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	answer := f.Visit(address)
	if _, err := p.End(t.Context(), ticket, answer); err != nil {
		t.Fatal(err)
	}
	if got, err := p.End(t.Context(), ticket, answer); err == nil || !strings.Contains(err.Error(), "does not take the code") {
		t.Errorf("a second time: %+v, %v", got, err)
	}
}

// TestAProviderThatIsAwayIsAskedAgain, but not at every click, and it is nobody's fault.
func TestAProviderThatIsAwayIsAskedAgain(t *testing.T) {
	f := newFake(t)
	now := time.Now()
	f.Down = true
	p := f.provider(func(c *Config) { c.Now = func() time.Time { return now } })
	if f.Asked() != 0 {
		t.Errorf("it was asked %d times before anybody signed in", f.Asked())
	}
	for range 5 {
		if _, _, err := p.Begin(t.Context()); !errors.Is(err, ErrAway) || !strings.Contains(err.Error(), "closed for today") {
			t.Errorf("%v", err)
		}
	}
	if f.Asked() != 1 {
		t.Errorf("it was asked %d times at once", f.Asked())
	}
	f.Down = false
	now = now.Add(askAgain)
	if got, err := f.signIn(p, nil); err != nil || got.Name.Name != "anna" {
		t.Errorf("after it came back: %+v, %v", got, err)
	}
	for what, token := range map[string]func(w http.ResponseWriter){
		"an error": func(w http.ResponseWriter) { http.Error(w, "no", http.StatusBadGateway) },
		"no ID token": func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`{"access_token":"a"}`))
		},
		"endless": func(w http.ResponseWriter) {
			for range 3 {
				_, _ = w.Write(make([]byte, 1<<20))
			}
		},
	} {
		f.Token = token
		if _, err := f.signIn(p, nil); !errors.Is(err, ErrAway) {
			t.Errorf("%s: %v", what, err)
		}
	}
	f.Token = nil
	for what, change := range map[string]func(*Config){
		"a wrong secret": func(c *Config) { _ = os.WriteFile(c.SecretFile, []byte("other"), 0o600) },
		"no secret file": func(c *Config) { c.SecretFile += "-none" },
		"a large secret": func(c *Config) { _ = os.WriteFile(c.SecretFile, make([]byte, longestSecret+1), 0o600) },
		"another issuer": func(c *Config) { c.Issuer += "/" },
	} {
		if _, err := f.signIn(f.provider(change), nil); !errors.Is(err, ErrAway) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestAProviderMayNotLeadElsewhere(t *testing.T) {
	for what, answer := range map[string]func(w http.ResponseWriter, r *http.Request, self string){
		"sent on": func(w http.ResponseWriter, r *http.Request, _ string) {
			http.Redirect(w, r, "https://elsewhere.invalid/", http.StatusFound)
		},
		"an endpoint of another scheme": func(w http.ResponseWriter, _ *http.Request, self string) {
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(map[string]any{"issuer": self, "authorization_endpoint": "javascript:alert(1)", "token_endpoint": self + "/token", "jwks_uri": self + "/keys"})
		},
	} {
		var self string
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { answer(w, r, self) }))
		self = s.URL
		address, _, err := New(Config{Issuer: s.URL, ClientID: "c"}).Begin(t.Context())
		if !errors.Is(err, ErrAway) || address != "" {
			t.Errorf("%s: %q, %v", what, address, err)
		}
		s.Close()
	}
}

// FuzzParseTicket holds what a cookie says to be a ticket only if it is one.
func FuzzParseTicket(f *testing.F) {
	f.Add(Ticket{secret(), secret(), secret()}.String())
	f.Add("..")
	f.Add("")
	f.Fuzz(func(t *testing.T, s string) {
		k, ok := ParseTicket(s)
		if ok && (k.String() != s || k.State == "" || k.Nonce == "" || k.Verifier == "") {
			t.Errorf("%q is %+v", s, k)
		}
	})
}
