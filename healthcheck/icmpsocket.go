package healthcheck

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// maxEchoErrors is how many errors are looked at together.
const maxEchoErrors = 1000

// echoConn is a socket for ICMP echoes with one address.
type echoConn struct {
	net.Conn
	ipHeader bool // packets begin with an IPv4 header
	raw      bool // errors about others' echoes to the address come here as well
}

// dialEcho opens a ping socket, which needs no privilege but a group within
// net.ipv4.ping_group_range, or else a raw one, which needs CAP_NET_RAW. It is
// connected, and told of all errors (IP_RECVERR), so that the kernel reports
// what routers say.
func dialEcho(to, source netip.Addr) (*echoConn, error) {
	conn, err := dialSocket(unix.SOCK_DGRAM, to, source)
	if errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM) || errors.Is(err, unix.EPROTONOSUPPORT) {
		conn, err = dialSocket(unix.SOCK_RAW, to, source)
	}
	if errors.Is(err, unix.EPERM) {
		return nil, errors.New("not allowed to send ICMP: widen the sysctl net.ipv4.ping_group_range, or give CAP_NET_RAW")
	}
	return conn, err
}

func dialSocket(kind int, to, source netip.Addr) (*echoConn, error) {
	family, protocol := unix.AF_INET, unix.IPPROTO_ICMP
	if to.Is6() {
		family, protocol = unix.AF_INET6, unix.IPPROTO_ICMPV6
	}
	fd, err := unix.Socket(family, kind|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, protocol)
	if err != nil {
		return nil, fmt.Errorf("ICMP socket: %w", err)
	}
	file := os.NewFile(uintptr(fd), "icmp")
	defer file.Close() // FileConn has a descriptor of its own
	if err := setUpEcho(fd, to, source); err != nil {
		return nil, err
	}
	conn, err := net.FileConn(file)
	if err != nil {
		return nil, err
	}
	raw := kind == unix.SOCK_RAW
	return &echoConn{Conn: conn, ipHeader: raw && to.Is4(), raw: raw}, nil
}

func setUpEcho(fd int, to, source netip.Addr) error {
	level, option := unix.IPPROTO_IP, unix.IP_RECVERR
	if to.Is6() {
		level, option = unix.IPPROTO_IPV6, unix.IPV6_RECVERR
	}
	if err := unix.SetsockoptInt(fd, level, option, 1); err != nil {
		return err
	}
	if source.IsValid() {
		if err := unix.Bind(fd, socketAddress(source)); err != nil {
			return err
		}
	}
	return unix.Connect(fd, socketAddress(to))
}

func socketAddress(a netip.Addr) unix.Sockaddr {
	if a.Is4() {
		return &unix.SockaddrInet4{Addr: a.As4()}
	}
	return &unix.SockaddrInet6{Addr: a.As16()}
}

// payload is the ICMP message in a packet: raw IPv4 sockets give the IP header
// (RFC 791, section 3.1), too.
func (c *echoConn) payload(packet []byte) []byte {
	if !c.ipHeader {
		return packet
	}
	if len(packet) == 0 {
		return nil
	}
	return packet[min(int(packet[0]&0x0f)*4, len(packet)):]
}

// concernsOthers tells whether all errors that wait are about echoes with another
// identifier than ours: `mtr` and `traceroute -I` bring many about. Each carries the
// message that it is about (ip(7), IP_RECVERR). Where none waits the answer is no.
func (c *echoConn) concernsOthers(id int) bool {
	socket, ok := c.Conn.(syscall.Conn)
	if !c.raw || !ok {
		return false
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return false
	}
	others, ours := 0, 0
	err = raw.Control(func(fd uintptr) {
		message := make([]byte, 64)
		for others+ours < maxEchoErrors {
			n, _, _, _, err := unix.Recvmsg(int(fd), message, nil, unix.MSG_ERRQUEUE|unix.MSG_DONTWAIT)
			switch {
			case err != nil:
				return
			case n >= 8 && int(binary.BigEndian.Uint16(message[4:])) != id:
				others++
			default:
				ours++
			}
		}
	})
	return err == nil && ours == 0 && others > 0
}
