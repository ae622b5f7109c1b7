package identity

import (
	"fmt"
	"net"
	"net/http"
	"testing"
	"time"
)

// TestTheSystemTakesLittleOfAnAnswerAhead: it wakes a writer once a third of what it took has
// gone, and a slow reader who reads on does not make room for a third of megabytes in time.
func TestTheSystemTakesLittleOfAnAnswerAhead(t *testing.T) {
	c := newCentre(t)
	c.gate.cfg.Dev, c.gate.answerTime = true, 300*time.Millisecond
	plain, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	taken := make(chan int, 1)
	server, done := c.gate.Web(c.gate.HTTP(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		n, _ := w.Write(make([]byte, 32<<20))
		taken <- n
	}))), make(chan struct{})
	go func() { defer close(done); _ = server.Serve(c.gate.Door(plain)) }()
	t.Cleanup(func() { _ = server.Close(); <-done })
	conn, err := net.Dial("tcp", plain.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.(*net.TCPConn).SetReadBuffer(paceStep); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(conn, "GET /v1/fleet HTTP/1.1\r\nHost: %s\r\n\r\n", plain.Addr())
	select {
	case n := <-taken:
		// What the system counts for its own use, and what the reader's has taken in.
		if most := 4*sendBuffer + 4*paceStep; n > most {
			t.Errorf("%d bytes were taken of an answer that nobody reads, and %d are enough", n, most)
		}
	case <-time.After(time.Minute):
		t.Fatal("the handler still waits for its reader")
	}
}
