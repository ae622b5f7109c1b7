package healthcheck

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"net"
	"os"
	"runtime/debug"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"
	"golang.org/x/sys/unix"

	"github.com/catchment-bgp/catchment/lab/netlab"
)

// holdOpening makes every open of a file wait until release is called, as one on a
// dead file server does (fanotify(7), FAN_OPEN_PERM).
func holdOpening(t *testing.T, path string) (release func()) {
	t.Helper()
	netlab.Require(t, netlab.Root)
	fd, err := unix.FanotifyInit(unix.FAN_CLASS_CONTENT|unix.FAN_CLOEXEC, unix.O_RDONLY|unix.O_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	held := os.NewFile(uintptr(fd), "fanotify") // its end lets everybody pass
	t.Cleanup(func() { held.Close() })
	if err := unix.FanotifyMark(fd, unix.FAN_MARK_ADD, unix.FAN_OPEN_PERM, unix.AT_FDCWD, path); err != nil {
		t.Fatal(err)
	}
	return func() { held.Close() }
}

// Between fork and exec a process holds its parent's memory, and with it the whole
// daemon: none may be begun for a program that cannot be read.
func TestExecOfAProgramOnADeadFileServerBeginsNoProcess(t *testing.T) {
	path := scriptFile(t, "exit 0")
	release := holdOpening(t, path)
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // a collection would wait for such a process
	p := &execProbe{Exec: Exec{Command: []string{path}, Exit: []int{0}, Directory: "/"}, kill: killGroup, grace: 10 * time.Millisecond}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := p.attempt(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("while the file server is dead: %v", err)
	}
	noChildren(t)
	if err := p.attempt(t.Context()); err != errStuck {
		t.Errorf("the next probe: %v, want %v", err, errStuck)
	}
	release()
	waitFor(t, "a pass once the file server is back", func() bool { return p.attempt(t.Context()) == nil })
}

// Go's resolver waits 5 s for a name server, twice, whatever its caller does.
func TestLookUpLeavesNoSocketAtASilentNameServer(t *testing.T) {
	silent, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	resolver := net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return dialNameServer(ctx, "udp", silent.LocalAddr().String())
	}}
	before := sockets(t)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	began := time.Now()
	if _, err := resolver.LookupIPAddr(ctx, "www.example."); err == nil {
		t.Error("a silent name server answered")
	}
	if _, _, err := silent.ReadFrom(make([]byte, 512)); err != nil {
		t.Fatalf("the name server was not asked: %v", err)
	}
	waitFor(t, "closed", func() bool { return sockets(t) == before })
	if took := time.Since(began); took > 3*time.Second {
		t.Errorf("the socket was left for %v", took)
	}
}

// A service that talks without end must not keep a processor busy.
func TestWatchOfAServiceThatTalksWithoutEndIsBounded(t *testing.T) {
	flood := newService(t, func(conn net.Conn) {
		for chunk := make([]byte, 4096); ; {
			if _, err := conn.Write(chunk); err != nil {
				return
			}
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if watchAddress(flood.address, patience)(ctx) {
		t.Error("its end is no reason to probe")
	}
	if ctx.Err() != nil {
		t.Error("it never ended")
	}
}

// What a service says is shown on terminals.
func TestErrorsHaveNoControlCharacters(t *testing.T) {
	if got, want := explain(errors.New("certificate for a\x1b[2J\nb")), "certificate for a [2J b"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestDNSRecordsOfAnotherClassDoNotCount(t *testing.T) {
	query := dnsmessage.Message{Header: dnsmessage.Header{ID: 7}, Questions: []dnsmessage.Question{
		{Name: dnsmessage.MustNewName("www.example."), Type: dnsmessage.TypeA, Class: dnsmessage.ClassINET},
	}}
	wire := response(query, nil, aRecord("192.0.2.1"))
	for class, want := range map[uint16]int{1: 1, 3: 0} { // IN, CH
		message := bytes.Clone(wire)
		binary.BigEndian.PutUint16(message[len(message)-12:], class) // class, TTL, length, four bytes
		p, errs := newDNSProbe(DNS{Server: "192.0.2.53:53", Name: "www.example."})
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		if got, err := p.parse(message, 7, true); err != nil || len(got.records) != want {
			t.Errorf("class %d: %v, %v; want %d records", class, got.records, err, want)
		}
	}
}
