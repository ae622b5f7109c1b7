package identity

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"time"
)

// Lifetimes of certificates.
const (
	CALife      = 10 * 365 * 24 * time.Hour
	MachineLife = 365 * 24 * time.Hour // edges and centres
	PersonLife  = 90 * 24 * time.Hour
	MaxLife     = 2 * 365 * 24 * time.Hour
	// early is how long before now a certificate is valid already: clocks differ.
	early = 5 * time.Minute
)

// CA signs certificates of one trust domain.
type CA struct {
	Domain string
	cert   *x509.Certificate
	key    crypto.Signer
	pem    []byte
}

const (
	caCert = "ca.pem"
	caKey  = "ca.key"
)

// Init makes a CA for a trust domain in a directory, as ca.pem and ca.key; the
// directory is made if it is missing. It never overwrites.
func Init(dir, domain string, now time.Time) (*CA, error) {
	if err := CheckDomain(domain); err != nil {
		return nil, fmt.Errorf("pki init: %w", err)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	serial, err := newSerial()
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: "catchment CA " + domain},
		NotBefore:    now.Add(-early), NotAfter: now.Add(CALife),
		IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
		URIs:     []*url.URL{{Scheme: "spiffe", Host: domain}},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	keyPEM, err := encodeKey(key)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	if err := writePair(filepath.Join(dir, caCert), filepath.Join(dir, caKey), encodeCert(der), keyPEM); err != nil {
		return nil, err
	}
	return OpenCA(dir)
}

// OpenCA reads the CA of a directory.
func OpenCA(dir string) (*CA, error) {
	return LoadCA(filepath.Join(dir, caCert), filepath.Join(dir, caKey))
}

// LoadCA reads a CA. Its certificate names the trust domain as spiffe://DOMAIN.
func LoadCA(certFile, keyFile string) (*CA, error) {
	certs, err := readCerts(certFile)
	if err != nil {
		return nil, fmt.Errorf("CA: %w; make one by catchment pki init", err)
	}
	key, err := readKey(keyFile)
	if err != nil {
		return nil, fmt.Errorf("CA: %w", err)
	}
	cert := certs[0]
	public, ok := cert.PublicKey.(interface{ Equal(crypto.PublicKey) bool })
	switch {
	case !cert.IsCA:
		return nil, fmt.Errorf("CA: %s is no CA certificate", certFile)
	case !ok || !public.Equal(key.Public()):
		return nil, fmt.Errorf("CA: %s is not the key of %s", keyFile, certFile)
	case len(cert.URIs) != 1 || cert.URIs[0].Scheme != "spiffe" || cert.URIs[0].Path != "" || CheckDomain(cert.URIs[0].Host) != nil:
		return nil, fmt.Errorf("CA: %s does not name a trust domain (spiffe://DOMAIN)", certFile)
	}
	return &CA{Domain: cert.URIs[0].Host, cert: cert, key: key, pem: encodeCert(cert.Raw)}, nil
}

// PEM returns the CA's certificate.
func (ca *CA) PEM() []byte { return ca.pem }

// Order is a certificate to be made.
type Order struct {
	Kind Kind
	Name string
	// Role of a person; "": viewer.
	Role Role
	// Hosts are the DNS names and addresses at which a centre is reached.
	Hosts []string
	// Life is how long it is valid; 0: MachineLife or PersonLife.
	Life time.Duration
}

// Issue makes a key and a certificate and writes them to two files, the key for its
// owner only. It never overwrites: when either file is there, nothing is written.
func (ca *CA) Issue(o Order, certFile, keyFile string, now time.Time) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	certPEM, err := ca.certify(o, key.Public(), now)
	if err != nil {
		return err
	}
	keyPEM, err := encodeKey(key)
	if err != nil {
		return err
	}
	return writePair(certFile, keyFile, certPEM, keyPEM)
}

// certify makes a certificate of an order; after a centre's the CA's own follows,
// which a joining node finds by its token.
func (ca *CA) certify(o Order, public crypto.PublicKey, now time.Time) ([]byte, error) {
	template, err := ca.template(o, now)
	if err != nil {
		return nil, err
	}
	der, err := x509.CreateCertificate(rand.Reader, template, ca.cert, public, ca.key)
	if err != nil {
		return nil, err
	}
	certPEM := encodeCert(der)
	if o.Kind == Central {
		certPEM = append(certPEM, ca.pem...)
	}
	return certPEM, nil
}

func (ca *CA) template(o Order, now time.Time) (*x509.Certificate, error) {
	name := Name{Domain: ca.Domain, Kind: o.Kind, Name: o.Name}
	if err := name.Check(); err != nil {
		return nil, err
	}
	life, err := o.life()
	if err != nil {
		return nil, err
	}
	if end := now.Add(life); end.After(ca.cert.NotAfter) {
		return nil, fmt.Errorf("the CA ends at %s, before the certificate would; make a new CA, or order a shorter life", ca.cert.NotAfter.UTC().Format(time.RFC3339))
	}
	serial, err := newSerial()
	if err != nil {
		return nil, err
	}
	t := &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: o.Name},
		NotBefore:    now.Add(-early), NotAfter: now.Add(life),
		KeyUsage: x509.KeyUsageDigitalSignature, BasicConstraintsValid: true,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
		URIs:        []*url.URL{name.uri()},
	}
	if err := o.fill(t); err != nil {
		return nil, err
	}
	return t, nil
}

func (o Order) life() (time.Duration, error) {
	switch {
	case o.Life < 0 || o.Life > MaxLife:
		return 0, fmt.Errorf("a life of %v; at most %v", o.Life, MaxLife)
	case o.Life > 0:
		return o.Life, nil
	case o.Kind == NOC:
		return PersonLife, nil
	}
	return MachineLife, nil
}

// fill adds what only some kinds have: a person's role, a server's hosts.
func (o Order) fill(t *x509.Certificate) error {
	if o.Role != "" && o.Kind != NOC {
		return fmt.Errorf("a role is for the noc; %s/%s has none", o.Kind, o.Name)
	}
	if len(o.Hosts) > 0 && o.Kind != Central {
		return fmt.Errorf("hosts are for a centre; %s/%s has none", o.Kind, o.Name)
	}
	switch o.Kind {
	case NOC:
		role := o.Role
		if role == "" {
			role = Viewer
		}
		if ranks[role] == 0 {
			return fmt.Errorf("role %q is not viewer, operator or admin", role)
		}
		t.Subject.OrganizationalUnit = []string{string(role)}
	case Central:
		if len(o.Hosts) == 0 {
			return errors.New("a centre needs the names or addresses at which it is reached")
		}
		t.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
		for _, h := range o.Hosts {
			if ip := net.ParseIP(h); ip != nil {
				t.IPAddresses = append(t.IPAddresses, ip)
			} else {
				t.DNSNames = append(t.DNSNames, h)
			}
		}
	}
	return nil
}

func newSerial() (*big.Int, error) {
	n, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 126))
	if err != nil {
		return nil, err
	}
	return n.Add(n, big.NewInt(1)), nil // positive (RFC 5280, section 4.1.2.2)
}

func encodeCert(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

func encodeKey(key crypto.Signer) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil
}

func readKey(path string) (crypto.Signer, error) {
	text, err := readPEM(path)
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, fmt.Errorf("%s has no key in PEM", path)
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	signer, ok := key.(crypto.Signer)
	if !ok {
		return nil, fmt.Errorf("%s: a key that cannot sign", path)
	}
	return signer, nil
}
