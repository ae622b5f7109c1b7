package config

import (
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/catchment-bgp/catchment/policy/fleet"
)

const whole = `
listen: 192.0.2.1:7179
http: 192.0.2.1:7180
etcd: {endpoints: ["https://192.0.2.9:2379"], tls: {ca: e/ca.pem, cert: e/cert.pem, key: e/key.pem}}
tls: {ca: ca.pem, cert: /etc/c.pem, key: c.key}
domain: example.net
pki: pki
roles: {noc/Anna: admin, edge/old: none}
asn: 57629
audit: {keep: 400d}
services:
  - {name: video, min_announcing: 2, max_withdrawn: 0.34}
  - name: DNS
landing:
  MSK1: {spb1: 0.5, ekb1: 0.5}
registry: [as57629.txt]
bmp:
  listen: 192.0.2.1:11019
  grace: 90s
  views:
    - {name: transit-a-rr, address: 192.0.2.7, sees: [msk1, spb1], policy: loc-rib}
    - {name: transit-b, address: "2001:db8::7"}
web:
  url: https://noc.example.net/
  oidc: {issuer: "https://login.example.net", client_id: c, client_secret_file: s, scopes: [email], claim: g, roles: {G 1: admin}, name_claim: email, mail_domain: example.net}
`

func TestEveryKeyIsRead(t *testing.T) {
	got, err := Parse("central.yaml", []byte(whole), "/etc/catchment")
	if err != nil {
		t.Fatal(err)
	}
	in := func(name string) string { return filepath.Join("/etc/catchment", name) }
	want := &Config{Listen: "192.0.2.1:7179", HTTP: "192.0.2.1:7180", Domain: "example.net", PKI: in("pki"), ASN: 57629, AuditKeep: 400 * 24 * time.Hour,
		Etcd:     &Etcd{Endpoints: []string{"https://192.0.2.9:2379"}, TLS: &TLS{in("e/ca.pem"), in("e/cert.pem"), in("e/key.pem")}},
		TLS:      &TLS{in("ca.pem"), "/etc/c.pem", in("c.key")},
		Roles:    map[string]string{"noc/Anna": "admin", "edge/old": "none"},
		Services: map[string]fleet.Limits{"video": {MinAnnouncing: 2, MaxWithdrawn: 0.34}, "DNS": {MinAnnouncing: 1}},
		Landing:  fleet.Landing{"MSK1": {"spb1": 0.5, "ekb1": 0.5}}, Registry: []string{in("as57629.txt")},
		BMP: &BMP{Listen: "192.0.2.1:11019", Grace: 90 * time.Second, Views: []View{
			{Name: "transit-a-rr", Address: netip.MustParseAddr("192.0.2.7"), Sees: []string{"msk1", "spb1"}, Policy: "loc-rib"},
			{Name: "transit-b", Address: netip.MustParseAddr("2001:db8::7"), Policy: "post"}}},
		Web: Web{URL: "https://noc.example.net", OIDC: &OIDC{Issuer: "https://login.example.net", ClientID: "c", SecretFile: in("s"), Scopes: []string{"email"},
			Claim: "g", Roles: map[string]string{"G 1": "admin"}, NameClaim: "email", MailDomain: "example.net"}}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestADirectoryIsEnough(t *testing.T) {
	got, err := Parse("central.yaml", []byte("data: state\n"), "/var/lib")
	if err != nil || got.Listen != DefaultListen || got.Data != "/var/lib/state" || got.HTTP != "" || got.TLS != nil {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestWhatIsWrongIsNamedWithItsLine(t *testing.T) {
	for text, want := range map[string]string{
		"":                      "c.yaml: the file is empty; write at least listen: and data:",
		"a: [":                  "c.yaml: not YAML: line 1:",
		"data: d\n---\ndata: e": "c.yaml: the file holds several documents; write one",
		"[data]":                "c.yaml: this is not a mapping; write {listen: ...}",
		"data: d\ndate: e":      "c.yaml:2: date: unknown key; write one of listen, http,",
		"data: d\ndata: e":      "c.yaml:2: data: the key stands on line 1 already; remove one",
		"data: 5":               `c.yaml:1: data: "5" is not a text; write it in quotes`,
		"data: [d]":             "c.yaml:1: data: a list or mapping cannot stand here; write a text",
		"data:":                 "c.yaml:1: data: there is no value; write one or remove the key",
		"data: !!str d":         "c.yaml:1: data: tags such as !!str are not supported",
		"data: d\nasn: x":       `c.yaml:2: asn: "x" is not a whole number; write digits, without quotes`,
		"data: d\nasn: 0":       "c.yaml:2: asn: no AS has the number 0; write ours",
		"listen: 127.0.0.1:1":   "c.yaml: data: there is no place to keep anything",
		"data: d\netcd: {endpoints: [http://127.0.0.1:1]}":                  "c.yaml:1: data: data: is for the embedded store",
		"etcd: {endpoints: []}":                                             "c.yaml:1: etcd: no endpoint",
		"etcd: {endpoints: [foo]}":                                          `c.yaml:1: etcd.endpoints[0]: "foo" is no endpoint`,
		"etcd: {endpoints: [https://a:1]}":                                  "c.yaml:1: etcd.endpoints[0]: https needs a certificate",
		"etcd: {endpoints: [http://a:1]}":                                   "c.yaml:1: etcd.endpoints[0]: http://a:1 is in plain text",
		"data: d\nlisten: 0.0.0.0:7179":                                     "c.yaml:2: listen: 0.0.0.0:7179 is not loopback, and without tls: only loopback is served",
		"data: d\nhttp: :7180":                                              "c.yaml:2: http: :7180 is not loopback",
		"data: d\nlisten: x":                                                `c.yaml:2: listen: "x" is no address; write HOST:PORT`,
		"data: d\ntls: {ca: a, cert: b}":                                    "c.yaml:2: tls: key is missing; write {ca: FILE, cert: FILE, key: FILE}",
		"data: d\ntls: {ca: a, cert: b, key: c}":                            "c.yaml: domain: with tls: the trust domain is needed",
		"data: d\npki: p":                                                   "c.yaml:2: pki: nodes join over TLS",
		"data: d\naudit: {keep: forever}":                                   `c.yaml:2: audit.keep: "forever" is no time; write days, such as 400d`,
		"data: d\naudit: {keep: 29d}":                                       "c.yaml:2: audit.keep: 29d is less than 30 days",
		"data: d\naudit: {keep: 719h}":                                      "c.yaml:2: audit.keep: 719h is less than 30 days",
		"data: d\naudit: {keep: 60000d}":                                    "c.yaml:2: audit.keep: 60000d is less than 30 days or more than 100 years",
		"data: d\naudit: {keep: 99999d}":                                    `c.yaml:2: audit.keep: "99999d" is no time`,
		"data: d\nservices: {a: b}":                                         "c.yaml:2: services: this is not a list; begin each entry with -",
		"data: d\nservices:\n- min_announcing: 1":                           "c.yaml:3: services[0]: a service needs its name",
		"data: d\nservices:\n- {name: a}\n- {name: a}":                      "c.yaml:4: services[1]: service a stands in the list twice",
		"data: d\nservices:\n- {name: a, min_announcing: 0}":                "c.yaml:3: services[0].min_announcing: 0 nodes cannot be it",
		"data: d\nservices:\n- {name: a, max_withdrawn: 2}":                 "c.yaml:3: services[0].max_withdrawn: 2 is no share",
		"data: d\nservices:\n- {name: a, max_withdrawn: .nan}":              "c.yaml:3: services[0].max_withdrawn: \".nan\" is not a number",
		"data: d\nroles: {anna: admin}":                                     "c.yaml:2: roles.anna: anna is no name; write noc/NAME or edge/NAME",
		"data: d\nroles: {noc/anna: root}":                                  `c.yaml:2: roles.noc/anna: "root" is no role`,
		"data: d\nroles: {edge/a: admin}":                                   "c.yaml:2: roles.edge/a: an edge can be given the role none only",
		"data: d\nbmp: {grace: 60s}":                                        "c.yaml:2: bmp: 0 views; write 1 to 1000 under views:",
		"data: d\nbmp: {view: []}":                                          "c.yaml:2: bmp.view: unknown key; write one of listen, grace, views",
		"data: d\nbmp: {listen: x, views: [{name: a, address: 192.0.2.1}]}": `c.yaml:2: bmp.listen: "x" is no address`,
		"data: d\nbmp: {grace: 1s, views: [{name: a, address: 192.0.2.1}]}": `c.yaml:2: bmp.grace: "1s" is no time from 5s to 1h0m0s`,
		"data: d\nbmp: {grace: a, views: [{name: a, address: 192.0.2.1}]}":  `c.yaml:2: bmp.grace: "a" is no time`,
		"data: d\nbmp:\n  views:\n  - {name: a}":                            "c.yaml:4: bmp.views[0]: a view needs the address",
		"data: d\nbmp:\n  views:\n  - {name: a, address: fe80::1%eth0}":     "c.yaml:4: bmp.views[0]: a view needs the address",
		"data: d\nbmp:\n  views:\n  - {address: 192.0.2.1}":                 "c.yaml:4: bmp.views[0]: a view needs a name",
		"data: d\nbmp:\n  views:\n  - {name: a, address: 192.0.2.1}\n  - {name: a, address: 192.0.2.2}":          "c.yaml:5: bmp.views[1]: view a stands in the list twice",
		"data: d\nbmp:\n  views:\n  - {name: a, address: 192.0.2.1}\n  - {name: b, address: '::ffff:192.0.2.1'}": "c.yaml:5: bmp.views[1]: another view has the address 192.0.2.1",
		"data: d\nbmp:\n  views:\n  - {name: a, address: 192.0.2.1, policy: all}":                                `c.yaml:4: bmp.views[0].policy: "all" is no table`,
		"data: d\nbmp:\n  views:\n  - {name: a, address: 192.0.2.1, sees: [m, m]}":                               `c.yaml:4: bmp.views[0].sees[1]: "m" is no node, or stands here twice`,
		"data: d\nlanding: {a: {b: 0.7, c: 0.7}}":                                                                "c.yaml:2: landing.a: the shares add up to 1.4",
		"data: d\nlanding: {a: {a: 0.7}}":                                                                        "c.yaml:2: landing.a: 0.7 of it cannot land on a",
	} {
		cfg, err := Parse("c.yaml", []byte(text), "/")
		if err == nil || cfg != nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v; want %s", text, err, want)
		}
	}
}

func TestAllProblemsAreToldAtOnceByLine(t *testing.T) {
	_, err := Parse("c.yaml", []byte("listen: 0.0.0.0:1\nfoo: 1\nservices:\n- {name: a, max_withdrawn: 0}\n"), "/")
	lines := strings.Split(err.Error(), "\n")
	want := []string{"c.yaml: data", "c.yaml:1: listen", "c.yaml:2: foo", "c.yaml:4: services[0].max_withdrawn"}
	if len(lines) != len(want) {
		t.Fatalf("%q", lines)
	}
	for i, w := range want {
		if !strings.HasPrefix(lines[i], w) {
			t.Errorf("line %d is %q, want %q", i, lines[i], w)
		}
	}
}

func TestLoadReadsAFileAndTellsWhichIsMissing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "central.yaml")
	if err := os.WriteFile(path, []byte("data: state\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if cfg, err := Load(path); err != nil || cfg.Data != filepath.Join(filepath.Dir(path), "state") {
		t.Errorf("%+v, %v", cfg, err)
	}
	if _, err := Load(path + "x"); err == nil || !strings.Contains(err.Error(), path+"x") {
		t.Errorf("%v", err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(whole))
	f.Add([]byte("data: &a [*a]\nlanding: {a: {b: 1e999}}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		cfg, err := Parse("c.yaml", data, "/")
		if (cfg == nil) == (err == nil) {
			t.Errorf("%v and %v", cfg, err)
		}
	})
}
