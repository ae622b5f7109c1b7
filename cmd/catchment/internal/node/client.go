package node

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spf13/pflag"
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
	// answerWithin bounds every call but a stream.
	answerWithin = 10 * time.Second
)

// DefaultAddress is where a node's local API is unless --edge or CATCHMENT_EDGE says
// otherwise.
const DefaultAddress = "unix:///run/catchment/edge.sock"

// Client says where a node's socket is.
type Client struct {
	Address string        // unix:PATH
	Timeout time.Duration // of every call but a stream
	// Dial opens the socket at a path.
	Dial func(ctx context.Context, path string) (net.Conn, error)
}

// New returns a client of the default address.
func New() *Client {
	return &Client{Address: DefaultAddress, Timeout: answerWithin, Dial: func(ctx context.Context, path string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", path)
	}}
}

// Flag gives f the flag --edge.
func (c *Client) Flag(f *pflag.FlagSet, getenv func(string) string) {
	if address := getenv("CATCHMENT_EDGE"); address != "" {
		c.Address = address
	}
	f.StringVar(&c.Address, "edge", c.Address, "socket (`unix:PATH`) of the node's local API (env CATCHMENT_EDGE)")
}

// Conn is a connection to one node.
type Conn struct {
	edgev1.EdgeClient
	// Path is that of the socket.
	Path string
	conn *grpc.ClientConn
	// dialErr is what the last try to connect ended with: gRPC keeps its text only.
	dialErr atomic.Pointer[error]
}

// Connect prepares a connection; the socket is opened by the first call.
func (c *Client) Connect() (*Conn, error) {
	path, err := socketPath(c.Address)
	if err != nil {
		return nil, err
	}
	out := &Conn{Path: path}
	out.conn, err = grpc.NewClient("passthrough:///edge",
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithAuthority("localhost"),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxAnswer)),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			conn, err := c.Dial(ctx, path)
			if err != nil {
				out.dialErr.Store(&err)
			}
			return conn, err
		}))
	if err != nil {
		return nil, fmt.Errorf("preparing a connection to %s: %w", path, err)
	}
	out.EdgeClient = edgev1.NewEdgeClient(out.conn)
	return out, nil
}

// Close ends the connection.
func (c *Conn) Close() { _ = c.conn.Close() } // fails only when closed before

// socketPath reads unix:///run/x.sock, unix:/run/x.sock and unix:x.sock.
func socketPath(address string) (string, error) {
	path, ok := strings.CutPrefix(address, "unix:")
	path = strings.TrimPrefix(path, "//")
	switch {
	case !ok || path == "":
		return "", exit.Usagef("--edge %q is not the address of a unix socket: write one like %s", address, DefaultAddress)
	case len(path) > maxPath:
		return "", exit.Usagef("--edge %q: the path has %d octets; a unix socket's has at most %d", address, len(path), maxPath)
	}
	return path, nil
}

// Method is one unary method of the API.
type Method[Req, Resp any] func(edgev1.EdgeClient, context.Context, Req, ...grpc.CallOption) (Resp, error)

// Call asks the node once, under the client's deadline.
func Call[Req, Resp any](ctx context.Context, client *Client, m Method[Req, Resp], request Req) (Resp, error) {
	var nothing Resp
	c, err := client.Connect()
	if err != nil {
		return nothing, err
	}
	defer c.Close()
	limited, cancel := context.WithTimeout(ctx, client.Timeout)
	defer cancel()
	response, err := m(c, limited, request)
	switch {
	case err == nil:
		return response, nil
	case ctx.Err() != nil:
		return nothing, fmt.Errorf("interrupted before catchment-edge on %s answered: a change may have been made, see 'catchment edge status'", c.Path)
	case status.Code(err) == codes.DeadlineExceeded:
		return nothing, fmt.Errorf("catchment-edge on %s did not answer within %s: a change may have been made, see 'catchment edge status' and the daemon's log", c.Path, client.Timeout)
	}
	return nothing, c.Explain(err)
}

// Explain says what is wrong with the socket where that is what is wrong.
func (c *Conn) Explain(err error) error {
	if status.Code(err) != codes.Unavailable {
		return exit.FromStatus(err)
	}
	p := c.dialErr.Load()
	if p == nil {
		return fmt.Errorf("catchment-edge on %s ended the connection: %w", c.Path, exit.FromStatus(err))
	}
	switch dial := *p; {
	case errors.Is(dial, fs.ErrNotExist):
		return fmt.Errorf("there is no socket %s: is catchment-edge running? Another socket is named by --edge or CATCHMENT_EDGE", c.Path)
	case errors.Is(dial, syscall.ECONNREFUSED):
		return fmt.Errorf("nobody answers on socket %s: catchment-edge is not running, or it died and left the socket; start it again", c.Path)
	case errors.Is(dial, fs.ErrPermission):
		return fmt.Errorf("no permission to open socket %s: become a member of the group that owns it ('ls -l %s' names it), or use sudo", c.Path, c.Path)
	default:
		return fmt.Errorf("cannot reach catchment-edge: %w", dial)
	}
}
