package healthcheck

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
)

// newHealthServer serves the health protocol: the server as a whole is SERVING.
func newHealthServer(t testing.TB, options ...grpc.ServerOption) (address string, set func(service string, serving bool)) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server, states := grpc.NewServer(options...), health.NewServer()
	grpc_health_v1.RegisterHealthServer(server, states)
	serve(t, server, l)
	return l.Addr().String(), func(service string, serving bool) {
		states.SetServingStatus(service, map[bool]grpc_health_v1.HealthCheckResponse_ServingStatus{
			true: grpc_health_v1.HealthCheckResponse_SERVING, false: grpc_health_v1.HealthCheckResponse_NOT_SERVING,
		}[serving])
	}
}

func serve(t testing.TB, server *grpc.Server, l net.Listener) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		server.Serve(l)
	}()
	t.Cleanup(func() {
		server.Stop()
		<-done
	})
}

func grpcCheck(g GRPC) Check {
	return Check{Name: "grpc", GRPC: &g, Interval: 20 * time.Second, Timeout: 10 * time.Second, Rise: 1, Fall: 2}
}

func TestGRPCProbe(t *testing.T) {
	address, set := newHealthServer(t)
	set("video", true)
	set("broken", false)
	for _, c := range []struct {
		name, service, want string
	}{
		{"the server as a whole", "", ""},
		{"a service that is SERVING passes", "video", ""},
		{"one that is not fails", "broken", "status NOT_SERVING, want SERVING"},
		{"an unknown one fails", "audio", `the server knows no service "audio"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := oneProbe(t, grpcCheck(GRPC{Address: address, Service: c.service})); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
	set("video", false)
	if got := oneProbe(t, grpcCheck(GRPC{Address: address, Service: "video"})); got != "status NOT_SERVING, want SERVING" {
		t.Errorf("after a change: %q", got)
	}
}

func TestGRPCOnServersThatAreNone(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	serve(t, grpc.NewServer(), l)
	web := httptest.NewServer(http.NotFoundHandler())
	defer web.Close()
	ssh := newService(t, answer("SSH-2.0-OpenSSH_9.2\r\n"))
	closing := newService(t, func(net.Conn) {})
	gone := newService(t, hold)
	gone.stop()
	for _, c := range []struct{ name, address, want string }{
		{"no health service", l.Addr().String(), "the server has no grpc.health.v1.Health"},
		{"HTTP/1.1", web.Listener.Addr().String(), "Unavailable: "},
		{"something else", ssh.address, "Unavailable: "},
		{"one that closes", closing.address, "Unavailable: "},
		{"nobody", gone.address, "connection refused"},
	} {
		got := oneProbe(t, grpcCheck(GRPC{Address: c.address}))
		t.Logf("%s: %s", c.name, got)
		if !strings.HasPrefix(got, c.want) || got == "" {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// U19, for gRPC.
func TestGRPCHungIsFailed(t *testing.T) {
	silent := newService(t, hold)
	mute := newService(t, answer("\x00\x00\x00\x04\x00\x00\x00\x00\x00")) // SETTINGS, and nothing more
	for name, g := range map[string]GRPC{
		"silent":           {Address: silent.address},
		"silent after TCP": {Address: silent.address, TLS: &TLS{}},
		"no answer":        {Address: mute.address},
		"no connection":    {Address: blackHole(t)},
	} {
		check := grpcCheck(g)
		check.Timeout = 100 * time.Millisecond
		began := time.Now()
		if got := oneProbe(t, check); got != "timeout after 100ms" {
			t.Errorf("%s: %q, want a timeout", name, got)
		}
		if took := time.Since(began); took > 3*time.Second {
			t.Errorf("%s: took %v", name, took)
		}
	}
}

// authority makes a certificate for localhost and 127.0.0.1, by itself, and its
// PEM text.
func authority(t testing.TB) (tls.Certificate, string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		DNSNames: []string{"example.com"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key},
		string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

func TestGRPCOverTLS(t *testing.T) {
	certificate, pemText := authority(t)
	address, _ := newHealthServer(t, grpc.Creds(credentials.NewServerTLSFromCert(&certificate)))
	plainText, _ := newHealthServer(t)
	_, other := authority(t)
	noHTTP2 := httptest.NewUnstartedServer(http.NotFoundHandler())
	noHTTP2.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}, NextProtos: []string{"mqtt"}}
	noHTTP2.Config.ErrorLog = discard
	noHTTP2.StartTLS()
	defer noHTTP2.Close()
	for _, c := range []struct {
		name, address string
		tls           *TLS
		want          string
	}{
		{"the right authority passes", address, &TLS{CA: pemText}, ""},
		{"ServerName is verified", address, &TLS{CA: pemText, ServerName: "example.com"}, ""},
		{"any certificate, where any will do", address, &TLS{InsecureSkipVerify: true}, ""},
		{"an unknown authority fails", address, &TLS{}, "tls: failed to verify certificate: x509: certificate signed by unknown authority"},
		{"another authority fails", address, &TLS{CA: other}, "tls: failed to verify certificate: x509: certificate signed by unknown authority"},
		{"another name fails", address, &TLS{CA: pemText, ServerName: "example.org"},
			"tls: failed to verify certificate: x509: certificate is valid for example.com, not example.org"},
		{"TLS to a server without", plainText, &TLS{CA: pemText}, "tls: first record does not look like a TLS handshake"},
		{"no HTTP/2", noHTTP2.Listener.Addr().String(), &TLS{CA: pemText}, "remote error: tls: no application protocol"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := oneProbe(t, grpcCheck(GRPC{Address: c.address, TLS: c.tls}))
			if !strings.HasPrefix(got, c.want) || (got == "") != (c.want == "") {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
	if got := oneProbe(t, grpcCheck(GRPC{Address: address})); got == "" {
		t.Error("a probe without TLS passes at a server with")
	}
}

func TestGRPCUsesAConnectionPerProbeAndLeavesNone(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	counted := &countingListener{Listener: l, ended: make(chan struct{}, 10)}
	server := grpc.NewServer()
	grpc_health_v1.RegisterHealthServer(server, health.NewServer())
	serve(t, server, counted)
	checker, err := New(grpcCheck(GRPC{Address: l.Addr().String()}))
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := checker.attempt(t.Context()); err != nil {
			t.Fatal(err)
		}
		select {
		case <-counted.ended:
		case <-time.After(patience):
			t.Fatal("the connection stays open")
		}
	}
	select {
	case <-counted.ended:
		t.Error("more connections than probes")
	default:
	}
}

// countingListener tells of the end of each connection.
type countingListener struct {
	net.Listener
	ended chan struct{}
}

func (l *countingListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &countedConn{Conn: conn, ended: l.ended}, nil
}

type countedConn struct {
	net.Conn
	ended chan struct{}
	told  bool
}

// Read tells of the client's end once, be it a FIN or, with something unread, a
// RST; only the server's reader calls it.
func (c *countedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if err != nil && !errors.Is(err, net.ErrClosed) && !c.told {
		c.told = true
		c.ended <- struct{}{}
	}
	return n, err
}

func TestNewRefusesBadGRPC(t *testing.T) {
	for want, g := range map[string]GRPC{
		`grpc.address: "h" is not host:port: write for example 127.0.0.1:80 or [::1]:80`:                     {Address: "h"},
		`grpc.ca_file: no certificate in it: write a file of PEM certificates (-----BEGIN CERTIFICATE-----)`: {Address: "h:1", TLS: &TLS{CA: "x"}},
		`grpc.ca_file: insecure_skip_verify takes any certificate: remove one of the two`:                    {Address: "h:1", TLS: &TLS{CA: "x", InsecureSkipVerify: true}},
	} {
		refusedWith(t, grpcCheck(g), want)
	}
}

func TestGRPCHandshakeIsDoneByTheProbe(t *testing.T) {
	h := handshaken{}
	if _, _, err := h.ServerHandshake(nil); err == nil {
		t.Error("a client's credentials serve")
	}
	if h.OverrideServerName("x") == nil {
		t.Error("the name of a past handshake changes")
	}
	_, info, err := h.ClientHandshake(context.Background(), "", nil)
	if err != nil || info.AuthType() != "tls" || h.Clone().Info().SecurityProtocol != "tls" {
		t.Errorf("not TLS: %v %v", info, err)
	}
}

// A link-local address needs its zone, which is nobody else's to know.
func TestZonesAreForTheKernelAlone(t *testing.T) {
	l, err := net.Listen("tcp", "[::1]:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer(grpc.UnaryInterceptor(func(ctx context.Context, r any, _ *grpc.UnaryServerInfo, h grpc.UnaryHandler) (any, error) {
		if m, _ := metadata.FromIncomingContext(ctx); strings.Contains(strings.Join(m[":authority"], ""), "%") {
			return nil, fmt.Errorf("authority %v", m[":authority"])
		}
		return h(ctx, r)
	}))
	grpc_health_v1.RegisterHealthServer(server, health.NewServer())
	serve(t, server, l)
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if got := oneProbe(t, grpcCheck(GRPC{Address: "[::1%lo]:" + port})); got != "" {
		t.Error(got)
	}
	for host, want := range map[string]string{"fe80::1%eth0": "fe80::1", "192.0.2.1": "192.0.2.1", "video.example": "video.example"} {
		if c, err := (TLS{}).config(host, "h2"); err != nil || c.ServerName != want {
			t.Errorf("%s: %+v, %v; want the name %s", host, c, err, want)
		}
	}
}
