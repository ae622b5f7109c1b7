package central

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/reflection"
	"google.golang.org/protobuf/encoding/protojson"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
	"github.com/catchment-bgp/catchment/central/audit"
	"github.com/catchment-bgp/catchment/central/identity"
	"github.com/catchment-bgp/catchment/central/idp"
)

const (
	// keepaliveTime is how long a connection may be silent before it is tried, and
	// keepaliveWait how long the answer may take. Edges may try as often as keepaliveMin.
	keepaliveTime = 15 * time.Second
	keepaliveWait = 10 * time.Second
	keepaliveMin  = 5 * time.Second
	// writeBuffer is shared by all connections. They have no buffer for reading: the one
	// of TLS is enough.
	writeBuffer = 4 << 10
	// onTheWay is how much may be on its way to us. It is fixed: to find a better one each
	// message would be answered by a ping, and reports are small.
	onTheWay = 64 << 10
	// leaveTime bounds the wait for calls at the end.
	leaveTime = 2 * time.Second
	// idleTime is how long a connection without a call is kept: an edge always has one.
	idleTime = 5 * time.Minute
)

// Server serves a Fleet over gRPC and JSON.
type Server struct {
	f     *Fleet
	gate  *identity.Gate
	grpc  *grpc.Server
	local *identity.Local
	files *identity.Files

	provider *idp.Provider
}

// Identity is how a Server knows its callers.
type Identity struct {
	// Domain is the trust domain, Files the certificate of this centre and the CAs of
	// its callers. Without Files everyone is admin: for loopback only.
	Domain string
	Files  *identity.Files
	// CA makes certificates for nodes that join; nil: none does.
	CA *identity.CA
	// Roles gives callers, as KIND/NAME, another role than their certificates.
	Roles func(identity.Name) (identity.Role, bool)
	// Provider signs people in at the page, besides codes and certificates; nil: none does.
	Provider *idp.Provider
}

// NewServer returns the server of a fleet that does not run yet. It serves nothing
// before Serve.
func NewServer(f *Fleet, id Identity) (*Server, error) {
	local := identity.NewLocal()
	denied := newDenials(f)
	gate, err := identity.New(identity.Config{Domain: id.Domain, Files: id.Files, Roles: id.Roles, Dev: id.Files == nil,
		Refused: denied.note, Counter: f.meters})
	if err != nil {
		return nil, err
	}
	options := append(gate.ServerOptions(),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: keepaliveTime, Timeout: keepaliveWait, MaxConnectionIdle: idleTime}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: keepaliveMin, PermitWithoutStream: true}),
		grpc.ReadBufferSize(0), grpc.WriteBufferSize(writeBuffer),
		grpc.StaticStreamWindowSize(onTheWay), grpc.StaticConnWindowSize(onTheWay))
	s := &Server{f: f, gate: gate, grpc: grpc.NewServer(options...), local: local, files: id.Files, provider: id.Provider}
	centralv1.RegisterEdgesServer(s.grpc, &edges{f: f, gate: gate, ca: id.CA})
	centralv1.RegisterFleetServer(s.grpc, &api{f: f, ca: id.CA})
	healthy := health.NewServer()
	grpc_health_v1.RegisterHealthServer(s.grpc, healthy)
	f.tellHealth = func(ok bool) {
		state := grpc_health_v1.HealthCheckResponse_NOT_SERVING
		if ok {
			state = grpc_health_v1.HealthCheckResponse_SERVING
		}
		healthy.SetServingStatus("", state)
	}
	reflection.Register(s.grpc)
	return s, nil
}

// denials writes down who was denied what. The gate bounds how many those are.
type denials struct{ f *Fleet }

func newDenials(f *Fleet) denials { return denials{f} }

func (d denials) note(_ context.Context, r identity.Refusal) {
	target := r.Method
	if target == "" {
		target = "connection"
	}
	ctx, cancel := context.WithTimeout(context.Background(), leaveTime)
	defer cancel()
	err := d.f.commit(ctx, change{entries: []audit.Entry{{Who: r.Who(), Role: string(r.Peer.Role), Method: "deny", Target: target, Outcome: audit.Denied,
		Detail: more(fmt.Sprintf("%s from %s: %s", r.Reason, r.Addr, r.Text), r.Suppressed)}}})
	if err != nil {
		d.f.log.Warn("a denial cannot be recorded", "who", r.Who(), "target", target, "reason", r.Reason, "error", err)
	}
}

// more says how many were not recorded.
func more(detail string, missed uint64) string {
	if missed == 0 {
		return detail
	}
	return fmt.Sprintf("%s (%d more not recorded)", detail, missed)
}

// Serve answers on a listener for gRPC and, unless it is nil, on one for HTTP, until
// ctx ends. It closes both. TLS is its own business.
func (s *Server) Serve(ctx context.Context, listener, web net.Listener) error {
	var work sync.WaitGroup
	errs := make(chan error, 3)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	serve := func(what string, f func() error) {
		work.Go(func() {
			if err := f(); err != nil && ctx.Err() == nil {
				errs <- fmt.Errorf("%s: %w", what, err)
			}
			cancel()
		})
	}
	serve("gRPC", func() error { return s.grpc.Serve(s.gate.Door(listener)) })
	serve("gRPC within", func() error { return s.grpc.Serve(s.local) })
	if web != nil {
		server, closeConn, err := s.web(func(f func(context.Context)) { work.Go(func() { f(ctx) }) })
		if err != nil {
			cancel()
			s.grpc.Stop()
			return errors.Join(err, listener.Close(), web.Close())
		}
		defer closeConn()
		web = s.gate.Door(web)
		if s.files != nil {
			web = tls.NewListener(web, s.files.ServerTLS())
		}
		serve("HTTP", func() error { return server.Serve(web) })
		stop := context.AfterFunc(ctx, func() { _ = server.Close() })
		defer stop()
	}
	<-ctx.Done()
	s.stop()
	work.Wait()
	close(errs)
	var all []error
	for err := range errs {
		all = append(all, err)
	}
	return errors.Join(all...)
}

// stop lets calls come to their end, but not for long.
func (s *Server) stop() {
	s.f.closeAll()
	done := make(chan struct{})
	go func() { s.grpc.GracefulStop(); close(done) }()
	t := time.NewTimer(leaveTime)
	defer t.Stop()
	select {
	case <-done:
	case <-t.C:
		s.grpc.Stop()
		<-done
	}
	_ = s.local.Close()
}

// web is the server of the page, of JSON, of metrics and of probes; beside runs what it
// needs until Serve's context ends.
func (s *Server) web(beside func(func(context.Context))) (*http.Server, func(), error) {
	conn, err := s.local.Client()
	if err != nil {
		return nil, nil, fmt.Errorf("JSON API: %w", err)
	}
	gateway := runtime.NewServeMux(runtime.WithMarshalerOption(runtime.MIMEWildcard, &runtime.JSONPb{
		MarshalOptions:   protojson.MarshalOptions{UseProtoNames: true, EmitUnpopulated: true},
		UnmarshalOptions: protojson.UnmarshalOptions{},
	}))
	for _, register := range []func(context.Context, *runtime.ServeMux, *grpc.ClientConn) error{
		centralv1.RegisterFleetHandler, centralv1.RegisterEdgesHandler} {
		if err := register(context.Background(), gateway, conn); err != nil {
			return nil, nil, errors.Join(fmt.Errorf("JSON API: %w", err), conn.Close())
		}
	}
	site, logins, err := s.site(centralv1.NewFleetClient(conn))
	if err != nil {
		return nil, nil, errors.Join(err, conn.Close())
	}
	beside(site.Run)
	mux := http.NewServeMux()
	mux.Handle("/", s.gate.Pages(logins, site))
	mux.Handle("/v1/", s.gate.HTTP(gateway))
	registry := s.f.Registry()
	registry.MustRegister(certificates{s.files})
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		select {
		case <-s.f.Ready():
			if s.f.cutOff(time.Now()) {
				http.Error(w, "the store is out of reach", http.StatusServiceUnavailable)
				return
			}
			fmt.Fprintln(w, "ok")
		default:
			http.Error(w, "the store has not been read yet", http.StatusServiceUnavailable)
		}
	})
	return s.gate.Web(mux), func() { _ = conn.Close() }, nil
}
