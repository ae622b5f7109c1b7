package guard

import (
	"bytes"
	"net"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

const secret = "correct horse battery staple"

var loopback6 = netip.IPv6Loopback()

func TestMD5WithTheRouterAndWithTheLeg(t *testing.T) {
	for name, addr := range map[string]string{"IPv4": "127.0.0.1:0", "IPv6": "[::1]:0"} {
		t.Run(name, func(t *testing.T) {
			us := netip.MustParseAddrPort(addr).Addr()
			router := listen(t, addr, md5Option(us, secret))
			leg := newFakeLeg(t, legOpen(), md5Option(loopback4, "leg key"))
			e := prepareEnv(t, router, leg, func(c *Config) { c.Password, c.LegPassword = secret, "leg key" })
			e.start()
			r, s := e.establish()
			_, _ = s.conn.Write(numbered(1))
			r.expect(typeUpdate)
		})
	}
}

func TestMD5MismatchIsNoConnection(t *testing.T) {
	for name, tt := range map[string]struct{ ours, theirs string }{
		"another key": {"not the key", secret},
		"no key here": {"", secret},
		"none there":  {secret, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var opts []option
			if tt.theirs != "" {
				opts = append(opts, md5Option(loopback4, tt.theirs))
			}
			e := prepareEnv(t, listen(t, "127.0.0.1:0", opts...), newFakeLeg(t, legOpen()), func(c *Config) {
				c.Password = tt.ours
				c.Timers.Dial = 100 * time.Millisecond
			})
			e.start()
			if ev := e.await(Idle); ev.Previous != Connect || !strings.Contains(ev.Reason, "cannot connect") {
				t.Errorf("event %+v", ev)
			}
		})
	}
}

func TestLegWithoutOurKeyIsRefused(t *testing.T) {
	leg := newFakeLeg(t, legOpen(), md5Option(loopback4, "leg key"))
	e := prepareEnv(t, listen(t, "127.0.0.1:0"), leg, func(c *Config) {
		c.LegPassword = "another key"
		c.Timers.Leg = 100 * time.Millisecond
	})
	e.start()
	r := e.accept()
	r.expect(typeOpen)
	r.send(started(routerOpen()))
	r.expectNotification(codeCease, ceaseReset)
}

func TestListenerKeysFollowTheGuards(t *testing.T) {
	for name, addr := range map[string]string{"IPv4": "127.0.0.1:0", "IPv6": "[::1]:0"} {
		t.Run(name, func(t *testing.T) {
			from := netip.MustParseAddrPort(addr).Addr()
			listener := newListener(t, addr)
			silent := listen(t, addr) // takes the guard's own tries
			e := prepareEnv(t, silent, newFakeLeg(t, legOpen()), func(c *Config) {
				c.Listener, c.Password = listener, secret
				c.Timers.Dial = time.Millisecond
			})
			e.start()
			e.await(Connect)
			r := dialListener(t, listener, from.String(), md5Option(listener.Addr().Addr(), secret))
			r.handshake(routerOpen())
			e.await(Established)
			e.close(Cease{})
			// The key is gone: a connection without one is taken, and closed.
			plain := dialListener(t, listener, from.String())
			if _, _, ok := plain.read(); ok {
				t.Error("a message came from a listener without guards")
			}
		})
	}
}

func TestGTSMSessionOfADialledConnection(t *testing.T) {
	for name, addr := range map[string]string{"IPv4": "127.0.0.1:0", "IPv6": "[::1]:0"} {
		t.Run(name, func(t *testing.T) {
			v6 := netip.MustParseAddrPort(addr).Addr().Is6()
			near := prepareEnv(t, listen(t, addr, ttlOption(v6, 255)), newFakeLeg(t, legOpen()), func(c *Config) { c.TTLSecurity = true })
			near.start()
			near.establish()
			far := prepareEnv(t, listen(t, addr, ttlOption(v6, 254)), newFakeLeg(t, legOpen()), func(c *Config) {
				c.TTLSecurity = true
				c.Timers.Dial = 100 * time.Millisecond
			})
			far.start()
			if ev := far.await(Idle); ev.Previous != Connect {
				t.Errorf("a router two hops away gives %+v", ev)
			}
			allowed := prepareEnv(t, listen(t, addr, ttlOption(v6, 254)), newFakeLeg(t, legOpen()), func(c *Config) {
				c.TTLSecurity, c.Multihop = true, 2
			})
			allowed.start()
			allowed.establish()
		})
	}
}

func TestListenerServesGTSMAndPlainNeighbours(t *testing.T) {
	listener := newListener(t, "127.0.0.1:0")
	start := func(router string, gtsm bool) *env {
		e := prepareEnv(t, listen(t, router), newFakeLeg(t, legOpen()), func(c *Config) {
			c.Listener, c.TTLSecurity = listener, gtsm
			c.Timers.Open = 200 * time.Millisecond
			c.Timers.Dial = time.Millisecond
			c.Timers.RetryMin, c.Timers.RetryMax = time.Hour, time.Hour
		})
		e.router.Close() // only the router connects
		e.start()
		e.await(Idle)
		return e
	}
	raw, err := listener.tcp.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	_ = raw.Control(func(fd uintptr) {
		if ttl, err := unix.GetsockoptInt(int(fd), unix.IPPROTO_IP, unix.IP_TTL); err != nil || ttl != 255 {
			t.Errorf("the listener answers with TTL %d (%v), want 255", ttl, err)
		}
	})
	secure, plain, far := start("127.0.0.2:0", true), start("127.0.0.3:0", false), start("127.0.0.4:0", true)
	dialListener(t, listener, "127.0.0.2", ttlOption(false, 255)).handshake(routerOpen())
	secure.await(Established)
	dialListener(t, listener, "127.0.0.3", ttlOption(false, 64)).handshake(routerOpen())
	plain.await(Established)
	r := dialListener(t, listener, "127.0.0.4", ttlOption(false, 64))
	r.send(started(routerOpen())) // may arrive before the option stands; what follows does not
	eventually(t, "a far neighbour is given up", func() bool {
		return far.guard.Status().LastError != "" && far.guard.Status().State != Established
	})
}

// number reads an integer option of a new socket that opts were applied to.
func number(t *testing.T, domain int, opts []option, level, opt int) int {
	t.Helper()
	fd, err := unix.Socket(domain, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	for _, o := range opts {
		if err := o.set(fd); err != nil {
			t.Fatalf("%s: %v", o.name, err)
		}
	}
	n, err := unix.GetsockoptInt(fd, level, opt)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestTTLsOfSockets(t *testing.T) {
	for name, tt := range map[string]struct {
		config   Config
		ttl, min int
	}{
		"external":       {Config{PeerASN: 2}, 1, 0},
		"multihop":       {Config{PeerASN: 2, Multihop: 5}, 5, 0},
		"internal":       {Config{PeerASN: 1}, 64, 0},
		"GTSM":           {Config{PeerASN: 2, TTLSecurity: true}, 255, 255},
		"GTSM, 3 hops":   {Config{PeerASN: 2, TTLSecurity: true, Multihop: 3}, 255, 253},
		"internal, GTSM": {Config{PeerASN: 1, TTLSecurity: true}, 255, 255},
	} {
		t.Run(name, func(t *testing.T) {
			tt.config.LocalASN = 1
			tt.config.Peer = netip.AddrPortFrom(loopback4, 179)
			opts := tt.config.peerOptions()
			if got := number(t, unix.AF_INET, opts, unix.IPPROTO_IP, unix.IP_TTL); got != tt.ttl {
				t.Errorf("IP_TTL %d, want %d", got, tt.ttl)
			}
			if got := number(t, unix.AF_INET, opts, unix.IPPROTO_IP, unix.IP_MINTTL); got != tt.min {
				t.Errorf("IP_MINTTL %d, want %d", got, tt.min)
			}
			if got := number(t, unix.AF_INET, opts, unix.IPPROTO_IP, unix.IP_TOS); got != trafficClass {
				t.Errorf("IP_TOS %#x", got)
			}
			tt.config.Peer = netip.AddrPortFrom(loopback6, 179)
			opts = tt.config.peerOptions()
			if got := number(t, unix.AF_INET6, opts, unix.IPPROTO_IPV6, unix.IPV6_UNICAST_HOPS); got != tt.ttl {
				t.Errorf("IPV6_UNICAST_HOPS %d, want %d", got, tt.ttl)
			}
			if got := number(t, unix.AF_INET6, opts, unix.IPPROTO_IPV6, unix.IPV6_MINHOPCOUNT); got != tt.min {
				t.Errorf("IPV6_MINHOPCOUNT %d, want %d", got, tt.min)
			}
			if got := number(t, unix.AF_INET6, opts, unix.IPPROTO_IPV6, unix.IPV6_TCLASS); got != trafficClass {
				t.Errorf("IPV6_TCLASS %#x", got)
			}
		})
	}
}

func TestBindDevice(t *testing.T) {
	e := newEnv(t, func(c *Config) { c.BindDevice = "lo" })
	e.establish()
}

func TestRefusedOptionSaysWhatToDo(t *testing.T) {
	e := newEnv(t, func(c *Config) { c.BindDevice = "no-such-device" })
	ev := e.await(Idle)
	for _, want := range []string{"SO_BINDTODEVICE", "neighbour r1", "no-such-device exists", "CAP_NET_RAW"} {
		if !strings.Contains(ev.Reason, want) {
			t.Errorf("reason %q lacks %q", ev.Reason, want)
		}
	}
	if _, err := NewListener(t.Context(), netip.MustParseAddrPort("127.0.0.1:0"), "no-such-device"); err == nil ||
		!strings.Contains(err.Error(), "SO_BINDTODEVICE for the listener on 127.0.0.1:0") {
		t.Errorf("listener: %v", err)
	}
}

func TestMD5KeyOfTheKernel(t *testing.T) {
	k := md5Key(netip.MustParseAddr("192.0.2.1"), "abc")
	if k.Addr.Family != unix.AF_INET || !bytes.Equal(k.Addr.Data[:8], []byte{0, 0, 192, 0, 2, 1, 0, 0}) || k.Keylen != 3 {
		t.Errorf("IPv4: %+v", k)
	}
	k = md5Key(netip.MustParseAddr("fe80::1%eth0"), "abc")
	if k.Addr.Family != unix.AF_INET6 || k.Addr.Data[6] != 0xfe || k.Addr.Data[21] != 1 || string(k.Key[:4]) != "abc\x00" {
		t.Errorf("IPv6: %+v", k)
	}
}

func TestListenerClosesWithItsContextAndTwice(t *testing.T) {
	l := newListener(t, "[::1]:0")
	if err := l.Close(); err != nil {
		t.Errorf("first close: %v", err)
	}
	if err := l.Close(); err != nil {
		t.Errorf("second close: %v", err)
	}
	if conn, err := net.Dial("tcp6", l.Addr().String()); err == nil {
		conn.Close()
		t.Error("a closed listener took a connection")
	}
	if _, err := NewListener(t.Context(), netip.AddrPort{}, ""); err == nil {
		t.Error("a listener without an address was made")
	}
}

// linkLocal finds an address that only its zone makes usable.
func linkLocal() (netip.Addr, bool) {
	links, _ := net.Interfaces()
	for _, link := range links {
		addrs, _ := link.Addrs()
		for _, a := range addrs {
			p, err := netip.ParsePrefix(a.String())
			if err == nil && p.Addr().Is6() && p.Addr().IsLinkLocalUnicast() && link.Flags&net.FlagUp != 0 {
				return p.Addr().WithZone(link.Name), true
			}
		}
	}
	return netip.Addr{}, false
}

func TestLinkLocalNeighbour(t *testing.T) {
	addr, ok := linkLocal()
	if !ok {
		const why = "no interface here has a link-local IPv6 address"
		if os.Getenv("CI") == "true" {
			t.Fatal(why)
		}
		t.Skip(why)
	}
	listener := newListener(t, netip.AddrPortFrom(addr, 0).String())
	router := listen(t, netip.AddrPortFrom(addr, 0).String())
	e := prepareEnv(t, router, newFakeLeg(t, legOpen()), func(c *Config) {
		c.Listener = listener
		c.Peer = netip.AddrPortFrom(addr, addrOf(router).Port())
		c.LocalAddress = addr
	})
	e.start()
	r, _ := e.establish()
	r.Close()
	e.await(Idle)
	e.accept().Close()
	dialListener(t, listener, addr.String()).handshake(routerOpen())
	e.await(Established)
}
