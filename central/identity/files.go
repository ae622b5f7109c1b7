package identity

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"time"
)

// Paths are where a certificate, its key and the CAs to trust lie, as PEM.
type Paths struct{ CA, Cert, Key string }

// Files are certificates that are read again when they change. Each handshake looks
// whether they have. A change that cannot be read leaves what was read before in
// force. Files is safe for use by several goroutines.
type Files struct {
	paths Paths
	told  func(error)

	mu     sync.Mutex
	seen   [3]stamp
	loaded loaded
}

// loaded is what was read.
type loaded struct {
	pair tls.Certificate
	pool *x509.CertPool
	ends time.Time // of the first CA to end
}

// stamp tells one version of a file from another.
type stamp struct {
	modified time.Time
	size     int64
	info     fs.FileInfo
}

func (s stamp) same(o stamp) bool {
	return s.modified.Equal(o.modified) && s.size == o.size && (s.info == nil) == (o.info == nil) &&
		(s.info == nil || os.SameFile(s.info, o.info))
}

// Open reads the files. Errors name the file and what to do. told is called, from a
// handshake, for each change that cannot be used and with nil for one that can; it
// may be nil.
func Open(p Paths, told func(error)) (*Files, error) {
	f := &Files{paths: p, told: told}
	f.seen = f.stamps()
	var err error
	if f.loaded, err = read(p); err != nil {
		return nil, err
	}
	return f, nil
}

func (f *Files) stamps() [3]stamp {
	var s [3]stamp
	for i, path := range []string{f.paths.CA, f.paths.Cert, f.paths.Key} {
		if info, err := os.Stat(path); err == nil {
			s[i] = stamp{info.ModTime(), info.Size(), info}
		}
	}
	return s
}

// now returns the files as they are.
func (f *Files) now() loaded {
	f.mu.Lock()
	defer f.mu.Unlock()
	stamps := f.stamps()
	if stamps[0].same(f.seen[0]) && stamps[1].same(f.seen[1]) && stamps[2].same(f.seen[2]) {
		return f.loaded
	}
	f.seen = stamps
	l, err := read(f.paths)
	if err == nil {
		f.loaded = l
	}
	if f.told != nil {
		f.told(err)
	}
	return f.loaded
}

func (f *Files) pool() (*x509.CertPool, error) {
	pool := f.now().pool
	if pool == nil {
		return nil, errors.New("no CA certificates")
	}
	return pool, nil
}

// NotAfter is when the certificate in force ends: worth a metric and an alert.
func (f *Files) NotAfter() time.Time {
	if leaf := f.now().pair.Leaf; leaf != nil {
		return leaf.NotAfter
	}
	return time.Time{}
}

// CANotAfter is when the first of the CA certificates in force ends.
func (f *Files) CANotAfter() time.Time { return f.now().ends }

func read(p Paths) (loaded, error) {
	pool, ends, err := readPool(p.CA)
	if err != nil {
		return loaded{}, err
	}
	pair, err := tls.LoadX509KeyPair(p.Cert, p.Key)
	if err != nil {
		return loaded{}, fmt.Errorf("certificate %s with key %s: %w", p.Cert, p.Key, err)
	}
	return loaded{pair: pair, pool: pool, ends: ends}, nil
}

func readPool(path string) (pool *x509.CertPool, ends time.Time, err error) {
	certs, err := readCerts(path)
	if err != nil {
		return nil, ends, err
	}
	pool = x509.NewCertPool()
	for _, c := range certs {
		if !c.IsCA {
			return nil, ends, fmt.Errorf("%s: %s is no CA certificate", path, c.Subject)
		}
		pool.AddCert(c)
		if ends.IsZero() || c.NotAfter.Before(ends) {
			ends = c.NotAfter
		}
	}
	return pool, ends, nil
}

// readCerts reads the certificates of a PEM file; none is an error.
func readCerts(path string) ([]*x509.Certificate, error) {
	text, err := readPEM(path)
	if err != nil {
		return nil, err
	}
	var certs []*x509.Certificate
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" {
			continue
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		certs = append(certs, c)
	}
	if len(certs) == 0 {
		return nil, fmt.Errorf("%s has no certificate in PEM", path)
	}
	return certs, nil
}

// ServerTLS is for listeners. It asks callers for a certificate and leaves the
// judgement to the Gate, which can say what is wrong and count it: never serve with
// it what is not behind a Gate.
func (f *Files) ServerTLS() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13,
		ClientAuth: tls.RequestClientCert,
		NextProtos: []string{"h2", "http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			pair := f.now().pair
			return &pair, nil
		},
	}
}

// ClientTLS is for one connection to a centre, with the files as they are now. The
// server's name is to be set by who dials.
func (f *Files) ClientTLS() (*tls.Config, error) {
	l := f.now()
	return &tls.Config{
		MinVersion: tls.VersionTLS13,
		RootCAs:    l.pool,
		// Sent even if the server does not seem to know its CA, or if it has expired:
		// the answer says so in words.
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &l.pair, nil },
	}, nil
}

// longestPEM bounds a file with certificates or a key.
const longestPEM = 1 << 20

// readPEM reads a regular file: a pipe or a device could block or never end.
func readPEM(path string) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is no regular file", path)
	case info.Size() > longestPEM:
		return nil, fmt.Errorf("%s has %d octets, more than any certificate or key", path, info.Size())
	}
	return os.ReadFile(path)
}
