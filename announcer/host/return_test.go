package host

import (
	"context"
	"errors"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// twoTransits is a node with eth1 to router A (192.0.2.1, fe80::a) and eth2 to
// router B (203.0.113.1), and a default route by A.
func twoTransits(t *testing.T) *testNet {
	t.Helper()
	n := newNet(t)
	n.requireNft(t)
	n.veth(t, "eth1", "192.0.2.2/24", "2001:db8::2/64")
	n.veth(t, "eth2", "203.0.113.2/24", "2001:db8:b::2/64")
	n.addRoute(t, rt{dst: "0.0.0.0/0", via: "192.0.2.1"})
	n.addRoute(t, rt{dst: "::/0", via: "2001:db8::1"})
	for _, iface := range []string{"all", "eth1", "eth2"} {
		n.sysctl(t, "ipv4/conf/"+iface+"/rp_filter", "0")
	}
	return n
}

func (n *testNet) requireNft(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("/usr/sbin/nft"); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("needs nft: apt-get install nftables")
		}
		t.Skip("needs nft: apt-get install nftables")
	}
}

// run runs a command in the namespace and returns what it printed.
func (n *testNet) run(t *testing.T, command ...string) string {
	t.Helper()
	var out []byte
	n.inside(t, func() (err error) {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		out, err = exec.CommandContext(ctx, command[0], command[1:]...).CombinedOutput()
		if err != nil {
			err = errors.New(strings.Join(command, " ") + ": " + string(out))
		}
		return err
	})
	return string(out)
}

// held is everything that Return can have changed: as nft and ip show it. Rules
// of one priority have no order.
func (n *testNet) held(t *testing.T) string {
	t.Helper()
	rules := func(family string) string {
		return strings.Join(slices.Sorted(strings.Lines(n.run(t, "ip", family, "rule"))), "")
	}
	return n.run(t, "/usr/sbin/nft", "list", "ruleset") + rules("-4") + rules("-6") +
		n.run(t, "ip", "-4", "route", "show", "table", "all", "proto", "202") +
		n.run(t, "ip", "-6", "route", "show", "table", "all", "proto", "202")
}

func newReturn(t *testing.T, n *testNet) (*Return, *logBuffer) {
	t.Helper()
	log, b := newLog()
	r, err := NewReturn(ReturnOptions{Namespace: n.ns, Log: log})
	must(t, err)
	t.Cleanup(func() { r.Close() })
	return r, b
}

var services = prefixes("198.51.100.0/24", "198.51.100.128/25", "2001:db8:100::/48")

func a4() ReturnPath { return ReturnPath{Neighbor: "transit-a", Router: hop("192.0.2.1"), IPv4: true} }
func b4() ReturnPath {
	return ReturnPath{Neighbor: "transit-b", Router: hop("203.0.113.1"), IPv4: true}
}
func b6() ReturnPath {
	return ReturnPath{Neighbor: "transit-b6", Router: hop("2001:db8:b::1"), IPv6: true}
}

func returns(paths ...ReturnPath) Returns { return Returns{Prefixes: services, Paths: paths} }

func routed(p ReturnPath) ReturnPath { p.Routed = true; return p }

// wantText fails the test for each line that is missing.
func wantText(t *testing.T, what, text string, lines ...string) {
	t.Helper()
	for _, line := range lines {
		if !strings.Contains(text, line) {
			t.Errorf("%s lacks %q:\n%s", what, line, text)
		}
	}
}

func TestReturnPathsStandAsNftAndIPShowThem(t *testing.T) {
	n := twoTransits(t)
	clean := n.held(t)
	r, _ := newReturn(t, n)
	must(t, r.Set(returns(a4(), b4(), b6())))
	wantText(t, "the kernel", n.held(t),
		"elements = { 198.51.100.0/24 }", "elements = { 2001:db8:100::/48 }",
		"type filter hook prerouting priority mangle + 10; policy accept;",
		"ip daddr @prefixes4 ct state established,new jump requests",
		"ip6 daddr @prefixes6 ct state established,new jump requests",
		`meta nfproto ipv4 iifname "eth1" ct mark set ct mark & 0x01ffffff | 0x01000000 return comment "from transit-a, IPv4"`,
		`meta nfproto ipv4 iifname "eth2" ct mark set ct mark & 0x02ffffff | 0x02000000 return comment "from transit-b, IPv4"`,
		`meta nfproto ipv6 iifname "eth2" ct mark set ct mark & 0x03ffffff | 0x03000000 return comment "from transit-b6, IPv6"`,
		"ct mark != 0x00000000/8 ct mark set ct mark & 0x00ffffff",
		"type route hook output priority mangle + 10; policy accept;",
		"ip saddr @prefixes4 ct mark != 0x00000000/8 jump replies",
		"ct mark 0x02000000/8 meta mark set meta mark & 0x02ffffff | 0x02000000 return",
		"1790:\tfrom all fwmark 0x1000000/0xff000000 lookup 17901 proto 202",
		"1790:\tfrom all fwmark 0x2000000/0xff000000 lookup 17902 proto 202",
		"1790:\tfrom all fwmark 0x3000000/0xff000000 lookup 17903 proto 202",
		"default via 192.0.2.1 dev eth1 table 17901", "default via 203.0.113.1 dev eth2 table 17902",
		"default via 2001:db8:b::1 dev eth2 table 17903")
	if got, want := r.Marks(), map[uint32]string{1 << 24: "transit-a", 2 << 24: "transit-b", 3 << 24: "transit-b6"}; !maps.Equal(got, want) {
		t.Errorf("marks %v, want %v", got, want)
	}
	must(t, r.Set(Returns{}))
	if got := r.Marks(); len(got) != 0 {
		t.Errorf("marks of nothing: %v", got)
	}
	if got := n.held(t); got != clean {
		t.Errorf("left over:\n%s\nwant\n%s", got, clean)
	}
}

func TestSameReturnPathsChangeNothing(t *testing.T) {
	n := twoTransits(t)
	r, log := newReturn(t, n)
	must(t, r.Set(returns(a4(), b4())))
	before, said := n.run(t, "/usr/sbin/nft", "-a", "list", "ruleset"), log.count("\n")
	must(t, r.Set(returns(a4(), b4())))
	if after := n.run(t, "/usr/sbin/nft", "-a", "list", "ruleset"); after != before || log.count("\n") != said {
		t.Errorf("a second Set changed something:\n%s\nwas\n%s", after, before)
	}
	if stale, err := r.stale(); stale || err != nil {
		t.Errorf("stale %v, %v", stale, err)
	}
}

func TestNumberOfReturnPathStaysWhileOthersComeAndGo(t *testing.T) {
	n := twoTransits(t)
	r, _ := newReturn(t, n)
	must(t, r.Set(returns(a4(), b4())))
	must(t, r.Set(returns(routed(a4()), b4())))
	held := n.held(t)
	wantText(t, "the kernel", held, "default via 203.0.113.1 dev eth2 table 17902", "fwmark 0x2000000/0xff000000 lookup 17902")
	if strings.Contains(held, "17901") {
		t.Errorf("the path that is routed now is still there:\n%s", held)
	}
	moved := b4()
	moved.Router = hop("203.0.113.9")
	must(t, r.Set(returns(moved)))
	held = n.held(t)
	wantText(t, "the kernel", held, "default via 203.0.113.9 dev eth2 table 17902")
	if strings.Contains(held, "203.0.113.1 ") {
		t.Errorf("the old router is still there:\n%s", held)
	}
}

// What a killed run left is taken over, under the same numbers, or taken away.
func TestReturnPathsOfKilledRunAreKeptOrRemoved(t *testing.T) {
	n := twoTransits(t)
	clean := n.held(t)
	first, _ := newReturn(t, n)
	must(t, first.Set(returns(a4(), b4(), b6())))
	before := n.held(t)
	must(t, first.Close())

	second, log := newReturn(t, n)
	must(t, second.Set(returns(a4(), b4(), b6())))
	if after := n.held(t); after != before {
		t.Errorf("the second run made\n%s\nof\n%s", after, before)
	}
	must(t, second.Close())

	third, _ := newReturn(t, n)
	must(t, third.Set(returns(b4())))
	wantText(t, "the kernel", n.held(t), "default via 203.0.113.1 dev eth2 table 17902", `iifname "eth2" ct mark set ct mark & 0x02ffffff | 0x02000000`)
	must(t, third.Close())

	fourth, _ := newReturn(t, n)
	must(t, fourth.Set(returns(routed(a4()), routed(b4()))))
	if got := n.held(t); got != clean {
		t.Errorf("left over:\n%s", got)
	}
	if log.count("\n") != 0 {
		t.Errorf("taking over what stood was logged as a change: %d lines", log.count("\n"))
	}
}

func TestForeignRulesRoutesAndTablesAreNotTouched(t *testing.T) {
	n := twoTransits(t)
	for _, command := range []string{
		"ip rule add fwmark 0x1000000/0xff000000 lookup 500 priority 1000", // our mark 1, of somebody else
		"ip rule add from 10.9.0.0/16 lookup 17902 priority 1790",          // our table 2, of somebody else
		"ip route add 10.8.0.0/16 via 192.0.2.1 table 17903 proto static",  // our table 3, of somebody else
		"ip -6 rule add fwmark 0xca6c lookup 51820 priority 32764",         // no bit of ours
		"ip rule add fwmark 0x40/0x40 lookup 501 priority 1791 proto 202",  // our protocol by chance, no table of ours
		"ip route add 10.7.0.0/16 via 192.0.2.1 table 600 proto 202",       // likewise
		"nft add table inet other",                                         // others' nftables
		"nft add chain inet other output { type route hook output priority mangle; }",
		"nft add rule inet other output ct mark 0x7 meta mark set 0x7",
		"nft add table ip catchment", // our name in another family
	} {
		n.run(t, strings.Fields(command)...)
	}
	before := n.held(t)
	r, _ := newReturn(t, n)
	must(t, r.Set(returns(a4(), b4())))
	wantText(t, "the kernel", n.held(t), "fwmark 0x4000000/0xff000000 lookup 17904 proto 202", "fwmark 0x5000000/0xff000000 lookup 17905 proto 202")
	must(t, r.Set(Returns{}))
	if after := n.held(t); after != before {
		t.Errorf("after:\n%s\nbefore:\n%s", after, before)
	}
}

func TestForeignTableOfOurNameIsRefused(t *testing.T) {
	n := twoTransits(t)
	n.run(t, "nft", "add", "table", "inet", "catchment")
	n.run(t, "nft", "add", "chain", "inet", "catchment", "requests")
	before := n.held(t)
	r, _ := newReturn(t, n)
	err := r.Set(returns(b4()))
	var set *SetError
	if err == nil || errors.As(err, &set) || !strings.Contains(err.Error(), "the table inet catchment was there before us, and is not ours") {
		t.Errorf("error %v", err)
	}
	must(t, r.Set(Returns{}))
	if after := n.held(t); after != before {
		t.Errorf("after:\n%s\nbefore:\n%s", after, before)
	}
}

func TestReturnPathThatCannotBeIsNamed(t *testing.T) {
	n := twoTransits(t)
	n.veth(t, "eth3", "198.18.3.2/24")
	n.down(t, "eth3")
	r, _ := newReturn(t, n)
	path := func(router, device string) ReturnPath {
		return ReturnPath{Neighbor: "bad", Router: hop(router), Device: device, IPv4: hop(router).Is4(), IPv6: hop(router).Is6()}
	}
	for _, tc := range []struct {
		bad  ReturnPath
		want string
	}{
		{path("203.0.114.1", ""), "return path of bad: IPv4: 203.0.114.1 is on no network of this machine, or its link is down; replies can be handed only to a directly connected router"},
		{path("2001:db8:77::1", ""), "return path of bad: IPv6: 2001:db8:77::1 is on no network of this machine"},
		{path("fe80::1", ""), "fe80::1 is link-local: its interface must be named"},
		{path("fe80::1%eth9", ""), "there is no interface eth9"},
		{path("198.18.3.1", "eth3"), "interface eth3 is down: `ip link set eth3 up`"},
		{path("192.0.2.2", ""), "192.0.2.2 is no other machine's address"},
	} {
		err := r.Set(returns(tc.bad, b4()))
		var set *SetError
		if !errors.As(err, &set) || len(set.Failures) != 1 || set.Failures[0].Neighbor != "bad" || !set.Failures[0].Return || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("error %v, want %q", err, tc.want)
		}
		wantText(t, "the kernel", n.held(t), "default via 203.0.113.1 dev eth2")
	}
}

func TestStrictReversePathFilterIsReported(t *testing.T) {
	n := twoTransits(t)
	n.sysctl(t, "ipv4/conf/eth1/rp_filter", "1") // the default route is there: harmless
	r, _ := newReturn(t, n)
	must(t, r.Set(returns(a4(), b4())))
	n.sysctl(t, "ipv4/conf/all/rp_filter", "1")
	err := r.Set(returns(a4(), b4()))
	if err == nil || !strings.Contains(err.Error(), "return path of transit-b: IPv4: rp_filter is strict, and drops requests that come in by eth2") || strings.Contains(err.Error(), "transit-a") {
		t.Errorf("error %v", err)
	}
	n.sysctl(t, "ipv4/conf/eth2/rp_filter", "2") // the greater one counts
	must(t, r.Set(returns(a4(), b4())))
}

func TestRuleThatTakesRepliesAwayIsReported(t *testing.T) {
	n := twoTransits(t)
	n.addAddr(t, "lo", "198.51.100.1/32")
	r, _ := newReturn(t, n)
	must(t, r.Set(returns(b4())))
	n.run(t, "ip", "route", "add", "default", "via", "192.0.2.1", "table", "500")
	n.run(t, "ip", "rule", "add", "from", "198.51.100.0/24", "lookup", "500", "priority", "100")
	err := r.Set(returns(b4()))
	if err == nil || !strings.Contains(err.Error(), "replies would leave by eth1 via 192.0.2.1: a rule of `ip rule` stands before ours (priority 1790)") {
		t.Errorf("error %v", err)
	}
}

func watchReturn(t *testing.T, r *Return) (<-chan struct{}, func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	c, err := r.Watch(ctx)
	must(t, err)
	return c, func() { cancel(); drain(c) }
}

func TestOthersNftablesAreNoNews(t *testing.T) {
	n := twoTransits(t)
	r, _ := newReturn(t, n)
	must(t, r.Set(returns(b4())))
	s, err := openNetlink(n.ns, unix.NETLINK_NETFILTER, unix.NFNLGRP_NFTABLES)
	must(t, err)
	log, _ := newLog()
	others := 0 // before the first that is ours
	dirty := notifications(s, log, func(m message) bool {
		ours := aboutOurTable(m)
		if !ours {
			others++
		}
		return ours
	})
	n.run(t, "nft", "add", "table", "inet", "other")
	n.run(t, "nft", "add", "table", "ip", "catchment")
	n.run(t, "nft", "add", "set", "inet", "other", "s", "{ type ipv4_addr; }")
	n.run(t, "nft", "add", "element", "inet", "other", "s", "{ 192.0.2.1 }")
	select {
	case <-dirty:
		t.Error("what happens to others' tables is taken for news of ours")
	default:
	}
	n.run(t, "nft", "add", "rule", "inet", "catchment", "requests", "accept")
	signal(t, dirty, "a rule was added to ours")
	must(t, s.Close())
	drain(dirty)
	if others < 4 {
		t.Errorf("%d notifications of others' tables, want one for each at least", others)
	}
}

func TestReturnWatchTellsOfLoss(t *testing.T) {
	for name, command := range map[string]string{
		"nftables flushed":  "nft flush ruleset",
		"rule added to our": "nft add rule inet catchment requests accept",
		"rules flushed":     "ip rule del priority 1790",
		"routes flushed":    "ip route flush table 17901",
		"link down":         "ip link set eth2 down",
	} {
		t.Run(name, func(t *testing.T) {
			n := twoTransits(t)
			r, _ := newReturn(t, n)
			c, stop := watchReturn(t, r)
			defer stop()
			must(t, r.Set(returns(b4(), a4())))
			before := n.held(t)
			n.run(t, strings.Fields(command)...)
			signal(t, c, command)
			n.run(t, "ip", "link", "set", "eth2", "up")
			eventually(t, "all stands again", func() bool { return r.Set(returns(b4(), a4())) == nil && n.held(t) == before })
		})
	}
}

// What others do may take replies away while all that is ours stands.
func TestReturnWatchTellsOfOthersWhoTakeRepliesAway(t *testing.T) {
	for name, c := range map[string]struct{ do, undo, want string }{
		"a rule before ours": {"ip rule add priority 100 lookup main", "ip rule del priority 100", "a rule of `ip rule` stands before ours"},
		"a route in our table": {"ip route prepend blackhole default table 17901", "ip route del blackhole default table 17901",
			"the kernel has no way for replies with mark 0x1000000"},
		"rp_filter": {"sysctl -q net.ipv4.conf.eth2.rp_filter=1", "sysctl -q net.ipv4.conf.eth2.rp_filter=0", "rp_filter is strict"},
		"the default route, with rp_filter": {"ip route change default via 192.0.2.1 dev eth1", "ip route change default via 203.0.113.1 dev eth2",
			"rp_filter is strict"},
		"no default route": {"ip route del default", "ip route add default via 192.0.2.1",
			"IPv4: the kernel drops replies before they can be marked: this machine has no route for them"},
		"an unreachable default route": {"ip route replace unreachable default", "ip route replace default via 192.0.2.1",
			"IPv4: the kernel drops replies before they can be marked: this machine has no route for them"},
	} {
		t.Run(name, func(t *testing.T) {
			n := twoTransits(t)
			if name == "the default route, with rp_filter" {
				n.run(t, "ip", "route", "change", "default", "via", "203.0.113.1", "dev", "eth2")
				n.sysctl(t, "ipv4/conf/eth2/rp_filter", "1")
			}
			r, _ := newReturn(t, n)
			news, stop := watchReturn(t, r)
			defer stop()
			must(t, r.Set(returns(b4())))
			n.run(t, strings.Fields(c.do)...)
			signal(t, news, c.do)
			if err := r.Set(returns(b4())); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %s", err, c.want)
			}
			n.run(t, strings.Fields(c.undo)...)
			eventually(t, "all well again", func() bool { return r.Set(returns(b4())) == nil })
		})
	}
}

// A machine with a full table needs no default route.
func TestRoutesToEverywhereStandForADefaultRoute(t *testing.T) {
	n := twoTransits(t)
	n.run(t, "ip", "route", "del", "default")
	n.run(t, "ip", "route", "add", "198.41.0.0/24", "via", "192.0.2.1")
	r, _ := newReturn(t, n)
	must(t, r.Set(returns(b4())))
}
