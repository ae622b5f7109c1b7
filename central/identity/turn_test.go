package identity

import (
	"crypto/tls"
	"errors"
	"net"
	"testing"
	"time"
)

// stall begins a handshake and never goes on: the answer to its first message is there when it returns.
func stall(t *testing.T, c *centre) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", c.address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() }) // it was good for nothing else
	wait := &silent{Conn: conn}
	client := tls.Client(wait, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}})
	if err := client.Handshake(); !errors.Is(err, errStalled) {
		t.Fatalf("the handshake ends with %v", err)
	}
	if _, err := conn.Read(make([]byte, 1)); err != nil {
		t.Fatalf("no answer to the first message: %v", err)
	}
	return conn
}

var errStalled = errors.New("stalled")

// silent hears nothing.
type silent struct{ net.Conn }

func (silent) Read([]byte) (int, error) { return 0, errStalled }

func TestHandshakesThatWaitForTheNetworkHoldNoTurn(t *testing.T) {
	c := newCentre(t)
	for range 3 * cap(c.gate.turns) {
		stall(t, c)
	}
	until(t, "no turn is held", func() bool { return len(c.gate.turns) == 0 })
}

func TestWhoWaitsTooLongForATurnIsLetGoAndNotBlamed(t *testing.T) {
	c := newCentre(t)
	for range cap(c.gate.turns) {
		if err := c.gate.turns.take(); err != nil {
			t.Fatal(err)
		}
	}
	conn, err := net.Dial("tcp", c.address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if err := tls.Client(conn, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}}).Handshake(); err == nil {
		t.Error("a handshake came to its end without a turn")
	}
	until(t, "it is counted", func() bool { return c.counts.count(Busy) == 1 })
	c.counts.mu.Lock()
	defer c.counts.mu.Unlock()
	if len(c.counts.reported) != 0 || c.counts.by[NoHandshake] != 0 {
		t.Errorf("reported: %v, counted: %v", c.counts.reported, c.counts.by)
	}
}
