package sdnotify

import (
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"

	"golang.org/x/sys/unix"
)

// Notifier speaks to systemd. Its methods may be called from any goroutine, and
// on a nil Notifier, which says nothing.
type Notifier struct {
	to       unix.SockaddrUnix
	fd       int
	watchdog time.Duration
	log      *slog.Logger

	mu      sync.Mutex
	ready   bool // systemd was told
	leaving bool
	fault   string // of the last message; empty: it was sent
}

// New makes a Notifier from the environment (NOTIFY_SOCKET, WATCHDOG_USEC and
// WATCHDOG_PID) of the process pid. It is nil, without an error, where nobody
// listens. Log gets a line when messages begin to fail.
func New(getenv func(string) string, pid int, log *slog.Logger) (*Notifier, error) {
	path := getenv("NOTIFY_SOCKET")
	switch {
	case path == "":
		return nil, nil
	case path[0] != '/' && path[0] != '@' || len(path) == 1:
		return nil, fmt.Errorf("NOTIFY_SOCKET %q is not a unix socket: it must begin with / or @", path)
	}
	watchdog, err := watchdogOf(getenv, pid)
	if err != nil {
		return nil, err
	}
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("a socket for NOTIFY_SOCKET: %w", err)
	}
	return &Notifier{to: unix.SockaddrUnix{Name: path}, fd: fd, watchdog: watchdog, log: log}, nil
}

// watchdogOf is how long the process may be silent; 0: for ever.
func watchdogOf(getenv func(string) string, pid int) (time.Duration, error) {
	text := getenv("WATCHDOG_USEC")
	if other := getenv("WATCHDOG_PID"); text == "" || other != "" && other != strconv.Itoa(pid) {
		return 0, nil
	}
	usec, err := strconv.ParseInt(text, 10, 64)
	if err != nil || usec <= 0 || usec > int64(24*time.Hour/time.Microsecond) {
		return 0, fmt.Errorf("WATCHDOG_USEC %q is not a time in microseconds up to a day", text)
	}
	return time.Duration(usec) * time.Microsecond, nil
}

// Watchdog is how long after a Beat systemd takes the process for stuck; 0:
// never.
func (n *Notifier) Watchdog() time.Duration {
	if n == nil {
		return 0
	}
	return n.watchdog
}

// Beat says that the process works (WATCHDOG=1) and what it is at. The first one
// says that it has started (READY=1), too.
func (n *Notifier) Beat(status string) {
	if n == nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.leaving {
		return
	}
	lines := []string{"WATCHDOG=1", "STATUS=" + oneLine(status)}
	if !n.ready {
		lines = append(lines, "READY=1")
	}
	if n.send(lines) {
		n.ready = true
	}
}

// Reloading says that the configuration is being read again; Reloaded must
// follow, whatever came of it.
func (n *Notifier) Reloading() {
	if n == nil {
		return
	}
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		return // systemd would not believe a reload without its time
	}
	n.say("RELOADING=1", fmt.Sprintf("MONOTONIC_USEC=%d", now.Nano()/int64(time.Microsecond)))
}

// Reloaded ends what Reloading began.
func (n *Notifier) Reloaded() { n.say("READY=1") }

// Stopping says that the process is about to end. Nothing is sent after it, and
// systemd waits for the end as for one that it asked for itself.
func (n *Notifier) Stopping(status string) {
	n.say("STOPPING=1", "STATUS="+oneLine(status))
	if n != nil {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.leaving = true
	}
}

// Close frees the socket. No other method may be called after it.
func (n *Notifier) Close() error {
	if n == nil {
		return nil
	}
	return unix.Close(n.fd)
}

// say sends lines to one that was told that we are there.
func (n *Notifier) say(lines ...string) {
	if n == nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.ready && !n.leaving {
		n.send(lines)
	}
}

// send sends one message, and logs when that begins to fail.
func (n *Notifier) send(lines []string) bool {
	err := unix.Sendto(n.fd, []byte(strings.Join(lines, "\n")), unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL, &n.to)
	fault := ""
	if err != nil {
		fault = err.Error()
	}
	if fault != n.fault && fault != "" {
		n.log.Warn("systemd cannot be told how this process fares", "socket", n.to.Name, "error", fault)
	}
	n.fault = fault
	return err == nil
}

const maxStatus = 400 // bytes

// oneLine keeps a status from being read as something else.
func oneLine(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
	if len(s) > maxStatus {
		s = strings.ToValidUTF8(s[:maxStatus-3], "") + "..."
	}
	return s
}
