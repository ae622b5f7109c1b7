package guard

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// trafficClass is CS6, which routers reserve for routing protocols (RFC 4594).
const trafficClass = 0xc0

// option is one socket option that a session wants.
type option struct {
	name string // the kernel's
	set  func(fd int) error
	hint string // what to do when the kernel refuses
}

// peerOptions are the options of a connection to the router, dialled or
// accepted.
func (c *Config) peerOptions() []option {
	hops := int(max(c.Multihop, 1))
	v6 := c.Peer.Addr().Is6()
	opts := []option{trafficOption(v6)}
	switch {
	case c.TTLSecurity:
		opts = append(opts, ttlOption(v6, 255), minTTLOption(v6, 256-hops))
	case c.LocalASN != c.PeerASN:
		opts = append(opts, ttlOption(v6, hops))
	}
	return opts
}

// dialOptions are those that must stand before the first SYN.
func (c *Config) dialOptions() []option {
	opts := c.peerOptions()
	if c.BindDevice != "" {
		opts = append(opts, deviceOption(c.BindDevice))
	}
	if c.Password != "" {
		opts = append(opts, md5Option(c.Peer.Addr(), c.Password))
	}
	return opts
}

func trafficOption(v6 bool) option {
	if v6 {
		return intOption("IPV6_TCLASS", unix.IPPROTO_IPV6, unix.IPV6_TCLASS, trafficClass)
	}
	return intOption("IP_TOS", unix.IPPROTO_IP, unix.IP_TOS, trafficClass)
}

func ttlOption(v6 bool, ttl int) option {
	if v6 {
		return intOption("IPV6_UNICAST_HOPS", unix.IPPROTO_IPV6, unix.IPV6_UNICAST_HOPS, ttl)
	}
	return intOption("IP_TTL", unix.IPPROTO_IP, unix.IP_TTL, ttl)
}

// minTTLOption drops what arrives with a lower TTL (RFC 5082, section 3).
func minTTLOption(v6 bool, ttl int) option {
	o := intOption("IP_MINTTL", unix.IPPROTO_IP, unix.IP_MINTTL, ttl)
	if v6 {
		o = intOption("IPV6_MINHOPCOUNT", unix.IPPROTO_IPV6, unix.IPV6_MINHOPCOUNT, ttl)
	}
	o.hint = "switch ttl_security off, or check that multihop is 1 to 254"
	return o
}

func deviceOption(name string) option {
	return option{
		name: "SO_BINDTODEVICE",
		set:  func(fd int) error { return unix.BindToDevice(fd, name) },
		hint: fmt.Sprintf("check that the interface %s exists and that the process has CAP_NET_RAW", name),
	}
}

// md5Option sets the TCP MD5 key for one address; an empty key removes it.
func md5Option(peer netip.Addr, key string) option {
	return option{
		name: "TCP_MD5SIG",
		set: func(fd int) error {
			s := md5Key(peer, key)
			return unix.SetsockoptTCPMD5Sig(fd, unix.IPPROTO_TCP, unix.TCP_MD5SIG, &s)
		},
		hint: "the kernel needs CONFIG_TCP_MD5SIG and, in FIPS mode, MD5; else remove the password",
	}
}

// md5Key fills in the kernel's struct: a sockaddr without port or scope.
func md5Key(peer netip.Addr, key string) unix.TCPMD5Sig {
	s := unix.TCPMD5Sig{Keylen: uint16(len(key))}
	copy(s.Key[:], key)
	if peer.Is4() {
		s.Addr.Family = unix.AF_INET
		a := peer.As4()
		copy(s.Addr.Data[2:], a[:])
		return s
	}
	s.Addr.Family = unix.AF_INET6
	a := peer.As16()
	copy(s.Addr.Data[6:], a[:])
	return s
}

func intOption(name string, level, opt, value int) option {
	return option{
		name: name,
		set:  func(fd int) error { return unix.SetsockoptInt(fd, level, opt, value) },
		hint: fmt.Sprintf("the kernel does not take the value %d", value),
	}
}

// apply sets options in order and stops at the first that the kernel refuses.
func apply(raw syscall.RawConn, who string, opts []option) error {
	var failed error
	err := raw.Control(func(fd uintptr) {
		for _, o := range opts {
			if err := o.set(int(fd)); err != nil {
				failed = fmt.Errorf("socket option %s for %s: %w (%s)", o.name, who, err, o.hint)
				return
			}
		}
	})
	if err != nil {
		return fmt.Errorf("socket options for %s: %w", who, err)
	}
	return failed
}

// network is the network to dial or listen on: sockets always have the family
// of their address, since TCP MD5 keys and TTLs are per family.
func network(a netip.Addr) string {
	if a.Is4() {
		return "tcp4"
	}
	return "tcp6"
}

// dial connects to addr from local (invalid: the kernel chooses).
func dial(ctx context.Context, addr netip.AddrPort, local netip.Addr, who string, opts []option) (*net.TCPConn, error) {
	d := net.Dialer{
		KeepAlive: -1, // BGP has its own
		Control: func(_, _ string, raw syscall.RawConn) error {
			return apply(raw, who, opts)
		},
	}
	d.SetMultipathTCP(false) // MPTCP sockets have no MD5 signatures
	if local.IsValid() {
		d.LocalAddr = net.TCPAddrFromAddrPort(netip.AddrPortFrom(local, 0))
	}
	conn, err := d.DialContext(ctx, network(addr.Addr()), addr.String())
	if err != nil {
		return nil, err
	}
	return conn.(*net.TCPConn), nil
}

// dialRouter makes one connection to the router, within the Dial timer.
func (c *Config) dialRouter(ctx context.Context) (*net.TCPConn, error) {
	ctx, cancel := context.WithTimeout(ctx, c.Timers.Dial)
	defer cancel()
	return dial(ctx, c.Peer, c.LocalAddress, "neighbour "+c.Name, c.dialOptions())
}

// dialLeg makes one connection to the leg. A loopback port without a listener
// may connect to itself when the kernel picks it as the source port, too.
func (c *Config) dialLeg(ctx context.Context, timeout time.Duration) (*net.TCPConn, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var opts []option
	if c.LegPassword != "" {
		opts = append(opts, md5Option(c.Leg.Addr(), c.LegPassword))
	}
	conn, err := dial(ctx, c.Leg, legSource, "the leg of "+c.Name, opts)
	if err != nil {
		return nil, err
	}
	if conn.LocalAddr().String() == conn.RemoteAddr().String() {
		conn.Close()
		return nil, fmt.Errorf("nothing listens on %s", c.Leg)
	}
	return conn, nil
}

// legSource is the address that the leg sees its neighbour at.
var legSource = netip.AddrFrom4([4]byte{127, 0, 0, 1})
