package healthcheck

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"
	"time"
)

// probe is one attempt: nil means passed. It must return when ctx ends, with
// every goroutine and descriptor of its own gone.
type probe func(ctx context.Context) error

// target is what a check of some kind comes to.
type target struct {
	probe probe
	// address is the host:port that a watch keeps a connection to; empty: the kind
	// cannot be watched.
	address string
}

// kinds are all kinds of check: each returns nothing where the check is of another
// kind, and otherwise a target or all that is wrong. An error begins with the
// field as it is called in the configuration.
var kinds = map[string]func(Check) (*target, []error){
	"dns":  dnsTarget,
	"exec": execTarget,
	"file": fileTarget,
	"grpc": grpcTarget,
	"http": httpTarget,
	"icmp": icmpTarget,
	"tcp":  tcpTarget,
	"unit": unitTarget,
}

// dialer opens probes' connections, by way of dial. Fallback is off because it
// leaves goroutines behind for a while.
var dialer = net.Dialer{FallbackDelay: -1, KeepAlive: -1}

// dial connects with d. Names are looked up by a resolver of this call's own: one
// that is shared joins equal questions, and then waits for a silent name server
// longer than whoever asked.
func dial(ctx context.Context, d net.Dialer, network, address string) (net.Conn, error) {
	d.Resolver = &net.Resolver{PreferGo: true, Dial: dialNameServer}
	return d.DialContext(ctx, network, address)
}

// dialNameServer opens a resolver's connection, which ends with ctx: the resolver
// itself waits for its own timeout, 5 s.
func dialNameServer(ctx context.Context, network, address string) (net.Conn, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, network, address)
	if err == nil {
		context.AfterFunc(ctx, func() { conn.Close() })
	}
	return conn, err
}

// tcpTarget is the kind tcp.
func tcpTarget(c Check) (*target, []error) {
	if c.TCP == nil {
		return nil, nil
	}
	address := c.TCP.Address
	if err := splitAddress(address); err != nil {
		return nil, []error{fmt.Errorf("tcp.address: %w", err)}
	}
	connect := func(ctx context.Context) error {
		conn, err := dial(ctx, dialer, "tcp", address)
		if err != nil {
			return err
		}
		return conn.Close()
	}
	return &target{probe: connect, address: address}, nil
}

// bind makes conn's reads and writes fail once ctx ends. The caller calls release
// when it is done with conn.
func bind(ctx context.Context, conn net.Conn) (release func()) {
	done := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(done)
		conn.SetDeadline(time.Unix(1, 0)) // an error means that conn is closed already
	})
	return func() {
		if !stop() {
			<-done
		}
	}
}

// refused says whether err is how a dead process answers, or its kernel for it.
func refused(err error) bool {
	for _, e := range []error{
		syscall.ECONNREFUSED, syscall.ECONNRESET, syscall.EPIPE, syscall.EHOSTUNREACH, syscall.ENETUNREACH,
		io.EOF, io.ErrUnexpectedEOF,
	} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// maxError bounds a Status.Error: parts of it may come from the service.
const maxError = 200

// explain puts err in a few words.
func explain(err error) string {
	var errno syscall.Errno
	switch {
	case err == nil:
		return ""
	case errors.As(err, &errno):
		return errno.Error()
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "connection closed before the answer was complete"
	}
	text := plain(err.Error())
	if len(text) > maxError {
		text = text[:maxError-3] + "..."
	}
	return strings.ToValidUTF8(text, "")
}
