package config

import (
	"strings"
	"testing"
)

// served is a file of a centre with a page, without its last line.
const served = "data: d\nhttp: :7180\ntls: {ca: a, cert: b, key: c}\ndomain: example.net\n"

func TestAProviderHasDefaults(t *testing.T) {
	got, err := Parse("c.yaml", []byte(served+"web: {url: 'https://noc.example.net:7180', oidc: {issuer: 'http://127.0.0.1:9', client_id: c, roles: {g: viewer}}}"), "/etc")
	if err != nil {
		t.Fatal(err)
	}
	if o := got.Web.OIDC; got.Web.URL != "https://noc.example.net:7180" || o.Claim != "groups" || o.NameClaim != "preferred_username" || o.SecretFile != "" || o.MailDomain != "" {
		t.Errorf("%+v %+v", got.Web, o)
	}
}

func TestWhatIsWrongWithThePageIsNamedWithItsLine(t *testing.T) {
	oidc := func(fields string) string {
		return served + "web:\n  url: https://noc.example.net\n  oidc:\n    {" + fields + "}"
	}
	for text, want := range map[string]string{
		"data: d\nweb: {url: 'https://a'}":                                               "c.yaml:2: web: the page needs http: HOST:PORT and tls:",
		served + "web: {url: 'http://a'}":                                                `c.yaml:5: web.url: "http://a" is no address of a host; write https://HOST`,
		served + "web: {url: 'https://a/page'}":                                          `web.url: "https://a/page" is no address of a host`,
		served + "web: {url: 'https://u:p@a'}":                                           "web.url:",
		served + "web: {url: 'https://a?b'}":                                             "web.url:",
		served + "web: {uri: 'https://a'}":                                               "web.uri: unknown key; write one of url, oidc",
		served + "web: {oidc: {issuer: 'https://i', client_id: c, roles: {g: viewer}}}":  "c.yaml:5: web.oidc: the provider sends browsers back to web.url",
		oidc("client_id: c, roles: {g: viewer}"):                                         `web.oidc.issuer: "" is no issuer`,
		oidc("issuer: 'http://i', client_id: c, roles: {g: viewer}"):                     `c.yaml:8: web.oidc.issuer: "http://i" is no issuer; write the provider's https address`,
		oidc("issuer: 'https://i?a=b', client_id: c, roles: {g: viewer}"):                "web.oidc.issuer:",
		oidc("issuer: 'https://i', roles: {g: viewer}"):                                  "c.yaml:7: web.oidc: client_id is missing or empty",
		oidc("issuer: 'https://i', client_id: c, claim: '', roles: {g: viewer}"):         "web.oidc: claim is missing or empty",
		oidc("issuer: 'https://i', client_id: c"):                                        "c.yaml:7: web.oidc: no role; write roles: {GROUP: viewer}",
		oidc("issuer: 'https://i', client_id: c, roles: {g: root}"):                      `c.yaml:8: web.oidc.roles.g: "root" is no role; write viewer, operator, admin`,
		oidc("issuer: 'https://i', client_id: c, roles: {g: none}"):                      `"none" is no role`,
		oidc("issuer: 'https://i', client_id: c, roles: {g: viewer}, mail_domain: '@a'"): `c.yaml:8: web.oidc.mail_domain: "@a" is no domain`,
		oidc("issuer: 'https://i', client_id: c, roles: {g: viewer}, client_secret: s"):  "web.oidc.client_secret: unknown key",
	} {
		if _, err := Parse("c.yaml", []byte(text), "/etc"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s:\n%v\nwant %s", text, err, want)
		}
	}
}
