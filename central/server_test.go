package central

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/types/known/durationpb"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
	"github.com/catchment-bgp/catchment/central/identity"
	"github.com/catchment-bgp/catchment/central/store"
	"github.com/catchment-bgp/catchment/policy/fleet"
)

// patience bounds every wait in real time.
const patience = 20 * time.Second

// served is a centre behind real gRPC, within the process.
type served struct {
	f        *Fleet
	listener *bufconn.Listener
	web      string
	dir      string
	ca       *identity.CA
}

// serve starts a centre; secure: with a CA and mTLS.
func serve(t *testing.T, secure bool) *served {
	t.Helper()
	s := &served{listener: bufconn.Listen(1 << 20), dir: t.TempDir()}
	var id Identity
	if secure {
		var err error
		if s.ca, err = identity.Init(filepath.Join(s.dir, "ca"), "example.net", time.Now()); err != nil {
			t.Fatal(err)
		}
		id = Identity{Domain: "example.net", CA: s.ca, Files: s.files(t, identity.Order{Kind: identity.Central, Name: "c1", Hosts: []string{"central.example.net"}})}
	}
	memory := store.NewMemory()
	s.f = NewFleet(memory, Settings{ASN: 57629, Services: map[string]fleet.Limits{video: {MinAnnouncing: 1}}})
	server, err := NewServer(s.f, id)
	if err != nil {
		t.Fatal(err)
	}
	web, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.web = web.Addr().String()
	ctx, cancel := context.WithCancel(context.Background())
	ran, answered := make(chan error, 1), make(chan error, 1)
	go func() { ran <- s.f.Run(ctx) }()
	<-s.f.Ready()
	go func() { answered <- server.Serve(ctx, s.listener, web) }()
	t.Cleanup(func() {
		cancel()
		if err := <-answered; err != nil {
			t.Errorf("serving: %v", err)
		}
		if err := <-ran; err != nil {
			t.Errorf("running: %v", err)
		}
		_ = memory.Close()
	})
	return s
}

// files issues a certificate.
func (s *served) files(t *testing.T, o identity.Order) *identity.Files {
	t.Helper()
	at := func(name string) string { return filepath.Join(s.dir, string(o.Kind)+"-"+o.Name+name) }
	if err := s.ca.Issue(o, at(".pem"), at(".key"), time.Now()); err != nil {
		t.Fatal(err)
	}
	f, err := identity.Open(identity.Paths{CA: filepath.Join(s.dir, "ca", "ca.pem"), Cert: at(".pem"), Key: at(".key")}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// dial connects with a certificate, or in plain text.
func (s *served) dial(t *testing.T, files *identity.Files) *grpc.ClientConn {
	t.Helper()
	var c credentials.TransportCredentials = insecure.NewCredentials()
	if files != nil {
		c = identity.ClientCredentials(files)
	}
	return s.dialWith(t, c)
}

func (s *served) dialWith(t *testing.T, c credentials.TransportCredentials) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient("passthrough:///central.example.net", grpc.WithTransportCredentials(c),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return s.listener.DialContext(ctx) }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func limited(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

func hello(node string) *centralv1.EdgeMessage {
	return &centralv1.EdgeMessage{
		Hello: &centralv1.Hello{Node: node, Site: "moscow", Version: "v1", Asn: 57629, Neighbors: []*centralv1.EdgeNeighbor{{Name: "transit-a", Asn: 65001}},
			Services: []*centralv1.EdgeService{{Name: video}}},
		Report: &centralv1.Report{Number: 1, Services: []*centralv1.ServiceReport{{Name: video, State: stateAnnounced, Reason: "normal", Hard: "up"}}},
	}
}

func TestATagReachesTheEdgeWithinASecond(t *testing.T) {
	s := serve(t, false)
	ctx := limited(t)
	conn := s.dial(t, nil)
	stream, err := centralv1.NewEdgesClient(conn).Connect(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Send(hello("msk1")); err != nil {
		t.Fatal(err)
	}
	first, err := stream.Recv()
	if err != nil || first.GetGeneration() == 0 || first.GetReport() != 1 || first.GetSent() == nil {
		t.Fatalf("%v, %v", first, err)
	}
	begun := time.Now()
	if _, err := centralv1.NewFleetClient(conn).TagNode(ctx, &centralv1.TagNodeRequest{Node: "msk1", Value: "57629:101", Meaning: "Moscow"}); err != nil {
		t.Fatal(err)
	}
	for {
		in, err := stream.Recv()
		if err != nil {
			t.Fatal(err)
		}
		if len(in.GetTags()) == 1 && in.GetGeneration() > first.GetGeneration() {
			break
		}
	}
	if d := time.Since(begun); d > 10*time.Second {
		t.Errorf("it took %s", d)
	}
	if err := stream.CloseSend(); err != nil {
		t.Fatal(err)
	}
	for err == nil {
		_, err = stream.Recv()
	}
	if err != io.EOF {
		t.Errorf("the end of the stream: %v", err)
	}
}

func TestAStreamBeginsWithAHelloOfANameThatCanBe(t *testing.T) {
	s := serve(t, false)
	for name, m := range map[string]*centralv1.EdgeMessage{"no hello": {Report: &centralv1.Report{}}, "no name": hello(""), "a path": hello("a/b"), "blank": hello("a b")} {
		stream, err := centralv1.NewEdgesClient(s.dial(t, nil)).Connect(limited(t))
		if err != nil {
			t.Fatal(err)
		}
		if err := stream.Send(m); err != nil {
			t.Fatal(err)
		}
		if _, err := stream.Recv(); status.Code(err) != codes.InvalidArgument {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestJSONHealthAndMetricsAreServed(t *testing.T) {
	s := serve(t, false)
	client := &http.Client{Timeout: patience}
	defer client.CloseIdleConnections()
	ask := func(method, path, body string) (int, []byte) {
		t.Helper()
		r, err := http.NewRequestWithContext(limited(t), method, "http://"+s.web+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		answer, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		return answer.StatusCode, text
	}
	if code, text := ask("GET", "/v1/nodes", ""); code != 200 || !bytes.Contains(text, []byte(`"nodes":[]`)) {
		t.Errorf("%d %s", code, text)
	}
	if code, text := ask("POST", "/v1/nodes/msk1/tags", `{"value":"57629:1","meaning":"x"}`); code != 400 || !bytes.Contains(text, []byte("there is no node")) {
		t.Errorf("%d %s", code, text)
	}
	if code, text := ask("POST", "/v1/fleet/freeze", `{"reason":"test"}`); code != 200 || !bytes.Contains(text, []byte(`"frozen":true`)) {
		t.Errorf("%d %s", code, text)
	}
	var log struct{ Records []map[string]any }
	if code, text := ask("GET", "/v1/audit?limit=5", ""); code != 200 || json.Unmarshal(text, &log) != nil || len(log.Records) != 1 || log.Records[0]["method"] != "Freeze" {
		t.Errorf("%d %s", code, text)
	}
	if code, text := ask("GET", "/metrics", ""); code != 200 || !bytes.Contains(text, []byte("catchment_central_frozen 1")) {
		t.Errorf("%d %s", code, text)
	}
	if code, _ := ask("GET", "/readyz", ""); code != 200 {
		t.Errorf("readyz: %d", code)
	}
	if r, err := grpc_health_v1.NewHealthClient(s.dial(t, nil)).Check(limited(t), &grpc_health_v1.HealthCheckRequest{}); err != nil || r.GetStatus() != grpc_health_v1.HealthCheckResponse_SERVING {
		t.Errorf("health: %v, %v", r, err)
	}
}

func TestNobodyGetsInWithoutACertificateAndJoinsOnce(t *testing.T) {
	s := serve(t, true)
	ctx := limited(t)
	admin := centralv1.NewFleetClient(s.dial(t, s.files(t, identity.Order{Kind: identity.NOC, Name: "anna", Role: identity.Admin})))
	viewer := centralv1.NewFleetClient(s.dial(t, s.files(t, identity.Order{Kind: identity.NOC, Name: "vera"})))
	if _, err := viewer.Freeze(ctx, &centralv1.FreezeRequest{Reason: "x"}); status.Code(err) != codes.PermissionDenied {
		t.Errorf("a viewer writes: %v", err)
	}
	token, err := admin.CreateJoinToken(ctx, &centralv1.CreateJoinTokenRequest{Node: "msk1", Ttl: durationpb.New(time.Minute), Reason: "new machine"})
	if err != nil {
		t.Fatal(err)
	}
	join := func(node, text string) (*centralv1.JoinResponse, error) {
		secure, err := identity.JoinTLS(token.GetToken(), "central.example.net", nil)
		if err != nil {
			t.Fatal(err)
		}
		csr, _, err := identity.NewRequest(node)
		if err != nil {
			t.Fatal(err)
		}
		return centralv1.NewEdgesClient(s.dialWith(t, credentials.NewTLS(secure))).Join(ctx, &centralv1.JoinRequest{Token: text, Csr: csr})
	}
	if _, err := join("spb1", token.GetToken()); status.Code(err) != codes.Unauthenticated {
		t.Errorf("under another name: %v", err)
	}
	if got, err := join("msk1", token.GetToken()); err != nil || len(got.GetCertificate()) == 0 || !bytes.Equal(got.GetCa(), s.ca.PEM()) {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := join("msk1", token.GetToken()); status.Code(err) != codes.Unauthenticated || !strings.Contains(err.Error(), "used") {
		t.Errorf("a second time: %v", err)
	}
	edge := s.dial(t, s.files(t, identity.Order{Kind: identity.Edge, Name: "msk1"}))
	stream, err := centralv1.NewEdgesClient(edge).Connect(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Send(hello("spb1")); err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Recv(); status.Code(err) != codes.PermissionDenied {
		t.Errorf("for another node: %v", err)
	}
	client := &http.Client{Timeout: patience, Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	defer client.CloseIdleConnections()
	answer, err := client.Get("https://" + s.web + "/v1/nodes")
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close() // its status is what counts
	if answer.StatusCode != http.StatusUnauthorized {
		t.Errorf("JSON without a certificate: %s", answer.Status)
	}
	records, err := admin.ListAudit(ctx, &centralv1.ListAuditRequest{})
	if err != nil {
		t.Fatal(err)
	}
	outcomes := map[string]int{}
	for _, r := range records.GetRecords() {
		outcomes[r.GetOutcome()]++
	}
	if outcomes["denied"] != 5 || outcomes["done"] != 2 {
		t.Errorf("the audit log has %v: %v", outcomes, records)
	}
}

func TestABackupHasWhatWasSaid(t *testing.T) {
	s := serve(t, false)
	ctx := limited(t)
	client := centralv1.NewFleetClient(s.dial(t, nil))
	if _, err := client.Freeze(ctx, &centralv1.FreezeRequest{Reason: "test"}); err != nil {
		t.Fatal(err)
	}
	stream, err := client.Backup(ctx, &centralv1.BackupRequest{})
	if err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	for {
		part, err := stream.Recv()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		file.Write(part.GetData())
	}
	if !strings.Contains(file.String(), "fleet/freeze") || !strings.Contains(file.String(), "audit/record/") {
		t.Errorf("%s", file.String())
	}
}

func TestAWatchHearsOfChangesAndEndsWithTheCentre(t *testing.T) {
	s := serve(t, false)
	ctx := limited(t)
	client := centralv1.NewFleetClient(s.dial(t, nil))
	stream, err := client.Watch(ctx, &centralv1.GetFleetRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if first, err := stream.Recv(); err != nil || first.GetFrozen() {
		t.Fatalf("%v, %v", first, err)
	}
	if _, err := client.Freeze(ctx, &centralv1.FreezeRequest{Reason: "test"}); err != nil {
		t.Fatal(err)
	}
	if next, err := stream.Recv(); err != nil || !next.GetFrozen() {
		t.Errorf("%v, %v", next, err)
	}
}
