package main

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
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
	"github.com/catchment-bgp/catchment/central/identity"
	"github.com/catchment-bgp/catchment/lab/netlab"
)

// signed has our CA sign what catchment pki never would: any URIs, or none.
func (o *outside) signed(name string, uris ...string) *identity.Files {
	o.t.Helper()
	pair, err := tls.LoadX509KeyPair(o.path("pki/ca.pem"), o.path("pki/ca.key"))
	if err != nil {
		o.t.Fatal(err)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		o.t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name, OrganizationalUnit: []string{"admin"}},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	for _, text := range uris {
		u, err := url.Parse(text)
		if err != nil {
			o.t.Fatal(err)
		}
		template.URIs = append(template.URIs, u)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, pair.Leaf, key.Public(), pair.PrivateKey)
	if err != nil {
		o.t.Fatal(err)
	}
	raw, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		o.t.Fatal(err)
	}
	if err := errors.Join(os.WriteFile(o.path(name+".pem"), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600),
		os.WriteFile(o.path(name+".key"), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: raw}), 0o600)); err != nil {
		o.t.Fatal(err)
	}
	return o.open(name)
}

// attempt is something that must be denied.
type attempt struct {
	name   string
	try    func(ctx context.Context) error // what the caller gets
	code   codes.Code                      // OK: any error will do
	reason string                          // the label of the counter
	who    string                          // in the audit log; "": a stranger
	method string                          // that the record names
}

// httpError is an HTTP status as an error.
func httpError(code int, text string) error {
	switch code {
	case http.StatusOK:
		return nil
	case http.StatusUnauthorized:
		return status.Error(codes.Unauthenticated, text)
	case http.StatusForbidden:
		return status.Error(codes.PermissionDenied, text)
	case http.StatusRequestEntityTooLarge:
		return status.Error(codes.ResourceExhausted, text)
	}
	return fmt.Errorf("%d: %s", code, text)
}

func (o *outside) read(conn *grpc.ClientConn) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := centralv1.NewFleetClient(conn).GetFleet(ctx, &centralv1.GetFleetRequest{})
		return err
	}
}

func (o *outside) freeze(conn *grpc.ClientConn) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := centralv1.NewFleetClient(conn).Freeze(ctx, &centralv1.FreezeRequest{Reason: "mischief"})
		return err
	}
}

func (o *outside) json(f *identity.Files, method, path, body string) func(context.Context) error {
	client := o.browser(f)
	return func(context.Context) error { return httpError(o.ask(client, method, path, body)) }
}

func (o *outside) hello(conn *grpc.ClientConn, node string) func(context.Context) error {
	return func(ctx context.Context) error {
		s, err := centralv1.NewEdgesClient(conn).Connect(ctx)
		if err != nil {
			return err
		}
		_ = s.Send(&centralv1.EdgeMessage{Hello: &centralv1.Hello{Node: node}}) // the answer says whether it was taken
		_, err = s.Recv()
		return err
	}
}

// endless sends reports as fast as it can.
func (o *outside) endless(conn *grpc.ClientConn, node string) func(context.Context) error {
	return func(ctx context.Context) error {
		s, err := centralv1.NewEdgesClient(conn).Connect(ctx)
		if err != nil {
			return err
		}
		err = s.Send(&centralv1.EdgeMessage{Hello: &centralv1.Hello{Node: node}})
		for range 100_000 {
			if err != nil {
				break
			}
			err = s.Send(&centralv1.EdgeMessage{Report: &centralv1.Report{}})
		}
		if err == nil {
			return nil
		}
		for {
			if _, err := s.Recv(); err != nil {
				return err
			}
		}
	}
}

func (o *outside) reflect(conn *grpc.ClientConn) func(context.Context) error {
	return func(ctx context.Context) error {
		s, err := grpc_reflection_v1.NewServerReflectionClient(conn).ServerReflectionInfo(ctx)
		if err != nil {
			return err
		}
		_ = s.Send(&grpc_reflection_v1.ServerReflectionRequest{MessageRequest: &grpc_reflection_v1.ServerReflectionRequest_ListServices{}})
		_, err = s.Recv()
		return err
	}
}

// join shows a token for a node.
func (o *outside) join(token, node string) func(context.Context) error {
	return func(ctx context.Context) error {
		csr, _, err := identity.NewRequest(node)
		if err != nil {
			o.t.Fatal(err)
		}
		_, err = centralv1.NewEdgesClient(o.dial(nil)).Join(ctx, &centralv1.JoinRequest{Token: token, Csr: csr})
		return err
	}
}

func (o *outside) token(node string, life time.Duration) *centralv1.CreateJoinTokenResponse {
	o.t.Helper()
	answer, err := o.admin.CreateJoinToken(o.t.Context(), &centralv1.CreateJoinTokenRequest{Node: node, Ttl: durationpb.New(life), Reason: "test"})
	if err != nil {
		o.t.Fatal(err)
	}
	return answer
}

// shake opens a connection to a port and does a handshake with cfg, or writes text.
func (o *outside) shake(address, text string, cfg *tls.Config) func(context.Context) error {
	return func(ctx context.Context) error {
		var dialer net.Dialer
		conn, err := dialer.DialContext(ctx, "tcp", address)
		if err != nil {
			return err
		}
		defer conn.Close()
		if deadline, ok := ctx.Deadline(); ok {
			_ = conn.SetDeadline(deadline) // it fails on a closed connection only
		}
		if cfg != nil {
			return tls.Client(conn, cfg).HandshakeContext(ctx)
		}
		if _, err := fmt.Fprint(conn, text); err != nil {
			return err
		}
		for buf := make([]byte, 512); err == nil; {
			_, err = conn.Read(buf)
		}
		return err
	}
}

func (o *outside) attempts() []attempt {
	now := time.Now()
	foreign, err := identity.Init(o.path("foreign"), domain, now)
	if err != nil {
		o.t.Fatal(err)
	}
	noc := func(name string, role identity.Role, at time.Time) *identity.Files {
		return o.files(o.ca, identity.Order{Kind: identity.NOC, Name: name, Role: role}, name, at)
	}
	vera, olga := noc("vera", "", now), noc("olga", identity.Operator, now)
	eve := o.files(foreign, identity.Order{Kind: identity.NOC, Name: "eve", Role: identity.Admin}, "eve", now)
	old, young := noc("old", identity.Admin, now.Add(-identity.PersonLife-time.Hour)), noc("young", identity.Admin, now.Add(48*time.Hour))
	gone := noc("gone", identity.Admin, now)
	msk1 := o.files(o.ca, identity.Order{Kind: identity.Edge, Name: "msk1"}, "msk1", now)
	spb1 := o.files(o.ca, identity.Order{Kind: identity.Edge, Name: "spb1"}, "spb1", now)
	server := o.files(o.ca, identity.Order{Kind: identity.Central, Name: "c2", Hosts: []string{"c2"}}, "c2", now)
	nameless, elsewhere := o.signed("nameless"), o.signed("elsewhere", "spiffe://elsewhere.net/noc/anna")
	used, expired, other := o.token("ekb1", time.Minute), o.token("ekb2", time.Second), o.token("ekb3", time.Minute)
	if err := o.join(used.GetToken(), "ekb1")(o.t.Context()); err != nil {
		o.t.Fatal(err)
	}
	<-time.After(time.Until(expired.GetExpires().AsTime()) + 10*time.Millisecond)
	large := strings.Repeat("x", 2*identity.MaxMessage)
	const unauthenticated, denied, exhausted = codes.Unauthenticated, codes.PermissionDenied, codes.ResourceExhausted
	tls12 := o.anonymousAt()
	tls12.MaxVersion = tls.VersionTLS12
	const plain = "GET /v1/fleet HTTP/1.1\r\nHost: x\r\n\r\n"
	fleetMethod := "/catchment.central.v1.Fleet/"
	return []attempt{
		{"no certificate", o.read(o.dial(nil)), unauthenticated, "no_certificate", "", ""},
		{"a certificate of a wrong CA", o.freeze(o.dial(eve)), unauthenticated, "unknown_ca", "", ""},
		{"an expired one", o.read(o.dial(old)), unauthenticated, "expired", "", ""},
		{"one that is not yet valid", o.read(o.dial(young)), unauthenticated, "not_yet_valid", "", ""},
		{"one without a name", o.read(o.dial(nameless)), unauthenticated, "bad_name", "", ""},
		{"one of another domain", o.read(o.dial(elsewhere)), unauthenticated, "bad_name", "", ""},
		{"a server's", o.read(o.dial(server)), unauthenticated, "unknown_ca", "", ""},
		{"one whose role was taken away", o.read(o.dial(gone)), denied, "no_role", "noc/gone", fleetMethod + "GetFleet"},
		{"an edge acts for another", o.hello(o.dial(msk1), "spb1"), denied, "other_node", "edge/msk1", "/catchment.central.v1.Edges/Connect"},
		{"an edge calls what is the NOC's", o.freeze(o.dial(msk1)), denied, "wrong_role", "edge/msk1", fleetMethod + "Freeze"},
		{"a person calls what is an edge's", o.hello(o.dial(olga), "msk1"), denied, "wrong_role", "noc/olga", "/catchment.central.v1.Edges/Connect"},
		{"a viewer writes", o.freeze(o.dial(vera)), denied, "wrong_role", "noc/vera", fleetMethod + "Freeze"},
		{"a method that there is not", func(ctx context.Context) error {
			return o.dial(vera).Invoke(ctx, "/catchment.central.v1.Fleet/Nothing", &centralv1.GetFleetRequest{}, &centralv1.FleetStatus{})
		}, denied, "no_rule", "noc/vera", fleetMethod + "Nothing"},
		{"JSON without a certificate", o.json(nil, "GET", "/v1/nodes", ""), unauthenticated, "no_certificate", "", ""},
		{"JSON with one of a wrong CA", o.json(eve, "POST", "/v1/fleet/freeze", `{"reason":"x"}`), unauthenticated, "unknown_ca", "", ""},
		{"JSON by a viewer who writes", o.json(vera, "POST", "/v1/fleet/freeze", `{"reason":"x"}`), denied, "wrong_role", "noc/vera", fleetMethod + "Freeze"},
		{"JSON by an edge", o.json(msk1, "GET", "/v1/nodes", ""), denied, "wrong_role", "edge/msk1", fleetMethod + "ListNodes"},
		{"a used token", o.join(used.GetToken(), "ekb1"), unauthenticated, "bad_token", "token/ekb1", "/catchment.central.v1.Edges/Join"},
		{"an expired token", o.join(expired.GetToken(), "ekb2"), unauthenticated, "bad_token", "token/ekb2", "/catchment.central.v1.Edges/Join"},
		{"a token for another node", o.join(other.GetToken(), "msk1"), unauthenticated, "bad_token", "token/ekb3", "/catchment.central.v1.Edges/Join"},
		{"no token", o.join("guess", "msk1"), unauthenticated, "bad_token", "", ""},
		{"JSON with a used token", o.json(nil, "POST", "/v1/join", fmt.Sprintf(`{"token":%q}`, used.GetToken())), unauthenticated, "bad_token", "token/ekb1", "/catchment.central.v1.Edges/Join"},
		{"a large message", func(ctx context.Context) error {
			_, err := centralv1.NewFleetClient(o.dial(olga)).TagNode(ctx, &centralv1.TagNodeRequest{Meaning: large})
			return err
		}, exhausted, "too_large", "noc/olga", fleetMethod + "TagNode"},
		{"a large body", o.json(olga, "POST", "/v1/fleet/freeze", `{"reason":"`+large+`"}`), exhausted, "too_large", "noc/olga", "/v1/fleet/freeze"},
		{"messages without end", o.endless(o.dial(spb1), "spb1"), exhausted, "too_many", "edge/spb1", "/catchment.central.v1.Edges/Connect"},
		{"reflection without a certificate", o.reflect(o.dial(nil)), unauthenticated, "no_certificate", "", ""},
		{"reflection by an edge", o.reflect(o.dial(msk1)), denied, "wrong_role", "edge/msk1", "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo"},
		{"plain text on the port of gRPC", o.read(o.dialWith(insecure.NewCredentials())), codes.Unavailable, "not_tls", "", ""},
		{"plain text on the port of JSON", o.shake(o.web, plain, nil), 0, "not_tls", "", ""},
		{"an old TLS on the port of gRPC", o.shake(o.listen, "", tls12), 0, "no_handshake", "", ""},
		{"an old TLS on the port of JSON", o.shake(o.web, "", tls12), 0, "no_handshake", "", ""},
		{"a forged header", func(ctx context.Context) error {
			return o.freeze(o.dial(vera))(metadata.AppendToOutgoingContext(ctx, "catchment-caller-bin", `{"peer":{"role":"admin","dev":true}}`))
		}, denied, "wrong_role", "noc/vera", fleetMethod + "Freeze"},
	}
}

func TestNobodyGetsIn(t *testing.T) {
	o := startOutside(t, "roles: {noc/gone: none}\nservices: [{name: video, min_announcing: 1}]\n")
	strangers := 0
	for _, a := range o.attempts() {
		t.Run(a.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			before := o.counted()[a.reason]
			err := a.try(ctx)
			if a.code != codes.OK && status.Code(err) != a.code || err == nil {
				t.Errorf("%v, want %s", err, a.code)
			}
			netlab.Eventually(t, patience, "the count of "+a.reason, func() error {
				if n := o.counted()[a.reason] - before; n < 1 || n > 1 && a.code != codes.Unavailable { // who cannot connect tries again
					return fmt.Errorf("counted %d times", n)
				}
				return nil
			})
			if a.who == "" {
				strangers++
				return
			}
			netlab.Eventually(t, patience, "the record of it", func() error { // it may come after the answer
				answer, err := o.admin.ListAudit(ctx, &centralv1.ListAuditRequest{Who: a.who, Limit: 1})
				if err != nil || len(answer.GetRecords()) != 1 {
					return fmt.Errorf("no record of %s: %v", a.who, err)
				}
				if r := answer.GetRecords()[0]; r.GetOutcome() != "denied" || r.GetTarget() != a.method || !strings.HasPrefix(r.GetDetail(), a.reason+" from ") {
					return fmt.Errorf("recorded %v", r)
				}
				return nil
			})
		})
	}
	calm := o.memory()
	flood := o.flood(400)
	t.Run("nothing was done, and the flood keeps nobody out", func(t *testing.T) {
		s, err := o.admin.GetFleet(t.Context(), &centralv1.GetFleetRequest{})
		if err != nil || s.GetFrozen() {
			t.Errorf("%v, %v", s, err)
		}
	})
	t.Run("a denied caller does not fill the audit log", func(t *testing.T) { o.denyMany(t, strangers) })
	t.Run("the flood is over, counted, and cost little", func(t *testing.T) { flood(t, calm) })
	t.Run("the audit log is whole", func(t *testing.T) {
		o.issue(o.ca, identity.Order{Kind: identity.NOC, Name: "rita"}, "rita", time.Now())
		if out, code := o.catchment("rita", "audit", "verify"); code != exitDone || !strings.Contains(out, "each as it was written") {
			t.Errorf("%d: %s", code, out)
		}
	})
	o.stop()
}

// denyMany is denied hundreds of times, with a name and without.
func (o *outside) denyMany(t *testing.T, strangers int) {
	vlad := o.dial(o.files(o.ca, identity.Order{Kind: identity.NOC, Name: "vlad"}, "vlad", time.Now()))
	nobody := o.dial(nil)
	const tries = 300
	for range tries {
		if err := o.freeze(vlad)(t.Context()); err == nil {
			t.Fatal("a viewer writes")
		}
		if err := o.read(nobody)(t.Context()); err == nil {
			t.Fatal("a stranger reads")
		}
	}
	by := map[string]int{}
	answer, err := o.admin.ListAudit(t.Context(), &centralv1.ListAuditRequest{Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range answer.GetRecords() {
		by[r.GetWho()]++
	}
	counted := o.counted()
	if by["noc/vlad"] != 10 || by["anonymous"] != 5 {
		t.Errorf("%d denials are recorded of vlad and %d of strangers: %v", by["noc/vlad"], by["anonymous"], by)
	}
	if all := counted["wrong_role"] + counted["too_many"] + counted["no_certificate"]; all < 2*tries+strangers/2 {
		t.Errorf("counted %v", counted)
	}
}

// flood opens connections that never come to anything, n of each kind, and returns
// what waits for their end.
func (o *outside) flood(n int) func(t *testing.T, calm int) {
	o.t.Helper()
	before := o.counted()
	var all []net.Conn
	open := func(address string) net.Conn {
		conn, err := net.DialTimeout("tcp", address, patience)
		if err != nil {
			o.t.Fatal(err)
		}
		o.t.Cleanup(func() { _ = conn.Close() })
		all = append(all, conn)
		return conn
	}
	for range n {
		open(o.listen)
		open(o.web)
	}
	for range n / 4 { // slow-loris: a header that never ends
		conn := tls.Client(open(o.web), o.anonymousAt())
		if err := conn.HandshakeContext(o.t.Context()); err != nil {
			o.t.Fatal(err)
		}
		fmt.Fprint(conn, "GET /v1/fleet HTTP/1.1\r\nHost: x\r\nX-Slow: ")
	}
	return func(t *testing.T, calm int) {
		grown := o.memory() - calm
		t.Logf("memory grew by %d KiB with %d connections that came to nothing", grown>>10, len(all))
		if grown > 128<<20 {
			t.Errorf("memory grew by %d bytes", grown)
		}
		for _, conn := range all {
			if err := conn.SetReadDeadline(time.Now().Add(patience)); err != nil {
				t.Fatal(err)
			}
			var err error
			for buf := make([]byte, 512); err == nil; {
				_, err = conn.Read(buf)
			}
			if e, ok := err.(net.Error); ok && e.Timeout() {
				t.Fatal("a connection that says nothing stays")
			}
		}
		netlab.Eventually(t, patience, "all are counted", func() error {
			now := o.counted()
			if slow, none := now["too_slow"]-before["too_slow"], now["no_request"]-before["no_request"]; slow < 2*n || none < n/4 {
				return fmt.Errorf("%d slow and %d without a request, want %d and %d", slow, none, 2*n, n/4)
			}
			return nil
		})
	}
}

func (o *outside) anonymousAt() *tls.Config {
	cfg := o.anonymous()
	cfg.ServerName, _, _ = net.SplitHostPort(o.web) // it was made by net
	return cfg
}
