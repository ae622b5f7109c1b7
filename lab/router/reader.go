package router

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"
)

// The longest time that a router may take for one question, and the most that it may answer, in octets.
const (
	AnswerWithin = 10 * time.Second
	AnswerMost   = 64 << 20
)

// Run runs a command where a router runs, and returns what it wrote; an error for any exit status but 0. It must end
// when ctx does.
type Run = func(ctx context.Context, command ...string) (string, error)

// Reader asks one router. It keeps nothing, so that it may be used by several at once. Each error names the router's kind
// and the command; a router that does not answer within AnswerWithin, or with more than AnswerMost, is an error.
type Reader interface {
	// Routes is what the router learned by BGP for exactly this prefix, the best path and the others; empty when nothing.
	// Its own routes are left out, and those that an import filter refused. A catchment-edge node learns nothing: its
	// paths are those that it announces, see Path.To.
	Routes(ctx context.Context, prefix netip.Prefix) ([]Path, error)
	// Table is the same for all prefixes of IPv4 and IPv6.
	Table(ctx context.Context) ([]Path, error)
	// Sessions is every neighbour that is configured, up or not.
	Sessions(ctx context.Context) ([]Neighbor, error)
}

// readers make the Reader of each kind.
var readers = map[string]func(asker) Reader{
	"frr":            func(a asker) Reader { return frrReader{a} },
	"bird":           func(a asker) Reader { return birdReader{a} },
	"openbgpd":       func(a asker) Reader { return openBGPDReader{a} },
	"exabgp":         func(a asker) Reader { return exaBGPReader{a} },
	"catchment-edge": func(a asker) Reader { return edgeReader{a} },
}

// Speaks says whether Open knows a kind of node.
func Speaks(kind string) bool { return readers[kind] != nil }

// Open returns the Reader of a kind of router: frr, bird, openbgpd, exabgp or catchment-edge. It asks nothing yet; an
// unknown kind is an error. Commands are the router's own (vtysh, birdc, bgpctl, cat, catchment), found by the PATH that
// run has.
func Open(kind string, run Run) (Reader, error) {
	make, ok := readers[kind]
	if !ok {
		return nil, fmt.Errorf("a node of kind %q tells no routes", kind)
	}
	return make(asker{kind, run}), nil
}

// asker puts questions to a router.
type asker struct {
	kind string
	run  Run
}

// refused is the error of a command that did not succeed.
type refused struct {
	output string
	err    error
}

func (r *refused) Error() string { return r.err.Error() }

func (r *refused) Unwrap() error { return r.err }

// says looks for words in what the command wrote, wherever run put it.
func (r *refused) says(words string) bool {
	return strings.Contains(r.output, words) || strings.Contains(r.err.Error(), words)
}

// ask runs a command, which its errors name.
func (a asker) ask(ctx context.Context, command ...string) (string, error) {
	return a.askAs(ctx, strings.Join(command, " "), command...)
}

// askAs has a shorter name for the command.
func (a asker) askAs(ctx context.Context, name string, command ...string) (string, error) {
	bound, cancel := context.WithTimeout(ctx, AnswerWithin)
	defer cancel()
	output, err := a.run(bound, command...)
	switch {
	case ctx.Err() != nil:
		return "", a.failed(name, ctx.Err())
	case bound.Err() != nil && err != nil:
		return "", a.failed(name, fmt.Errorf("no answer within %v", AnswerWithin))
	case err != nil:
		return "", a.failed(name, &refused{output, err})
	case len(output) > AnswerMost:
		return "", a.failed(name, fmt.Errorf("the answer has over %d octets; ask for one prefix", AnswerMost))
	}
	return output, nil
}

func (a asker) failed(name string, err error) error {
	return fmt.Errorf("%s: %s: %w", a.kind, name, err)
}

// says whether a command was refused with these words.
func says(err error, words string) bool {
	var r *refused
	return errors.As(err, &r) && r.says(words)
}

// parsed names the router in a parser's error.
func parsed[T any](a asker, list []T, err error) ([]T, error) {
	if err != nil {
		return nil, fmt.Errorf("%s: %w", a.kind, err)
	}
	return list, nil
}

// to are the paths to one prefix.
func to(prefix netip.Prefix, paths []Path) []Path {
	return slices.DeleteFunc(paths, func(p Path) bool { return p.Prefix != prefix })
}
