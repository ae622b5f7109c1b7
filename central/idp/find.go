package idp

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

// maxAnswer is the longest answer of a provider that is read, in octets.
const maxAnswer = 1 << 20

// find returns what the provider says of itself (OpenID Connect Discovery 1.0), asked for
// at most once while it holds, and not too often while it does not answer.
func (p *Provider) find(ctx context.Context) (*found, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.found != nil {
		return p.found, nil
	}
	if p.failed != nil && p.cfg.Now().Sub(p.at) < askAgain {
		return nil, p.failed
	}
	// What is found is everybody's: it does not end with the one who asked first.
	f, err := p.discover(asking(context.WithoutCancel(ctx)))
	if err != nil {
		p.failed, p.at = fmt.Errorf("%w: %w", ErrAway, err), p.cfg.Now()
		return nil, p.failed
	}
	p.found, p.failed = f, nil
	return f, nil
}

func (p *Provider) discover(ctx context.Context) (*found, error) {
	provider, err := oidc.NewProvider(ctx, p.cfg.Issuer)
	if err != nil {
		return nil, err
	}
	var said struct {
		Keys    string   `json:"jwks_uri"`
		Methods []string `json:"token_endpoint_auth_methods_supported"`
	}
	if err := provider.Claims(&said); err != nil {
		return nil, err
	}
	e := provider.Endpoint()
	for what, address := range map[string]string{"authorization_endpoint": e.AuthURL, "token_endpoint": e.TokenURL, "jwks_uri": said.Keys} {
		u, err := url.Parse(address)
		if err != nil || u.Host == "" || u.Scheme != "https" && !strings.HasPrefix(p.cfg.Issuer, u.Scheme+"://") {
			return nil, fmt.Errorf("%s says its %s is %q, which is no https address", p.cfg.Issuer, what, clip(address))
		}
	}
	// OpenID Connect Discovery 1.0, section 3: client_secret_basic is what it is if not said.
	// Trying both would spend the code.
	e.AuthStyle = oauth2.AuthStyleInHeader
	if p.cfg.SecretFile == "" || len(said.Methods) > 0 && !slices.Contains(said.Methods, "client_secret_basic") {
		e.AuthStyle = oauth2.AuthStyleInParams
	}
	return &found{endpoint: e, verifier: provider.VerifierContext(ctx, &oidc.Config{ClientID: p.cfg.ClientID, Now: p.cfg.Now})}, nil
}

// asking gives a context the client that asks providers.
func asking(ctx context.Context) context.Context { return oidc.ClientContext(ctx, client) }

// client asks providers: each answer is bounded, and none sends it on to another host.
var client = &http.Client{
	Timeout: askTime,
	CheckRedirect: func(r *http.Request, via []*http.Request) error {
		return fmt.Errorf("it sends on to %s; write the address that answers itself", r.URL.Host)
	},
	Transport: bounded{transport()},
}

// transport keeps no connection: sign-ins are rare.
func transport() *http.Transport {
	return &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true, ForceAttemptHTTP2: true, TLSHandshakeTimeout: askTime}
}

type bounded struct{ next http.RoundTripper }

// RoundTrip bounds the answer.
func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := b.next.RoundTrip(r)
	if err == nil {
		resp.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(resp.Body, maxAnswer), resp.Body}
	}
	return resp, err
}
