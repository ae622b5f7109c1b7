package sdnotify

import (
	"bytes"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// systemd is the other end: a socket that a test reads.
type systemd struct {
	t    *testing.T
	conn *net.UnixConn
	log  bytes.Buffer
}

func newSystemd(t *testing.T, address string) *systemd {
	t.Helper()
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: address, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return &systemd{t: t, conn: conn}
}

func (s *systemd) notifier(address string) *Notifier {
	s.t.Helper()
	n, err := New(environment("NOTIFY_SOCKET", address), 1, slog.New(slog.NewTextHandler(&s.log, nil)))
	if err != nil || n == nil {
		s.t.Fatalf("%v, %v", n, err)
	}
	s.t.Cleanup(func() { n.Close() })
	return n
}

// next is the next message; "" if there is none.
func (s *systemd) next() string {
	s.t.Helper()
	if err := s.conn.SetReadDeadline(time.Now().Add(100 * time.Millisecond)); err != nil {
		s.t.Fatal(err)
	}
	buf := make([]byte, 4096)
	n, err := s.conn.Read(buf)
	if err != nil {
		return ""
	}
	return string(buf[:n])
}

func (s *systemd) expect(want ...string) {
	s.t.Helper()
	for _, w := range want {
		if got := s.next(); got != w {
			s.t.Errorf("got %q, want %q", got, w)
		}
	}
}

func environment(pairs ...string) func(string) string {
	return func(key string) string {
		for i := 0; i+1 < len(pairs); i += 2 {
			if pairs[i] == key {
				return pairs[i+1]
			}
		}
		return ""
	}
}

// shortDir is a folder whose sockets have paths that fit into sun_path.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "sd")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func TestALifeIsToldInOrder(t *testing.T) {
	path := filepath.Join(shortDir(t), "notify")
	for _, address := range []string{path, "@catchment-" + filepath.Base(filepath.Dir(path))} {
		s := newSystemd(t, address)
		n := s.notifier(address)
		n.Beat("one")
		n.Beat("two")
		n.Reloading()
		s.expect("WATCHDOG=1\nSTATUS=one\nREADY=1", "WATCHDOG=1\nSTATUS=two")
		if got := s.next(); !regexp.MustCompile(`^RELOADING=1\nMONOTONIC_USEC=[1-9][0-9]*$`).MatchString(got) {
			t.Errorf("got %q", got)
		}
		n.Reloaded()
		n.Stopping("leaving")
		n.Beat("three")
		n.Reloading()
		n.Reloaded()
		n.Stopping("again")
		s.expect("READY=1", "STOPPING=1\nSTATUS=leaving", "")
	}
}

func TestNothingIsSaidBeforeTheFirstBeat(t *testing.T) {
	path := filepath.Join(shortDir(t), "notify")
	s := newSystemd(t, path)
	n := s.notifier(path)
	n.Reloading()
	n.Reloaded()
	s.expect("")
}

func TestAStatusIsOneShortLine(t *testing.T) {
	path := filepath.Join(shortDir(t), "notify")
	s := newSystemd(t, path)
	n := s.notifier(path)
	n.Beat("a\nREADY=1\x00\xff" + strings.Repeat("ü", 400))
	got := s.next()
	status, ok := strings.CutPrefix(got, "WATCHDOG=1\nSTATUS=a READY=1 ?ü")
	if !ok || !strings.HasSuffix(status, "ü...\nREADY=1") || len(status) > maxStatus {
		t.Errorf("got %q", got)
	}
}

func TestASystemdThatDoesNotReadCostsNoTime(t *testing.T) {
	path := filepath.Join(shortDir(t), "notify")
	s := newSystemd(t, path)
	n := s.notifier(path)
	begin := time.Now()
	for range 5000 { // far more than the queue takes
		n.Beat("still here")
	}
	if took := time.Since(begin); took > 2*time.Second {
		t.Errorf("5000 beats took %v", took)
	}
	if told := strings.Count(s.log.String(), "cannot be told"); told != 1 {
		t.Errorf("logged %d times: %s", told, s.log.String())
	}
	if !strings.Contains(s.next(), "READY=1") {
		t.Error("the first beat was not READY")
	}
}

func TestReadyIsSaidUntilItWasHeard(t *testing.T) {
	path := filepath.Join(shortDir(t), "notify")
	s := &systemd{t: t}
	n := s.notifier(path)
	n.Beat("nobody listens yet")
	s.conn = newSystemd(t, path).conn
	n.Beat("now")
	n.Beat("then")
	s.expect("WATCHDOG=1\nSTATUS=now\nREADY=1", "WATCHDOG=1\nSTATUS=then")
}

func TestWithoutSystemdNothingHappens(t *testing.T) {
	n, err := New(environment(), 1, slog.Default())
	if n != nil || err != nil {
		t.Fatalf("%v, %v", n, err)
	}
	n.Beat("")
	n.Reloading()
	n.Reloaded()
	n.Stopping("")
	if n.Watchdog() != 0 || n.Close() != nil {
		t.Error("a nil Notifier does something")
	}
}

func TestTheEnvironmentIsChecked(t *testing.T) {
	socket := []string{"NOTIFY_SOCKET", "/run/x"}
	for _, tt := range []struct {
		env      []string
		watchdog time.Duration
		fault    string
	}{
		{socket, 0, ""},
		{append(socket, "WATCHDOG_USEC", "30000000"), 30 * time.Second, ""},
		{append(socket, "WATCHDOG_USEC", "30000000", "WATCHDOG_PID", "7"), 30 * time.Second, ""},
		{append(socket, "WATCHDOG_USEC", "30000000", "WATCHDOG_PID", "8"), 0, ""},
		{append(socket, "WATCHDOG_USEC", "0"), 0, "WATCHDOG_USEC"},
		{append(socket, "WATCHDOG_USEC", "-1"), 0, "WATCHDOG_USEC"},
		{append(socket, "WATCHDOG_USEC", "30s"), 0, "WATCHDOG_USEC"},
		{append(socket, "WATCHDOG_USEC", "9223372036854775807"), 0, "WATCHDOG_USEC"},
		{[]string{"NOTIFY_SOCKET", "vsock:2:1"}, 0, "NOTIFY_SOCKET"},
		{[]string{"NOTIFY_SOCKET", "@"}, 0, "NOTIFY_SOCKET"},
	} {
		n, err := New(environment(tt.env...), 7, slog.Default())
		if tt.fault != "" {
			if n != nil || err == nil || !strings.Contains(err.Error(), tt.fault) {
				t.Errorf("%v: %v, %v", tt.env, n, err)
			}
			continue
		}
		if err != nil || n.Watchdog() != tt.watchdog {
			t.Errorf("%v: %v, %v", tt.env, n.Watchdog(), err)
		}
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	}
}
