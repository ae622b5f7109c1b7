package idp

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/catchment-bgp/catchment/central/identity"
)

const (
	// askTime bounds all that is asked of the provider for one step of a sign-in, and
	// askAgain is how long one that was away is not asked again.
	askTime  = 10 * time.Second
	askAgain = 2 * time.Second
	// ticketSecret is how many random bytes a state or nonce has.
	ticketSecret = 24
	// longestSecret bounds the file with the client's secret.
	longestSecret = 4096
)

// Config is what a Provider is made of.
type Config struct {
	// Issuer is the provider's address, as its tokens have it.
	Issuer string
	// ClientID is the name of this centre there, and SecretFile the file with its secret,
	// read at each sign-in; empty: the provider asks for none.
	ClientID, SecretFile string
	// Redirect is where the provider sends browsers back to.
	Redirect string
	// Scopes are asked for besides "openid".
	Scopes []string
	// Claim has the groups of a person, and Roles the role of each; the most counts.
	Claim string
	Roles map[string]identity.Role
	// NameClaim has the name of a person. With MailDomain it is NAME@MailDomain.
	NameClaim, MailDomain string
	// Domain is the trust domain of our names.
	Domain string
	// Now is time.Now if nil.
	Now func() time.Time
}

// Person is who has signed in.
type Person struct {
	Name identity.Name
	Role identity.Role
}

// Provider signs people in. It is safe for use by several goroutines.
type Provider struct {
	cfg Config

	mu     sync.Mutex
	found  *found
	failed error // why it was not found
	at     time.Time
}

// found is a provider that has said where its parts are.
type found struct {
	endpoint oauth2.Endpoint
	verifier *oidc.IDTokenVerifier
}

// ErrAway is wrapped by errors that are the provider's trouble and nobody's fault here.
var ErrAway = errors.New("the provider cannot be asked")

// New returns a provider that was not asked anything yet.
func New(cfg Config) *Provider {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Provider{cfg: cfg}
}

// Host is the provider's host, for people.
func (p *Provider) Host() string {
	u, err := url.Parse(p.cfg.Issuer)
	if err != nil {
		return p.cfg.Issuer
	}
	return u.Host
}

// Ticket is what a browser carries through a sign-in, and nobody else may know.
type Ticket struct{ State, Nonce, Verifier string }

// String is the ticket as ParseTicket reads it: of letters that a cookie may have.
func (t Ticket) String() string { return t.State + "." + t.Nonce + "." + t.Verifier }

// ParseTicket reads a ticket; false: it is none.
func ParseTicket(s string) (Ticket, bool) {
	parts := strings.Split(s, ".")
	if len(parts) != 3 {
		return Ticket{}, false
	}
	for _, part := range parts {
		if b, err := base64.RawURLEncoding.DecodeString(part); err != nil || len(b) < ticketSecret {
			return Ticket{}, false
		}
	}
	return Ticket{parts[0], parts[1], parts[2]}, true
}

func secret() string {
	b := make([]byte, ticketSecret)
	_, _ = rand.Read(b) // never fails: crypto/rand ends the process rather
	return base64.RawURLEncoding.EncodeToString(b)
}

// Begin returns where to send a browser, and what it has to bring back.
func (p *Provider) Begin(ctx context.Context) (address string, t Ticket, err error) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	f, err := p.find(ctx)
	if err != nil {
		return "", Ticket{}, err
	}
	t = Ticket{State: secret(), Nonce: secret(), Verifier: oauth2.GenerateVerifier()}
	return p.client(f, "").AuthCodeURL(t.State, oidc.Nonce(t.Nonce), oauth2.S256ChallengeOption(t.Verifier)), t, nil
}

// End takes what the provider has sent the browser back with, and returns who that is.
// Errors that wrap ErrAway are the provider's; all others say why somebody was refused.
func (p *Provider) End(ctx context.Context, t Ticket, answer url.Values) (Person, error) {
	if subtle.ConstantTimeCompare([]byte(answer.Get("state")), []byte(t.State)) != 1 || t.State == "" {
		return Person{}, errors.New("this answer is to no question of this browser; sign in once more")
	}
	// RFC 9207, section 2.4: an answer of another provider than the one that was asked.
	if iss := answer.Get("iss"); answer.Has("iss") && iss != p.cfg.Issuer {
		return Person{}, fmt.Errorf("the answer is of %q, and %s was asked", clip(iss), p.cfg.Issuer)
	}
	if fault := answer.Get("error"); fault != "" {
		return Person{}, fmt.Errorf("%s says %q %s", p.Host(), clip(fault), clip(answer.Get("error_description")))
	}
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	f, err := p.find(ctx)
	if err != nil {
		return Person{}, err
	}
	text, err := p.secret()
	if err != nil {
		return Person{}, fmt.Errorf("%w: client_secret_file: %w", ErrAway, err)
	}
	got, err := p.client(f, text).Exchange(asking(ctx), answer.Get("code"), oauth2.VerifierOption(t.Verifier))
	if err != nil {
		return Person{}, p.exchangeFailed(err)
	}
	raw, ok := got.Extra("id_token").(string)
	if !ok {
		return Person{}, fmt.Errorf("%w: %s has sent no ID token; is it an OpenID provider?", ErrAway, p.Host())
	}
	return p.person(ctx, f, raw, t.Nonce)
}

// exchangeFailed tells a provider that refuses a code from one that is away.
func (p *Provider) exchangeFailed(err error) error {
	var said *oauth2.RetrieveError
	if errors.As(err, &said) && said.ErrorCode == "invalid_grant" {
		return fmt.Errorf("%s does not take the code (invalid_grant); sign in once more", p.Host())
	}
	if errors.As(err, &said) {
		return fmt.Errorf("%w: %s refuses this centre: %s %s %s", ErrAway, p.Host(), said.Response.Status, clip(said.ErrorCode), clip(said.ErrorDescription))
	}
	return fmt.Errorf("%w: %w", ErrAway, err)
}

// person checks an ID token and says who it is of.
func (p *Provider) person(ctx context.Context, f *found, raw, nonce string) (Person, error) {
	token, err := f.verifier.Verify(ctx, raw)
	if err != nil {
		return Person{}, fmt.Errorf("the ID token is no good: %w", err)
	}
	// OpenID Connect Core 1.0, section 3.1.3.7, rule 11.
	if subtle.ConstantTimeCompare([]byte(token.Nonce), []byte(nonce)) != 1 {
		return Person{}, errors.New("the ID token is for another sign-in (nonce); sign in once more")
	}
	var claims map[string]any
	if err := token.Claims(&claims); err != nil {
		return Person{}, fmt.Errorf("the ID token is no good: %w", err)
	}
	// The same, rules 4 and 5.
	if azp, has := claims["azp"]; (has || len(token.Audience) > 1) && azp != p.cfg.ClientID {
		return Person{}, fmt.Errorf("the ID token was given to %q, and not to this centre", clip(fmt.Sprint(azp)))
	}
	name, err := p.name(claims)
	if err != nil {
		return Person{}, err
	}
	role := p.role(claims)
	if role == identity.None {
		return Person{}, fmt.Errorf("%s has signed in at %s, but no value of the claim %s has a role here (web.oidc.roles)", name.Short(), p.Host(), p.cfg.Claim)
	}
	return Person{name, role}, nil
}

// name makes our name out of the claim, which must be one as it stands: of two people that
// the provider tells apart none may become the other here.
func (p *Provider) name(claims map[string]any) (identity.Name, error) {
	text, ok := claims[p.cfg.NameClaim].(string)
	if !ok {
		return identity.Name{}, fmt.Errorf("the ID token has no claim %s, of which the name is made (web.oidc.name_claim)", p.cfg.NameClaim)
	}
	if p.cfg.NameClaim == "email" && claims["email_verified"] != true {
		return identity.Name{}, fmt.Errorf("%s has not verified the address %q", p.Host(), clip(text))
	}
	if p.cfg.MailDomain != "" {
		before, ours := strings.CutSuffix(text, "@"+p.cfg.MailDomain)
		if !ours {
			return identity.Name{}, fmt.Errorf("%q is not of the domain %s (web.oidc.mail_domain)", clip(text), p.cfg.MailDomain)
		}
		text = before
	}
	n := identity.Name{Domain: p.cfg.Domain, Kind: identity.NOC, Name: text}
	if err := n.Check(); err != nil {
		return identity.Name{}, fmt.Errorf("the claim %s is no name here: %w", p.cfg.NameClaim, err)
	}
	return n, nil
}

// role is the highest that the person's groups have.
func (p *Provider) role(claims map[string]any) identity.Role {
	var groups []any
	switch v := claims[p.cfg.Claim].(type) {
	case string:
		groups = []any{v}
	case []any:
		groups = v
	}
	best := identity.None
	for _, g := range groups {
		group, _ := g.(string)
		if role, has := p.cfg.Roles[group]; has && role.Above(best) {
			best = role
		}
	}
	return best
}

// client is this centre as the provider knows it.
func (p *Provider) client(f *found, secret string) *oauth2.Config {
	return &oauth2.Config{ClientID: p.cfg.ClientID, ClientSecret: secret, Endpoint: f.endpoint, RedirectURL: p.cfg.Redirect,
		Scopes: append([]string{oidc.ScopeOpenID}, p.cfg.Scopes...)}
}

// secret reads the client's secret.
func (p *Provider) secret() (string, error) {
	if p.cfg.SecretFile == "" {
		return "", nil
	}
	text, err := os.ReadFile(p.cfg.SecretFile)
	if err != nil {
		return "", err
	}
	if len(text) > longestSecret {
		return "", fmt.Errorf("%s has %d octets, more than any secret", p.cfg.SecretFile, len(text))
	}
	return strings.TrimSpace(string(text)), nil
}

// clip shortens what others wrote.
func clip(s string) string {
	const most = 120
	if len(s) > most {
		return s[:most] + "..."
	}
	return s
}
