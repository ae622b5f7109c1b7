package scenarios

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/catchment-bgp/catchment/edge/config"
	"github.com/catchment-bgp/catchment/internal/pages"
	"github.com/catchment-bgp/catchment/lab/netlab"
)

const (
	fromExaBGP        = "docs/howto/from-exabgp-healthcheck.md"
	fromHealthchecker = "docs/howto/from-anycast-healthchecker.md"
)

// docBlocks are the blocks of a section in a language.
func docBlocks(t *testing.T, path, section, lang string) []string {
	t.Helper()
	page, err := pages.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, b := range page.Blocks() {
		if b.Section == section && b.Lang == lang {
			out = append(out, b.Text)
		}
	}
	if len(out) == 0 {
		t.Fatalf("%s, section %s: no block of %s", path, section, lang)
	}
	return out
}

// exabgpHealthcheck runs ExaBGP's own program. Without it the test is skipped, and fails under CI.
func exabgpHealthcheck(t *testing.T, args ...string) string {
	t.Helper()
	const python, module = "/usr/bin/python3", "/usr/lib/python3/dist-packages/exabgp"
	if _, err := os.Stat(module); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("no ExaBGP (a failure and not a skip, because CI is set): apt-get install exabgp")
		}
		t.Skip("no ExaBGP: apt-get install exabgp")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, python, append([]string{"-m", "exabgp", "healthcheck"}, args...)...)
	cmd.Dir = t.TempDir() // where it puts what it makes
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("exabgp healthcheck %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// rowsOf are the first cells of a section's table, without backquotes.
func rowsOf(t *testing.T, path, section string) []string {
	t.Helper()
	page, err := pages.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	table, err := page.Table(section)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, row := range table.Rows {
		if len(row) != 2 || row[1] == "" {
			t.Errorf("%s: the row %q says nothing", path, row)
		}
		out = append(out, strings.Trim(row[0], "`"))
	}
	return out
}

func sameNames(t *testing.T, where string, got, want []string) {
	t.Helper()
	for _, w := range want {
		if !slices.Contains(got, w) {
			t.Errorf("%s: there is no row for %s", where, w)
		}
	}
	for _, g := range got {
		if !slices.Contains(want, g) {
			t.Errorf("%s: there is no option %s", where, g)
		}
	}
}

func TestHowtoHasEveryOptionOfExaBGPsHealthcheck(t *testing.T) {
	t.Parallel()
	var options []string
	for line := range strings.Lines(exabgpHealthcheck(t, "--help")) {
		if m := regexp.MustCompile(`^  (?:-[a-z], )?(--[a-z-]+)`).FindStringSubmatch(line); m != nil {
			options = append(options, m[1])
		}
	}
	if len(options) < 40 {
		t.Fatalf("--help shows %d options: %v", len(options), options)
	}
	sameNames(t, fromExaBGP, rowsOf(t, fromExaBGP, "Options of the healthcheck"), options)
}

// The options of anycast-healthchecker 0.9.1, as its documentation names them.
var (
	healthcheckerChecks = strings.Fields(`check_cmd check_interval check_timeout check_rise check_fail check_disabled on_disabled
		ip_prefix ip_check_disabled interface custom_bird_reconfigure_cmd custom_bird_reconfigure_cmd_timeout`)
	healthcheckerDaemon = strings.Fields(`pidfile ipv4 ipv6 bird_conf bird6_conf bird_variable bird6_variable bird_reconfigure_cmd
		bird6_reconfigure_cmd dummy_ip_prefix dummy_ip6_prefix bird_keep_changes bird6_keep_changes bird_changes_counter
		bird6_changes_counter purge_ip_prefixes loglevel log_file log_maxbytes log_backups stderr_file log_server log_server_port
		json_stdout json_log_file json_log_server prometheus_exporter prometheus_collector_textfile_dir
		prometheus_exporter_interval splay_startup`)
	healthcheckerFlags = strings.Fields("--file --dir --service-file --check --print --print-conf --version --help")
)

func TestHowtoHasEveryOptionOfAnycastHealthchecker(t *testing.T) {
	t.Parallel()
	sameNames(t, fromHealthchecker, rowsOf(t, fromHealthchecker, "Settings of a check"), healthcheckerChecks)
	sameNames(t, fromHealthchecker, rowsOf(t, fromHealthchecker, "Settings of the daemon"), healthcheckerDaemon)
	sameNames(t, fromHealthchecker, rowsOf(t, fromHealthchecker, "Command line"), healthcheckerFlags)
}

// What ExaBGP's own program announces by the example's file is what the node announces after the move.
func TestHowtoAnnouncesAfterWhatExaBGPAnnouncedBefore(t *testing.T) {
	t.Parallel()
	before := docBlocks(t, fromExaBGP, "Before", "text")
	file := filepath.Join(t.TempDir(), "video.conf")
	text := before[1]
	for _, change := range [][2]string{ // up at once, and no more
		{`(?m)^command = .*`, "command = true"}, {`(?m)^rise = .*`, "rise = 1"}, {`(?m)^interval = .*`, "interval = 0"},
	} {
		text = regexp.MustCompile(change[0]).ReplaceAllString(text, change[1])
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	said := strings.TrimSpace(exabgpHealthcheck(t, "--no-ack", "--no-syslog", "--config", file))

	after := docBlocks(t, fromExaBGP, "After", "yaml")[0]
	c, _, err := config.Parse(fromExaBGP, []byte(after), config.Options{Getenv: func(string) (string, bool) { return "of-transit-a", true }})
	if err != nil {
		t.Fatal(err)
	}
	var neighbors []string
	for _, m := range regexp.MustCompile(`neighbor (\S+) \{\s+inherit upstream;\s+local-address (\S+);\s+peer-as (\d+);(?:\s+md5-password "(\S*)";)?`).FindAllStringSubmatch(before[0], -1) {
		neighbors = append(neighbors, strings.Join(m[1:], " "))
	}
	if len(c.Neighbors) != len(neighbors) || len(neighbors) == 0 {
		t.Fatalf("%d neighbours after, %d before", len(c.Neighbors), len(neighbors))
	}
	svc := c.Services[0]
	for i, n := range c.Neighbors {
		if got := fmt.Sprintf("%s %s %d %s", n.Address, n.LocalAddress, n.ASN, n.Password); got != neighbors[i] {
			t.Errorf("the neighbour is %q after, %q before", got, neighbors[i])
		}
		communities := svc.Communities.Union(n.Communities).Strings()
		is := func(large bool) string {
			return strings.Join(slices.DeleteFunc(slices.Clone(communities), func(c string) bool { return strings.Count(c, ":") == 2 != large }), " ")
		}
		want := fmt.Sprintf("announce route %s next-hop self med %d community [ %s ] large-community [ %s ]", svc.Prefixes[0], n.MED.Value, is(false), is(true))
		if said != want || !n.MED.Set || n.NextHop4 != n.LocalAddress {
			t.Errorf("ExaBGP says %q, the node sends %q", said, want)
		}
	}
}

func TestHowtoWithBIRDKept(t *testing.T) {
	t.Parallel()
	const section = "After, with BIRD kept"
	up := netlab.TwoUpstreams(t, netlab.FRRouting, netlab.BIRDRouting, netlab.NginxServer)
	frr := up.FRR.FRR(netlab.FRRConfig{ASN: frrASN, RouterID: "10.77.1.2", Neighbors: []netlab.FRRNeighbor{
		{Address: up.ToFRR.Edge4, ASN: edgeASN, IPv4: true},
	}}.String())
	up.Edge.BIRD("router id 10.77.0.1;\nprotocol device { }\n" + docBlocks(t, fromHealthchecker, section, "text")[0])
	nginx := up.Edge.Nginx("0.0.0.0:8080")
	startEdge(t, up.Edge, docBlocks(t, fromHealthchecker, section, "yaml")[0]+"control: unix://"+controlFile+"\n")
	prefix := netip.MustParsePrefix(vip4 + "/32")
	awaitPath(t, sessionWait, frr, prefix, look{}.at(up.ToFRR.Edge4))
	if err := nginx.Stop(); err != nil {
		t.Fatal(err)
	}
	awaitGone(t, 40*time.Second, frr, prefix) // checks are 10 s apart, as in the page
}
