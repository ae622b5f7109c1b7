package guard

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"syscall"
	"testing"
	"time"
)

func TestDialReasonSaysWhatToCheck(t *testing.T) {
	c := Config{
		LocalASN: ourASN, PeerASN: routerASN,
		Peer: netip.MustParseAddrPort("10.77.1.2:179"), LocalAddress: netip.MustParseAddr("10.77.1.1"), Multihop: 2,
		Timers: Timers{Dial: 10 * time.Second},
	}
	op := func(err error) error { return &net.OpError{Op: "dial", Net: "tcp4", Err: err} }
	call := func(errno syscall.Errno) error { return op(os.NewSyscallError("connect", errno)) }
	const silent = "cannot connect: no answer from 10.77.1.2:179 within 10s: check that it is up, " +
		"and that both sides have the same password or none"
	for want, err := range map[string]error{
		silent + "; hops to it, at most: 2":                                                                op(os.ErrDeadlineExceeded),
		"cannot connect: connection refused by 10.77.1.2:179: check that BGP runs there":                   call(syscall.ECONNREFUSED),
		"cannot connect: 10.77.1.1 is not an address of this machine: check the local address":             call(syscall.EADDRNOTAVAIL),
		"cannot connect: no way to 10.77.1.2: check the link and the routes of this machine":               call(syscall.EHOSTUNREACH),
		"cannot connect: connect: permission denied":                                                       call(syscall.EACCES),
		"cannot connect: socket option SO_BINDTODEVICE for neighbour a: no such device (check that it is)": op(errors.New("socket option SO_BINDTODEVICE for neighbour a: no such device (check that it is)")),
	} {
		if got := c.dialReason(err); got != want {
			t.Errorf("%v: %q, want %q", err, got, want)
		}
	}
	c.PeerASN = c.LocalASN // iBGP goes as far as it must
	if got := c.dialReason(op(context.DeadlineExceeded)); got != silent {
		t.Errorf("context.DeadlineExceeded: %q", got)
	}
	if got := c.dialReason(call(syscall.ETIMEDOUT)); got != silent {
		t.Errorf("ETIMEDOUT: %q", got)
	}
}
