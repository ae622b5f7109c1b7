package load

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"golang.org/x/sys/unix"
)

// Of linux/sock_diag.h and linux/inet_diag.h.
const (
	sockDiagByFamily = 20
	diagRequestSize  = 56 // struct inet_diag_req_v2
	diagAnswerSize   = 72 // struct inet_diag_msg
	diagBytecode     = 1  // INET_DIAG_REQ_BYTECODE
	diagInfo         = 2  // INET_DIAG_INFO
	tcpEstablished   = 1
	opJump           = 1 // INET_DIAG_BC_JMP
	opSource         = 7 // INET_DIAG_BC_S_COND
	opSize           = 4 // struct inet_diag_bc_op
	conditionSize    = 8 // struct inet_diag_hostcond, without the address
)

// maxVIPs keeps the filter within the 16 bits of its length.
const maxVIPs = 1000

// diagRequest asks for the established TCP connections of a family whose local
// address is within vips. The kernel gives IPv4 connections of a socket for both
// families as IPv6, and matches their IPv4 address all the same. Nil: none can be.
func diagRequest(family uint8, vips []netip.Prefix, info bool) []byte {
	filter := diagFilter(vips, family == unix.AF_INET6)
	if filter == nil {
		return nil
	}
	body := make([]byte, diagRequestSize)
	body[0], body[1] = family, unix.IPPROTO_TCP
	if info {
		body[2] = 1 << (diagInfo - 1)
	}
	binary.NativeEndian.PutUint32(body[4:], 1<<tcpEstablished)
	return attr(body, diagBytecode, filter)
}

// diagFilter is a program for the kernel: is the local address within one of vips?
// An operation goes on by `yes` octets where its condition holds, else by `no`; to
// arrive at the end is a match, to go past it is none.
func diagFilter(vips []netip.Prefix, six bool) []byte {
	var conditions [][]byte
	for _, p := range vips {
		p = netip.PrefixFrom(p.Addr().Unmap(), p.Bits()).Masked()
		if p.IsValid() && (six || p.Addr().Is4()) {
			conditions = append(conditions, hostCondition(p))
		}
	}
	length := 0
	for i, c := range conditions {
		length += len(c)
		if i < len(conditions)-1 {
			length += opSize
		}
	}
	var out []byte
	for i, c := range conditions {
		if i == len(conditions)-1 {
			binary.NativeEndian.PutUint16(c[2:], uint16(len(c)+opSize)) // past the end
			out = append(out, c...)
			break
		}
		binary.NativeEndian.PutUint16(c[2:], uint16(len(c)+opSize)) // to the next condition
		out = append(out, c...)
		jump := []byte{opJump, opSize, 0, 0} // taken always, by `no`
		binary.NativeEndian.PutUint16(jump[2:], uint16(length-len(out)))
		out = append(out, jump...)
	}
	return out
}

// hostCondition is an operation whose condition is a local address within p.
func hostCondition(p netip.Prefix) []byte {
	address := p.Addr().AsSlice()
	c := make([]byte, opSize+conditionSize, opSize+conditionSize+len(address))
	c[0], c[1] = opSource, byte(opSize+conditionSize+len(address))
	c[4], c[5] = unix.AF_INET, byte(p.Bits())
	if p.Addr().Is6() {
		c[4] = unix.AF_INET6
	}
	binary.NativeEndian.PutUint32(c[8:], ^uint32(0)) // any port
	return append(c, address...)
}

// connections calls each for every established connection to vips, with the
// kernel's answer, valid during the call only. While connections come and go, some
// few may be missed or be there twice.
func (k *kernel) connections(vips []netip.Prefix, info bool, each func(answer []byte)) error {
	if k.diag == nil {
		return errNoDiag
	}
	for _, family := range []uint8{unix.AF_INET, unix.AF_INET6} {
		body := diagRequest(family, vips, info)
		if body == nil {
			continue
		}
		switch err := k.diag.request(sockDiagByFamily, unix.NLM_F_DUMP, body, each); {
		case errors.Is(err, unix.ENOENT):
			return errNoDiag
		case err != nil:
			return fmt.Errorf("connections, by sock_diag: %w", err)
		}
	}
	return nil
}

// sessions counts the established connections to vips.
func (k *kernel) sessions(vips []netip.Prefix) (n int, err error) {
	err = k.connections(vips, false, func([]byte) { n++ })
	return n, err
}

// connection is what the kernel knows of a TCP connection.
type connection struct {
	cookie        uint64 // names it as long as it lives
	local, remote netip.AddrPort
	rtt           time.Duration // smoothed
	sent, again   uint32        // segments with data since the beginning, and retransmits
}

// Of linux/tcp.h: struct tcp_info.
const (
	infoRTT         = 68
	infoRetransmits = 100
	infoDataSent    = 156 // segments with data, retransmits included; Linux 4.6
	infoLeast       = 160
)

// cookieOf reads the name of the connection alone.
func cookieOf(answer []byte) uint64 {
	if len(answer) < diagAnswerSize {
		return 0
	}
	return binary.NativeEndian.Uint64(answer[44:])
}

// parseConnection reads struct inet_diag_msg and the attribute with tcp_info.
func parseConnection(answer []byte) (c connection, ok bool) {
	if len(answer) < diagAnswerSize {
		return c, false
	}
	n := 4
	if answer[0] == unix.AF_INET6 {
		n = 16
	}
	local, _ := netip.AddrFromSlice(answer[8 : 8+n])
	remote, _ := netip.AddrFromSlice(answer[24 : 24+n])
	c.local = netip.AddrPortFrom(local.Unmap(), binary.BigEndian.Uint16(answer[4:]))
	c.remote = netip.AddrPortFrom(remote.Unmap(), binary.BigEndian.Uint16(answer[6:]))
	c.cookie = cookieOf(answer)
	for kind, value := range attrs(answer[diagAnswerSize:]) {
		if kind == diagInfo && len(value) >= infoLeast {
			c.rtt = time.Duration(binary.NativeEndian.Uint32(value[infoRTT:])) * time.Microsecond
			c.again = binary.NativeEndian.Uint32(value[infoRetransmits:])
			c.sent = binary.NativeEndian.Uint32(value[infoDataSent:])
			ok = true
		}
	}
	return c, ok
}
