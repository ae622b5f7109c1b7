package edgecmd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"strings"
	"sync/atomic"
	"syscall"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	edgev1 "github.com/catchment-bgp/catchment/api/edge/v1"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/exit"
)

const (
	maxAnswer = 64 << 20 // octets; gRPC's own limit of 4 MiB is some thousand services
	maxPath   = 107      // octets; sun_path of Linux less its NUL
)

// client is a connection to one node.
type client struct {
	edgev1.EdgeClient
	conn *grpc.ClientConn
	path string
	// dialErr is what the last try to connect ended with: gRPC keeps its text only.
	dialErr atomic.Pointer[error]
}

// connect prepares a client; the socket is opened by the first call.
func (g *group) connect() (*client, error) {
	path, err := socketPath(g.address)
	if err != nil {
		return nil, err
	}
	c := &client{path: path}
	c.conn, err = grpc.NewClient("passthrough:///edge",
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithAuthority("localhost"),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxAnswer)),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			conn, err := g.dial(ctx, path)
			if err != nil {
				c.dialErr.Store(&err)
			}
			return conn, err
		}))
	if err != nil {
		return nil, fmt.Errorf("preparing a connection to %s: %w", path, err)
	}
	c.EdgeClient = edgev1.NewEdgeClient(c.conn)
	return c, nil
}

func (c *client) close() { _ = c.conn.Close() } // fails only when closed before

// socketPath reads unix:///run/x.sock, unix:/run/x.sock and unix:x.sock.
func socketPath(address string) (string, error) {
	path, ok := strings.CutPrefix(address, "unix:")
	path = strings.TrimPrefix(path, "//")
	switch {
	case !ok || path == "":
		return "", exit.Usagef("--edge %q is not the address of a unix socket: write one like %s", address, DefaultEdge)
	case len(path) > maxPath:
		return "", exit.Usagef("--edge %q: the path has %d octets; a unix socket's has at most %d", address, len(path), maxPath)
	}
	return path, nil
}

// method is one unary method of the API.
type method[Req, Resp any] func(edgev1.EdgeClient, context.Context, Req, ...grpc.CallOption) (Resp, error)

// call asks the node once, under the group's deadline.
func call[Req, Resp any](ctx context.Context, g *group, m method[Req, Resp], request Req) (Resp, error) {
	var nothing Resp
	c, err := g.connect()
	if err != nil {
		return nothing, err
	}
	defer c.close()
	limited, cancel := context.WithTimeout(ctx, g.timeout)
	defer cancel()
	response, err := m(c, limited, request)
	switch {
	case err == nil:
		return response, nil
	case ctx.Err() != nil:
		return nothing, fmt.Errorf("interrupted before catchment-edge on %s answered: a change may have been made, see 'catchment edge status'", c.path)
	case status.Code(err) == codes.DeadlineExceeded:
		return nothing, fmt.Errorf("catchment-edge on %s did not answer within %s: a change may have been made, see 'catchment edge status' and the daemon's log", c.path, g.timeout)
	}
	return nothing, c.explain(err)
}

// explain says what is wrong with the socket where that is what is wrong.
func (c *client) explain(err error) error {
	if status.Code(err) != codes.Unavailable {
		return exit.FromStatus(err)
	}
	p := c.dialErr.Load()
	if p == nil {
		return fmt.Errorf("catchment-edge on %s ended the connection: %w", c.path, exit.FromStatus(err))
	}
	switch dial := *p; {
	case errors.Is(dial, fs.ErrNotExist):
		return fmt.Errorf("there is no socket %s: is catchment-edge running? Another socket is named by --edge or CATCHMENT_EDGE", c.path)
	case errors.Is(dial, syscall.ECONNREFUSED):
		return fmt.Errorf("nobody answers on socket %s: catchment-edge is not running, or it died and left the socket; start it again", c.path)
	case errors.Is(dial, fs.ErrPermission):
		return fmt.Errorf("no permission to open socket %s: become a member of the group that owns it ('ls -l %s' names it), or use sudo", c.path, c.path)
	default:
		return fmt.Errorf("cannot reach catchment-edge: %w", dial)
	}
}
