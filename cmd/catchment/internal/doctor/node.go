package doctor

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/catchment-bgp/catchment/announcer"
	"github.com/catchment-bgp/catchment/edge/config"
)

// CheckNode judges a node. Without a usable configuration only that is told, and what
// does not depend on it.
func CheckNode(n *Node) []Result {
	r := &report{}
	r.config(n)
	if n.Config != nil && n.Config.Central != nil {
		r.clock(n.Clock, Fail, "maintenance windows do not open here while the centre is away")
	} else {
		r.clock(n.Clock, Warn, "logs may have the wrong time")
	}
	if n.Config == nil {
		r.skip("everything else", "needs a configuration that can be used")
		return r.all
	}
	for _, check := range []func(*Node){
		r.prefixes, r.roas, r.irr, r.routerID, r.localAddresses, r.reach, r.wayBack, r.reverseFilter, r.arp, r.mtuProbing, r.nonlocalBind,
		r.vips, r.secrets, r.stateDir, r.socket, r.rights, r.descriptors, r.certificates, r.running,
	} {
		check(n)
	}
	return r.all
}

func (r *report) config(n *Node) {
	const check = "config"
	if n.Config == nil {
		r.add(Fail, check, n.Problem, "mend it in "+n.File+"; catchment-edge --config "+n.File+" --check tells when it is good")
		return
	}
	r.ok(check, "%s is valid: node %s, AS%d, %s, %s", n.File, n.Config.Node, n.Config.ASN,
		counted(len(n.Config.Neighbors), "neighbor"), counted(len(n.Config.Services), "service"))
	for _, w := range n.Warnings {
		r.add(Warn, check, w, "see docs/reference/config.md")
	}
	if len(n.Unset) > 0 {
		r.add(Warn, "secrets", "not set here: "+strings.Join(n.Unset, ", "), "write NAME=VALUE into "+n.EnvFile+", or run this as a user who may read it")
	}
}

// counted writes a number and what it counts, which ends in s where it is many.
func counted(n int, what string) string {
	switch {
	case n == 1:
	case strings.HasSuffix(what, "x"):
		what += "es"
	default:
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}

// external are the prefixes that neighbours of other ASes are told, sorted.
func external(c *config.Config) []netip.Prefix {
	var out []netip.Prefix
	for _, s := range c.Services {
		for _, n := range c.Neighbors {
			if n.Kind != announcer.Internal && (len(s.Neighbors) == 0 || slices.Contains(s.Neighbors, n.Name)) {
				out = append(out, s.Prefixes...)
				break
			}
		}
	}
	slices.SortFunc(out, func(a, b netip.Prefix) int { return strings.Compare(a.String(), b.String()) })
	return slices.Compact(out)
}

// The longest prefixes that networks of others take as a rule.
const (
	longest4 = 24
	longest6 = 48
)

func (r *report) prefixes(n *Node) {
	const check = "prefix length"
	good := 0
	for _, p := range external(n.Config) {
		most := longest4
		if p.Addr().Is6() {
			most = longest6
		}
		if p.Bits() > most {
			r.add(Warn, check, fmt.Sprintf("%s is longer than /%d: most networks drop it", p, most), fmt.Sprintf("announce a /%d, or be sure that the neighbor takes it", most))
			continue
		}
		good++
	}
	if good > 0 {
		r.ok(check, "%s not longer than /%d and /%d", counted(good, "prefix"), longest4, longest6)
	}
}

func (r *report) routerID(n *Node) {
	const check = "router_id"
	for _, b := range n.Config.Neighbors {
		if b.Address.WithZone("") == n.Config.RouterID {
			r.add(Fail, check, fmt.Sprintf("%s is the address of neighbor %s, whose router ID it may be: sessions with it are refused (RFC 4271, section 6.2)", n.Config.RouterID, b.Name),
				"router_id: an IPv4 address of this node alone")
			return
		}
	}
	r.ok(check, "%s is no neighbor's address", n.Config.RouterID)
}

func (r *report) localAddresses(n *Node) {
	const check = "local_address"
	for _, b := range n.Config.Neighbors {
		want := b.LocalAddress.WithZone("")
		at, where := -1, ""
		for i, f := range n.Interfaces {
			if slices.ContainsFunc(f.Addresses, func(p netip.Prefix) bool { return p.Addr() == want }) {
				at, where = i, f.Name
			}
		}
		switch {
		case at < 0:
			r.add(Fail, check, fmt.Sprintf("%s (neighbor %s) is on no interface", want, b.Name), fmt.Sprintf("ip address add %s/LENGTH dev INTERFACE, or mend local_address of %s", want, b.Name))
		case !n.Interfaces[at].Up:
			r.add(Fail, check, fmt.Sprintf("%s (neighbor %s) is on %s, which is down", want, b.Name, where), "ip link set "+where+" up")
		default:
			r.ok(check, "%s (neighbor %s) is on %s", want, b.Name, where)
		}
	}
}

func (r *report) reach(n *Node) {
	const check = "neighbor"
	for _, b := range n.Config.Neighbors {
		p, known := n.Paths[b.Name]
		switch {
		case !known:
			r.skip(check, "%s: the way to %s is not known", b.Name, b.Address)
		case p.Problem != "":
			r.add(Fail, check, fmt.Sprintf("%s: no way to %s: %s", b.Name, b.Address, p.Problem), fmt.Sprintf("give an interface an address of its network, or: ip route add %s via ROUTER", b.Address.WithZone("")))
		case p.Gateway.IsValid() && b.Multihop <= 1:
			r.add(Fail, check, fmt.Sprintf("%s: %s is behind the router %s, and the session takes one hop", b.Name, b.Address, p.Gateway), fmt.Sprintf("multihop: 2 (or more) at neighbor %s, or an address on its network", b.Name))
		default:
			r.ok(check, "%s: %s by %s", b.Name, b.Address, via(p))
		}
	}
}

func via(p Path) string {
	if p.Gateway.IsValid() {
		return p.Interface + " and " + p.Gateway.String()
	}
	return p.Interface
}

// families are those of what is announced.
func families(c *config.Config) (v4, v6 bool) {
	for _, s := range c.Services {
		for _, p := range s.Prefixes {
			v4, v6 = v4 || p.Addr().Is4(), v6 || p.Addr().Is6()
		}
	}
	return v4, v6
}

func (r *report) wayBack(n *Node) {
	const check = "default route"
	if n.WayBackProblem != "" {
		r.skip(check, "%s", n.WayBackProblem)
		return
	}
	v4, v6 := families(n.Config)
	for _, f := range []struct {
		used, has     bool
		name, command string
	}{{v4, n.WayBack4, "IPv4", "ip route add default via ROUTER"}, {v6, n.WayBack6, "IPv6", "ip -6 route add default via ROUTER"}} {
		switch {
		case !f.used:
		case f.has:
			r.ok(check, "%s has one, or a full view", f.name)
		case !n.Config.WayBack.Required:
			r.add(Warn, check, f.name+" has none, and way_back does not ask for one: answers need another way out", f.command)
		default:
			r.add(Fail, check, f.name+" has none: answers to clients are lost, so nothing of it is announced", f.command+", or accept_default: true at a neighbor that sends one")
		}
	}
}

func (r *report) stateDir(n *Node) {
	const check, mode = "state_dir", "install -d -o %s -g %s -m 0750 %s"
	dir := n.Config.StateDir
	f, known := n.Files[dir]
	user := or(n.User, "catchment")
	mend := fmt.Sprintf(mode, user, user, dir)
	switch {
	case !known || f.Problem != "":
		r.skip(check, "%s cannot be looked at: %s", dir, or(f.Problem, "not known"))
	case !f.Exists:
		r.add(Fail, check, dir+" is not there", mend)
	case !f.Dir:
		r.add(Fail, check, dir+" is no folder", "mv "+dir+" elsewhere, then: "+mend)
	case !f.Writable:
		r.add(Fail, check, dir+" cannot be written by "+user, "chown "+user+" "+dir)
	case f.Mode&0o002 != 0:
		r.add(Fail, check, fmt.Sprintf("everyone can write %s (mode %04o)", dir, f.Mode), "chmod 0750 "+dir)
	default:
		r.ok(check, "%s can be written by %s", dir, user)
	}
}

func or(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

func (r *report) socket(n *Node) {
	const check = "socket"
	path := n.Config.Control
	f, known := n.Files[path]
	switch {
	case !known || f.Problem != "":
		r.skip(check, "%s cannot be looked at: %s", path, or(f.Problem, "not known"))
	case !f.Exists && n.Daemon.Running:
		r.add(Warn, check, path+" is not there, and the daemon that answers has another", "systemctl restart catchment-edge, after a drain")
	case !f.Exists:
		r.skip(check, "%s is not there: the daemon does not run", path)
	case f.Mode&0o002 != 0:
		r.add(Fail, check, fmt.Sprintf("everyone can speak to %s (mode %04o)", path, f.Mode), fmt.Sprintf("chmod o= %s; and UMask=0027 in the unit", path))
	default:
		r.ok(check, "%s has mode %04o", path, f.Mode)
	}
}

func (r *report) secrets(n *Node) {
	const check = "password_file"
	for _, b := range n.Config.Neighbors {
		if b.PasswordFile == "" {
			continue
		}
		f, known := n.Files[b.PasswordFile]
		user := or(n.User, "catchment")
		switch {
		case !known || f.Problem != "":
			r.skip(check, "%s cannot be looked at: %s", b.PasswordFile, or(f.Problem, "not known"))
		case !f.Exists:
			r.add(Fail, check, b.PasswordFile+" is not there", "write the password of neighbor "+b.Name+" into it")
		case !f.Readable:
			r.add(Fail, check, b.PasswordFile+" cannot be read by "+user, fmt.Sprintf("chgrp %s %s; chmod 0640 %s", user, b.PasswordFile, b.PasswordFile))
		case f.Mode&0o007 != 0:
			r.add(Fail, check, fmt.Sprintf("every user can read %s (mode %04o)", b.PasswordFile, f.Mode), "chmod o= "+b.PasswordFile)
		default:
			r.ok(check, "%s has mode %04o", b.PasswordFile, f.Mode)
		}
	}
}
