package supportcmd

import (
	"encoding/base64"
	"maps"
	"net/textproto"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/catchment-bgp/catchment/central/config"
	edgeconfig "github.com/catchment-bgp/catchment/edge/config"
	"github.com/catchment-bgp/catchment/healthcheck"
)

// mask stands for what was taken out.
const mask = edgeconfig.Mask

// urlMask does so in URLs, where asterisks would be escaped.
const urlMask = "redacted"

// harmlessHeaders are those of requests whose values are kept.
var harmlessHeaders = []string{"Accept", "Host", "User-Agent"}

// redacted is a copy of a node's configuration that can be shown to anyone, as
// [edgeconfig.Config.YAML] prints it, and the secrets that were in the original. It
// does not load again.
func redacted(c *edgeconfig.Config) (*edgeconfig.Config, []string) {
	r := &redactor{}
	out := *c
	out.Links = slices.Clone(c.Links)
	for i := range out.Links {
		l := &out.Links[i]
		l.Feed, l.Fast, l.Exact = r.feed(l.Feed), r.source(l.Fast), r.source(l.Exact)
	}
	out.Neighbors = slices.Clone(c.Neighbors)
	for i := range out.Neighbors {
		if p := &out.Neighbors[i].Password; *p != "" {
			r.secret(*p)
			*p = mask
		}
	}
	out.Services = slices.Clone(c.Services)
	for i := range out.Services {
		checks := slices.Clone(out.Services[i].Checks)
		for j := range checks {
			checks[j] = r.check(checks[j])
		}
		out.Services[i].Checks = checks
	}
	return &out, r.secrets
}

// redactor collects what it takes out.
type redactor struct{ secrets []string }

func (r *redactor) secret(s string) { r.secrets = append(r.secrets, s) }

func (r *redactor) check(k healthcheck.Check) healthcheck.Check {
	if k.HTTP != nil {
		h := *k.HTTP
		h.URL = r.url(h.URL)
		h.Headers = r.headers(h.Headers, harmlessHeaders)
		h.ExpectHeaders = r.headers(h.ExpectHeaders, []string{"Content-Type"})
		h.Body = r.text(h.Body)
		k.HTTP = &h
	}
	if k.DNS != nil {
		d := *k.DNS
		d.Answer = r.text(d.Answer)
		k.DNS = &d
	}
	if k.Exec != nil {
		e := *k.Exec
		e.Command = slices.Clone(e.Command)
		for i := 1; i < len(e.Command); i++ {
			e.Command[i] = r.text(e.Command[i])
		}
		e.Environment = slices.Clone(e.Environment)
		for i, entry := range e.Environment {
			if name, value, ok := strings.Cut(entry, "="); ok {
				r.secret(value)
				e.Environment[i] = name + "=" + mask
			}
		}
		k.Exec = &e
	}
	return k
}

// text takes all of a text out that may hold anything.
func (r *redactor) text(s string) string {
	if s == "" {
		return ""
	}
	r.secret(s)
	return mask
}

// value takes a header's value out, and its parts: a word after Bearer, a cookie, what
// Basic has in base64 (RFC 7617).
func (r *redactor) value(s string) {
	r.secret(s)
	for _, word := range strings.FieldsFunc(s, func(c rune) bool { return strings.ContainsRune(" ;,", c) }) {
		r.secret(word)
		if plain, err := base64.StdEncoding.DecodeString(word); err == nil && utf8.Valid(plain) {
			_, password, _ := strings.Cut(string(plain), ":")
			r.secret(string(plain))
			r.secret(password)
		}
		if _, v, ok := strings.Cut(word, "="); ok {
			r.secret(strings.Trim(v, `"`))
		}
	}
}

func (r *redactor) headers(all map[string]string, harmless []string) map[string]string {
	out := maps.Clone(all)
	for name, value := range all {
		if !slices.Contains(harmless, textproto.CanonicalMIMEHeaderKey(name)) {
			r.value(value)
			out[name] = mask
		}
	}
	return out
}

func (r *redactor) source(s *edgeconfig.Source) *edgeconfig.Source {
	if s == nil {
		return nil
	}
	out := *s
	out.Feed = r.feed(s.Feed)
	if s.Prometheus != nil {
		p := *s.Prometheus
		p.URL = r.url(p.URL)
		out.Prometheus = &p
	}
	return &out
}

func (r *redactor) feed(f *edgeconfig.Feed) *edgeconfig.Feed {
	if f == nil {
		return nil
	}
	out := *f
	out.URL = r.url(f.URL)
	return &out
}

// url keeps scheme, host, path and the names in the query.
func (r *redactor) url(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return r.text(text)
	}
	out := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path, RawPath: u.RawPath}
	if u.User != nil {
		password, _ := u.User.Password()
		r.secret(u.User.Username())
		r.secret(password)
		r.secret(u.User.String())
		r.secret(u.User.Username() + ":" + password) // as in the header, which the scrubber knows to encode
		out.User = url.User(urlMask)
	}
	query := u.Query()
	for name, values := range query {
		for _, v := range values {
			r.secret(v)
		}
		query[name] = []string{urlMask}
	}
	out.RawQuery = query.Encode()
	if u.RawQuery != "" && len(query) == 0 {
		r.secret(u.RawQuery)
	}
	if u.Fragment != "" {
		r.secret(u.Fragment)
	}
	return out.String()
}

// centreView is what of a centre's configuration is told. What is not named here is
// not in the bundle.
type centreView struct {
	Listen    string              `json:"listen"`
	HTTP      string              `json:"http"`
	Data      string              `json:"data"`
	Etcd      []string            `json:"etcd"`
	TLS       *config.TLS         `json:"tls"`
	Domain    string              `json:"domain"`
	PKI       string              `json:"pki"`
	Roles     map[string]string   `json:"roles"`
	ASN       uint32              `json:"asn"`
	AuditKeep string              `json:"audit_keep"`
	Services  map[string]any      `json:"services"`
	Registry  []string            `json:"registry"`
	Views     map[string][]string `json:"bmp_views"`
}

func centreRedacted(c *config.Config) (centreView, []string) {
	r := &redactor{}
	v := centreView{Listen: c.Listen, HTTP: c.HTTP, Data: c.Data, Etcd: []string{}, TLS: c.TLS, Domain: c.Domain, PKI: c.PKI, Roles: c.Roles, ASN: c.ASN,
		AuditKeep: c.AuditKeep.String(), Services: map[string]any{}, Registry: append([]string{}, c.Registry...), Views: map[string][]string{}}
	if c.Etcd != nil {
		for _, e := range c.Etcd.Endpoints {
			v.Etcd = append(v.Etcd, r.url(e))
		}
	}
	for name, l := range c.Services {
		v.Services[name] = map[string]any{"min_announcing": l.MinAnnouncing, "max_withdrawn": l.MaxWithdrawn}
	}
	if c.BMP != nil {
		for _, view := range c.BMP.Views {
			v.Views[view.Name] = append([]string{}, view.Sees...)
		}
	}
	return v, r.secrets
}
