package healthcheck

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"regexp"
	"slices"
	"strings"
)

// Unit asks systemd whether a unit is active, over D-Bus. As for "systemctl
// is-active", one that reloads is.
type Unit struct {
	// Name is the unit's full name, such as nginx.service.
	Name string
}

const (
	systemBus = "/run/dbus/system_bus_socket"
	// privateBus is systemd's own, for root on machines without a bus.
	privateBus = "/run/systemd/private"
)

var unitRE = regexp.MustCompile(`^[A-Za-z0-9:_.\\@-]+\.(service|socket|target|device|mount|automount|swap|timer|path|slice|scope)$`)

// unitProbe is the kind unit.
type unitProbe struct {
	name, object string
	bus, private string // paths of sockets
	root         bool
}

// unitTarget is the kind unit.
func unitTarget(c Check) (*target, []error) {
	if c.Unit == nil {
		return nil, nil
	}
	p := &unitProbe{name: c.Unit.Name, object: unitObject(c.Unit.Name), bus: systemBus, private: privateBus, root: os.Geteuid() == 0}
	if !unitRE.MatchString(p.name) || len(p.name) > 255 {
		return nil, []error{fmt.Errorf("unit.name: %q is not a systemd unit: write its full name, such as nginx.service", p.name)}
	}
	return &target{probe: p.attempt}, nil
}

// unitObject is the D-Bus path of a unit: bytes other than letters and digits, and
// a digit at the start, become _ and two hexadecimal digits (sd_bus_path_encode).
func unitObject(name string) string {
	var b strings.Builder
	b.WriteString("/org/freedesktop/systemd1/unit/")
	for i := range len(name) {
		c := name[i]
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' && i > 0 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "_%02x", c)
		}
	}
	return b.String()
}

func (p *unitProbe) attempt(ctx context.Context) error {
	conn, hello, err := p.connect(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	defer bind(ctx, conn)()
	bus := &dbusConn{conn: conn}
	if err := bus.begin(hello); err != nil {
		return busError(err)
	}
	state, err := p.property(bus, "ActiveState")
	if err != nil {
		return err
	}
	if slices.Contains([]string{"active", "reloading", "refreshing"}, state) {
		return nil
	}
	if load, err := p.property(bus, "LoadState"); err == nil && load != "loaded" {
		return fmt.Errorf("%s is %s (%s), want active", p.name, state, load)
	}
	if sub, err := p.property(bus, "SubState"); err == nil && sub != state {
		return fmt.Errorf("%s is %s (%s), want active", p.name, state, sub)
	}
	return fmt.Errorf("%s is %s, want active", p.name, state)
}

// connect opens the system bus, where a client says hello first, or systemd's own
// socket, where it does not.
func (p *unitProbe) connect(ctx context.Context) (conn net.Conn, hello bool, err error) {
	conn, err = dialer.DialContext(ctx, "unix", p.bus)
	if err == nil {
		return conn, true, nil
	}
	if p.root && ctx.Err() == nil {
		if conn, err := dialer.DialContext(ctx, "unix", p.private); err == nil {
			return conn, false, nil
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, fmt.Errorf("no systemd here to ask: there is no %s", p.bus)
	}
	return nil, false, fmt.Errorf("cannot ask systemd at %s: %s", p.bus, explain(err))
}

func (p *unitProbe) property(bus *dbusConn, name string) (string, error) {
	value, err := bus.property("org.freedesktop.systemd1", p.object, "org.freedesktop.systemd1.Unit", name)
	var refusal dbusRefusal
	switch {
	case errors.As(err, &refusal) && refusal.nobody():
		return "", errors.New("no systemd here to ask: the bus does not know it")
	case errors.As(err, &refusal):
		return "", fmt.Errorf("systemd does not tell about %s: %s", p.name, refusal.text())
	}
	return value, busError(err)
}

// busError says whose error it is.
func busError(err error) error {
	if err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		return err
	}
	return fmt.Errorf("D-Bus: %s", plain(explain(err)))
}
