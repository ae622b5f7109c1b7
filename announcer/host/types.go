package host

import (
	"fmt"
	"net/netip"
	"strings"
)

// Namespace is the path of a network namespace, such as /run/netns/edge1. The
// empty Namespace is the one that the calling process lives in.
type Namespace string

// Address is an address on an interface.
type Address struct {
	Interface string
	Prefix    netip.Prefix
}

// Failure is one thing that Set could not do: a VIP on its interface, or the
// default route or the return path of one family of a neighbour.
type Failure struct {
	// Interface is where the VIP belongs; empty for a default route.
	Interface string
	// Neighbor is whose default route or return path it is; empty for a VIP, and
	// for what a run before us left.
	Neighbor string
	// Prefix is the VIP, or 0.0.0.0/0 or ::/0.
	Prefix netip.Prefix
	// Return is set for a return path.
	Return bool
	// Err says what is wrong and what to do.
	Err error
}

// Error names the VIP or the route, and says what is wrong with it.
func (f Failure) Error() string {
	switch {
	case f.Return:
		return returnFailureText(f)
	case f.Interface != "":
		return fmt.Sprintf("VIP %s on %s: %v", f.Prefix, f.Interface, f.Err)
	case f.Neighbor != "":
		return fmt.Sprintf("default route %s from %s: %v", f.Prefix, f.Neighbor, f.Err)
	}
	return fmt.Sprintf("default route %s: %v", f.Prefix, f.Err)
}

// Unwrap gives Err.
func (f Failure) Unwrap() error { return f.Err }

// SetError is what could not be done by a Set; all else of that Set was done.
// Failures are sorted and never empty.
type SetError struct{ Failures []Failure }

// Error gives every failure, one after the other.
func (e *SetError) Error() string {
	texts := make([]string, len(e.Failures))
	for i, f := range e.Failures {
		texts[i] = f.Error()
	}
	return strings.Join(texts, "; ")
}

// Unwrap gives each Failure, for errors.Is and errors.As.
func (e *SetError) Unwrap() []error {
	errs := make([]error, len(e.Failures))
	for i, f := range e.Failures {
		errs[i] = f
	}
	return errs
}
