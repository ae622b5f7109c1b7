package config

import (
	"net"
	"net/netip"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// config completes and checks the whole file.
func (c *checker) config(r *rawConfig) *Config {
	cfg := &Config{
		Node:        c.node(r),
		ASN:         uint32(value(r.ASN, 0)),
		RouterID:    c.routerID(r),
		StateDir:    c.stateDir(r.StateDir),
		Control:     c.control(r.Control),
		Metrics:     c.metrics(r.Metrics),
		Central:     c.central(r.Central),
		Site:        c.name("site", r.Site),
		Links:       c.links(r.Links),
		LeaveHold:   c.duration("leave_hold", r.LeaveHold, defaultLeaveHold, 0, time.Minute),
		WayBack:     c.wayBack(value(r.WayBack, rawWayBack{})),
		ReturnAfter: c.returnAfter(r.ReturnAfter),
	}
	c.need("", "asn", "our AS number")
	cfg.Registry = c.documents(r.Registry)
	cfg.Load = c.load(value(r.Load, rawLoad{}), cfg.Links)
	cfg.Neighbors = c.neighbors(r.Neighbors, cfg)
	cfg.Services = c.services(r.Services, cfg)
	c.across(cfg)
	return cfg
}

func (c *checker) node(r *rawConfig) string {
	c.need("", "node", "a short name for this machine, such as msk1")
	return c.name("node", r.Node)
}

func (c *checker) routerID(r *rawConfig) netip.Addr {
	if !c.need("", "router_id", "an IPv4 address that no other router has") {
		return netip.Addr{}
	}
	id := *r.RouterID
	if !id.Is4() || id.IsUnspecified() {
		c.reject("router_id", "%s is not a router ID; write an IPv4 address other than 0.0.0.0", id)
	}
	return id
}

func (c *checker) stateDir(p *string) string {
	if p == nil {
		return defaultStateDir
	}
	if !filepath.IsAbs(*p) {
		c.reject("state_dir", "%s is not an absolute path; write for example %s", show(*p), defaultStateDir)
	}
	return filepath.Clean(*p)
}

// maxSocketPath is what sun_path of unix(7) takes besides the final zero, less
// the ".new" that the daemon binds beside the path.
const maxSocketPath = 103

func (c *checker) control(p *string) string {
	if p == nil {
		return defaultControl
	}
	path, ok := strings.CutPrefix(*p, "unix://")
	switch {
	case !ok || !filepath.IsAbs(path) || strings.HasSuffix(path, "/"):
		c.reject("control", "%s is not a unix socket; write unix:// and an absolute path, such as unix://%s", show(*p), defaultControl)
	case len(path) > maxSocketPath:
		c.reject("control", "the path has %d bytes; write one of %d at most", len(path), maxSocketPath)
	}
	return path
}

func (c *checker) metrics(p *string) string {
	if p == nil {
		return ""
	}
	if _, ok := hostPort(*p, 0); !ok {
		c.reject("metrics", "%s is not an address and port; write for example 127.0.0.1:9179", show(*p))
	}
	return *p
}

// hostPort splits HOST:PORT and tells whether it is well formed. The host may be
// empty, an IP address or a name.
func hostPort(s string, lowestPort int) (host string, ok bool) {
	host, port, err := net.SplitHostPort(s)
	if err != nil {
		return "", false
	}
	n, err := strconv.Atoi(port)
	if err != nil || n < lowestPort || n > 65535 || strconv.Itoa(n) != port {
		return "", false
	}
	odd := func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r) || strings.ContainsRune("/@?#\\", r)
	}
	return host, !strings.ContainsFunc(host, odd)
}

func (c *checker) hostPort(path, s, example string) {
	if host, ok := hostPort(s, 1); !ok || host == "" {
		c.reject(path, "%s is not a host and port; write for example %s", show(s), example)
	}
}

// url checks an http or https address.
func (c *checker) url(path, s, example string) {
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.Opaque != "" || !goodPort(u.Port()) {
		c.reject(path, "%s is not an http or https URL; write for example %s", show(redact(s)), example)
	}
}

// redact hides the password in a URL.
func redact(s string) string {
	u, err := url.Parse(s)
	switch {
	case err != nil && strings.Contains(s, "@"):
		return "the text"
	case err != nil:
		return s
	}
	if _, secret := u.User.Password(); secret {
		return u.Redacted()
	}
	return s
}

func goodPort(s string) bool {
	n, err := strconv.Atoi(s)
	return s == "" || err == nil && n >= 1 && n <= 65535
}

func (c *checker) wayBack(r rawWayBack) WayBack {
	return WayBack{
		Required: value(r.Require, "default") == "default",
		Grace:    c.duration("way_back.grace", r.Grace, defaultGrace, 0, time.Hour),
	}
}

func (c *checker) returnAfter(raw []duration) []time.Duration {
	if !c.usable("return_after") {
		return defaultReturnAfter()
	}
	c.notEmpty("return_after", len(raw), "write for example [10s, 60s, 5m, 30m]")
	var out []time.Duration
	for i, d := range raw {
		at := item("return_after", i)
		if c.bad[at] {
			continue
		}
		c.within(at, time.Duration(d), time.Millisecond, day)
		if len(out) > 0 && time.Duration(d) <= out[len(out)-1] {
			c.reject(at, "%s is not above the %s before it; write a longer wait for each further failure", d, duration(out[len(out)-1]))
		}
		out = append(out, time.Duration(d))
	}
	return out
}
