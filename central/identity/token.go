package identity

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"
)

const (
	// TokenLife is how long a join token is good if nothing else is asked for.
	TokenLife = time.Hour
	// MaxTokenLife is the longest.
	MaxTokenLife = 7 * 24 * time.Hour

	secretSize = 32
	pinSize    = sha256.Size
)

// Token is a join token as the centre keeps it, under the key TokenKey: it holds no
// secret. A caller writes it with its revision as condition, so that of two joins at
// once only one redeems it.
type Token struct {
	Node    string    `json:"node"`
	Hash    string    `json:"hash"` // SHA-256 of the secret, in hex
	Expires time.Time `json:"expires"`
	By      string    `json:"by"`
	Used    time.Time `json:"used,omitzero"`
}

// NewToken makes a token for one node. text is for the person who asked, and is not
// to be kept: a secret of 256 bits, and the fingerprint by which the node knows the
// centre's CA.
func (ca *CA) NewToken(node, by string, life time.Duration, now time.Time) (text string, t Token, err error) {
	if err := (Name{Domain: ca.Domain, Kind: Edge, Name: node}).Check(); err != nil {
		return "", Token{}, err
	}
	if life == 0 {
		life = TokenLife
	}
	if life < 0 || life > MaxTokenLife {
		return "", Token{}, fmt.Errorf("a token for %v; at most %v", life, MaxTokenLife)
	}
	secret := make([]byte, secretSize)
	if _, err := rand.Read(secret); err != nil {
		return "", Token{}, err
	}
	text = encode(secret) + "." + encode(ca.Fingerprint())
	return text, Token{Node: node, Hash: hashOf(secret), Expires: now.Add(life), By: by}, nil
}

func encode(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

func hashOf(secret []byte) string {
	sum := sha256.Sum256(secret)
	return hex.EncodeToString(sum[:])
}

// parseToken takes a token's text apart.
func parseToken(text string) (secret, pin []byte, err error) {
	bad := errors.New("this is no join token; copy all of what catchment node join-token printed")
	a, b, ok := strings.Cut(strings.TrimSpace(text), ".")
	if !ok || len(text) > 200 {
		return nil, nil, bad
	}
	secret, errA := base64.RawURLEncoding.Strict().DecodeString(a)
	pin, errB := base64.RawURLEncoding.Strict().DecodeString(b)
	if errA != nil || errB != nil || len(secret) != secretSize || len(pin) != pinSize {
		return nil, nil, bad
	}
	return secret, pin, nil
}

// TokenKey returns the key, in hex, under which the token with this text is kept.
func TokenKey(text string) (string, error) {
	secret, _, err := parseToken(text)
	if err != nil {
		return "", err
	}
	return hashOf(secret), nil
}

// Redeem returns the token as used, or says why it cannot be.
func (t Token) Redeem(text string, now time.Time) (Token, error) {
	key, err := TokenKey(text)
	switch {
	case err != nil:
		return t, err
	case subtle.ConstantTimeCompare([]byte(key), []byte(t.Hash)) != 1:
		return t, errors.New("this join token is not known")
	case !t.Used.IsZero():
		return t, fmt.Errorf("this join token was used at %s; get another one", t.Used.UTC().Format(time.RFC3339))
	case !now.Before(t.Expires):
		return t, fmt.Errorf("this join token expired at %s; get another one", t.Expires.UTC().Format(time.RFC3339))
	}
	t.Used = now
	return t, nil
}

// JoinTLS is for a machine that has a token and no certificate: it trusts the server
// whose chain ends in the CA that the token names, and which is good for the name
// that is dialled. got is given that CA's certificate, as PEM.
func JoinTLS(text, serverName string, got func(caPEM []byte)) (*tls.Config, error) {
	_, pin, err := parseToken(text)
	if err != nil {
		return nil, err
	}
	if serverName == "" {
		return nil, errors.New("the server's name is not known")
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS13,
		ServerName: serverName,
		// VerifyConnection does all of it, with the CA found by the token.
		InsecureSkipVerify: true,
		VerifyConnection: func(cs tls.ConnectionState) error {
			for _, c := range cs.PeerCertificates[1:] {
				if !isCA(c, pin) {
					continue
				}
				pool := x509.NewCertPool()
				pool.AddCert(c)
				if _, err := cs.PeerCertificates[0].Verify(x509.VerifyOptions{Roots: pool, DNSName: serverName}); err != nil {
					return err
				}
				if got != nil {
					got(encodeCert(c.Raw))
				}
				return nil
			}
			return errors.New("this is not the centre that made the token: it shows no CA certificate with the token's fingerprint")
		},
	}, nil
}
