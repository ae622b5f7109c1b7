package supportcmd

import (
	"fmt"
	"net"
	"strings"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// mostRoutes bounds the list of routes.
const mostRoutes = 500

// addressText has the interfaces and their addresses.
func addressText() string {
	all, err := net.Interfaces()
	if err != nil {
		return "cannot be read: " + err.Error() + "\n"
	}
	var out strings.Builder
	for _, i := range all {
		fmt.Fprintf(&out, "%s mtu %d %s\n", i.Name, i.MTU, i.Flags)
		addresses, err := i.Addrs()
		if err != nil {
			fmt.Fprintf(&out, "  addresses cannot be read: %v\n", err)
		}
		for _, a := range addresses {
			fmt.Fprintf(&out, "  %s\n", a)
		}
	}
	return out.String()
}

// routeText has the default routes, those of BGP, and as many others as fit.
func routeText() string {
	var out strings.Builder
	for _, f := range []struct {
		name   string
		family int
	}{{"IPv4", unix.AF_INET}, {"IPv6", unix.AF_INET6}} {
		fmt.Fprintf(&out, "%s\n", f.name)
		n, others := 0, 0
		err := netlink.RouteListFilteredIter(f.family, &netlink.Route{}, 0, func(r netlink.Route) bool {
			wanted := r.Dst == nil || ones(r.Dst) == 0 || r.Protocol == unix.RTPROT_BGP
			if !wanted && n >= mostRoutes {
				others++
				return true
			}
			n++
			fmt.Fprintf(&out, "  %s\n", r)
			return true
		})
		if err != nil {
			fmt.Fprintf(&out, "  cannot be read: %v\n", err)
		}
		if others > 0 {
			fmt.Fprintf(&out, "  and %d more\n", others)
		}
		rules, err := netlink.RuleList(f.family)
		if err != nil {
			fmt.Fprintf(&out, "  rules cannot be read: %v\n", err)
		}
		for _, r := range rules {
			fmt.Fprintf(&out, "  %s\n", r)
		}
	}
	return out.String()
}

func ones(n *net.IPNet) int {
	bits, _ := n.Mask.Size()
	return bits
}
