package load

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/catchment-bgp/catchment/lab/netlab"
)

// holdVariable makes the test binary hold connections: see hold.
const holdVariable = "LOAD_TEST_HOLD"

// established gives a node n established connections to its VIP, held by some
// processes, since each may have so many open files only.
func established(b *testing.B, on *netlab.Node, k *kernel, n int) {
	b.Helper()
	const each = 10_000
	ctx, cancel := context.WithCancel(b.Context())
	var holders sync.WaitGroup
	b.Cleanup(func() {
		cancel()
		holders.Wait()
	})
	for i := range n / each {
		holders.Go(func() {
			_, err := on.Run(ctx, "/usr/bin/env", fmt.Sprintf("%s=%d %d", holdVariable, i+2, each), os.Args[0])
			if ctx.Err() == nil {
				b.Errorf("holder %d: %v", i, err)
			}
		})
	}
	netlab.Eventually(b, time.Minute, "all connections", func() error {
		if got, err := k.sessions(vips); err != nil || got != n {
			return fmt.Errorf("%d connections, %v; want %d", got, err, n)
		}
		return nil
	})
}

// hold makes connections from a host without anyone at the other end: sockets in
// repair mode (TCP_REPAIR) are connected by decree. It ends when it is killed.
func hold(what string) error {
	var host, n int
	if _, err := fmt.Sscan(what, &host, &n); err != nil {
		return err
	}
	for i := range n {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return os.NewSyscallError("socket", err)
		}
		remote := &unix.SockaddrInet4{Addr: [4]byte{10, 77, 1, byte(host)}, Port: 10_000 + i}
		for _, err := range []error{
			unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1),
			unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_REPAIR, 1),
			unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{198, 51, 100, 1}, Port: 443}),
			unix.Connect(fd, remote),
		} {
			if err != nil {
				return fmt.Errorf("connection %d: %w", i, err)
			}
		}
	}
	select {}
}

// BenchmarkRound is what the node spends: each second the counters of four links
// and the node's resources, and from time to time a count and a look at 50,000
// connections.
func BenchmarkRound(b *testing.B) {
	lab := netlab.New(b)
	edge := lab.Node("edge")
	edge.AddAddress("lo", "198.51.100.1/32")
	var nics []Interface
	for i := range 4 {
		up := lab.Node(fmt.Sprintf("up%d", i))
		name, _ := lab.Link(edge, up, []string{fmt.Sprintf("10.77.%d.1/24", i+1)}, []string{fmt.Sprintf("10.77.%d.2/24", i+1)})
		nics = append(nics, Interface{Name: name})
	}
	const connections = 50_000
	k := kernelOf(b, edge)
	established(b, edge, k, connections)
	resources := Resources{CPU: true, Interfaces: nics, Disks: []string{"*"}}
	b.Run("counters", func(b *testing.B) {
		b.ReportAllocs()
		m := newNodeMeter(resources, k, nil)
		var links []*counterReader
		for _, nic := range nics {
			links = append(links, &counterReader{devices: k.devices, name: nic.Name})
		}
		for b.Loop() {
			for _, l := range links {
				_, _ = l.read(b.Context())
			}
			_, _, _ = m.round(b.Context(), time.Now())
		}
	})
	b.Run("sessions", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := k.sessions(vips); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("quality", func(b *testing.B) {
		b.ReportAllocs()
		m := newQualityMeter(QualityConfig{VIPs: vips}, k, nil)
		for b.Loop() {
			if _, err := m.look(time.Now()); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("mark", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, _, err := k.mark(testConnection(1, 0, 0)); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkEstimate is the filter with an hour of history.
func BenchmarkEstimate(b *testing.B) {
	e := NewEstimator(Link{Fast: &Source{Interface: "a"}, Exact: &Source{Feed: &Feed{Period: time.Minute}, Average: time.Minute}})
	now := 0.0
	b.ReportAllocs()
	for b.Loop() {
		now++
		e.Fast(Sample{Load: now, At: after(now)})
		if int(now)%60 == 0 {
			e.Exact(Sample{Load: now, At: after(now - 60)}, after(now))
		}
	}
}
