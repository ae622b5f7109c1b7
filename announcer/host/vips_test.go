package host

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func newVIPs(t *testing.T, n *testNet, dir string) (*VIPs, *logBuffer) {
	t.Helper()
	log, text := newLog()
	v, err := NewVIPs(VIPOptions{Namespace: n.ns, StateDir: dir, Log: log})
	must(t, err)
	t.Cleanup(func() { v.Close() })
	return v, text
}

var both = map[string][]netip.Prefix{"lo": prefixes("198.51.100.1/32", "2001:db8:100::1/128")}

func TestVIPsCarryOurMarkAndAreNoSource(t *testing.T) {
	n := newNet(t)
	v, _ := newVIPs(t, n, t.TempDir())
	must(t, v.Set(both))

	v4, ok := n.find(t, "lo", "198.51.100.1/32")
	if !ok || v4.Label != "lo:catchment" || v4.Scope != unix.RT_SCOPE_HOST {
		t.Errorf("IPv4: %v, label %q, scope %d; want lo:catchment in scope host", ok, v4.Label, v4.Scope)
	}
	v6, ok := n.find(t, "lo", "2001:db8:100::1/128")
	if !ok || v6.Flags&unix.IFA_F_DEPRECATED == 0 || v6.Flags&unix.IFA_F_NODAD == 0 || v6.PreferedLft != 0 || uint32(v6.ValidLft) != foreverValid {
		t.Errorf("IPv6: %v, flags %#x, preferred %d, valid %d; want deprecated, nodad, 0, for ever", ok, v6.Flags, v6.PreferedLft, v6.ValidLft)
	}
	list, err := v.socket.addresses()
	must(t, err)
	marked := 0
	for _, e := range list {
		if e.proto == protoCatchment {
			marked++
		}
	}
	if marked != 2 {
		t.Errorf("%d addresses carry IFA_PROTO, want 2: %+v", marked, list)
	}
}

// An interface without an address borrows the source from lo: the VIP must not
// be lent, though another address in the same place would be.
func TestVIPIsNotLentToUnnumberedInterface(t *testing.T) {
	n := newNet(t)
	n.veth(t, "up0")
	n.addRoute(t, rt{dst: "0.0.0.0/0", dev: "up0"})
	source := func() string {
		routes, err := n.h.RouteGet(net.IPv4(8, 8, 8, 8))
		must(t, err)
		return routes[0].Src.String()
	}
	v, _ := newVIPs(t, n, t.TempDir())
	must(t, v.Set(both))
	if got := source(); got == "198.51.100.1" {
		t.Errorf("source %s is the VIP", got)
	}
	n.addAddr(t, "lo", "203.0.113.9/32")
	if got := source(); got != "203.0.113.9" {
		t.Errorf("source %s, want the address of scope global (else this test shows nothing)", got)
	}
}

func TestVIPAnswersOnItsAddress(t *testing.T) {
	n := newNet(t)
	v, _ := newVIPs(t, n, t.TempDir())
	must(t, v.Set(both))
	for _, host := range []string{"198.51.100.1", "2001:db8:100::1"} {
		n.inside(t, func() error {
			l, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
			if err != nil {
				return err
			}
			defer l.Close()
			c, err := (&net.Dialer{Timeout: patience}).Dial("tcp", l.Addr().String())
			if err != nil {
				return err
			}
			return c.Close()
		})
	}
}

func TestOnlyOwnAddressesAreRemoved(t *testing.T) {
	n := newNet(t)
	foreign := []string{"198.51.100.7/32", "2001:db8:100::7/128", "198.51.100.8/24"}
	for _, a := range foreign {
		n.addAddr(t, "lo", a)
	}
	v, text := newVIPs(t, n, t.TempDir())
	want := map[string][]netip.Prefix{"lo": append(prefixes("198.51.100.7/32", "2001:db8:100::7/128", "198.51.100.8/32"), both["lo"]...)}
	must(t, v.Set(want))
	must(t, v.Set(want))
	if got := text.count("VIP was there before us"); got != 3 {
		t.Errorf("%d log lines on foreign addresses, want one for each of 3", got)
	}
	if got := text.count("VIP added"); got != 2 {
		t.Errorf("%d log lines on added addresses, want 2", got)
	}
	own, err := v.Own()
	must(t, err)
	if !reflect.DeepEqual(own, []Address{{"lo", both["lo"][0]}, {"lo", both["lo"][1]}}) {
		t.Errorf("own: %v", own)
	}
	must(t, v.Set(nil))
	for _, a := range foreign {
		n.want(t, "lo", a, true)
	}
	n.want(t, "lo", "198.51.100.1/32", false)
	n.want(t, "lo", "2001:db8:100::1/128", false)
	n.want(t, "lo", "127.0.0.1/8", true)
	n.want(t, "lo", "::1/128", true)
}

func TestSetIsTheWholeSet(t *testing.T) {
	n := newNet(t)
	n.veth(t, "eth0", "192.0.2.2/24")
	v, text := newVIPs(t, n, t.TempDir())
	must(t, v.Set(both))
	moved := map[string][]netip.Prefix{"eth0": both["lo"][:1], "lo": prefixes("198.51.100.3/32")}
	must(t, v.Set(moved))
	n.want(t, "eth0", "198.51.100.1/32", true)
	n.want(t, "lo", "198.51.100.1/32", false)
	n.want(t, "lo", "198.51.100.3/32", true)
	n.want(t, "lo", "2001:db8:100::1/128", false)
	n.want(t, "eth0", "192.0.2.2/24", true)
	before := text.count("\n")
	must(t, v.Set(moved))
	if got := text.count("\n") - before; got != 0 {
		t.Errorf("the same Set again logged %d lines", got)
	}
}

// A killed process leaves its addresses and perhaps its state directory. The
// marks are enough to find them.
func TestKilledRunIsFoundByTheNext(t *testing.T) {
	for _, tc := range []struct {
		name string
		lose bool
	}{{"same state directory", false}, {"state directory lost", true}} {
		t.Run(tc.name, func(t *testing.T) {
			n := newNet(t)
			dir := t.TempDir()
			n.addAddr(t, "lo", "198.51.100.7/32")
			n.addAddr(t, "lo", "2001:db8:100::7/128")
			first, _ := newVIPs(t, n, dir)
			must(t, first.Set(map[string][]netip.Prefix{"lo": append(prefixes("198.51.100.2/32", "2001:db8:100::2/128"), both["lo"]...)}))
			must(t, first.Close())
			if tc.lose {
				dir = t.TempDir()
			}
			second, text := newVIPs(t, n, dir)
			own, err := second.Own()
			must(t, err)
			if len(own) != 4 {
				t.Errorf("found %v, want 4 addresses", own)
			}
			must(t, second.Set(both))
			if got := text.count("VIP added"); got != 0 {
				t.Errorf("%d addresses added again", got)
			}
			n.want(t, "lo", "198.51.100.1/32", true)
			n.want(t, "lo", "2001:db8:100::1/128", true)
			n.want(t, "lo", "198.51.100.2/32", false)
			n.want(t, "lo", "2001:db8:100::2/128", false)
			must(t, second.Set(nil))
			n.want(t, "lo", "198.51.100.1/32", false)
			n.want(t, "lo", "2001:db8:100::1/128", false)
			n.want(t, "lo", "198.51.100.7/32", true)
			n.want(t, "lo", "2001:db8:100::7/128", true)
		})
	}
}

func TestMissingInterfaceIsNamedAndRetried(t *testing.T) {
	n := newNet(t)
	v, _ := newVIPs(t, n, t.TempDir())
	want := map[string][]netip.Prefix{"eth7": prefixes("198.51.100.9/32"), "lo": both["lo"]}
	err := v.Set(want)
	var set *SetError
	if !errors.As(err, &set) || len(set.Failures) != 1 || set.Failures[0].Interface != "eth7" || set.Failures[0].Prefix != want["eth7"][0] {
		t.Fatalf("error %v, want one failure, of eth7", err)
	}
	const text = "VIP 198.51.100.9/32 on eth7: there is no interface eth7: create it, or correct `interface`"
	if err.Error() != text {
		t.Errorf("error %q, want %q", err, text)
	}
	n.want(t, "lo", "198.51.100.1/32", true)

	n.veth(t, "eth7")
	must(t, v.Set(want))
	n.want(t, "eth7", "198.51.100.9/32", true)

	must(t, n.h.LinkDel(n.link(t, "eth7")))
	if err := v.Set(want); err == nil || !strings.Contains(err.Error(), "there is no interface eth7") {
		t.Errorf("after the interface vanished: %v", err)
	}
	n.want(t, "lo", "198.51.100.1/32", true)
}

func TestInterfaceThatIsDownIsAFailure(t *testing.T) {
	n := newNet(t)
	n.veth(t, "eth0")
	n.down(t, "eth0")
	v, _ := newVIPs(t, n, t.TempDir())
	want := map[string][]netip.Prefix{"eth0": prefixes("198.51.100.9/32")}
	if err := v.Set(want); err == nil || !strings.Contains(err.Error(), "interface eth0 is down: `ip link set eth0 up`") {
		t.Errorf("error %v", err)
	}
	n.up(t, "eth0")
	must(t, v.Set(want))
	n.want(t, "eth0", "198.51.100.9/32", true)
}

func TestMarkOutlivesRenaming(t *testing.T) {
	n := newNet(t)
	n.veth(t, "eth0")
	v, _ := newVIPs(t, n, t.TempDir())
	v.noMarks = true // the label alone
	must(t, v.Set(map[string][]netip.Prefix{"eth0": prefixes("198.51.100.9/32")}))
	n.down(t, "eth0")
	must(t, n.h.LinkSetName(n.link(t, "eth0"), "enp129s0f1np1"))
	n.up(t, "enp129s0f1np1")
	own, err := v.Own()
	must(t, err)
	if len(own) != 1 || own[0].Interface != "enp129s0f1np1" {
		t.Fatalf("own: %v, want the address under its interface's new name", own)
	}
	must(t, v.Set(nil))
	n.want(t, "enp129s0f1np1", "198.51.100.9/32", false)
}

func TestWatchTellsOfWhatSetCanMend(t *testing.T) {
	n := newNet(t)
	n.veth(t, "eth0")
	v, _ := newVIPs(t, n, t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	c, err := v.Watch(ctx)
	must(t, err)
	want := map[string][]netip.Prefix{"lo": both["lo"], "eth0": prefixes("198.51.100.9/32")}
	must(t, v.Set(want))
	for _, tc := range []struct {
		what string
		do   func()
	}{
		{"IPv4 removed by hand", func() { n.delAddr(t, "lo", "198.51.100.1/32") }},
		{"IPv6 removed by hand", func() { n.delAddr(t, "lo", "2001:db8:100::1/128") }},
		{"flushed", func() { n.delAddr(t, "lo", "198.51.100.1/32"); n.delAddr(t, "eth0", "198.51.100.9/32") }},
		{"interface vanished", func() { must(t, n.h.LinkDel(n.link(t, "eth0"))) }},
		{"interface returned", func() { n.veth(t, "eth0") }},
	} {
		tc.do()
		signal(t, c, tc.what)
		eventually(t, tc.what+" is mended", func() bool {
			err := v.Set(want)
			return err == nil || tc.what == "interface vanished"
		})
		n.want(t, "lo", "198.51.100.1/32", true)
		n.want(t, "lo", "2001:db8:100::1/128", true)
	}
	cancel()
	eventually(t, "closed after the context", func() bool {
		select {
		case _, open := <-c:
			return !open
		default:
			return false
		}
	})
}

func TestStrangersDoNotWakeTheWatch(t *testing.T) {
	n := newNet(t)
	v, _ := newVIPs(t, n, t.TempDir())
	must(t, v.Set(both))
	n.addAddr(t, "lo", "203.0.113.1/32")
	if again, err := v.stale(); again || err != nil {
		t.Errorf("stale %v, %v after a foreign address came", again, err)
	}
	n.delAddr(t, "lo", "203.0.113.1/32")
	if again, err := v.stale(); again || err != nil {
		t.Errorf("stale %v, %v after a foreign address went", again, err)
	}
}

func TestIPv6TurnedOffIsExplained(t *testing.T) {
	n := newNet(t)
	n.veth(t, "eth0")
	n.sysctl(t, "ipv6/conf/eth0/disable_ipv6", "1")
	v, _ := newVIPs(t, n, t.TempDir())
	err := v.Set(map[string][]netip.Prefix{"eth0": prefixes("2001:db8:100::1/128", "198.51.100.9/32")})
	if err == nil || !strings.Contains(err.Error(), "net.ipv6.conf.eth0.disable_ipv6") {
		t.Errorf("error %v", err)
	}
	n.want(t, "eth0", "198.51.100.9/32", true)
}

func TestMissingNamespaceIsAnError(t *testing.T) {
	path := Namespace(filepath.Join(t.TempDir(), "absent"))
	if _, err := NewVIPs(VIPOptions{Namespace: path, StateDir: t.TempDir()}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error %v", err)
	}
	if err := WatchWayBack(t.Context(), WayBackOptions{Namespace: path}, func(WayBack) {}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error %v", err)
	}
}
