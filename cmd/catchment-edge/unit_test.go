package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/catchment-bgp/catchment/edge"
	"github.com/catchment-bgp/catchment/edge/config"
	"github.com/catchment-bgp/catchment/lab/netlab"
	"github.com/catchment-bgp/catchment/lab/unitlab"
)

const (
	deployDir = "../../deploy/systemd"
	unitFile  = deployDir + "/catchment-edge.service"
)

func unit(t *testing.T) map[string][]string { return unitlab.Settings(t, unitFile) }

func TestTheUnitIsWellFormed(t *testing.T) {
	unitlab.Verify(t, unitFile, "/usr/bin/catchment-edge", netlab.Binary(t, "./cmd/catchment-edge"))
}

func TestTheUnitIsHardened(t *testing.T) {
	if level := unitlab.Exposure(t, unitFile); level >= 3.0 {
		t.Errorf("exposure %g, want less than 3", level)
	}
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
	if stop := unitlab.Seconds(t, unit(t), "TimeoutStopSec"); stop <= edge.LeaveTime(slowest) {
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
	unitlab.Tool(t, "systemd-sysusers", "--root="+root, absolute(t, "sysusers.d/catchment.conf"))
	passwd, err := os.ReadFile(filepath.Join(root, "etc/passwd"))
	if err != nil || !regexp.MustCompile(`(?m)^catchment:.*:/var/lib/catchment:.*nologin$`).Match(passwd) {
		t.Errorf("passwd: %q, %v", passwd, err)
	}
	unitlab.Tool(t, "systemd-tmpfiles", "--root="+root, "--create", absolute(t, "tmpfiles.d/catchment.conf"))
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
