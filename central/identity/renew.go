package identity

import (
	"bytes"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"fmt"
	"time"
)

// Renew replaces a certificate of this CA by one with the same name, role, hosts, key
// and length of life, from now on. The old one stays beside it as FILE.SERIAL. It
// may have expired. A new key takes a new certificate: see Issue.
func (ca *CA) Renew(certFile string, now time.Time) error {
	certs, err := readCerts(certFile)
	if err != nil {
		return err
	}
	old := certs[0]
	if err := old.CheckSignatureFrom(ca.cert); err != nil {
		return fmt.Errorf("%s is not from this CA: %w", certFile, err)
	}
	name, err := nameOf(old)
	if err != nil {
		return fmt.Errorf("%s: %w", certFile, err)
	}
	if name.Domain != ca.Domain {
		return fmt.Errorf("%s: %s is of another domain than %s", certFile, name, ca.Domain)
	}
	o := Order{Kind: name.Kind, Name: name.Name, Hosts: hostsOf(old), Life: old.NotAfter.Sub(old.NotBefore) - early}
	if name.Kind == NOC {
		if o.Role, err = roleOf(name, old); err != nil {
			return fmt.Errorf("%s: %w", certFile, err)
		}
	}
	certPEM, err := ca.certify(o, old.PublicKey, now)
	if err != nil {
		return fmt.Errorf("%s: %w", certFile, err)
	}
	return replace(certFile, certFile+"."+old.SerialNumber.Text(16), certPEM)
}

func hostsOf(c *x509.Certificate) []string {
	hosts := append([]string(nil), c.DNSNames...)
	for _, ip := range c.IPAddresses {
		hosts = append(hosts, ip.String())
	}
	return hosts
}

// Info is what catchment pki show tells of a certificate.
type Info struct {
	File string `json:"file"`
	// Name is the SPIFFE name; of a CA only its trust domain.
	Name        string    `json:"name"`
	Role        Role      `json:"role,omitempty"`
	CA          bool      `json:"ca"`
	Hosts       []string  `json:"hosts"`
	Serial      string    `json:"serial"`
	Issuer      string    `json:"issuer"`
	NotBefore   time.Time `json:"not_before"`
	NotAfter    time.Time `json:"not_after"`
	Fingerprint string    `json:"fingerprint"` // SHA-256 of the certificate
	// Problem says what is wrong with it at the moment; "": nothing.
	Problem string `json:"problem"`
}

// Show describes each certificate of a file.
func Show(file string, now time.Time) ([]Info, error) {
	certs, err := readCerts(file)
	if err != nil {
		return nil, err
	}
	infos := make([]Info, len(certs))
	for i, c := range certs {
		sum := sha256.Sum256(c.Raw)
		infos[i] = Info{File: file, CA: c.IsCA, Hosts: append([]string{}, hostsOf(c)...), Serial: c.SerialNumber.Text(16),
			Issuer: c.Issuer.String(), NotBefore: c.NotBefore, NotAfter: c.NotAfter, Fingerprint: hex.EncodeToString(sum[:])}
		infos[i].describe(c, now)
	}
	return infos, nil
}

func (i *Info) describe(c *x509.Certificate, now time.Time) {
	switch {
	case now.After(c.NotAfter):
		i.Problem = "it has expired; catchment pki renew"
	case now.Before(c.NotBefore):
		i.Problem = "it is not valid yet; check the clock"
	}
	if c.IsCA {
		if len(c.URIs) == 1 {
			i.Name = c.URIs[0].String()
		}
		return
	}
	name, err := nameOf(c)
	if err != nil {
		i.Problem = err.Error()
		return
	}
	i.Name = name.String()
	if name.Kind == Central {
		return
	}
	if i.Role, err = roleOf(name, c); err != nil {
		i.Problem = err.Error()
	}
}

// Fingerprint identifies the CA's key in join tokens.
func (ca *CA) Fingerprint() []byte { return fingerprint(ca.cert) }

func fingerprint(c *x509.Certificate) []byte {
	sum := sha256.Sum256(c.RawSubjectPublicKeyInfo)
	return sum[:]
}

func isCA(c *x509.Certificate, want []byte) bool {
	return c.IsCA && bytes.Equal(fingerprint(c), want)
}
