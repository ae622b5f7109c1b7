package nocmd

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
	"github.com/catchment-bgp/catchment/central/identity"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/exit"
)

// maxAnswer is the largest answer that is taken, in bytes.
const maxAnswer = 64 << 20

// connect prepares a connection; it is opened by the first call.
func (g *group) connect() (*grpc.ClientConn, error) {
	if _, _, err := net.SplitHostPort(g.address); err != nil {
		return nil, exit.Usagef("--central %q is no address: write HOST:PORT, such as %s", g.address, DefaultCentral)
	}
	secure, err := g.credentials()
	if err != nil {
		return nil, err
	}
	conn, err := grpc.NewClient("dns:///"+g.address, grpc.WithTransportCredentials(secure),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxAnswer)))
	if err != nil {
		return nil, fmt.Errorf("preparing a connection to %s: %w", g.address, err)
	}
	return conn, nil
}

// credentials are TLS with a certificate or, on loopback only, plain text.
func (g *group) credentials() (credentials.TransportCredentials, error) {
	given := 0
	for _, file := range []string{g.ca, g.cert, g.key} {
		if file != "" {
			given++
		}
	}
	switch {
	case given == 0 && identity.CheckLoopback(g.address) == nil:
		return insecure.NewCredentials(), nil
	case given < 3:
		return nil, exit.Usagef("a centre at %s wants to know who calls: write --ca FILE --cert FILE --key FILE, or set CATCHMENT_CA, CATCHMENT_CERT and CATCHMENT_KEY", g.address)
	}
	files, err := identity.Open(identity.Paths{CA: g.ca, Cert: g.cert, Key: g.key}, nil)
	if err != nil {
		return nil, exit.Inputf("%w", err)
	}
	return identity.ClientCredentials(files), nil
}

// method is one unary method of the API.
type method[Req, Resp any] func(centralv1.FleetClient, context.Context, Req, ...grpc.CallOption) (Resp, error)

// call asks the centre once.
func call[Req, Resp any](ctx context.Context, g *group, m method[Req, Resp], request Req) (Resp, error) {
	var nothing Resp
	conn, err := g.connect()
	if err != nil {
		return nothing, err
	}
	defer conn.Close() // fails only when closed before
	limited, cancel := context.WithTimeout(ctx, g.timeout)
	defer cancel()
	response, err := m(centralv1.NewFleetClient(conn), limited, request)
	if err != nil {
		return nothing, g.explain(ctx, err)
	}
	return response, nil
}

// plain takes gRPC's own words off the error of a connection: what is left is that
// of the network or of TLS.
func plain(text string) string {
	for _, before := range []string{"transport: Error while dialing: ", "transport: authentication handshake failed: "} {
		if _, rest, ok := strings.Cut(text, before); ok {
			return strings.TrimSuffix(rest, `"`)
		}
	}
	return text
}

// explain turns an error of a call into one for people.
func (g *group) explain(ctx context.Context, err error) error {
	switch code := status.Code(err); {
	case ctx.Err() != nil:
		return errors.New("interrupted before the centre answered: a change may have been made, see catchment audit list")
	case code == codes.DeadlineExceeded:
		return fmt.Errorf("the centre at %s did not answer within %s: a change may have been made, see catchment audit list", g.address, g.timeout)
	case code == codes.Unavailable:
		return fmt.Errorf("cannot reach the centre at %s: %s. Another is named by --central or CATCHMENT_CENTRAL", g.address, plain(status.Convert(err).Message()))
	case code == codes.Unauthenticated || code == codes.PermissionDenied:
		return fmt.Errorf("denied: %s", status.Convert(err).Message())
	}
	return exit.FromStatus(err)
}
