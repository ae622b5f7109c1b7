package host

import (
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

func TestIPv4RepliesLeaveByRouterOfIPv6Session(t *testing.T) {
	n := twoTransits(t)
	r, _ := newReturn(t, n)
	must(t, r.Set(returns(ReturnPath{Neighbor: "b", Router: hop("fe80::b"), Device: "eth2", IPv4: true, IPv6: true})))
	wantText(t, "the kernel", n.held(t), "default via inet6 fe80::b dev eth2 table 17901", "default via fe80::b dev eth2 table 17901")
}

// neighbor puts an entry into the neighbour tables.
func (n *testNet) neighbor(t *testing.T, iface, addr, mac string) {
	t.Helper()
	hw, err := net.ParseMAC(mac)
	must(t, err)
	family := netlink.FAMILY_V4
	if hop(addr).Is6() {
		family = netlink.FAMILY_V6
	}
	must(t, n.h.NeighSet(&netlink.Neigh{LinkIndex: n.link(t, iface).Attrs().Index, IP: net.ParseIP(addr),
		HardwareAddr: hw, State: unix.NUD_REACHABLE, Family: family}))
}

func TestRoutersOnOneLinkAreToldApartByMACAddress(t *testing.T) {
	n := twoTransits(t)
	r, _ := newReturn(t, n)
	member := func(name, router string) ReturnPath {
		return ReturnPath{Neighbor: name, Router: hop(router), IPv4: true}
	}
	want := returns(member("one", "203.0.113.11"), member("two", "203.0.113.12"), routed(member("rs", "203.0.113.13")), a4())
	n.neighbor(t, "eth2", "203.0.113.11", "02:00:00:00:00:11")
	err := r.Set(want)
	if err == nil || strings.Contains(err.Error(), "one") || !strings.Contains(err.Error(), "return path of two: IPv4: the router's MAC address on eth2 is not known") {
		t.Errorf("error %v", err)
	}
	n.neighbor(t, "eth2", "203.0.113.12", "02:00:00:00:00:12")
	must(t, r.Set(want))
	wantText(t, "the kernel", n.held(t),
		`iifname "eth2" ether saddr 02:00:00:00:00:11 ct mark set`, `iifname "eth2" ether saddr 02:00:00:00:00:12 ct mark set`,
		`iifname "eth1" ct mark set`)
}

func TestIPv6AddressOfRouterIsFoundByItsMACAddress(t *testing.T) {
	n := twoTransits(t)
	r, _ := newReturn(t, n)
	both := b4()
	both.IPv6 = true
	c, stop := watchReturn(t, r)
	defer stop()
	for _, unknown := range []string{"the router's MAC address on eth2 is not known", "the session is over IPv4, and no IPv6 address of the router is known yet on eth2"} {
		err := r.Set(returns(both))
		var set *SetError
		if !errors.As(err, &set) || len(set.Failures) != 1 || !strings.Contains(err.Error(), unknown) {
			t.Fatalf("error %v, want %q", err, unknown)
		}
		wantText(t, "the kernel", n.held(t), "default via 203.0.113.1 dev eth2 table 17901")
		if strings.Contains(unknown, "MAC") {
			n.neighbor(t, "eth2", "203.0.113.1", "02:00:00:00:00:0b")
			signal(t, c, "the router answers ARP")
		}
	}
	n.neighbor(t, "eth2", "2001:db8:b::7", "02:00:00:00:00:07") // another host
	n.neighbor(t, "eth2", "2001:db8:b::1", "02:00:00:00:00:0b")
	signal(t, c, "the router is known")
	must(t, r.Set(returns(both)))
	wantText(t, "the kernel", n.held(t), "default via 2001:db8:b::1 dev eth2 table 17901")
}

// A route server's members are many, and all their rules are one transaction.
func TestTwoHundredReturnPathsOnOneLink(t *testing.T) {
	n := twoTransits(t)
	r, _ := newReturn(t, n)
	var want Returns
	want.Prefixes = services
	for i := range 200 {
		router := fmt.Sprintf("203.0.113.%d", i+11)
		n.neighbor(t, "eth2", router, fmt.Sprintf("02:00:00:00:01:%02x", i))
		want.Paths = append(want.Paths, ReturnPath{Neighbor: fmt.Sprint("member", i), Router: hop(router), IPv4: true})
	}
	began := time.Now()
	must(t, r.Set(want))
	t.Logf("200 paths in %v", time.Since(began))
	held := n.held(t)
	if paths, rules := strings.Count(held, "ether saddr 02:00:00:00:01:"), strings.Count(held, "/0xff000000 lookup "); paths != 200 || rules != 200 {
		t.Errorf("%d marks, %d rules, want 200", paths, rules)
	}
	began = time.Now()
	if stale, err := r.stale(); stale || err != nil {
		t.Errorf("stale %v, %v", stale, err)
	}
	t.Logf("looked at in %v", time.Since(began))
	must(t, r.Set(Returns{}))
	if held := n.held(t); strings.Contains(held, "catchment") || strings.Contains(held, "proto 202") {
		t.Errorf("left over:\n%s", held)
	}
}

func TestWidestPrefixesAreDisjointAndCoverAll(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var all []netip.Prefix
		for range rapid.IntRange(0, 8).Draw(t, "count") {
			a := netip.AddrFrom4([4]byte{10, rapid.Byte().Draw(t, "b"), 0, 0})
			all = append(all, netip.PrefixFrom(a, rapid.IntRange(8, 32).Draw(t, "bits")))
		}
		out := widest(all)
		for _, p := range all {
			covered := false
			for _, w := range out {
				covered = covered || w.Contains(p.Addr()) && w.Bits() <= p.Bits()
			}
			if !covered {
				t.Fatalf("%s is not in %v", p, out)
			}
		}
		for i, p := range out {
			for _, q := range out[i+1:] {
				if p.Overlaps(q) {
					t.Fatalf("%s and %s overlap", p, q)
				}
			}
			if last := lastOf(p); !p.Contains(last) || p.Contains(last.Next()) {
				t.Fatalf("%s is not the last of %s", last, p)
			}
		}
	})
}

func octetsOf(t *testing.T, text string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(text, " ", ""))
	must(t, err)
	return b
}

// Messages of Linux 6.18 (little-endian), for `ip rule add fwmark
// 0x2000000/0xff000000 lookup 17902 priority 1790 protocol 202`, and for a
// reachable neighbour 192.0.2.1 with the address 02:00:00:00:00:0b on interface 7.
func TestRuleAndNeighborAreReadFromTheirWireForm(t *testing.T) {
	if !littleEndian() {
		t.Skip("the messages are little-endian")
	}
	got, ok := parseRule(octetsOf(t, "02000000 fc000001 00000000 08000f00 ee450000 08000600 fe060000 08000a00 00000002 08001000 000000ff 05001500 ca000000"))
	if want := (leg{id: 2}).rule(); !ok || got != want {
		t.Errorf("rule %+v, want %+v", got, want)
	}
	router, ok := parseNear(octetsOf(t, "02000000 07000000 02000001 08000100 c0000201 0a000200 02000000 000b0000"))
	if want := (near{nearKey{7, hop("192.0.2.1")}, "\x02\x00\x00\x00\x00\x0b"}); !ok || router != want {
		t.Errorf("neighbour %+v, want %+v", router, want)
	}
	gone, ok := parseNear(octetsOf(t, "02000000 07000000 20000001 08000100 c0000201 0a000200 02000000 000b0000"))
	if !ok || gone.mac != "" {
		t.Errorf("a failed neighbour has the address %x", gone.mac)
	}
}

func FuzzReturnParsersTakeAnything(f *testing.F) {
	f.Add([]byte{unix.AF_INET, 0, 0, 0, 0xfc, 0, 0, 1, 0, 0, 0, 0, 8, 0, 0x0f, 0, 0xee, 0x45, 0, 0, 5, 0, 0x15, 0, 0xca})
	f.Add([]byte{unix.AF_INET6, 0, 0, 0, 7, 0, 0, 0, 2, 0, 0, 1, 10, 0, 2, 0, 2, 0, 0, 0, 0, 11})
	f.Fuzz(func(t *testing.T, body []byte) {
		if u, ok := parseRule(body); ok && u.isOurs() && !ownTable(u.table) {
			t.Errorf("%+v is ours", u)
		}
		if n, ok := parseNear(body); ok && (!n.addr.IsValid() || n.mac != "" && len(n.mac) != macBytes) {
			t.Errorf("%+v", n)
		}
		aboutOurTable(message{body: body})
		if r, ok := parseTabled(body); ok && !r.dst.IsValid() {
			t.Errorf("%+v", r)
		}
	})
}
