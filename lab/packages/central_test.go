package packages

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/catchment-bgp/catchment/lab/netlab"
)

const centralFile = "/etc/catchment-central/central.yaml"

func TestACentreStartsAsItsFileSaysAndIsRestartedByAnUpgrade(t *testing.T) {
	m := newMachine(t)
	m.node = netlab.New(t).Node("centre")
	said := m.install(older, "catchment", "catchment-central")
	has(t, said, "what is missing for a start stands at the top of "+centralFile)
	if said, err := m.try("catchment-central", "--check", "--config", centralFile); err == nil || !strings.Contains(said, centralFile+":19: domain: ") {
		t.Errorf("the shipped file: %v, %s", err, said)
	}
	m.edit(centralFile, "domain:\n", "domain: example.net\n")
	complete, ask := commandsOf(t, m)
	m.run(complete...)
	m.asked()
	m.run("systemctl", "start", "catchment-central")
	m.healthy()
	has(t, m.run(ask...), "No node has a service")

	pid := m.read("/run/catchment-central.pid")
	m.run(m.dpkg(older, "catchment-central")...)
	m.healthy()
	if got := m.read("/run/catchment-central.pid"); got == pid {
		t.Error("an upgrade leaves the old process")
	}
	if asked := m.asked(); len(asked) != 3 || !strings.HasPrefix(asked[2], "restart catchment-central") {
		t.Errorf("systemctl was asked %q", asked)
	}

	m.edit(centralFile, "domain: example.net\n", "domian: example.net\n")
	pid = m.read("/run/catchment-central.pid")
	has(t, m.run(m.dpkg(older, "catchment-central")...), centralFile+":19: ", "not restarted: the version installed refuses")
	if got := m.read("/run/catchment-central.pid"); got != pid {
		t.Error("it was restarted with a configuration that it refuses")
	}

	m.run("dpkg", "-r", "catchment-central")
	if asked := m.asked(); !slices.Contains(asked, "disable --now catchment-central [catchment catchment-central]") {
		t.Errorf("systemctl was asked %q", asked)
	}
	has(t, m.run("dpkg", "-P", "catchment-central"), "certificates and keys stay in /etc/catchment-central")
	for file, want := range map[string]bool{centralFile: false, "/var/lib/catchment-central": false, "/etc/catchment-central/pki/ca.key": true} {
		if m.exists(file) != want {
			t.Errorf("after the purge %s is there: %v", file, !want)
		}
	}
}

// commandsOf are those that the shipped file names, each kind for one shell: those that make it complete, and those that
// ask the centre when it runs.
func commandsOf(t *testing.T, m *machine) (complete, ask []string) {
	t.Helper()
	var before, after []string
	into := &before
	for line := range strings.Lines(m.read(centralFile)) {
		command, ok := strings.CutPrefix(line, "#   ")
		switch {
		case !ok:
		case strings.HasPrefix(command, "systemctl"):
			into = &after
		default:
			*into = append(*into, strings.NewReplacer("DOMAIN", "example.net", "NAME", "localhost", "YOU", "anna").Replace(strings.TrimSpace(command)))
		}
	}
	if len(before) != 5 || len(after) != 2 {
		t.Fatalf("%s names %q, and %q", centralFile, before, after)
	}
	shell := func(lines []string) []string { return []string{"sh", "-ec", strings.Join(lines, "\n")} }
	return shell(before), shell(after)
}

// healthy waits until the centre answers as its own health check does.
func (m *machine) healthy() {
	m.t.Helper()
	netlab.Eventually(m.t, patience, "the centre", func() error {
		_, err := m.try("catchment", "--ca", "/etc/catchment-central/pki/ca.pem", "health", "https://localhost:7180/readyz")
		return err
	})
}

func (m *machine) read(name string) string {
	m.t.Helper()
	text, err := os.ReadFile(m.path(name))
	if err != nil {
		m.t.Fatal(err)
	}
	return string(text)
}

func (m *machine) edit(name, before, after string) {
	m.t.Helper()
	text := m.read(name)
	if strings.Count(text, before) != 1 {
		m.t.Fatalf("%s does not have %q once", name, before)
	}
	if err := os.WriteFile(m.path(name), []byte(strings.Replace(text, before, after, 1)), 0o640); err != nil {
		m.t.Fatal(err)
	}
}
