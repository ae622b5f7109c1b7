package load

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"net/netip"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

func TestDiagRequestOnTheWire(t *testing.T) {
	list := []netip.Prefix{netip.MustParsePrefix("198.51.100.1/32"), netip.MustParsePrefix("2001:db8:100::/48")}
	for _, c := range []struct {
		family uint8
		want   string // on a little-endian machine
	}{
		// family 2, TCP, tcp_info; states: established; no socket; bytecode of 20
		// octets: local address of IPv4, 32 bits, any port, 198.51.100.1: yes 16, no 20.
		{unix.AF_INET, "02060200" + "02000000" + zeros(48) + "18000100" + "07101400" + "0220" + "0000" + "ffffffff" + "c6336401"},
		// The first or else, behind the jump to the end (4+28 octets), the second.
		{unix.AF_INET6, "0a060200" + "02000000" + zeros(48) + "38000100" +
			"07101400" + "0220" + "0000" + "ffffffff" + "c6336401" + "01042000" +
			"071c2000" + "0a30" + "0000" + "ffffffff" + "20010db8010000000000000000000000"},
	} {
		want, err := hex.DecodeString(c.want)
		must(t, err)
		got := diagRequest(c.family, list, true)
		// The length of the attribute is that of the filter and its head.
		binary.NativeEndian.PutUint16(want[56:], uint16(len(want)-56))
		if string(got) != string(want) {
			t.Errorf("family %d:\n%x, want\n%x", c.family, got, want)
		}
	}
	if got := diagRequest(unix.AF_INET, list[1:], false); got != nil {
		t.Errorf("a request for IPv4 connections of an IPv6 prefix: %x", got)
	}
}

func zeros(n int) string { return hex.EncodeToString(make([]byte, n)) }

// run is what the kernel does with a filter (inet_diag_bc_run), for prefixes.
func run(filter []byte, family uint8, local netip.Addr) bool {
	for len(filter) > 0 {
		op, yes, no := filter[0], int(filter[1]), int(binary.NativeEndian.Uint16(filter[2:]))
		step := no
		if op == opSource {
			size := 4
			if filter[4] == unix.AF_INET6 {
				size = 16
			}
			a, _ := netip.AddrFromSlice(filter[12 : 12+size])
			same := filter[4] == family || filter[4] == unix.AF_INET && local.Is4()
			if same && netip.PrefixFrom(a, int(filter[5])).Contains(local) {
				step = yes
			}
		}
		if step > len(filter) {
			return false
		}
		filter = filter[step:]
	}
	return true
}

func TestFilterMatchesWhatIsWithinAVIP(t *testing.T) {
	address := rapid.Custom(func(t *rapid.T) netip.Addr {
		// Few values, so that they meet.
		low := rapid.Byte().Draw(t, "low")
		if rapid.Bool().Draw(t, "IPv4") {
			return netip.AddrFrom4([4]byte{198, 51, 100, low})
		}
		return netip.AddrFrom16([16]byte{0x20, 1, 0xd, 0xb8, 15: low})
	})
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) netip.Prefix {
			a := address.Draw(t, "address")
			return netip.PrefixFrom(a, a.BitLen()-rapid.IntRange(0, 6).Draw(t, "host bits"))
		}), 1, 8).Draw(t, "VIPs")
		local, family := address.Draw(t, "local"), uint8(unix.AF_INET6)
		if local.Is4() && rapid.Bool().Draw(t, "an IPv4 socket") {
			family = unix.AF_INET
		}
		want := false
		for _, p := range list {
			want = want || p.Contains(local)
		}
		filter := diagFilter(list, family == unix.AF_INET6)
		if got := filter != nil && run(filter, family, local); got != want {
			t.Fatalf("%v within %v: %v, want %v (filter %x)", local, list, got, want, filter)
		}
	})
}

// answerOf is what sock_diag says of a connection.
func answerOf(c connection) []byte {
	b := make([]byte, diagAnswerSize)
	b[0], b[1] = unix.AF_INET, tcpEstablished
	if c.local.Addr().Is6() {
		b[0] = unix.AF_INET6
	}
	binary.BigEndian.PutUint16(b[4:], c.local.Port())
	binary.BigEndian.PutUint16(b[6:], c.remote.Port())
	copy(b[8:], c.local.Addr().AsSlice())
	copy(b[24:], c.remote.Addr().AsSlice())
	binary.NativeEndian.PutUint64(b[44:], c.cookie)
	info := make([]byte, 232)
	binary.NativeEndian.PutUint32(info[infoRTT:], uint32(c.rtt.Microseconds()))
	binary.NativeEndian.PutUint32(info[infoRetransmits:], c.again)
	binary.NativeEndian.PutUint32(info[infoDataSent:], c.sent)
	return attr(attr(b, 8, []byte{0}), diagInfo, info) // INET_DIAG_SHUTDOWN before it
}

func testConnection(cookie uint64, sent, again uint32) connection {
	return connection{
		cookie: cookie, rtt: time.Duration(cookie) * time.Millisecond, sent: sent, again: again,
		local:  netip.MustParseAddrPort("198.51.100.1:443"),
		remote: netip.AddrPortFrom(netip.MustParseAddr("203.0.113.9"), uint16(cookie)),
	}
}

func TestConnectionIsReadAsItWasWritten(t *testing.T) {
	want := testConnection(7, 100, 3)
	if got, ok := parseConnection(answerOf(want)); !ok || got != want {
		t.Errorf("%+v, %v; want %+v", got, ok, want)
	}
	want.local = netip.MustParseAddrPort("[2001:db8::1]:443")
	want.remote = netip.MustParseAddrPort("[2001:db8::2]:5")
	if got, ok := parseConnection(answerOf(want)); !ok || got != want {
		t.Errorf("%+v, %v; want %+v", got, ok, want)
	}
	if c, ok := parseConnection(answerOf(want)[:diagAnswerSize]); ok {
		t.Errorf("%+v of an answer without tcp_info", c)
	}
}

func TestSketchKeepsTheSameConnectionsWhileTheyLast(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 200).Draw(t, "connections")
		size := rapid.IntRange(1, 50).Draw(t, "size")
		seed := rapid.Uint64().Draw(t, "seed")
		one, two := newSketch(size, seed), newSketch(size, seed)
		for i := range n {
			one.add(answerOf(testConnection(uint64(i+1), 10, 1)))
			two.add(answerOf(testConnection(uint64(n-i), 15, 2))) // the other way round
		}
		before, moved := one.byCookie(), two.moved(one.byCookie())
		if want := min(n, size); len(before) != want || len(moved) != want {
			t.Fatalf("%d kept, %d seen again; want %d", len(before), len(moved), want)
		}
		for _, d := range moved {
			if d.segments != 5 || d.repeats != 1 {
				t.Fatalf("%+v, want what was sent between", d)
			}
		}
	})
}

func TestQualitiesByNeighbor(t *testing.T) {
	moved := []change{
		{testConnection(10, 0, 0), 50, 5}, {testConnection(30, 0, 0), 150, 5}, {testConnection(20, 0, 0), 200, 10},
		{testConnection(2, 0, 0), 10, 0}, {testConnection(1, 0, 0), 1, 9},
	}
	list := qualities(moved, map[uint64]string{10: "b", 20: "b", 30: "b", 2: "a"}, start)
	want := []Quality{
		{"", time.Millisecond, 1, 1, start},
		{"a", 2 * time.Millisecond, 0, 1, start},
		{"b", 20 * time.Millisecond, 0.05, 3, start},
	}
	if len(list) != 3 || list[0] != want[0] || list[1] != want[1] || list[2] != want[2] {
		t.Errorf("%+v, want %+v", list, want)
	}
}

func TestCountersThatWentBackAreNoChange(t *testing.T) {
	s := newSketch(10, 1)
	for cookie, sent := range map[uint64]uint32{1: 5, 2: 10, 3: 11, 4: 0} {
		s.add(answerOf(testConnection(cookie, sent, 0)))
	}
	s.add(answerOf(testConnection(3, 11, 0))) // twice in one dump
	moved := s.moved(map[uint64]connection{1: {sent: 6}, 2: {sent: 10}, 3: {sent: 1}})
	if len(moved) != 1 || moved[0].cookie != 3 || moved[0].segments != 10 {
		t.Errorf("%+v, want the third with 10 segments, once", moved)
	}
}

func TestMarkRequestOnTheWire(t *testing.T) {
	got := hex.EncodeToString(markRequest(testConnection(0x1234, 0, 0)))
	want := "02000000" + // nfgenmsg: IPv4
		"34000180" + // CTA_TUPLE_ORIG, nested, 52 octets
		"14000180" + "08000100cb007109" + "08000200c6336401" + // from the client to us
		"1c000280" + "0500010006000000" + "0600020012340000" + "0600030001bb0000" // TCP, ports
	if got != want {
		t.Errorf("%s, want\n%s", got, want)
	}
}

func FuzzKernelAnswers(f *testing.F) {
	f.Add(answerOf(testConnection(7, 100, 3)))
	f.Add(attr(make([]byte, unix.SizeofIfInfomsg), unix.IFLA_STATS64, make([]byte, 200)))
	f.Add(attr(make([]byte, nfHead), ctMark, []byte{0, 0, 0, 1}))
	f.Fuzz(func(t *testing.T, b []byte) {
		c, ok := parseConnection(b)
		if ok && len(b) < diagAnswerSize+infoLeast {
			t.Errorf("%+v of %d octets", c, len(b))
		}
		if d, ok := parseDevice(b); ok && len(b) < unix.SizeofIfInfomsg+32 {
			t.Errorf("%+v of %d octets", d, len(b))
		}
		if mark, ok := parseMark(b); ok && len(b) < nfHead {
			t.Errorf("mark %d of %d octets", mark, len(b))
		}
		total := 0
		for m := range messages(b) {
			total += len(m.body) + unix.SizeofNlMsghdr
			_ = m.errno()
		}
		if total > len(b) {
			t.Errorf("messages of %d octets in %d", total, len(b))
		}
	})
}

func FuzzProc(f *testing.F) {
	f.Add([]byte("cpu  100 10 50 1000 40 5 5 20 30 0\n"))
	f.Add([]byte("some avg10=24.81 total=4596947672\n"))
	f.Add([]byte(" 8 0 sda 1 2 3 4 5 6 7 8 9 10 11\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if c, err := parseCPU(text); err == nil {
			if share, ok := c.share(cpuTimes{}); ok && !(share >= 0 && share <= 1) {
				t.Errorf("share %v of %+v", share, c)
			}
		}
		if total, err := parsePressure(text, "some"); err == nil {
			if share, ok := pressureShare(0, total, time.Second); ok && !(share >= 0 && share <= 1) {
				t.Errorf("share %v of %d", share, total)
			}
		}
		for name, ms := range parseDisks(text) {
			if share, ok := diskShare(0, ms, time.Second); name == "" || ok && !(share >= 0 && share <= 1) {
				t.Errorf("share %v of %q", share, name)
			}
		}
	})
}

func TestKernelWithoutModulesIsAnErrorThatNamesThem(t *testing.T) {
	k := &kernel{proc: t.TempDir()}
	if _, err := k.sessions(vips); !errors.Is(err, errNoDiag) {
		t.Errorf("sessions: %v", err)
	}
	if _, _, err := k.mark(testConnection(1, 0, 0)); !errors.Is(err, errNoTracks) {
		t.Errorf("mark: %v", err)
	}
}
