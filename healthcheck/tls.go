package healthcheck

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/netip"
)

// TLS says how a server's certificate is judged. The zero value: by the
// system's authorities, for the host that was connected to.
type TLS struct {
	// CA are the authorities' certificates, PEM; empty: the system's.
	CA string
	// CAFile is where CA was read from. It is for those who print a Check; this
	// package reads no file.
	CAFile string
	// ServerName is the TLS name (SNI) that the certificate must be for; empty: the
	// host that was connected to.
	ServerName string
	// InsecureSkipVerify accepts any certificate.
	InsecureSkipVerify bool
}

// withoutZone is a host as others call it: the zone of a link-local address is
// known on this machine only (RFC 6874, section 4).
func withoutZone(host string) string {
	if a, err := netip.ParseAddr(host); err == nil {
		return a.WithZone("").String()
	}
	return host
}

// config is for connections to host that speak the ALPN protocol. The error is
// about CA.
func (t TLS) config(host, protocol string) (*tls.Config, error) {
	c := &tls.Config{ServerName: t.ServerName, InsecureSkipVerify: t.InsecureSkipVerify, NextProtos: []string{protocol}}
	if c.ServerName == "" {
		c.ServerName = withoutZone(host)
	}
	if t.CA == "" {
		return c, nil
	}
	if t.InsecureSkipVerify {
		return nil, errors.New("insecure_skip_verify takes any certificate: remove one of the two")
	}
	c.RootCAs = x509.NewCertPool()
	if !c.RootCAs.AppendCertsFromPEM([]byte(t.CA)) {
		return nil, errors.New("no certificate in it: write a file of PEM certificates (-----BEGIN CERTIFICATE-----)")
	}
	return c, nil
}
