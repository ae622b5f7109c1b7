package doctorcmd

import (
	"context"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/catchment-bgp/catchment/announcer/host"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/doctor"
	"github.com/catchment-bgp/catchment/edge/config"
)

// kernel gathers what the kernel has of a node.
func kernel(n *doctor.Node) {
	n.Clock = clock()
	if n.Config == nil {
		return
	}
	n.Interfaces = interfaces()
	n.Paths = paths(n.Config)
	n.Sysctls = sysctls(n.Paths)
	n.Claimed = claimed(n.Config)
	wayBack(n)
}

func clock() doctor.Clock {
	var t unix.Timex
	state, err := unix.Adjtimex(&t) // reads: no mode is set
	if err != nil {
		return doctor.Clock{Problem: err.Error()}
	}
	return doctor.Clock{Synchronised: state != unix.TIME_ERROR && t.Status&unix.STA_UNSYNC == 0}
}

func interfaces() []doctor.Interface {
	all, err := net.Interfaces()
	if err != nil {
		return nil
	}
	var out []doctor.Interface
	for _, i := range all {
		f := doctor.Interface{Name: i.Name, Up: i.Flags&net.FlagUp != 0}
		addresses, err := i.Addrs()
		if err != nil {
			continue
		}
		for _, a := range addresses {
			if p, err := netip.ParsePrefix(a.String()); err == nil {
				f.Addresses = append(f.Addresses, p)
			}
		}
		out = append(out, f)
	}
	return out
}

// paths asks the kernel for the way to each neighbour.
func paths(c *config.Config) map[string]doctor.Path {
	out := map[string]doctor.Path{}
	for _, b := range c.Neighbors {
		out[b.Name] = path(b.Address, b.BindDevice)
	}
	return out
}

func path(to netip.Addr, device string) doctor.Path {
	if zone := to.Zone(); zone != "" {
		return doctor.Path{Interface: zone}
	}
	routes, err := netlink.RouteGetWithOptions(to.AsSlice(), &netlink.RouteGetOptions{Oif: device})
	switch {
	case err != nil:
		return doctor.Path{Problem: err.Error()}
	case len(routes) == 0:
		return doctor.Path{Problem: "the kernel has no route"}
	}
	r := routes[0]
	p := doctor.Path{}
	if i, err := net.InterfaceByIndex(r.LinkIndex); err == nil {
		p.Interface = i.Name
	}
	if gateway, ok := netip.AddrFromSlice(r.Gw); ok {
		p.Gateway = gateway.Unmap()
	}
	if source, ok := netip.AddrFromSlice(r.Src); ok {
		p.Source = source.Unmap()
	}
	return p
}

// sysctls are those that the checks ask for.
func sysctls(paths map[string]doctor.Path) map[string]string {
	out := map[string]string{}
	read := func(name string, parts ...string) {
		if text, err := os.ReadFile(filepath.Join(append([]string{"/proc/sys/net"}, parts...)...)); err == nil {
			out[name] = strings.TrimSpace(string(text))
		}
	}
	read("net.ipv4.tcp_mtu_probing", "ipv4", "tcp_mtu_probing")
	for _, family := range []string{"ipv4", "ipv6"} {
		read("net."+family+".ip_nonlocal_bind", family, "ip_nonlocal_bind")
	}
	names := map[string]bool{"all": true}
	for _, p := range paths {
		if p.Interface != "" && filepath.Base(p.Interface) == p.Interface {
			names[p.Interface] = true
		}
	}
	for iface := range names {
		for _, key := range []string{"rp_filter", "arp_ignore", "arp_announce"} {
			read("net.ipv4.conf."+iface+"."+key, "ipv4", "conf", iface, key)
		}
	}
	return out
}

// claimed are the addresses that carry catchment's mark; nil where that is not known.
func claimed(c *config.Config) []netip.Prefix {
	v, err := host.NewVIPs(host.VIPOptions{StateDir: c.StateDir, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil
	}
	defer v.Close() // there is nothing to lose
	own, err := v.Own()
	if err != nil {
		return nil
	}
	out := []netip.Prefix{}
	for _, a := range own {
		out = append(out, a.Prefix)
	}
	return out
}

func wayBack(n *doctor.Node) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	n.WayBackProblem = "the routing table cannot be read"
	err := host.WatchWayBack(ctx, host.WayBackOptions{Log: slog.New(slog.DiscardHandler)}, func(w host.WayBack) {
		n.WayBack4, n.WayBack6, n.WayBackProblem = w.IPv4, w.IPv6, ""
		cancel() // the first report is of the present
	})
	if err != nil {
		n.WayBackProblem = "the routing table cannot be read: " + err.Error()
	}
}
