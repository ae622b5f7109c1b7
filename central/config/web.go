package config

import (
	"maps"
	"net/url"
	"slices"
	"strings"
)

// Web is about the page for browsers, which is served at HTTP.
type Web struct {
	// URL is where people find it, https://HOST[:PORT]; empty: at the host that they reach
	// the centre by.
	URL string
	// OIDC signs people in, besides codes and certificates; nil: nobody.
	OIDC *OIDC
}

// OIDC is an OpenID provider.
type OIDC struct {
	// Issuer is its address, as it stands in its tokens.
	Issuer string
	// ClientID is this centre's name there, SecretFile the file with its secret (empty: the
	// provider asks for none).
	ClientID, SecretFile string
	// Scopes are asked for besides openid.
	Scopes []string
	// Claim has a person's groups, and Roles the role of each: viewer, operator or admin.
	Claim string
	Roles map[string]string
	// NameClaim has a person's name, followed by @MailDomain unless that is empty.
	NameClaim, MailDomain string
}

const (
	// DefaultClaim is Claim unless the file says.
	DefaultClaim = "groups"
	// DefaultNameClaim is NameClaim unless the file says.
	DefaultNameClaim = "preferred_username"
)

func (c *checker) web(cfg *Config, raw *rawWeb) {
	if raw == nil {
		return
	}
	cfg.Web.URL = strings.TrimSuffix(or(raw.URL, ""), "/")
	switch u, err := url.Parse(cfg.Web.URL); {
	case cfg.HTTP == "" || cfg.TLS == nil:
		c.fail("web", "the page needs http: HOST:PORT and tls: {ca, cert, key}")
	case cfg.Web.URL == "":
	case err != nil || u.Scheme != "https" || u.Hostname() == "" || u.User != nil || u.Path != "" || u.RawQuery != "" || u.Fragment != "":
		c.fail("web.url", "%q is no address of a host; write https://HOST or https://HOST:PORT", *raw.URL)
	}
	if raw.OIDC != nil {
		c.oidc(cfg, raw.OIDC)
	}
}

func (c *checker) oidc(cfg *Config, raw *rawOIDC) {
	o := &OIDC{Issuer: or(raw.Issuer, ""), ClientID: or(raw.ClientID, ""), SecretFile: c.path(raw.ClientSecret), Scopes: raw.Scopes,
		Claim: or(raw.Claim, DefaultClaim), Roles: raw.Roles, NameClaim: or(raw.NameClaim, DefaultNameClaim), MailDomain: or(raw.MailDomain, "")}
	if cfg.Web.URL == "" {
		c.fail("web.oidc", "the provider sends browsers back to web.url; write url: https://HOST beside oidc:")
	}
	switch u, err := url.Parse(o.Issuer); {
	case err != nil || u.Hostname() == "" || u.RawQuery != "" || u.Fragment != "" || u.Scheme != "https" && !(u.Scheme == "http" && loopback(u.Hostname())):
		c.fail("web.oidc.issuer", "%q is no issuer; write the provider's https address as its tokens have it", o.Issuer)
	}
	for key, value := range map[string]string{"client_id": o.ClientID, "claim": o.Claim, "name_claim": o.NameClaim} {
		if strings.TrimSpace(value) == "" {
			c.fail("web.oidc", "%s is missing or empty; write %s: NAME", key, key)
		}
	}
	if strings.ContainsAny(o.MailDomain, "@ ") {
		c.fail("web.oidc.mail_domain", "%q is no domain; write what stands behind @, such as example.net", o.MailDomain)
	}
	if len(o.Roles) == 0 {
		c.fail("web.oidc", "no role; write roles: {GROUP: viewer}, or nobody may sign in by the provider")
	}
	known := []string{"viewer", "operator", "admin"}
	for _, group := range slices.Sorted(maps.Keys(o.Roles)) {
		if role := o.Roles[group]; !slices.Contains(known, role) {
			c.fail("web.oidc.roles."+group, "%q is no role; write %s", role, strings.Join(known, ", "))
		}
	}
	cfg.Web.OIDC = o
}
