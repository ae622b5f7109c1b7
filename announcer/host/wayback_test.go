package host

import (
	"net/netip"
	"testing"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

const (
	inMain    = unix.RT_TABLE_MAIN
	inDefault = unix.RT_TABLE_DEFAULT
)

func wide(dst string, metric uint32, hops hopStates) route {
	return route{dst: netip.MustParsePrefix(dst), table: inMain, kind: unix.RTN_UNICAST, metric: metric, hops: hops}
}

func (r route) of(kind uint8) route   { r.kind = kind; return r }
func (r route) in(table uint8) route  { r.table = table; return r }
func (r route) onlyForSome() route    { r.special = true; return r }
func hole(dst string, m uint32) route { return wide(dst, m, hopLost).of(unix.RTN_BLACKHOLE) }

func TestWayBackDecision(t *testing.T) {
	const d4, lo4, hi4, d6, half6, global6 = "0.0.0.0/0", "0.0.0.0/1", "128.0.0.0/1", "::/0", "::/1", "2000::/3"
	for _, tc := range []struct {
		name   string
		routes []route
		want   bool
	}{
		{"no route", nil, false},
		{"default", []route{wide(d4, 0, hopLives)}, true},
		{"default, IPv6", []route{wide(d6, 1024, hopLives)}, true},
		{"default in the table default", []route{wide(d4, 0, hopLives).in(inDefault)}, true},
		{"default in the table local", []route{wide(d4, 0, hopLives).in(unix.RT_TABLE_LOCAL)}, false},
		{"default in a table of an ip rule", []route{wide(d4, 0, hopLives).in(100)}, false},
		{"default for one source or TOS", []route{wide(d4, 0, hopLives).onlyForSome()}, false},
		{"blackhole", []route{hole(d4, 0)}, false},
		{"unreachable", []route{wide(d4, 0, hopLives).of(unix.RTN_UNREACHABLE)}, false},
		{"prohibit", []route{wide(d4, 0, hopLives).of(unix.RTN_PROHIBIT)}, false},
		{"throw", []route{wide(d4, 0, hopLives).of(unix.RTN_THROW)}, false},
		{"local", []route{wide(d4, 0, hopLives).of(unix.RTN_LOCAL)}, false},
		{"link down", []route{wide(d4, 0, hopLost)}, false},
		{"dead", []route{wide(d4, 0, hopDead)}, false},
		{"multipath, one lives", []route{wide(d4, 0, hopLives|hopDead|hopLost)}, true},
		{"multipath, none lives", []route{wide(d4, 0, hopDead|hopLost)}, false},
		{"blackhole behind a default", []route{hole(d4, 200), wide(d4, 100, hopLives)}, true},
		{"blackhole before a default", []route{hole(d4, 100), wide(d4, 200, hopLives)}, false},
		{"link down before a default", []route{wide(d4, 100, hopLost), wide(d4, 200, hopLives)}, false},
		{"dead before a default", []route{wide(d4, 100, hopDead), wide(d4, 200, hopLives)}, true},
		{"same metric, one is link down", []route{wide(d4, 100, hopLost), wide(d4, 100, hopLives)}, true},
		{"blackhole in main, default in default", []route{hole(d4, 0), wide(d4, 0, hopLives).in(inDefault)}, false},
		{"throw in main, default in default", []route{wide(d4, 0, 0).of(unix.RTN_THROW), wide(d4, 0, hopLives).in(inDefault)}, true},
		{"two halves", []route{wide(lo4, 0, hopLives), wide(hi4, 0, hopLives)}, true},
		{"lower half", []route{wide(lo4, 0, hopLives)}, false},
		{"upper half", []route{wide(hi4, 0, hopLives)}, false},
		{"half and default", []route{wide(lo4, 0, hopLives), wide(d4, 0, hopLives)}, true},
		{"half a blackhole, and default", []route{hole(lo4, 0), wide(d4, 0, hopLives)}, false},
		{"half dead, and default", []route{wide(lo4, 0, hopDead), wide(d4, 0, hopLives)}, true},
		{"halves, and default a blackhole", []route{hole(d4, 0), wide(lo4, 0, hopLives), wide(hi4, 0, hopLives)}, true},
		{"halves in two tables", []route{wide(lo4, 0, hopLives), wide(hi4, 0, hopLives).in(inDefault)}, true},
		{"global unicast, IPv6", []route{wide(global6, 1024, hopLives)}, true},
		{"two halves, IPv6", []route{wide(half6, 1024, hopLives), wide("8000::/1", 1024, hopLives)}, true},
		{"upper half, IPv6", []route{wide("8000::/1", 1024, hopLives)}, false},
		{"global unicast unreachable, IPv6 default", []route{wide(global6, 1, 0).of(unix.RTN_UNREACHABLE), wide(d6, 1, hopLives)}, false},
		{"narrow routes only", []route{wide("10.0.0.0/8", 0, hopLives), wide("2001:db8::/32", 1, hopLives)}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			v4, v6 := tableOf(tc.routes)
			got := wayBack(v4, coversIPv4, 100) || wayBack(v6, coversIPv6, 100)
			if got != tc.want {
				t.Errorf("way back %v, want %v", got, tc.want)
			}
		})
	}
}

func tableOf(routes []route) (v4, v6 table) {
	for _, r := range routes {
		if r.dst.Addr().Is4() {
			v4.add(r, coversIPv4)
		} else {
			v6.add(r, coversIPv6)
		}
	}
	return v4, v6
}

func TestFamiliesAreDecidedApart(t *testing.T) {
	v4, v6 := tableOf([]route{wide("0.0.0.0/0", 0, hopLives), hole("::/0", 1)})
	if !wayBack(v4, coversIPv4, 100) || wayBack(v6, coversIPv6, 100) {
		t.Error("want a way back for IPv4 alone")
	}
}

func TestFullViewIsAsGoodAsADefault(t *testing.T) {
	fill := func(n int, r route) (v table) {
		v.add(hole("0.0.0.0/0", 0), coversIPv4)
		for i := range n {
			r.dst = netip.PrefixFrom(netip.AddrFrom4([4]byte{20, byte(i >> 8), byte(i), 0}), 24)
			v.add(r, coversIPv4)
		}
		return v
	}
	narrow := wide("20.0.0.0/24", 0, hopLives)
	for _, tc := range []struct {
		name string
		t    table
		want bool
	}{
		{"as many as the limit", fill(100, narrow), false},
		{"one more", fill(101, narrow), true},
		{"dead", fill(101, wide("20.0.0.0/24", 0, hopDead)), false},
		{"blackholes", fill(101, narrow.of(unix.RTN_BLACKHOLE)), false},
		{"in another table", fill(101, narrow.in(100)), false},
	} {
		if got := wayBack(tc.t, coversIPv4, 100); got != tc.want {
			t.Errorf("%s: way back %v, want %v", tc.name, got, tc.want)
		}
	}
	if v := fill(101, narrow); len(v.wide) != 1 {
		t.Errorf("%d routes kept, want the wide one", len(v.wide))
	}
}

// A way back does not depend on the order in which the kernel lists routes.
func TestOrderOfRoutesMakesNoDifference(t *testing.T) {
	dsts := rapid.SampledFrom([]string{"0.0.0.0/0", "0.0.0.0/1", "128.0.0.0/1", "::/0", "::/1", "2000::/3"})
	kinds := rapid.SampledFrom([]uint8{unix.RTN_UNICAST, unix.RTN_UNICAST, unix.RTN_BLACKHOLE, unix.RTN_THROW})
	tables := rapid.SampledFrom([]uint8{inMain, inMain, inDefault})
	one := rapid.Custom(func(t *rapid.T) route {
		r := wide(dsts.Draw(t, "dst"), uint32(rapid.IntRange(0, 2).Draw(t, "metric")), hopStates(rapid.IntRange(1, 7).Draw(t, "hops")))
		return r.of(kinds.Draw(t, "kind")).in(tables.Draw(t, "table"))
	})
	rapid.Check(t, func(t *rapid.T) {
		routes := rapid.SliceOfN(one, 0, 8).Draw(t, "routes")
		a4, a6 := tableOf(routes)
		b4, b6 := tableOf(rapid.Permutation(routes).Draw(t, "shuffled"))
		if everywhere(a4.wide, coversIPv4) != everywhere(b4.wide, coversIPv4) || everywhere(a6.wide, coversIPv6) != everywhere(b6.wide, coversIPv6) {
			t.Fatalf("%v", routes)
		}
	})
}

// Golden bytes of a route message: the kernel's for
// `ip route add default metric 5 nexthop via 192.0.2.1 dev #2 nexthop via inet6 fe80::1 dev #3`,
// the first next hop dead and its link down.
func TestParseRouteGolden(t *testing.T) {
	if !littleEndian() {
		t.Skip("the golden bytes are little-endian")
	}
	body := []byte{
		2, 0, 0, 0, 254, 186, 0, 1, 0, 0, 0, 0, // AF_INET, /0, main, bgp, universe, unicast
		8, 0, 15, 0, 254, 0, 0, 0, // RTA_TABLE
		8, 0, 6, 0, 5, 0, 0, 0, // RTA_PRIORITY
		52, 0, 9, 0, // RTA_MULTIPATH
		16, 0, 0x11, 0, 2, 0, 0, 0, // rtnexthop: dead and link down
		8, 0, 5, 0, 192, 0, 2, 1, // RTA_GATEWAY
		32, 0, 0, 0, 3, 0, 0, 0, // rtnexthop
		22, 0, 18, 0, 10, 0, 0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, // RTA_VIA, padded
	}
	r, ok := parseRoute(body)
	want := route{
		dst: netip.MustParsePrefix("0.0.0.0/0"), table: 254, proto: 186, kind: 1, metric: 5,
		hops: hopDead | hopLives, gateway: netip.MustParseAddr("fe80::1"), index: 3,
	}
	if !ok || r != want {
		t.Errorf("%+v, want %+v", r, want)
	}
}

func littleEndian() bool { return uint32Bytes(1)[0] == 1 }

func FuzzNetlinkMessages(f *testing.F) {
	f.Add([]byte{2, 0, 0, 0, 254, 186, 0, 1, 0, 0, 0, 0, 8, 0, 15, 0, 254, 0, 0, 0})
	f.Add([]byte{2, 32, 0, 0, 1, 0, 0, 0, 8, 0, 1, 0, 192, 0, 2, 1})
	f.Add([]byte{2, 0, 0, 0, 254, 3, 0, 1, 0, 0, 0, 0, 12, 0, 9, 0, 8, 0, 0, 0, 1, 0, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		if r, ok := parseRoute(b); ok && !r.dst.IsValid() {
			t.Errorf("a route without a destination: %+v", r)
		}
		if e, ok := parseAddress(b); ok && !e.addr.IsValid() {
			t.Errorf("an address without an address: %+v", e)
		}
		if l, ok := parseLink(b); ok && l.name == "" {
			t.Error("a link without a name")
		}
		for m, rest, ok := next(b); ok; m, rest, ok = next(rest) {
			_ = answer(m)
			if len(rest) >= len(b) {
				t.Fatal("no progress")
			}
			b = rest
		}
	})
}
