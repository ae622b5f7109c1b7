package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/catchment-bgp/catchment/lab/netlab"
)

// pair is two nodes with a link: the VIPs are on lo of the first.
func pair(t testing.TB, wanted ...netlab.Need) (edge, client *netlab.Node, device string) {
	t.Helper()
	lab := netlab.New(t, wanted...)
	edge, client = lab.Node("edge"), lab.Node("client")
	device, _ = lab.Link(edge, client, []string{"10.77.1.1/24", "fd77::1/64"}, []string{"10.77.1.2/24", "fd77::2/64"})
	edge.AddAddress("lo", "198.51.100.1/32")
	edge.AddAddress("lo", "2001:db8:100::1/128")
	client.MustRun("ip", "route", "add", "198.51.100.0/24", "via", "10.77.1.1")
	client.MustRun("ip", "-6", "route", "add", "2001:db8:100::/48", "via", "fd77::1")
	return edge, client, device
}

// sink takes datagrams, so that nobody answers them.
func sink(t *testing.T, on *netlab.Node, address string) {
	t.Helper()
	var c net.PacketConn
	must(t, on.Do(func() (err error) {
		c, err = net.ListenPacket("udp", address)
		return err
	}))
	t.Cleanup(func() { c.Close() })
}

// datagrams sends n of 1,000 octets each.
func datagrams(t *testing.T, from *netlab.Node, to string, n int) {
	t.Helper()
	conn, err := from.DialContext(t.Context(), "udp", to)
	must(t, err)
	defer conn.Close()
	for range n {
		_, err := conn.Write(make([]byte, 1000))
		must(t, err)
	}
}

func TestFiguresOfAnInterfaceAreWhatItCarried(t *testing.T) {
	edge, client, device := pair(t)
	k := kernelOf(t, edge)
	sink(t, client, "10.77.1.2:9")
	r := counterReader{devices: k.devices, name: device, direction: Transmit}
	if _, err := r.read(t.Context()); !errors.Is(err, errNothingNew) {
		t.Fatalf("the first reading gave %v, want no figure", err)
	}
	before := r.last.At
	datagrams(t, edge, "10.77.1.2:9", 500)
	s, err := r.read(t.Context())
	must(t, err)
	// 1,000 octets, and UDP, IPv4 and Ethernet headers; ARP comes on top.
	octets := s.Load / 8 * s.At.Sub(before).Seconds()
	if want := 500 * (1000 + 8 + 20 + 14.0); octets < want || octets > want+2000 {
		t.Errorf("%.0f octets in the figure, %.0f were sent", octets, want)
	}
}

func TestInterfaceThatVanishesIsNoFigureAndBeginsAnew(t *testing.T) {
	edge, _, device := pair(t)
	k := kernelOf(t, edge)
	edge.MustRun("ip", "link", "add", "eth7", "type", "veth", "peer", "name", "eth7p")
	r := counterReader{devices: k.devices, name: "eth7"}
	read := func() error {
		_, err := r.read(t.Context())
		return err
	}
	if err := read(); !errors.Is(err, errNothingNew) {
		t.Fatalf("first: %v", err)
	}
	must(t, read())
	edge.MustRun("ip", "link", "set", "eth7", "name", "eth8")
	wantReason(t, read(), Unreachable)
	edge.MustRun("ip", "link", "set", "eth8", "name", "eth7")
	if err := read(); !errors.Is(err, errNothingNew) {
		t.Errorf("after it was renamed back: %v, want no figure", err)
	}
	must(t, read())
	// Another one under the name, between two readings.
	edge.MustRun("ip", "link", "set", "eth7", "name", "eth8")
	edge.MustRun("ip", "link", "set", device, "down")
	edge.MustRun("ip", "link", "set", device, "name", "eth7")
	if err := read(); !errors.Is(err, errNothingNew) {
		t.Errorf("another interface under the name: %v, want no figure", err)
	}
	must(t, read())
	edge.MustRun("ip", "link", "del", "eth7")
	wantReason(t, read(), Unreachable)
}

func TestSpeedIsTheKernels(t *testing.T) {
	edge, _, device := pair(t)
	k := kernelOf(t, edge)
	if got := k.devices.speed(device); got != 10e9 {
		t.Errorf("a veth says %v bit/s, want 10 Gbit/s", got)
	}
	for _, none := range []string{"lo", "none", "a-name-that-is-too-long"} {
		if got := k.devices.speed(none); got != 0 {
			t.Errorf("speed of %s: %v, want unknown", none, got)
		}
	}
	d, err := k.devices.get(device)
	must(t, err)
	if d.kind != "veth" {
		t.Errorf("kind %q", d.kind)
	}
	unset := gauge{devices: k.devices, name: device}
	set := gauge{devices: k.devices, name: device, configured: 40e9}
	if got := unset.capacity(start); got != 10e9 {
		t.Errorf("capacity where none is configured: %v", got)
	}
	if got := set.capacity(start); got != 40e9 {
		t.Errorf("configured capacity of a veth: %v, want it unbounded by what the driver invents", got)
	}
}

// server accepts connections and keeps them open, until the test ends.
func server(t testing.TB, on *netlab.Node, address string) {
	t.Helper()
	l, err := on.Listen("tcp", address)
	must(t, err)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		var open []net.Conn
		for {
			c, err := l.Accept()
			if err != nil {
				break
			}
			open = append(open, c)
		}
		for _, c := range open {
			c.Close()
		}
	}()
	t.Cleanup(func() {
		l.Close()
		<-ended
	})
}

func dial(t testing.TB, from *netlab.Node, address string, n int) (open []net.Conn) {
	t.Helper()
	for range n {
		c, err := from.DialContext(t.Context(), "tcp", address)
		must(t, err)
		t.Cleanup(func() { c.Close() })
		open = append(open, c)
	}
	return open
}

var vips = []netip.Prefix{netip.MustParsePrefix("198.51.100.1/32"), netip.MustParsePrefix("2001:db8:100::/48")}

func TestSessionsCountThoseOfVIPsOnly(t *testing.T) {
	edge, client, _ := pair(t)
	k := kernelOf(t, edge)
	server(t, edge, "[::]:80") // IPv4 comes as ::ffff:198.51.100.1 here
	server(t, edge, "198.51.100.1:81")
	conns := dial(t, client, "198.51.100.1:80", 3)
	dial(t, client, "198.51.100.1:81", 4)
	dial(t, client, "[2001:db8:100::1]:80", 5)
	dial(t, client, "10.77.1.1:80", 6)
	dial(t, client, "[fd77::1]:80", 7)
	count := func(list []netip.Prefix) int {
		n, err := k.sessions(list)
		must(t, err)
		return n
	}
	for _, c := range []struct {
		vips []netip.Prefix
		want int
	}{
		{vips, 12}, {vips[:1], 7}, {vips[1:], 5}, {nil, 0},
		{[]netip.Prefix{netip.MustParsePrefix("0.0.0.0/0")}, 13},
		{[]netip.Prefix{netip.MustParsePrefix("203.0.113.0/24"), netip.MustParsePrefix("192.0.2.0/24")}, 0},
		{[]netip.Prefix{netip.MustParsePrefix("203.0.113.0/24"), netip.MustParsePrefix("198.51.100.77/24"), netip.MustParsePrefix("192.0.2.0/24")}, 7},
	} {
		netlab.Eventually(t, patience, fmt.Sprint(c.vips), func() error {
			if n := count(c.vips); n != c.want {
				return fmt.Errorf("%d connections, want %d", n, c.want)
			}
			return nil
		})
	}
	conns[0].Close()
	netlab.Eventually(t, patience, "one less", func() error {
		if n := count(vips); n != 11 {
			return fmt.Errorf("%d connections, want 11", n)
		}
		return nil
	})
	many := make([]netip.Prefix, maxVIPs)
	for i := range many {
		many[i] = netip.PrefixFrom(netip.AddrFrom16([16]byte{0x20, 1, 0xd, 0xb8, 1, 0, byte(i >> 8), byte(i)}), 128)
	}
	many[maxVIPs-1] = vips[1]
	if n := count(many); n != 5 {
		t.Errorf("with %d VIPs: %d connections, want 5", maxVIPs, n)
	}
}

// echo is a server that sends n octets to each connection for each octet it gets.
func echo(t *testing.T, on *netlab.Node, address string, n int) {
	t.Helper()
	l, err := on.Listen("tcp", address)
	must(t, err)
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				for {
					if _, err := io.ReadFull(c, make([]byte, 1)); err != nil {
						return
					}
					if _, err := c.Write(make([]byte, n)); err != nil {
						return
					}
				}
			}()
		}
	}()
}

// fetch has each connection bring n octets.
func fetch(t *testing.T, conns []net.Conn, n int) {
	t.Helper()
	for _, c := range conns {
		must(t, c.SetDeadline(time.Now().Add(patience)))
		_, err := c.Write([]byte("."))
		must(t, err)
		_, err = io.ReadFull(c, make([]byte, n))
		must(t, err)
	}
}

func TestQualityIsByTheMarksOfConnections(t *testing.T) {
	lab := netlab.New(t, netlab.Nft, netlab.Tc)
	edge, near, far := lab.Node("edge"), lab.Node("near"), lab.Node("far")
	ifNear, _ := lab.Link(edge, near, []string{"10.77.1.1/24", "fd77::1/64"}, []string{"10.77.1.2/24", "fd77::2/64"})
	ifFar, _ := lab.Link(edge, far, []string{"10.77.2.1/24"}, []string{"10.77.2.2/24"})
	edge.AddAddress("lo", "198.51.100.1/32")
	edge.AddAddress("lo", "2001:db8:100::1/128")
	near.MustRun("ip", "route", "add", "198.51.100.0/24", "via", "10.77.1.1")
	near.MustRun("ip", "-6", "route", "add", "2001:db8:100::/48", "via", "fd77::1")
	far.MustRun("ip", "route", "add", "198.51.100.0/24", "via", "10.77.2.1")
	edge.MustRun("nft", "add table inet t")
	edge.MustRun("nft", "add chain inet t in { type filter hook prerouting priority mangle ; }")
	edge.MustRun("nft", `add rule inet t in iifname "`+ifNear+`" ct mark set 0x01000007`)
	edge.MustRun("nft", `add rule inet t in iifname "`+ifFar+`" ct mark set 0x02000007`)
	edge.MustRun("tc", "qdisc", "add", "dev", ifFar, "root", "tbf", "rate", "4mbit", "burst", "3000", "limit", "12000")
	k := kernelOf(t, edge)
	m := newQualityMeter(QualityConfig{VIPs: vips, Mask: 0xFF000000}, k, nil)
	m.setMarks(map[uint32]string{0x01000000: "transit-near", 0x02000000: "transit-far"})
	echo(t, edge, "[::]:80", 60_000)
	conns := append(dial(t, near, "198.51.100.1:80", 4), dial(t, far, "198.51.100.1:80", 6)...)
	conns = append(conns, dial(t, near, "[2001:db8:100::1]:80", 3)...)
	must(t, discard(m.look(time.Now())))
	fetch(t, conns, 60_000)
	list, err := m.look(time.Now())
	must(t, err)
	t.Logf("%+v", list)
	if len(list) != 2 || list[0].Neighbor != "transit-far" || list[1].Neighbor != "transit-near" {
		t.Fatalf("qualities %+v, want transit-far and transit-near", list)
	}
	if q := list[0]; q.Connections != 6 || q.RTT < 2*time.Millisecond || q.RTT > time.Second || q.Retransmits <= 0 || q.Retransmits > 0.7 {
		t.Errorf("far: %+v, want 6 connections that have waited in the queue, and retransmits", q)
	}
	if q := list[1]; q.Connections != 7 || q.RTT <= 0 || q.RTT >= list[0].RTT || q.Retransmits >= list[0].Retransmits {
		t.Errorf("near: %+v, want 7 connections, of both families, that fared better than the far ones", q)
	}
	// Without a word from now on: nothing is to be told.
	if list, err := m.look(time.Now()); err != nil || len(list) != 0 {
		t.Errorf("idle connections: %+v, %v; want none", list, err)
	}
	// Nobody has named the marks.
	m.setMarks(nil)
	fetch(t, conns[:4], 60_000)
	list, err = m.look(time.Now())
	must(t, err)
	if len(list) != 1 || list[0].Neighbor != "" || list[0].Connections != 4 {
		t.Errorf("without marks: %+v, want 4 connections of nobody's", list)
	}
}

func discard[T any](_ T, err error) error { return err }

func TestSamplerInANamespace(t *testing.T) {
	edge, client, device := pair(t)
	sink(t, client, "10.77.1.2:9")
	log, lines := newLog()
	var s *Sampler
	must(t, edge.Do(func() (err error) {
		s, err = New(Config{
			Links: []Link{
				{Name: "a", Capacity: 1e9, Fast: &Source{Interface: device}},
				{Name: "gone", Capacity: 1e9, Exact: &Source{Interface: "eth9"}},
			},
			Resources: Resources{CPU: true, Interfaces: []Interface{{Name: device}}, Sessions: 10, VIPs: vips},
			Log:       log,
		})
		return err
	}))
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	links, nodes := make(chan Sample, 100), make(chan Node, 100)
	ended := make(chan error, 1)
	go func() {
		ended <- s.Run(ctx, Handler{
			Link: func(name string, s Sample) {
				if name == "a" {
					links <- s
				}
			},
			Node: func(n Node) { nodes <- n },
		})
	}()
	datagrams(t, edge, "10.77.1.2:9", 100)
	first, second := <-links, <-links
	if first.Capacity != 1e9 || first.Period != time.Second || !second.At.After(first.At) {
		t.Errorf("figures %+v, then %+v", first, second)
	}
	for n := range nodes {
		if len(n.Resources) == 3 {
			if names := fmt.Sprint(n.Resources[0].Name, n.Resources[1].Name, n.Resources[2].Name); names != "cpuinterface "+device+"sessions" {
				t.Errorf("resources %s", names)
			}
			break
		}
	}
	status := s.Status()
	if len(status.Sources) != 3 || status.Sources[1].Up || status.Sources[1].Refused[Unreachable] == 0 || !status.Sources[0].Up {
		t.Errorf("status %+v", status)
	}
	cancel()
	must(t, <-ended)
	if got := lines.lines(); len(got) != 1 {
		t.Errorf("log %q, want one line for the interface that is not there", got)
	}
}
