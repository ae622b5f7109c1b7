package exit

import (
	"errors"
	"fmt"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

func TestEveryGRPCCodeHasItsExitCode(t *testing.T) {
	want := map[codes.Code]int{
		codes.OK:                 OK,
		codes.FailedPrecondition: Refused,
		codes.InvalidArgument:    Usage,
		codes.NotFound:           Usage,
	}
	for c := codes.OK; c <= codes.Unauthenticated; c++ {
		code, known := want[c]
		if !known {
			code = Failed
		}
		if got := Code(FromStatus(status.Error(c, "text"))); got != code {
			t.Errorf("%v: exit code %d, want %d", c, got, code)
		}
	}
}

func TestStatusTextIsThePlainMessage(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want string
	}{
		{status.Error(codes.NotFound, "no service dns"), "no service dns"},
		{status.Error(codes.FailedPrecondition, "the last announcer"), "refused by a safety rule: the last announcer"},
		{status.Error(codes.Internal, ""), "the server gave no reason (Internal)"},
		{errors.New("plain"), "plain"},
	} {
		if got := FromStatus(tt.err).Error(); got != tt.want {
			t.Errorf("%v: %q, want %q", tt.err, got, tt.want)
		}
	}
}

func TestCodeIsFoundThroughWrapping(t *testing.T) {
	inner := errors.New("inner")
	err := fmt.Errorf("outer: %w", Usagef("flag: %w", inner))
	if Code(err) != Usage || !errors.Is(err, inner) {
		t.Errorf("Code %d, Is %v", Code(err), errors.Is(err, inner))
	}
	if got := Code(Inputf("file")); got != Usage {
		t.Errorf("Inputf: %d", got)
	}
	if got := Code(errors.New("x")); got != Failed {
		t.Errorf("plain error: %d", got)
	}
	if got := Code(nil); got != OK {
		t.Errorf("nil: %d", got)
	}
}
