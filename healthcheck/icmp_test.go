package healthcheck

import (
	"bytes"
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/net/icmp"
	"golang.org/x/net/ipv4"
	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"github.com/catchment-bgp/catchment/lab/netlab"
)

func icmpCheck(i ICMP) Check {
	return Check{Name: "ping", ICMP: &i, Interval: 10 * time.Second, Timeout: 5 * time.Second, Rise: 1, Fall: 2}
}

// inNamespace moves the test's goroutine into a network namespace of its own,
// with lo up, until the test ends.
func inNamespace(t *testing.T) {
	t.Helper()
	netlab.Require(t, netlab.Root)
	runtime.LockOSThread()
	home, err := os.Open("/proc/thread-self/ns/net")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		defer home.Close()
		if err := unix.Setns(int(home.Fd()), unix.CLONE_NEWNET); err != nil {
			t.Errorf("the way back to our own namespace: %v", err) // the thread stays locked, and ends with its goroutine
			return
		}
		runtime.UnlockOSThread()
	})
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		t.Fatal(err)
	}
	lo, err := netlink.LinkByName("lo")
	if err == nil {
		err = netlink.LinkSetUp(lo)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// sysctl writes a setting of the thread's namespace.
func sysctl(t *testing.T, name, value string) {
	t.Helper()
	if err := os.WriteFile("/proc/sys/net/"+name, []byte(value), 0); err != nil {
		t.Fatal(err)
	}
}

func TestICMPProbe(t *testing.T) {
	for _, socket := range []struct{ name, groups string }{{"ping socket", "0 2147483647"}, {"raw socket", "1 0"}} {
		t.Run(socket.name, func(t *testing.T) {
			inNamespace(t)
			sysctl(t, "ipv4/ping_group_range", socket.groups)
			for _, c := range []struct {
				name string
				icmp ICMP
				want string
			}{
				{"IPv4 passes", ICMP{Address: netip.MustParseAddr("127.0.0.1")}, ""},
				{"IPv6 passes", ICMP{Address: netip.MustParseAddr("::1")}, ""},
				{"several replies", ICMP{Address: netip.MustParseAddr("127.0.0.1"), Count: 3, MinReplies: 3}, ""},
				{"several replies, IPv6", ICMP{Address: netip.MustParseAddr("::1"), Count: 3, MinReplies: 3}, ""},
				{"from a source", ICMP{Address: netip.MustParseAddr("127.0.0.1"), Source: netip.MustParseAddr("127.0.0.2")}, ""},
				{"from a source that is not ours", ICMP{Address: netip.MustParseAddr("127.0.0.1"), Source: netip.MustParseAddr("192.0.2.9")},
					"cannot assign requested address"},
				{"no route", ICMP{Address: netip.MustParseAddr("192.0.2.1")}, "network is unreachable"},
				{"no route, IPv6", ICMP{Address: netip.MustParseAddr("2001:db8::1")}, "network is unreachable"},
			} {
				check := icmpCheck(c.icmp)
				check.Timeout = 600 * time.Millisecond // three requests in 0.3 s
				if got := oneProbe(t, check); got != c.want {
					t.Errorf("%s: %q, want %q", c.name, got, c.want)
				}
			}
			conn, err := dialEcho(netip.MustParseAddr("127.0.0.1"), netip.Addr{})
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if raw := socket.name == "raw socket"; conn.ipHeader != raw {
				t.Errorf("raw socket: %v, want %v", conn.ipHeader, raw)
			}
		})
	}
}

// U19: ping to a black hole is a failure.
func TestICMPBlackHoleIsFailed(t *testing.T) {
	for _, groups := range []string{"0 2147483647", "1 0"} {
		inNamespace(t)
		sysctl(t, "ipv4/ping_group_range", groups)
		sysctl(t, "ipv4/icmp_echo_ignore_all", "1")
		sysctl(t, "ipv6/icmp/echo_ignore_all", "1")
		for _, address := range []string{"127.0.0.1", "::1"} {
			check := icmpCheck(ICMP{Address: netip.MustParseAddr(address), Count: 3, MinReplies: 2})
			check.Timeout = 60 * time.Millisecond
			if got, want := oneProbe(t, check), "timeout after 60ms: 0 of 3 replies, want 2"; got != want {
				t.Errorf("%s: %q, want %q", address, got, want)
			}
		}
	}
}

// The neighbour that does not answer ARP is an error of the kernel's, long after
// the request was sent.
func TestICMPHearsWhatTheKernelLearnsLater(t *testing.T) {
	for _, groups := range []string{"0 2147483647", "1 0"} {
		inNamespace(t)
		sysctl(t, "ipv4/ping_group_range", groups)
		link := &netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "hole"}, PeerName: "far"}
		address, err := netlink.ParseAddr("192.0.2.1/24")
		if err != nil {
			t.Fatal(err)
		}
		if err := netlink.LinkAdd(link); err != nil {
			t.Fatal(err)
		}
		sysctl(t, "ipv4/neigh/hole/retrans_time_ms", "10")
		sysctl(t, "ipv4/neigh/hole/mcast_solicit", "1")
		far, err := netlink.LinkByName("far")
		if err != nil {
			t.Fatal(err)
		}
		for i, err := range []error{netlink.AddrAdd(link, address), netlink.LinkSetUp(link), netlink.LinkSetUp(far)} {
			if err != nil {
				t.Fatal(i, err)
			}
		}
		if got := oneProbe(t, icmpCheck(ICMP{Address: netip.MustParseAddr("192.0.2.2")})); got != "no route to host" {
			t.Errorf("groups %q: %q, want no route to host", groups, got)
		}
	}
}

func TestICMPWithoutPrivilegeSaysWhatIsMissing(t *testing.T) {
	inNamespace(t)
	sysctl(t, "ipv4/ping_group_range", "1 0")
	dropRawSockets(t)
	const want = "not allowed to send ICMP: widen the sysctl net.ipv4.ping_group_range, or give CAP_NET_RAW"
	if got := oneProbe(t, icmpCheck(ICMP{Address: netip.MustParseAddr("127.0.0.1")})); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// dropRawSockets takes CAP_NET_RAW from this thread until the test ends.
func dropRawSockets(t *testing.T) {
	t.Helper()
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var had [2]unix.CapUserData
	if err := unix.Capget(&header, &had[0]); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Capset(&header, &had[0]); err != nil {
			t.Errorf("CAP_NET_RAW does not come back: %v", err)
		}
	})
	less := had
	less[0].Effective &^= 1 << unix.CAP_NET_RAW
	if err := unix.Capset(&header, &less[0]); err != nil {
		t.Fatal(err)
	}
}

func TestICMPEndsWithItsContext(t *testing.T) {
	inNamespace(t)
	sysctl(t, "ipv4/icmp_echo_ignore_all", "1")
	checker, err := New(icmpCheck(ICMP{Address: netip.MustParseAddr("127.0.0.1"), Count: 100}))
	if err != nil {
		t.Fatal(err)
	}
	before := sockets(t)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	begin := time.Now()
	if err := checker.attempt(ctx); err == nil || time.Since(begin) > 3*time.Second {
		t.Errorf("%v after %v", err, time.Since(begin))
	}
	if now := sockets(t); now > before {
		t.Errorf("%d sockets, %d before", now, before)
	}
}

func TestNewRefusesBadICMP(t *testing.T) {
	a := netip.MustParseAddr("192.0.2.1")
	for want, i := range map[string]ICMP{
		"icmp.address: there is none: write for example 192.0.2.1":                                               {},
		"icmp.address: 0.0.0.0 is not the address of one machine: write for example 192.0.2.1 or 2001:db8::1":    {Address: netip.IPv4Unspecified()},
		"icmp.address: ff02::1 is not the address of one machine: write for example 192.0.2.1 or 2001:db8::1":    {Address: netip.MustParseAddr("ff02::1")},
		"icmp.address: fe80::1%lo is not the address of one machine: write for example 192.0.2.1 or 2001:db8::1": {Address: netip.MustParseAddr("fe80::1%lo")},
		"icmp.count: 101 is out of range: write 1 to 100":                                                        {Address: a, Count: 101},
		"icmp.min_replies: 4 is out of range: write 1 to the count, 3":                                           {Address: a, Count: 3, MinReplies: 4},
		"icmp.min_replies: -1 is out of range: write 1 to the count, 1":                                          {Address: a, MinReplies: -1},
		"icmp.source: 2001:db8::1 is of another family than 192.0.2.1: write an address of the same":             {Address: a, Source: netip.MustParseAddr("2001:db8::1")},
	} {
		refusedWith(t, icmpCheck(i), want)
	}
}

// Replies count once each, and only those to requests that were sent with our
// cookie, whatever else arrives.
func TestOnlyRepliesToOurRequestsCount(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		count := rapid.IntRange(1, 5).Draw(t, "count")
		e := &echoes{
			probe: &icmpProbe{ICMP: ICMP{Address: netip.MustParseAddr("192.0.2.1"), Count: count}}, answered: make([]bool, count),
			sent: rapid.IntRange(0, count).Draw(t, "sent"), cookie: [16]byte{1, 2, 3},
		}
		want := map[int]bool{}
		for range rapid.IntRange(0, 20).Draw(t, "packets") {
			m := icmp.Message{Type: rapid.SampledFrom([]icmp.Type{ipv4.ICMPTypeEchoReply, ipv4.ICMPTypeEchoReply, ipv4.ICMPTypeEcho}).Draw(t, "type")}
			cookie := e.cookie
			if rapid.IntRange(0, 3).Draw(t, "whose") == 0 {
				cookie[0]++
			}
			seq := rapid.IntRange(0, 6).Draw(t, "seq")
			m.Body = &icmp.Echo{ID: 7, Seq: seq, Data: cookie[:]}
			wire, err := m.Marshal(nil)
			if err != nil {
				t.Fatal(err)
			}
			e.take(wire)
			if m.Type == ipv4.ICMPTypeEchoReply && cookie == e.cookie && seq < e.sent {
				want[seq] = true
			}
		}
		if e.replies != len(want) {
			t.Fatalf("%d replies, want %d", e.replies, len(want))
		}
	})
}

// scripted is a socket whose reads come from a list; requests are not sent.
type scripted struct {
	net.Conn
	reads   []func() ([]byte, error)
	request []byte // the last one
}

func (s *scripted) SetReadDeadline(time.Time) error { return nil }

func (s *scripted) Write(p []byte) (int, error) {
	s.request = bytes.Clone(p)
	return len(p), nil
}

func (s *scripted) Read(p []byte) (int, error) {
	read := s.reads[0]
	s.reads = s.reads[1:]
	data, err := read()
	return copy(p, data), err
}

// A raw socket hears of what became of everybody's echoes to its address.
func TestICMPErrorsAboutOthersEchoesAreIgnored(t *testing.T) {
	inNamespace(t)
	here := netip.MustParseAddr("127.0.0.1")
	conn, err := dialSocket(unix.SOCK_RAW, here, here)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	sender, err := dialSocket(unix.SOCK_RAW, here, here)
	if err != nil {
		t.Fatal(err)
	}
	defer sender.Close()
	const ours, others = 7, 8
	if conn.concernsOthers(ours) {
		t.Error("no error is about others")
	}
	for _, c := range []struct {
		ids  []int
		want bool
	}{{[]int{others}, true}, {[]int{others, others}, true}, {[]int{ours}, false}, {[]int{others, ours}, false}} {
		for _, id := range c.ids {
			if _, err := sender.Write(unreachable(t, id)); err != nil {
				t.Fatal(err)
			}
		}
		if err := conn.SetReadDeadline(time.Now().Add(patience)); err != nil {
			t.Fatal(err)
		}
		for { // the sender's own packets come here as well
			if _, err = conn.Read(make([]byte, 100)); err != nil {
				break
			}
		}
		if got := conn.concernsOthers(ours); !errors.Is(err, unix.EHOSTUNREACH) || got != c.want {
			t.Errorf("errors about %v: %v, of others alone: %v; want %v", c.ids, err, got, c.want)
		}
	}
}

// unreachable is the message that an echo from and to 127.0.0.1 did not arrive.
func unreachable(t *testing.T, id int) []byte {
	t.Helper()
	echo, err := (&icmp.Message{Type: ipv4.ICMPTypeEcho, Body: &icmp.Echo{ID: id}}).Marshal(nil)
	if err != nil {
		t.Fatal(err)
	}
	header := []byte{0x45, 0, 0, byte(20 + len(echo)), 0, 1, 0, 0, 64, unix.IPPROTO_ICMP, 0, 0, 127, 0, 0, 1, 127, 0, 0, 1}
	message := icmp.Message{Type: ipv4.ICMPTypeDestinationUnreachable, Code: 1, Body: &icmp.DstUnreach{Data: append(header, echo...)}}
	wire, err := message.Marshal(nil)
	if err != nil {
		t.Fatal(err)
	}
	return wire
}

func TestICMPRedirectsAreNoAnswerAndOtherErrorsAre(t *testing.T) {
	fails := func(err error) func() ([]byte, error) { return func() ([]byte, error) { return nil, err } }
	for _, c := range []struct {
		name string
		errs []error // before the reply
		want error
	}{
		{"a reply", nil, nil},
		{"redirects, then a reply", []error{unix.EREMOTEIO, unix.EREMOTEIO}, nil},
		{"nothing for a while, then a reply", []error{os.ErrDeadlineExceeded, os.ErrDeadlineExceeded}, nil},
		{"no route to host", []error{unix.EHOSTUNREACH}, unix.EHOSTUNREACH},
	} {
		conn := &scripted{}
		for _, err := range c.errs {
			conn.reads = append(conn.reads, fails(err))
		}
		conn.reads = append(conn.reads, func() ([]byte, error) {
			reply := bytes.Clone(conn.request)
			reply[0] = byte(ipv4.ICMPTypeEchoReply)
			return reply, nil
		})
		p := &icmpProbe{ICMP: ICMP{Address: netip.MustParseAddr("192.0.2.1"), Count: 1, MinReplies: 1}, gap: time.Second}
		e := &echoes{conn: &echoConn{Conn: conn}, probe: p, answered: make([]bool, 1), cookie: [16]byte{1}}
		if err := e.run(t.Context()); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
}

func FuzzEchoReply(f *testing.F) {
	f.Add([]byte("\x45\x00\x00\x1c\x00\x00\x00\x00\x40\x01\x00\x00\x7f\x00\x00\x01\x7f\x00\x00\x01\x00\x00\x00\x00\x00\x07\x00\x00"), true)
	f.Add([]byte("\x81\x00\x00\x00\x00\x07\x00\x00"), false)
	f.Add([]byte{}, true)
	f.Fuzz(func(t *testing.T, packet []byte, header bool) {
		for _, address := range []string{"192.0.2.1", "2001:db8::1"} {
			e := &echoes{probe: &icmpProbe{ICMP: ICMP{Address: netip.MustParseAddr(address)}}, answered: make([]bool, 1), sent: 1, cookie: [16]byte{1, 2, 3}}
			e.take((&echoConn{ipHeader: header}).payload(packet))
			if e.replies > 0 && !strings.Contains(string(packet), string(e.cookie[:])) {
				t.Error("a reply without our cookie counts")
			}
		}
	})
}

func TestPayloadFollowsTheIPHeader(t *testing.T) {
	raw := &echoConn{ipHeader: true}
	for _, c := range []struct{ packet, want string }{
		{"", ""}, {"\x45", ""}, {"\x45" + strings.Repeat("x", 19) + "icmp", "icmp"}, {"\x46" + strings.Repeat("x", 23) + "icmp", "icmp"}, {"\x4f", ""},
	} {
		if got := string(raw.payload([]byte(c.packet))); got != c.want {
			t.Errorf("%q: %q, want %q", c.packet, got, c.want)
		}
	}
	if got := string((&echoConn{}).payload([]byte("\x45x"))); got != "\x45x" {
		t.Errorf("a ping socket has no IP header: %q", got)
	}
}
