package web

import (
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/catchment-bgp/catchment/maintenance"
)

// isRefusal reports whether an error is for the one who filled the form in.
func isRefusal(err error) bool {
	switch codeOf(err) {
	case codes.InvalidArgument, codes.FailedPrecondition, codes.Aborted:
		return true
	}
	return false
}

func codeOf(err error) codes.Code { return status.Code(err) }

func textOf(err error) string { return status.Convert(err).Message() }

// length is a time as people write it, such as 90m or 2d; none is none.
func length(text string) (*durationpb.Duration, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return nil, nil
	}
	d, err := maintenance.ParseDuration(text)
	if err != nil {
		return nil, status.Errorf(codes.InvalidArgument, "for how long: %v", err)
	}
	return durationpb.New(d.Std()), nil
}
