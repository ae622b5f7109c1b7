package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/catchment-bgp/catchment/internal/pages"
	"github.com/catchment-bgp/catchment/lab/netlab"
	"github.com/catchment-bgp/catchment/lab/unitlab"
)

const (
	deployDir = "../../deploy/systemd"
	unitFile  = deployDir + "/catchment-central.service"
)

func TestTheUnitIsWellFormed(t *testing.T) {
	unitlab.Verify(t, unitFile, "/usr/bin/catchment-central", netlab.Binary(t, "./cmd/catchment-central"))
}

func TestTheUnitIsHardened(t *testing.T) {
	if level := unitlab.Exposure(t, unitFile); level >= 3.0 {
		t.Errorf("exposure %g, want less than 3", level)
	}
	u := unitlab.Settings(t, unitFile)
	for _, key := range []string{"AmbientCapabilities", "CapabilityBoundingSet"} {
		if !slices.Equal(u[key], []string{""}) {
			t.Errorf("%s is %q: the centre needs none", key, u[key])
		}
	}
	if u["User"][0] != "catchment-central" || u["Group"][0] != "catchment-central" {
		t.Errorf("it runs as %q:%q", u["User"], u["Group"])
	}
}

func TestTheUnitRestartsWhateverHappensAndWaitsLongEnough(t *testing.T) {
	u := unitlab.Settings(t, unitFile)
	for key, want := range map[string]string{"Type": "notify", "Restart": "always", "KillSignal": "SIGTERM"} {
		if !slices.Equal(u[key], []string{want}) {
			t.Errorf("%s is %q, want %s", key, u[key], want)
		}
	}
	if len(u["RestartPreventExitStatus"]) > 0 || len(u["SuccessExitStatus"]) > 0 {
		t.Error("some ends are not followed by a restart")
	}
	for key, least := range map[string]time.Duration{"TimeoutStartSec": time.Minute, "TimeoutStopSec": 10 * time.Second, "WatchdogSec": 30 * time.Second} {
		if d := unitlab.Seconds(t, u, key); d <= least {
			t.Errorf("%s is %v, want more than %v", key, d, least)
		}
	}
	// 10,000 edges, and the strangers that both doors let stand.
	if n, err := strconv.Atoi(u["LimitNOFILE"][0]); err != nil || n < 10_000+2*12_000 {
		t.Errorf("LimitNOFILE %q", u["LimitNOFILE"])
	}
}

// TestTheHowtoUsesTheUnitsPaths holds the example's file to the unit.
func TestTheHowtoUsesTheUnitsPaths(t *testing.T) {
	u := unitlab.Settings(t, unitFile)
	page, err := pages.Read("docs/howto/first-centre.md")
	if err != nil {
		t.Fatal(err)
	}
	text := ""
	for _, b := range page.Blocks() {
		text += b.Text
	}
	for _, path := range []string{"/etc/" + u["ConfigurationDirectory"][0] + "/central.yaml", "data: /var/lib/" + u["StateDirectory"][0] + "/store"} {
		if !strings.Contains(text, path) {
			t.Errorf("%s has no %s", page.Path, path)
		}
	}
	if !strings.HasSuffix(u["ExecStart"][0], "--config /etc/"+u["ConfigurationDirectory"][0]+"/central.yaml") {
		t.Errorf("ExecStart is %q", u["ExecStart"])
	}
}

func TestUserAndFoldersAreMade(t *testing.T) {
	netlab.Require(t, netlab.Root)
	root := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, "etc"), 0o755); err != nil {
		t.Fatal(err)
	}
	file := func(name string) string {
		path, err := filepath.Abs(filepath.Join(deployDir, name))
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
	unitlab.Tool(t, "systemd-sysusers", "--root="+root, file("sysusers.d/catchment-central.conf"))
	passwd, err := os.ReadFile(filepath.Join(root, "etc/passwd"))
	m := regexp.MustCompile(`(?m)^catchment-central:.*:(\d+):.*:/var/lib/catchment-central:.*nologin$`).FindSubmatch(passwd)
	if err != nil || m == nil {
		t.Fatalf("passwd: %q, %v", passwd, err)
	}
	unitlab.Tool(t, "systemd-tmpfiles", "--root="+root, "--create", file("tmpfiles.d/catchment-central.conf"))
	info, err := os.Stat(filepath.Join(root, "etc/catchment-central"))
	if err != nil || !info.IsDir() || info.Mode().Perm() != 0o750 {
		t.Fatalf("/etc/catchment-central: %v, %v", info, err)
	}
	if owner := info.Sys().(*syscall.Stat_t); owner.Uid != 0 || strconv.Itoa(int(owner.Gid)) != string(m[1]) {
		t.Errorf("/etc/catchment-central is of %d:%d: only root is to change it, and the centre to read it", owner.Uid, owner.Gid)
	}
}

func TestSystemdIsToldOfTheWholeLife(t *testing.T) {
	const watchdog = 1500 * time.Millisecond
	dir, err := os.MkdirTemp("", "cc") // short: sockets' paths are limited
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	socket := unitlab.Listen(t, dir, watchdog)
	o := startOutside(t, "", socket.Env()...)
	first, _ := socket.Read(patience)
	if !regexp.MustCompile(`^WATCHDOG=1\nSTATUS=0 of 0 nodes connected here; the one that steers\nREADY=1$`).MatchString(first.Text) {
		t.Fatalf("told first: %q", first.Text)
	}
	last := first
	for range 4 {
		m := socket.Await(patience, `^WATCHDOG=1\n`)
		if gap := m.At.Sub(last.At); gap > watchdog {
			t.Errorf("%v between two beats", gap)
		}
		last = m
	}
	if err := o.daemon.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	socket.Await(patience, `^STOPPING=1\nSTATUS=leaving: edges go on`)
	if m, more := socket.Read(200 * time.Millisecond); more {
		t.Errorf("told after STOPPING: %q", m.Text)
	}
	if err := o.daemon.Wait(); err != nil {
		t.Error(err)
	}
}
