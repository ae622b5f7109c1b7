package central

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/catchment-bgp/catchment/central/identity"
	"github.com/catchment-bgp/catchment/central/store"
	"github.com/catchment-bgp/catchment/maintenance"
)

// What alerts and dashboards need besides: what to hold the figures against.
var (
	descServiceNodes  = desc("service_nodes", "Nodes that shall announce the service.", "service")
	descLeast         = desc("min_announcing", "Nodes that must announce the service (min_announcing).", "service")
	descMostWithdrawn = desc("max_withdrawn_ratio", "Share of the service's capacity that may be withdrawn (max_withdrawn); 1: all.", "service")
	descCapacity      = desc("capacity_bytes_per_second", "What the nodes that announce the service can carry, as far as it is known.", "service")
	descLoad          = desc("load_bytes_per_second", "What the nodes that announce the service carry, as far as it is known.", "service")
	descPrefix        = desc("prefix_announcing", "Nodes that announce the prefix, and are seen from outside where anybody looks.", "service", "prefix")
	descReachable     = desc("store_reachable", "1 if this centre reaches its store.")
	descStoreSize     = desc("store_size_bytes", "Bytes of the store; an embedded one only.")
	descStoreQuota    = desc("store_quota_bytes", "Bytes that the store may have before nothing is written; an embedded one only.")
	descStoreFree     = desc("store_disk_free_bytes", "Bytes free on the store's disk; an embedded one only.")
	descStoreReserve  = desc("store_disk_reserve_bytes", "Bytes that must be free on the store's disk for anything to be written; an embedded one only.")

	descMaintenance = prometheus.NewDesc("catchment_maintenance_active",
		"1 while a window, or an operator's drain or withdrawal that has an end or a ticket, holds: for the node, or for the neighbour or service that the labels name.",
		[]string{"node", "neighbor", "service"}, nil)
	descCertificate = prometheus.NewDesc("catchment_certificate_expires_seconds",
		"Unix time at which the certificate ends: this centre's, and the first of the CAs of its callers.", []string{"certificate"}, nil)
)

// gauges sends samples.
type gauges func(d *prometheus.Desc, v float64, labels ...string)

// limits are the services' limits, and what is held against them; under the lock.
func (f *Fleet) collectServices(gauge gauges, v *view) {
	for _, service := range v.fleet.Services() {
		c, limits := v.fleet.Count(service), f.settings.limits(service)
		gauge(descServiceNodes, float64(c.Nodes), service)
		gauge(descAnnouncing, float64(c.Announcing), service)
		gauge(descWithdrawn, c.Withdrawn, service)
		gauge(descLeast, float64(max(1, limits.MinAnnouncing)), service)
		most := limits.MaxWithdrawn
		if !(most > 0 && most <= 1) {
			most = 1
		}
		gauge(descMostWithdrawn, most, service)
		gauge(descCapacity, c.Capacity/8, service)
		gauge(descLoad, c.Load/8, service)
	}
	for p, n := range f.w.prefixes(v) {
		gauge(descPrefix, float64(n), p.service, p.prefix)
	}
}

// servicePrefix is a prefix of a service.
type servicePrefix struct{ service, prefix string }

// prefixes counts who announces each prefix, as the nodes report it: a grant that is not
// acted on takes nothing away yet.
func (w *world) prefixes(v *view) map[servicePrefix]int {
	out := map[servicePrefix]int{}
	for i := range v.fleet.Nodes {
		n := &v.fleet.Nodes[i]
		for _, s := range w.nodes.get(n.Name).hello().GetServices() {
			one := int(number(n.Seen && n.Services[s.GetName()].Announcing))
			for _, p := range s.GetPrefixes() {
				out[servicePrefix{s.GetName(), p}] += one
			}
		}
	}
	return out
}

// maintained is, by node, what windows and operators have under maintenance. Nodes
// without any are left out.
func (w *world) maintained(now time.Time) map[string][]maintenance.Scope {
	var sel []maintenance.Selector
	for _, d := range w.windowsAt(now) {
		sel = append(sel, d.Select)
	}
	for _, o := range w.overrides {
		limited := o.doc.Ticket != "" || !o.doc.Until.IsZero()
		if o.doc.Verb != "announce" && limited && (o.doc.Until.IsZero() || o.doc.Until.After(now)) {
			sel = append(sel, o.doc.Select)
		}
	}
	if len(sel) == 0 {
		return nil
	}
	hit := func(t maintenance.Target) bool {
		for _, s := range sel {
			if s.Matches(t) {
				return true
			}
		}
		return false
	}
	out := map[string][]maintenance.Scope{}
	for name := range w.nodes {
		if scopes := maintenance.Scopes(w.targets(name), hit); len(scopes) > 0 {
			out[name] = scopes
		}
	}
	return out
}

// sized is a store that knows how much it holds.
type sized interface{ Usage() (store.Usage, bool) }

func (f *Fleet) collectStore(gauge gauges, now time.Time) {
	gauge(descReachable, number(!f.cutOff(now)))
	s, ok := f.store.(sized)
	if !ok {
		return
	}
	if u, ok := s.Usage(); ok {
		gauge(descStoreSize, float64(u.Size))
		gauge(descStoreQuota, float64(u.Quota))
		gauge(descStoreFree, float64(u.Free))
		gauge(descStoreReserve, float64(u.Reserve))
	}
}

// certificates tells when a centre's certificates end.
type certificates struct{ files *identity.Files }

// Describe sends nothing: the collector is unchecked.
func (c certificates) Describe(chan<- *prometheus.Desc) {}

// Collect reads the files again if they have changed.
func (c certificates) Collect(ch chan<- prometheus.Metric) {
	if c.files == nil { // plain text
		return
	}
	for name, end := range map[string]time.Time{"centre": c.files.NotAfter(), "ca": c.files.CANotAfter()} {
		if !end.IsZero() {
			ch <- prometheus.MustNewConstMetric(descCertificate, prometheus.GaugeValue, float64(end.Unix()), name)
		}
	}
}
