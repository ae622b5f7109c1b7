package edge

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/catchment-bgp/catchment/announcer"
	"github.com/catchment-bgp/catchment/announcer/guard"
	"github.com/catchment-bgp/catchment/edge/config"
	"github.com/catchment-bgp/catchment/maintenance"
	"github.com/catchment-bgp/catchment/policy"
)

// What alerts and dashboards need besides: names to join, and what is to be expected.
var (
	descNodeInfo     = desc("node_info", "1; the labels name the node and its site.", "node", "site")
	descNeighborInfo = desc("neighbor_info", "1; the labels say who the neighbour is, whom to call and about which circuit (labels.circuit).",
		"neighbor", "asn", "kind", "link", "contact", "circuit")
	descReason       = desc("service_reason", "1; the label tells why the service is in its state.", "service", "reason")
	descPrefix       = desc("prefix_neighbors", "Neighbours at which a route to the prefix stands.", "service", "prefix")
	descMaintenance  = desc("maintenance_active", "1 while a window, or an operator's drain or withdrawal that has an end, holds here: for the node, or for the neighbour or service that the labels name.", "node", "neighbor", "service")
	descNearness     = desc("flap_suppress_ratio", "The penalty in shares of that from which they suppress: from 1 on they may.", "neighbor")
	descWayNeeded    = desc("way_back_required", "1 if replies of the family must have a route: way_back.require is default, and a prefix is of the family.", "family")
	descReturnPath   = desc("return_path_up", "1 if replies to requests that came in at the neighbour leave as its return says.", "neighbor")
	descCapacity     = desc("link_capacity_bytes_per_second", "What the link carries.", "link")
	descTarget       = desc("load_target_ratio", "Utilization of a link that the controller holds (load.target).")
	descGrantRefused = desc("central_grants_refused", "Grants that the node asks for and that the centre refuses.", "kind")
	descCertificate  = desc("certificate_expires_seconds", "Unix time at which the certificate ends: this node's, and the first of the centre's CA.", "certificate")
)

// standing is what is to be expected of the node and of those around it.
func (m metrics) standing(s Snapshot) {
	m.gauge(descNodeInfo, 1, s.Config.Node, s.Config.Site)
	for _, n := range s.Config.Neighbors {
		m.gauge(descNeighborInfo, 1, n.Name, fmt.Sprint(n.ASN), kindNames[n.Kind], n.Link, n.Contact, n.Labels["circuit"])
		_, fault := s.ReturnFaults[n.Name]
		m.gauge(descReturnPath, bit(!fault), n.Name)
	}
	for _, svc := range s.Config.Services {
		m.gauge(descReason, 1, svc.Name, before(s.Decision, svc.Name).Reason.String())
		for _, p := range svc.Prefixes {
			m.gauge(descPrefix, s.standsAt(svc, p), svc.Name, p.String())
		}
	}
	for _, scope := range s.Maintenance {
		m.gauge(descMaintenance, 1, s.Config.Node, scope.Neighbor, scope.Service)
	}
	v4, v6 := familiesOf(s.Config)
	m.gauge(descWayNeeded, bit(s.Config.WayBack.Required && v4), "ipv4")
	m.gauge(descWayNeeded, bit(s.Config.WayBack.Required && v6), "ipv6")
}

// standsAt counts the neighbours of a service at which a prefix stands.
func (s Snapshot) standsAt(svc config.Service, p netip.Prefix) (n float64) {
	for _, name := range svc.Neighbors {
		st := s.Sessions[name]
		n += bit(st.State == guard.Established && slices.ContainsFunc(st.Standing, func(r announcer.Route) bool { return r.Prefix == p }))
	}
	return n
}

// familiesOf are the families that any service has prefixes of.
func familiesOf(c *config.Config) (v4, v6 bool) {
	for _, svc := range c.Services {
		for _, p := range svc.Prefixes {
			v4, v6 = v4 || p.Addr().Is4(), v6 || p.Addr().Is6()
		}
	}
	return v4, v6
}

// maintained is what windows and operators have under maintenance here, by this
// machine's clock. A drain without an end is none: it may have been forgotten.
func (e *Edge) maintained(now time.Time) []maintenance.Scope {
	running := e.centre.windows.running
	words := slices.Concat(e.overrides, e.centre.words)
	words = slices.DeleteFunc(words, func(o policy.Override) bool {
		return !o.Active(now) || o.Verb == policy.Announce || o.Until.IsZero()
	})
	if len(running)+len(words) == 0 {
		return nil
	}
	all := make([]maintenance.Target, 0, len(e.cfg.Services)*len(e.cfg.Neighbors))
	for i := range e.cfg.Services {
		for _, n := range e.cfg.Services[i].Neighbors {
			all = append(all, maintenance.Target{Service: e.cfg.Services[i].Name, Neighbor: n})
		}
	}
	return maintenance.Scopes(all, func(t maintenance.Target) bool {
		return len(running[targetKey{t.Service, t.Neighbor}]) > 0 || slices.ContainsFunc(words, func(o policy.Override) bool {
			return o.Service == t.Service && (o.Neighbor == "" || o.Neighbor == t.Neighbor)
		})
	})
}

// refusals counts what the centre refuses, by kind.
func (k *centreKeeper) refusals() map[string]int {
	out := map[string]int{}
	for _, l := range k.kept.Leases {
		if l.State == "" && l.Refused != "" {
			out[string(l.Kind)]++
		}
	}
	return out
}

// ends are when the certificates of an identity end.
type ends struct{ node, ca time.Time }

// endsOf reads them: of several CA certificates the first to end counts.
func endsOf(ca []byte, pair tls.Certificate) ends {
	var out ends
	if pair.Leaf != nil {
		out.node = pair.Leaf.NotAfter
	}
	for block, rest := pem.Decode(ca); block != nil; block, rest = pem.Decode(rest) {
		if c, err := x509.ParseCertificate(block.Bytes); err == nil && (out.ca.IsZero() || c.NotAfter.Before(out.ca)) {
			out.ca = c.NotAfter
		}
	}
	return out
}

// certificates are when those end that the link has used last.
func (l *centreLink) certificates() ends {
	if l == nil {
		return ends{}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ends
}

func (m metrics) identity(c CentreView) {
	for _, kind := range []string{"window", "load", "soft_failure", "override"} {
		m.gauge(descGrantRefused, float64(c.Refused[kind]), kind)
	}
	if !c.CertificateEnds.IsZero() {
		m.gauge(descCertificate, unixSeconds(c.CertificateEnds), "node")
	}
	if !c.CAEnds.IsZero() {
		m.gauge(descCertificate, unixSeconds(c.CAEnds), "ca")
	}
}

// capacity is what a link carries, in bit/s: the newest figure's, else as configured.
func (s Snapshot) capacity(link string) float64 {
	if c := s.Load.Samples[link].Capacity; c > 0 {
		return c
	}
	for _, l := range s.Config.Links {
		if l.Name == link {
			return float64(l.Capacity)
		}
	}
	return 0
}
