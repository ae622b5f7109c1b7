package packages

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/catchment-bgp/catchment/lab/netlab"
)

const (
	// patience bounds each wait.
	patience = time.Minute
	confFile = "/etc/catchment/edge.yaml"
	restart  = "/usr/lib/catchment/restart-edge"
)

var prefix = netip.MustParsePrefix("198.51.100.0/24")

// node is a machine on which the edge node's packages live, beside a router.
type node struct {
	*machine
	bird *netlab.BIRD
}

func newNode(t *testing.T) *node {
	t.Helper()
	m := newMachine(t)
	lab := netlab.New(t, netlab.BIRDRouting)
	edge, up := lab.Node("edge"), lab.Node("up")
	lab.Link(edge, up, []string{"10.77.1.1/30"}, []string{"10.77.1.2/30"})
	edge.DefaultRoute("10.77.1.2")
	m.node = edge
	web, err := edge.Listen("tcp", "127.0.0.1:80")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(web) // until it is closed
	}()
	t.Cleanup(func() {
		_ = server.Close()
		<-done
	})
	return &node{m, up.BIRD(netlab.BIRDConfig{ASN: 64513, RouterID: "10.77.1.2", Neighbors: []netlab.BIRDNeighbor{
		{Address: netip.MustParseAddr("10.77.1.1"), Local: netip.MustParseAddr("10.77.1.2"), ASN: 64512},
	}}.String())}
}

// setThreeValues does what the shipped file asks for.
func (n *node) setThreeValues() {
	n.t.Helper()
	text, err := os.ReadFile(n.path(confFile))
	if err != nil {
		n.t.Fatal(err)
	}
	before := string(text)
	for _, value := range [][2]string{
		{"router_id: &local #", "router_id: &local 10.77.1.1 #"}, {"address: #", "address: 10.77.1.2 #"}, {"prefixes: [] #", "prefixes: [198.51.100.0/24] #"},
	} {
		if strings.Count(before, value[0]) != 1 {
			n.t.Fatalf("%s does not have %q once", confFile, value[0])
		}
		before = strings.Replace(before, value[0], value[1], 1)
	}
	if err := os.WriteFile(n.path(confFile), []byte(before), 0o640); err != nil {
		n.t.Fatal(err)
	}
}

// routed waits until the router has the route, or has it no longer.
func (n *node) routed(want bool) {
	n.t.Helper()
	netlab.Eventually(n.t, patience, fmt.Sprintf("a route at the router: %v", want), func() error {
		paths, err := n.bird.Routes(prefix)
		if err == nil && len(paths) > 0 != want {
			err = fmt.Errorf("it has %v", paths)
		}
		return err
	})
}

// status is of `catchment edge status -o json`.
type status struct {
	Version  string
	Services []struct{ Name, State, Reason string }
}

func (n *node) status() (s status, err error) {
	out, err := n.try("catchment", "edge", "status", "-o", "json")
	if err == nil {
		err = json.Unmarshal([]byte(out), &s)
	}
	if err == nil && len(s.Services) != 1 {
		err = fmt.Errorf("services: %+v", s.Services)
	}
	return s, err
}

// runs waits until a version of the daemon runs, and returns its process.
func (n *node) runs(version string) (pid string) {
	n.t.Helper()
	netlab.Eventually(n.t, patience, version+" to answer", func() error {
		s, err := n.status()
		if err == nil && s.Version != "v"+version {
			err = errors.New("it is " + s.Version)
		}
		return err
	})
	text, err := os.ReadFile(n.path("/run/catchment-edge.pid"))
	if err != nil {
		n.t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

func (n *node) session() string {
	n.t.Helper()
	s, err := n.bird.Session(netip.MustParseAddr("10.77.1.1"))
	if err != nil || s.State != netlab.Established {
		n.t.Fatalf("%+v, %v", s, err)
	}
	return s.Instance
}

func has(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("it does not say %q:\n%s", part, text)
		}
	}
}

// started is a node with the older packages, configured and announcing.
func started(t *testing.T) *node {
	n := newNode(t)
	n.install(older, "catchment", "catchment-edge")
	n.setThreeValues()
	n.run("systemctl", "start", "catchment-edge")
	n.routed(true)
	n.runs(older)
	n.asked()
	return n
}

func TestTheShippedFileStartsAfterThreeValues(t *testing.T) {
	n := newNode(t)
	said := n.install(older, "catchment-edge", "catchment", "catchment-central")
	has(t, said, "set three values in "+confFile, "systemctl enable --now catchment-edge")
	if asked := n.asked(); !slices.Equal(asked, []string{"daemon-reload [catchment catchment-central catchment-edge]", "daemon-reload [catchment catchment-central catchment-edge]"}) {
		t.Errorf("systemctl was asked %q: nothing is to start", asked)
	}
	for file, want := range map[string]string{
		"/etc/catchment": "catchment:catchment 750", confFile: "catchment:catchment 640",
		"/etc/catchment-central": "root:catchment-central 750", "/etc/catchment-central/central.yaml": "root:catchment-central 640",
	} {
		if got := n.owner(file); got != want {
			t.Errorf("%s is %s, want %s", file, got, want)
		}
	}
	said, err := n.try("catchment-edge", "--check", "--config", confFile)
	if err == nil {
		t.Error("the shipped file is accepted as it is")
	}
	for i, key := range []string{"router_id", "neighbors[0].address", "services[0].prefixes"} {
		line := 1 + strings.Count(n.before(fmt.Sprintf("# %d: ", i+1)), "\n")
		has(t, said, fmt.Sprintf("%s:%d: %s: ", confFile, line, key))
	}
	n.setThreeValues()
	if said := n.run("catchment-edge", "--check", "--config", confFile); said != "OK\n" {
		t.Errorf("with three values: %q", said)
	}
	n.run("systemctl", "start", "catchment-edge")
	n.routed(true)
	n.runs(older)
	has(t, n.run("catchment", "version"), "catchment v"+older+" ", " commit 0123456789abcdef0123456789abcdef01234567 of 2026-03-01T12:00:00Z\n")
	for _, program := range []string{"catchment-edge", "catchment-central"} {
		has(t, n.run(program, "--version"), program+" v"+older+" ")
	}
	for _, unit := range []string{"catchment-edge", "catchment-central"} {
		if said := n.run("systemd-analyze", "verify", "--man=no", "/usr/lib/systemd/system/"+unit+".service"); said != "" {
			t.Errorf("systemd-analyze verify: %s", said)
		}
	}
}

// before is the shipped file up to a text in it.
func (n *node) before(text string) string {
	n.t.Helper()
	file, err := os.ReadFile(n.path(confFile))
	if err != nil {
		n.t.Fatal(err)
	}
	head, _, ok := strings.Cut(string(file), text)
	if !ok {
		n.t.Fatalf("%s has no %q", confFile, text)
	}
	return head
}

func TestAnUpgradeLeavesANodeThatAnnouncesAlone(t *testing.T) {
	n := started(t)
	pid, session := n.runs(older), n.session()
	said := n.install(newer, "catchment", "catchment-edge")
	has(t, said, "not restarted, the old version goes on: it announces web announced", restart+" --now", "catchment edge drain --all")
	if got := n.runs(older); got != pid || n.session() != session {
		t.Errorf("process %s, session %s; before %s, %s", got, n.session(), pid, session)
	}
	if asked := n.asked(); !slices.Equal(asked, []string{"daemon-reload [catchment catchment-edge]"}) {
		t.Errorf("systemctl was asked %q", asked)
	}
	// What it announces keeps it from a restart until an operator has taken it away.
	if said, err := n.try(restart); err == nil || !strings.Contains(said, "exit status 3") && !strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("%v: %s", err, said)
	}
	n.run("catchment", "edge", "withdraw", "web", "--reason", "upgrade")
	n.routed(false)
	// What systemd takes from this file, or passes over, stops no restart.
	if err := os.WriteFile(n.path("/etc/catchment/edge.env"), []byte("# none\nFOO-BAR=1\nnot one\nLAST=2"), 0o600); err != nil {
		t.Fatal(err)
	}
	n.run(restart)
	if got := n.runs(newer); got == pid {
		t.Errorf("process %s still", got)
	}
	n.run("catchment", "edge", "auto", "web", "--reason", "upgraded")
	n.routed(true)
}

func TestAnUpgradeWithNowRestartsAndOneThatIsDrainedDoes(t *testing.T) {
	n := started(t)
	n.run("catchment", "edge", "withdraw", "web", "--reason", "upgrade")
	n.routed(false)
	if said := n.install(newer, "catchment", "catchment-edge"); strings.Contains(said, "not restarted") {
		t.Errorf("a node that announces nothing: %s", said)
	}
	pid := n.runs(newer)
	n.run("catchment", "edge", "auto", "web", "--reason", "upgraded")
	n.routed(true)
	n.asked()
	said := n.run(append([]string{"env", "CATCHMENT_NOW=1"}, n.dpkg(older, "catchment", "catchment-edge")...)...)
	if got := n.runs(older); got == pid || strings.Contains(said, "not restarted") {
		t.Errorf("process %s, before %s: %s", got, pid, said)
	}
	if asked := n.asked(); len(asked) != 2 || !strings.HasPrefix(asked[1], "restart catchment-edge") {
		t.Errorf("systemctl was asked %q", asked)
	}
}

func TestAVersionThatRefusesTheConfigurationIsNotStarted(t *testing.T) {
	n := started(t)
	pid := n.runs(older)
	if err := os.WriteFile(n.path(confFile), []byte("node: 1 2\n"), 0o640); err != nil {
		t.Fatal(err)
	}
	said, err := n.try(restart, "--now")
	if err == nil {
		t.Error("it is no error")
	}
	has(t, said, confFile+":1: ", "not restarted: the version installed refuses")
	if got := n.runs(older); got != pid {
		t.Errorf("process %s, before %s", got, pid)
	}
}

func TestRemovalWithdrawsFirstAndPurgeLeavesNoState(t *testing.T) {
	n := started(t)
	said := n.run("dpkg", "-r", "catchment-edge")
	has(t, said, "it announces web announced: routes are withdrawn before it is removed")
	n.routed(false)
	want := []string{"disable --now catchment-edge [catchment catchment-edge]", "daemon-reload [catchment]"}
	if asked := n.asked(); !slices.Equal(asked, want) {
		t.Errorf("systemctl was asked %q, want %q", asked, want)
	}
	log, err := os.ReadFile(n.path("/run/catchment-edge.log"))
	if err != nil {
		t.Fatal(err)
	}
	has(t, string(log), "leaving: withdrawing all routes")
	for file, want := range map[string]bool{"/usr/bin/catchment-edge": false, "/usr/lib/catchment": false, confFile: true, "/var/lib/catchment": true} {
		if got := n.exists(file); got != want {
			t.Errorf("after the removal %s is there: %v", file, got)
		}
	}
	key := "/etc/catchment/edge.key"
	if err := os.WriteFile(n.path(key), []byte("a key\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	n.run("dpkg", "-P", "catchment-edge")
	for file, want := range map[string]bool{confFile: false, "/var/lib/catchment": false, key: true} {
		if got := n.exists(file); got != want {
			t.Errorf("after the purge %s is there: %v", file, got)
		}
	}
}

func TestANodeThatDoesNotStopStaysInstalled(t *testing.T) {
	n := started(t)
	if err := os.Remove(filepath.Join(n.root, "run/systemd/system")); err != nil { // another supervisor's node
		t.Fatal(err)
	}
	pid := n.runs(older)
	said, err := n.try("dpkg", "-r", "catchment-edge")
	if err == nil || !n.exists("/usr/bin/catchment-edge") || !n.exists("/usr/lib/catchment/restart-edge") {
		t.Errorf("removed: %s", said)
	}
	has(t, said, "not removed: it runs, and not by systemd")
	if got := n.runs(older); got != pid {
		t.Errorf("process %s, before %s", got, pid)
	}
	n.routed(true)
}
