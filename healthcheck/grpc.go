package healthcheck

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync/atomic"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
)

// GRPC asks grpc.health.v1.Health/Check whether a service is SERVING, on a
// connection of its own: a kept one would not show that new clients get in.
type GRPC struct {
	// Address is host:port. It is the request's authority, unless TLS has a name.
	Address string
	// Service is the name asked about; empty: the server as a whole.
	Service string
	// TLS is how the server's certificate is judged; nil: no TLS.
	TLS *TLS
}

// maxHealth is far more than an answer of the health protocol needs.
const maxHealth = 16 << 10

// grpcProbe is the kind grpc.
type grpcProbe struct {
	address, authority, service string
	tls                         *tls.Config // nil: none
}

// grpcTarget is the kind grpc.
func grpcTarget(c Check) (*target, []error) {
	if c.GRPC == nil {
		return nil, nil
	}
	p := &grpcProbe{address: c.GRPC.Address, service: c.GRPC.Service}
	var errs []error
	if err := splitAddress(p.address); err != nil {
		errs = append(errs, fmt.Errorf("grpc.address: %w", err))
	}
	host, port, _ := net.SplitHostPort(p.address) // an error was reported
	p.authority = net.JoinHostPort(withoutZone(host), port)
	if t := c.GRPC.TLS; t != nil {
		var err error
		if p.tls, err = t.config(host, "h2"); err != nil {
			errs = append(errs, fmt.Errorf("grpc.ca_file: %w", err))
		}
		if t.ServerName != "" {
			p.authority = t.ServerName
		}
	}
	return &target{probe: p.attempt}, errs
}

// attempt opens the connection itself and lends it to gRPC, whose own errors of
// connecting are long and hide their reason.
func (p *grpcProbe) attempt(ctx context.Context) error {
	conn, secured, err := p.connect(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	// gRPC sets deadlines of its own when it closes: only closing ends it surely.
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	// The connection is there: gRPC need not know the address, and could not read all.
	client, err := grpc.NewClient("passthrough:///", p.options(conn, secured)...)
	if err != nil {
		return err
	}
	defer client.Close()
	answer, err := grpc_health_v1.NewHealthClient(client).Check(ctx, &grpc_health_v1.HealthCheckRequest{Service: p.service})
	if err != nil {
		return p.reason(err)
	}
	if answer.GetStatus() != grpc_health_v1.HealthCheckResponse_SERVING {
		return fmt.Errorf("status %v, want SERVING", answer.GetStatus())
	}
	return nil
}

// connect returns a connection on which HTTP/2 can begin; secured is nil without
// TLS.
func (p *grpcProbe) connect(ctx context.Context) (conn net.Conn, secured *tls.Conn, err error) {
	conn, err = dial(ctx, dialer, "tcp", p.address)
	if err != nil || p.tls == nil {
		return conn, nil, err
	}
	secured = tls.Client(conn, p.tls)
	if err := secured.HandshakeContext(ctx); err != nil {
		conn.Close()
		return nil, nil, err
	}
	if secured.ConnectionState().NegotiatedProtocol != "h2" {
		conn.Close()
		return nil, nil, errors.New("no HTTP/2 at this address: the server does not agree on h2 (ALPN)")
	}
	return secured, secured, nil
}

func (p *grpcProbe) options(conn net.Conn, secured *tls.Conn) []grpc.DialOption {
	transport := insecure.NewCredentials()
	if secured != nil {
		transport = handshaken{secured.ConnectionState()}
	}
	var lent atomic.Bool
	return []grpc.DialOption{
		grpc.WithTransportCredentials(transport),
		grpc.WithContextDialer(func(context.Context, string) (net.Conn, error) {
			if lent.Swap(true) {
				return nil, errors.New("connection closed before the answer was complete")
			}
			return conn, nil
		}),
		grpc.WithNoProxy(),
		grpc.WithAuthority(p.authority),
		grpc.WithDisableServiceConfig(),
		grpc.WithDisableRetry(),
		grpc.WithIdleTimeout(0),
		grpc.WithUserAgent("catchment"),
		grpc.WithMaxHeaderListSize(maxHealth),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxHealth)),
	}
}

// reason puts what the health protocol's errors mean in words.
func (p *grpcProbe) reason(err error) error {
	s := status.Convert(err)
	switch s.Code() {
	case codes.NotFound:
		return fmt.Errorf("the server knows no service %q", p.service)
	case codes.Unimplemented:
		return errors.New("the server has no grpc.health.v1.Health")
	default:
		return fmt.Errorf("%v: %s", s.Code(), plain(s.Message()))
	}
}

// handshaken is the credentials of a connection whose TLS handshake is done.
type handshaken struct{ state tls.ConnectionState }

// ClientHandshake has nothing left to do.
func (h handshaken) ClientHandshake(_ context.Context, _ string, conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	info := credentials.TLSInfo{State: h.state}
	info.SecurityLevel = credentials.PrivacyAndIntegrity
	return conn, info, nil
}

// ServerHandshake is not for clients.
func (handshaken) ServerHandshake(net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return nil, nil, errors.New("a client's credentials cannot serve")
}

// Info makes gRPC send the scheme https.
func (handshaken) Info() credentials.ProtocolInfo {
	return credentials.ProtocolInfo{SecurityProtocol: "tls"}
}

// Clone returns h, which never changes.
func (h handshaken) Clone() credentials.TransportCredentials { return h }

// OverrideServerName is for those who have no handshake yet.
func (handshaken) OverrideServerName(string) error {
	return errors.New("the handshake is done")
}
