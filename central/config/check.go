package config

import (
	"fmt"
	"maps"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/catchment-bgp/catchment/policy/fleet"
)

// DefaultListen is where the centre serves gRPC unless it is told otherwise.
const DefaultListen = "127.0.0.1:7179"

// check completes what was read.
func (c *checker) check(raw *rawConfig) *Config {
	cfg := &Config{Listen: or(raw.Listen, DefaultListen), HTTP: or(raw.HTTP, ""), Data: c.path(raw.Data), Domain: or(raw.Domain, ""),
		PKI: c.path(raw.PKI), Roles: raw.Roles, TLS: c.tls("tls", raw.TLS), Services: map[string]fleet.Limits{}}
	if raw.ASN != nil {
		if cfg.ASN = *raw.ASN; cfg.ASN == 0 || cfg.ASN == 1<<32-1 {
			c.fail("asn", "no AS has the number %d; write ours", cfg.ASN)
		}
	}
	c.audit(cfg, raw.Audit)
	c.addresses(cfg)
	c.store(cfg, raw)
	for i, s := range raw.Services {
		c.service(cfg, fmt.Sprintf("services[%d]", i), s)
	}
	c.roles(cfg)
	c.landing(cfg, raw.Landing)
	c.bmp(cfg, raw.BMP)
	c.web(cfg, raw.Web)
	for i := range raw.Registry {
		cfg.Registry = append(cfg.Registry, c.path(&raw.Registry[i]))
	}
	return cfg
}

// MinAuditKeep is the shortest time for which audit records are kept.
const MinAuditKeep = 30 * 24 * time.Hour

// audit reads days, or what time.ParseDuration knows.
func (c *checker) audit(cfg *Config, raw *rawAudit) {
	if raw == nil || raw.Keep == nil {
		return
	}
	const example = "write days, such as 400d"
	keep, err := time.ParseDuration(*raw.Keep)
	if days, is := strings.CutSuffix(*raw.Keep, "d"); is {
		var n uint64
		n, err = strconv.ParseUint(days, 10, 16)
		keep = time.Duration(n) * 24 * time.Hour
	}
	switch {
	case err != nil:
		c.fail("audit.keep", "%q is no time; %s", *raw.Keep, example)
	case keep < MinAuditKeep || keep > 100*365*24*time.Hour:
		c.fail("audit.keep", "%s is less than 30 days or more than 100 years; %s", *raw.Keep, example)
	default:
		cfg.AuditKeep = keep
	}
}

func or(s *string, otherwise string) string {
	if s == nil {
		return otherwise
	}
	return *s
}

// path makes a path absolute; "" stays.
func (c *checker) path(s *string) string {
	if s == nil || *s == "" {
		return ""
	}
	if filepath.IsAbs(*s) {
		return filepath.Clean(*s)
	}
	return filepath.Join(c.dir, *s)
}

// addresses wants TLS on every address that is not loopback.
func (c *checker) addresses(cfg *Config) {
	for _, a := range []struct{ path, address string }{{"listen", cfg.Listen}, {"http", cfg.HTTP}} {
		if a.address == "" {
			continue
		}
		host, port, err := net.SplitHostPort(a.address)
		switch {
		case err != nil || port == "":
			c.fail(a.path, "%q is no address; write HOST:PORT", a.address)
		case cfg.TLS == nil && !loopback(host):
			c.fail(a.path, "%s is not loopback, and without tls: only loopback is served; write tls: {ca, cert, key}", a.address)
		}
	}
	switch {
	case cfg.TLS != nil && cfg.Domain == "":
		c.fail("domain", "with tls: the trust domain is needed, as given to catchment pki init")
	case cfg.TLS == nil && cfg.PKI != "":
		c.fail("pki", "nodes join over TLS; write tls: {ca, cert, key}")
	}
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// store wants one place to keep things.
func (c *checker) store(cfg *Config, raw *rawConfig) {
	switch {
	case raw.Etcd == nil && cfg.Data == "":
		c.fail("data", "there is no place to keep anything; write data: DIR, or etcd: {endpoints: [...]}")
	case raw.Etcd != nil && cfg.Data != "":
		c.fail("data", "data: is for the embedded store and etcd: for a cluster; write one of them")
	case raw.Etcd != nil:
		cfg.Etcd = &Etcd{Endpoints: raw.Etcd.Endpoints, TLS: c.tls("etcd.tls", raw.Etcd.TLS)}
		if len(raw.Etcd.Endpoints) == 0 {
			c.fail("etcd", "no endpoint; write endpoints: [https://HOST:2379]")
		}
		for i, e := range raw.Etcd.Endpoints {
			c.endpoint(fmt.Sprintf("etcd.endpoints[%d]", i), e, cfg.Etcd.TLS != nil)
		}
	}
}

func (c *checker) endpoint(path, endpoint string, tls bool) {
	u, err := url.Parse(endpoint)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		c.fail(path, "%q is no endpoint; write https://HOST:2379", endpoint)
	case u.Scheme == "https" && !tls:
		c.fail(path, "https needs a certificate; write tls: {ca, cert, key} under etcd:")
	case u.Scheme == "http" && !loopback(u.Hostname()):
		c.fail(path, "%s is in plain text and not loopback; write https and tls:", endpoint)
	}
}

// tls wants all three files, or none.
func (c *checker) tls(path string, raw *rawTLS) *TLS {
	if raw == nil {
		return nil
	}
	t := &TLS{CA: c.path(raw.CA), Cert: c.path(raw.Cert), Key: c.path(raw.Key)}
	for name, value := range map[string]string{"ca": t.CA, "cert": t.Cert, "key": t.Key} {
		if value == "" {
			c.fail(path, "%s is missing; write {ca: FILE, cert: FILE, key: FILE}", name)
		}
	}
	return t
}

func (c *checker) service(cfg *Config, path string, s rawService) {
	name := or(s.Name, "")
	if strings.TrimSpace(name) == "" {
		c.fail(path, "a service needs its name; write {name: video, min_announcing: 2}")
		return
	}
	if _, twice := cfg.Services[name]; twice {
		c.fail(path, "service %s stands in the list twice; write it once", name)
	}
	limits := fleet.Limits{MinAnnouncing: 1}
	if s.MinAnnouncing != nil {
		if limits.MinAnnouncing = int(*s.MinAnnouncing); limits.MinAnnouncing < 1 || limits.MinAnnouncing > 100_000 {
			c.fail(path+".min_announcing", "%d nodes cannot be it; write 1 to 100000: the last announcer never withdraws", limits.MinAnnouncing)
		}
	}
	if s.MaxWithdrawn != nil {
		if limits.MaxWithdrawn = *s.MaxWithdrawn; !(limits.MaxWithdrawn > 0 && limits.MaxWithdrawn <= 1) {
			c.fail(path+".max_withdrawn", "%g is no share; write more than 0 and at most 1", limits.MaxWithdrawn)
		}
	}
	cfg.Services[name] = limits
}

func (c *checker) roles(cfg *Config) {
	known := []string{"none", "viewer", "operator", "admin"}
	for _, name := range slices.Sorted(maps.Keys(cfg.Roles)) {
		kind, rest, _ := strings.Cut(name, "/")
		switch role := cfg.Roles[name]; {
		case rest == "" || kind != "noc" && kind != "edge":
			c.fail("roles."+name, "%s is no name; write noc/NAME or edge/NAME", name)
		case !slices.Contains(known, role):
			c.fail("roles."+name, "%q is no role; write %s", role, strings.Join(known, ", "))
		case kind == "edge" && role != "none":
			c.fail("roles."+name, "an edge can be given the role none only")
		}
	}
}

func (c *checker) landing(cfg *Config, rows map[string]map[string]float64) {
	for _, from := range slices.Sorted(maps.Keys(rows)) {
		sum := 0.0
		for to, share := range rows[from] {
			if sum += share; share < 0 || to == from {
				c.fail("landing."+from, "%g of it cannot land on %s; write shares of 0 to 1 for other nodes", share, to)
			}
		}
		if sum > 1+1e-9 {
			c.fail("landing."+from, "the shares add up to %g; write 1 at most", sum)
		}
	}
	if len(rows) > 0 {
		cfg.Landing = fleet.Landing(rows)
	}
}
