package identity

import (
	"context"
	"crypto/tls"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
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

// token makes a token that the centre knows.
func (c *centre) token(t *testing.T, node string) string {
	t.Helper()
	text, token, err := c.ca.NewToken(node, "noc/anna", 0, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	c.joining.Lock()
	defer c.joining.Unlock()
	if c.tokens == nil {
		c.tokens = map[string]Token{}
	}
	c.tokens[token.Hash] = token
	return text
}

func TestNodeJoinsOnceByItsToken(t *testing.T) {
	c := newCentre(t)
	text := c.token(t, "msk1")
	paths := func(dir string) Paths {
		return Paths{CA: filepath.Join(dir, "ca.pem"), Cert: filepath.Join(dir, "edge.pem"), Key: filepath.Join(dir, "edge.key")}
	}
	impostor, err := Init(c.path("impostor"), domain, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	foreign, _, err := impostor.NewToken("msk1", "noc/anna", 0, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	unknown, _, err := c.ca.NewToken("msk1", "noc/anna", 0, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	expired := c.token(t, "msk1")
	mine := paths(t.TempDir())
	for _, k := range []struct{ name, address, token, node, says string }{
		{"another node's name", c.address, text, "ams1", `is for "ams1", and the token for "msk1"`},
		{"a token of another CA", c.address, foreign, "msk1", "not the centre that made the token"},
		{"a token that was never made", c.address, unknown, "msk1", "is not known"},
		{"no token", c.address, "hunter2", "msk1", "no join token"},
		{"its own", c.address, text, "msk1", ""},
		{"once more", c.address, text, "msk1", "was used at"},
	} {
		p := paths(t.TempDir())
		if k.says == "" {
			p = mine
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		name, err := Join(ctx, k.address, k.token, k.node, p)
		cancel()
		if (err == nil) != (k.says == "") || err != nil && !strings.Contains(err.Error(), k.says) {
			t.Errorf("%s: %v", k.name, err)
		}
		if err == nil && name.String() != "spiffe://example.net/edge/msk1" {
			t.Errorf("%s: joined as %s", k.name, name)
		}
		if _, statErr := os.Stat(p.Key); (statErr == nil) != (err == nil) {
			t.Errorf("%s: the key: %v", k.name, statErr)
		}
	}
	c.later(TokenLife)
	if _, err := Join(t.Context(), c.address, expired, "msk1", paths(t.TempDir())); err == nil || !strings.Contains(err.Error(), "expired at") {
		t.Errorf("%v", err)
	}
	if n := c.counts.count(BadToken); n != 4 {
		t.Errorf("counted %d", n)
	}
	if _, err := Join(t.Context(), c.address, c.token(t, "msk1"), "msk1", mine); err == nil || !strings.Contains(err.Error(), "is not overwritten") {
		t.Errorf("%v", err)
	}
	f, err := Open(mine, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := connect(t, c.dial(t, f), "msk1"); err != nil {
		t.Errorf("the new certificate: %v", err)
	}
}

func TestJoinTLSNeedsATokenAndAName(t *testing.T) {
	ca, _ := newCA(t)
	text, _, err := ca.NewToken("msk1", "x", 0, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := JoinTLS("x", "127.0.0.1", nil); err == nil {
		t.Error("no token is taken")
	}
	if cfg, err := JoinTLS(text, "", nil); err == nil {
		t.Errorf("no name is taken: %v", cfg.ServerName)
	}
	cfg, err := JoinTLS(text, "other.example.net", nil)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cert := filepath.Join(dir, "c.pem")
	if err := ca.Issue(Order{Kind: Central, Name: "c1", Hosts: []string{"c1.example.net"}}, cert, filepath.Join(dir, "c.key"), time.Now()); err != nil {
		t.Fatal(err)
	}
	chain, err := readCerts(cert)
	if err != nil {
		t.Fatal(err)
	}
	if err := cfg.VerifyConnection(tls.ConnectionState{PeerCertificates: chain}); err == nil || !strings.Contains(err.Error(), "other.example.net") {
		t.Errorf("another server of the same CA: %v", err)
	}
}
