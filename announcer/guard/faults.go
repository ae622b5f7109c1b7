package guard

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
)

// dialReason says why the router could not be connected to, and what to check.
func (c *Config) dialReason(err error) string {
	var op *net.OpError
	if errors.As(err, &op) {
		err = op.Err
	}
	reason, check := err.Error(), ""
	switch {
	case isTimeout(err):
		reason = fmt.Sprintf("no answer from %s within %s", c.Peer, c.Timers.Dial)
		check = "that it is up, and that both sides have the same password or none"
		if c.TTLSecurity || c.LocalASN != c.PeerASN {
			check += fmt.Sprintf("; hops to it, at most: %d", max(c.Multihop, 1))
		}
	case errors.Is(err, syscall.ECONNREFUSED):
		reason = fmt.Sprintf("connection refused by %s", c.Peer)
		check = "that BGP runs there"
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		reason = fmt.Sprintf("%s is not an address of this machine", c.LocalAddress)
		check = "the local address"
	case errors.Is(err, syscall.ENETUNREACH), errors.Is(err, syscall.EHOSTUNREACH):
		reason = fmt.Sprintf("no way to %s", c.Peer.Addr())
		check = "the link and the routes of this machine"
	}
	if check != "" {
		reason += ": check " + check
	}
	return "cannot connect: " + reason
}

// readFault is a connection to the router that cannot be read any more.
func readFault(err error) *fault {
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return &fault{reason: "neighbour closed the connection without a NOTIFICATION"}
	case errors.Is(err, syscall.ECONNRESET):
		return &fault{reason: "neighbour reset the connection"}
	}
	return &fault{reason: fmt.Sprintf("reading from the neighbour: %v", err)}
}

// writeFault is a connection to the router that cannot be written any more.
func writeFault(err error) *fault {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return &fault{
			reason: "neighbour took no data for the whole send hold time (RFC 9687)",
			notify: &notification{code: codeSendHold},
		}
	}
	return &fault{reason: fmt.Sprintf("writing to the neighbour: %v", err)}
}

// legFault is a leg that failed us. The neighbour cannot help it: it gets a
// Cease that does not count against it.
func legFault(err error) *fault {
	n := Cease{Text: "the BGP process here stopped"}.notification(ceaseReset)
	reason := fmt.Sprintf("the local BGP server failed: %v", err)
	if errors.Is(err, io.EOF) {
		reason = "the local BGP server closed its connection"
	}
	return &fault{reason: reason, notify: &n}
}

// unexpected is a message that came in the wrong state (RFC 6608: the data is
// its type).
func unexpected(subcode, kind byte) *fault {
	return &fault{
		reason: fmt.Sprintf("neighbour sent a message of type %d when none was due", kind),
		notify: &notification{code: codeFSM, subcode: subcode, data: []byte{kind}},
	}
}
