package healthcheck

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

// life is a check whose service can die and come back.
type life struct {
	checker    *Checker
	die, again func()
}

// eachLife has one of each kind.
var eachLife = map[string]func(*testing.T) life{
	"dns": dnsLife, "exec": execLife, "file": fileLife, "grpc": grpcLife, "http": httpLife, "icmp": icmpLife, "tcp": tcpLife, "unit": unitLife,
}

// U11: the death of a service is a verdict after Fall probes, whatever the kind
// and whether it refuses, lies or hangs (U19); and so is its return, after Rise.
func TestEveryKindNoticesDeathAndReturn(t *testing.T) {
	for name, begin := range eachLife {
		t.Run(name, func(t *testing.T) {
			l := begin(t)
			c := &l.checker.check
			c.Interval, c.FastInterval, c.Timeout, c.Rise, c.Fall = 300*time.Millisecond, 10*time.Millisecond, 250*time.Millisecond, 2, 3
			l.live(t)
		})
	}
}

// Neither probes that pass nor those that fail or hang leave anything open.
func TestProbesLeaveNoDescriptorAndNoGoroutine(t *testing.T) {
	for name, begin := range eachLife {
		t.Run(name, func(t *testing.T) {
			l := begin(t)
			l.checker.check.Timeout = patience
			probe := func() error { return l.checker.attempt(t.Context()) }
			if err := probe(); err != nil { // the first one may open what stays, such as the poller
				t.Fatal(err)
			}
			descriptors, goroutines := openDescriptors(t), runtime.NumGoroutine()
			for range 10 {
				if err := probe(); err != nil {
					t.Error(err)
				}
			}
			l.die()
			l.checker.check.Timeout = 100 * time.Millisecond
			for range 3 {
				if probe() == nil {
					t.Error("a probe of a dead service passes")
				}
			}
			l.again()
			waitFor(t, "as at first", func() bool { return openDescriptors(t) <= descriptors && runtime.NumGoroutine() <= goroutines })
		})
	}
}

func openDescriptors(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

// live runs the check in this goroutine, which may be in a namespace of its own.
func (l life) live(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 3*patience)
	defer cancel()
	var phase, failures int // up, dead, back
	l.checker.Run(ctx, func(s Status) {
		switch {
		case phase == 0 && s.Up:
			l.die()
			phase = 1
		case phase == 1 && s.Error != "" && s.Up:
			failures++
		case phase == 1 && !s.Up:
			l.again()
			phase = 2
		case phase == 2 && s.Up:
			cancel()
			phase = 3
		}
	})
	if phase != 3 || failures != l.checker.check.Fall-1 {
		t.Errorf("phase %d of 3, %d failures before the verdict, want %d", phase, failures, l.checker.check.Fall-1)
	}
}

func lifeOf(t *testing.T, c Check, die, again func()) life {
	t.Helper()
	c.Interval, c.Timeout, c.Rise, c.Fall = time.Second, time.Millisecond, 1, 1
	checker, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return life{checker, die, again}
}

// mortal is a flag for servers in other goroutines.
func mortal() (dead *atomic.Bool, die, again func()) {
	dead = new(atomic.Bool)
	return dead, func() { dead.Store(true) }, func() { dead.Store(false) }
}

func dnsLife(t *testing.T) life {
	dead, die, again := mortal()
	s := newNameServer(t, func(q dnsmessage.Message, _ string) [][]byte {
		if dead.Load() {
			return nil
		}
		return [][]byte{response(q, nil)}
	})
	return lifeOf(t, dnsCheck(DNS{Server: s.address}), die, again)
}

func execLife(t *testing.T) life {
	flag := filepath.Join(t.TempDir(), "dead")
	script := scriptFile(t, "[ ! -e "+flag+" ] || exec sleep 1000")
	return lifeOf(t, execCheck(Exec{Command: []string{script}}), touch(t, flag), remove(t, flag))
}

func fileLife(t *testing.T) life {
	flag := filepath.Join(t.TempDir(), "disable")
	return lifeOf(t, fileCheck(File{Path: flag}), touch(t, flag), remove(t, flag))
}

func touch(t *testing.T, path string) func() {
	return func() {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Error(err)
		}
	}
}

func remove(t *testing.T, path string) func() {
	return func() {
		if err := os.Remove(path); err != nil {
			t.Error(err)
		}
	}
}

func grpcLife(t *testing.T) life {
	address, set := newHealthServer(t)
	return lifeOf(t, grpcCheck(GRPC{Address: address}), func() { set("", false) }, func() { set("", true) })
}

func httpLife(t *testing.T) life {
	dead, die, again := mortal()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if dead.Load() {
			<-r.Context().Done()
		}
	}))
	t.Cleanup(server.Close)
	return lifeOf(t, httpCheck(HTTP{URL: server.URL}), die, again)
}

func icmpLife(t *testing.T) life {
	inNamespace(t)
	ignore := func(value string) func() {
		return func() { sysctl(t, "ipv4/icmp_echo_ignore_all", value) }
	}
	return lifeOf(t, icmpCheck(ICMP{Address: netip.MustParseAddr("127.0.0.1")}), ignore("1"), ignore("0"))
}

func tcpLife(t *testing.T) life {
	s := newService(t, hold)
	return lifeOf(t, tcpCheck(s.address), s.stop, s.start)
}

func unitLife(t *testing.T) life {
	const name = "nginx.service"
	bus := &fakeBus{units: map[string]map[string]string{name: {"ActiveState": "active"}}}
	bus.start(t)
	return life{unitChecker(name, bus.path),
		func() { bus.set(name, "ActiveState", "failed") }, func() { bus.set(name, "ActiveState", "active") }}
}
