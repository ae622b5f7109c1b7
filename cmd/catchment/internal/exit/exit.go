// Package exit holds the exit codes of catchment's commands and the errors that
// carry them.
//
// In goes what went wrong, often a gRPC status; out comes an error whose text
// is meant for the person at the keyboard, and the code that a script sees. The
// package never prints and never ends the process.
package exit

import (
	"errors"
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// The exit codes, a contract with scripts.
const (
	// OK: what was asked is done.
	OK = 0
	// Failed: it could not be done.
	Failed = 1
	// Usage: the command line or its input is wrong; nothing was changed.
	Usage = 2
	// Refused: a safety rule refuses it; nothing was changed.
	Refused = 3
)

// Error is an error with the exit code that it leads to.
type Error struct {
	Code int
	Err  error
	// Help is set when the command's help is where to look next.
	Help bool
}

// Error returns the text of the error within.
func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns the error within.
func (e *Error) Unwrap() error { return e.Err }

// Usagef reports a command line that cannot be obeyed as it was written.
func Usagef(format string, args ...any) error {
	return &Error{Code: Usage, Err: fmt.Errorf(format, args...), Help: true}
}

// Inputf reports a file or another input that cannot be used.
func Inputf(format string, args ...any) error {
	return &Error{Code: Usage, Err: fmt.Errorf(format, args...)}
}

// Code returns the exit code of an error: OK for nil, Failed for one that
// carries none.
func Code(err error) int {
	var e *Error
	switch {
	case err == nil:
		return OK
	case errors.As(err, &e):
		return e.Code
	}
	return Failed
}

// FromStatus turns the error of a gRPC call into one for people, without gRPC's
// own wording. FAILED_PRECONDITION is a safety rule's refusal; INVALID_ARGUMENT
// and NOT_FOUND are wrong input; the rest has failed.
func FromStatus(err error) error {
	if err == nil {
		return nil
	}
	s, ok := status.FromError(err)
	if !ok {
		return err
	}
	text := s.Message()
	if text == "" {
		text = "the server gave no reason (" + s.Code().String() + ")"
	}
	switch s.Code() {
	case codes.FailedPrecondition:
		return &Error{Code: Refused, Err: fmt.Errorf("refused by a safety rule: %s", text)}
	case codes.InvalidArgument, codes.NotFound:
		return &Error{Code: Usage, Err: errors.New(text)}
	case codes.Unimplemented:
		return fmt.Errorf("the server does not know this command; it is of another version than this program: %s", text)
	}
	return errors.New(text)
}

// Silent carries the exit code of another program, which has said itself what there is to say.
func Silent(code int) error { return &Error{Code: code, Err: errors.New("")} }
