package netlab

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"sync/atomic"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// setupNetwork runs once in each new network namespace: lo comes up, the node forwards, replies may leave by another
// interface than the requests' (anycast), and IPv6 addresses are usable at once.
func setupNetwork() error {
	for key, value := range map[string]string{
		"ipv4/ip_forward":              "1",
		"ipv4/conf/all/rp_filter":      "0",
		"ipv4/conf/default/rp_filter":  "0",
		"ipv6/conf/all/forwarding":     "1",
		"ipv6/conf/default/accept_dad": "0",
		"ipv6/conf/all/accept_dad":     "0",
	} {
		if err := os.WriteFile("/proc/thread-self/root/proc/sys/net/"+key, []byte(value), 0); err != nil {
			return err
		}
	}
	lo, err := netlink.LinkByName("lo")
	if err != nil {
		return err
	}
	return netlink.LinkSetUp(lo)
}

// Link joins two nodes by a veth pair, gives it addresses (with prefix lengths, "10.0.0.1/30", "fd00::1/64") and
// returns the interfaces' names. Each is called after the node at its other end ("frr"; a second link is "frr2").
// IPv6 addresses are usable at once.
func (l *Lab) Link(a, b *Node, addrsA, addrsB []string) (ifA, ifB string) {
	l.t.Helper()
	ifA, ifB = a.freeName(b.name), b.freeName(a.name)
	if err := l.link(a, b, ifA, ifB, addrsA, addrsB); err != nil {
		l.t.Fatalf("link %s - %s: %v", a.name, b.name, err)
	}
	return ifA, ifB
}

// indexes numbers the first ends of links, far from what the kernel gives to the second ends. When both ends have one
// number, as the first links of two new namespaces do, the kernel (linkwatch_urgent_event) takes up to a second to call
// them up, and routers that ask before reset the sessions that they have.
var indexes atomic.Int32

func (l *Lab) link(a, b *Node, ifA, ifB string, addrsA, addrsB []string) error {
	if a == b {
		return errors.New("both ends are one node")
	}
	err := a.Do(func() error {
		return netlink.LinkAdd(&netlink.Veth{
			LinkAttrs:     netlink.LinkAttrs{Name: ifA, Index: 10_000 + int(indexes.Add(1))},
			PeerName:      ifB,
			PeerNamespace: netlink.NsFd(int(b.net.Fd())),
		})
	})
	if err != nil {
		return fmt.Errorf("veth: %w", err)
	}
	if err := errors.Join(a.setUp(ifA, addrsA), b.setUp(ifB, addrsB)); err != nil {
		return err
	}
	return errors.Join(a.awaitUp(ifA), b.awaitUp(ifB))
}

// awaitUp waits until the kernel calls an interface up, which it does after the carrier is there.
func (n *Node) awaitUp(iface string) error {
	return poll(context.Background(), startWait, func() error {
		return n.Do(func() error {
			link, err := netlink.LinkByName(iface)
			if err == nil && link.Attrs().OperState != netlink.OperUp {
				err = fmt.Errorf("node %s: %s is %s", n.name, iface, link.Attrs().OperState)
			}
			return err
		})
	})
}

// freeName is wish, or wish with the first number that no interface of the node has.
func (n *Node) freeName(wish string) string {
	name := wish
	_ = n.Do(func() error {
		for i := 2; i < 100; i++ {
			if _, err := netlink.LinkByName(name); err != nil {
				return nil
			}
			name = fmt.Sprintf("%s%d", wish, i)
		}
		return nil
	})
	return name
}

func (n *Node) setUp(iface string, addrs []string) error {
	return n.Do(func() error {
		link, err := netlink.LinkByName(iface)
		if err != nil {
			return err
		}
		if err := netlink.LinkSetUp(link); err != nil {
			return err
		}
		for _, text := range addrs {
			if err := addAddress(link, text); err != nil {
				return fmt.Errorf("node %s: %s: address %q: %w", n.name, iface, text, err)
			}
		}
		return nil
	})
}

func addAddress(link netlink.Link, text string) error {
	prefix, err := netip.ParsePrefix(text)
	if err != nil {
		return err
	}
	addr, err := netlink.ParseAddr(text)
	if err != nil {
		return err
	}
	if prefix.Addr().Is6() {
		addr.Flags = unix.IFA_F_NODAD
	}
	return netlink.AddrAdd(link, addr)
}

// AddAddress gives an interface of the node one more address ("198.51.100.1/32").
func (n *Node) AddAddress(iface, addr string) {
	n.lab.t.Helper()
	if err := n.setUp(iface, []string{addr}); err != nil {
		n.lab.t.Fatalf("%v", err)
	}
}

// addresses lists the addresses of every interface but lo, as FRR logs them: "IF eth0 addr 10.0.0.1/30".
func (n *Node) addresses() (list []string, err error) {
	err = n.Do(func() error {
		links, err := netlink.LinkList()
		if err != nil {
			return err
		}
		for _, link := range links {
			if link.Attrs().Name == "lo" {
				continue
			}
			addrs, err := netlink.AddrList(link, netlink.FAMILY_ALL)
			if err != nil {
				return err
			}
			for _, addr := range addrs {
				list = append(list, fmt.Sprintf("IF %s addr %s", link.Attrs().Name, addr.IPNet))
			}
		}
		return nil
	})
	return list, err
}

// DefaultRoute sends the family of the gateway ("10.77.1.2", "fd77:1::2") there.
func (n *Node) DefaultRoute(gateway string) {
	n.lab.t.Helper()
	family := "-4"
	if addr, err := netip.ParseAddr(gateway); err == nil && addr.Is6() {
		family = "-6"
	}
	n.MustRun(ipTool, family, "route", "replace", "default", "via", gateway)
}
