package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/catchment-bgp/catchment/edge"
	"github.com/catchment-bgp/catchment/edge/config"
	"github.com/catchment-bgp/catchment/lab/netlab"
)

const (
	deployDir = "../../deploy/systemd"
	unitFile  = deployDir + "/catchment-edge.service"
)

// systemdTool runs a tool of systemd. Without it the test is skipped, and fails
// under CI.
func systemdTool(t *testing.T, name string, args ...string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("%s is missing (a failure and not a skip, because CI is set): apt-get install systemd", name)
		}
		t.Skipf("%s is missing: apt-get install systemd", name)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, path, args...).CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !(name == "systemd-analyze" && errors.As(err, &exit)) {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// unit is the settings of the unit: what stands after each key, in order.
func unit(t *testing.T) map[string][]string {
	t.Helper()
	text, err := os.ReadFile(unitFile)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]string{}
	for line := range strings.Lines(string(text)) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok && line[0] != '#' {
			out[key] = append(out[key], value)
		}
	}
	return out
}

func seconds(t *testing.T, u map[string][]string, key string) time.Duration {
	t.Helper()
	if len(u[key]) != 1 {
		t.Fatalf("%s stands %d times", key, len(u[key]))
	}
	d, err := time.ParseDuration(u[key][0])
	if err != nil {
		t.Fatalf("%s: %v", key, err)
	}
	return d
}

func TestTheUnitIsWellFormed(t *testing.T) {
	text, err := os.ReadFile(unitFile)
	if err != nil {
		t.Fatal(err)
	}
	// systemd wants the program to be there.
	here := strings.Replace(string(text), "/usr/bin/catchment-edge", netlab.Binary(t, "./cmd/catchment-edge"), 1)
	path := filepath.Join(t.TempDir(), filepath.Base(unitFile))
	if err := os.WriteFile(path, []byte(here), 0o600); err != nil {
		t.Fatal(err)
	}
	if out := systemdTool(t, "systemd-analyze", "verify", "--man=no", path); out != "" {
		t.Errorf("systemd-analyze verify: %s", out)
	}
	if broken := strings.Replace(here, "WatchdogSec=", "WatchDogSec=", 1); broken != here {
		if err := os.WriteFile(path, []byte(broken), 0o600); err != nil {
			t.Fatal(err)
		}
		if out := systemdTool(t, "systemd-analyze", "verify", "--man=no", path); !strings.Contains(out, "WatchDogSec") {
			t.Errorf("a misspelt key went unseen: %q", out)
		}
	}
}

// maxExposure is the most that "systemd-analyze security" may say: 0 is the least
// exposed, 10 the most.
const maxExposure = 3.0

func TestTheUnitIsHardened(t *testing.T) {
	out := systemdTool(t, "systemd-analyze", "security", "--offline=true", "--no-pager", unitFile)
	m := regexp.MustCompile(`Overall exposure level for catchment-edge.service: ([0-9.]+)`).FindStringSubmatch(out)
	if m == nil {
		t.Fatalf("systemd-analyze security says no level:\n%s", out)
	}
	level, err := strconv.ParseFloat(m[1], 64)
	if err != nil || level >= maxExposure {
		t.Errorf("exposure %s, want less than %g (%v):\n%s", m[1], maxExposure, err, out)
	}
	t.Logf("exposure %s", m[1])
}

func TestTheUnitHasTheCapabilitiesItSaysAndNoOther(t *testing.T) {
	u := unit(t)
	const want = "CAP_NET_ADMIN CAP_NET_BIND_SERVICE"
	for _, key := range []string{"AmbientCapabilities", "CapabilityBoundingSet"} {
		if !slices.Equal(u[key], []string{want}) {
			t.Errorf("%s is %q, want %q", key, u[key], want)
		}
	}
	if u["User"][0] == "root" || len(u["DynamicUser"]) > 0 {
		t.Errorf("user %q", u["User"])
	}
}

func TestTheUnitWaitsForTheNodeToLeave(t *testing.T) {
	slowest := parse(t, strings.Replace(aConfig, "leave_hold: 0s", "leave_hold: 60s", 1))
	if stop := seconds(t, unit(t), "TimeoutStopSec"); stop <= edge.LeaveTime(slowest) {
		t.Errorf("TimeoutStopSec is %v, and leaving may take %v", stop, edge.LeaveTime(slowest))
	}
	_, _, err := config.Parse("edge.yaml", []byte(strings.Replace(aConfig, "leave_hold: 0s", "leave_hold: 61s", 1)), config.Options{})
	if err == nil {
		t.Error("a leave_hold over 60 s is accepted: TimeoutStopSec must follow")
	}
}

func TestTheUnitRestartsWhateverHappens(t *testing.T) {
	u := unit(t)
	for key, want := range map[string]string{"Type": "notify", "Restart": "always", "KillSignal": "SIGTERM", "WatchdogSec": "30s"} {
		if !slices.Equal(u[key], []string{want}) {
			t.Errorf("%s is %q, want %s", key, u[key], want)
		}
	}
	// A Go program that crashes ends with 2, as one that was used wrongly does.
	if len(u["RestartPreventExitStatus"]) > 0 || len(u["SuccessExitStatus"]) > 0 {
		t.Error("some ends are not followed by a restart")
	}
	if burst, err := strconv.Atoi(u["StartLimitBurst"][0]); err != nil || burst < 3 {
		t.Errorf("StartLimitBurst %q", u["StartLimitBurst"])
	}
}

func TestTheUnitsPathsAreTheProgramsDefaults(t *testing.T) {
	c, u := parse(t, strings.NewReplacer("state_dir: DIR/state\n", "", "control: unix://DIR/edge.sock\n", "").Replace(aConfig)), unit(t)
	if got := "/var/lib/" + u["StateDirectory"][0]; got != c.StateDir {
		t.Errorf("StateDirectory is %s, state_dir %s", got, c.StateDir)
	}
	if got := "/run/" + u["RuntimeDirectory"][0]; got != filepath.Dir(c.Control) {
		t.Errorf("RuntimeDirectory is %s, control %s", got, c.Control)
	}
	if mode := u["RuntimeDirectoryMode"][0]; mode != "0750" {
		t.Errorf("RuntimeDirectoryMode %s: the group, and nobody else, must reach the socket", mode)
	}
}

func parse(t *testing.T, text string) *config.Config {
	t.Helper()
	c, _, err := config.Parse("edge.yaml", []byte(strings.ReplaceAll(text, "DIR", "/nowhere")), config.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestUserAndFoldersAreMade(t *testing.T) {
	netlab.Require(t, netlab.Root)
	root := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, "etc"), 0o755); err != nil {
		t.Fatal(err)
	}
	systemdTool(t, "systemd-sysusers", "--root="+root, absolute(t, "sysusers.d/catchment.conf"))
	passwd, err := os.ReadFile(filepath.Join(root, "etc/passwd"))
	if err != nil || !regexp.MustCompile(`(?m)^catchment:.*:/var/lib/catchment:.*nologin$`).Match(passwd) {
		t.Errorf("passwd: %q, %v", passwd, err)
	}
	systemdTool(t, "systemd-tmpfiles", "--root="+root, "--create", absolute(t, "tmpfiles.d/catchment.conf"))
	if info, err := os.Stat(filepath.Join(root, "etc/catchment")); err != nil || !info.IsDir() || info.Mode().Perm() != 0o750 {
		t.Errorf("/etc/catchment: %v, %v", info, err)
	}
}

func absolute(t *testing.T, file string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join(deployDir, file))
	if err != nil {
		t.Fatal(err)
	}
	return path
}
