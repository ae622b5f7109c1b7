package healthcheck

import (
	"context"
	"net"
	"testing"
)

// The services stand on several addresses: one address has fewer ports for the
// connections in TIME-WAIT than a benchmark makes.
func benchmarkProbe(b *testing.B, handle func(net.Conn), check func(address string) Check) {
	var probes []probe
	for i := range 8 {
		l, err := net.Listen("tcp", net.JoinHostPort(net.IPv4(127, 0, 0, byte(i+1)).String(), "0"))
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { l.Close() })
		go func() {
			buffer := make([]byte, 4096)
			for {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				if handle != nil {
					conn.Read(buffer)
					handle(conn)
				}
				conn.Close()
			}
		}()
		checker, err := New(check(l.Addr().String()))
		if err != nil {
			b.Fatal(err)
		}
		probes = append(probes, checker.attempt)
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if err := probes[i%len(probes)](context.Background()); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkTCPProbe(b *testing.B) { benchmarkProbe(b, nil, tcpCheck) }

func BenchmarkHTTPProbe(b *testing.B) {
	text := []byte(answerOK)
	benchmarkProbe(b, func(conn net.Conn) { conn.Write(text) }, func(address string) Check {
		return httpCheck(HTTP{URL: "http://" + address + "/health", Body: "^ok"})
	})
}

func BenchmarkJudge(b *testing.B) {
	j := upJudge(2, 0)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		j.next(outcome(i%2), at(i))
	}
}
