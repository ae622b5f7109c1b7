package identity

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
)

// who asks the centre who it takes the caller for.
func who(ctx context.Context, conn *grpc.ClientConn) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	s, err := centralv1.NewFleetClient(conn).GetFleet(ctx, &centralv1.GetFleetRequest{})
	return s.GetSummary(), err
}

// connect opens an edge's stream and says hello.
func connect(t *testing.T, conn *grpc.ClientConn, node string) (grpc.BidiStreamingClient[centralv1.EdgeMessage, centralv1.Intent], error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	s, err := centralv1.NewEdgesClient(conn).Connect(ctx)
	if err != nil {
		t.Fatal(err)
	}
	_ = s.Send(&centralv1.EdgeMessage{Hello: &centralv1.Hello{Node: node}}) // the answer says whether it was taken
	_, err = s.Recv()
	return s, err
}

func TestEdgeSpeaksOnlyForItself(t *testing.T) {
	c := newCentre(t)
	conn := c.dial(t, c.open(t, c.ca, Order{Kind: Edge, Name: "msk1"}, "edge", time.Now()))
	if _, err := connect(t, conn, "msk1"); err != nil {
		t.Fatal(err)
	}
	_, err := connect(t, conn, "ams1")
	if status.Code(err) != codes.PermissionDenied || !strings.Contains(err.Error(), `edge/msk1 speaks for "ams1"`) {
		t.Errorf("%v", err)
	}
	s, err := connect(t, conn, "msk1")
	if err != nil {
		t.Fatal(err)
	}
	_ = s.Send(&centralv1.EdgeMessage{Hello: &centralv1.Hello{Node: "ams1"}})
	if _, err := s.Recv(); status.Code(err) != codes.PermissionDenied {
		t.Errorf("later in the stream: %v", err)
	}
	if n := c.counts.count(OtherNode); n != 2 {
		t.Errorf("counted %d times", n)
	}
	if r, ok := c.counts.last(OtherNode); !ok || r.Peer.Who() != "edge/msk1" || r.Method != centralv1.Edges_Connect_FullMethodName || r.Addr == "" {
		t.Errorf("reported as %+v", r)
	}
}

func TestExpiredCertificateIsToldWhatToDo(t *testing.T) {
	c := newCentre(t)
	conn := c.dial(t, c.open(t, c.ca, Order{Kind: NOC, Name: "vera"}, "vera", time.Now()))
	if got, err := who(t.Context(), conn); err != nil || got != "noc/vera viewer" {
		t.Fatalf("%q %v", got, err)
	}
	c.later(PersonLife) // on the connection that stands
	_, err := who(t.Context(), conn)
	if status.Code(err) != codes.Unauthenticated || !strings.Contains(err.Error(), "expired at") || !strings.Contains(err.Error(), "catchment pki renew") {
		t.Errorf("%v", err)
	}
	f, err := Open(Paths{CA: c.path("ca/ca.pem"), Cert: c.path("vera.pem"), Key: c.path("vera.key")}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err = who(t.Context(), c.dial(t, f)); !strings.Contains(err.Error(), "ago; get a new one by catchment pki renew") {
		t.Errorf("%v", err)
	}
}

func TestConfigurationTakesRolesAwayAtOnce(t *testing.T) {
	c := newCentre(t)
	noc := c.dial(t, c.open(t, c.ca, Order{Kind: NOC, Name: "anna", Role: Admin}, "anna", time.Now()))
	edge := c.dial(t, c.open(t, c.ca, Order{Kind: Edge, Name: "msk1"}, "edge", time.Now()))
	for _, set := range []struct {
		role Role
		want string
	}{{Admin, "noc/anna admin"}, {Viewer, "noc/anna viewer"}, {None, ""}, {EdgeRole, ""}, {"king", ""}} {
		c.roles.Store("noc/anna", set.role)
		got, err := who(t.Context(), noc)
		if got != set.want || (err != nil) != (set.want == "") {
			t.Errorf("%s: %q %v", set.role, got, err)
		}
	}
	c.roles.Store("edge/msk1", Admin) // no way up for an edge
	if _, err := connect(t, edge, "msk1"); status.Code(err) != codes.PermissionDenied {
		t.Errorf("%v", err)
	}
	if c.counts.count(NoRole) != 4 {
		t.Errorf("%v", c.counts.by)
	}
}

func TestStreamEndsWhenItsCallerMayNoLonger(t *testing.T) {
	c := newCentre(t)
	edge := c.dial(t, c.open(t, c.ca, Order{Kind: Edge, Name: "msk1"}, "edge", time.Now()))
	for name, end := range map[string]func(){
		"the configuration says so":   func() { c.roles.Store("edge/msk1", None) },
		"the certificate has expired": func() { c.roles.Delete("edge/msk1"); c.later(MachineLife) },
	} {
		c.roles.Delete("edge/msk1")
		c.mu.Lock()
		c.off = 0
		c.mu.Unlock()
		s, err := connect(t, edge, "msk1")
		if err != nil {
			t.Fatal(err)
		}
		end()
		_ = s.Send(&centralv1.EdgeMessage{Report: &centralv1.Report{}})
		if _, err = s.Recv(); status.Code(err) != codes.PermissionDenied && status.Code(err) != codes.Unauthenticated {
			t.Errorf("%s: %v", name, err)
		}
	}
	if c.counts.count(NoRole) != 1 || c.counts.count(Expired) != 1 {
		t.Errorf("%v", c.counts.by)
	}
}

// TestCertificatesWithBadNamesAreNobodys has the right CA sign what it never would.
func TestCertificatesWithBadNamesAreNobodys(t *testing.T) {
	c := newCentre(t)
	sign := func(units []string, uris ...string) verdict {
		t.Helper()
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		template, err := c.ca.template(Order{Kind: NOC, Name: "x"}, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		template.URIs, template.Subject.OrganizationalUnit = nil, units
		for _, text := range uris {
			u, err := url.Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			template.URIs = append(template.URIs, u)
		}
		der, err := x509.CreateCertificate(rand.Reader, template, c.ca.cert, key.Public(), c.ca.key)
		if err != nil {
			t.Fatal(err)
		}
		leaf, err := x509.ParseCertificate(der)
		if err != nil {
			t.Fatal(err)
		}
		return c.gate.identify(tls.ConnectionState{PeerCertificates: []*x509.Certificate{leaf}}, "192.0.2.1:1")
	}
	good := "spiffe://example.net/noc/anna"
	if v := sign([]string{"operator"}, good); v.Reason != "" || v.Peer.Role != Operator || v.Peer.Who() != "noc/anna" || v.Peer.Serial == "" {
		t.Errorf("%+v", v)
	}
	for name, v := range map[string]verdict{
		"no name":             sign(nil),
		"two names":           sign(nil, good, "spiffe://example.net/noc/root"),
		"another domain":      sign(nil, "spiffe://elsewhere.net/noc/anna"),
		"not a SPIFFE name":   sign(nil, "https://example.net/noc/anna"),
		"escapes":             sign(nil, "spiffe://example.net/noc/%61nna"),
		"a query":             sign(nil, good+"?role=admin"),
		"a server":            sign(nil, "spiffe://example.net/central/c1"),
		"two roles":           sign([]string{"viewer", "admin"}, good),
		"a role of no one":    sign([]string{"king"}, good),
		"a person as an edge": sign([]string{"edge"}, good),
	} {
		if v.Reason != BadName || v.Peer != (Peer{}) || v.Text == "" {
			t.Errorf("%s: %+v", name, v)
		}
	}
}

func TestLargeAndEndlessMessagesEnd(t *testing.T) {
	c := newCentre(t)
	operator := c.dial(t, c.open(t, c.ca, Order{Kind: NOC, Name: "olga", Role: Operator}, "olga", time.Now()))
	large := strings.Repeat("x", MaxMessage)
	_, err := centralv1.NewFleetClient(operator).TagNode(t.Context(), &centralv1.TagNodeRequest{Meaning: large})
	if status.Code(err) != codes.ResourceExhausted {
		t.Errorf("large request: %v", err)
	}
	until(t, "the large request is counted", func() bool { return c.counts.count(TooLarge) == 1 })
	if r, _ := c.counts.last(TooLarge); r.Method != centralv1.Fleet_TagNode_FullMethodName || r.Peer.Who() != "noc/olga" {
		t.Errorf("reported as %+v", r)
	}
	edge := c.dial(t, c.open(t, c.ca, Order{Kind: Edge, Name: "msk1"}, "edge", time.Now()))
	s, err := connect(t, edge, "msk1")
	if err != nil {
		t.Fatal(err)
	}
	_ = s.Send(&centralv1.EdgeMessage{Hello: &centralv1.Hello{Node: "msk1", Version: large}})
	if _, err = s.Recv(); status.Code(err) != codes.ResourceExhausted || c.counts.count(TooLarge) != 2 {
		t.Errorf("large message in a stream: %v, %v", err, c.counts.by)
	}
	if s, err = connect(t, edge, "msk1"); err != nil {
		t.Fatal(err)
	}
	sent := 0
	for ; sent < 100_000 && err == nil; sent++ {
		if err = s.Send(&centralv1.EdgeMessage{Report: &centralv1.Report{}}); err == nil {
			_, err = s.Recv()
		}
	}
	if status.Code(err) != codes.ResourceExhausted || c.counts.count(TooMany) != 1 || sent < streamBurst-1 {
		t.Errorf("after %d messages: %v, %v", sent, err, c.counts.by)
	}
	_, err = centralv1.NewFleetClient(operator).GetFleet(metadata.AppendToOutgoingContext(t.Context(), "x", strings.Repeat("y", maxHeaders)), &centralv1.GetFleetRequest{})
	if err == nil {
		t.Error("large headers are taken in")
	}
}

// until waits until something holds.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline := time.After(10 * time.Second)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("not within 10 s: %s", what)
		}
	}
}

func TestRefusalsAreBounded(t *testing.T) {
	c := newCentre(t)
	frozen := time.Now()
	c.gate.cfg.Now = func() time.Time { return frozen }
	viewer := c.dial(t, c.open(t, c.ca, Order{Kind: NOC, Name: "vera"}, "vera", frozen))
	try := func() error {
		_, err := centralv1.NewFleetClient(viewer).Freeze(t.Context(), &centralv1.FreezeRequest{})
		return err
	}
	for i := range refusalBurst + 10 {
		want := codes.PermissionDenied
		if i >= refusalBurst {
			want = codes.ResourceExhausted
		}
		if err := try(); status.Code(err) != want {
			t.Fatalf("refusal %d: %v", i, err)
		}
	}
	if got, err := who(t.Context(), viewer); err != nil || got != "noc/vera viewer" {
		t.Errorf("what is allowed goes on: %q %v", got, err)
	}
	if len(c.counts.reported) != c.gate.named.Burst || c.counts.count(WrongRole)+c.counts.count(TooMany) != refusalBurst+10 {
		t.Errorf("%d reported, %v counted", len(c.counts.reported), c.counts.by)
	}
	other := c.dial(t, c.open(t, c.ca, Order{Kind: NOC, Name: "vlad"}, "vlad", frozen))
	if _, err := centralv1.NewFleetClient(other).Freeze(t.Context(), &centralv1.FreezeRequest{}); status.Code(err) != codes.PermissionDenied {
		t.Errorf("another one is not punished: %v", err)
	}
	if r, _ := c.counts.last(WrongRole); r.Suppressed != refusalBurst+10-uint64(c.gate.named.Burst) || r.Peer.Who() != "noc/vlad" {
		t.Errorf("%+v", r)
	}
	nobody := c.dial(t, nil)
	for i := range refusalBurst + 1 {
		_, err := centralv1.NewEdgesClient(nobody).Join(t.Context(), &centralv1.JoinRequest{Token: "guess"})
		if want := map[bool]codes.Code{true: codes.Unauthenticated, false: codes.ResourceExhausted}[i < refusalBurst]; status.Code(err) != want {
			t.Fatalf("guess %d: %v", i, err)
		}
	}
}

func TestCertificatesAreReadAgainAtTheNextHandshake(t *testing.T) {
	c := newCentre(t)
	var told []error
	f := c.open(t, c.ca, Order{Kind: NOC, Name: "anna", Role: Viewer}, "anna", time.Now())
	f.told = func(err error) { told = append(told, err) }
	if got, err := who(t.Context(), c.dial(t, f)); err != nil || got != "noc/anna viewer" {
		t.Fatalf("%q %v", got, err)
	}
	if err := c.ca.Issue(Order{Kind: NOC, Name: "anna", Role: Operator}, c.path("new.pem"), c.path("new.key"), time.Now()); err != nil {
		t.Fatal(err)
	}
	move := func(from, to string) {
		t.Helper()
		if err := os.Rename(c.path(from), c.path(to)); err != nil {
			t.Fatal(err)
		}
	}
	move("new.pem", "anna.pem") // and the key still the old one
	if got, err := who(t.Context(), c.dial(t, f)); err != nil || got != "noc/anna viewer" {
		t.Errorf("half a change: %q %v", got, err)
	}
	move("new.key", "anna.key")
	if got, err := who(t.Context(), c.dial(t, f)); err != nil || got != "noc/anna operator" {
		t.Errorf("the whole change: %q %v", got, err)
	}
	if len(told) != 2 || told[0] == nil || told[1] != nil {
		t.Errorf("told %v", told)
	}
	if err := os.Remove(c.path("anna.key")); err != nil {
		t.Fatal(err)
	}
	if got, err := who(t.Context(), c.dial(t, f)); err != nil || got != "noc/anna operator" {
		t.Errorf("a file that is gone: %q %v", got, err)
	}
	if f.NotAfter().IsZero() {
		t.Error("no end")
	}
	// The server's CA, too.
	other, err := Init(c.path("other"), domain, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	eve := c.open(t, other, Order{Kind: NOC, Name: "eve"}, "eve", time.Now())
	if _, err := who(t.Context(), c.dial(t, eve)); status.Code(err) != codes.Unauthenticated {
		t.Fatalf("%v", err)
	}
	old, err := os.ReadFile(c.path("ca/ca.pem"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(c.path("both"), append(old, other.PEM()...), 0o644); err != nil {
		t.Fatal(err)
	}
	move("both", "ca/ca.pem")
	if got, err := who(t.Context(), c.dial(t, eve)); err != nil || got != "noc/eve viewer" {
		t.Errorf("a CA that was added: %q %v", got, err)
	}
}

func TestCheckLoopback(t *testing.T) {
	for addr, good := range map[string]bool{
		"127.0.0.1:7179": true, "[::1]:7179": true, "localhost:7179": true, "127.1.2.3:1": true,
		"0.0.0.0:7179": false, ":7179": false, "[::]:7179": false, "10.0.0.1:7179": false, "example.net:7179": false, "127.0.0.1": false, "": false,
	} {
		if err := CheckLoopback(addr); (err == nil) != good {
			t.Errorf("%q: %v", addr, err)
		}
	}
}

func TestNewRefusesToServeWithoutACertificate(t *testing.T) {
	if _, err := New(Config{Domain: domain}); err == nil || !strings.Contains(err.Error(), "--dev") {
		t.Errorf("%v", err)
	}
	if _, err := New(Config{}); err == nil {
		t.Error("no domain is taken")
	}
}
