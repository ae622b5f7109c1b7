package load

import (
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// errNoDiag and errNoTracks say what a kernel lacks.
var (
	errNoDiag   = errors.New("connections: the kernel needs its modules inet_diag and tcp_diag")
	errNoTracks = errors.New("connection marks: the kernel needs its module nf_conntrack_netlink")
)

// kernel is what figures of this machine come from.
type kernel struct {
	devices *devices
	diag    *socket // connections; nil: the kernel does not tell them
	tracks  *socket // connection tracking; nil: the same
	proc    string  // where procfs is
}

func openKernel() (*kernel, error) {
	route, err := openSocket(unix.NETLINK_ROUTE)
	if err != nil {
		return nil, err
	}
	d, err := newDevices(route)
	if err != nil {
		return nil, errors.Join(err, route.close())
	}
	k := &kernel{devices: d, proc: "/proc"}
	k.diag, _ = openSocket(unix.NETLINK_SOCK_DIAG)
	k.tracks, _ = openSocket(unix.NETLINK_NETFILTER)
	return k, nil
}

func (k *kernel) close() error {
	return errors.Join(k.devices.close(), k.diag.close(), k.tracks.close())
}

// answerTime bounds the wait for each datagram of an answer.
const answerTime = 2 * time.Second

// socket is a netlink socket for requests, one at a time. It reuses one buffer, so
// that a dump of any length leaves no garbage.
type socket struct {
	mu   sync.Mutex
	file *os.File
	seq  uint32
	out  []byte
	in   []byte
}

// openSocket opens a socket that only the kernel can send to.
func openSocket(protocol int) (*socket, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, protocol)
	if err != nil {
		return nil, fmt.Errorf("netlink socket, protocol %d: %w", protocol, err)
	}
	if err := unix.Connect(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return nil, errors.Join(fmt.Errorf("netlink socket, protocol %d: %w", protocol, err), unix.Close(fd))
	}
	return &socket{file: os.NewFile(uintptr(fd), "netlink"), in: make([]byte, 64<<10)}, nil
}

func (s *socket) close() error {
	if s == nil {
		return nil
	}
	return s.file.Close()
}

// request sends one message and gives the bodies of the answers to each, valid
// during the call only, until the kernel says that these were all. The kernel's
// refusal is a unix.Errno.
func (s *socket) request(kind, flags uint16, body []byte, each func(body []byte)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seq++
	s.out = binary.NativeEndian.AppendUint32(s.out[:0], uint32(unix.SizeofNlMsghdr+len(body)))
	s.out = binary.NativeEndian.AppendUint16(s.out, kind)
	s.out = binary.NativeEndian.AppendUint16(s.out, flags|unix.NLM_F_REQUEST)
	s.out = binary.NativeEndian.AppendUint32(s.out, s.seq)
	s.out = append(append(s.out, 0, 0, 0, 0), body...)
	if _, err := s.file.Write(s.out); err != nil {
		return err
	}
	for {
		if err := s.file.SetReadDeadline(time.Now().Add(answerTime)); err != nil {
			return err
		}
		n, err := s.file.Read(s.in)
		if err != nil {
			return err
		}
		for m := range messages(s.in[:n]) {
			switch {
			case m.seq != s.seq: // of a request that ran out of time
			case m.kind == unix.NLMSG_DONE, m.kind == unix.NLMSG_ERROR:
				return m.errno()
			default:
				each(m.body)
			}
		}
	}
}

// message is one netlink message; body follows its header.
type message struct {
	kind uint16
	seq  uint32
	body []byte
}

// errno is what NLMSG_ERROR and NLMSG_DONE begin with.
func (m message) errno() error {
	if len(m.body) < 4 {
		return nil
	}
	if n := -int32(binary.NativeEndian.Uint32(m.body)); n != 0 {
		return unix.Errno(n)
	}
	return nil
}

// messages walks the messages of a datagram; it stops at one that does not fit.
func messages(b []byte) iter.Seq[message] {
	return func(yield func(message) bool) {
		for len(b) >= unix.SizeofNlMsghdr {
			n := int(binary.NativeEndian.Uint32(b))
			if n < unix.SizeofNlMsghdr || n > len(b) {
				return
			}
			m := message{binary.NativeEndian.Uint16(b[4:]), binary.NativeEndian.Uint32(b[8:]), b[unix.SizeofNlMsghdr:n]}
			if !yield(m) {
				return
			}
			b = b[min(align(n), len(b)):]
		}
	}
}

// attrs walks netlink attributes; it stops at one that does not fit.
func attrs(b []byte) iter.Seq2[uint16, []byte] {
	return func(yield func(uint16, []byte) bool) {
		for len(b) >= unix.SizeofRtAttr {
			n := int(binary.NativeEndian.Uint16(b))
			if n < unix.SizeofRtAttr || n > len(b) {
				return
			}
			kind := binary.NativeEndian.Uint16(b[2:]) &^ (unix.NLA_F_NESTED | unix.NLA_F_NET_BYTEORDER)
			if !yield(kind, b[unix.SizeofRtAttr:n]) {
				return
			}
			b = b[min(align(n), len(b)):]
		}
	}
}

// attr appends an attribute.
func attr(b []byte, kind uint16, value []byte) []byte {
	b = binary.NativeEndian.AppendUint16(b, uint16(unix.SizeofRtAttr+len(value)))
	b = binary.NativeEndian.AppendUint16(b, kind)
	b = append(b, value...)
	return append(b, make([]byte, align(len(value))-len(value))...)
}

// align rounds up to the four octets that netlink pads to.
func align(n int) int { return (n + 3) &^ 3 }
