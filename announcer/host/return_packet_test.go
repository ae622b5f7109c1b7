package host

import (
	"encoding/binary"
	"fmt"
	"net"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// wire is a packet socket on an interface: the far end of a link.
type wire struct {
	fd    int
	index int
}

func (n *testNet) wire(t *testing.T, iface string) wire {
	t.Helper()
	w := wire{index: n.link(t, iface).Attrs().Index}
	proto := int(binary.NativeEndian.Uint16([]byte{0x08, 0x00})) // IPv4, in network order
	n.inside(t, func() (err error) {
		w.fd, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, proto)
		if err == nil {
			err = unix.Bind(w.fd, &unix.SockaddrLinklayer{Protocol: uint16(proto), Ifindex: w.index})
		}
		return err
	})
	t.Cleanup(func() { unix.Close(w.fd) })
	limit := unix.NsecToTimeval(int64(time.Second))
	must(t, unix.SetsockoptTimeval(w.fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &limit))
	return w
}

// Where a request comes from and goes to.
const (
	clientIP, clientPort = "20.0.0.7", 5353
	serviceIP            = "198.51.100.1"
	servicePort          = 53
)

// request sends a UDP packet of the client, with a router's MAC address.
func (w wire) request(t *testing.T, router, to net.HardwareAddr) {
	t.Helper()
	b := append(append(append([]byte{}, to...), router...), 0x08, 0x00)
	ip := []byte{0x45, 0, 0, 32, 0, 1, 0, 0, 64, unix.IPPROTO_UDP, 0, 0}
	ip = append(append(ip, net.ParseIP(clientIP).To4()...), net.ParseIP(serviceIP).To4()...)
	sum := uint32(0)
	for i := 0; i < len(ip); i += 2 {
		sum += uint32(binary.BigEndian.Uint16(ip[i:]))
	}
	binary.BigEndian.PutUint16(ip[10:], ^uint16(sum+sum>>16))
	udp := binary.BigEndian.AppendUint16(nil, clientPort)
	udp = binary.BigEndian.AppendUint16(udp, servicePort)
	udp = append(udp, 0, 12, 0, 0) // no checksum
	b = append(append(append(b, ip...), udp...), "ping"...)
	must(t, unix.Sendto(w.fd, b, 0, &unix.SockaddrLinklayer{Ifindex: w.index}))
}

// reply is the MAC address to which the reply goes, or why there is none.
func (w wire) reply() string {
	b := make([]byte, 2048)
	for {
		n, from, err := unix.Recvfrom(w.fd, b, 0)
		if err != nil {
			return err.Error()
		}
		ll, ok := from.(*unix.SockaddrLinklayer)
		if ok && ll.Pkttype != unix.PACKET_OUTGOING && n >= 34 && net.IP(b[30:34]).String() == clientIP {
			return net.HardwareAddr(b[:6]).String()
		}
	}
}

// asker starts the service and returns what has it answer a request that a router,
// by its MAC address, brings over a wire to an interface.
func (n *testNet) asker(t *testing.T, w wire, iface string) (ask func(mac string)) {
	t.Helper()
	var service net.PacketConn
	n.inside(t, func() (err error) {
		service, err = net.ListenPacket("udp", fmt.Sprintf("%s:%d", serviceIP, servicePort))
		return err
	})
	t.Cleanup(func() { service.Close() })
	own := n.link(t, iface).Attrs().HardwareAddr
	return func(mac string) {
		t.Helper()
		router, err := net.ParseMAC(mac)
		must(t, err)
		w.request(t, router, own)
		must(t, service.SetDeadline(time.Now().Add(patience)))
		b := make([]byte, 16)
		_, from, err := service.ReadFrom(b)
		must(t, err)
		_, err = service.WriteTo([]byte("pong"), from)
		must(t, err)
	}
}

// Two routers share a link, and the default route is elsewhere: each gets the
// replies to what it brought, also of one and the same flow.
func TestRepliesGoToTheRouterThatBroughtTheRequest(t *testing.T) {
	n := twoTransits(t)
	n.addAddr(t, "lo", serviceIP+"/32")
	n.neighbor(t, "eth1", "192.0.2.1", "02:00:00:00:00:01")
	macs := []string{"02:00:00:00:00:11", "02:00:00:00:00:12"}
	var want Returns
	want.Prefixes = services
	for i, mac := range macs {
		router := fmt.Sprintf("203.0.113.%d", 11+i)
		n.neighbor(t, "eth2", router, mac)
		want.Paths = append(want.Paths, ReturnPath{Neighbor: router, Router: hop(router), IPv4: true})
	}
	elsewhere, shared := n.wire(t, "eth1p"), n.wire(t, "eth2p")
	ask := n.asker(t, shared, "eth2")
	ask(macs[0])
	if got := elsewhere.reply(); got != "02:00:00:00:00:01" {
		t.Fatalf("without return paths the reply went to %s", got)
	}
	r, _ := newReturn(t, n)
	must(t, r.Set(want))
	for _, mac := range []string{macs[0], macs[1], macs[1], macs[0]} {
		ask(mac)
		if got := shared.reply(); got != mac {
			t.Errorf("the reply to a request by %s went to %s", mac, got)
		}
	}
	ask("02:00:00:00:00:99") // no neighbour of ours
	if got := elsewhere.reply(); got != "02:00:00:00:00:01" {
		t.Errorf("the reply to a stranger's request went to %s, want it by the default route", got)
	}
}

// Others mark whole connections and packets at the same place (iptables -t mangle),
// whether they came before us or after.
func TestRepliesFollowRequestsBesideOthersMarks(t *testing.T) {
	const others = `table ip others {
	chain pre { type filter hook prerouting priority mangle; ct mark set 0x7; }
	chain out { type route hook output priority mangle; meta mark set 0x9; }
}`
	for _, first := range []bool{true, false} {
		t.Run(fmt.Sprintf("others first: %v", first), func(t *testing.T) {
			n := twoTransits(t)
			n.addAddr(t, "lo", serviceIP+"/32")
			n.neighbor(t, "eth1", "192.0.2.1", "02:00:00:00:00:01")
			n.neighbor(t, "eth2", "203.0.113.1", "02:00:00:00:00:11")
			r, _ := newReturn(t, n)
			if first {
				n.run(t, "/usr/sbin/nft", others)
			}
			must(t, r.Set(returns(b4())))
			if !first {
				n.run(t, "/usr/sbin/nft", others)
			}
			w := n.wire(t, "eth2p")
			n.asker(t, w, "eth2")("02:00:00:00:00:11")
			if got := w.reply(); got != "02:00:00:00:00:11" {
				t.Errorf("the reply did not leave where the request came in: %s", got)
			}
		})
	}
}
