package netlab

import (
	"strconv"

	"github.com/vishvananda/netlink"
)

// tcTool shapes traffic.
const tcTool = "/usr/sbin/tc"

// Shape bounds what leaves the node by an interface to a rate in bit/s, with a token bucket (tc-tbf(8)): bursts of 16 KB
// and a queue of 100 ms, beyond which packets are dropped. A second call changes the rate. It needs Tc.
func (n *Node) Shape(iface string, rate uint64) {
	n.lab.t.Helper()
	n.MustRun(tcTool, "qdisc", "replace", "dev", iface, "root", "tbf", "rate", strconv.FormatUint(rate, 10), "burst", "16kb", "latency", "100ms")
}

// Traffic is what an interface has moved since it was made, in bytes with the headers of the link layer.
type Traffic struct{ Received, Sent uint64 }

// Traffic reads the counters of an interface.
func (n *Node) Traffic(iface string) (Traffic, error) {
	var t Traffic
	err := n.Do(func() error {
		link, err := netlink.LinkByName(iface)
		if err == nil {
			s := link.Attrs().Statistics
			t = Traffic{Received: s.RxBytes, Sent: s.TxBytes}
		}
		return err
	})
	return t, err
}
