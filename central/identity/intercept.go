package identity

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/tap"
	"google.golang.org/protobuf/proto"
)

const (
	// MaxMessage is the largest message that the centre takes in, in bytes.
	MaxMessage = 1 << 20
	maxAnswer  = 64 << 20
	maxHeaders = 16 << 10
	// A stream may bring streamBurst messages at once, and then one in streamEvery.
	streamBurst = 200
	streamEvery = 50 * time.Millisecond
	// maxStreams is how many calls one connection may have open.
	maxStreams = 100
	// callTime is how long a call that is no stream may take, its request included.
	callTime = time.Minute
	// handshakeTime is how long a connection may take to say who it is.
	handshakeTime = 10 * time.Second
)

// ServerOptions are those that every gRPC server of the centre has: credentials,
// interceptors, limits.
func (g *Gate) ServerOptions() []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.Creds(serverCredentials{g}),
		grpc.InTapHandle(g.tap),
		grpc.ChainUnaryInterceptor(g.unary),
		grpc.ChainStreamInterceptor(g.stream),
		grpc.StatsHandler(oversize{g}),
		grpc.MaxRecvMsgSize(MaxMessage),
		grpc.MaxSendMsgSize(maxAnswer),
		grpc.MaxHeaderListSize(maxHeaders),
		grpc.MaxConcurrentStreams(maxStreams),
		grpc.ConnectionTimeout(handshakeTime),
		grpc.UnknownServiceHandler(func(_ any, ss grpc.ServerStream) error {
			return status.Error(codes.Unimplemented, "no such method") // behind the interceptors, which refuse it first
		}),
	}
}

// tap decides on a call by its headers: of one that is refused no message is read, and
// who is let in and sends none does not stay.
func (g *Gate) tap(ctx context.Context, info *tap.Info) (context.Context, error) {
	if _, _, err := g.enter(ctx, info.FullMethodName); err != nil {
		return ctx, err
	}
	if g.cfg.Rules[info.FullMethodName].Streams {
		return ctx, nil
	}
	limited, cancel := context.WithTimeout(ctx, g.callTime)
	context.AfterFunc(ctx, cancel)
	return limited, nil
}

func (g *Gate) unary(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	p, v, err := g.enter(ctx, info.FullMethod)
	if err != nil {
		return nil, err
	}
	if r := g.spoken(p, v, info.FullMethod, req); r != nil {
		return nil, g.refuse(ctx, *r)
	}
	return handler(NewContext(ctx, p), req)
}

func (g *Gate) stream(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	if c, ok := ss.Context().Value(callKey{}).(*call); ok {
		c.seen.Store(true)
	}
	p, v, err := g.enter(ss.Context(), info.FullMethod)
	if err != nil {
		return err
	}
	return handler(srv, &gated{ServerStream: ss, ctx: NewContext(ss.Context(), p), gate: g, peer: p, verdict: v, method: info.FullMethod})
}

// enter decides on a call before anything of it is looked at.
func (g *Gate) enter(ctx context.Context, method string) (Peer, verdict, error) {
	v := g.verdictOf(ctx)
	p, refusal := g.allow(v, method)
	// Who holds nothing but a token may try it only so often.
	guesses := g.cfg.Rules[method].Anyone && g.cfg.Rules[method].Writes && !v.Peer.Dev
	if refusal == nil && !guesses {
		return p, v, nil
	}
	if g.limiter.spent(source(v.Peer, v.Addr), g.cfg.Now()) {
		refusal = &Refusal{Reason: TooMany, Peer: v.Peer, Addr: v.Addr, Method: method,
			Text: fmt.Sprintf("refused too often; correct the cause, and try again in %v", refusalEvery)}
	}
	if refusal == nil {
		return p, v, nil
	}
	return p, v, g.refuse(ctx, *refusal)
}

// spoken refuses a message in which an edge speaks for another.
func (g *Gate) spoken(p Peer, v verdict, method string, m any) *Refusal {
	speaker := g.cfg.Rules[method].Speaker
	pm, ok := m.(proto.Message)
	if speaker == nil || !ok {
		return nil
	}
	return g.speaks(p, v, method, speaker(pm))
}

// gated checks each message of a stream.
type gated struct {
	grpc.ServerStream
	ctx     context.Context
	gate    *Gate
	peer    Peer
	verdict verdict
	method  string
	rate    bucket
}

func (s *gated) Context() context.Context { return s.ctx }

func (s *gated) RecvMsg(m any) error {
	if err := s.ServerStream.RecvMsg(m); err != nil {
		if status.Code(err) == codes.ResourceExhausted {
			return s.gate.refuse(s.ctx, Refusal{Reason: TooLarge, Peer: s.peer, Addr: s.verdict.Addr, Method: s.method, Text: status.Convert(err).Message()})
		}
		return err
	}
	if err := s.still(); err != nil {
		return err
	}
	if !s.rate.take(s.gate.cfg.Now(), streamBurst, streamEvery) {
		return s.gate.refuse(s.ctx, Refusal{Reason: TooMany, Peer: s.peer, Addr: s.verdict.Addr, Method: s.method,
			Text: "messages come faster than " + streamEvery.String() + " apart; send the whole state less often"})
	}
	if r := s.gate.spoken(s.peer, s.verdict, s.method, m); r != nil {
		return s.gate.refuse(s.ctx, *r)
	}
	return nil
}

func (s *gated) SendMsg(m any) error {
	if err := s.still(); err != nil {
		return err
	}
	return s.ServerStream.SendMsg(m)
}

// still ends a stream whose caller may no longer have it: the role was taken away,
// or the certificate has expired.
func (s *gated) still() error {
	if _, r := s.gate.allow(s.verdict, s.method); r != nil {
		return s.gate.refuse(s.ctx, *r)
	}
	return nil
}

// verdictOf returns what is known of a call's other end.
func (g *Gate) verdictOf(ctx context.Context) verdict {
	p, ok := peer.FromContext(ctx)
	if !ok {
		return verdict{Reason: NoCertificate, Text: "the connection is not known"}
	}
	info, ok := p.AuthInfo.(authInfo)
	switch {
	case !ok:
		return verdict{Reason: NoCertificate, Text: "the connection was not authenticated", Addr: addrOf(ctx)}
	case info.local:
		return forwarded(ctx)
	}
	return info.verdict
}

// forwardKey holds the verdict on a caller of the gateway. It is set below everything
// that can take a header from outside, and read on local connections only.
const forwardKey = "catchment-caller-bin"

type verdictKey struct{}

// forward puts the verdict of Gate.HTTP in the place of whatever stands there.
func forward(ctx context.Context) context.Context {
	md, _ := metadata.FromOutgoingContext(ctx)
	md = md.Copy()
	if md == nil {
		md = metadata.MD{}
	}
	md.Delete(forwardKey)
	if v, ok := ctx.Value(verdictKey{}).(verdict); ok {
		if text, err := json.Marshal(v); err == nil {
			md.Set(forwardKey, string(text))
		}
	}
	return metadata.NewOutgoingContext(ctx, md)
}

func forwardUnary(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	return invoke(forward(ctx), method, req, reply, cc, opts...)
}

func forwardStream(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, open grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	return open(forward(ctx), desc, cc, method, opts...)
}

// forwarded returns the verdict that came along a local connection.
func forwarded(ctx context.Context) verdict {
	nobody := verdict{Reason: NoCertificate, Text: "the gateway did not say who calls"}
	md, _ := metadata.FromIncomingContext(ctx)
	values := md.Get(forwardKey)
	if len(values) != 1 {
		return nobody
	}
	var v verdict
	if err := json.Unmarshal([]byte(values[0]), &v); err != nil {
		return nobody
	}
	return v
}

// oversize reports single requests over the limit, which end before any
// interceptor.
type oversize struct{ gate *Gate }

type callKey struct{}

// call is what oversize knows of one call.
type call struct {
	method string
	seen   atomic.Bool // by the interceptors
}

// TagRPC remembers the method.
func (o oversize) TagRPC(ctx context.Context, info *stats.RPCTagInfo) context.Context {
	return context.WithValue(ctx, callKey{}, &call{method: info.FullMethodName})
}

// HandleRPC sees how a call ends.
func (o oversize) HandleRPC(ctx context.Context, s stats.RPCStats) {
	c, ok := ctx.Value(callKey{}).(*call)
	if !ok {
		return
	}
	switch s := s.(type) {
	case *stats.InPayload:
		c.seen.Store(true)
	case *stats.End:
		if !c.seen.Load() && status.Code(s.Error) == codes.ResourceExhausted {
			v := o.gate.verdictOf(ctx)
			_ = o.gate.refuse(ctx, Refusal{Reason: TooLarge, Peer: v.Peer, Addr: v.Addr, Method: c.method, Text: status.Convert(s.Error).Message()})
		}
	}
}

// TagConn does nothing.
func (o oversize) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }

// HandleConn does nothing.
func (o oversize) HandleConn(context.Context, stats.ConnStats) {}
