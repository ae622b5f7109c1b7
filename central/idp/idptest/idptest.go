// Package idptest is an OpenID provider for tests.
//
// In go claims; out come signed ID tokens for browsers that have asked as OpenID Connect and
// PKCE (RFC 7636) want it. Only tests use it. It knows one client, catchment, and asks nobody
// for a password.
package idptest

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/coreos/go-oidc/v3/oidc/oidctest"
)

// The client that every Provider knows.
const (
	ClientID = "catchment"
	Secret   = "s3cret"
	// Back is what the redirect address of the client must end with.
	Back = "/login/oidc/back"
)

// Key makes a key that signs tokens; it is made once, since that takes long.
var Key = sync.OnceValues(func() (*rsa.PrivateKey, error) { return rsa.GenerateKey(rand.Reader, 2048) })

// Provider signs what it is told, once for each code. Its fields are set while nobody asks
// it.
type Provider struct {
	*httptest.Server
	// Down has it answer everything with an error.
	Down bool
	// Claims stand in tokens instead of, or besides, the usual ones (preferred_username anna,
	// groups staff and noc); nil: that one is left out.
	Claims map[string]any
	// Token answers for codes instead of it; nil: it does so itself.
	Token func(w http.ResponseWriter)
	// Sign is the key that it signs with, and Public whether the client has no secret.
	Sign   *rsa.PrivateKey
	Public bool

	t     testing.TB
	inner *oidctest.Server

	mu    sync.Mutex
	codes map[string]url.Values // what the browser asked for, by code
	asked int
}

// New starts a provider that ends with the test.
func New(t testing.TB) *Provider {
	t.Helper()
	priv, err := Key()
	if err != nil {
		t.Fatal(err)
	}
	p := &Provider{t: t, Sign: priv, codes: map[string]url.Values{},
		inner: &oidctest.Server{PublicKeys: []oidctest.PublicKey{{PublicKey: priv.Public(), KeyID: "k", Algorithm: oidc.RS256}}}}
	p.Server = httptest.NewServer(p)
	t.Cleanup(p.Close)
	p.inner.SetIssuer(p.URL)
	return p
}

// Asked is how many requests it has had.
func (p *Provider) Asked() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.asked
}

// ServeHTTP answers as a provider.
func (p *Provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked++
	switch {
	case p.Down:
		http.Error(w, "closed for today", http.StatusServiceUnavailable)
	case r.URL.Path == "/token" && p.Token != nil:
		p.Token(w)
	case r.URL.Path == "/token":
		p.exchange(w, r)
	default:
		p.inner.ServeHTTP(w, r)
	}
}

// exchange gives the token for a code, if the verifier is that of its challenge.
func (p *Provider) exchange(w http.ResponseWriter, r *http.Request) {
	refuse := func(code int, why string) {
		w.WriteHeader(code)
		_ = json.NewEncoder(w).Encode(map[string]string{"error": why})
	}
	_ = r.ParseForm()
	w.Header().Set("Content-Type", "application/json")
	id, secret, basic := r.BasicAuth()
	if basic == p.Public || basic && (id != ClientID || secret != Secret) {
		refuse(http.StatusUnauthorized, "invalid_client")
		return
	}
	code := r.PostForm.Get("code")
	asked, ok := p.codes[code]
	delete(p.codes, code)
	sum := sha256.Sum256([]byte(r.PostForm.Get("code_verifier")))
	if !ok || base64.RawURLEncoding.EncodeToString(sum[:]) != asked.Get("code_challenge") || r.PostForm.Get("redirect_uri") != asked.Get("redirect_uri") {
		refuse(http.StatusBadRequest, "invalid_grant")
		return
	}
	now := time.Now()
	claims := map[string]any{"iss": p.URL, "aud": ClientID, "sub": "1", "exp": now.Add(time.Minute).Unix(), "iat": now.Unix(),
		"nonce": asked.Get("nonce"), "preferred_username": "anna", "groups": []string{"staff", "noc"}}
	maps.Copy(claims, p.Claims)
	maps.DeleteFunc(claims, func(_ string, v any) bool { return v == nil })
	text, err := json.Marshal(claims)
	if err != nil {
		p.t.Error(err)
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"access_token": "a", "token_type": "Bearer", "id_token": oidctest.SignIDToken(p.Sign, "k", oidc.RS256, string(text))})
}

// Visit is what a browser does at the address that it was sent to: it gets a code for what it
// asked. Out comes what it is sent back with.
func (p *Provider) Visit(address string) url.Values {
	p.t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		p.t.Fatal(err)
	}
	q := u.Query()
	if !strings.HasPrefix(address, p.URL+"/auth?") || q.Get("response_type") != "code" || q.Get("code_challenge_method") != "S256" ||
		q.Get("client_id") != ClientID || !strings.HasSuffix(q.Get("redirect_uri"), Back) || !strings.Contains(q.Get("scope"), "openid") {
		p.t.Errorf("the browser asks for %s", address)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	code := rand.Text()
	p.codes[code] = q
	return url.Values{"state": {q.Get("state")}, "code": {code}}
}
