package identity

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"net/url"
	"time"
)

// maxRequest is more than any certificate request that we make, in bytes.
const maxRequest = 4096

// NewRequest makes a key and a certificate request (PKCS #10, RFC 2986) for a node.
// The domain is the centre's to say, so the request names only the node.
func NewRequest(node string) (csr, keyPEM []byte, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	csr, err = x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: pkix.Name{CommonName: node}}, key)
	if err != nil {
		return nil, nil, err
	}
	keyPEM, err = encodeKey(key)
	return csr, keyPEM, err
}

// CheckRequest reads a certificate request (DER) for an edge and says what is wrong
// with it, if anything: it must be signed by its own key, on P-256, and ask for no
// name but the node's.
func CheckRequest(csr []byte, want Name) (*x509.CertificateRequest, error) {
	if len(csr) > maxRequest {
		return nil, fmt.Errorf("a certificate request of %d bytes; at most %d", len(csr), maxRequest)
	}
	r, err := x509.ParseCertificateRequest(csr)
	if err != nil {
		return nil, fmt.Errorf("not a certificate request: %w", err)
	}
	key, ok := r.PublicKey.(*ecdsa.PublicKey)
	if !ok || key.Curve != elliptic.P256() {
		return nil, errors.New("the key of the certificate request is not ECDSA on P-256")
	}
	if err := r.CheckSignature(); err != nil {
		return nil, fmt.Errorf("the certificate request is not signed by its key: %w", err)
	}
	if r.Subject.CommonName != want.Name {
		return nil, fmt.Errorf("the certificate request is for %q, and the token for %q", clip(r.Subject.CommonName), want.Name)
	}
	if len(r.DNSNames)+len(r.IPAddresses)+len(r.EmailAddresses) > 0 || !onlyNames(r.URIs, want) {
		return nil, fmt.Errorf("the certificate request asks for other names than %s", want)
	}
	return r, nil
}

// onlyNames reports whether all URIs are the name that is wanted.
func onlyNames(uris []*url.URL, want Name) bool {
	for _, u := range uris {
		if u.String() != want.String() {
			return false
		}
	}
	return true
}

// Sign makes a certificate for an edge from its request. Only the key is taken from
// the request; all else is the CA's. It returns PEM.
func (ca *CA) Sign(csr []byte, node string, now time.Time) ([]byte, error) {
	r, err := CheckRequest(csr, Name{Domain: ca.Domain, Kind: Edge, Name: node})
	if err != nil {
		return nil, err
	}
	return ca.certify(Order{Kind: Edge, Name: node}, r.PublicKey, now)
}
