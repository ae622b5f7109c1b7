package alerts

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"gopkg.in/yaml.v3"
)

// managerConfig is what is checked of alertmanager.yml besides what amtool does.
type managerConfig struct {
	Inhibit []struct {
		Source []string `yaml:"source_matchers"`
		Target []string `yaml:"target_matchers"`
	} `yaml:"inhibit_rules"`
}

func TestAlertmanagerTakesItsConfigurationWhichNamesAlertsThatExist(t *testing.T) {
	tool(t, folder(t, "deploy/prometheus"), "amtool", "check-config", "alertmanager.yml")
	var c managerConfig
	if err := yaml.Unmarshal([]byte(read(t, "deploy/prometheus/alertmanager.yml")), &c); err != nil {
		t.Fatal(err)
	}
	alerts := shippedAlerts(t)
	for _, r := range c.Inhibit {
		for _, m := range append(r.Source, r.Target...) {
			for _, name := range named(m) {
				if alerts[name].Alert == "" {
					t.Errorf("%s: there is no alert %s", m, name)
				}
			}
		}
	}
}

// named are the alerts that a matcher names: alertname="A" or alertname=~"Catchment(A|B)".
func named(matcher string) []string {
	value, is := strings.CutPrefix(matcher, "alertname=")
	if !is {
		return nil
	}
	value = strings.Trim(value, `~"`)
	prefix, list, many := strings.Cut(strings.TrimSuffix(value, ")"), "(")
	if !many {
		return []string{value}
	}
	var out []string
	for _, name := range strings.Split(list, "|") {
		out = append(out, prefix+name)
	}
	return out
}

func TestRoutesLeadToWhomTheyShould(t *testing.T) {
	dir := folder(t, "deploy/prometheus")
	for labels, want := range map[string]string{
		"alertname=CatchmentWatchdog severity=none":             "watchdog",
		"alertname=CatchmentMaintenance severity=none":          "nobody",
		"alertname=CatchmentAnnouncedNowhere severity=critical": "pager",
		"alertname=CatchmentSessionDown severity=warning":       "noc",
	} {
		args := append([]string{"config", "routes", "test", "--config.file=alertmanager.yml"}, strings.Fields(labels)...)
		lines := strings.Split(strings.TrimSpace(tool(t, dir, "amtool", args...)), "\n") // a warning may stand before
		if got := lines[len(lines)-1]; got != want {
			t.Errorf("%s goes to %s, want %s", labels, got, want)
		}
	}
}

// manager is an Alertmanager with the shipped configuration.
type manager struct {
	t      *testing.T
	url    string
	client *http.Client
}

func startManager(t *testing.T) *manager {
	t.Helper()
	tool(t, ".", "prometheus-alertmanager", "--version")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	cmd := exec.Command("prometheus-alertmanager", "--config.file="+folder(t, "deploy/prometheus/alertmanager.yml"), "--storage.path="+t.TempDir(),
		"--web.listen-address="+address, "--cluster.listen-address=", "--log.level=error")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	m := &manager{t: t, url: "http://" + address, client: &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}}
	m.eventually("Alertmanager to be ready", func() error {
		r, err := m.client.Get(m.url + "/-/ready")
		if err == nil {
			r.Body.Close()
			if r.StatusCode != http.StatusOK {
				err = fmt.Errorf("it says %s", r.Status)
			}
		}
		return err
	})
	return m
}

func (m *manager) eventually(what string, check func() error) {
	m.t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for start := time.Now(); ; <-tick.C {
		err := check()
		if err == nil {
			return
		}
		if time.Since(start) > 30*time.Second {
			m.t.Fatalf("waited 30s for %s: %v", what, err)
		}
	}
}

// labelsOf reads "Name key=value ..." as the labels of an alert.
func labelsOf(text string, severity string) map[string]string {
	fields := strings.Fields(text)
	out := map[string]string{"alertname": "Catchment" + fields[0], "severity": severity}
	for _, f := range fields[1:] {
		k, v, _ := strings.Cut(f, "=")
		out[k] = v
	}
	return out
}

// looks is how often in a row Alertmanager must tell the same: each of its parts learns of an alert in its own time, and
// what holds another back may be known after that one.
const looks = 10

// tells has alerts fire, and waits until those that are not held back are these, and stay so.
func (m *manager) tells(alerts map[string]Rule, fire, want []string) {
	m.t.Helper()
	type posted struct {
		Labels map[string]string `json:"labels"`
	}
	var body []posted
	for _, f := range fire {
		name := "Catchment" + strings.Fields(f)[0]
		if alerts[name].Alert == "" {
			m.t.Fatalf("there is no alert %s", name)
		}
		body = append(body, posted{labelsOf(f, alerts[name].Labels["severity"])})
	}
	text, err := json.Marshal(body)
	if err != nil {
		m.t.Fatal(err)
	}
	r, err := m.client.Post(m.url+"/api/v2/alerts", "application/json", bytes.NewReader(text))
	if err != nil {
		m.t.Fatal(err)
	}
	r.Body.Close()
	if r.StatusCode != http.StatusOK {
		m.t.Fatalf("Alertmanager says %s", r.Status)
	}
	seen := 0
	m.eventually("what is told", func() error {
		var all []struct {
			Labels map[string]string
			Status struct{ State string }
		}
		r, err := m.client.Get(m.url + "/api/v2/alerts")
		if err != nil {
			return err
		}
		defer r.Body.Close()
		if err := json.NewDecoder(r.Body).Decode(&all); err != nil || len(all) != len(fire) {
			return fmt.Errorf("%d alerts (%w)", len(all), err)
		}
		var told []string
		for _, a := range all {
			switch {
			case a.Status.State == "unprocessed":
				return fmt.Errorf("%v is unprocessed", a.Labels)
			case a.Status.State == "active" && a.Labels["severity"] != "none":
				told = append(told, strings.TrimPrefix(a.Labels["alertname"], "Catchment")+" "+a.Labels["node"])
			}
		}
		slices.Sort(told)
		if seen++; !slices.Equal(told, want) {
			seen = 0
		}
		if seen < looks {
			return fmt.Errorf("told are %q, want %q", told, want)
		}
		return nil
	})
}

// TestTheLargerAlertIsTheOneThatIsTold has a real Alertmanager judge what the rules may fire.
func TestTheLargerAlertIsTheOneThatIsTold(t *testing.T) {
	alerts := shippedAlerts(t)
	for name, tt := range map[string]struct{ fire, want []string }{
		"F1: a backbone that is lost is one alert": {
			[]string{"SharedSoftFailure service=video", "CheckDown service=video check=origin scope=soft", "CentreAway", "NodesOutOfContact",
				"GrantRefused kind=soft_failure node=msk1", "GrantRefused kind=soft_failure node=msk2", "AtMinAnnouncing service=video", "Watchdog"},
			[]string{"SharedSoftFailure "},
		},
		"a node under maintenance is held back, others are not": {
			[]string{"Maintenance node=msk1", "SessionDown node=msk1 neighbor=a", "EdgeDown node=msk1", "AllSessionsDown node=msk1", "WindowNotOpened node=msk1", "SessionDown node=msk2 neighbor=a"},
			[]string{"SessionDown msk2", "WindowNotOpened msk1"},
		},
		"maintenance of a neighbour is about that neighbour": {
			[]string{"Maintenance node=msk1 neighbor=a", "SessionDown node=msk1 neighbor=a", "SessionDown node=msk1 neighbor=b", "EdgeDown node=msk1", "ServiceWithdrawn node=msk1 service=video"},
			[]string{"EdgeDown msk1", "ServiceWithdrawn msk1", "SessionDown msk1"},
		},
		"maintenance of a service is about that service": {
			[]string{"Maintenance node=msk1 service=video", "ServiceWithdrawn node=msk1 service=video", "ServiceWithdrawn node=msk1 service=dns", "SessionDown node=msk1 neighbor=a"},
			[]string{"ServiceWithdrawn msk1", "SessionDown msk1"},
		},
		"announced nowhere says it all": {
			[]string{"AnnouncedNowhere service=video prefix=198.51.100.0/24", "BelowMinAnnouncing service=video", "ServiceWithdrawn service=video node=msk1", "CheckDown service=video check=web scope=hard", "CheckDown service=dns check=web scope=hard"},
			[]string{"AnnouncedNowhere ", "CheckDown "},
		},
		"no session at all is more than one": {
			[]string{"AllSessionsDown node=msk1", "SessionDown node=msk1 neighbor=a", "SessionDown node=msk1 neighbor=b", "SessionDown node=msk2 neighbor=a"},
			[]string{"AllSessionsDown msk1", "SessionDown msk2"},
		},
		"a centre that is down is why edges are without it": {
			[]string{"CentreDown instance=c1", "CentreAway", "ViewAway view=a", "CertificateEnds instance=c1 certificate=centre", "CertificateExpiring instance=c1 certificate=centre", "CertificateExpiring instance=msk1 certificate=node"},
			[]string{"CentreDown ", "CertificateEnds ", "CertificateExpiring "},
		},
		"a centre that is cut off does not say that another one is stuck": {
			[]string{"StoreCutOff job=catchment-central instance=c1", "CentreStuck job=catchment-central instance=c1", "CentreStuck job=catchment-central instance=c2", "NoCentreSteers",
				"EdgesBehind job=catchment-central instance=c1", "CentreAway"},
			[]string{"CentreStuck ", "StoreCutOff "},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			startManager(t).tells(alerts, tt.fire, tt.want)
		})
	}
}
