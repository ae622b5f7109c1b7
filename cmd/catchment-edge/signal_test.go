package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/catchment-bgp/catchment/lab/netlab"
)

const patience = 20 * time.Second

// write puts a configuration of one neighbour that nobody is into dir.
func write(t *testing.T, dir string) (file string) {
	t.Helper()
	file = filepath.Join(dir, "edge.yaml")
	text := strings.ReplaceAll(`node: n
asn: 64500
router_id: 10.0.0.1
state_dir: DIR/state
control: unix://DIR/edge.sock
leave_hold: 0s
way_back: {require: none}
neighbors:
  - {name: a, address: 127.0.0.1, port: 1, asn: 64501, kind: transit, local_address: 127.0.0.2}
services:
  - {name: s, prefixes: [198.51.100.0/24], checks: [{name: c, tcp: {address: "127.0.0.1:1"}}]}
`, "DIR", dir)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "edge") // the socket's path is limited
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func signalSelf(t *testing.T, s syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(os.Getpid(), s); err != nil {
		t.Fatal(err)
	}
}

func ended(t *testing.T, done <-chan int) {
	t.Helper()
	select {
	case code := <-done:
		if code != exitDone {
			t.Errorf("exit code %d", code)
		}
	case <-time.After(patience):
		t.Fatal("it does not end")
	}
}

// A pipe or a network disk in the place of the file: the reload hangs, and the
// end must not.
func TestAReloadThatHangsDoesNotHoldUpTheEnd(t *testing.T) {
	dir := shortDir(t)
	file := write(t, dir)
	done := make(chan int, 1)
	go func() { done <- run([]string{"--config", file}, io.Discard, io.Discard) }()
	netlab.Eventually(t, patience, "the socket", func() error {
		_, err := os.Stat(filepath.Join(dir, "edge.sock"))
		return err
	})
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(file, 0o600); err != nil {
		t.Fatal(err)
	}
	signalSelf(t, syscall.SIGHUP)
	w, err := os.OpenFile(file, os.O_WRONLY, 0) // opens when the reload reads
	if err != nil {
		t.Fatal(err)
	}
	signalSelf(t, syscall.SIGTERM)
	ended(t, done)
	if err := w.Close(); err != nil { // lets the reload go
		t.Error(err)
	}
}

// systemctl reload right after the start: the file is still being read.
func TestAReloadDuringTheStartDoesNotEndTheDaemon(t *testing.T) {
	dir := shortDir(t)
	text, err := os.ReadFile(write(t, dir))
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(file, 0o600); err != nil {
		t.Fatal(err)
	}
	done := make(chan int, 1)
	go func() { done <- run([]string{"--config", file, "--check"}, io.Discard, io.Discard) }()
	w, err := os.OpenFile(file, os.O_WRONLY, 0) // opens when the other side reads
	if err != nil {
		t.Fatal(err)
	}
	signalSelf(t, syscall.SIGHUP) // ends this process where it is not caught
	_, err = w.Write(text)
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	ended(t, done)
}
