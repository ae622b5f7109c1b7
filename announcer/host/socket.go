package host

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// answerTime bounds the wait for each datagram of an answer.
const answerTime = 10 * time.Second

var errInterrupted = errors.New("the kernel's table changed while it was read")

// socket is a netlink socket. It reuses one buffer, so that reading a full
// table leaves no garbage. One request runs at a time.
type socket struct {
	mu   sync.Mutex
	file *os.File
	conn syscall.RawConn
	// closed tells the reader why its wait has ended: the error of a RawConn
	// does not.
	closed atomic.Bool
	seq    uint32
	buf    []byte
}

// openSocket opens a socket in ns that gets the notifications of groups
// (RTNLGRP_*, 1..32).
func openSocket(ns Namespace, groups ...uint) (*socket, error) {
	return openNetlink(ns, unix.NETLINK_ROUTE, groups...)
}

// openNetlink is openSocket for any protocol (NETLINK_*).
func openNetlink(ns Namespace, protocol int, groups ...uint) (*socket, error) {
	fd, err := inNamespace(ns, func() (int, error) { return bindSocket(protocol, groups) })
	if err != nil {
		return nil, err
	}
	s := &socket{file: os.NewFile(uintptr(fd), "netlink"), buf: make([]byte, 64<<10)}
	if s.conn, err = s.file.SyscallConn(); err != nil {
		return nil, errors.Join(fmt.Errorf("netlink socket: %w", err), s.file.Close())
	}
	return s, nil
}

func bindSocket(protocol int, groups []uint) (int, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, protocol)
	if err != nil {
		return 0, fmt.Errorf("open a netlink socket: %w", err)
	}
	local := &unix.SockaddrNetlink{Family: unix.AF_NETLINK}
	for _, g := range groups {
		local.Groups |= 1 << (g - 1)
	}
	if err := unix.Bind(fd, local); err != nil {
		unix.Close(fd)
		return 0, fmt.Errorf("bind a netlink socket: %w", err)
	}
	// Both only improve error texts; kernels before 4.12 have neither.
	_ = unix.SetsockoptInt(fd, unix.SOL_NETLINK, unix.NETLINK_EXT_ACK, 1)
	_ = unix.SetsockoptInt(fd, unix.SOL_NETLINK, unix.NETLINK_CAP_ACK, 1)
	return fd, nil
}

// inNamespace runs open with its thread in ns. A thread that cannot go back is
// given up: it ends with its goroutine, still locked.
func inNamespace(ns Namespace, open func() (int, error)) (fd int, err error) {
	if ns == "" {
		return open()
	}
	target, err := os.Open(string(ns))
	if err != nil {
		return 0, fmt.Errorf("network namespace: %w", err)
	}
	defer target.Close()
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		home, e := os.Open(fmt.Sprintf("/proc/self/task/%d/ns/net", unix.Gettid()))
		if e != nil {
			err = fmt.Errorf("own network namespace: %w", e)
			return
		}
		defer home.Close()
		if e := unix.Setns(int(target.Fd()), unix.CLONE_NEWNET); e != nil {
			runtime.UnlockOSThread()
			err = fmt.Errorf("enter network namespace %s: %w", ns, e)
			return
		}
		fd, err = open()
		if unix.Setns(int(home.Fd()), unix.CLONE_NEWNET) == nil {
			runtime.UnlockOSThread()
		}
	}()
	<-done
	return fd, err
}

func (s *socket) Close() error {
	s.closed.Store(true)
	return s.file.Close()
}

// receive gives the next datagram of the kernel, valid until the next call.
// Closing the socket ends the wait with os.ErrClosed; ENOBUFS means that
// notifications were lost.
func (s *socket) receive() ([]byte, error) {
	for {
		var n int
		var from unix.Sockaddr
		var failed error
		err := s.conn.Read(func(fd uintptr) bool {
			n, from, failed = unix.Recvfrom(int(fd), s.buf, 0)
			return failed != unix.EAGAIN
		})
		switch {
		case err != nil && s.closed.Load():
			return nil, os.ErrClosed
		case errors.Is(err, os.ErrDeadlineExceeded):
			return nil, fmt.Errorf("the kernel did not answer within %v: %w", answerTime, err)
		case err != nil:
			return nil, err
		}
		if failed == unix.EINTR {
			continue
		}
		if failed != nil {
			return nil, failed
		}
		// Any process may send to our port; only the kernel is believed.
		if k, ok := from.(*unix.SockaddrNetlink); ok && k.Pid == 0 {
			return s.buf[:n], nil
		}
	}
}

// message is one netlink message; body follows its header.
type message struct {
	kind, flags uint16
	seq         uint32
	body        []byte
}

// next cuts the first message off b.
func next(b []byte) (m message, rest []byte, ok bool) {
	if len(b) < unix.SizeofNlMsghdr {
		return m, nil, false
	}
	n := int(binary.NativeEndian.Uint32(b))
	if n < unix.SizeofNlMsghdr || n > len(b) {
		return m, nil, false
	}
	m = message{
		kind:  binary.NativeEndian.Uint16(b[4:]),
		flags: binary.NativeEndian.Uint16(b[6:]),
		seq:   binary.NativeEndian.Uint32(b[8:]),
		body:  b[unix.SizeofNlMsghdr:n],
	}
	return m, b[min(align(n), len(b)):], true
}

// do sends a request and waits for its acknowledgement.
func (s *socket) do(kind, flags int, data ...nl.NetlinkRequestData) error {
	return s.request(kind, flags|unix.NLM_F_ACK, data, func(message) {})
}

// dump gives each message of a table to each, whose argument is valid during the
// call only. It fails with errInterrupted if the table changed meanwhile and
// what was given may not be whole.
func (s *socket) dump(kind int, head nl.NetlinkRequestData, each func(body []byte)) error {
	interrupted := false
	err := s.request(kind, unix.NLM_F_DUMP, []nl.NetlinkRequestData{head}, func(m message) {
		interrupted = interrupted || m.flags&unix.NLM_F_DUMP_INTR != 0
		each(m.body)
	})
	if err == nil && interrupted {
		return errInterrupted
	}
	return err
}

func (s *socket) request(kind, flags int, data []nl.NetlinkRequestData, each func(message)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seq++
	req := nl.NewNetlinkRequest(kind, flags)
	req.Seq = s.seq
	req.Data = data
	if _, err := s.file.Write(req.Serialize()); err != nil {
		return err
	}
	for {
		if err := s.file.SetReadDeadline(time.Now().Add(answerTime)); err != nil {
			return err
		}
		b, err := s.receive()
		if err != nil {
			return err
		}
		for m, rest, ok := next(b); ok; m, rest, ok = next(rest) {
			switch {
			case m.seq != s.seq: // of a request that ran out of time
			case m.kind == unix.NLMSG_ERROR, m.kind == unix.NLMSG_DONE:
				return answer(m)
			default:
				each(m)
			}
		}
	}
}

// kernelError is a refusal: the error number and the kernel's own words.
type kernelError struct {
	errno syscall.Errno
	text  string
}

func (e *kernelError) Error() string {
	if e.text == "" {
		return e.errno.Error()
	}
	return fmt.Sprintf("%v (kernel: %s)", e.errno, e.text)
}

func (e *kernelError) Unwrap() error { return e.errno }

// answer reads NLMSG_ERROR and NLMSG_DONE; both may carry an extended
// acknowledgement after the error number (and the request's header).
func answer(m message) error {
	errno := -int32(uint32Of(m.body))
	if errno == 0 {
		return nil
	}
	e := &kernelError{errno: syscall.Errno(errno)}
	skip := 4
	if m.kind == unix.NLMSG_ERROR {
		skip += unix.SizeofNlMsghdr
	}
	if m.flags&nlmFAckTLVs != 0 && len(m.body) > skip {
		for kind, value := range attrs(m.body[skip:]) {
			if kind == nlmsgerrAttrMsg {
				e.text = unix.ByteSliceToString(value)
			}
		}
	}
	return e
}

// Of linux/netlink.h.
const (
	nlmFAckTLVs     = 0x200
	nlmsgerrAttrMsg = 1
)
