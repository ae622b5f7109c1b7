package scenarios

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/catchment-bgp/catchment/lab/alerts"
	"github.com/catchment-bgp/catchment/lab/netlab"
)

const (
	// alertWait bounds the way from a cause to its alert, of waits that are a sixtieth: longer than a busy machine needs.
	alertWait = 90 * time.Second

	promAddress = "127.0.0.1:9090"
)

var quietFor = flag.Duration("quiet", time.Minute, "for how long nothing is done to the fleet that Prometheus looks at: it is an hour for its rules")

// hastened is what waits are divided by.
func hastened() int { return int(max(1, time.Hour/max(*quietFor, time.Second))) }

// watcher is a Prometheus with the shipped rules.
type watcher struct {
	tb     testing.TB
	client *http.Client
}

// alert is one that Prometheus knows of.
type alert struct {
	Labels      map[string]string
	Annotations map[string]string
	State       string
}

// startPrometheus starts a Prometheus on a node that reads targets every second, by name.
func startPrometheus(t testing.TB, node *netlab.Node, pki string, targets map[string]string) *watcher {
	t.Helper()
	text, err := alerts.Text()
	if err != nil {
		t.Fatal(err)
	}
	const dir = "/run/prometheus"
	node.WriteFile(dir+"/rules.yml", string(alerts.Shorten(text, hastened())))
	config := "global: {scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 500ms}\nrule_files: [rules.yml]\nscrape_configs:\n"
	for _, name := range slices.Sorted(maps.Keys(targets)) {
		job := "{job_name: catchment-edge-%s, static_configs: [{targets: [%q]}]}"
		if strings.HasPrefix(name, "c") {
			job = "{job_name: catchment-central-%s, scheme: https, tls_config: {ca_file: " + filepath.Join(pki, "ca.pem") + "}, static_configs: [{targets: [%q]}]}"
		}
		config += fmt.Sprintf("  - "+job+"\n", name, targets[name])
	}
	node.WriteFile(dir+"/prometheus.yml", config)
	proc := node.Start("prometheus", netlab.PrometheusTool, "--config.file="+dir+"/prometheus.yml", "--storage.tsdb.path="+dir+"/data",
		"--web.listen-address="+promAddress, "--log.level=warn")
	t.Cleanup(proc.Kill)
	w := &watcher{tb: t, client: &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DialContext: node.DialContext, DisableKeepAlives: true}}}
	netlab.Eventually(t, sessionWait, "Prometheus to have all targets", func() error {
		var up struct{ Result []struct{ Value [2]any } }
		if err := w.get("query?query=up%3D%3D1", &up); err != nil {
			return err
		}
		if len(up.Result) != len(targets) {
			return fmt.Errorf("%d of %d are up", len(up.Result), len(targets))
		}
		return nil
	})
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("---- alerts: %v", w.firing())
		}
	})
	return w
}

// get asks Prometheus's API.
func (w *watcher) get(path string, into any) error {
	r, err := w.client.Get("http://" + promAddress + "/api/v1/" + path)
	if err != nil {
		return err
	}
	defer r.Body.Close()
	answer := struct {
		Status, Error string
		Data          any
	}{Data: into}
	if err := json.NewDecoder(r.Body).Decode(&answer); err != nil || answer.Status != "success" {
		return fmt.Errorf("%s: %s %s (%w)", path, answer.Status, answer.Error, err)
	}
	return nil
}

// firing are the alerts that fire.
func (w *watcher) firing() []alert {
	w.tb.Helper()
	var all struct{ Alerts []alert }
	if err := w.get("alerts", &all); err != nil {
		w.tb.Errorf("alerts: %v", err)
	}
	return slices.DeleteFunc(all.Alerts, func(a alert) bool { return a.State != "firing" })
}

// fires waits until an alert fires with these labels, pairs of name and value.
func (w *watcher) fires(name string, labels ...string) {
	w.tb.Helper()
	began := time.Now()
	netlab.Eventually(w.tb, alertWait, name+" to fire", func() error {
		a, err := w.find(name, labels...)
		if err == nil {
			w.tb.Logf("%s fires %v after it was waited for: %s", name, time.Since(began).Round(100*time.Millisecond), a.Annotations["summary"])
		}
		return err
	})
}

// find is an alert that fires with these labels. Where there is none, the error tells which others do.
func (w *watcher) find(name string, labels ...string) (alert, error) {
	w.tb.Helper()
	var others []string
	for _, a := range w.firing() {
		if a.Labels["alertname"] != name {
			others = append(others, a.Labels["alertname"])
			continue
		}
		if wrong := a.wrong(labels); wrong != "" {
			others = append(others, wrong)
			continue
		}
		return a, nil
	}
	slices.Sort(others)
	return alert{}, fmt.Errorf("there are %q", slices.Compact(others))
}

// wrong says what an alert lacks; "": nothing.
func (a alert) wrong(labels []string) string {
	for i := 0; i+1 < len(labels); i += 2 {
		if a.Labels[labels[i]] != labels[i+1] {
			return fmt.Sprint(a.Labels)
		}
	}
	for _, key := range []string{"summary", "description", "runbook_url"} {
		if a.Annotations[key] == "" || strings.Contains(a.Annotations[key], "error expanding template") || strings.Contains(a.Annotations[key], "no value") {
			return fmt.Sprintf("%s: %q", key, a.Annotations)
		}
	}
	return ""
}

// quiet wants a time in which nothing but the watchdog fires; it begins anew where a busy machine has missed scrapes. A
// machine whose own clock nobody keeps is told of rightly.
func (w *watcher) quiet(d time.Duration) {
	w.tb.Helper()
	var unkept struct{ Result []any }
	if err := w.get("query?query=catchment_clock_synchronised%3D%3D0", &unkept); err != nil {
		w.tb.Fatal(err)
	}
	expected := []string{"CatchmentWatchdog"}
	if len(unkept.Result) > 0 {
		expected = append(expected, "CatchmentClockUnsynchronised")
	}
	loud, since := "", time.Now()
	netlab.Eventually(w.tb, d+alertWait, fmt.Sprintf("%v in which nothing fires", d), func() error {
		for _, a := range w.firing() {
			if !slices.Contains(expected, a.Labels["alertname"]) {
				loud, since = fmt.Sprintf("%v: %s", a.Labels, a.Annotations["summary"]), time.Now()
			}
		}
		if quiet := time.Since(since); quiet < d {
			return fmt.Errorf("it is quiet for %v, since %q", quiet.Round(time.Second), loud)
		}
		return nil
	})
}
