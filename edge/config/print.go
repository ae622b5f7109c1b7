package config

import (
	"bytes"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/catchment-bgp/catchment/announcer"
	"github.com/catchment-bgp/catchment/healthcheck"
)

// YAML prints the configuration with every default. Passwords, those in URLs and
// credentials in HTTP headers are masked; all else loads again to an equal Config.
func (c *Config) YAML() ([]byte, error) {
	var b bytes.Buffer
	var n yaml.Node
	if err := n.Encode(c.raw()); err != nil {
		return nil, err
	}
	c.comment(&n)
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := enc.Encode(&n); err != nil {
		return nil, err
	}
	if err := enc.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// MarshalYAML prints the word, or the mapping.
func (r rawRequire) MarshalYAML() (any, error) {
	if r.Word != "" {
		return string(r.Word), nil
	}
	type mapping rawRequire
	return mapping(r), nil
}

// MarshalYAML quotes texts with line breaks: yaml.v3 loses the first ones of a
// block.
func (m multiline) MarshalYAML() (any, error) {
	if !strings.Contains(string(m), "\n") {
		return string(m), nil
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Style: yaml.DoubleQuotedStyle, Value: string(m)}, nil
}

func (c *Config) raw() *rawConfig {
	r := &rawConfig{
		Node:      &c.Node,
		Site:      given(c.Site),
		ASN:       new(asn(c.ASN)),
		RouterID:  &c.RouterID,
		StateDir:  &c.StateDir,
		Control:   new("unix://" + c.Control),
		Metrics:   given(c.Metrics),
		LeaveHold: new(duration(c.LeaveHold)),
		Load:      rawLoadOf(&c.Load),
		WayBack: &rawWayBack{
			Require: new(wayBackName(either(c.WayBack.Required, "default", "none"))),
			Grace:   new(duration(c.WayBack.Grace)),
		},
		Registry:    c.Registry,
		ReturnAfter: each(c.ReturnAfter, func(d time.Duration) duration { return duration(d) }),
		Links:       each(c.Links, rawLinkOf),
		Neighbors:   each(c.Neighbors, rawNeighborOf),
		Services:    each(c.Services, rawServiceOf),
	}
	if c.Central != nil {
		r.Central = rawCentralOf(c.Central)
	}
	return r
}

func rawCentralOf(c *Central) *rawCentral {
	r := &rawCentral{Insecure: &c.Insecure, Standby: given(c.Standby)}
	if len(c.Addresses) == 1 {
		r.Address = &c.Addresses[0]
	} else {
		r.Addresses = c.Addresses
	}
	if !c.Insecure {
		r.TLS = &rawTLS{CA: &c.TLS.CA, Cert: &c.TLS.Cert, Key: &c.TLS.Key}
	}
	return r
}

func rawNeighborOf(n Neighbor) rawNeighbor {
	r := rawNeighbor{
		Name:          &n.Name,
		Address:       new(n.Address.WithZone("")),
		Port:          new(count(n.Port)),
		ASN:           new(asn(n.ASN)),
		LocalAddress:  new(n.LocalAddress.WithZone("")),
		BindDevice:    given(n.BindDevice),
		PasswordFile:  given(n.PasswordFile),
		TTLSecurity:   &n.TTLSecurity,
		Multihop:      new(count(n.Multihop)),
		HoldTime:      new(duration(n.HoldTime)),
		Listen:        &n.Listen,
		AcceptDefault: &n.AcceptDefault,
		AllowPrepend:  &n.AllowPrepend,
		MaxPrefixes:   new(count(n.MaxPrefixes)),
		Contact:       given(n.Contact),
		Prepend:       new(count(n.Prepend)),
		MED:           metricOf(n.MED),
		LocalPref:     metricOf(n.LocalPref),
		Communities:   n.Communities,
		Link:          given(n.Link),
		Weight:        &n.Weight,
		EdgesAtASN:    n.EdgesAtASN,
		Return:        new(returnName(either(n.Symmetric, "symmetric", "routed"))),
		NextHop:       &rawNextHop{IPv4: addrOf(n.NextHop4), IPv6: addrOf(n.NextHop6)},
		Ladder:        each(n.Ladder, rawRungOf),
	}
	for name, kind := range kinds {
		if kind == n.Kind {
			r.Kind = &name
		}
	}
	if n.Password != "" && n.PasswordFile == "" {
		r.Password = new(secret(Mask))
	}
	if n.IPv4 {
		r.Families = append(r.Families, "ipv4")
	}
	if n.IPv6 {
		r.Families = append(r.Families, "ipv6")
	}
	r.Labels = literals(n.Labels)
	return r
}

func rawRungOf(g Rung) rawRung {
	r := rawRung{
		Steer:     rawSteerOf(g.Steer),
		Community: g.written(),
		MED:       metricOf(g.MED),
		LocalPref: metricOf(g.LocalPref),
		GSHUT:     given(g.GSHUT),
		Withdraw:  given(g.Withdraw),
		Prefixes:  g.Prefixes,
	}
	if g.PrependSet {
		r.Prepend = new(count(g.Prepend))
	}
	if g.ShedsSet {
		r.Sheds = &g.Sheds
	}
	r.Leaves = given(g.Leaves)
	return r
}

func rawServiceOf(s Service) rawService {
	return rawService{
		Name:        &s.Name,
		Prefixes:    s.Prefixes,
		VIPs:        each(s.VIPs, func(p netip.Prefix) vip { return vip{p} }),
		Interface:   &s.Interface,
		Communities: s.Communities,
		Neighbors:   s.Neighbors,
		Require:     rawRequireOf(s.Require),
		Checks:      each(s.Checks, rawCheckOf),
		Drain:       new(duration(s.Drain)),
	}
}

func rawRequireOf(q healthcheck.Require) *rawRequire {
	switch q.Mode {
	case healthcheck.RequireAny:
		return &rawRequire{Word: "any"}
	case healthcheck.RequireAtLeast:
		return &rawRequire{AtLeast: new(count(q.N))}
	case healthcheck.RequirePercent:
		return &rawRequire{Percent: new(count(q.N))}
	}
	return &rawRequire{Word: "all"}
}

// given is nil for a zero value, which is printed by leaving the key out.
func given[T comparable](v T) *T {
	if v == *new(T) {
		return nil
	}
	return &v
}

func either[T any](ok bool, yes, no T) T {
	if ok {
		return yes
	}
	return no
}

func each[A, B any](in []A, f func(A) B) []B {
	var out []B
	for _, a := range in {
		out = append(out, f(a))
	}
	return out
}

func metricOf(m announcer.Metric) *metric {
	if !m.Set {
		return nil
	}
	return new(metric(m.Value))
}

func addrOf(a netip.Addr) *netip.Addr {
	if !a.IsValid() {
		return nil
	}
	return &a
}

func literals(m map[string]string) map[string]literal {
	if len(m) == 0 {
		return nil
	}
	out := make(map[string]literal, len(m))
	for _, k := range slices.Sorted(maps.Keys(m)) {
		out[k] = literal(m[k])
	}
	return out
}
