// Package unitlab tests units of systemd and the daemons that they start, without a
// systemd that runs.
//
// In go the files of deploy/systemd and programs; out come their settings, what
// systemd's own tools say of them, and what a daemon tells the socket of sd_notify(3).
// It changes nothing on the machine. Only tests use it.
package unitlab

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Tool runs a tool of systemd and returns what it prints. Without it the test is
// skipped, and fails under CI. That systemd-analyze finds something is no failure.
func Tool(t *testing.T, name string, args ...string) string {
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

// Settings are those of a unit: what stands after each key, in order.
func Settings(t *testing.T, file string) map[string][]string {
	t.Helper()
	text, err := os.ReadFile(file)
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

// Seconds is a setting that stands once and is a time.
func Seconds(t *testing.T, settings map[string][]string, key string) time.Duration {
	t.Helper()
	if len(settings[key]) != 1 {
		t.Fatalf("%s stands %d times", key, len(settings[key]))
	}
	d, err := time.ParseDuration(settings[key][0])
	if err != nil {
		t.Fatalf("%s: %v", key, err)
	}
	return d
}

// Verify has systemd check a unit, with binary in the place of the program that it
// starts, and sees to it that a misspelt key would be found.
func Verify(t *testing.T, file, program, binary string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	here := strings.Replace(string(text), program, binary, 1) // systemd wants it to be there
	path := filepath.Join(t.TempDir(), filepath.Base(file))
	check := func(text string) string {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return Tool(t, "systemd-analyze", "verify", "--man=no", path)
	}
	if out := check(here); out != "" {
		t.Errorf("systemd-analyze verify: %s", out)
	}
	if broken := strings.Replace(here, "WatchdogSec=", "WatchDogSec=", 1); broken == here {
		t.Error("no watchdog")
	} else if out := check(broken); !strings.Contains(out, "WatchDogSec") {
		t.Errorf("a misspelt key went unseen: %q", out)
	}
}

// Exposure is what "systemd-analyze security" says: 0 is the least exposed, 10 the most.
func Exposure(t *testing.T, file string) float64 {
	t.Helper()
	out := Tool(t, "systemd-analyze", "security", "--offline=true", "--no-pager", file)
	m := regexp.MustCompile(`Overall exposure level for ` + regexp.QuoteMeta(filepath.Base(file)) + `: ([0-9.]+)`).FindStringSubmatch(out)
	if m == nil {
		t.Fatalf("systemd-analyze security says no level:\n%s", out)
	}
	level, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		t.Fatal(err)
	}
	return level
}

// Message is what systemd was told, and when.
type Message struct {
	At   time.Time
	Text string
}

// Socket is that of sd_notify(3).
type Socket struct {
	t    *testing.T
	conn *net.UnixConn
	env  []string
}

// Listen makes a socket in a folder, whose path must be short. watchdog is the time
// that the daemon is told.
func Listen(t *testing.T, dir string, watchdog time.Duration) *Socket {
	t.Helper()
	path := filepath.Join(dir, "notify")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return &Socket{t, conn, []string{"NOTIFY_SOCKET=" + path, fmt.Sprintf("WATCHDOG_USEC=%d", watchdog.Microseconds())}}
}

// Env is what systemd adds to a daemon's environment.
func (s *Socket) Env() []string { return s.env }

// Read waits for the next message.
func (s *Socket) Read(within time.Duration) (Message, bool) {
	s.t.Helper()
	if err := s.conn.SetReadDeadline(time.Now().Add(within)); err != nil {
		s.t.Fatal(err)
	}
	buf := make([]byte, 4096)
	n, err := s.conn.Read(buf)
	return Message{time.Now(), string(buf[:n])}, err == nil
}

// Await reads until a message matches, and returns it.
func (s *Socket) Await(within time.Duration, pattern string) Message {
	s.t.Helper()
	re := regexp.MustCompile(pattern)
	var seen []string
	for end := time.Now().Add(within); ; {
		m, ok := s.Read(time.Until(end))
		if !ok {
			s.t.Fatalf("systemd was not told %q, but %q", pattern, seen)
		}
		if re.MatchString(m.Text) {
			return m
		}
		seen = append(seen, m.Text)
	}
}
