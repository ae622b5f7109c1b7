package edge

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/catchment-bgp/catchment/healthcheck"
	"github.com/catchment-bgp/catchment/policy"
)

// scrape reads all metrics of a node.
func scrape(t *testing.T, w *world) *prometheus.Registry {
	t.Helper()
	r := prometheus.NewPedanticRegistry()
	r.MustRegister(collector{w.node})
	return r
}

func TestMetricsAreThoseOfTheContract(t *testing.T) {
	up(t, func(t *testing.T, w *world) {
		w.say(at("ix"), Word{Verb: policy.Drain})
		w.report("origin", "502")
		w.rest()
		r := scrape(t, w)
		problems, err := testutil.GatherAndLint(r)
		if err != nil || len(problems) > 0 {
			t.Errorf("%v, %v", problems, err)
		}
		want := `
# HELP catchment_service_state 1 for the state that the service is in, else 0.
# TYPE catchment_service_state gauge
catchment_service_state{service="dns",state="announced"} 1
catchment_service_state{service="dns",state="draining"} 0
catchment_service_state{service="dns",state="steered"} 0
catchment_service_state{service="dns",state="withdrawn"} 0
catchment_service_state{service="video",state="announced"} 0
catchment_service_state{service="video",state="draining"} 0
catchment_service_state{service="video",state="steered"} 1
catchment_service_state{service="video",state="withdrawn"} 0
# HELP catchment_rung Rung of the neighbour's ladder that the service is at; 0: as configured.
# TYPE catchment_rung gauge
catchment_rung{neighbor="ix",service="video"} 0
catchment_rung{neighbor="transit",service="dns"} 0
catchment_rung{neighbor="transit",service="video"} 2
# HELP catchment_check_up 1 if the check is up.
# TYPE catchment_check_up gauge
catchment_check_up{check="origin",scope="soft",service="video"} 0
catchment_check_up{check="resolver",scope="hard",service="dns"} 1
catchment_check_up{check="web",scope="hard",service="video"} 1
# HELP catchment_check_duration_seconds How long the last probe took.
# TYPE catchment_check_duration_seconds gauge
catchment_check_duration_seconds{check="origin",scope="soft",service="video"} 0.003
catchment_check_duration_seconds{check="resolver",scope="hard",service="dns"} 0.003
catchment_check_duration_seconds{check="web",scope="hard",service="video"} 0.003
# HELP catchment_overrides Operators' overrides in force.
# TYPE catchment_overrides gauge
catchment_overrides{service="dns",verb="announce"} 0
catchment_overrides{service="dns",verb="drain"} 0
catchment_overrides{service="dns",verb="withdraw"} 0
catchment_overrides{service="video",verb="announce"} 0
catchment_overrides{service="video",verb="drain"} 1
catchment_overrides{service="video",verb="withdraw"} 0
# HELP catchment_routes Routes that stand at the neighbour, as written to its socket.
# TYPE catchment_routes gauge
catchment_routes{family="ipv4",neighbor="ix"} 1
catchment_routes{family="ipv4",neighbor="transit"} 2
catchment_routes{family="ipv6",neighbor="ix"} 1
catchment_routes{family="ipv6",neighbor="transit"} 1
# HELP catchment_service_changes_total Changes of state or reason, by the reason that brought them.
# TYPE catchment_service_changes_total counter
catchment_service_changes_total{reason="hard_failure",service="dns"} 1
catchment_service_changes_total{reason="hard_failure",service="video"} 1
catchment_service_changes_total{reason="normal",service="dns"} 1
catchment_service_changes_total{reason="normal",service="video"} 1
catchment_service_changes_total{reason="soft_failure",service="video"} 1
`
		var names []string
		for _, m := range regexp.MustCompile(`# TYPE (\S+)`).FindAllStringSubmatch(want, -1) {
			names = append(names, m[1])
		}
		if err := testutil.GatherAndCompare(r, strings.NewReader(want), names...); err != nil {
			t.Error(err)
		}
	})
}

func TestEveryFamilyOfMetricsIsThere(t *testing.T) {
	up(t, func(t *testing.T, w *world) {
		w.sampler.sources = someSources()
		w.measureAll()
		w.pass(time.Second)
		families, err := scrape(t, w).Gather()
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range families {
			got = append(got, strings.TrimPrefix(f.GetName(), "catchment_"))
		}
		want := []string{
			"build_info", "check_duration_seconds", "check_last_seconds", "check_up", "config_last_reload_seconds",
			"config_last_reload_successful", "config_pending", "connection_retransmits_ratio", "connection_round_trip_seconds",
			"flap_penalty", "flap_suppress_ratio", "guard_dropped_bytes_total", "guard_updates_dropped_total", "link_absorbs", "link_capacity_bytes_per_second", "link_drop_ratio",
			"link_shed_ratio", "link_slowdown_ratio", "load_samples_refused_total", "load_source_up", "load_target_ratio", "neighbor_info", "node_info", "node_utilization_ratio",
			"overrides", "pinned", "prefix_neighbors", "return_path_up", "route_refresh_total", "routes", "routes_wanted", "rung", "rung_changes_total", "rung_hindrance",
			"sample_age_seconds", "sample_stale", "service_changes_total", "service_reason", "service_state",
			"service_state_since_seconds", "session_hold_time_seconds", "session_since_seconds", "session_up",
			"sessions_total", "settled", "shed_ratio", "updates_sent_total", "utilization_ratio", "way_back_required", "way_back_up",
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}, measured...)
}

// listening serves a node's metrics and gets pages from it.
func listening(t *testing.T, w *world) (get func(path string) (int, string)) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- w.node.ServeMetrics(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("ServeMetrics: %v", err)
		}
	})
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 10 * time.Second}
	return func(path string) (int, string) {
		t.Helper()
		r, err := client.Get("http://" + l.Addr().String() + path)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Fatal(err)
		}
		return r.StatusCode, string(body)
	}
}

func TestProbesOfTheNodeItself(t *testing.T) {
	w := newWorld(t)
	w.start("leave_hold: 2s", "leave_hold: 0s")
	get := listening(t, w)
	expect := func(path string, code int, text string) {
		t.Helper()
		if got, body := get(path); got != code || !strings.Contains(body, text) {
			t.Errorf("%s: %d %q, want %d %q", path, got, body, code, text)
		}
	}
	eventually(t, "the checks run", func() bool { return w.started("web")+w.started("origin")+w.started("resolver") == 3 })
	expect("/healthz", 200, "ok")
	expect("/readyz", 503, "has no verdict yet")
	w.wellInTime()
	expect("/readyz", 200, "ok")
	expect("/metrics", 200, `catchment_session_up{asn="65001",neighbor="transit"} 1`)
	expect("/metrics", 200, "go_goroutines")
	w.probe("web", healthcheck.Status{Decided: true, Error: "refused"})
	eventually(t, "withdrawn", func() bool { return len(w.told("ix")) == 0 })
	expect("/readyz", 200, "ok") // a verdict, if a bad one
	w.stop()
	expect("/healthz", 503, "leaving")
	expect("/readyz", 503, "leaving")
	expect("/metrics", 500, "the node's loop did not answer")
}

func TestACheckThatOnlyObservesDoesNotMakeTheNodeUnready(t *testing.T) {
	up(t, func(t *testing.T, w *world) {
		w.reload(renamed...)
		r := httptest.NewRecorder()
		w.node.probe(r, httptest.NewRequest(http.MethodGet, "/readyz", nil), true)
		if r.Code != http.StatusOK {
			t.Errorf("%d %s", r.Code, r.Body)
		}
	})
}

func TestAScrapeOfALoopThatHangsIsAnErrorInTime(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		node, err := New(w.config(), nil, w.options()) // its loop has not begun
		if err != nil {
			t.Fatal(err)
		}
		w.node = node
		begin := time.Now()
		if _, err := scrape(t, w).Gather(); err == nil || !strings.Contains(err.Error(), "did not answer") {
			t.Errorf("%v", err)
		}
		if took := time.Since(begin); took != scrapeTime {
			t.Errorf("it took %v", took)
		}
		w.adopt(node)
		w.rest()
	})
}

func TestMetricsThatCannotBeServedSayWhy(t *testing.T) {
	bubbleless := newWorld(t)
	bubbleless.start("leave_hold: 2s", "leave_hold: 0s")
	defer bubbleless.stop()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	if err := bubbleless.node.ServeMetrics(context.Background(), l); err == nil || !strings.HasPrefix(err.Error(), "edge: metrics: ") {
		t.Errorf("metrics: %v", err)
	}
	if err := bubbleless.node.Serve(context.Background(), l); err == nil || !strings.HasPrefix(err.Error(), "edge: local API: ") {
		t.Errorf("API: %v", err)
	}
}
