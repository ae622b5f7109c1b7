package identity

import (
	"net"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
)

func TestTokenIsGoodOnceAndForAWhile(t *testing.T) {
	ca, _ := newCA(t)
	now := time.Now()
	text, token, err := ca.NewToken("msk1", "noc/anna", 0, now)
	if err != nil {
		t.Fatal(err)
	}
	secret, _, _ := strings.Cut(text, ".")
	if strings.Contains(token.Hash, secret) || len(secret) != 43 || token.Node != "msk1" || token.By != "noc/anna" {
		t.Errorf("%q %+v", text, token)
	}
	if key, err := TokenKey(text); err != nil || key != token.Hash {
		t.Errorf("%s %v", key, err)
	}
	second, other, err := ca.NewToken("msk1", "noc/anna", time.Minute, now)
	if err != nil || second == text || other.Hash == token.Hash {
		t.Fatal("two tokens are alike")
	}
	used, err := token.Redeem(text, now.Add(TokenLife-1))
	if err != nil || used.Used.IsZero() {
		t.Fatalf("%v", err)
	}
	for name, c := range map[string]struct {
		token Token
		text  string
		after time.Duration
		says  string
	}{
		"used":           {used, text, time.Second, "was used at"},
		"expired":        {token, text, TokenLife, "expired at"},
		"another":        {token, second, 0, "is not known"},
		"cut short":      {token, text[:60], 0, "no join token"},
		"nothing":        {token, "", 0, "no join token"},
		"endless":        {token, text + strings.Repeat("A", 1000), 0, "no join token"},
		"two at a time":  {token, text + "." + text, 0, "no join token"},
		"another's hash": {Token{}, text, 0, "is not known"},
	} {
		got, err := c.token.Redeem(c.text, now.Add(c.after))
		if err == nil || !strings.Contains(err.Error(), c.says) || got != c.token {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, bad := range []struct {
		node string
		life time.Duration
	}{{"", 0}, {"../x", 0}, {"msk1", -1}, {"msk1", MaxTokenLife + 1}} {
		if _, _, err := ca.NewToken(bad.node, "x", bad.life, now); err == nil {
			t.Errorf("%+v is taken", bad)
		}
	}
}

func TestJoiningNodeKnowsItsCentre(t *testing.T) {
	c := newCentre(t)
	text, _, err := c.ca.NewToken("msk1", "noc/anna", 0, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	impostor, err := Init(c.path("impostor"), domain, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	wrong, _, err := impostor.NewToken("msk1", "noc/anna", 0, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	host, _, err := net.SplitHostPort(c.address)
	if err != nil {
		t.Fatal(err)
	}
	for name, k := range map[string]struct{ token, server, says string }{
		"its own":           {text, host, "this join token is not known"}, // the test's centre knows none
		"another CA":        {wrong, host, "not the centre that made the token"},
		"another's address": {text, "other.example.net", "other.example.net"},
	} {
		t.Run(name, func(t *testing.T) {
			var found []byte
			cfg, err := JoinTLS(k.token, k.server, func(pem []byte) { found = pem })
			if err != nil {
				t.Fatal(err)
			}
			conn, err := grpc.NewClient(c.address, grpc.WithTransportCredentials(credentials.NewTLS(cfg)))
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = conn.Close() }()
			_, err = centralv1.NewEdgesClient(conn).Join(t.Context(), &centralv1.JoinRequest{Token: k.token})
			if err == nil || !strings.Contains(err.Error(), k.says) {
				t.Errorf("%v", err)
			}
			if trusted := name == "its own"; trusted != (string(found) == string(c.ca.PEM())) || trusted != (status.Code(err) == codes.Unauthenticated) {
				t.Errorf("%v, found %q", err, found)
			}
		})
	}
	if _, err := JoinTLS("x", host, nil); err == nil {
		t.Error("no token is taken")
	}
	if cfg, err := JoinTLS(text, "", nil); err == nil {
		t.Errorf("no name is taken: %v", cfg.ServerName)
	}
}
