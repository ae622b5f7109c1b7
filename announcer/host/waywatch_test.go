package host

import (
	"context"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// way4 and way6 are the next hops of the tests, on eth0.
const (
	way4 = "192.0.2.1"
	way6 = "2001:db8::1"
)

// router makes a namespace with eth0 towards a gateway of each family.
func router(t *testing.T) *testNet {
	t.Helper()
	n := newNet(t)
	n.veth(t, "eth0", "192.0.2.2/24", "2001:db8::2/64")
	return n
}

// reports runs WatchWayBack until the test ends.
func reports(t *testing.T, n *testNet, o WayBackOptions) <-chan WayBack {
	t.Helper()
	o.Namespace = n.ns
	ctx, cancel := context.WithCancel(context.Background())
	c := make(chan WayBack, 100)
	ended := make(chan error, 1)
	go func() { ended <- WatchWayBack(ctx, o, func(w WayBack) { c <- w }) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("WatchWayBack: %v", err)
		}
		close(c)
		for w := range c {
			t.Errorf("unexpected report %+v", w)
		}
	})
	return c
}

func expect(t *testing.T, c <-chan WayBack, what string, want WayBack) {
	t.Helper()
	select {
	case got := <-c:
		if got != want {
			t.Fatalf("%s: report %+v, want %+v", what, got, want)
		}
	case <-time.After(patience):
		t.Fatalf("%s: no report, want %+v", what, want)
	}
}

func TestWayBackIsReportedAtOnceThenOnChange(t *testing.T) {
	n := router(t)
	d4 := rt{dst: "0.0.0.0/0", via: way4}
	d6 := rt{dst: "::/0", via: way6}
	n.addRoute(t, d4)
	c := reports(t, n, WayBackOptions{})
	expect(t, c, "at once", WayBack{IPv4: true})
	n.delRoute(t, d4)
	expect(t, c, "IPv4 vanished", WayBack{})
	n.addRoute(t, d6)
	expect(t, c, "IPv6 came", WayBack{IPv6: true})
	n.addRoute(t, d4)
	expect(t, c, "IPv4 returned", WayBack{IPv4: true, IPv6: true})
	n.delRoute(t, d6)
	expect(t, c, "IPv6 vanished", WayBack{IPv4: true})
}

// A report would have to come before that of the IPv6 route, since reports are
// in order.
func TestReplacedDefaultIsNotReported(t *testing.T) {
	n := router(t)
	old := rt{dst: "0.0.0.0/0", via: way4}
	other := rt{dst: "0.0.0.0/0", via: "192.0.2.9"}
	n.addRoute(t, old)
	c := reports(t, n, WayBackOptions{Debounce: 2 * time.Second})
	expect(t, c, "at once", WayBack{IPv4: true})

	must(t, n.h.RouteReplace(n.route(t, other)))
	n.addRoute(t, rt{dst: "::/0", via: way6})
	expect(t, c, "replaced in one step", WayBack{IPv4: true, IPv6: true})

	n.delRoute(t, other)
	n.veth(t, "eth1") // takes a while
	n.veth(t, "eth2")
	n.addRoute(t, old)
	n.delRoute(t, rt{dst: "::/0", via: way6})
	expect(t, c, "deleted and added again", WayBack{IPv4: true})

	n.addRoute(t, rt{dst: "10.0.0.0/8", via: way4})
	n.addRoute(t, rt{dst: "0.0.0.0/0", via: way4, metric: 50})
	n.addRoute(t, rt{dst: "::/0", via: way6})
	expect(t, c, "other routes came", WayBack{IPv4: true, IPv6: true})
}

func TestDefaultThatLeadsNowhereIsALoss(t *testing.T) {
	for _, tc := range []struct {
		name string
		kind int
	}{
		{"blackhole", unix.RTN_BLACKHOLE}, {"unreachable", unix.RTN_UNREACHABLE},
		{"prohibit", unix.RTN_PROHIBIT}, {"throw", unix.RTN_THROW},
	} {
		t.Run(tc.name, func(t *testing.T) {
			n := router(t)
			n.addRoute(t, rt{dst: "0.0.0.0/0", via: way4})
			c := reports(t, n, WayBackOptions{})
			expect(t, c, "at once", WayBack{IPv4: true})
			must(t, n.h.RouteReplace(n.route(t, rt{dst: "0.0.0.0/0", kind: tc.kind})))
			expect(t, c, "replaced by a "+tc.name, WayBack{})
			must(t, n.h.RouteReplace(n.route(t, rt{dst: "0.0.0.0/0", via: way4})))
			expect(t, c, "replaced by a route again", WayBack{IPv4: true})
		})
	}
}

func TestLinkTakesTheWayBackWithIt(t *testing.T) {
	for _, tc := range []struct {
		name     string
		down, up string // the end of the link that is taken down
	}{{"own end", "eth0", ""}, {"far end", "eth0p", "eth0p"}} {
		t.Run(tc.name, func(t *testing.T) {
			n := router(t)
			n.addRoute(t, rt{dst: "0.0.0.0/0", via: way4})
			c := reports(t, n, WayBackOptions{})
			expect(t, c, "at once", WayBack{IPv4: true})
			n.down(t, tc.down)
			expect(t, c, "link down", WayBack{})
			if tc.up != "" { // a route of an own end that goes down is deleted
				n.up(t, tc.up)
				expect(t, c, "link up", WayBack{IPv4: true})
			}
		})
	}
}

func TestDeviceRouteWithoutGatewayIsAWayBack(t *testing.T) {
	n := router(t)
	c := reports(t, n, WayBackOptions{})
	expect(t, c, "at once", WayBack{})
	n.addRoute(t, rt{dst: "0.0.0.0/0", dev: "eth0"})
	expect(t, c, "IPv4 on the device", WayBack{IPv4: true})
	n.addRoute(t, rt{dst: "::/0", dev: "eth0"})
	expect(t, c, "IPv6 on the device", WayBack{IPv4: true, IPv6: true})
	n.delRoute(t, rt{dst: "0.0.0.0/0", dev: "eth0"})
	expect(t, c, "IPv4 gone", WayBack{IPv6: true})
}

func TestDefaultOnLoopbackIsNone(t *testing.T) {
	n := router(t)
	n.addRoute(t, rt{dst: "0.0.0.0/0", dev: "lo"})
	n.addRoute(t, rt{dst: "::/0", dev: "lo"})
	expect(t, reports(t, n, WayBackOptions{}), "at once", WayBack{})
}

func TestMultipathLivesWhileOneNextHopDoes(t *testing.T) {
	n := router(t)
	n.veth(t, "eth1", "198.51.100.2/24")
	r := n.route(t, rt{dst: "0.0.0.0/0"})
	for iface, gw := range map[string]string{"eth0": way4, "eth1": "198.51.100.1"} {
		r.MultiPath = append(r.MultiPath, &netlink.NexthopInfo{LinkIndex: n.link(t, iface).Attrs().Index, Gw: net.ParseIP(gw)})
	}
	r.Gw = nil
	must(t, n.h.RouteAdd(r))
	c := reports(t, n, WayBackOptions{})
	expect(t, c, "at once", WayBack{IPv4: true})
	n.down(t, "eth0p")
	n.addRoute(t, rt{dst: "::/0", dev: "eth1"})
	expect(t, c, "one link down", WayBack{IPv4: true, IPv6: true})
	n.down(t, "eth1p")
	expect(t, c, "both links down", WayBack{})
}

func TestHalvesAreAWayBack(t *testing.T) {
	n := router(t)
	c := reports(t, n, WayBackOptions{})
	expect(t, c, "at once", WayBack{})
	n.addRoute(t, rt{dst: "0.0.0.0/1", via: way4})
	n.addRoute(t, rt{dst: "::/1", via: way6})
	n.addRoute(t, rt{dst: "128.0.0.0/1", via: way4})
	for got := range c { // the halves may come in one report or two
		if got == (WayBack{IPv4: true, IPv6: true}) {
			break
		}
		if got.IPv4 {
			t.Fatalf("report %+v", got)
		}
	}
	n.delRoute(t, rt{dst: "128.0.0.0/1", via: way4})
	expect(t, c, "one half gone", WayBack{IPv6: true})
}

func TestFullViewComesAndGoes(t *testing.T) {
	n := router(t)
	c := reports(t, n, WayBackOptions{FullView: 200})
	expect(t, c, "at once", WayBack{})
	narrow := func(i int) rt { return rt{dst: fmt.Sprintf("20.0.%d.0/24", i), via: way4} }
	for i := range 250 {
		n.addRoute(t, narrow(i))
	}
	expect(t, c, "view came", WayBack{IPv4: true})
	for i := range 250 {
		n.delRoute(t, narrow(i))
	}
	expect(t, c, "view went", WayBack{})
}

// What becomes of two packets, one to each half of the Internet, as the kernel
// says itself, is what the decision says.
func TestDecisionAgreesWithTheKernel(t *testing.T) {
	const d, low, high = "0.0.0.0/0", "0.0.0.0/1", "128.0.0.0/1"
	for _, tc := range []struct {
		name   string
		ignore bool // sysctl ignore_routes_with_linkdown
		routes []rt
	}{
		{"blackhole before", false, []rt{{dst: d, kind: unix.RTN_BLACKHOLE, metric: 1}, {dst: d, via: way4, metric: 2}}},
		{"blackhole behind", false, []rt{{dst: d, kind: unix.RTN_BLACKHOLE, metric: 2}, {dst: d, via: way4, metric: 1}}},
		{"link down before", false, []rt{{dst: d, dev: "eth1", metric: 1}, {dst: d, via: way4, metric: 2}}},
		{"link down before, ignored", true, []rt{{dst: d, dev: "eth1", metric: 1}, {dst: d, via: way4, metric: 2}}},
		{"link down alone, ignored", true, []rt{{dst: d, dev: "eth1"}}},
		{"table default", false, []rt{{dst: d, via: way4, table: inDefault}}},
		{"throw to table default", false, []rt{{dst: d, kind: unix.RTN_THROW}, {dst: d, via: way4, table: inDefault}}},
		{"unreachable before table default", false, []rt{{dst: d, kind: unix.RTN_UNREACHABLE}, {dst: d, via: way4, table: inDefault}}},
		{"one half", false, []rt{{dst: low, via: way4}}},
		{"halves in two tables", false, []rt{{dst: low, via: way4}, {dst: high, via: way4, table: inDefault}}},
		{"half link down before default", false, []rt{{dst: high, dev: "eth1"}, {dst: d, via: way4}}},
		{"half link down before default, ignored", true, []rt{{dst: high, dev: "eth1"}, {dst: d, via: way4}}},
		{"half throws to table default", false, []rt{{dst: high, kind: unix.RTN_THROW}, {dst: d, via: way4}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			n := router(t)
			n.veth(t, "eth1")
			for _, r := range tc.routes {
				n.addRoute(t, r)
			}
			if tc.ignore {
				n.sysctl(t, "ipv4/conf/eth1/ignore_routes_with_linkdown", "1")
			}
			n.down(t, "eth1p")
			eventually(t, "eth1 has no carrier", func() bool {
				return n.link(t, "eth1").Attrs().RawFlags&unix.IFF_LOWER_UP == 0
			})
			s, err := openSocket(n.ns)
			must(t, err)
			defer s.Close()
			state, _, err := (&wayWatch{socket: s, fullView: 1000}).read()
			must(t, err)
			if want := n.reaches(t, "20.0.0.1") && n.reaches(t, "200.0.0.1"); state.IPv4 != want {
				t.Errorf("way back %v, the kernel says %v", state.IPv4, want)
			}
		})
	}
}

// reaches asks the kernel whether a packet to dst leaves by the living eth0.
func (n *testNet) reaches(t *testing.T, dst string) bool {
	t.Helper()
	routes, err := n.h.RouteGet(net.ParseIP(dst))
	return err == nil && routes[0].LinkIndex == n.link(t, "eth0").Attrs().Index
}

func TestLostNotificationsLeadToAnotherReading(t *testing.T) {
	n := router(t)
	s, err := openSocket(n.ns, wayGroups...)
	must(t, err)
	must(t, unix.SetsockoptInt(int(s.file.Fd()), unix.SOL_SOCKET, unix.SO_RCVBUF, 1))
	must(t, unix.SetNonblock(int(s.file.Fd()), true)) // Fd made it blocking
	for i := range 100 {
		n.addRoute(t, rt{dst: fmt.Sprintf("20.0.%d.0/24", i), via: way4})
	}
	log, _ := newLog()
	dirty := notifications(s, log, func(message) bool { return false })
	signal(t, dirty, "notifications were lost")
	must(t, s.Close())
	drain(dirty)
}

func TestSameStateIsReportedOnce(t *testing.T) {
	n := router(t)
	s, err := openSocket(n.ns)
	must(t, err)
	defer s.Close()
	log, _ := newLog()
	w := &wayWatch{socket: s, fullView: 1000, debounce: time.Millisecond, log: log}
	ctx, cancel := context.WithCancel(t.Context())
	dirty := make(chan struct{})
	reported := 0
	ended := make(chan error)
	go func() { ended <- w.run(ctx, dirty, func(WayBack) { reported++ }) }()
	for range 3 {
		dirty <- struct{}{} // taken after the reading before has ended
	}
	cancel()
	must(t, <-ended)
	if reported != 1 {
		t.Errorf("%d reports of one state", reported)
	}
}

// The table is read again only when the number of narrow routes can have passed
// the limit, so that a full view in motion costs little.
func TestNarrowRoutesMatterByTheirNumber(t *testing.T) {
	notice := func(kind uint16, bits byte, table byte) message {
		return message{kind: kind, body: []byte{unix.AF_INET, bits, 0, 0, table, 0, 0, unix.RTN_UNICAST, 0, 0, 0, 0, 8, 0, 1, 0, 0, 0, 0, 0}}
	}
	if !littleEndian() {
		t.Skip("the messages are little-endian")
	}
	n := router(t)
	s, err := openSocket(n.ns)
	must(t, err)
	defer s.Close()
	w := &wayWatch{socket: s, fullView: 10}
	_, _, err = w.read() // one route: 192.0.2.0/24
	must(t, err)
	for i := range 9 {
		if w.matters(notice(unix.RTM_NEWROUTE, 24, inMain)) {
			t.Fatalf("route %d matters, though 10 do not pass the limit", i+2)
		}
	}
	if w.matters(notice(unix.RTM_NEWROUTE, 24, unix.RT_TABLE_LOCAL)) {
		t.Error("a route of another table matters")
	}
	if !w.matters(notice(unix.RTM_NEWROUTE, 24, inMain)) {
		t.Error("the eleventh route does not matter")
	}
	if !w.matters(notice(unix.RTM_DELROUTE, 0, inMain)) || !w.matters(message{kind: unix.RTM_NEWLINK}) {
		t.Error("a default or a link does not matter")
	}
}
