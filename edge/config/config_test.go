package config

import (
	"errors"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/catchment-bgp/catchment/announcer"
	"github.com/catchment-bgp/catchment/community"
	"github.com/catchment-bgp/catchment/healthcheck"
)

// testOptions knows three variables and the files of testdata.
func testOptions() Options {
	return Options{
		Getenv: func(name string) (string, bool) {
			v, ok := map[string]string{"TRANSIT_A": "s3cret", "EMPTY": "", "LONG": strings.Repeat("x", 81)}[name]
			return v, ok
		},
		ReadFile: os.ReadFile,
		Dir:      "testdata",
	}
}

func parseFile(t *testing.T, name string) (*Config, []Problem) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	cfg, warnings, err := Parse(name, data, testOptions())
	if err != nil {
		t.Fatalf("%s is refused:\n%v", name, err)
	}
	return cfg, warnings
}

func TestMinimalFileGetsEveryDefault(t *testing.T) {
	got, warnings := parseFile(t, "minimal.yaml")
	if len(warnings) > 0 {
		t.Errorf("warnings: %v", warnings)
	}
	want := &Config{
		Node: "msk1", ASN: 57629, RouterID: netip.MustParseAddr("10.77.0.1"),
		StateDir: "/var/lib/catchment", Control: "/run/catchment/edge.sock",
		Neighbors: []Neighbor{{
			Neighbor: announcer.Neighbor{
				Name: "transit-a", Address: netip.MustParseAddr("10.77.1.2"), Port: 179, ASN: 65001,
				Kind: announcer.Transit, LocalAddress: netip.MustParseAddr("10.77.1.1"), Multihop: 1,
				HoldTime: 9 * time.Second, IPv4: true,
			},
			NextHop4: netip.MustParseAddr("10.77.1.1"), Weight: 1,
		}},
		Services: []Service{{
			Name:      "video",
			Prefixes:  []netip.Prefix{netip.MustParsePrefix("198.51.100.0/24")},
			VIPs:      []netip.Prefix{netip.MustParsePrefix("198.51.100.1/32")},
			Interface: "lo", Neighbors: []string{"transit-a"}, Drain: 30 * time.Second,
			Checks: []healthcheck.Check{{
				Name: "web", HTTP: &healthcheck.HTTP{URL: "http://198.51.100.1:8080/health", Method: "GET"},
				Interval: time.Second, FastInterval: 500 * time.Millisecond, Timeout: 500 * time.Millisecond,
				Rise: 2, Fall: 2, Jitter: 0.1, RestartGrace: time.Second,
			}},
		}},
		Load: LoadControl{
			Mode: LoadOff, Target: 0.82, Interval: time.Second, DwellUp: 2 * time.Minute,
			DwellDown: 15 * time.Minute, DownAfter: 10 * time.Minute,
			DeadTime: 3 * time.Minute,
			Flap:     Flap{Profiles: []FlapProfile{FlapCisco, FlapJuniper}, Exploration: 2, Margin: 0.1},
		},
		LeaveHold:   2 * time.Second,
		WayBack:     WayBack{Required: true, Grace: 5 * time.Second},
		ReturnAfter: []time.Duration{10 * time.Second, time.Minute, 5 * time.Minute, 30 * time.Minute},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestContractExampleLoads(t *testing.T) {
	cfg, warnings := parseFile(t, "contract.yaml")
	n := cfg.Neighbors[0]
	if n.Password != "s3cret" || !n.TTLSecurity || !n.Symmetric || n.Link != "transit-a" || len(n.Ladder) != 4 {
		t.Errorf("neighbour: %+v", n)
	}
	if got := n.Ladder[0].Communities; !got.Equal(community.NewSet(community.NewStandard(65001, 3001))) {
		t.Errorf("first rung's communities: %v", got)
	}
	if cfg.Links[1].Exact.Prometheus.Period != time.Minute || cfg.Links[1].Capacity != 100e9 {
		t.Errorf("link: %+v", cfg.Links[1])
	}
	if cfg.Central.TLS.Key != filepath.Join("testdata", "edge.key") {
		t.Errorf("key is %s, not beside the file", cfg.Central.TLS.Key)
	}
	wantWarnings(t, warnings,
		"contract.yaml:33: services[0].prefixes[1]: 2001:db8:100::/48 is not announced at transit-a, whose session carries no IPv6; write families: [ipv4, ipv6] there, or add a session")
}

// wantWarnings wants just these warnings, in the order of the file.
func wantWarnings(t *testing.T, got []Problem, want ...string) {
	t.Helper()
	var texts []string
	for _, w := range got {
		texts = append(texts, w.String())
	}
	if !slices.Equal(texts, want) {
		t.Errorf("warnings %q\nwant %q", texts, want)
	}
}

func TestFullExampleWarnsOfNothing(t *testing.T) {
	cfg, warnings := parseFile(t, "edge.yaml")
	wantWarnings(t, warnings)
	a, b, rs := cfg.Neighbors[0], cfg.Neighbors[2], cfg.Neighbors[3]
	if a.Labels["Rack"] != "7" {
		t.Errorf("the label's case or text is lost: %v", a.Labels)
	}
	if got := cfg.Services[0].Checks[0].HTTP.Headers["X-Probe"]; got != "1" {
		t.Errorf("the header's case is lost: %v", cfg.Services[0].Checks[0].HTTP.Headers)
	}
	if a.MED != (announcer.Metric{Value: 50, Set: true}) || a.LocalPref.Set {
		t.Errorf("MED %v, local preference %v", a.MED, a.LocalPref)
	}
	if !rs.ExtendedNextHop || b.ExtendedNextHop {
		t.Errorf("RFC 8950 at rs1: %v, at transit-b: %v", rs.ExtendedNextHop, b.ExtendedNextHop)
	}
	if !b.IPv4 || !b.IPv6 || a.IPv6 {
		t.Errorf("families: transit-b %v %v, transit-a IPv6 %v", b.IPv4, b.IPv6, a.IPv6)
	}
	if cfg.Links[1].Capacity != 1_500_000_000 {
		t.Errorf("1.5Gbps is %d bit/s", cfg.Links[1].Capacity)
	}
	if got := cfg.Neighbors[1].Password; got != "secret-6" {
		t.Errorf("password from the file is %q", got)
	}
}

// U15: all, listed, equals the default; in any order.
func TestAllNeighborsListedEqualsLeftOut(t *testing.T) {
	text := read(t, "edge.yaml")
	listed := strings.Replace(text, "    require: {at_least: 1}\n",
		"    require: {at_least: 1}\n    neighbors: [core, rs1, transit-b, transit-a6, transit-a]\n", 1)
	if listed == text {
		t.Fatal("the fixture has changed")
	}
	a, _, errA := Parse("a", []byte(text), testOptions())
	b, _, errB := Parse("b", []byte(listed), testOptions())
	if errA != nil || errB != nil {
		t.Fatal(errA, errB)
	}
	if !reflect.DeepEqual(a, b) {
		t.Errorf("left out: %v, listed: %v", a.Services[0].Neighbors, b.Services[0].Neighbors)
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestLoadReadsSecretsBesideTheFile(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string, mode fs.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	with := func(line string) string {
		return strings.Replace(read(t, "minimal.yaml"), "    kind: transit\n", "    kind: transit\n    "+line+"\n", 1)
	}
	t.Setenv("CATCHMENT_TEST_KEY", "from-env")
	keyFile := write("open.key", "from-file\r\n", 0o644)
	write("closed.key", "from-file\n", 0o640)
	for _, tc := range []struct {
		name, line, password, file, warning string
		mode                                fs.FileMode
	}{
		{"literal, file closed", "password: abc", "abc", "", "", 0o640},
		{"literal, file open", "password: 0123", "0123", "", "every user can read ", 0o644},
		{"variable, file open", "password: ${CATCHMENT_TEST_KEY}", "from-env", "", "", 0o644},
		{"variable inside", "password: a${CATCHMENT_TEST_KEY}z$", "afrom-envz$", "", "", 0o644},
		{"file open", "password_file: open.key", "from-file", keyFile, "every user can read open.key (mode 0644); run chmod 0640 on it", 0o644},
		{"file closed", "password_file: closed.key", "from-file", filepath.Join(dir, "closed.key"), "", 0o644},
		{"absolute path", "password_file: " + keyFile, "from-file", keyFile, "every user can read ", 0o644},
	} {
		t.Run(tc.name, func(t *testing.T) {
			path := write("edge.yaml", with(tc.line), tc.mode)
			cfg, warnings, err := Load(path)
			if err != nil {
				t.Fatal(err)
			}
			if n := cfg.Neighbors[0]; n.Password != tc.password || n.PasswordFile != tc.file {
				t.Errorf("password %q from %q, want %q from %q", n.Password, n.PasswordFile, tc.password, tc.file)
			}
			switch {
			case tc.warning == "" && len(warnings) > 0:
				t.Errorf("warnings: %v", warnings)
			case tc.warning != "" && (len(warnings) != 1 || !strings.HasPrefix(warnings[0].Text, tc.warning)):
				t.Errorf("warnings %v, want %q", warnings, tc.warning)
			}
		})
	}
}

func TestLoadGivesTheErrorOfReading(t *testing.T) {
	if _, _, err := Load(filepath.Join(t.TempDir(), "none.yaml")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing file: %v", err)
	}
	if _, _, err := Load(t.TempDir()); err == nil {
		t.Error("a folder was read")
	}
}

func TestPasswordFileMustBeRegular(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "edge.yaml")
	text := strings.Replace(read(t, "minimal.yaml"), "    kind: transit\n", "    kind: transit\n    password_file: /dev/zero\n", 1)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	_, _, err := Load(path)
	if err == nil || !strings.Contains(err.Error(), "/dev/zero cannot be read: not a regular file") {
		t.Errorf("got %v", err)
	}
}

// A link-local address is reached through its interface only, and each
// interface may have the same one.
func TestLinkLocalAddressesCarryTheirInterface(t *testing.T) {
	const session = "    local_address: fe80::1\n    asn: 65001\n    kind: transit\n    families: [ipv4]\n    next_hop: {ipv4: 10.77.1.1}\n"
	text := strings.Replace(read(t, "minimal.yaml"),
		"    address: 10.77.1.2\n    asn: 65001\n    kind: transit\n    local_address: 10.77.1.1\n",
		"    address: fe80::2\n    bind_device: eth1\n"+session+"  - name: b\n    address: fe80::2\n    bind_device: eth2\n"+session, 1)
	cfg, _, err := Parse("f", []byte(text), Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"fe80::2%eth1", "fe80::2%eth2"} {
		if got := cfg.Neighbors[i].Address.String(); got != want {
			t.Errorf("neighbour %d is %s, want %s", i, got, want)
		}
	}
	again, _, err := Parse("again", []byte(printed(t, cfg)), Options{})
	if err != nil || !reflect.DeepEqual(cfg, again) {
		t.Errorf("printed and loaded again: %+v, %v", again, err)
	}
}

func TestSteerIsTheCommunityThatTheNeighbourDocuments(t *testing.T) {
	text := strings.Replace(read(t, "minimal.yaml"), "    local_address: 10.77.1.1\n", `    local_address: 10.77.1.1
    ladder:
      - {steer: {action: prepend, times: 2, towards: AS174}}
      - {steer: {action: local-pref, value: 80}}
      - {steer: {action: no-export, towards: peers}, community: ["65001:7"]}
registry: [as65001.txt]
`, 1)
	cfg, warnings, err := Parse("edge.yaml", []byte(text), testOptions())
	if err != nil || len(warnings) > 0 {
		t.Fatal(err, warnings)
	}
	for i, want := range []struct {
		communities string
		withdraw    bool
	}{{"65001:3212", false}, {"65001:80", true}, {"65001:7 65001:3300", true}} {
		r := &cfg.Neighbors[0].Ladder[i]
		if got := strings.Join(r.Communities.Strings(), " "); got != want.communities || r.MayWithdraw() != want.withdraw {
			t.Errorf("rung %d: %s, may withdraw %v, want %+v", i+1, got, r.MayWithdraw(), want)
		}
	}
	if want := "steer: {action: prepend, times: 2, towards: AS174} # 65001:3212, testdata/as65001.txt:6: prepend x times to AS174, x = 1..3"; !strings.Contains(printed(t, cfg), want) {
		t.Errorf("it prints\n%s, without %s", printed(t, cfg), want)
	}
}

func TestSteerIsRefusedWhereTheNeighbourDocumentsTwoValues(t *testing.T) {
	dir := t.TempDir()
	doc := "aut-num: AS65001\nremarks: 65001:11 prepend once to AS174\nremarks: 65001:21 add one prepend to AS174\nremarks: 65001:31 prepend once to North Wire in Europe\n"
	if err := os.WriteFile(filepath.Join(dir, "as65001.txt"), []byte(doc), 0o600); err != nil {
		t.Fatal(err)
	}
	for towards, want := range map[string]string{"AS174": "documents two values", "Europe": "prepend once to North Wire in Europe", "all": "no document says"} {
		text := strings.Replace(read(t, "minimal.yaml"), "    local_address: 10.77.1.1\n", "    local_address: 10.77.1.1\n    ladder: [{steer: {action: prepend, times: 1, towards: "+
			towards+"}}]\nregistry: ["+filepath.Join(dir, "as65001.txt")+"]\n", 1)
		if _, _, err := Parse("edge.yaml", []byte(text), testOptions()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("towards %s: %v, want %s", towards, err, want)
		}
	}
}
