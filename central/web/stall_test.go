package web

import (
	"bufio"
	"fmt"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/catchment-bgp/catchment/central/identity"
)

// pipes is a listener whose connections hold nothing on their way: a write waits for its
// reader.
type pipes struct {
	conns chan net.Conn
	ended chan struct{}
}

func (p pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.ended:
		return nil, net.ErrClosed
	}
}

func (p pipes) Close() error   { close(p.ended); return nil }
func (p pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80} }

// near is a connection of this host.
type near struct{ net.Conn }

func (near) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 4000} }

func TestAReaderOfEventsWhoStopsReadingLosesThePlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate, err := identity.New(identity.Config{Dev: true})
		if err != nil {
			t.Fatal(err)
		}
		site := deskOf(t, fleetAPI(), identity.Viewer, nil).site
		listener := pipes{make(chan net.Conn), make(chan struct{})}
		server, done := gate.Web(gate.Pages(nil, site)), make(chan struct{})
		go func() { defer close(done); _ = server.Serve(listener) }()
		defer func() { _ = server.Close(); <-done }()

		ours, theirs := net.Pipe()
		defer ours.Close()
		listener.conns <- near{theirs}
		fmt.Fprint(ours, "GET /events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
		lines := bufio.NewScanner(ours)
		for beats := 0; beats < 20; { // five minutes: who reads stays
			if !lines.Scan() {
				t.Fatalf("the stream ended after %d beats: %v", beats, lines.Err())
			}
			if lines.Text() == ": here" {
				beats++
			}
		}
		if !site.live.watched() {
			t.Error("a reader has no place")
		}
		time.Sleep(beatEvery + time.Minute + time.Second) // the bubble's clock
		synctest.Wait()
		if site.live.watched() {
			t.Error("who reads nothing any more has a place still")
		}
	})
}
