package config

import (
	"net/netip"
	"time"

	"github.com/catchment-bgp/catchment/announcer"
)

// session completes what the BGP session itself needs.
func (c *checker) session(path string, r *rawNeighbor) announcer.Neighbor {
	c.need(path, "name", "a short name such as transit-a")
	c.need(path, "asn", "the neighbour's AS number")
	c.need(path, "kind", "transit, peer, ix, rs or internal")
	n := announcer.Neighbor{
		Name:          c.name(join(path, "name"), r.Name),
		Port:          uint16(c.count(join(path, "port"), r.Port, defaultPort, 1, 65535)),
		ASN:           uint32(value(r.ASN, 0)),
		Kind:          kinds[value(r.Kind, "")],
		BindDevice:    c.device(join(path, "bind_device"), r.BindDevice, ""),
		TTLSecurity:   value(r.TTLSecurity, false),
		Multihop:      uint8(c.count(join(path, "multihop"), r.Multihop, defaultMultihop, 1, 255)),
		HoldTime:      c.holdTime(join(path, "hold_time"), r.HoldTime),
		Listen:        value(r.Listen, false),
		AcceptDefault: value(r.AcceptDefault, false),
	}
	if n.TTLSecurity && n.Multihop == 255 {
		c.reject(join(path, "multihop"), "255 with ttl_security lets packets from everywhere in; write the number of hops to the neighbour")
	}
	c.addresses(path, r, &n)
	c.families(join(path, "families"), r.Families, &n)
	return n
}

// addresses checks both ends. The local one is always pinned: addresses that
// appear by themselves must not change where a session comes from.
func (c *checker) addresses(path string, r *rawNeighbor, n *announcer.Neighbor) {
	remote, local := join(path, "address"), join(path, "local_address")
	if c.need(path, "address", "the neighbour's IP address") {
		n.Address = *r.Address
		c.endpoint(remote, n.Address, "write the neighbour's address")
	}
	if c.need(path, "local_address", "the address of this machine that the session comes from") {
		n.LocalAddress = *r.LocalAddress
		c.endpoint(local, n.LocalAddress, "write an address of this machine")
	}
	if !c.usable(remote) || !c.usable(local) {
		return
	}
	switch {
	case n.Address.Is4() != n.LocalAddress.Is4():
		c.reject(local, "%s is %s and the neighbour's address is %s; write an %s address of this machine",
			n.LocalAddress, family(n.LocalAddress), family(n.Address), family(n.Address))
	case n.Address == n.LocalAddress && !n.Address.IsLoopback():
		c.reject(local, "%s is the neighbour's address too; write an address of this machine", n.LocalAddress)
	case (linkLocal6(n.Address) || linkLocal6(n.LocalAddress)) && !c.has(join(path, "bind_device")):
		c.reject(local, "link-local addresses mean nothing without an interface; write bind_device as well")
	}
	n.Address, n.LocalAddress = zoned(n.Address, n.BindDevice), zoned(n.LocalAddress, n.BindDevice)
}

// linkLocal6 tells fe80::/10. IPv4's 169.254.0.0/16 needs no interface, and
// clouds run BGP sessions there.
func linkLocal6(a netip.Addr) bool { return a.Is6() && a.IsLinkLocalUnicast() }

// zoned adds the interface that a link-local address needs to be reached.
func zoned(a netip.Addr, device string) netip.Addr {
	if linkLocal6(a) {
		return a.WithZone(device)
	}
	return a
}

func (c *checker) endpoint(path string, a netip.Addr, write string) {
	switch {
	case a.IsUnspecified():
		c.reject(path, "%s is no address of one machine; %s", a, write)
	case a.IsMulticast():
		c.reject(path, "%s is multicast; %s", a, write)
	}
}

// holdTime checks what we propose: RFC 4271, section 4.2, wants zero or three
// seconds and more, as a number of seconds in two octets.
func (c *checker) holdTime(path string, p *duration) time.Duration {
	const lo, hi = 3 * time.Second, 65535 * time.Second
	d := time.Duration(value(p, duration(defaultHold)))
	switch {
	case d == 0:
		c.reject(path, "0 turns keepalives off, and a dead session would never be noticed; write 3s or more")
	case d >= lo && d <= hi && d%time.Second != 0:
		c.reject(path, "%s is not a whole number of seconds; write %s", duration(d), duration(d.Round(time.Second)))
	case d > hi:
		c.reject(path, "%ds is above the maximum; write 65535s or less", d/time.Second)
	default:
		c.within(path, d, lo, hi)
	}
	return d
}

// families sets what the session carries: by default its own family only.
func (c *checker) families(path string, raw []familyName, n *announcer.Neighbor) {
	if !c.usable(path) {
		n.IPv4, n.IPv6 = n.Address.Is4(), n.Address.Is6()
		return
	}
	c.notEmpty(path, len(raw), "write [ipv4], [ipv6] or [ipv4, ipv6], or remove the key")
	for i, f := range raw {
		carried := &n.IPv4
		if f == "ipv6" {
			carried = &n.IPv6
		}
		at := item(path, i)
		if *carried && !c.bad[at] {
			c.reject(at, "%s stands there already; write it once", f)
		}
		*carried = *carried || !c.bad[at]
	}
}
