package images

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	central "github.com/catchment-bgp/catchment/central/config"
	edge "github.com/catchment-bgp/catchment/edge/config"
)

// service is what of a service in docker-compose.yml is looked at here.
type service struct {
	Privileged  bool
	CapAdd      []string `yaml:"cap_add"`
	CapDrop     []string `yaml:"cap_drop"`
	HealthCheck struct{ Test []string }
	Volumes     []string
	DependsOn   map[string]struct{ Condition string } `yaml:"depends_on"`
}

func services(t *testing.T) map[string]service {
	t.Helper()
	text, err := os.ReadFile("../../docker-compose.yml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Services map[string]service }
	if err := yaml.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	if len(file.Services) == 0 {
		t.Fatal("docker-compose.yml has no services")
	}
	return file.Services
}

// once are the services that end when they have done their work.
func once(all map[string]service) []string {
	var names []string
	for _, s := range all {
		for name, d := range s.DependsOn {
			if d.Condition == "service_completed_successfully" && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

func TestEveryServiceThatStaysHasAHealthCheck(t *testing.T) {
	all := services(t)
	for name, s := range all {
		if len(s.HealthCheck.Test) == 0 && !slices.Contains(once(all), name) {
			t.Errorf("%s has no health check", name)
		}
	}
}

func TestOurServicesHaveTheCapabilitiesThatTheyNeedAndNoOther(t *testing.T) {
	routers := []string{"transit1", "transit2"}
	may := map[string][]string{"setup": {"CHOWN", "DAC_OVERRIDE"}}
	for _, name := range []string{"edge1", "edge2"} {
		may[name] = []string{"NET_ADMIN", "NET_BIND_SERVICE"} // as the unit in deploy/systemd
	}
	for name, s := range services(t) {
		if s.Privileged {
			t.Errorf("%s is privileged", name)
		}
		if slices.Contains(routers, name) {
			continue
		}
		if !slices.Equal(s.CapDrop, []string{"ALL"}) || !slices.Equal(s.CapAdd, may[name]) {
			t.Errorf("%s drops %v and adds %v, want all dropped and %v added", name, s.CapDrop, s.CapAdd, may[name])
		}
	}
}

// mounted is the file of this repository that a service has at a path.
func mounted(t *testing.T, s service, at string) string {
	t.Helper()
	for _, v := range s.Volumes {
		if from, rest, ok := strings.Cut(v, ":"); ok && rest == at+":ro" {
			return filepath.Join("../..", from)
		}
	}
	t.Fatalf("nothing is mounted at %s, but %v", at, s.Volumes)
	return ""
}

func TestTheMountedConfigurationsAreGood(t *testing.T) {
	all := services(t)
	for _, name := range []string{"edge1", "edge2"} {
		c, warnings, err := edge.Load(mounted(t, all[name], "/etc/catchment/edge.yaml"))
		if err != nil || len(warnings) > 0 {
			t.Errorf("%s: %v, warnings %v", name, err, warnings)
			continue
		}
		if c.Node != name {
			t.Errorf("the node of %s is called %s", name, c.Node)
		}
	}
	if _, err := central.Load(mounted(t, all["centre"], "/etc/catchment-central/central.yaml")); err != nil {
		t.Error(err)
	}
}

// promtool is Prometheus's own. Without it a test is skipped, and fails under CI.
func promtool(t *testing.T, args ...string) {
	t.Helper()
	if _, err := exec.LookPath("promtool"); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("no promtool (a failure and not a skip, because CI is set): apt-get install prometheus")
		}
		t.Skip("no promtool: apt-get install prometheus")
	}
	if out, err := exec.CommandContext(t.Context(), "promtool", args...).CombinedOutput(); err != nil {
		t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

func TestPrometheusTakesItsConfiguration(t *testing.T) {
	promtool(t, "check", "config", mounted(t, services(t)["prometheus"], "/etc/prometheus/prometheus.yml"))
}

func TestPrometheusReadsEveryEdgeAndTheCentre(t *testing.T) {
	all := services(t)
	text, err := os.ReadFile(mounted(t, all["prometheus"], "/etc/prometheus/prometheus.yml"))
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Jobs []struct {
			Static []struct{ Targets []string } `yaml:"static_configs"`
		} `yaml:"scrape_configs"`
	}
	if err := yaml.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, j := range file.Jobs {
		for _, s := range j.Static {
			got = append(got, s.Targets...)
		}
	}
	want := []string{"localhost:9090"}
	for name, port := range map[string]string{"edge1": ":9179", "edge2": ":9179", "centre": ":7180"} {
		if _, ok := all[name]; !ok {
			t.Errorf("docker-compose.yml has no service %s", name)
		}
		want = append(want, name+port)
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("Prometheus reads %v, want %v", got, want)
	}
}
