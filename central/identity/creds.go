package identity

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
)

// authInfo is what a connection of the server knows of its other end.
type authInfo struct {
	credentials.CommonAuthInfo
	verdict verdict
	// local connections come from this process, and say with each call for whom.
	local bool
}

// AuthType names the kind of authentication.
func (authInfo) AuthType() string { return "catchment" }

// serverCredentials does the handshakes of a Gate's server.
type serverCredentials struct{ gate *Gate }

func (s serverCredentials) ServerHandshake(raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	if _, ok := raw.(localConn); ok {
		return raw, authInfo{local: true, CommonAuthInfo: credentials.CommonAuthInfo{SecurityLevel: credentials.PrivacyAndIntegrity}}, nil
	}
	if s.gate.cfg.Dev {
		known(raw)
		return raw, authInfo{verdict: s.gate.devVerdict(raw.RemoteAddr().String())}, nil
	}
	conn, info, err := s.gate.handshake(raw)
	if err != nil {
		s.gate.handshakeFailed(raw.RemoteAddr().String(), err)
		return nil, nil, err
	}
	v := s.gate.identify(info.(credentials.TLSInfo).State, raw.RemoteAddr().String())
	if v.Reason == "" {
		known(raw)
	}
	return conn, authInfo{verdict: v,
		CommonAuthInfo: credentials.CommonAuthInfo{SecurityLevel: credentials.PrivacyAndIntegrity}}, nil
}

func (g *Gate) devVerdict(addr string) verdict {
	return verdict{Peer: Peer{Role: Admin, Dev: true}, Addr: addr}
}

// handshakeFailed counts a connection that never came to TLS, by why.
func (g *Gate) handshakeFailed(addr string, err error) {
	if errors.Is(err, errBusy) { // nobody's fault
		g.count(Busy)
		return
	}
	if errors.Is(err, io.EOF) {
		// So leave browsers that are asked for a certificate, a few times each, to come
		// back: what they do next is to count, and people behind one address are many.
		g.count(NoHandshake)
		return
	}
	reason := NoHandshake
	var record tls.RecordHeaderError
	var timeout net.Error
	switch {
	case errors.As(err, &record):
		reason = NotTLS
	case errors.As(err, &timeout) && timeout.Timeout():
		reason = TooSlow
	}
	_ = g.refuse(context.Background(), Refusal{Reason: reason, Addr: addr, Text: err.Error()})
}

func (s serverCredentials) ClientHandshake(context.Context, string, net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return nil, nil, errors.New("identity: these credentials are a server's")
}

func (s serverCredentials) Info() credentials.ProtocolInfo {
	return credentials.ProtocolInfo{SecurityProtocol: "tls"}
}

func (s serverCredentials) Clone() credentials.TransportCredentials { return s }

func (s serverCredentials) OverrideServerName(string) error { return nil }

// clientCredentials does the handshakes of a client, with the files as they are then.
type clientCredentials struct {
	config func() (*tls.Config, error)
}

// ClientCredentials are for a client's connection to the centre: for an edge or a
// person. Files that change are used from the next connection on.
func ClientCredentials(f *Files) credentials.TransportCredentials {
	return clientCredentials{config: f.ClientTLS}
}

func (c clientCredentials) ClientHandshake(ctx context.Context, authority string, raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	cfg, err := c.config()
	if err != nil {
		return nil, nil, err
	}
	return credentials.NewTLS(cfg).ClientHandshake(ctx, authority, raw)
}

func (c clientCredentials) ServerHandshake(net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return nil, nil, errors.New("identity: these credentials are a client's")
}

func (c clientCredentials) Info() credentials.ProtocolInfo {
	return credentials.ProtocolInfo{SecurityProtocol: "tls"}
}

func (c clientCredentials) Clone() credentials.TransportCredentials { return c }

func (c clientCredentials) OverrideServerName(string) error { return nil }

// Local is a listener that only this process can reach: the JSON gateway's way to
// the gRPC server. What comes through it speaks for the callers of the gateway, as
// Gate.HTTP found them; nothing that a caller sends can look like it, since the
// server knows such a connection by its Go type.
type Local struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

// NewLocal returns a Local; serve it with the same gRPC server as the sockets.
func NewLocal() *Local {
	return &Local{conns: make(chan net.Conn), done: make(chan struct{})}
}

type localConn struct{ net.Conn }

// Accept returns the next connection from this process.
func (l *Local) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

// Close ends Accept and further connections; those that stand go on.
func (l *Local) Close() error {
	l.once.Do(func() { close(l.done) })
	return nil
}

type localAddr struct{}

func (localAddr) Network() string { return "local" }
func (localAddr) String() string  { return "local" }

// Addr is a placeholder.
func (l *Local) Addr() net.Addr { return localAddr{} }

// Client returns a client connection through l, for the gateway. Each call must have
// come through Gate.HTTP.
func (l *Local) Client() (*grpc.ClientConn, error) {
	dial := func(ctx context.Context, _ string) (net.Conn, error) {
		near, far := net.Pipe()
		select {
		case l.conns <- localConn{far}:
			return near, nil
		case <-l.done:
			return nil, net.ErrClosed
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return grpc.NewClient("passthrough:///local", grpc.WithContextDialer(dial),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithUnaryInterceptor(forwardUnary), grpc.WithStreamInterceptor(forwardStream),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxAnswer)))
}
