package announcer

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/catchment-bgp/catchment/announcer/guard"
)

// sink is a router that takes everything and keeps nothing.
type sink struct {
	listener net.Listener
	running  sync.WaitGroup
}

const sinkASN = 65001

func startSink(t testing.TB) (*sink, netip.AddrPort) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &sink{listener: l}
	s.running.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			s.running.Go(func() { _ = s.serve(conn) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		s.running.Wait()
	})
	return s, l.Addr().(*net.TCPAddr).AddrPort()
}

// serve answers OPEN and then keeps the session alive until it ends.
func (s *sink) serve(conn net.Conn) error {
	defer conn.Close()
	r := bufio.NewReaderSize(conn, 1<<16)
	if err := skip(r); err != nil {
		return err
	}
	open := []byte{4, 0xfd, 0xe9, 0, 90, 10, 0, 0, 2, 14, 2, 12, 1, 4, 0, 1, 0, 1, 65, 4, 0, 0, 0xfd, 0xe9}
	if _, err := conn.Write(slices.Concat(header(1, len(open)), open, header(4, 0))); err != nil {
		return err
	}
	done := make(chan struct{})
	defer close(done)
	s.running.Go(func() {
		tick := time.NewTicker(3 * time.Second)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				_, _ = conn.Write(header(4, 0))
			}
		}
	})
	for {
		if err := skip(r); err != nil {
			return err
		}
	}
}

// header begins a message (RFC 4271, section 4.1).
func header(kind byte, body int) []byte {
	out := slices.Repeat([]byte{0xff}, 16)
	out = binary.BigEndian.AppendUint16(out, uint16(19+body))
	return append(out, kind)
}

// skip reads a message and forgets it.
func skip(r *bufio.Reader) error {
	head := make([]byte, 19)
	if _, err := io.ReadFull(r, head); err != nil {
		return err
	}
	n := int(binary.BigEndian.Uint16(head[16:18])) - 19
	if n < 0 {
		return errors.New("a message that is too short")
	}
	_, err := r.Discard(n)
	return err
}

// prober asks a server of its own again and again, as a check does, and notes how
// long the slowest answer took and how many came too late.
type prober struct {
	slowest time.Duration
	asked   int
	late    int
}

// probeTime is what a check waits for by default.
const probeTime = 500 * time.Millisecond

func (p *prober) run(ctx context.Context, addr string) {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		begin := time.Now()
		if conn, err := net.DialTimeout("tcp", addr, 10*time.Second); err == nil {
			_ = conn.SetDeadline(begin.Add(10 * time.Second))
			_, _ = conn.Write([]byte{1})
			_, _ = conn.Read(make([]byte, 1))
			conn.Close()
		}
		took := time.Since(begin)
		p.asked++
		if p.slowest = max(p.slowest, took); took > probeTime {
			p.late++
		}
	}
}

// echo answers each connection with the first byte that comes.
func echo(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			running.Go(func() {
				defer conn.Close()
				_, _ = io.CopyN(conn, conn, 1)
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		running.Wait()
	})
	return l.Addr().String()
}

// BenchmarkEverythingAtOnce announces, changes and withdraws 1000 prefixes at each
// of 200 neighbours at once, on a machine that checks its services meanwhile.
func BenchmarkEverythingAtOnce(b *testing.B) {
	const neighbors, prefixes = 200, 1000
	addr := echo(b)
	a, names := manySessions(b, neighbors)
	routes := manyRoutes(prefixes)
	for b.Loop() {
		for _, phase := range []struct {
			name   string
			routes []Route
		}{{"announce", routes(0)}, {"change", routes(1)}, {"withdraw", nil}} {
			var p prober
			ctx, stop := context.WithCancel(context.Background())
			var probing sync.WaitGroup
			probing.Go(func() { p.run(ctx, addr) })
			begin := time.Now()
			for _, n := range names {
				if err := a.Set(n, phase.routes); err != nil {
					b.Fatal(err)
				}
			}
			limit, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
			if err := a.Settle(limit); err != nil {
				b.Error(err)
			}
			cancel()
			b.ReportMetric(time.Since(begin).Seconds(), phase.name+"-s")
			stop()
			probing.Wait()
			b.ReportMetric(float64(p.slowest.Milliseconds()), phase.name+"-slowest-check-ms")
			b.ReportMetric(float64(p.late), phase.name+"-late-checks")
		}
	}
	resets, why := 0, map[string]int{}
	for _, st := range a.Sessions() {
		resets += int(st.Sessions) - 1
		why[st.LastError]++
	}
	b.Logf("last errors: %v", why)
	b.ReportMetric(float64(resets), "resets")
}

// manySessions starts sessions with routers that keep nothing.
func manySessions(t testing.TB, n int) (*Announcer, []string) {
	t.Helper()
	var ns []Neighbor
	var names []string
	for i := range n {
		_, at := startSink(t)
		name := "n" + string(rune('a'+i/26/26)) + string(rune('a'+i/26%26)) + string(rune('a'+i%26))
		names = append(names, name)
		ns = append(ns, Neighbor{Name: name, Address: at.Addr(), Port: at.Port(), ASN: sinkASN, Kind: Transit,
			LocalAddress: us, Multihop: 1, HoldTime: 9 * time.Second, IPv4: true})
	}
	a := New(Options{Log: slog.New(slog.DiscardHandler)})
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		a.Close(ctx, "test over")
	})
	if err := a.SetNeighbors(local(), ns); err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(time.Minute)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		up := 0
		for _, st := range a.Sessions() {
			if st.State == guard.Established {
				up++
			}
		}
		if up == n {
			return a, names
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d of %d sessions are up", up, n)
		}
		<-tick.C
	}
}

// manyRoutes makes n routes, with a number of prepends.
func manyRoutes(n int) func(prepend int) []Route {
	return func(prepend int) []Route {
		out := make([]Route, n)
		for i := range out {
			p := netip.PrefixFrom(netip.AddrFrom4([4]byte{20, byte(i >> 8), byte(i), 0}), 24)
			out[i] = Route{Prefix: p, NextHop: us, Prepend: prepend}
		}
		return out
	}
}
