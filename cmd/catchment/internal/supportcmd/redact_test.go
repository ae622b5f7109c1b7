package supportcmd

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	edgeconfig "github.com/catchment-bgp/catchment/edge/config"
)

// judged are all texts of a configuration: somebody has thought about each, whether it
// is kept or taken out. A key that is added to the configuration is added here, and to
// redacted where it can hold a secret.
var judged = strings.Fields(`
Node StateDir Control Metrics Site Registry Central.Addresses Central.TLS.CA Central.TLS.Cert Central.TLS.Key
Links.Name Links.Interface Links.Feed.URL Links.Fast.Interface Links.Fast.Feed.URL Links.Fast.Prometheus.URL Links.Fast.Prometheus.Query
Links.Exact.Interface Links.Exact.Feed.URL Links.Exact.Prometheus.URL Links.Exact.Prometheus.Query
Neighbors.Neighbor.Name Neighbors.Neighbor.BindDevice Neighbors.Neighbor.Password Neighbors.PasswordFile Neighbors.Labels Neighbors.Contact Neighbors.Link Neighbors.EdgesAtASN
Neighbors.Ladder.Steer
Services.Name Services.Interface Services.Neighbors Services.Checks.Name
Services.Checks.HTTP.URL Services.Checks.HTTP.Method Services.Checks.HTTP.Headers Services.Checks.HTTP.Body Services.Checks.HTTP.ExpectHeaders
Services.Checks.HTTP.TLS.CA Services.Checks.HTTP.TLS.CAFile Services.Checks.HTTP.TLS.ServerName Services.Checks.TCP.Address
Services.Checks.DNS.Server Services.Checks.DNS.Name Services.Checks.DNS.Type Services.Checks.DNS.Class Services.Checks.DNS.RCode Services.Checks.DNS.Answer
Services.Checks.GRPC.Address Services.Checks.GRPC.Service Services.Checks.GRPC.TLS.CA Services.Checks.GRPC.TLS.CAFile Services.Checks.GRPC.TLS.ServerName
Services.Checks.Exec.Command Services.Checks.Exec.Environment Services.Checks.Exec.Directory Services.Checks.Unit.Name Services.Checks.File.Path
Load.Mode Load.Flap.Profiles Load.Node.Interfaces.Name Load.Node.Disks
`)

// texts are the paths of all fields that hold text.
func texts(of reflect.Type, path string, seen map[reflect.Type]bool) []string {
	switch of.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array:
		return texts(of.Elem(), path, seen)
	case reflect.String, reflect.Map:
		return []string{path}
	case reflect.Struct:
		// Addresses and communities are values; a steer is one that a registry has.
		if strings.HasPrefix(of.PkgPath(), "net/netip") || strings.HasSuffix(of.PkgPath(), "/community") {
			return nil
		}
		if of == reflect.TypeFor[edgeconfig.Steer]() {
			return []string{path}
		}
		var out []string
		for i := range of.NumField() {
			f := of.Field(i)
			out = append(out, texts(f.Type, strings.TrimPrefix(path+"."+f.Name, "."), seen)...)
		}
		return out
	}
	return nil
}

func TestEveryTextOfAConfigurationIsJudged(t *testing.T) {
	got := texts(reflect.TypeFor[edgeconfig.Config](), "", nil)
	for _, path := range got {
		if !slices.Contains(judged, path) {
			t.Errorf("%s is new: can it hold a secret? Say so in redacted, and add it to judged", path)
		}
	}
	for _, path := range judged {
		if !slices.Contains(got, path) {
			t.Errorf("%s is gone", path)
		}
	}
}

func TestSecretsInFreeTextAreFound(t *testing.T) {
	s := newScrubber(nil)
	for text, want := range map[string]string{
		"GET http://u:p@h/x?y=z&w=q":          "GET http://********@h/x?y=********&w=********",
		"password: hunter2 user=me":           "password: ******** user=me",
		`{"auth_token": "a b", "ok": 1}`:      `{"auth_token": ********, "ok": 1}`,
		"Authorization: Bearer abc def\nnext": "Authorization: ********\nnext",
		"MY_SECRET=x":                         "MY_SECRET=********",
		"no secret here":                      "no secret here",
		"level=INFO msg=announced":            "level=INFO msg=announced",
		"-----BEGIN PRIVATE KEY-----\nx\n-----END PRIVATE KEY-----\nafter": "********\nafter",
	} {
		if got := s.free(text); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}

func TestKnownSecretsAreFoundInEveryForm(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		secret := rapid.StringMatching(`[ -~éж]{4,20}`).Filter(func(s string) bool {
			return len(strings.TrimSpace(s)) >= shortest && !strings.Contains(strings.ToLower(mask+urlMask+strings.Join(words, " ")), strings.ToLower(strings.TrimSpace(s)))
		}).Draw(t, "secret")
		secret = strings.TrimSpace(secret)
		s := newScrubber([]string{"prefix", secret, secret + "-longer"})
		for _, form := range written(secret) {
			if got := s.known("<" + form + ">"); strings.Contains(got, form) {
				t.Fatalf("%q stays in %q", form, got)
			}
		}
	})
}

func TestJSONStaysJSON(t *testing.T) {
	s := newScrubber([]string{"1000", "canary", `qu"ote`})
	if got, want := s.document(`{"canary": 1000, "a": "1000 canary \" qu\"ote", "b": [true, "x"]}`), `{"canary": 1000, "a": "******** ******** \" ********", "b": [true, "x"]}`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestWhatLooksLikeASecretIsTakenOutHoweverItIsWritten(t *testing.T) {
	s := newScrubber(nil)
	for _, text := range []string{
		`msg="{\"password\":\"canary\"}"`, `msg="answer {\"access_token\": \"canary\"}"`, `{"error":"said \\\"token\\\":\\\"canary\\\""}`,
		`redis://user:half@canary@host/x`, `http://a:canary@h,http://b:canary@h/`, `--password canary`, `exec x --api-key "a canary"`, `--token=canary`,
		`pwd=canary`, `passphrase: canary`, `psk = canary`, `password => canary`, `password="a\"canary"`, `passwd='a canary'`, `it sent bearer canary`,
		`map[Authorization:[Bearer canary]]`, `PGPASSWORD=canary`,
	} {
		if got := s.free(text); strings.Contains(got, "canary") {
			t.Errorf("%s becomes %s", text, got)
		}
	}
	for _, text := range []string{"the token was used at 12:00", `session with 10.0.0.1 is up since 2026-03-01T12:00:00Z`, "mail to noc@example.net, see https://example.net/a@b"} {
		if got := s.free(text); got != text {
			t.Errorf("%s becomes %s", text, got)
		}
	}
}
