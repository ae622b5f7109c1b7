package doctor

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Of capability.h.
const (
	capNetBindService = 10
	capNetAdmin       = 12
)

// needs are the capabilities that the configuration calls for, and what for.
func needs(n *Node) map[int]string {
	out := map[int]string{}
	for _, s := range n.Config.Services {
		if len(s.VIPs) > 0 {
			out[capNetAdmin] = "VIPs"
		}
	}
	for _, b := range n.Config.Neighbors {
		switch {
		case b.AcceptDefault:
			out[capNetAdmin] = "accept_default"
		case b.Symmetric:
			out[capNetAdmin] = "return: symmetric"
		}
		if b.Listen {
			out[capNetBindService] = "listen"
		}
	}
	return out
}

var capNames = map[int]string{capNetBindService: "CAP_NET_BIND_SERVICE", capNetAdmin: "CAP_NET_ADMIN"}

// rights are the capabilities of the daemon, or those that its unit will give it.
func (r *report) rights(n *Node) {
	const check = "capabilities"
	wanted := needs(n)
	if len(wanted) == 0 {
		r.ok(check, "none is needed: no VIPs, accept_default, return: symmetric or listen")
		return
	}
	for _, c := range []int{capNetBindService, capNetAdmin} {
		what, ok := wanted[c]
		if !ok {
			continue
		}
		mend := "systemctl edit catchment-edge: [Service] AmbientCapabilities=" + capNames[c] + " and CapabilityBoundingSet=" + capNames[c]
		switch {
		case n.Daemon.KnowsCapabilities && n.Daemon.Capabilities&(1<<c) != 0:
			r.ok(check, "the daemon has %s, for %s", capNames[c], what)
		case n.Daemon.KnowsCapabilities:
			r.add(Fail, check, fmt.Sprintf("the daemon lacks %s, for %s", capNames[c], what), mend)
		case n.Unit == "":
			r.skip(check, "%s is needed for %s; neither a daemon nor its unit is here", capNames[c], what)
		case ambient(n.Unit, capNames[c]) || UnitUser(n.Unit) == "root":
			r.ok(check, "the unit gives %s, for %s", capNames[c], what)
		default:
			r.add(Fail, check, fmt.Sprintf("the unit does not give %s, for %s", capNames[c], what), mend)
		}
	}
}

// ambient reports whether the unit gives a capability; an empty line takes what was
// given before away (systemd.exec(5)).
func ambient(unit, name string) bool {
	has := false
	for line := range strings.Lines(unit) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), "AmbientCapabilities="); ok {
			has = value != "" && (has || strings.Contains(" "+value+" ", " "+name+" "))
		}
	}
	return has
}

// UnitUser is whom a systemd unit runs its program as, by the text of the unit.
func UnitUser(unit string) string {
	user := "root"
	for line := range strings.Lines(unit) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), "User="); ok {
			user = or(value, "root")
		}
	}
	return user
}

// descriptors bounds what the node may need: sockets of sessions, probes and the API.
func (r *report) descriptors(n *Node) {
	const check = "file descriptors"
	need := uint64(256 + 16*len(n.Config.Neighbors))
	for _, s := range n.Config.Services {
		need += uint64(8 * len(s.Checks))
	}
	have, of := n.Daemon.NoFile, "the daemon"
	if have == 0 {
		have, of = unitNoFile(n.Unit), "the unit"
	}
	switch {
	case have == 0:
		r.skip(check, "neither a daemon nor a unit with LimitNOFILE= is here")
	case have < need:
		r.add(Fail, check, fmt.Sprintf("%s may have %d; this configuration can need %d", of, have, need), "systemctl edit catchment-edge: [Service] LimitNOFILE=65536")
	default:
		r.ok(check, "%s may have %d", of, have)
	}
}

func unitNoFile(unit string) uint64 {
	var n uint64
	for line := range strings.Lines(unit) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), "LimitNOFILE="); ok {
			soft, _, _ := strings.Cut(value, ":")
			n, _ = strconv.ParseUint(soft, 10, 64) // infinity: as not known
		}
	}
	return n
}

func (r *report) running(n *Node) {
	const check = "daemon"
	d := n.Daemon
	if !d.Running {
		r.add(Warn, check, or(d.Problem, "it does not run"), "systemctl start catchment-edge; journalctl -u catchment-edge tells why it does not")
		return
	}
	if d.Node != n.Config.Node {
		r.add(Fail, check, fmt.Sprintf("the one that answers is node %q, the file is of %q", d.Node, n.Config.Node), "--edge unix:"+n.Config.Control+", or --config FILE of that node")
		return
	}
	r.ok(check, "node %s answers, version %s", d.Node, d.Version)
	r.version(d)
	r.pending(n)
	for _, down := range d.Down {
		r.add(Warn, "session", down, "catchment edge status tells the last error; ask the neighbor's side")
	}
	for _, w := range d.Warnings {
		r.add(Warn, check, w, "catchment edge status")
	}
}

func (r *report) version(d Daemon) {
	const check, mend = "version", "catchment edge drain, then: systemctl restart catchment-edge"
	switch {
	case d.Installed != "" && d.Installed != d.Version:
		r.add(Warn, check, fmt.Sprintf("%s runs, %s is installed", d.Version, d.Installed), mend)
	case d.Replaced:
		r.add(Warn, check, "the program was replaced since the daemon started", mend)
	case d.Installed == "":
		r.skip(check, "which version is installed is not known")
	default:
		r.ok(check, "%s runs and is installed", d.Version)
	}
}

func (r *report) pending(n *Node) {
	const check = "reload"
	d := n.Daemon
	if d.Trial {
		r.add(Warn, check, "a configuration is on trial and goes back by itself", "catchment edge confirm, or catchment edge rollback")
	}
	switch {
	case d.PlanProblem != "":
		r.add(Warn, check, "the daemon would not take the file up: "+d.PlanProblem, "mend "+n.File+"; catchment edge plan --config "+n.File)
	case !d.Planned:
		r.skip(check, "the daemon was not asked what the file would change")
	case len(d.Changes)+len(d.Differences) > 0:
		r.add(Warn, check, n.File+" differs from what runs: "+strings.Join(append(slices.Clone(d.Changes), some(d.Differences)...), "; "),
			"systemctl reload catchment-edge; catchment edge plan --config "+n.File+" shows what neighbors would see")
	case d.Compared:
		r.ok(check, "%s is the configuration in force", n.File)
	default:
		r.ok(check, "%s announces what the daemon announces", n.File)
	}
}

// mostDifferences is how many are named.
const mostDifferences = 8

func some(all []string) []string {
	if more := len(all) - mostDifferences; more > 0 {
		return append(slices.Clone(all[:mostDifferences]), fmt.Sprintf("and %d more", more))
	}
	return all
}

// soonDays is when a certificate is about to end.
const soonDays = 14

func (r *report) certificates(n *Node) {
	const check = "certificate"
	c := n.Config.Central
	switch {
	case c == nil:
		r.skip(check, "no centre is in the configuration")
		return
	case c.Insecure:
		r.add(Warn, check, "central: insecure, in plain text", "catchment node join, then tls: with ca, cert and key")
		return
	}
	r.cert(n.Certs, c.TLS.CA, n.Now, nil)
	r.cert(n.Certs, c.TLS.Cert, n.Now, func(k Cert) string {
		if !strings.HasSuffix(k.Name, "/edge/"+n.Config.Node) {
			return fmt.Sprintf("is for %s, not for node %s", or(k.Name, "nobody"), n.Config.Node)
		}
		return ""
	})
	r.key(n.Files, c.TLS.Key, n.User)
}

// cert judges the certificate in a file; wrong says what is wrong with a good one.
func (r *report) cert(all map[string]Cert, file string, now time.Time, wrong func(Cert) string) {
	const check = "certificate"
	k, known := all[file]
	if !known {
		r.skip(check, "%s is not known", file)
		return
	}
	days := int(k.NotAfter.Sub(now).Hours() / 24)
	text := ""
	if wrong != nil && k.Problem == "" {
		text = wrong(k)
	}
	mend := "catchment pki renew " + file + ", where the CA is, or join anew: catchment node join"
	switch {
	case k.Problem != "":
		r.add(Fail, check, file+": "+k.Problem, mend)
	case text != "":
		r.add(Fail, check, file+" "+text, mend)
	case !now.Before(k.NotAfter):
		r.add(Fail, check, file+" ended on "+k.NotAfter.UTC().Format(time.DateOnly), mend)
	case days < soonDays:
		r.add(Warn, check, fmt.Sprintf("%s ends in %s", file, counted(days, "day")), mend)
	default:
		name := or(k.Name, "of nobody in particular")
		if k.CA {
			name = "a CA"
		}
		r.ok(check, "%s (%s) is good for %s", file, name, counted(days, "day"))
	}
}

func (r *report) key(files map[string]File, path, user string) {
	const check = "key"
	f, known := files[path]
	switch {
	case !known || f.Problem != "":
		r.skip(check, "%s cannot be looked at: %s", path, or(f.Problem, "not known"))
	case !f.Exists:
		r.add(Fail, check, path+" is not there", "catchment node join, or catchment pki issue where the CA is")
	case f.Mode&0o007 != 0:
		r.add(Fail, check, fmt.Sprintf("every user can read %s (mode %04o)", path, f.Mode), "chmod o= "+path)
	case !f.Readable:
		r.add(Fail, check, path+" cannot be read by "+or(user, "the daemon"), "chown "+or(user, "catchment")+" "+path)
	default:
		r.ok(check, "%s has mode %04o", path, f.Mode)
	}
}
