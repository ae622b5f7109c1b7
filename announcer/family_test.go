package announcer

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/catchment-bgp/catchment/lab/netlab/routegen"
)

// record is a log that a test reads while it grows.
type record struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (r *record) Write(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.Write(b)
}

func (r *record) count(words string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Count(r.text.String(), words)
}

func TestRoutesThatTheSessionDoesNotCarryAreNamed(t *testing.T) {
	l, err := routegen.Listen(t.Context(), "127.0.0.2:0", routegen.Config{LocalASN: 65001}) // for IPv4 only
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	at := netip.MustParseAddrPort(l.Addr().String())
	var log record
	a := New(Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
	defer a.Close(context.Background(), "test over")
	n := Neighbor{Name: "a", Address: at.Addr(), Port: at.Port(), ASN: 65001, Kind: Transit, LocalAddress: us,
		Multihop: 1, HoldTime: 9 * time.Second, IPv4: true, IPv6: true}
	if err := a.SetNeighbors(local(), []Neighbor{n}); err != nil {
		t.Fatal(err)
	}
	router, err := l.Accept(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer router.Close()
	established(t, a, "a")
	const words = `the neighbour does not take routes of this form or family" neighbor=a routes=[2001:db8:100::/48] carries=[ipv4]`
	six := Route{Prefix: v6, NextHop: netip.MustParseAddr("2001:db8::1")}
	for i, routes := range [][]Route{{{Prefix: v4, NextHop: us}, six}, {{Prefix: v4, NextHop: us, Prepend: 1}, six}} {
		set(t, a, "a", routes...)
		settle(t, a)
		eventually(t, "the IPv4 route", func() error {
			if st := a.Status()["a"]; len(st.Standing) != 1 || st.Standing[0].Prepend != i || !st.Settled {
				return errors.New("it does not stand")
			}
			return nil
		})
		if n := log.count(words); n != 1 { // once, until others are left
			t.Errorf("the log says so %d times after change %d: %s", n, i, log.text.String())
		}
	}
}
