package centre

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
	"github.com/catchment-bgp/catchment/central/identity"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/exit"
)

const (
	// maxAnswer is the largest answer that is taken, in bytes.
	maxAnswer = 64 << 20
	// answerWithin bounds every call but a stream.
	answerWithin = 20 * time.Second
)

// DefaultAddress is where the centre is unless --central or CATCHMENT_CENTRAL says
// otherwise.
const DefaultAddress = "127.0.0.1:7179"

// Client says where the centre is, and who calls.
type Client struct {
	Address       string // HOST:PORT
	CA, Cert, Key string // files
	Timeout       time.Duration
	named         func() bool
}

// New returns a client of the default address.
func New() *Client { return &Client{Address: DefaultAddress, Timeout: answerWithin} }

// Flags gives the root the flags that all who speak to the centre have. The address that
// c has is the default.
func (c *Client) Flags(root *cobra.Command, getenv func(string) string) {
	or := func(name, otherwise string) string {
		if v := getenv(name); v != "" {
			return v
		}
		return otherwise
	}
	f := root.PersistentFlags()
	f.StringVar(&c.Address, "central", or("CATCHMENT_CENTRAL", c.Address), "`ADDRESS` of the centre (env CATCHMENT_CENTRAL)")
	f.StringVar(&c.CA, "ca", or("CATCHMENT_CA", ""), "`FILE` with the CA of the centre (env CATCHMENT_CA)")
	f.StringVar(&c.Cert, "cert", or("CATCHMENT_CERT", ""), "`FILE` with your certificate (env CATCHMENT_CERT)")
	f.StringVar(&c.Key, "key", or("CATCHMENT_KEY", ""), "`FILE` with its key (env CATCHMENT_KEY)")
	c.named = func() bool { return f.Changed("central") || getenv("CATCHMENT_CENTRAL") != "" }
}

// Named reports whether somebody has said where the centre is.
func (c *Client) Named() bool { return c.named != nil && c.named() }

// Connect prepares a connection; it is opened by the first call.
func (c *Client) Connect() (*grpc.ClientConn, error) {
	if _, _, err := net.SplitHostPort(c.Address); err != nil {
		return nil, exit.Usagef("--central %q is no address: write HOST:PORT, such as %s", c.Address, DefaultAddress)
	}
	secure, err := c.credentials()
	if err != nil {
		return nil, err
	}
	return Dial(c.Address, secure)
}

// Dial prepares a connection to a centre at HOST:PORT; it is opened by the first call.
//
// DNS is asked for addresses only. gRPC would ask it for a service config too, which
// a name server that does not answer such questions (that of Docker without an
// Internet) turns into ten seconds of waiting.
func Dial(address string, secure credentials.TransportCredentials) (*grpc.ClientConn, error) {
	conn, err := grpc.NewClient("dns:///"+address, grpc.WithTransportCredentials(secure), grpc.WithDisableServiceConfig(),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxAnswer)))
	if err != nil {
		return nil, fmt.Errorf("preparing a connection to %s: %w", address, err)
	}
	return conn, nil
}

// credentials are TLS with a certificate or, on loopback only, plain text.
func (c *Client) credentials() (credentials.TransportCredentials, error) {
	given := 0
	for _, file := range []string{c.CA, c.Cert, c.Key} {
		if file != "" {
			given++
		}
	}
	switch {
	case given == 0 && identity.CheckLoopback(c.Address) == nil:
		return insecure.NewCredentials(), nil
	case given < 3:
		return nil, exit.Usagef("a centre at %s wants to know who calls: write --ca FILE --cert FILE --key FILE, or set CATCHMENT_CA, CATCHMENT_CERT and CATCHMENT_KEY", c.Address)
	}
	files, err := identity.Open(identity.Paths{CA: c.CA, Cert: c.Cert, Key: c.Key}, nil)
	if err != nil {
		return nil, exit.Inputf("%w", err)
	}
	return identity.ClientCredentials(files), nil
}

// Method is one unary method of the API.
type Method[Req, Resp any] func(centralv1.FleetClient, context.Context, Req, ...grpc.CallOption) (Resp, error)

// Call asks the centre once.
func Call[Req, Resp any](ctx context.Context, c *Client, m Method[Req, Resp], request Req) (Resp, error) {
	var nothing Resp
	conn, err := c.Connect()
	if err != nil {
		return nothing, err
	}
	defer conn.Close() // fails only when closed before
	limited, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	response, err := m(centralv1.NewFleetClient(conn), limited, request)
	if err != nil {
		return nothing, c.Explain(ctx, err)
	}
	return response, nil
}

// Explain turns an error of a call into one for people. ctx is the caller's, without the
// call's own limit.
func (c *Client) Explain(ctx context.Context, err error) error {
	switch code := status.Code(err); {
	case ctx.Err() != nil:
		return errors.New("interrupted before the centre answered: a change may have been made, see catchment audit list")
	case code == codes.DeadlineExceeded:
		return fmt.Errorf("the centre at %s did not answer within %s: a change may have been made, see catchment audit list", c.Address, c.Timeout)
	case code == codes.Unavailable:
		return fmt.Errorf("cannot reach the centre at %s: %s. Another is named by --central or CATCHMENT_CENTRAL", c.Address, plain(status.Convert(err).Message()))
	case code == codes.Unauthenticated || code == codes.PermissionDenied:
		return fmt.Errorf("denied: %s", status.Convert(err).Message())
	}
	return exit.FromStatus(err)
}

// plain takes gRPC's own words off the error of a connection: what is left is that
// of the network or of TLS.
func plain(text string) string {
	for _, before := range []string{"transport: Error while dialing: ", "transport: authentication handshake failed: "} {
		if _, rest, ok := strings.Cut(text, before); ok {
			return strings.TrimSuffix(rest, `"`)
		}
	}
	if strings.Contains(text, "error reading server preface: EOF") { // plain text met TLS
		return "it wants TLS: give --ca, --cert and --key"
	}
	return text
}
