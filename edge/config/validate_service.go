package config

import (
	"net/netip"
	"slices"

	"github.com/catchment-bgp/catchment/healthcheck"
)

// claims is what services have taken so far: each prefix and VIP once.
type claims struct {
	names    map[string]string
	prefixes map[netip.Prefix]string
	vips     map[netip.Prefix]string
}

func (c *checker) services(raw []rawService, cfg *Config) []Service {
	if c.need("", "services", "a list of at least one service") {
		c.notEmpty("services", len(raw), "write at least one service")
	}
	taken := claims{map[string]string{}, map[netip.Prefix]string{}, map[netip.Prefix]string{}}
	var out []Service
	for i := range raw {
		path := item("services", i)
		if c.bad[path] {
			out = append(out, Service{})
			continue
		}
		s := c.service(path, &raw[i], cfg, &taken)
		c.unique(taken.names, s.Name, join(path, "name"))
		out = append(out, s)
	}
	return out
}

func (c *checker) service(path string, r *rawService, cfg *Config, taken *claims) Service {
	c.need(path, "name", "a short name such as video")
	s := Service{
		Name:        c.name(join(path, "name"), r.Name),
		Prefixes:    c.prefixes(path, r.Prefixes, taken),
		Interface:   c.device(join(path, "interface"), r.Interface, defaultInterface),
		Communities: c.communities(join(path, "communities"), r.Communities),
		Neighbors:   c.serviceNeighbors(join(path, "neighbors"), r.Neighbors, cfg),
		Drain:       c.duration(join(path, "drain"), r.Drain, defaultDrain, 0, day),
	}
	s.VIPs = c.vips(join(path, "vips"), r.VIPs, s.Prefixes, c.dirty[join(path, "prefixes")], taken)
	s.Checks = c.checks(join(path, "checks"), r.Checks)
	s.Require = c.require(join(path, "require"), r.Require, len(r.Checks))
	if len(r.Checks) == 0 && !c.dirty[join(path, "checks")] {
		c.warn(path, "no checks: announced always, even when the service is dead; write checks")
	}
	return s
}

func (c *checker) prefixes(service string, raw []netip.Prefix, taken *claims) []netip.Prefix {
	path := join(service, "prefixes")
	if c.need(service, "prefixes", "what the service announces, such as [198.51.100.0/24]") {
		c.notEmpty(path, len(raw), "write what the service announces")
	}
	for i, p := range raw {
		if p.IsValid() {
			c.claim(taken.prefixes, p, item(path, i), service)
		}
	}
	return raw
}

// claim records that p belongs to a service, unless it is taken.
func (c *checker) claim(taken map[netip.Prefix]string, p netip.Prefix, path, service string) {
	owner, ok := taken[p]
	switch {
	case !ok:
		taken[p] = service
	case owner == service:
		c.reject(path, "%s stands there already; write it once", p)
	default:
		c.reject(path, "%s belongs to %s (line %d) already; write it in one service", p, owner, c.where(owner).line)
	}
}

func (c *checker) vips(path string, raw []vip, prefixes []netip.Prefix, lenient bool, taken *claims) []netip.Prefix {
	service, _ := parent(path)
	var out []netip.Prefix
	for i, v := range raw {
		if !v.IsValid() {
			continue
		}
		inside := slices.ContainsFunc(prefixes, func(p netip.Prefix) bool { return p.Contains(v.Addr()) })
		if !inside && !lenient && len(prefixes) > 0 {
			c.reject(item(path, i), "%s is in none of the service's prefixes; write an address of %s", v, prefixes[0])
		}
		c.claim(taken.vips, v.Prefix, item(path, i), service)
		out = append(out, v.Prefix)
	}
	return out
}

// serviceNeighbors gives names in the order of the file's neighbours, so that a
// list of all equals the list left out.
func (c *checker) serviceNeighbors(path string, raw []string, cfg *Config) []string {
	names := make([]string, 0, len(cfg.Neighbors))
	for _, n := range cfg.Neighbors {
		names = append(names, n.Name)
	}
	if !c.has(path) {
		return names
	}
	c.notEmpty(path, len(raw), "write the neighbours that get the service, or remove the key for all")
	chosen := map[string]bool{}
	for i, s := range raw {
		at := item(path, i)
		if c.bad[at] {
			continue
		}
		c.known(at, s, names, "neighbour", "neighbors")
		if chosen[s] {
			c.reject(at, "%s stands there already; write it once", show(s))
		}
		chosen[s] = true
	}
	return slices.DeleteFunc(names, func(s string) bool { return !chosen[s] })
}

func (c *checker) require(path string, raw *rawRequire, checks int) healthcheck.Require {
	r := value(raw, rawRequire{})
	hasCount, hasPercent := c.has(join(path, "at_least")), c.has(join(path, "percent"))
	switch {
	case c.dirty[path] || raw == nil:
	case r.Word == "any":
		return healthcheck.Require{Mode: healthcheck.RequireAny}
	case r.Word == "all":
	case hasCount == hasPercent:
		c.reject(path, "write one of at_least and percent, such as {at_least: 1}")
	case hasCount:
		at := join(path, "at_least")
		if n := int(*r.AtLeast); n > checks && n >= 1 {
			c.reject(at, "%d is more than the checks of the service, %d; write %d or less", n, checks, checks)
		}
		return healthcheck.Require{Mode: healthcheck.RequireAtLeast, N: c.count(at, r.AtLeast, 0, 1, maxItems)}
	default:
		return healthcheck.Require{Mode: healthcheck.RequirePercent, N: c.count(join(path, "percent"), r.Percent, 0, 1, 100)}
	}
	return healthcheck.Require{Mode: healthcheck.RequireAll}
}
