package doctor

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/catchment-bgp/catchment/central/config"
)

// Centre is what was found on a centre's machine.
type Centre struct {
	Now  time.Time
	File string
	// Config is nil where the file cannot be used; Problem says why.
	Config  *config.Config
	Problem string
	Clock   Clock
	User    string
	Files   map[string]File
	Certs   map[string]Cert
	// Free and Size of the disk of the data folder, in bytes; 0: not known.
	Free, Size uint64
	// Listening says by address whether somebody answers there; missing: not asked.
	Listening map[string]bool
	// Health is the answer of /readyz; empty: there is no HTTP, or no answer.
	Health string
	// Registry are the problems of the registry's files, a line each; RegistryRead how
	// many entries there are.
	Registry     []string
	RegistryRead int
	// Fleet is what the centre says of each service; nil: it was not reached, and
	// FleetProblem says why.
	Fleet        map[string]Standing
	FleetProblem string
}

// Standing is how a service stands in the fleet.
type Standing struct {
	Nodes, Announcing int
	MinAnnouncing     int
	MaxWithdrawn      float64
}

// CheckCentre judges a centre.
func CheckCentre(c *Centre) []Result {
	r := &report{}
	const check = "config"
	r.clock(c.Clock, Fail, "edges hold their clocks against this one, and open no window when they are 5 s apart")
	if c.Config == nil {
		r.add(Fail, check, c.Problem, "mend it in "+c.File+"; catchment-central --config "+c.File+" --check tells when it is good")
		r.skip("everything else", "needs a configuration that can be used")
		return r.all
	}
	r.ok(check, "%s is valid", c.File)
	r.centreCertificates(c)
	r.data(c)
	r.listening(c)
	r.registry(c)
	r.limits(c)
	return r.all
}

func (r *report) centreCertificates(c *Centre) {
	if c.Config.TLS == nil {
		r.add(Warn, "certificate", "no tls: plain text, so only on loopback, and everyone is admin", "catchment pki init and issue, then tls: with ca, cert and key")
	} else {
		r.cert(c.Certs, c.Config.TLS.CA, c.Now, nil)
		r.cert(c.Certs, c.Config.TLS.Cert, c.Now, func(k Cert) string {
			if len(k.Hosts) == 0 {
				return "has no host name or address, so nobody can be sure of it"
			}
			return ""
		})
		r.key(c.Files, c.Config.TLS.Key, c.User)
	}
	if c.Config.PKI != "" {
		r.key(c.Files, c.Config.PKI+"/ca.key", c.User)
	}
}

// The least free space of the store's disk.
const (
	leastFree  = 1 << 30 // bytes
	leastShare = 0.05
)

func (r *report) data(c *Centre) {
	const check = "data"
	dir := c.Config.Data
	if dir == "" {
		r.skip(check, "the store is an etcd elsewhere")
		return
	}
	f, known := c.Files[dir]
	user := or(c.User, "catchment-central")
	mend := fmt.Sprintf("install -d -o %s -m 0700 %s", user, dir)
	switch {
	case !known || f.Problem != "":
		r.skip(check, "%s cannot be looked at: %s", dir, or(f.Problem, "not known"))
	case !f.Exists:
		r.add(Warn, check, dir+" is not there yet", mend)
	case !f.Writable:
		r.add(Fail, check, dir+" cannot be written by "+user, "chown -R "+user+" "+dir)
	case f.Mode&0o007 != 0:
		r.add(Fail, check, fmt.Sprintf("every user can look into %s (mode %04o)", dir, f.Mode), "chmod 0700 "+dir)
	default:
		r.ok(check, "%s has mode %04o", dir, f.Mode)
	}
	if c.Size == 0 {
		return
	}
	found := fmt.Sprintf("%.1f of %.1f GiB are free for %s", float64(c.Free)/(1<<30), float64(c.Size)/(1<<30), dir)
	if c.Free < leastFree || float64(c.Free) < leastShare*float64(c.Size) {
		r.add(Fail, check, found+": a full disk stops the store", "make room, or move data: to a larger disk")
		return
	}
	r.ok(check, "%s", found)
}

func (r *report) listening(c *Centre) {
	const check, mend = "listen", "systemctl start catchment-central; journalctl -u catchment-central tells why it does not"
	for _, address := range slices.Sorted(maps.Keys(c.Listening)) {
		if c.Listening[address] {
			r.ok(check, "%s answers", address)
		} else {
			r.add(Fail, check, address+" does not answer", mend)
		}
	}
	switch {
	case c.Config.HTTP == "":
		r.skip("health", "no http: in the configuration")
	case c.Health == "200 OK":
		r.ok("health", "/readyz says %s", c.Health)
	default:
		r.add(Fail, "health", "/readyz says "+or(c.Health, "nothing"), mend)
	}
}

func (r *report) registry(c *Centre) {
	const check = "registry"
	for i, p := range c.Registry {
		if i == mostListed {
			r.add(Warn, check, fmt.Sprintf("and %d more", len(c.Registry)-i), "catchment community lint --from FILE")
			return
		}
		r.add(Warn, check, p, "catchment community lint --from FILE")
	}
	switch {
	case len(c.Config.Registry) == 0:
		r.skip(check, "no registry: in the configuration")
	case len(c.Registry) == 0:
		r.ok(check, "%d entries, nothing wrong", c.RegistryRead)
	}
}

func (r *report) limits(c *Centre) {
	const check = "limits"
	if c.Fleet == nil {
		r.skip(check, "the fleet was not asked: %s", c.FleetProblem)
		return
	}
	for _, name := range slices.Sorted(maps.Keys(c.Fleet)) {
		s := c.Fleet[name]
		text := fmt.Sprintf("service %s: at least %d of %s must announce, %d do", name, s.MinAnnouncing, counted(s.Nodes, "node"), s.Announcing)
		switch {
		case s.Announcing < s.MinAnnouncing:
			r.add(Fail, check, text+": below the limit, so every leave is refused", "catchment fleet status tells who does not announce, and why")
		case s.MinAnnouncing >= s.Nodes:
			r.add(Warn, check, text+": no maintenance can ever withdraw one", fmt.Sprintf("min_announcing: %d at service %s in %s, or more nodes", max(1, s.Nodes-1), name, c.File))
		case s.MaxWithdrawn > 0 && s.MaxWithdrawn*float64(s.Nodes) < 1:
			r.add(Warn, check, fmt.Sprintf("%s; max_withdrawn %.2g is less than one node of equal size", text, s.MaxWithdrawn), fmt.Sprintf("max_withdrawn: %.2g or more at service %s in %s", 1/float64(s.Nodes), name, c.File))
		default:
			r.ok(check, "%s", text)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Config.Services)) {
		if _, known := c.Fleet[name]; !known {
			r.add(Warn, check, "service "+name+" has limits, and no node has it", "mend its name under services: in "+c.File)
		}
	}
}
