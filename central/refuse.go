package central

import (
	"errors"
	"fmt"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/catchment-bgp/catchment/central/store"
	"github.com/catchment-bgp/catchment/policy/fleet"
)

// refused is a request that a safety rule refuses.
type refused struct{ fleet.Refusal }

// Error says which limit, why and who holds the others.
func (r refused) Error() string {
	return fmt.Sprintf("%s (limit %s)", r.Reason, r.Limit)
}

// inSpiteOf is how the log and a warning tell of a limit that was overridden: its
// text alone reads like a refusal.
func inSpiteOf(limit string) string { return "in spite of a limit: " + limit }

// refusef refuses by a rule that is not admission's.
func refusef(limit, format string, args ...any) error {
	return refused{fleet.Refusal{Limit: fleet.Limit(limit), Reason: fmt.Sprintf(format, args...)}}
}

// failed gives an error its gRPC code.
func failed(err error) error {
	var bad badInput
	var no refused
	switch {
	case err == nil:
		return nil
	case errors.As(err, &no):
		return status.Error(codes.FailedPrecondition, err.Error())
	case errors.As(err, &bad):
		return status.Error(codes.InvalidArgument, err.Error())
	case errors.Is(err, errReplaced):
		return status.Error(codes.Aborted, err.Error())
	case errors.Is(err, errCutOff), errors.Is(err, errLeaving), errors.Is(err, store.ErrUnavailable), errors.Is(err, store.ErrClosed):
		return status.Error(codes.Unavailable, err.Error())
	case errors.Is(err, store.ErrConflict):
		return status.Error(codes.Aborted, "others change the same at the same time; try again")
	case errors.Is(err, store.ErrFull):
		return status.Error(codes.ResourceExhausted, err.Error())
	}
	if s, ok := status.FromError(err); ok {
		return s.Err()
	}
	if s := status.FromContextError(err); s.Code() != codes.Unknown {
		return s.Err()
	}
	return status.Error(codes.Internal, err.Error())
}

// Caller is who calls, as the server has found out.
type Caller struct{ Name, Role string }

// needReason refuses a change that nobody could explain later.
func needReason(reason string) error {
	if strings.TrimSpace(reason) == "" {
		return badf("a reason is needed: those who look later want to know why")
	}
	return nil
}

// missing says that something that is named is not there.
func missing(what, name string) error {
	return status.Error(codes.NotFound, fmt.Sprintf("there is no %s %q", what, name))
}
