package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/catchment-bgp/catchment/lab/netlab"
	"github.com/catchment-bgp/catchment/lab/unitlab"
)

// aConfig is a node that touches nothing of the machine: no VIP, no way back, and
// a neighbour that nobody plays. DIR is its folder.
const aConfig = `node: test1
asn: 57629
router_id: 10.77.0.1
state_dir: DIR/state
control: unix://DIR/edge.sock
way_back: {require: none}
leave_hold: 0s
neighbors:
  - {name: nobody, address: 127.0.0.2, port: 1, asn: 65001, kind: transit, local_address: 127.0.0.1}
services:
  - name: video
    prefixes: [198.51.100.0/24]
    checks: [{name: web, tcp: {address: "127.0.0.1:1"}}]
`

// supervised is a catchment-edge that tells a test how it fares.
type supervised struct {
	t      *testing.T
	dir    string
	cmd    *exec.Cmd
	socket *unitlab.Socket
	log    bytes.Buffer
}

func startSupervised(t *testing.T, watchdog time.Duration) *supervised {
	t.Helper()
	dir, err := os.MkdirTemp("", "ce") // short: sockets' paths are limited
	if err != nil {
		t.Fatal(err)
	}
	s := &supervised{t: t, dir: dir}
	t.Cleanup(func() { os.RemoveAll(dir) })
	s.write(aConfig)
	s.socket = unitlab.Listen(t, dir, watchdog)
	s.cmd = exec.Command(netlab.Binary(t, "./cmd/catchment-edge"), "--config", filepath.Join(dir, "edge.yaml"))
	s.cmd.Env = append(os.Environ(), s.socket.Env()...)
	s.cmd.Stderr = &s.log
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = s.cmd.Process.Kill() // it may have ended
		_ = s.cmd.Wait()
		if t.Failed() {
			t.Log(s.log.String())
		}
	})
	return s
}

func (s *supervised) write(config string) {
	s.t.Helper()
	text := strings.ReplaceAll(config, "DIR", s.dir)
	if err := os.WriteFile(filepath.Join(s.dir, "edge.yaml"), []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

func (s *supervised) await(pattern string) unitlab.Message {
	s.t.Helper()
	return s.socket.Await(15*time.Second, pattern)
}

func (s *supervised) signal(sig syscall.Signal) {
	s.t.Helper()
	if err := s.cmd.Process.Signal(sig); err != nil {
		s.t.Fatal(err)
	}
}

func TestSystemdIsToldOfTheWholeLife(t *testing.T) {
	s := startSupervised(t, 30*time.Second)
	first, _ := s.socket.Read(15 * time.Second)
	if !regexp.MustCompile(`^WATCHDOG=1\nSTATUS=[^\n]+\nREADY=1$`).MatchString(first.Text) {
		t.Fatalf("told first: %q", first.Text)
	}
	s.await(`STATUS=0 of 1 services announced, 0 of 1 sessions up; video withdrawn \(hard_failure\): web: .*refused`)

	s.signal(syscall.SIGHUP)
	s.await(`^RELOADING=1\nMONOTONIC_USEC=[0-9]+$`)
	s.await(`^READY=1$`)
	s.write("no: configuration\n")
	s.signal(syscall.SIGHUP)
	s.await(`^RELOADING=1\n`)
	s.await(`^READY=1$`) // it is refused, and the reload is over

	s.signal(syscall.SIGTERM)
	s.await(`^STOPPING=1\nSTATUS=leaving: withdrawing all routes$`)
	if m, more := s.socket.Read(200 * time.Millisecond); more {
		t.Errorf("told after STOPPING: %q", m.Text)
	}
	if err := s.cmd.Wait(); err != nil {
		t.Error(err)
	}
}

func TestTheWatchdogIsFedInTime(t *testing.T) {
	const watchdog = 1500 * time.Millisecond
	s := startSupervised(t, watchdog)
	last := s.await(`WATCHDOG=1`)
	for end := last.At.Add(3 * watchdog); last.At.Before(end); {
		m := s.await(`WATCHDOG=1`)
		if gap := m.At.Sub(last.At); gap > watchdog*2/3 {
			t.Errorf("%v between two beats", gap)
		}
		last = m
	}
}

func TestAStoppedProcessFeedsNoWatchdog(t *testing.T) {
	const watchdog = time.Second
	s := startSupervised(t, watchdog)
	s.await(`WATCHDOG=1`)
	s.signal(syscall.SIGSTOP)
	for { // what was on its way
		if _, more := s.socket.Read(watchdog); !more {
			break
		}
	}
	s.signal(syscall.SIGCONT)
	s.await(`WATCHDOG=1`)
}

func TestAWrongEnvironmentOfSystemdIsAnError(t *testing.T) {
	s := &supervised{t: t, dir: t.TempDir()}
	s.write(aConfig)
	cmd := exec.Command(netlab.Binary(t, "./cmd/catchment-edge"), "--config", filepath.Join(s.dir, "edge.yaml"))
	cmd.Env = append(os.Environ(), "NOTIFY_SOCKET=nowhere")
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "NOTIFY_SOCKET") || cmd.ProcessState.ExitCode() != exitFailed {
		t.Errorf("%v: %s", err, out)
	}
}
