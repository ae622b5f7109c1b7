package host

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"testing"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

func newDefaults(t *testing.T, n *testNet) *Defaults {
	t.Helper()
	d, err := NewDefaults(DefaultsOptions{Namespace: n.ns})
	must(t, err)
	t.Cleanup(func() { d.Close() })
	return d
}

// installed lists the default routes of protocol bgp as "gateway metric", as
// the netlink package sees them.
func (n *testNet) installed(t *testing.T, family int) map[string]int {
	t.Helper()
	all, err := n.h.RouteListFiltered(family, &netlink.Route{Protocol: unix.RTPROT_BGP}, netlink.RT_FILTER_PROTOCOL)
	must(t, err)
	out := map[string]int{}
	for _, r := range all {
		gateway := r.Gw.String()
		if v, ok := r.Via.(*netlink.Via); ok {
			gateway = v.Addr.String()
		}
		out[gateway] = r.Priority
	}
	return out
}

func (n *testNet) wantInstalled(t *testing.T, family int, want map[string]int) {
	t.Helper()
	got := n.installed(t, family)
	same := len(got) == len(want)
	for gw, metric := range want {
		same = same && got[gw] == metric
	}
	if !same {
		t.Errorf("installed %v, want %v", got, want)
	}
}

func hop(s string) netip.Addr { return netip.MustParseAddr(s) }

func TestDefaultsAreInstalledAndRemoved(t *testing.T) {
	n := router(t)
	n.addRoute(t, rt{dst: "0.0.0.0/0", via: "192.0.2.254"})
	d := newDefaults(t, n)
	must(t, d.Set(map[string]Default{"a": {IPv4: hop(way4), IPv6: hop(way6)}, "b": {IPv4: hop("192.0.2.3")}}))
	n.wantInstalled(t, unix.AF_INET, map[string]int{way4: 17900, "192.0.2.3": 17901})
	n.wantInstalled(t, unix.AF_INET6, map[string]int{way6: 17900})

	must(t, d.Set(map[string]Default{"b": {IPv4: hop("192.0.2.3")}}))
	n.wantInstalled(t, unix.AF_INET, map[string]int{"192.0.2.3": 17901})
	n.wantInstalled(t, unix.AF_INET6, nil)

	must(t, d.Set(map[string]Default{"b": {IPv4: hop("192.0.2.4")}}))
	n.wantInstalled(t, unix.AF_INET, map[string]int{"192.0.2.4": 17900})
	must(t, d.Set(nil))
	n.wantInstalled(t, unix.AF_INET, nil)
	n.delRoute(t, rt{dst: "0.0.0.0/0", via: "192.0.2.254"}) // still there
}

func TestStaticDefaultWinsWhileItStands(t *testing.T) {
	n := router(t)
	d := newDefaults(t, n)
	must(t, d.Set(map[string]Default{"a": {IPv4: hop(way4)}}))
	static := rt{dst: "0.0.0.0/0", via: "192.0.2.254"}
	n.addRoute(t, static)
	gateway := func() string {
		routes, err := n.h.RouteGet([]byte{8, 8, 8, 8})
		must(t, err)
		return routes[0].Gw.String()
	}
	if got := gateway(); got != "192.0.2.254" {
		t.Errorf("gateway %s, want the static one", got)
	}
	n.delRoute(t, static)
	if got := gateway(); got != way4 {
		t.Errorf("gateway %s, want the one learnt by BGP", got)
	}
}

func TestOnlyOwnDefaultsAreRemoved(t *testing.T) {
	n := router(t)
	foreign := []rt{
		{dst: "0.0.0.0/0", via: "192.0.2.50", metric: 20, proto: unix.RTPROT_BGP},
		{dst: "0.0.0.0/0", via: "192.0.2.51", metric: 17900, proto: unix.RTPROT_STATIC},
		{dst: "0.0.0.0/0", via: "192.0.2.52", metric: 17900, proto: unix.RTPROT_BGP, table: 100},
		{dst: "10.0.0.0/8", via: "192.0.2.53", metric: 17900, proto: unix.RTPROT_BGP},
		{dst: "::/0", via: "2001:db8::50", metric: 20, proto: unix.RTPROT_BGP},
		{dst: "::/0", via: "2001:db8::51", metric: 17900, proto: unix.RTPROT_STATIC},
	}
	for _, r := range foreign {
		n.addRoute(t, r)
	}
	d := newDefaults(t, n)
	must(t, d.Set(map[string]Default{"a": {IPv4: hop(way4), IPv6: hop(way6)}}))
	if got := n.installed(t, unix.AF_INET)[way4]; got != 17901 {
		t.Errorf("metric %d, want the first that is free, 17901", got)
	}
	must(t, d.Set(nil))
	for _, r := range foreign {
		n.delRoute(t, r) // fails the test if it is gone
	}
	if got := n.installed(t, unix.AF_INET); len(got) != 0 {
		t.Errorf("left over: %v", got)
	}
}

func TestDefaultsOfKilledRunAreKeptOrRemoved(t *testing.T) {
	n := router(t)
	first := newDefaults(t, n)
	must(t, first.Set(map[string]Default{"a": {IPv4: hop(way4), IPv6: hop(way6)}, "b": {IPv4: hop("192.0.2.3")}}))
	must(t, first.Close())
	second := newDefaults(t, n)
	must(t, second.Set(map[string]Default{"b": {IPv4: hop("192.0.2.3")}}))
	n.wantInstalled(t, unix.AF_INET, map[string]int{"192.0.2.3": 17901})
	n.wantInstalled(t, unix.AF_INET6, nil)
}

func TestNextHopsOfEveryKind(t *testing.T) {
	n := router(t)
	d := newDefaults(t, n)
	must(t, d.Set(map[string]Default{
		"link-local":     {IPv6: hop("fe80::9%eth0")},
		"v4 over v6":     {IPv4: hop(way6)},
		"v4 over v6, ll": {IPv4: hop("fe80::9%eth0")},
		"shared":         {IPv6: hop("fe80::9%eth0")},
	}))
	n.wantInstalled(t, unix.AF_INET, map[string]int{way6: 17900, "fe80::9": 17901})
	n.wantInstalled(t, unix.AF_INET6, map[string]int{"fe80::9": 17900})
	must(t, d.Set(map[string]Default{"v4 over v6": {IPv4: hop(way6)}}))
	n.wantInstalled(t, unix.AF_INET, map[string]int{way6: 17900})
	must(t, d.Set(nil))
	n.wantInstalled(t, unix.AF_INET, nil)
}

func TestNextHopThatCannotBeUsedIsNamed(t *testing.T) {
	n := router(t)
	d := newDefaults(t, n)
	for _, tc := range []struct {
		bad  Default
		want string
	}{
		{Default{IPv4: hop("203.0.113.1")}, "default route 0.0.0.0/0 from bad: next hop 203.0.113.1 is on no network of this machine, or its link is down"},
		{Default{IPv6: hop("2001:db8:9::1")}, "default route ::/0 from bad: next hop 2001:db8:9::1 is on no network of this machine, or its link is down"},
		{Default{IPv6: hop("fe80::9")}, "next hop fe80::9 is link-local: its interface must be named"},
		{Default{IPv6: hop("fe80::9%eth9")}, "next hop fe80::9%eth9: there is no interface eth9"},
		{Default{IPv6: hop("192.0.2.1")}, "next hop 192.0.2.1 is of the wrong family"},
		{Default{IPv4: hop("192.0.2.2")}, "next hop 192.0.2.2 is an address of this machine"},
	} {
		err := d.Set(map[string]Default{"bad": tc.bad, "good": {IPv4: hop(way4)}})
		var set *SetError
		if !errors.As(err, &set) || len(set.Failures) != 1 || set.Failures[0].Neighbor != "bad" || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("error %v, want %q", err, tc.want)
		}
		n.wantInstalled(t, unix.AF_INET, map[string]int{way4: 17900})
	}
}

func TestDefaultsWatchTellsOfLostRoute(t *testing.T) {
	n := router(t)
	d := newDefaults(t, n)
	ctx, cancel := context.WithCancel(t.Context())
	c, err := d.Watch(ctx)
	must(t, err)
	want := map[string]Default{"a": {IPv4: hop(way4)}, "b": {IPv6: hop("fe80::9%eth1")}}
	if err := d.Set(want); err == nil {
		t.Error("no error for a next hop on an absent interface")
	}
	n.veth(t, "eth1")
	signal(t, c, "the interface came")
	eventually(t, "both routes stand", func() bool { return d.Set(want) == nil })
	n.down(t, "eth0")
	signal(t, c, "the link took the route with it")
	n.up(t, "eth0")
	eventually(t, "the route stands again", func() bool { return d.Set(want) == nil })
	n.wantInstalled(t, unix.AF_INET, map[string]int{way4: 17900})
	cancel()
	drain(c)
}

func TestInstalledDefaultIsAWayBack(t *testing.T) {
	n := router(t)
	c := reports(t, n, WayBackOptions{})
	expect(t, c, "at once", WayBack{})
	d := newDefaults(t, n)
	must(t, d.Set(map[string]Default{"a": {IPv6: hop(way6)}}))
	expect(t, c, "installed", WayBack{IPv6: true})
	must(t, d.Set(nil))
	expect(t, c, "removed", WayBack{})
}
