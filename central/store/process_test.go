package store

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/transport"
	"go.etcd.io/etcd/server/v3/embed"
)

// process is a copy of the test binary in another role.
type process struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Scanner
	errors *strings.Builder
}

// spawn starts a copy of the test binary; it ends with the test.
func spawn(t *testing.T, role string, args ...string) *process {
	t.Helper()
	p := &process{cmd: exec.Command(os.Args[0], args...), errors: new(strings.Builder)}
	p.cmd.Env = append(os.Environ(), roleVariable+"="+role)
	p.cmd.Stderr = p.errors
	in, err := p.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.in, p.out = in, bufio.NewScanner(out)
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.kill)
	return p
}

// kill ends the process as SIGKILL does, and waits for it.
func (p *process) kill() {
	p.cmd.Process.Kill()
	p.cmd.Wait()
}

// line returns the next line that the process writes.
func (p *process) line(t *testing.T) string {
	t.Helper()
	if !p.out.Scan() {
		p.cmd.Wait()
		t.Fatalf("the process ended: %s", p.errors)
	}
	return p.out.Text()
}

// cluster is three etcd members that are processes of their own.
type cluster struct {
	members   []*process
	endpoints []string
	tls       *tls.Config
}

// startCluster starts three members with TLS, for clients and among themselves.
func startCluster(t *testing.T) *cluster {
	t.Helper()
	dir := t.TempDir()
	c := &cluster{tls: writeCertificates(t, dir)}
	var peers []string
	ports := freePorts(t, 6)
	for i := range 3 {
		c.endpoints = append(c.endpoints, fmt.Sprintf("https://127.0.0.1:%d", ports[i]))
		peers = append(peers, fmt.Sprintf("m%d=https://127.0.0.1:%d", i, ports[3+i]))
	}
	for i := range 3 {
		_, peer, _ := strings.Cut(peers[i], "=")
		c.members = append(c.members, spawn(t, "member", dir, fmt.Sprintf("m%d", i), c.endpoints[i], peer, strings.Join(peers, ",")))
	}
	for _, m := range c.members {
		if got := m.line(t); got != "ready" {
			t.Fatalf("a member said %q", got)
		}
	}
	return c
}

// open returns the store in the cluster.
func (c *cluster) open(t *testing.T) *Etcd {
	t.Helper()
	s, err := Dial(t.Context(), c.endpoints, c.tls, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// runMember is one etcd member: DIR NAME CLIENT-URL PEER-URL CLUSTER.
func runMember() error {
	args := os.Args[1:]
	c := embed.NewConfig()
	c.Name, c.Dir = args[1], filepath.Join(args[0], args[1])
	client, err := url.Parse(args[2])
	if err != nil {
		return err
	}
	peer, err := url.Parse(args[3])
	if err != nil {
		return err
	}
	c.ListenClientUrls, c.AdvertiseClientUrls = []url.URL{*client}, []url.URL{*client}
	c.ListenPeerUrls, c.AdvertisePeerUrls = []url.URL{*peer}, []url.URL{*peer}
	c.InitialCluster = args[4]
	c.LogLevel = "fatal"
	c.ClientTLSInfo = transport.TLSInfo{
		CertFile: filepath.Join(args[0], "cert.pem"), KeyFile: filepath.Join(args[0], "key.pem"),
		TrustedCAFile: filepath.Join(args[0], "ca.pem"), ClientCertAuth: true,
	}
	c.PeerTLSInfo = c.ClientTLSInfo
	e, err := embed.StartEtcd(c)
	if err != nil {
		return err
	}
	<-e.Server.ReadyNotify()
	fmt.Println("ready")
	io.Copy(io.Discard, os.Stdin) // until the test ends
	return nil
}

// freePorts returns TCP ports of 127.0.0.1 that nothing listened at.
func freePorts(t *testing.T, n int) []int {
	t.Helper()
	var ports []int
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports
}

// writeCertificates writes ca.pem, and cert.pem with key.pem for both ends of
// every connection, to dir, and returns a client's configuration.
func writeCertificates(t *testing.T, dir string) *tls.Config {
	t.Helper()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test CA"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	caKey, ca := sign(t, template, template, nil)
	key, cert := sign(t, &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "member"},
		NotBefore: template.NotBefore, NotAfter: template.NotAfter, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}, template, caKey)
	keyBytes, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for name, block := range map[string]*pem.Block{
		"ca.pem":   {Type: "CERTIFICATE", Bytes: ca},
		"cert.pem": {Type: "CERTIFICATE", Bytes: cert},
		"key.pem":  {Type: "PRIVATE KEY", Bytes: keyBytes},
	} {
		if err := os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	pair, err := tls.LoadX509KeyPair(filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem"))
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	parsed, err := x509.ParseCertificate(ca)
	if err != nil {
		t.Fatal(err)
	}
	roots.AddCert(parsed)
	return &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{pair}}
}

// sign makes a key and a certificate for it.
func sign(t *testing.T, template, parent *x509.Certificate, parentKey *ecdsa.PrivateKey) (*ecdsa.PrivateKey, []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if parentKey == nil {
		parentKey = key
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, parentKey)
	if err != nil {
		t.Fatal(err)
	}
	return key, cert
}

// openDir returns the embedded store in a directory.
func openDir(t *testing.T, dir string) *Etcd {
	t.Helper()
	s, err := OpenEmbedded(t.Context(), dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// runOpener opens the store in a directory, says so, and closes it when its
// standard input ends: DIR.
func runOpener() error {
	startWithin = 3 * time.Second
	s, err := OpenEmbedded(context.Background(), os.Args[1], Options{})
	if err != nil {
		return err
	}
	fmt.Println("open")
	io.Copy(io.Discard, os.Stdin)
	return s.Close()
}

// runFiller writes documents and prints the number of each one that was
// acknowledged, with no regard to free space, until there is an error: DIR.
func runFiller() error {
	s, err := OpenEmbedded(context.Background(), os.Args[1], Options{MinFree: -1})
	if err != nil {
		return err
	}
	value := []byte(`"` + strings.Repeat("x", 300<<10) + `"`)
	for n := 0; ; n++ {
		if _, err := s.Commit(context.Background(), nil, []Op{{fmt.Sprintf("k%04d", n), value}}); err != nil {
			return err
		}
		fmt.Println(n)
	}
}
