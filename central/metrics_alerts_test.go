package central

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	dto "github.com/prometheus/client_model/go"
	"google.golang.org/protobuf/types/known/durationpb"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
	"github.com/catchment-bgp/catchment/central/bmp"
	"github.com/catchment-bgp/catchment/central/identity"
	"github.com/catchment-bgp/catchment/central/store"
	"github.com/catchment-bgp/catchment/internal/pages"
	"github.com/catchment-bgp/catchment/policy/fleet"
)

var updateMetrics = flag.Bool("update", false, "write the table of metrics anew")

// gathered has the families of a registry by name.
func gathered(t *testing.T, g prometheus.Gatherer) map[string]*dto.MetricFamily {
	t.Helper()
	families, err := g.Gather()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]*dto.MetricFamily{}
	for _, f := range families {
		out[f.GetName()] = f
	}
	return out
}

// series writes the series of a family as "label=value,... value" lines.
func series(f *dto.MetricFamily) string {
	var lines []string
	for _, m := range f.GetMetric() {
		var labels []string
		for _, l := range m.GetLabel() {
			labels = append(labels, l.GetName()+"="+l.GetValue())
		}
		lines = append(lines, strings.TrimSpace(fmt.Sprintf("%s %g", strings.Join(labels, ","), m.GetGauge().GetValue()+m.GetCounter().GetValue())))
	}
	return strings.Join(lines, "\n")
}

func (l *lab) series(name string) string { return series(gathered(l.t, l.f.Registry())[name]) }

// sizedStore is a store in memory that says what an embedded one would.
type sizedStore struct{ store.Store }

func (sizedStore) Usage() (store.Usage, bool) {
	return store.Usage{Size: 1, Quota: 4, Free: 3, Reserve: 2}, true
}

// identityFiles are a centre's, in a folder.
func identityFiles(t *testing.T, life time.Duration) *identity.Files {
	t.Helper()
	dir, now := filepath.Join(t.TempDir(), "pki"), time.Now()
	ca, err := identity.Init(dir, "example.net", now)
	if err != nil {
		t.Fatal(err)
	}
	paths := identity.Paths{CA: filepath.Join(dir, "ca.pem"), Cert: filepath.Join(dir, "c.pem"), Key: filepath.Join(dir, "c.key")}
	if err := ca.Issue(identity.Order{Kind: identity.Central, Name: "c1", Hosts: []string{"c1"}, Life: life}, paths.Cert, paths.Key, now); err != nil {
		t.Fatal(err)
	}
	files, err := identity.Open(paths, nil)
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// everything is a registry in which each metric of a centre has a series.
func everything(t *testing.T) *prometheus.Registry {
	t.Helper()
	l, v, _ := seenLab(t)
	v.set(func(s []bmp.State) { s[0].Routes = s[0].Routes[1:] })
	drain := &centralv1.SetFleetOverrideRequest{Selector: &centralv1.Selector{Nodes: []string{"n03"}}, Verb: "drain", Reason: "fire", OverrideSafety: true, Duration: durationpb.New(time.Hour)}
	if _, err := l.api.SetFleetOverride(l.ctx(), drain); err != nil {
		t.Fatal(err)
	}
	l.f.meters.Refused(identity.NoHandshake)
	l.f.meters.refusals.WithLabelValues("min_announcing").Inc()
	l.f.meters.granted.WithLabelValues("load").Inc()
	pass(70 * time.Second)
	l.kill() // nothing moves any more
	l.f.store = sizedStore{l.f.store}
	l.f.w.grants = table[fleet.Grant]{"n03/x": entry[fleet.Grant]{doc: fleet.Grant{ID: "x", Node: "n03", Service: video, Kind: fleet.Load, State: fleet.Held}}}
	r := l.f.Registry()
	r.MustRegister(certificates{identityFiles(t, time.Hour)})
	return r
}

const metricsPage = "docs/reference/central-metrics.md"

func TestTheReferenceHasTheCentresMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := everything(t)
		if problems, err := testutil.GatherAndLint(r); err != nil || len(problems) > 0 {
			t.Errorf("%v, %v", problems, err)
		}
		var want [][]string
		found := gathered(t, r)
		for _, name := range slices.Sorted(maps.Keys(found)) {
			if strings.HasPrefix(name, "catchment_") {
				want = append(want, row(found[name]))
			}
		}
		page, err := pages.Read(metricsPage)
		if err != nil {
			t.Fatal(err)
		}
		table, err := page.Table("Metrics")
		if err != nil {
			t.Fatal(err)
		}
		if *updateMetrics {
			rewriteTable(t, want)
		} else if fmt.Sprintf("%q", table.Rows) != fmt.Sprintf("%q", want) {
			t.Errorf("%s: go test ./central -run CentresMetrics -update writes the table anew; it has\n%q, a scrape has\n%q", page.Path, table.Rows, want)
		}
	})
}

// row is how the reference writes a metric.
func row(f *dto.MetricFamily) []string {
	labels := map[string]bool{}
	for _, m := range f.GetMetric() {
		for _, l := range m.GetLabel() {
			labels["`"+l.GetName()+"`"] = true
		}
	}
	return []string{"`" + f.GetName() + "`", strings.ToLower(f.GetType().String()), strings.Join(slices.Sorted(maps.Keys(labels)), ", "), f.GetHelp()}
}

func rewriteTable(t *testing.T, rows [][]string) {
	t.Helper()
	root, err := pages.Root()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(root, metricsPage)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for line := range strings.Lines(string(text)) {
		switch {
		case strings.HasPrefix(line, "| ---"):
			out.WriteString(line)
			for _, r := range rows {
				out.WriteString(strings.ReplaceAll("| "+strings.Join(r, " | ")+" |\n", "|  |", "| |"))
			}
		case !strings.HasPrefix(line, "| `catchment"):
			out.WriteString(line)
		}
	}
	if err := os.WriteFile(path, []byte(out.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestAServiceIsHeldAgainstItsLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, fleet.Limits{MinAnnouncing: 2, MaxWithdrawn: 0.34})
		edges := l.join(3)
		pass(time.Minute)
		expect := func(name, want string) {
			t.Helper()
			if got := l.series("catchment_central_" + name); got != want {
				t.Errorf("%s is %q, want %q", name, got, want)
			}
		}
		expect("min_announcing", "service=video 2")
		expect("max_withdrawn_ratio", "service=video 0.34")
		expect("service_nodes", "service=video 3")
		expect("announcing", "service=video 3")
		expect("capacity_bytes_per_second", "service=video 3.75e+09")
		expect("load_bytes_per_second", "service=video 7.5e+08")
		expect("prefix_announcing", "prefix=198.51.100.0/24,service=video 3")
		expect("store_reachable", "1")
		expect("store_size_bytes", "")
		for _, e := range edges {
			e.set(func(e *simEdge) { e.hard = false })
		}
		pass(time.Minute)
		expect("prefix_announcing", "prefix=198.51.100.0/24,service=video 2")
		for _, e := range edges {
			e.leave()
		}
		pass(time.Minute)
		expect("prefix_announcing", "prefix=198.51.100.0/24,service=video 0")
		l.f.cut.Store(true)
		expect("store_reachable", "0")
	})
}

func TestMaintenanceIsAMetricOfWhatIsUnderIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, fleet.Limits{})
		l.join(3)
		pass(time.Minute)
		expect := func(want string) {
			t.Helper()
			if got := l.series("catchment_maintenance_active"); got != want {
				t.Errorf("%q, want %q", got, want)
			}
		}
		expect("")
		window := &centralv1.AddWindowRequest{Selector: &centralv1.Selector{Neighbors: []string{"circuit=C-n01"}}, Start: "now", Duration: durationpb.New(10 * time.Minute), Reason: "card"}
		if _, err := l.api.AddWindow(l.ctx(), window); err != nil {
			t.Fatal(err)
		}
		pass(2 * time.Second)
		expect("neighbor=transit-a,node=n01,service= 1")
		drain := &centralv1.SetFleetOverrideRequest{Selector: &centralv1.Selector{Nodes: []string{"n02"}}, Verb: "drain", Reason: "fire"}
		word, err := l.api.SetFleetOverride(l.ctx(), drain)
		if err != nil {
			t.Fatal(err)
		}
		expect("neighbor=transit-a,node=n01,service= 1") // a drain without end or ticket may be forgotten
		if _, err := l.api.ClearFleetOverride(l.ctx(), &centralv1.ClearFleetOverrideRequest{Id: word.GetId(), Reason: "test"}); err != nil {
			t.Fatal(err)
		}
		drain.Ticket = "NOC-7"
		if _, err := l.api.SetFleetOverride(l.ctx(), drain); err != nil {
			t.Fatal(err)
		}
		expect("neighbor=,node=n02,service= 1\nneighbor=transit-a,node=n01,service= 1")
		pass(11 * time.Minute)
		expect("neighbor=,node=n02,service= 1")
	})
}

func TestCertificatesTellWhenTheyEnd(t *testing.T) {
	r := prometheus.NewRegistry()
	r.MustRegister(certificates{identityFiles(t, time.Hour)})
	got := map[string]float64{}
	for _, m := range gathered(t, r)["catchment_certificate_expires_seconds"].GetMetric() {
		got[m.GetLabel()[0].GetValue()] = m.GetGauge().GetValue() - float64(time.Now().Unix())
	}
	if len(got) != 2 || got["centre"] < 3000 || got["centre"] > 3700 || got["ca"] < 9*365*24*3600 {
		t.Errorf("seconds to live: %v", got)
	}
	plain := prometheus.NewRegistry()
	plain.MustRegister(certificates{})
	if found := gathered(t, plain); len(found) != 0 {
		t.Errorf("in plain text: %v", found)
	}
}
