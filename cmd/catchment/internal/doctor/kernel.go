package doctor

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
)

// strict is the rp_filter that drops a packet whose answer would leave elsewhere
// (RFC 3704, section 2.2); the kernel takes the greater of the interface's and all's.
const strict = 1

// links are the interfaces by which neighbours of IPv4 are reached, sorted.
func links(n *Node) []string {
	var out []string
	for _, b := range n.Config.Neighbors {
		if p, ok := n.Paths[b.Name]; ok && p.Interface != "" && b.IPv4 {
			out = append(out, p.Interface)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// effective is the greater of an interface's and all's setting; ok is false where
// neither can be read. from is the name that decides.
func effective(sysctls map[string]string, key, iface string) (value int, from string, ok bool) {
	value = -1
	for _, name := range []string{"all", iface} {
		full := "net.ipv4.conf." + name + "." + key
		if v, err := strconv.Atoi(sysctls[full]); err == nil && v > value {
			value, from, ok = v, full, true
		}
	}
	return value, from, ok
}

// sysctlMend sets it now and after a boot.
func sysctlMend(name string, value int) string {
	return fmt.Sprintf("sysctl -w %s=%d, and the line %s = %d in /etc/sysctl.d/90-catchment.conf", name, value, name, value)
}

func hasVIPs(n *Node, is func(netip.Addr) bool) bool {
	for _, s := range n.Config.Services {
		for _, v := range s.VIPs {
			if is(v.Addr()) {
				return true
			}
		}
	}
	return false
}

func (r *report) reverseFilter(n *Node) {
	const check = "rp_filter"
	all := links(n)
	if len(all) == 0 {
		r.skip(check, "no interface leads to a neighbor of IPv4")
		return
	}
	for _, iface := range all {
		value, from, ok := effective(n.Sysctls, check, iface)
		switch {
		case !ok:
			r.skip(check, "%s: it cannot be read", iface)
		case value != strict:
			r.ok(check, "%s: %d (%s)", iface, value, from)
		case len(all) == 1:
			r.add(Warn, check, fmt.Sprintf("%s: 1, strict (%s): once answers leave by another interface, requests are dropped", iface, from), sysctlMend("net.ipv4.conf."+iface+".rp_filter", 2))
		default:
			r.add(Fail, check, fmt.Sprintf("%s: 1, strict (%s): requests whose answers leave by another interface are dropped", iface, from), sysctlMend("net.ipv4.conf."+iface+".rp_filter", 2))
		}
	}
}

// arp is about VIPs that stand on lo and have no business in the ARP of the networks to
// the routers.
func (r *report) arp(n *Node) {
	if !hasVIPs(n, netip.Addr.Is4) {
		r.skip("arp", "no VIP of IPv4 is in the configuration")
		return
	}
	for _, iface := range links(n) {
		for _, s := range []struct {
			key   string
			least int
			why   string
		}{
			{"arp_ignore", 1, "it answers ARP for VIPs that stand on lo, and draws traffic of the network past the router"},
			{"arp_announce", 2, "it asks by ARP with a VIP as sender, which routers do not answer"},
		} {
			value, from, ok := effective(n.Sysctls, s.key, iface)
			switch {
			case !ok:
				r.skip(s.key, "%s: it cannot be read", iface)
			case value < s.least:
				r.add(Warn, s.key, fmt.Sprintf("%s: %d (%s): %s", iface, value, from, s.why), sysctlMend("net.ipv4.conf."+iface+"."+s.key, s.least))
			default:
				r.ok(s.key, "%s: %d (%s)", iface, value, from)
			}
		}
	}
}

func (r *report) mtuProbing(n *Node) {
	const name = "net.ipv4.tcp_mtu_probing"
	switch v := n.Sysctls[name]; v {
	case "":
		r.skip("tcp_mtu_probing", "it cannot be read")
	case "0":
		r.add(Warn, "tcp_mtu_probing", "0: an ICMP \"too big\" for an anycast address may reach another node, and large answers get stuck", sysctlMend(name, 1))
	default:
		r.ok("tcp_mtu_probing", "%s", v)
	}
}

func (r *report) nonlocalBind(n *Node) {
	for _, f := range []string{"ipv4", "ipv6"} {
		name := "net." + f + ".ip_nonlocal_bind"
		switch v := n.Sysctls[name]; v {
		case "", "0":
		default:
			r.add(Warn, "ip_nonlocal_bind", name+" is "+v+": a service can listen on a VIP that is not there, and looks well", sysctlMend(name, 0)+"; catchment does not need it")
			return
		}
	}
	r.ok("ip_nonlocal_bind", "off: VIPs stand before they are announced")
}

func (r *report) vips(n *Node) {
	const check = "vip"
	for _, s := range n.Config.Services {
		for _, v := range s.VIPs {
			r.vip(n, s.Name, s.Interface, v)
		}
	}
	if !hasVIPs(n, netip.Addr.IsValid) {
		r.skip(check, "none is in the configuration: the kernel's addresses are not touched")
	}
}

func (r *report) vip(n *Node, service, iface string, v netip.Prefix) {
	const check = "vip"
	on := ""
	for _, f := range n.Interfaces {
		if slices.Contains(f.Addresses, v) {
			on = f.Name
		}
	}
	what := fmt.Sprintf("%s of service %s", v, service)
	ours := slices.Contains(n.Claimed, v)
	switch {
	case on == "" && n.Daemon.Announced[service]:
		r.add(Fail, check, what+" is on no interface, and the service is announced", "catchment edge status tells why; ip address add "+v.String()+" dev "+iface)
	case on == "" && n.Daemon.Running:
		r.ok(check, "%s is on no interface: the service is not announced", what)
	case on == "":
		r.ok(check, "%s is not there yet: the daemon adds it to %s", what, iface)
	case on != iface:
		r.add(Warn, check, fmt.Sprintf("%s is on %s, not on %s", what, on, iface), fmt.Sprintf("ip address del %s dev %s, or interface: %s at the service", v, on, on))
	case !ours && n.Claimed != nil:
		r.ok(check, "%s is on %s; somebody else has put it there, so it stays when catchment leaves", what, on)
	case !n.Daemon.Running:
		r.add(Warn, check, fmt.Sprintf("%s is on %s, and no daemon runs that would take it away", what, on), "systemctl start catchment-edge, or: ip address del "+v.String()+" dev "+on)
	default:
		r.ok(check, "%s is on %s", what, on)
	}
}

// clock judges the wall clock; harm is what comes of one that is wrong.
func (r *report) clock(c Clock, level Level, harm string) {
	const check, mend = "clock", "systemctl enable --now systemd-timesyncd, or chrony; timedatectl tells when it is"
	switch {
	case c.Problem != "":
		r.skip(check, "the kernel does not say: %s", c.Problem)
	case c.Synchronised:
		r.ok(check, "synchronised")
	default:
		r.add(level, check, "not synchronised: "+harm, mend)
	}
}
