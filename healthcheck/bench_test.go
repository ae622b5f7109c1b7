package healthcheck

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"path/filepath"
	"testing"
	"time"

	"github.com/catchment-bgp/catchment/lab/netlab"
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

// benchmarkCheck measures a check whose service stands already.
func benchmarkCheck(b *testing.B, check Check) {
	checker, err := New(check)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := checker.attempt(context.Background()); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDNSProbe(b *testing.B) {
	for _, network := range []string{"udp", "tcp"} {
		b.Run(network, func(b *testing.B) {
			s := newNameServer(b, always(nil, aRecord("192.0.2.1")))
			benchmarkCheck(b, dnsCheck(DNS{Server: s.address, TCP: network == "tcp", Answer: "^192", MinAnswers: 1}))
		})
	}
}

func BenchmarkICMPProbe(b *testing.B) {
	netlab.Require(b, netlab.Root)
	benchmarkCheck(b, icmpCheck(ICMP{Address: netip.MustParseAddr("127.0.0.1")}))
}

func BenchmarkGRPCProbe(b *testing.B) {
	address, _ := newHealthServer(b)
	benchmarkCheck(b, grpcCheck(GRPC{Address: address}))
}

func BenchmarkExecProbe(b *testing.B) {
	b.Run("program", func(b *testing.B) { benchmarkCheck(b, execCheck(Exec{Command: []string{"/bin/true"}})) })
	b.Run("script", func(b *testing.B) { benchmarkCheck(b, execCheck(Exec{Command: []string{scriptFile(b, "exit 0")}})) })
}

func BenchmarkUnitProbe(b *testing.B) {
	bus := &fakeBus{units: map[string]map[string]string{"nginx.service": {"ActiveState": "active"}}}
	bus.start(b)
	probe := unitChecker("nginx.service", bus.path).attempt
	b.ReportAllocs()
	for b.Loop() {
		if err := probe(context.Background()); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkFileProbe(b *testing.B) {
	benchmarkCheck(b, fileCheck(File{Path: filepath.Join(b.TempDir(), "disable")}))
}

func BenchmarkHTTPSegment(b *testing.B) {
	const size = 4 << 20
	text := append(fmt.Appendf(nil, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n", size), make([]byte, size)...)
	b.SetBytes(size)
	benchmarkProbe(b, func(conn net.Conn) { conn.Write(text) }, func(address string) Check {
		return httpCheck(HTTP{URL: "http://" + address, MinBytes: size, MaxTime: 4 * time.Second})
	})
}

func BenchmarkJudge(b *testing.B) {
	j := upJudge(2, 0)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		j.next(outcome(i%2), at(i))
	}
}
