package healthcheck

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/godbus/dbus/v5"
)

// fakeBus is a socket that speaks D-Bus as a system bus with systemd on it does,
// as far as one property needs.
type fakeBus struct {
	path  string
	mu    sync.Mutex
	units map[string]map[string]string // unit: property: value
	// refuse is the error reply to all but Hello; "": none.
	refuse string
	// mute makes it read calls and answer none.
	mute bool
	// private is systemd's own socket: whoever says Hello there is refused.
	private bool
	// auth is the answer to the authentication; "": OK.
	auth string
}

// start makes the bus listen until the test ends.
func (b *fakeBus) start(t testing.TB) {
	t.Helper()
	b.path = filepath.Join(t.TempDir(), "bus")
	l, err := net.Listen("unix", b.path)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			b.serve(conn)
			conn.Close()
		}
	}()
	t.Cleanup(func() {
		l.Close()
		<-done
	})
}

// serve is one connection's life. A peer that goes away ends it.
func (b *fakeBus) serve(conn net.Conn) {
	conn.SetDeadline(time.Now().Add(patience))
	r := bufio.NewReader(conn)
	line, err := r.ReadString('\n')
	want := "\x00AUTH EXTERNAL " + hex.EncodeToString([]byte(strconv.Itoa(os.Geteuid()))) + "\r\n"
	if err != nil || line != want {
		return
	}
	if b.auth == "" {
		b.auth = "OK 0123456789abcdef0123456789abcdef"
	}
	fmt.Fprintf(conn, "%s\r\n", b.auth)
	if line, err := r.ReadString('\n'); err != nil || line != "BEGIN\r\n" {
		return
	}
	for hello := b.private; ; {
		call, err := dbus.DecodeMessage(r)
		if err != nil {
			return
		}
		if b.mute {
			continue
		}
		member := call.Headers[dbus.FieldMember].Value()
		if !hello && member != "Hello" {
			return // as the specification demands
		}
		hello = true
		conn.Write(signal())
		conn.Write(b.reply(call, member == "Hello"))
	}
}

// reply answers a call.
func (b *fakeBus) reply(call *dbus.Message, hello bool) []byte {
	switch {
	case hello && !b.private:
		return encode(dbus.TypeMethodReply, call.Serial(), "", ":1.7")
	case hello || b.refuse != "":
		return encode(dbus.TypeError, call.Serial(), b.refuse, "Not for you.")
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	object, _ := call.Headers[dbus.FieldPath].Value().(dbus.ObjectPath)
	for unit, properties := range b.units {
		if string(object) == unitObject(unit) && len(call.Body) == 2 && call.Body[0] == "org.freedesktop.systemd1.Unit" {
			if value, ok := properties[fmt.Sprint(call.Body[1])]; ok {
				return encode(dbus.TypeMethodReply, call.Serial(), "", dbus.MakeVariant(value))
			}
		}
	}
	return encode(dbus.TypeError, call.Serial(), "org.freedesktop.DBus.Error.UnknownProperty", "Unknown property.")
}

// set changes a property of a unit.
func (b *fakeBus) set(unit, property, value string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.units[unit][property] = value
}

func signal() []byte {
	var wire bytes.Buffer
	m := dbus.Message{Type: dbus.TypeSignal, Headers: map[dbus.HeaderField]dbus.Variant{
		dbus.FieldPath: dbus.MakeVariant(dbus.ObjectPath("/")), dbus.FieldInterface: dbus.MakeVariant("a.b"), dbus.FieldMember: dbus.MakeVariant("C"),
	}}
	if m.EncodeTo(&wire, binary.BigEndian) != nil {
		return nil
	}
	return wire.Bytes()
}

func encode(kind dbus.Type, to uint32, name string, body any) []byte {
	m := dbus.Message{Type: kind, Body: []any{body}, Headers: map[dbus.HeaderField]dbus.Variant{
		dbus.FieldReplySerial: dbus.MakeVariant(to), dbus.FieldSignature: dbus.MakeVariant(dbus.SignatureOf(body)),
	}}
	if kind == dbus.TypeError {
		m.Headers[dbus.FieldErrorName] = dbus.MakeVariant(name)
	}
	var wire bytes.Buffer
	if m.EncodeTo(&wire, binary.BigEndian) != nil { // not our own order
		return nil
	}
	return wire.Bytes()
}

// unitChecker checks a unit by way of a bus at path.
func unitChecker(name, path string) *Checker {
	check := Check{Name: "unit", Unit: &Unit{Name: name}, Interval: 10 * time.Second, Timeout: 5 * time.Second, Rise: 1, Fall: 1}
	p := &unitProbe{name: name, object: unitObject(name), bus: path, private: filepath.Join(filepath.Dir(path), "private")}
	return &Checker{check: check, probe: p.attempt, random: func() float64 { return 0 }}
}

func TestUnitProbe(t *testing.T) {
	state := func(active, load, sub string) map[string]string {
		return map[string]string{"ActiveState": active, "LoadState": load, "SubState": sub}
	}
	bus := &fakeBus{units: map[string]map[string]string{
		"nginx.service":       state("active", "loaded", "running"),
		"getty@tty1.service":  state("active", "loaded", "running"),
		"1st-unit.socket":     state("reloading", "loaded", "reload"),
		"starting.service":    state("activating", "loaded", "auto-restart"),
		"dead.service":        state("inactive", "loaded", "dead"),
		"failed.service":      state("failed", "loaded", "failed"),
		"absent.service":      state("inactive", "not-found", "dead"),
		"masked.service":      state("inactive", "masked", "dead"),
		"speechless.service":  {"ActiveState": "inactive"},
		"unexplained.service": {},
	}}
	bus.start(t)
	for name, want := range map[string]string{
		"nginx.service":       "",
		"getty@tty1.service":  "",
		"1st-unit.socket":     "",
		"starting.service":    "starting.service is activating (auto-restart), want active",
		"dead.service":        "dead.service is inactive (dead), want active",
		"failed.service":      "failed.service is failed, want active",
		"absent.service":      "absent.service is inactive (not-found), want active",
		"masked.service":      "masked.service is inactive (masked), want active",
		"speechless.service":  "speechless.service is inactive, want active",
		"unexplained.service": "systemd does not tell about unexplained.service: Unknown property.",
	} {
		if got := explain(unitChecker(name, bus.path).attempt(t.Context())); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

func TestUnitWithoutSystemdFailsAndSaysSo(t *testing.T) {
	none := filepath.Join(t.TempDir(), "bus")
	closed := filepath.Join(t.TempDir(), "bus")
	l, err := net.Listen("unix", closed)
	if err != nil {
		t.Fatal(err)
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	l.Close()
	nobody := &fakeBus{refuse: "org.freedesktop.DBus.Error.ServiceUnknown"}
	nobody.start(t)
	denied := &fakeBus{refuse: "org.freedesktop.DBus.Error.AccessDenied"}
	denied.start(t)
	stranger := &fakeBus{auth: "REJECTED EXTERNAL"}
	stranger.start(t)
	for path, want := range map[string]string{
		none:          "no systemd here to ask: there is no " + none,
		closed:        "cannot ask systemd at " + closed + ": connection refused",
		nobody.path:   "no systemd here to ask: the bus does not know it",
		denied.path:   "systemd does not tell about nginx.service: Not for you.",
		stranger.path: "D-Bus: authentication refused: REJECTED EXTERNAL",
	} {
		if got := explain(unitChecker("nginx.service", path).attempt(t.Context())); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestUnitAsksSystemdItselfWhereThereIsNoBus(t *testing.T) {
	bus := &fakeBus{private: true, units: map[string]map[string]string{"nginx.service": {"ActiveState": "active"}}}
	bus.start(t)
	for root, want := range map[bool]string{true: "", false: "no systemd here to ask: there is no /none"} {
		p := &unitProbe{name: "nginx.service", object: unitObject("nginx.service"), bus: "/none", private: bus.path, root: root}
		if got := explain(p.attempt(t.Context())); got != want {
			t.Errorf("root %v: %q, want %q", root, got, want)
		}
	}
}

// U19, for systemd.
func TestUnitHungIsFailed(t *testing.T) {
	mute := &fakeBus{mute: true}
	mute.start(t)
	checker := unitChecker("nginx.service", mute.path)
	checker.check.Timeout = 50 * time.Millisecond
	before := sockets(t)
	if got := explain(checker.attempt(t.Context())); got != "timeout after 50ms" {
		t.Errorf("%q, want a timeout", got)
	}
	waitFor(t, "closed", func() bool { return sockets(t) <= before })
}

func TestUnitPathsAreSystemds(t *testing.T) {
	for name, want := range map[string]string{
		"nginx.service":      "/org/freedesktop/systemd1/unit/nginx_2eservice",
		"getty@tty1.service": "/org/freedesktop/systemd1/unit/getty_40tty1_2eservice",
		"1st.service":        "/org/freedesktop/systemd1/unit/_31st_2eservice",
		`a\x2db-c.mount`:     "/org/freedesktop/systemd1/unit/a_5cx2db_2dc_2emount",
	} {
		if got := unitObject(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

func TestBusCallBytes(t *testing.T) {
	wire, err := methodCall(7, "s.t", "/o", "i.f", "M", []any{"a"})
	if err != nil {
		t.Fatal(err)
	}
	// Little endian, a call, no flags, version 1; 6 bytes of body; number 7.
	if got, want := hex.EncodeToString(wire[:12]), "6c010001"+"06000000"+"07000000"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	call, err := dbus.DecodeMessage(bytes.NewReader(wire))
	if err != nil || call.Serial() != 7 || call.Headers[dbus.FieldMember].Value() != "M" || len(call.Body) != 1 || call.Body[0] != "a" {
		t.Errorf("decoded: %v %+v", err, call)
	}
}

func TestNewRefusesBadUnits(t *testing.T) {
	for _, name := range []string{"", "nginx", "nginx.services", "a b.service", "/etc/x.service", ".service", strings.Repeat("a", 250) + ".service"} {
		check := unitChecker(name, "/x").check
		refusedWith(t, check, fmt.Sprintf("unit.name: %q is not a systemd unit: write its full name, such as nginx.service", name))
	}
}

// talk is a connection on which everything that the other side says is known.
type talk struct {
	net.Conn
	bytes.Reader
}

func (t *talk) Read(p []byte) (int, error)  { return t.Reader.Read(p) }
func (t *talk) Write(p []byte) (int, error) { return len(p), nil }

func FuzzBusReply(f *testing.F) {
	f.Add(append([]byte("OK 1\r\n"), append(encode(dbus.TypeMethodReply, 1, "", ":1.7"), encode(dbus.TypeMethodReply, 2, "", dbus.MakeVariant("active"))...)...))
	f.Add([]byte("REJECTED\r\n"))
	f.Fuzz(func(t *testing.T, said []byte) {
		b := &dbusConn{conn: &talk{Reader: *bytes.NewReader(said)}}
		if b.begin(true) != nil {
			return
		}
		if !bytes.HasPrefix(said, []byte("OK ")) {
			t.Error("refused, yet begun")
		}
		if value, err := b.property("s.t", "/o", "i.f", "P"); err != nil && value != "" {
			t.Errorf("%q beside %v", value, err)
		}
	})
}
