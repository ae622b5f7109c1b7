package host

import (
	"bytes"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds every wait of the tests.
const patience = 20 * time.Second

// testNet is a network namespace of the test's own. Its handle is the netlink
// package's: a second opinion on what the kernel holds.
type testNet struct {
	ns Namespace
	h  *netlink.Handle
}

// requireRoot is where tests that need a network namespace start.
func requireRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() == 0 {
		return
	}
	if os.Getenv("CI") != "" {
		t.Fatal("needs root, to make a network namespace")
	}
	t.Skip("needs root, to make a network namespace")
}

// newNet makes a namespace with lo up. It lasts as long as the test.
func newNet(t *testing.T) *testNet {
	t.Helper()
	requireRoot(t)
	var file *os.File
	var err error
	onOwnThread(func() {
		if err = unix.Unshare(unix.CLONE_NEWNET); err == nil {
			file, err = os.Open("/proc/thread-self/ns/net")
		}
	})
	must(t, err)
	t.Cleanup(func() { file.Close() })
	h, err := netlink.NewHandleAt(netns.NsHandle(file.Fd()), unix.NETLINK_ROUTE)
	must(t, err)
	t.Cleanup(h.Close)
	n := &testNet{ns: Namespace(fmt.Sprintf("/proc/self/fd/%d", file.Fd())), h: h}
	n.up(t, "lo")
	return n
}

// onOwnThread runs f on a thread that ends with it.
func onOwnThread(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		f()
	}()
	<-done
}

// inside runs f with its thread in the namespace.
func (n *testNet) inside(t *testing.T, f func() error) {
	t.Helper()
	var err error
	onOwnThread(func() {
		file, e := os.Open(string(n.ns))
		if err = e; err == nil {
			defer file.Close()
			if err = unix.Setns(int(file.Fd()), unix.CLONE_NEWNET); err == nil {
				err = f()
			}
		}
	})
	must(t, err)
}

func (n *testNet) sysctl(t *testing.T, name, value string) {
	t.Helper()
	n.inside(t, func() error { return os.WriteFile("/proc/sys/net/"+name, []byte(value), 0o644) })
}

func (n *testNet) link(t *testing.T, name string) netlink.Link {
	t.Helper()
	l, err := n.h.LinkByName(name)
	must(t, err)
	return l
}

func (n *testNet) up(t *testing.T, name string) {
	t.Helper()
	must(t, n.h.LinkSetUp(n.link(t, name)))
}

func (n *testNet) down(t *testing.T, name string) {
	t.Helper()
	must(t, n.h.LinkSetDown(n.link(t, name)))
}

// veth makes a pair of name and name+"p", both up, with addrs on the first.
func (n *testNet) veth(t *testing.T, name string, addrs ...string) {
	t.Helper()
	must(t, n.h.LinkAdd(&netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: name}, PeerName: name + "p"}))
	n.up(t, name+"p")
	n.up(t, name)
	for _, a := range addrs {
		n.addAddr(t, name, a)
	}
}

func (n *testNet) addAddr(t *testing.T, iface, cidr string) {
	t.Helper()
	a, err := netlink.ParseAddr(cidr)
	must(t, err)
	a.Flags = unix.IFA_F_NODAD
	must(t, n.h.AddrAdd(n.link(t, iface), a))
}

func (n *testNet) delAddr(t *testing.T, iface, cidr string) {
	t.Helper()
	a, err := netlink.ParseAddr(cidr)
	must(t, err)
	must(t, n.h.AddrDel(n.link(t, iface), a))
}

// has tells whether the interface has exactly this address.
func (n *testNet) has(t *testing.T, iface, cidr string) bool {
	t.Helper()
	_, ok := n.find(t, iface, cidr)
	return ok
}

func (n *testNet) find(t *testing.T, iface, cidr string) (netlink.Addr, bool) {
	t.Helper()
	list, err := n.h.AddrList(n.link(t, iface), netlink.FAMILY_ALL)
	must(t, err)
	for _, a := range list {
		if a.IPNet.String() == cidr {
			return a, true
		}
	}
	return netlink.Addr{}, false
}

func (n *testNet) want(t *testing.T, iface, cidr string, want bool) {
	t.Helper()
	if got := n.has(t, iface, cidr); got != want {
		t.Errorf("%s on %s: stands %v, want %v", cidr, iface, got, want)
	}
}

// rt is a route of a test: dst, gateway and device as text, kind RTN_UNICAST
// where zero, table main where zero.
type rt struct {
	dst, via, dev string
	kind, table   int
	metric        int
	proto         int
}

func (n *testNet) route(t *testing.T, r rt) *netlink.Route {
	t.Helper()
	_, dst, err := net.ParseCIDR(r.dst)
	must(t, err)
	out := &netlink.Route{Dst: dst, Type: r.kind, Table: r.table, Priority: r.metric, Protocol: netlink.RouteProtocol(r.proto)}
	if r.via != "" {
		out.Gw = net.ParseIP(r.via)
	}
	if r.dev != "" {
		out.LinkIndex = n.link(t, r.dev).Attrs().Index
		if r.via == "" && strings.Contains(r.dst, ".") {
			out.Scope = netlink.SCOPE_LINK
		}
	}
	return out
}

func (n *testNet) addRoute(t *testing.T, r rt) {
	t.Helper()
	must(t, n.h.RouteAdd(n.route(t, r)))
}

func (n *testNet) delRoute(t *testing.T, r rt) {
	t.Helper()
	must(t, n.h.RouteDel(n.route(t, r)))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func prefixes(list ...string) (out []netip.Prefix) {
	for _, s := range list {
		out = append(out, netip.MustParsePrefix(s))
	}
	return out
}

// eventually polls until cond holds.
func eventually(t *testing.T, what string, cond func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(patience)
	for !cond() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("not within %v: %s", patience, what)
		}
	}
}

// signal waits for one.
func signal(t *testing.T, c <-chan struct{}, what string) {
	t.Helper()
	select {
	case _, ok := <-c:
		if !ok {
			t.Fatalf("closed instead of a signal: %s", what)
		}
	case <-time.After(patience):
		t.Fatalf("no signal: %s", what)
	}
}

// logBuffer keeps what is logged.
type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) count(text string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.b.String(), text)
}

func newLog() (*slog.Logger, *logBuffer) {
	b := &logBuffer{}
	return slog.New(slog.NewTextHandler(b, nil)), b
}
