package config

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/catchment-bgp/catchment/policy/fleet"
)

// Config is what a centre is to do. All paths are absolute.
type Config struct {
	// Listen is the address of gRPC, HTTP that of JSON and metrics (empty: none).
	Listen, HTTP string
	// Data is the directory of the store, of an embedded one; else empty.
	Data string
	// Etcd is the cluster that keeps the store; nil: embedded.
	Etcd *Etcd
	// TLS is the centre's own certificate; nil: plain text, on loopback only.
	TLS *TLS
	// Domain is the trust domain of all names in certificates.
	Domain string
	// PKI is the folder of the CA that nodes join with; empty: none can.
	PKI string
	// Roles gives callers, as KIND/NAME, another role than their certificate.
	Roles map[string]string
	// ASN is ours; 0: that of the nodes.
	ASN uint32
	// AuditKeep is how long audit records are kept; 0: for ever.
	AuditKeep time.Duration
	// Services has the limits, by service.
	Services map[string]fleet.Limits
	// Registry are the files that document our communities.
	Registry []string
	// Landing says which share of what a node sheds lands on which other; nil: not known.
	Landing fleet.Landing
	// BMP is how the fleet is seen from outside; nil: not at all.
	BMP *BMP
	// Web is about the page.
	Web Web
}

// Etcd is an external cluster.
type Etcd struct {
	Endpoints []string // https://HOST:PORT
	TLS       *TLS     // nil: plain text
}

// TLS names the files of a certificate, as PEM.
type TLS struct{ CA, Cert, Key string }

// maxBytes bounds the file.
const maxBytes = 1 << 20

// Load reads a file. It returns Errors, or the error of reading it. Relative paths
// in the file start at the file's own folder.
func Load(path string) (*Config, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("config: %w", err)
	}
	defer f.Close() // it was only read
	data, err := io.ReadAll(io.LimitReader(f, maxBytes+1))
	if err != nil {
		return nil, fmt.Errorf("config: %w", err)
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("config: %w", err)
	}
	return Parse(path, data, filepath.Dir(abs))
}

// Parse is Load for a text that was read already; name stands for the file in
// errors, and relative paths start at dir.
func Parse(name string, data []byte, dir string) (*Config, error) {
	c := &checker{file: name, dir: dir, lines: map[string]int{}}
	cfg := c.parse(data)
	if len(c.errs) > 0 {
		c.errs.Sort()
		return nil, c.errs
	}
	return cfg, nil
}
