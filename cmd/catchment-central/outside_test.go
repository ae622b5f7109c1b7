package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
	"github.com/catchment-bgp/catchment/central/identity"
	"github.com/catchment-bgp/catchment/lab/netlab"
)

// patience bounds every wait.
const patience = time.Minute

const domain = "example.net"

// outside is a centre with TLS, as strangers see it: a process at two addresses.
type outside struct {
	t            *testing.T
	dir          string
	ca           *identity.CA
	listen, web  string
	daemon       *exec.Cmd
	logs         bytes.Buffer
	client       *http.Client // without a certificate
	admin        centralv1.FleetClient
	rootsOfOurCA *x509.CertPool
}

// host is an address of this machine that others could reach; without one loopback.
func host(t *testing.T) string {
	t.Helper()
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range addrs {
		if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil && !n.IP.IsLoopback() && !n.IP.IsLinkLocalUnicast() {
			return n.IP.String()
		}
	}
	return "127.0.0.1"
}

// startOutside makes a CA and starts the centre. more is added to its configuration.
func startOutside(t *testing.T, more string, env ...string) *outside {
	t.Helper()
	o := &outside{t: t, dir: t.TempDir()}
	at := host(t)
	o.listen, o.web = net.JoinHostPort(at, portOf(freePort(t))), net.JoinHostPort(at, portOf(freePort(t)))
	var err error
	if o.ca, err = identity.Init(o.path("pki"), domain, time.Now()); err != nil {
		t.Fatal(err)
	}
	o.issue(o.ca, identity.Order{Kind: identity.Central, Name: "c1", Hosts: []string{at, "localhost", "127.0.0.1"}}, "central", time.Now())
	o.rootsOfOurCA = x509.NewCertPool()
	o.rootsOfOurCA.AppendCertsFromPEM(o.ca.PEM())
	config := fmt.Sprintf("listen: %q\nhttp: %q\ndata: store\ntls: {ca: pki/ca.pem, cert: central.pem, key: central.key}\ndomain: %s\npki: pki\nasn: 57629\n%s",
		o.listen, o.web, domain, more)
	if err := os.WriteFile(o.path("central.yaml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	o.client = o.browser(nil)
	o.start(env...)
	o.admin = centralv1.NewFleetClient(o.dial(o.files(o.ca, identity.Order{Kind: identity.NOC, Name: "anna", Role: identity.Admin}, "anna", time.Now())))
	return o
}

func portOf(address string) string {
	_, port, _ := net.SplitHostPort(address) // it was made by net
	return port
}

func (o *outside) path(name string) string { return filepath.Join(o.dir, name) }

// start starts the daemon and waits until it is ready.
func (o *outside) start(env ...string) {
	o.t.Helper()
	o.daemon = exec.Command(netlab.Binary(o.t, "./cmd/catchment-central"), "--config", o.path("central.yaml"))
	o.daemon.Env, o.daemon.Stderr = append(os.Environ(), env...), &o.logs
	if err := o.daemon.Start(); err != nil {
		o.t.Fatal(err)
	}
	daemon := o.daemon
	o.t.Cleanup(func() {
		_ = daemon.Process.Kill() // it may have ended
		_ = daemon.Wait()
		if o.t.Failed() {
			o.t.Log(o.logs.String())
		}
	})
	netlab.Eventually(o.t, patience, "the centre", func() error {
		answer, err := o.client.Get("https://" + o.web + "/readyz")
		if err != nil {
			return err
		}
		_ = answer.Body.Close() // its status is what counts
		if answer.StatusCode != http.StatusOK {
			return fmt.Errorf("%s", answer.Status)
		}
		return nil
	})
}

// stop ends the daemon as systemd does.
func (o *outside) stop() {
	o.t.Helper()
	if err := o.daemon.Process.Signal(syscall.SIGTERM); err != nil {
		o.t.Fatal(err)
	}
	if err := o.daemon.Wait(); err != nil {
		o.t.Errorf("the centre ends with %v", err)
	}
}

func (o *outside) issue(ca *identity.CA, order identity.Order, name string, now time.Time) {
	o.t.Helper()
	if err := ca.Issue(order, o.path(name+".pem"), o.path(name+".key"), now); err != nil {
		o.t.Fatal(err)
	}
}

// files issues a certificate and opens it.
func (o *outside) files(ca *identity.CA, order identity.Order, name string, now time.Time) *identity.Files {
	o.t.Helper()
	o.issue(ca, order, name, now)
	return o.open(name)
}

func (o *outside) open(name string) *identity.Files {
	o.t.Helper()
	f, err := identity.Open(identity.Paths{CA: o.path("pki/ca.pem"), Cert: o.path(name + ".pem"), Key: o.path(name + ".key")}, nil)
	if err != nil {
		o.t.Fatal(err)
	}
	return f
}

// anonymous is TLS without a certificate.
func (o *outside) anonymous() *tls.Config { return &tls.Config{RootCAs: o.rootsOfOurCA} }

func (o *outside) dial(f *identity.Files) *grpc.ClientConn {
	o.t.Helper()
	c := credentials.NewTLS(o.anonymous())
	if f != nil {
		c = identity.ClientCredentials(f)
	}
	return o.dialWith(c)
}

func (o *outside) dialWith(c credentials.TransportCredentials) *grpc.ClientConn {
	o.t.Helper()
	conn, err := grpc.NewClient(o.listen, grpc.WithTransportCredentials(c))
	if err != nil {
		o.t.Fatal(err)
	}
	o.t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func (o *outside) browser(f *identity.Files) *http.Client {
	o.t.Helper()
	secure := o.anonymous()
	if f != nil {
		var err error
		if secure, err = f.ClientTLS(); err != nil {
			o.t.Fatal(err)
		}
	}
	transport := &http.Transport{TLSClientConfig: secure}
	o.t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: patience}
}

// ask sends a request and returns the status.
func (o *outside) ask(client *http.Client, method, path, body string) (int, string) {
	o.t.Helper()
	ctx, cancel := context.WithTimeout(o.t.Context(), patience)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, "https://"+o.web+path, strings.NewReader(body))
	if err != nil {
		o.t.Fatal(err)
	}
	answer, err := client.Do(r)
	if err != nil {
		o.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		o.t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

// counted is how many denials the centre's metrics tell of, by reason.
func (o *outside) counted() map[string]int {
	o.t.Helper()
	_, text := o.ask(o.client, "GET", "/metrics", "")
	out := map[string]int{}
	for _, m := range regexp.MustCompile(`(?m)^catchment_central_denials_total\{reason="(\w+)"\} (\d+)$`).FindAllStringSubmatch(text, -1) {
		n, err := strconv.Atoi(m[2])
		if err != nil {
			o.t.Fatal(err)
		}
		out[m[1]] = n
	}
	return out
}

// memory is how much of it the daemon has, in bytes.
func (o *outside) memory() int {
	o.t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", o.daemon.Process.Pid))
	if err != nil {
		o.t.Fatal(err)
	}
	m := regexp.MustCompile(`VmRSS:\s+(\d+) kB`).FindSubmatch(text)
	if m == nil {
		o.t.Fatalf("no VmRSS in %s", text)
	}
	kb, err := strconv.Atoi(string(m[1]))
	if err != nil {
		o.t.Fatal(err)
	}
	return kb << 10
}

// catchment runs the command line with a certificate.
func (o *outside) catchment(cert string, args ...string) (string, int) {
	o.t.Helper()
	ctx, cancel := context.WithTimeout(o.t.Context(), patience)
	defer cancel()
	args = append([]string{"--central", o.listen, "--ca", o.path("pki/ca.pem"), "--cert", o.path(cert + ".pem"), "--key", o.path(cert + ".key")}, args...)
	cmd := exec.CommandContext(ctx, netlab.Binary(o.t, "./cmd/catchment"), args...)
	out, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState == nil {
		o.t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}
