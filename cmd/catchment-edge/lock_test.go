package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/catchment-bgp/catchment/lab/netlab"
)

// Two sockets, one state directory: the second daemon must not start, and must not
// disturb the first.
func TestASecondDaemonWithTheSameStateDirectoryFails(t *testing.T) {
	dir := shortDir(t)
	file := write(t, dir)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	second := filepath.Join(dir, "second.yaml")
	if err := os.WriteFile(second, bytes.ReplaceAll(text, []byte("edge.sock"), []byte("second.sock")), 0o600); err != nil {
		t.Fatal(err)
	}
	done := make(chan int, 1)
	go func() { done <- run([]string{"--config", file}, io.Discard, io.Discard) }()
	state := filepath.Join(dir, "state")
	netlab.Eventually(t, patience, "the state directory", func() error {
		_, err := os.Stat(filepath.Join(state, "state.json"))
		return err
	})
	var stderr bytes.Buffer
	code := run([]string{"--config", second}, io.Discard, &stderr)
	if want := "state_dir " + state + ": another catchment-edge runs with it"; code != exitFailed || !strings.Contains(stderr.String(), want) {
		t.Errorf("exit code %d, want %d; it says %q, want %q", code, exitFailed, stderr.String(), want)
	}
	signalSelf(t, syscall.SIGTERM)
	ended(t, done)
}
