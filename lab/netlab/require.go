package netlab

import (
	"os"
	"os/exec"
	"strings"
)

// TB is what the lab uses of testing.TB.
type TB interface {
	// Helper marks the caller as a helper: failures are reported at its caller's line.
	Helper()
	// Name is the test's name.
	Name() string
	// Logf notes something.
	Logf(format string, args ...any)
	// Errorf fails the test, which goes on.
	Errorf(format string, args ...any)
	// Fatalf fails the test and ends its goroutine.
	Fatalf(format string, args ...any)
	// Skipf skips the test and ends its goroutine.
	Skipf(format string, args ...any)
	// Failed says whether the test has failed.
	Failed() bool
	// Cleanup has a function called when the test is over, the last one first.
	Cleanup(func())
}

// Need is something that the machine must offer.
type Need int

// What a test can need. Root comes with the right to make namespaces and the `ip` command.
const (
	Root Need = iota
	FRRouting
	BIRDRouting
	NginxServer
	Nft
	Tcpdump
	Tc
	OpenBGPDRouting
	ExaBGPRouting
	Prometheus
	Chromium
)

// needs says how each Need is met: files that must exist, and the Debian package that brings them.
var needs = map[Need]struct {
	name, pkg string
	files     []string
}{
	Root:        {"ip", "iproute2", []string{ipTool}},
	FRRouting:   {"FRR", "frr", []string{frrDir + "/zebra", frrDir + "/bgpd", vtyshTool}},
	BIRDRouting: {"BIRD 2", "bird2", []string{birdTool}},
	NginxServer: {"nginx", "nginx-light", []string{nginxTool}},
	Nft:         {"nft", "nftables", []string{"/usr/sbin/nft"}},
	Tcpdump:     {"tcpdump", "tcpdump", []string{"/usr/bin/tcpdump"}},
	Tc:          {"tc", "iproute2", []string{"/usr/sbin/tc"}},

	Chromium: {"Chromium", "chromium", []string{"/usr/bin/chromium"}},

	OpenBGPDRouting: {"OpenBGPD", "openbgpd", []string{openBGPDTool, bgpctlTool}},
	Prometheus:      {"Prometheus", "prometheus", []string{PrometheusTool}},
	ExaBGPRouting:   {"ExaBGP 4", "exabgp", []string{exaBGPTool, exaHealthTool, "/usr/bin/curl"}},
}

// PrometheusTool is Prometheus's server.
const PrometheusTool = "/usr/bin/prometheus"

const (
	frrDir    = "/usr/lib/frr"
	ipTool    = "/usr/sbin/ip"
	vtyshTool = "/usr/bin/vtysh"
	birdTool  = "/usr/sbin/bird"
	nginxTool = "/usr/sbin/nginx"

	openBGPDTool  = "/usr/sbin/bgpd"
	bgpctlTool    = "/usr/sbin/bgpctl"
	exaBGPTool    = "/usr/sbin/exabgp"
	exaHealthTool = "/usr/bin/exabgp-healthcheck"
)

// Require ends the test when the machine cannot run it: with a failure when the environment says CI, so that nothing
// is skipped unseen there, and with a skip elsewhere. The message names everything that is missing.
func Require(t TB, wanted ...Need) {
	t.Helper()
	if missing := lacking(wanted, os.Geteuid(), fileExists); len(missing) > 0 {
		refuse(t, os.Getenv("CI") != "", missing)
	}
}

func refuse(t TB, ci bool, missing []string) {
	t.Helper()
	text := "the lab needs " + strings.Join(missing, "; ")
	if ci {
		t.Fatalf("%s (a failure and not a skip, because CI is set)", text)
		return
	}
	t.Skipf("%s", text)
}

// lacking lists, in words, which of the wanted needs are not met.
func lacking(wanted []Need, uid int, exists func(string) bool) []string {
	var missing []string
	for _, need := range wanted {
		if need == Root && uid != 0 {
			missing = append(missing, "root (for network namespaces)")
		}
		what := needs[need]
		for _, file := range what.files {
			if !exists(file) {
				missing = append(missing, what.name+" ("+file+"): apt-get install "+what.pkg)
				break
			}
		}
	}
	return missing
}

func fileExists(path string) bool {
	_, err := exec.LookPath(path)
	return err == nil
}
