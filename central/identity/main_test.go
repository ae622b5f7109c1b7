package identity

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/reflection"
	"google.golang.org/grpc/status"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const domain = "example.net"

// fleetServer answers what the tests ask, with who asked.
type fleetServer struct {
	centralv1.UnimplementedFleetServer
}

func (fleetServer) GetFleet(ctx context.Context, _ *centralv1.GetFleetRequest) (*centralv1.FleetStatus, error) {
	p, ok := FromContext(ctx)
	if !ok {
		return nil, status.Error(codes.Internal, "nobody in the context")
	}
	return &centralv1.FleetStatus{Summary: p.Who() + " " + string(p.Role)}, nil
}

func (fleetServer) TagNode(ctx context.Context, r *centralv1.TagNodeRequest) (*centralv1.Node, error) {
	return &centralv1.Node{Name: r.GetNode()}, nil
}

type edgesServer struct {
	centralv1.UnimplementedEdgesServer
	centre *centre
}

// Connect answers each message with an intent.
func (edgesServer) Connect(s grpc.BidiStreamingServer[centralv1.EdgeMessage, centralv1.Intent]) error {
	for {
		if _, err := s.Recv(); err != nil {
			return err
		}
		if err := s.Send(&centralv1.Intent{Generation: 1}); err != nil {
			return err
		}
	}
}

// Join redeems the tokens of the test's centre, as the real one does over its store.
func (e edgesServer) Join(ctx context.Context, r *centralv1.JoinRequest) (*centralv1.JoinResponse, error) {
	deny := func(err error) error {
		return e.centre.gate.Deny(ctx, Refusal{Reason: BadToken, Method: centralv1.Edges_Join_FullMethodName, Text: err.Error()})
	}
	key, err := TokenKey(r.GetToken())
	if err != nil {
		return nil, deny(err)
	}
	now := e.centre.now()
	e.centre.joining.Lock()
	defer e.centre.joining.Unlock()
	token := e.centre.tokens[key] // none redeems nothing
	used, err := token.Redeem(r.GetToken(), now)
	if err != nil {
		return nil, deny(err)
	}
	cert, err := e.centre.ca.Sign(r.GetCsr(), token.Node, time.Now())
	if err != nil {
		return nil, deny(err)
	}
	e.centre.tokens[key] = used
	return &centralv1.JoinResponse{Certificate: cert, Ca: e.centre.ca.PEM()}, nil
}

// counts counts refusals, and keeps those that were reported.
type counts struct {
	mu       sync.Mutex
	by       map[Reason]int
	reported []Refusal
}

func (c *counts) Refused(r Reason) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.by == nil {
		c.by = map[Reason]int{}
	}
	c.by[r]++
}

func (c *counts) report(_ context.Context, r Refusal) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reported = append(c.reported, r)
}

func (c *counts) count(r Reason) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.by[r]
}

// last returns the newest refusal reported for a reason.
func (c *counts) last(r Reason) (Refusal, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := len(c.reported) - 1; i >= 0; i-- {
		if c.reported[i].Reason == r {
			return c.reported[i], true
		}
	}
	return Refusal{}, false
}

// centre is a server with a gate, as gRPC and as JSON.
type centre struct {
	ca      *CA
	dir     string
	gate    *Gate
	door    *door
	counts  *counts
	address string
	url     string
	header  time.Duration
	roles   sync.Map // KIND/NAME -> Role

	joining sync.Mutex
	tokens  map[string]Token

	mu  sync.Mutex
	off time.Duration // of the gate's clock
}

func (c *centre) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.off)
}

// later puts the gate's clock forward.
func (c *centre) later(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.off += d
}

// reportsAll has every refusal reported.
func (c *centre) reportsAll() {
	c.gate.named = &Allowance{Burst: 1e6, AllBurst: 1e6, Every: time.Second, AllEvery: time.Second}
	c.gate.strangers = c.gate.named
}

func (c *centre) path(name string) string { return filepath.Join(c.dir, name) }

// open issues a certificate and opens its files.
func (c *centre) open(t *testing.T, ca *CA, o Order, name string, now time.Time) *Files {
	t.Helper()
	if err := ca.Issue(o, c.path(name+".pem"), c.path(name+".key"), now); err != nil {
		t.Fatal(err)
	}
	f, err := Open(Paths{CA: c.path("ca/ca.pem"), Cert: c.path(name + ".pem"), Key: c.path(name + ".key")}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func newCentre(t *testing.T) *centre {
	t.Helper()
	return newCentreWith(t, headerTime)
}

// newCentreWith gives HTTP clients another time for their handshake and header.
func newCentreWith(t *testing.T, header time.Duration) *centre {
	t.Helper()
	c := &centre{dir: t.TempDir(), counts: &counts{}, header: header}
	var err error
	if c.ca, err = Init(c.path("ca"), domain, time.Now()); err != nil {
		t.Fatal(err)
	}
	files := c.open(t, c.ca, Order{Kind: Central, Name: "c1", Hosts: []string{"127.0.0.1", "localhost"}}, "server", time.Now())
	c.gate, err = New(Config{Domain: domain, Files: files, Counter: c.counts, Refused: c.counts.report, Now: c.now,
		Roles: func(n Name) (Role, bool) {
			r, ok := c.roles.Load(n.Short())
			if !ok {
				return "", false
			}
			return r.(Role), true
		}})
	if err != nil {
		t.Fatal(err)
	}
	c.serve(t, files.ServerTLS())
	return c
}

func (c *centre) serve(t *testing.T, cfg *tls.Config) {
	t.Helper()
	server := grpc.NewServer(c.gate.ServerOptions()...)
	centralv1.RegisterFleetServer(server, fleetServer{})
	centralv1.RegisterEdgesServer(server, edgesServer{centre: c})
	healthpb.RegisterHealthServer(server, health.NewServer())
	reflection.Register(server)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c.address = l.Addr().String()
	local := NewLocal()
	var wg sync.WaitGroup
	c.door = c.gate.Door(l).(*door)
	wg.Go(func() { _ = server.Serve(c.door) })
	wg.Go(func() { _ = server.Serve(local) })
	conn, err := local.Client()
	if err != nil {
		t.Fatal(err)
	}
	mux := runtime.NewServeMux()
	for _, register := range []func(context.Context, *runtime.ServeMux, *grpc.ClientConn) error{
		centralv1.RegisterFleetHandler, centralv1.RegisterEdgesHandler} {
		if err := register(t.Context(), mux, conn); err != nil {
			t.Fatal(err)
		}
	}
	web := httptest.NewUnstartedServer(nil)
	web.Config = c.gate.Web(c.gate.HTTP(mux))
	web.Config.ReadHeaderTimeout = c.header
	web.Listener = c.gate.Door(web.Listener)
	if cfg != nil {
		web.Listener = tls.NewListener(web.Listener, cfg)
	}
	web.Start()
	if c.url = web.URL; cfg != nil {
		c.url = "https" + strings.TrimPrefix(web.URL, "http")
	}
	t.Cleanup(func() {
		web.Close()
		_ = conn.Close()
		server.Stop()
		wg.Wait()
	})
}

// dial returns a client connection that shows a certificate; nil shows none.
func (c *centre) dial(t *testing.T, f *Files) *grpc.ClientConn {
	t.Helper()
	creds := ClientCredentials(f)
	if f == nil {
		creds = clientCredentials{config: func() (*tls.Config, error) {
			pool, _, err := readPool(c.path("ca/ca.pem"))
			return &tls.Config{RootCAs: pool}, err
		}}
	}
	conn, err := grpc.NewClient(c.address, grpc.WithTransportCredentials(creds))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// plain returns a client connection without TLS.
func (c *centre) plain(t *testing.T) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient(c.address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// browser returns an HTTP client that shows a certificate; nil shows none.
func (c *centre) browser(t *testing.T, f *Files) *http.Client {
	t.Helper()
	pool, _, err := readPool(c.path("ca/ca.pem"))
	if err != nil {
		t.Fatal(err)
	}
	cfg := &tls.Config{RootCAs: pool}
	if f != nil {
		if cfg, err = f.ClientTLS(); err != nil {
			t.Fatal(err)
		}
	}
	transport := &http.Transport{TLSClientConfig: cfg}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: 10 * time.Second}
}
