package central

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/catchment-bgp/catchment/central/identity"
)

// meters count what the fleet cannot be asked for later.
type meters struct {
	reports, intents, conflicts, pruned prometheus.Counter
	refusals, granted, denials          *prometheus.CounterVec
}

func newMeters() *meters {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Namespace: "catchment_central", Name: name, Help: help})
	}
	vec := func(name, help, label string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "catchment_central", Name: name, Help: help}, []string{label})
	}
	return &meters{
		reports:   counter("reports_total", "Reports of edges."),
		intents:   counter("intents_total", "Intents sent to edges."),
		conflicts: counter("conflicts_total", "Decisions made anew since the store had changed meanwhile."),
		pruned:    counter("audit_pruned_total", "Audit records removed since they were too old."),
		refusals:  vec("refusals_total", "Requests for a grant refused, by the limit; one that is asked again counts again.", "limit"),
		denials:   vec("denials_total", "Calls and connections that were denied, by why.", "reason"),
		granted:   vec("grants_total", "Grants given, by what for.", "kind"),
	}
}

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("catchment_central_"+name, help, labels, nil)
}

var (
	descBuild      = desc("build_info", "1; the labels tell what the program was built from.", "version", "commit")
	descStreams    = desc("streams", "Streams of edges at this centre.")
	descBehind     = desc("streams_behind", "Streams whose edges have not confirmed for 10 s what was sent to them, or do not understand all of it.")
	descNodes      = desc("nodes", "Nodes that the centre knows, by whether they are in contact.", "seen")
	descGrants     = desc("grants", "Grants that have not been given back.", "service", "kind", "state")
	descOverridden = desc("safety_overrides", "Grants, windows and overrides in force in spite of a limit.")
	descAnnouncing = desc("announcing", "Nodes that announce the service.", "service")
	descWithdrawn  = desc("withdrawn_ratio", "Share of the service's capacity that is not announced.", "service")
	descFrozen     = desc("frozen", "1 while the fleet is frozen.")
	descUnseen     = desc("unseen", "1 for a service and family that a node announces and that no view from outside has.", "node", "service", "family")
	descOutside    = desc("bmp_connected", "1 while a view from outside is connected, to whichever centre.", "view")
	descView       = desc("view_age_seconds", "Age of what decisions for all edges are made of.")
	descLeads      = desc("leads", "1 if this centre is the one that steers.")
)

// Describe sends nothing: the collector is unchecked.
func (f *Fleet) Describe(chan<- *prometheus.Desc) {}

// Collect tells how the fleet stands, for Prometheus.
func (f *Fleet) Collect(ch chan<- prometheus.Metric) {
	now := time.Now()
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	leads := f.leads(now)
	f.mu.RLock()
	defer f.mu.RUnlock()
	gauge(descBuild, 1, f.settings.Version, f.settings.Commit)
	gauge(descStreams, float64(len(f.sessions)))
	gauge(descBehind, float64(f.behind(now)))
	gauge(descFrozen, number(f.w.frozen() != ""))
	gauge(descLeads, number(leads))
	gauge(descOverridden, float64(f.w.overridden(now)))
	f.collectStore(gauge, now)
	for node, scopes := range f.w.maintained(now) {
		for _, s := range scopes {
			gauge(descMaintenance, 1, node, s.Neighbor, s.Service)
		}
	}
	type grantLabels struct{ service, kind, state string }
	grants := map[grantLabels]int{}
	for _, g := range f.w.grants {
		grants[grantLabels{g.doc.Service, string(g.doc.Kind), string(g.doc.State)}]++
	}
	for l, n := range grants {
		gauge(descGrants, float64(n), l.service, l.kind, l.state)
	}
	for k, s := range f.w.sights {
		if s.Unseen {
			gauge(descUnseen, 1, k.node, k.service, k.family)
		}
	}
	views := f.w.views(now)
	for _, v := range f.settings.Outside.Views {
		gauge(descOutside, number(views[v.Name].Up), v.Name)
	}
	v := f.view.Load()
	if v == nil {
		return
	}
	gauge(descView, now.Sub(v.at).Seconds())
	seen := 0
	for _, n := range v.fleet.Nodes {
		if n.Seen {
			seen++
		}
	}
	gauge(descNodes, float64(seen), "true")
	gauge(descNodes, float64(len(v.fleet.Nodes)-seen), "false")
	f.collectServices(gauge, v)
}

// behind counts the streams whose edges do not have in force what was sent; under the lock.
func (f *Fleet) behind(now time.Time) int {
	n := 0
	for name, s := range f.sessions {
		if s.behind(f.w.local[name], now) {
			n++
		}
	}
	return n
}

// overridden counts what stands in spite of a limit.
func (w *world) overridden(now time.Time) int {
	n := 0
	for _, g := range w.grants {
		n += int(number(g.doc.Override))
	}
	for _, o := range w.overrides {
		n += int(number(o.doc.OverrideSafety && o.doc.Until.After(now)))
	}
	for _, d := range w.windows {
		n += int(number(d.doc.OverrideSafety && !d.doc.Proposed && d.doc.holds(now, time.Second)))
	}
	return n
}

func number(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// Registry has the metrics of this centre and its process.
func (f *Fleet) Registry() *prometheus.Registry {
	r := prometheus.NewRegistry()
	r.MustRegister(f, f.meters.reports, f.meters.intents, f.meters.conflicts, f.meters.pruned, f.meters.refusals, f.meters.granted, f.meters.denials,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return r
}

// Refused counts what the gate refuses.
func (m *meters) Refused(r identity.Reason) { m.denials.WithLabelValues(string(r)).Inc() }
