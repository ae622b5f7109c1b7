package fleet

import (
	"context"
	"errors"
	"io"
	"net"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/test/bufconn"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
)

// relay passes the streams of a node on, with all times put off as if the node's
// clock were ahead.
type relay struct {
	centralv1.UnimplementedEdgesServer
	ahead    time.Duration
	client   centralv1.EdgesClient
	conn     *grpc.ClientConn
	server   *grpc.Server
	listener *bufconn.Listener
	served   chan error
}

func newRelay(ahead time.Duration, dial func(ctx context.Context) (net.Conn, error)) (*relay, error) {
	conn, err := grpc.NewClient("passthrough:///centre", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return dial(ctx) }))
	if err != nil {
		return nil, err
	}
	r := &relay{ahead: ahead, client: centralv1.NewEdgesClient(conn), conn: conn, listener: bufconn.Listen(1 << 16), served: make(chan error, 1)}
	// Nodes try a silent connection every 10 s, as the real centre lets them.
	r.server = grpc.NewServer(grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 5 * time.Second}))
	centralv1.RegisterEdgesServer(r.server, r)
	go func() { r.served <- r.server.Serve(r.listener) }()
	return r, nil
}

func (r *relay) stop() error {
	r.server.Stop()
	return errors.Join(<-r.served, r.conn.Close())
}

// Connect passes one stream on in both directions.
func (r *relay) Connect(near grpc.BidiStreamingServer[centralv1.EdgeMessage, centralv1.Intent]) error {
	ctx, cancel := context.WithCancel(near.Context())
	defer cancel()
	far, err := r.client.Connect(ctx)
	if err != nil {
		return err
	}
	go func() {
		for {
			m, err := near.Recv()
			if err != nil {
				_ = far.CloseSend()
				return
			}
			shift(m, r.ahead)
			if far.Send(m) != nil {
				return
			}
		}
	}()
	for {
		in, err := far.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		shift(in, -r.ahead)
		if err := near.Send(in); err != nil {
			return err
		}
	}
}
