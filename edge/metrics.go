package edge

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/catchment-bgp/catchment/announcer"
	"github.com/catchment-bgp/catchment/announcer/guard"
	"github.com/catchment-bgp/catchment/policy"
)

// collector reads a snapshot at each scrape.
type collector struct{ edge *Edge }

// scrapeTime bounds the wait for the loop.
const scrapeTime = time.Second

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("catchment_"+name, help, labels, nil)
}

var (
	descBuild        = desc("build_info", "1; the labels tell what the program was built from.", "version", "commit")
	descState        = desc("service_state", "1 for the state that the service is in, else 0.", "service", "state")
	descSince        = desc("service_state_since_seconds", "Unix time of the last change of state or reason.", "service")
	descChanges      = desc("service_changes_total", "Changes of state or reason, by the reason that brought them.", "service", "reason")
	descRung         = desc("rung", "Rung of the neighbour's ladder that the service is at; 0: as configured.", "service", "neighbor")
	descOverrides    = desc("overrides", "Operators' overrides in force.", "service", "verb")
	descCheckUp      = desc("check_up", "1 if the check is up.", "service", "check", "scope")
	descCheckTime    = desc("check_duration_seconds", "How long the last probe took.", "service", "check", "scope")
	descCheckLast    = desc("check_last_seconds", "Unix time of the last probe's end.", "service", "check", "scope")
	descWayBack      = desc("way_back_up", "1 if replies of the family have a route.", "family")
	descSession      = desc("session_up", "1 if the BGP session is established.", "neighbor", "asn")
	descSessionSince = desc("session_since_seconds", "Unix time of the session's last change of state.", "neighbor")
	descSessions     = desc("sessions_total", "How often the session was established.", "neighbor")
	descHold         = desc("session_hold_time_seconds", "Negotiated hold time, or the one proposed.", "neighbor")
	descRoutes       = desc("routes", "Routes that stand at the neighbour, as written to its socket.", "neighbor", "family")
	descWanted       = desc("routes_wanted", "Routes that shall stand at the neighbour.", "neighbor", "family")
	descSettled      = desc("settled", "1 if at the neighbour stands what is wanted and nothing else, or no session is up.", "neighbor")
	descSent         = desc("updates_sent_total", "UPDATEs written to the neighbour.", "neighbor")
	descDropped      = desc("guard_updates_dropped_total", "Inbound UPDATEs that the guard dropped.", "neighbor")
	descDroppedSize  = desc("guard_dropped_bytes_total", "Bytes of inbound UPDATEs that the guard dropped.", "neighbor")
	descRefresh      = desc("route_refresh_total", "Inbound ROUTE-REFRESHes by what became of them.", "neighbor", "outcome")
	descReloaded     = desc("config_last_reload_successful", "1 if the last reload was taken up, or none was tried.")
	descReloadTime   = desc("config_last_reload_seconds", "Unix time of the last reload; 0: none.")
	descPending      = desc("config_pending", "1 while an applied configuration waits for its confirmation.")
)

// Describe sends nothing: the collector is unchecked.
func (collector) Describe(chan<- *prometheus.Desc) {}

// Collect takes a snapshot.
func (c collector) Collect(out chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTime)
	defer cancel()
	s, err := c.edge.Snapshot(ctx)
	if err != nil {
		out <- prometheus.NewInvalidMetric(descBuild, fmt.Errorf("the node's loop did not answer: %w", err))
		return
	}
	m := metrics{out}
	m.gauge(descBuild, 1, s.Version, s.Commit)
	m.node(s)
	m.standing(s)
	for _, svc := range s.Config.Services {
		m.service(s, svc.Name)
	}
	for key, n := range s.Changes {
		m.counter(descChanges, float64(n), key.Service, key.Reason.String())
	}
	m.load(s)
	m.centre(s)
	for _, n := range s.Config.Neighbors {
		m.neighbor(n.Name, n.ASN, s.Sessions[n.Name])
	}
}

// metrics sends samples.
type metrics struct{ out chan<- prometheus.Metric }

func (m metrics) gauge(d *prometheus.Desc, v float64, labels ...string) {
	m.out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
}

func (m metrics) counter(d *prometheus.Desc, v float64, labels ...string) {
	m.out <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, v, labels...)
}

func bit(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// unixSeconds is a time as Prometheus has it; 0 for the zero time.
func unixSeconds(t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return float64(t.UnixNano()) / 1e9
}

func (m metrics) node(s Snapshot) {
	m.gauge(descWayBack, bit(s.WayBack4 == policy.Up), "ipv4")
	m.gauge(descWayBack, bit(s.WayBack6 == policy.Up), "ipv6")
	m.gauge(descReloaded, bit(s.Reloaded || s.ReloadedAt.IsZero()))
	m.gauge(descReloadTime, unixSeconds(s.ReloadedAt))
	m.gauge(descPending, bit(!s.RevertsAt.IsZero()))
}

func (m metrics) service(s Snapshot, name string) {
	sd := before(s.Decision, name)
	for sev := policy.Announced; sev <= policy.Withdrawn; sev++ {
		m.gauge(descState, bit(sd.Severity == sev), name, sev.String())
	}
	m.gauge(descSince, unixSeconds(sd.Since), name)
	for _, n := range s.Config.Neighbors {
		for _, nd := range sd.Neighbors {
			if nd.Name == n.Name {
				m.gauge(descRung, float64(rung(n, nd)), name, n.Name)
			}
		}
	}
	for _, verb := range []policy.Verb{policy.Drain, policy.Withdraw, policy.Announce} {
		n := 0
		for _, o := range s.Overrides {
			if o.Service == name && o.Verb == verb {
				n++
			}
		}
		m.gauge(descOverrides, float64(n), name, verb.String())
	}
	for _, c := range s.Checks[name] {
		scope := toCheck(c).GetScope()
		m.gauge(descCheckUp, bit(c.Up), name, c.Name, scope)
		m.gauge(descCheckTime, c.Duration.Seconds(), name, c.Name, scope)
		m.gauge(descCheckLast, unixSeconds(c.Last), name, c.Name, scope)
	}
}

func (m metrics) neighbor(name string, asn uint32, st announcer.Status) {
	m.gauge(descSession, bit(st.State == guard.Established), name, fmt.Sprint(asn))
	m.gauge(descSessionSince, unixSeconds(st.Since), name)
	m.counter(descSessions, float64(st.Sessions), name)
	m.gauge(descHold, st.HoldTime.Seconds(), name)
	v4, v6 := count(st.Standing)
	m.gauge(descRoutes, v4, name, "ipv4")
	m.gauge(descRoutes, v6, name, "ipv6")
	v4, v6 = count(st.Wanted)
	m.gauge(descWanted, v4, name, "ipv4")
	m.gauge(descWanted, v6, name, "ipv6")
	m.gauge(descSettled, bit(st.State != guard.Established || st.Settled), name)
	m.counter(descSent, float64(st.UpdatesSent), name)
	m.counter(descDropped, float64(st.UpdatesDropped), name)
	m.counter(descDroppedSize, float64(st.BytesDropped), name)
	m.counter(descRefresh, float64(st.RefreshPassed), name, "passed")
	m.counter(descRefresh, float64(st.RefreshDropped), name, "dropped")
}

// count counts routes by family.
func count(routes []announcer.Route) (v4, v6 float64) {
	for _, r := range routes {
		if r.Prefix.Addr().Is4() {
			v4++
		} else {
			v6++
		}
	}
	return v4, v6
}

// ServeMetrics answers /metrics, /healthz and /readyz until the context is done.
//
// /healthz is 200 while the loop answers within a second. /readyz is 200 when,
// besides, no service waits for its first verdict.
func (e *Edge) ServeMetrics(ctx context.Context, l net.Listener) error {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collector{e}, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, r *http.Request) { e.probe(w, r, false) })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) { e.probe(w, r, true) })
	s := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second, WriteTimeout: 10 * time.Second, IdleTimeout: time.Minute}
	stopped := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(stopped)
		_ = s.Close()
	})
	err := s.Serve(l)
	if !stop() {
		<-stopped
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return fmt.Errorf("edge: metrics: %w", err)
}

func (e *Edge) probe(w http.ResponseWriter, r *http.Request, ready bool) {
	ctx, cancel := context.WithTimeout(r.Context(), scrapeTime)
	defer cancel()
	s, err := e.Snapshot(ctx)
	if err != nil {
		http.Error(w, "the loop does not answer: "+err.Error(), http.StatusServiceUnavailable)
		return
	}
	if ready {
		for name, cs := range s.Checks {
			for _, c := range cs {
				if !c.Decided && !c.Observing {
					http.Error(w, fmt.Sprintf("check %s of %s has no verdict yet", c.Name, name), http.StatusServiceUnavailable)
					return
				}
			}
		}
	}
	fmt.Fprintln(w, "ok")
}
