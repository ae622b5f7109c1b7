package failover

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/catchment-bgp/catchment/lab/bench"
	"github.com/catchment-bgp/catchment/lab/netlab"
)

var (
	runs     = flag.Int("runs", 3, "how often each service is killed")
	jsonFile = flag.String("figures", "", "a file for the figures, as JSON")
)

func TestMain(m *testing.M) {
	code := m.Run()
	netlab.RemoveBinaries()
	os.Exit(code)
}

var prefix = netip.MustParsePrefix("198.51.100.0/24")

const (
	edgeASN  = 57629
	frrASN   = 65001
	birdASN  = 65002
	interval = time.Second // of every check, with two failures to a verdict
)

// contender is one way to have a route follow a service.
type contender struct {
	name  string
	start func(*world) // on the edge, where nginx answers already
}

// world is what one contender lives in.
type world struct {
	b *testing.B
	*netlab.Upstreams
	frr   *netlab.FRR
	bird  *netlab.BIRD
	nginx *netlab.Nginx
}

func newWorld(b *testing.B) *world {
	w := &world{b: b, Upstreams: netlab.TwoUpstreams(b, netlab.FRRouting, netlab.BIRDRouting, netlab.NginxServer, netlab.ExaBGPRouting)}
	w.frr = w.Upstreams.FRR.FRR(netlab.FRRConfig{ASN: frrASN, RouterID: "10.77.1.2", Neighbors: []netlab.FRRNeighbor{
		{Address: w.ToFRR.Edge4, ASN: edgeASN},
	}}.String())
	w.bird = w.Upstreams.BIRD.BIRD(netlab.BIRDConfig{ASN: birdASN, RouterID: "10.77.2.2", Neighbors: []netlab.BIRDNeighbor{
		{Name: "edge", Address: w.ToBIRD.Edge4, ASN: edgeASN},
	}}.String())
	w.nginx = w.Edge.Nginx("127.0.0.1:8080")
	return w
}

// has says whether each router has the route.
func (w *world) has() (frr, bird bool, err error) {
	atFRR, err1 := w.frr.Routes(prefix)
	atBIRD, err2 := w.bird.Routes(prefix)
	return len(atFRR) > 0, len(atBIRD) > 0, errors.Join(err1, err2)
}

// await waits until both routers have the route.
func (w *world) await() {
	netlab.Eventually(w.b, time.Minute, "the route at both routers", func() error {
		frr, bird, err := w.has()
		if err == nil && !(frr && bird) {
			err = fmt.Errorf("FRR %v, BIRD %v", frr, bird)
		}
		return err
	})
}

// kill ends the service and tells how long each router kept the route.
func (w *world) kill() (atFRR, atBIRD time.Duration) {
	began := time.Now()
	if err := unix.Kill(-w.nginx.Proc().PID(), unix.SIGKILL); err != nil { // with its workers
		w.b.Fatal(err)
	}
	gone := func(r netlab.Router) <-chan time.Duration {
		took := make(chan time.Duration, 1)
		go func() {
			defer close(took)
			for tick := time.NewTicker(time.Millisecond); time.Since(began) < time.Minute; <-tick.C {
				if paths, err := r.Routes(prefix); err == nil && len(paths) == 0 {
					took <- time.Since(began)
					return
				}
			}
		}()
		return took
	}
	frr, bird := gone(w.frr), gone(w.bird)
	atFRR, ok1 := <-frr
	atBIRD, ok2 := <-bird
	if !ok1 || !ok2 {
		w.b.Fatal("a route outlived its service by a minute")
	}
	return atFRR, atBIRD
}

// BenchmarkFailover kills each contender's service so often as -runs says.
func BenchmarkFailover(b *testing.B) {
	contenders := []contender{
		{"catchment, watching", catchment("watch: true", "restart_grace: 0s")},
		{"catchment, polling", catchment("watch: false")},
		{"ExaBGP's health check", exaBGP},
		{"catchment, polling, fast_interval 1s", catchment("watch: false", "fast_interval: 1s")}, // as ExaBGP does it
		{"script with birdc", script},
	}
	for b.Loop() {
		var worlds []*world
		for _, c := range contenders {
			w := newWorld(b)
			worlds = append(worlds, w)
			c.start(w)
		}
		took := map[string]map[string]bench.Series{}
		for run := range *runs {
			for i, c := range contenders {
				w := worlds[i]
				w.await()
				<-time.After(interval + rand.N(interval)) // anywhere between two checks
				frr, bird := w.kill()
				if took[c.name] == nil {
					took[c.name] = map[string]bench.Series{}
				}
				took[c.name]["frr"] = append(took[c.name]["frr"], frr)
				took[c.name]["bird"] = append(took[c.name]["bird"], bird)
				if err := w.nginx.Start(); err != nil {
					b.Fatal(err)
				}
				fmt.Printf("run %d: %s: FRR %v, BIRD %v\n", run+1, c.name, frr.Round(100*time.Microsecond), bird.Round(100*time.Microsecond))
			}
		}
		report(b, contenders, took)
	}
}

// report prints and writes the figures, and fails the benchmark where catchment is worse than it promises.
func report(b *testing.B, contenders []contender, took map[string]map[string]bench.Series) {
	ms := func(d time.Duration) string { return d.Round(100 * time.Microsecond).String() }
	rows := [][]string{{fmt.Sprintf("%d runs", *runs), "BIRD median", "worst", "FRR median", "worst"}}
	for _, c := range contenders {
		bird, frr := took[c.name]["bird"], took[c.name]["frr"]
		rows = append(rows, []string{c.name, ms(bird.Median()), ms(bird.Worst()), ms(frr.Median()), ms(frr.Worst())})
	}
	fmt.Printf("\nfrom SIGKILL of the service to the route gone:\n%s\n", bench.Table(rows)) // a benchmark's log is cut after ten lines
	if err := bench.WriteJSON(*jsonFile, took); err != nil {
		b.Error(err)
	}
	watch, poll, exa := took[contenders[0].name]["bird"], took[contenders[1].name]["bird"], took[contenders[2].name]["bird"]
	b.ReportMetric(float64(watch.Median())/1e6, "watch-ms")
	b.ReportMetric(float64(poll.Median())/1e6, "poll-ms")
	b.ReportMetric(float64(exa.Median())/1e6, "exabgp-ms")
	b.ReportMetric(0, "ns/op")
	if watch.Median() >= 50*time.Millisecond {
		b.Errorf("watching takes %v in the median at BIRD, want less than 50ms", watch.Median())
	}
	if poll.Median() > exa.Median() {
		b.Errorf("polling takes %v in the median at BIRD, ExaBGP %v", poll.Median(), exa.Median())
	}
}
