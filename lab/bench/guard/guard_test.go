package guard

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	edgev1 "github.com/catchment-bgp/catchment/api/edge/v1"
	"github.com/catchment-bgp/catchment/lab/netlab"
	"github.com/catchment-bgp/catchment/lab/netlab/routegen"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		netlab.RemoveBinaries()
		os.Exit(code)
	}))
}

const (
	ourASN, theirASN = 57629, 65010
	fullTable        = 1_000_000
	control          = "/run/edge.sock"
	limit            = 20 * time.Second // of every wait
)

var video = netip.MustParsePrefix("198.51.100.0/24")

// bench is a daemon between two neighbours that the benchmark plays: one floods, the other does not.
type bench struct {
	b              *testing.B
	proc           *netlab.Proc
	api            edgev1.EdgeClient
	flooder, other *neighbor
}

// neighbor is a raw speaker with what it heard of our route last.
type neighbor struct {
	*routegen.Speaker
	name  string
	addr  netip.Addr
	heard chan change
}

// change says that our route came or went, and when the UPDATE was read.
type change struct {
	at        time.Time
	withdrawn bool
}

func start(b *testing.B) *bench {
	b.Helper()
	lab := netlab.New(b)
	edge := lab.Node("edge")
	config := fmt.Sprintf("node: bench\nasn: %d\nrouter_id: 10.77.0.1\nstate_dir: /var/lib/catchment\ncontrol: unix://%s\n"+
		"way_back: {require: none}\nservices:\n  - {name: video, prefixes: [%s]}\nneighbors:\n", ourASN, control, video)
	var listeners []*routegen.Listener
	x := &bench{b: b}
	for i, n := range []**neighbor{&x.flooder, &x.other} {
		*n = &neighbor{name: fmt.Sprintf("n%d", i), addr: netip.AddrFrom4([4]byte{10, 77, byte(i), 2}), heard: make(chan change, 1<<10)}
		node := lab.Node((*n).name)
		lab.Link(edge, node, []string{fmt.Sprintf("10.77.%d.1/30", i)}, []string{(*n).addr.String() + "/30"})
		config += fmt.Sprintf("  - {name: %s, address: %s, asn: %d, kind: transit, local_address: 10.77.%d.1}\n", (*n).name, (*n).addr, theirASN, i)
		err := node.Do(func() error {
			l, err := routegen.Listen(b.Context(), netip.AddrPortFrom((*n).addr, 179).String(), routegen.Config{LocalASN: theirASN})
			listeners = append(listeners, l)
			return err
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	edge.WriteFile("/run/edge.yaml", config)
	x.proc = edge.Start("catchment-edge", netlab.Binary(b, "./cmd/catchment-edge"), "--config", "/run/edge.yaml")
	for i, n := range []*neighbor{x.flooder, x.other} {
		n.accept(b, listeners[i])
	}
	x.dial(edge.HostPath(control))
	return x
}

// accept takes the session and listens to it until the benchmark ends.
func (n *neighbor) accept(b *testing.B, l *routegen.Listener) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), limit)
	defer cancel()
	var err error
	if n.Speaker, err = l.Accept(ctx); err != nil {
		b.Fatalf("%s: %v", n.name, err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for m := range n.Received() {
			if m.Type != routegen.TypeUpdate {
				continue
			}
			if u, err := routegen.ParseUpdate(m.Body); err == nil && !u.EndOfRIB() {
				n.heard <- change{m.At, slices.Contains(u.Withdrawn, video)}
			}
		}
	}()
	b.Cleanup(func() {
		_ = errors.Join(n.Close(), l.Close())
		<-done
	})
	n.await(b, false)
}

// await waits until our route has come or gone.
func (n *neighbor) await(b *testing.B, withdrawn bool) time.Time {
	b.Helper()
	select {
	case c := <-n.heard:
		if c.withdrawn != withdrawn {
			b.Fatalf("%s: withdrawn %v, want %v", n.name, c.withdrawn, withdrawn)
		}
		return c.at
	case <-n.Done():
		b.Fatalf("%s: the session has ended: %v", n.name, n.Err())
	case <-time.After(limit):
		b.Fatalf("%s: no UPDATE in %v", n.name, limit)
	}
	return time.Time{}
}

func (x *bench) dial(path string) {
	x.b.Helper()
	conn, err := grpc.NewClient("passthrough:///edge", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", path)
		}))
	if err != nil {
		x.b.Fatal(err)
	}
	x.b.Cleanup(func() { _ = conn.Close() })
	x.api = edgev1.NewEdgeClient(conn)
}

// withdrawals withdraws and announces n times, and gives the time from the call to the UPDATE at each neighbour.
func (x *bench) withdrawals(n int) (flooder, other []time.Duration) {
	x.b.Helper()
	ctx, cancel := context.WithTimeout(x.b.Context(), time.Duration(n)*limit)
	defer cancel()
	selector := &edgev1.Selector{Services: []string{"video"}}
	for range n {
		call := time.Now()
		if _, err := x.api.SetOverride(ctx, &edgev1.SetOverrideRequest{Selector: selector, Verb: "withdraw", Reason: "measured"}); err != nil {
			x.b.Fatal(err)
		}
		flooder = append(flooder, x.flooder.await(x.b, true).Sub(call))
		other = append(other, x.other.await(x.b, true).Sub(call))
		if _, err := x.api.ClearOverride(ctx, &edgev1.ClearOverrideRequest{Selector: selector, Reason: "measured"}); err != nil {
			x.b.Fatal(err)
		}
		x.flooder.await(x.b, false)
		x.other.await(x.b, false)
	}
	return flooder, other
}

// flood sends a full table and goes on changing it until the function returned is called, which tells how many UPDATEs
// it sent in a second. It returns when the table was sent once.
func (x *bench) flood() (stop func() float64) {
	x.b.Helper()
	table := routegen.Table{Count: fullTable, ASN: theirASN, NextHop: x.flooder.addr}
	ctx, cancel := context.WithCancel(x.b.Context())
	once, done := make(chan struct{}), make(chan struct{})
	begun, last, sent := time.Now(), table.Updates(), 0
	go func() {
		defer close(done)
		sent, _ = x.flooder.Flood(ctx, 1<<40, func(i int) []byte {
			if i == last {
				close(once)
			}
			return table.Update(i)
		})
	}()
	stop = func() float64 {
		cancel()
		<-done
		return float64(sent) / time.Since(begun).Seconds()
	}
	select {
	case <-once:
	case <-done:
		x.b.Fatalf("the flood ended after %d UPDATEs: %v", sent, x.flooder.Err())
	case <-time.After(3 * limit):
		stop()
		x.b.Fatal("the table was not sent in a minute")
	}
	return stop
}

func median(list []time.Duration) float64 {
	return float64(slices.Sorted(slices.Values(list))[len(list)/2].Microseconds())
}

// BenchmarkWithdrawal counts a withdrawal without a flood and one with a flood as one operation.
func BenchmarkWithdrawal(b *testing.B) {
	x := start(b)
	memory := func() float64 {
		peak, err := x.proc.PeakRSS()
		if err != nil {
			b.Fatal(err)
		}
		return float64(peak)
	}
	before := memory()
	b.ResetTimer()
	quiet, _ := x.withdrawals(b.N)
	b.StopTimer()
	stop := x.flood()
	b.StartTimer()
	flooder, other := x.withdrawals(b.N)
	b.StopTimer()
	rate := stop()
	b.ReportMetric(median(quiet), "µs/quiet")
	b.ReportMetric(median(flooder)/median(quiet), "flooder/quiet")
	b.ReportMetric(median(other)/median(quiet), "other/quiet")
	b.ReportMetric(memory()/before, "RSS/before")
	b.ReportMetric(memory()/(1<<20), "MB-RSS")
	b.ReportMetric(rate, "UPDATEs/s")
}
