package identity

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"os"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
)

// Join gives this machine a key, a certificate and the CA's certificate by a token,
// and writes them to three new files. It returns the name under which the machine
// has joined. The key never leaves the machine. When a file is there already the
// token is not used up.
func Join(ctx context.Context, address, token, node string, p Paths) (Name, error) {
	for _, path := range []string{p.CA, p.Cert, p.Key} {
		if _, err := os.Lstat(path); err == nil {
			return Name{}, fmt.Errorf("%s is there already, and is not overwritten; move it away first", path)
		}
	}
	csr, keyPEM, err := NewRequest(node)
	if err != nil {
		return Name{}, err
	}
	certPEM, caPEM, err := exchange(ctx, address, token, csr)
	if err != nil {
		return Name{}, err
	}
	name, err := checkJoined(certPEM, keyPEM, caPEM, node)
	if err != nil {
		return Name{}, fmt.Errorf("the centre's answer is of no use: %w", err)
	}
	if err := writePair(p.Cert, p.Key, certPEM, keyPEM); err != nil {
		return Name{}, err
	}
	if err := WriteCert(p.CA, caPEM); err != nil {
		return Name{}, errors.Join(err, os.Remove(p.Cert), os.Remove(p.Key))
	}
	return name, nil
}

// exchange sends the request and returns the certificate and the CA that the token
// names.
func exchange(ctx context.Context, address, token string, csr []byte) (certPEM, caPEM []byte, err error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, nil, fmt.Errorf("address %q: %w", address, err)
	}
	found := make(chan []byte, 1)
	cfg, err := JoinTLS(token, host, func(pem []byte) {
		select {
		case found <- pem:
		default:
		}
	})
	if err != nil {
		return nil, nil, err
	}
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(credentials.NewTLS(cfg)), grpc.WithDisableServiceConfig())
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = conn.Close() }()
	answer, err := centralv1.NewEdgesClient(conn).Join(ctx, &centralv1.JoinRequest{Token: token, Csr: csr})
	if err != nil {
		return nil, nil, err
	}
	select {
	case caPEM = <-found:
		return answer.GetCertificate(), caPEM, nil
	default:
		return nil, nil, errors.New("no CA was seen in the handshake")
	}
}

// checkJoined returns the name in a certificate that is good for the key and from
// the CA.
func checkJoined(certPEM, keyPEM, caPEM []byte, node string) (Name, error) {
	pair, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		return Name{}, err
	}
	block, _ := pem.Decode(caPEM)
	if block == nil {
		return Name{}, errors.New("no CA")
	}
	ca, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return Name{}, err
	}
	if err := pair.Leaf.CheckSignatureFrom(ca); err != nil {
		return Name{}, err
	}
	name, err := nameOf(pair.Leaf)
	if err != nil {
		return Name{}, err
	}
	if name.Kind != Edge || name.Name != node {
		return Name{}, fmt.Errorf("it is for %s", name)
	}
	return name, nil
}
