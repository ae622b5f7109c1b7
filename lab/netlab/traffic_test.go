package netlab

import (
	"context"
	"io"
	"net"
	"net/http"
	"testing"
	"time"
)

// get fetches so many zeros of nginx at an address.
func get(t *testing.T, from *Node, address, bytes string) (int64, time.Duration) {
	t.Helper()
	transport := &http.Transport{DialContext: from.DialContext, DisableKeepAlives: true}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, "GET", "http://"+address+"/zeros", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Range", "bytes="+bytes)
	start := time.Now()
	answer, err := transport.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	n, err := io.Copy(io.Discard, answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return n, time.Since(start)
}

func TestShapedInterfaceIsCountedAndCarriesNoMoreThanItsRate(t *testing.T) {
	lab := New(t, NginxServer, Tc)
	a, b := lab.Node("a"), lab.Node("b")
	ifA, ifB := lab.Link(a, b, []string{"10.9.0.1/30"}, []string{"10.9.0.2/30"})
	b.Nginx("10.9.0.2:8080")
	at := net.JoinHostPort("10.9.0.2", "8080")
	if n, took := get(t, a, at, "0-"); n != 1<<20 || took > 5*time.Second {
		t.Errorf("without a bound: %d bytes in %v", n, took)
	}

	b.Shape(ifB, 1e6)
	b.Shape(ifB, 4e6)
	counters := func() (at, from Traffic) {
		t.Helper()
		at, errA := a.Traffic(ifA)
		from, errB := b.Traffic(ifB)
		if errA != nil || errB != nil {
			t.Fatal(errA, errB)
		}
		return at, from
	}
	a1, b1 := counters()
	const asked = 1 << 19
	n, took := get(t, a, at, "0-524287")
	a2, b2 := counters()
	if n != asked || took < 900*time.Millisecond || took > 10*time.Second { // 4.2 Mbit, less the burst
		t.Errorf("%d bytes in %v at 4 Mbit/s", n, took)
	}
	for what, moved := range map[string]uint64{"sent": b2.Sent - b1.Sent, "received": a2.Received - a1.Received} {
		if moved < asked || moved > asked*3/2 {
			t.Errorf("%d bytes %s of a download of %d", moved, what, asked)
		}
	}
	if back := a2.Sent - a1.Sent; back > asked/4 {
		t.Errorf("%d bytes sent by the client", back)
	}
	if _, err := a.Traffic("none"); err == nil {
		t.Error("an interface that is none has counters")
	}
}
