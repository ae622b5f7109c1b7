//go:build data

package mrt

import (
	"bytes"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestDataIsReadInAtMostFiveTimesTheTimeOfUnpackingIt compares processor time, since the
// machine may be busy, of the best of some runs in turn.
func TestDataIsReadInAtMostFiveTimesTheTimeOfUnpackingIt(t *testing.T) {
	for _, name := range []string{"haskmrt-rib6.20150922.bz2", "morrowc-updates.20260222.1530.bz2", "pyasn-rib6.20151101.0600_firstMB.bz2",
		"bgpdump-updates.et-header.2015.gz", "bgpkit-rrc00-2000.01-bview.20000111.0032.gz"} {
		path := filepath.Join(os.Getenv("CATCHMENT_DATA"), "mrt", name)
		tool := "gzip"
		if strings.HasSuffix(name, ".bz2") {
			tool = "bzip2"
		}
		ours, theirs := time.Hour, time.Hour
		var stats Stats
		for range 2 {
			theirs = min(theirs, unpack(t, tool, path))
			from := processorTime(t)
			r := opened(t, name)
			for e := range r.Routes(netip.MustParsePrefix("2001:db8::/32")) {
				t.Errorf("%s: %v", name, e)
			}
			ours, stats = min(ours, processorTime(t)-from), r.Stats()
		}
		ratio := float64(ours) / float64(theirs)
		t.Logf("%s: %d records, %.0f MB: %v, %.0f MB/s; %s -dc %v; ratio %.2f", name, stats.Records, float64(stats.Octets)/1e6,
			ours.Round(time.Millisecond), float64(stats.Octets)/1e6/ours.Seconds(), tool, theirs.Round(time.Millisecond), ratio)
		if ratio > 5 {
			t.Errorf("%s: %v, more than 5 times the %v of %s -dc", name, ours, theirs, tool)
		}
	}
}

// unpack returns the processor time of a tool that unpacks a file.
func unpack(t *testing.T, tool, path string) time.Duration {
	t.Helper()
	var errors bytes.Buffer
	cmd := exec.Command(tool, "-dc", path)
	cmd.Stderr = &errors
	if err := cmd.Run(); err != nil && cmd.ProcessState.ExitCode() < 1 { // of a torn file it fails
		t.Fatalf("%s: %v: %s", tool, err, errors.String())
	}
	return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
}

// processorTime is what this process has used.
func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		t.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
