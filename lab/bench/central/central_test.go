package central

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/catchment-bgp/catchment/lab/bench"
	"github.com/catchment-bgp/catchment/lab/netlab"
)

var (
	jsonFile = flag.String("figures", "", "a file for the figures, as JSON")
	sizes    = flag.String("edges", "100,1000,10000", "how many edges, one after the other")
	window   = flag.Duration("window", 30*time.Second, "how long processor time is measured")
	rounds   = flag.Int("rounds", 20, "how many writes of each kind")
	down     = flag.Duration("down", 0, "how long the centre that was killed stays away")
	measured = flag.String("centre", "", "the catchment-central that is measured; default: that of this tree")
	baseline = flag.String("baseline", "", "another catchment-central, measured in the same run and compared with")
)

// edgesEnv marks a process of edges.
const edgesEnv = "CATCHMENT_BENCH_EDGES"

func TestMain(m *testing.M) {
	if os.Getenv(edgesEnv) != "" {
		if err := serveEdges(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, "edges:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		netlab.RemoveBinaries()
		os.Exit(code)
	}))
}

// What is promised of a centre with 10,000 edges.
const (
	mostPerEdge = 100e3 // bytes
	mostWrite   = 2 * time.Second
	mostReturn  = 30 * time.Second
)

// figures are one centre's with so many edges.
type figures struct {
	Edges int `json:"edges"`
	// Of the centre with all edges, less the empty one.
	RSSPerEdge    float64 `json:"rss_bytes_per_edge"`
	HeapPerEdge   float64 `json:"heap_bytes_per_edge"`
	StacksPerEdge float64 `json:"stack_bytes_per_edge"`
	PerEdge       float64 `json:"goroutines_per_edge"`
	EmptyRSS      uint64  `json:"empty_rss_bytes"`
	// While every edge reports each 10 s, in cores.
	CPU      float64 `json:"cpu_cores"`
	EdgesCPU float64 `json:"edges_cpu_cores"`
	// From the begin of one write to the last edge's confirmation at the centre, and to the edge at which 99 % have
	// the intent; and from a tag of one node to the intent there.
	Write    bench.Series `json:"write_to_last_confirmation"`
	Reach    bench.Series `json:"write_to_99_percent_have_it"`
	Tag      bench.Series `json:"tag_to_its_edge"`
	WriteP99 float64      `json:"write_to_last_confirmation_p99_ms"`
	// From the kill, and from the moment at which the new process serves, to the last edge's intent.
	Killed    float64 `json:"return_since_kill_seconds"`
	Served    float64 `json:"return_since_served_seconds"`
	Half      float64 `json:"half_returned_since_served_seconds"`
	Streams   int     `json:"peak_streams_per_second"`
	Dials     int     `json:"dials"`
	BackCPU   float64 `json:"return_cpu_seconds"`
	BackEdges float64 `json:"return_edges_cpu_seconds"`
	// Faults counts why an edge had no stream meanwhile.
	Faults   map[string]int `json:"faults"`
	EdgesRSS uint64         `json:"edges_rss_bytes"`
}

// measure is all of it with one binary.
func measure(t testing.TB, binary string, edges, writes int, window time.Duration) figures {
	t.Helper()
	allowFiles(t, edges)
	c := newCentre(t, binary)
	<-time.After(window / 10)
	empty := c.held()
	f := newFleet(t, c, edges, time.Duration(edges)*2*time.Millisecond)
	c.confirmed(edges, startTime)
	g := figures{Edges: edges, EmptyRSS: empty.usage.RSS}
	<-time.After(window / 2) // what the start left to do
	g.steady(c, f, empty, window)
	g.writes(c, f, writes)
	g.back(c, f)
	f.close()
	c.kill()
	return g
}

// allowFiles raises the limit of open files, which processes take over that are started later.
func allowFiles(t testing.TB, edges int) {
	t.Helper()
	var l syscall.Rlimit
	must(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l))
	if need := uint64(edges + 1000); l.Cur < need {
		l.Cur, l.Max = need, max(l.Max, need)
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
			t.Fatalf("%v: %d are needed: %v", errNoFiles, need, err)
		}
	}
}

// steady measures memory and processor time while nothing happens but reports.
func (g *figures) steady(c *centre, f *fleet, empty held, window time.Duration) {
	from, edgesFrom := c.held(), f.usage()
	<-time.After(window)
	to, edgesTo := c.held(), f.usage()
	n := float64(g.Edges)
	cores := func(a, b bench.Usage) float64 { return float64(b.CPU-a.CPU) / float64(to.at.Sub(from.at)) }
	g.CPU, g.EdgesCPU = cores(from.usage, to.usage), cores(edgesFrom, edgesTo)
	g.RSSPerEdge = (float64(to.usage.RSS) - float64(empty.usage.RSS)) / n
	g.HeapPerEdge, g.StacksPerEdge, g.PerEdge = (to.heap-empty.heap)/n, (to.stacks-empty.stacks)/n, (to.goroutines-empty.goroutines)/n
	g.EdgesRSS = edgesTo.RSS
}

// writes measures how long writes take to be known.
func (g *figures) writes(c *centre, f *fleet, count int) {
	for i := range count {
		frozen := i%2 == 0
		f.order(order{Do: "expect", Frozen: frozen})
		begun := time.Now()
		c.freeze(frozen)
		a := f.await("expect", startTime)
		g.Write = append(g.Write, c.confirmed(g.Edges, startTime).Sub(begun))
		slices.Sort(a.At)
		g.Reach = append(g.Reach, since(a.At[len(a.At)*99/100], begun))
	}
	for i := range min(count, g.Edges, asns) {
		node, value := nodeName(i), fmt.Sprintf("%d:%d", ourASN, 100+i)
		f.orderOf(i, order{Do: "tag", Node: node, Tag: value})
		begun := time.Now()
		c.tag(node, value)
		g.Tag = append(g.Tag, since(f.awaitOf(i, "tag", startTime).At[0], begun))
	}
	if count%2 == 1 {
		c.freeze(false)
	}
	sorted := slices.Sorted(slices.Values(g.Write))
	g.WriteP99 = float64(sorted[(len(sorted)*99-1)/100].Microseconds()) / 1e3
}

func since(ns int64, begun time.Time) time.Duration { return time.Unix(0, ns).Sub(begun) }

// back kills the centre, starts it again, and measures until the last edge has its intent.
func (g *figures) back(c *centre, f *fleet) {
	f.order(order{Do: "return"})
	killed, before := time.Now(), f.usage()
	c.kill()
	<-time.After(*down)
	c.start()
	served := time.Now()
	a := f.await("return", 5*time.Minute)
	slices.Sort(a.At)
	g.Killed, g.Served = since(a.At[len(a.At)-1], killed).Seconds(), since(a.At[len(a.At)-1], served).Seconds()
	g.Half = since(a.At[len(a.At)/2], served).Seconds()
	g.BackCPU, g.BackEdges, g.Faults = c.held().usage.CPU.Seconds(), (f.usage().CPU - before.CPU).Seconds(), a.Faults
	g.Streams, g.Dials = peak(a.Streams), len(a.Dials)
	c.confirmed(g.Edges, startTime)
}

// peak is the most moments within a second.
func peak(at []int64) int {
	slices.Sort(at)
	most, from := 0, 0
	for to := range at {
		for at[to]-at[from] >= int64(time.Second) {
			from++
		}
		most = max(most, to-from+1)
	}
	return most
}

// tell hands an order over. That the process is gone shows when its answer is awaited.
func (p *process) tell(o order) {
	if text, err := json.Marshal(o); err == nil {
		_, _ = p.in.Write(append(text, '\n'))
		_ = p.in.Flush()
	}
}

func (p *process) listen(out io.Reader) {
	defer close(p.answers)
	for d := json.NewDecoder(bufio.NewReader(out)); ; {
		var a answer
		if d.Decode(&a) != nil {
			return
		}
		p.answers <- a
	}
}

// orderOf and awaitOf are for the process of one edge.
func (f *fleet) orderOf(i int, o order) {
	f.t.Helper()
	f.of(i).tell(o)
	f.awaitOf(i, "ready", startTime)
}

func (f *fleet) awaitOf(i int, did string, within time.Duration) answer {
	f.t.Helper()
	return f.add(answer{}, f.of(i), did, time.After(within))
}

func (f *fleet) of(i int) *process {
	p := f.processes[0]
	for _, next := range f.processes {
		if next.first <= i {
			p = next
		}
	}
	return p
}

// BenchmarkCentral measures centres with many edges, and judges the one with the most.
func BenchmarkCentral(b *testing.B) {
	for b.Loop() {
		all := map[string][]figures{}
		names := []string{"catchment"}
		binaries := map[string]string{"catchment": *measured}
		if *measured == "" {
			binaries["catchment"] = netlab.Binary(b, "./cmd/catchment-central")
		}
		if *baseline != "" {
			names, binaries["baseline"] = []string{"baseline", "catchment"}, *baseline
		}
		for _, text := range strings.Split(*sizes, ",") {
			var n int
			if _, err := fmt.Sscan(text, &n); err != nil || n < 1 {
				b.Fatalf("-edges %s: %q is no number", *sizes, text)
			}
			for _, name := range names {
				g := measure(b, binaries[name], n, *rounds, *window)
				all[name] = append(all[name], g)
				fmt.Printf("\n%s:\n%s", name, bench.Table(append([][]string{head}, g.row())))
			}
		}
		for _, name := range names {
			rows := [][]string{head}
			for _, g := range all[name] {
				rows = append(rows, g.row())
			}
			fmt.Printf("\n%s, over %v, %d writes of each kind:\n%s\n", name, *window, *rounds, bench.Table(rows))
		}
		for i, g := range all["baseline"] {
			compare(g, all["catchment"][i])
		}
		text, err := json.Marshal(all)
		must(b, err)
		fmt.Println(string(text))
		if err := bench.WriteJSON(*jsonFile, all); err != nil {
			b.Error(err)
		}
		judge(b, slices.MaxFunc(all["catchment"], func(x, y figures) int { return x.Edges - y.Edges }))
	}
}

var head = []string{"edges", "RSS/edge", "heap/edge", "stacks/edge", "goroutines/edge", "cores", "edges' cores", "write p50", "p99", "max", "99 % have it", "tag p50", "max",
	"back since kill", "since served", "half", "streams/s", "dials", "CPU", "edges' CPU"}

func (g figures) row() []string {
	ms := func(d time.Duration) string { return fmt.Sprintf("%d ms", d.Milliseconds()) }
	kb := func(v float64) string { return fmt.Sprintf("%.1f KB", v/1e3) }
	s := func(v float64) string { return fmt.Sprintf("%.1f s", v) }
	return []string{fmt.Sprint(g.Edges), kb(g.RSSPerEdge), kb(g.HeapPerEdge), kb(g.StacksPerEdge), fmt.Sprintf("%.1f", g.PerEdge),
		fmt.Sprintf("%.3f", g.CPU), fmt.Sprintf("%.3f", g.EdgesCPU), ms(g.Write.Median()), fmt.Sprintf("%.0f ms", g.WriteP99), ms(g.Write.Worst()), ms(g.Reach.Median()),
		ms(g.Tag.Median()), ms(g.Tag.Worst()), s(g.Killed), s(g.Served), s(g.Half), fmt.Sprint(g.Streams), fmt.Sprint(g.Dials), s(g.BackCPU), s(g.BackEdges)}
}

// compare prints what became of the baseline, as ratios: below 1 is better.
func compare(was, is figures) {
	rows := [][]string{{"edges", "RSS/edge", "heap/edge", "stacks/edge", "cores", "write p50", "write max", "tag p50", "back since served", "its CPU"}}
	ratio := func(a, b float64) string { return fmt.Sprintf("%.2f", b/a) }
	d := func(a, b time.Duration) string { return ratio(float64(a), float64(b)) }
	rows = append(rows, []string{fmt.Sprint(is.Edges), ratio(was.RSSPerEdge, is.RSSPerEdge), ratio(was.HeapPerEdge, is.HeapPerEdge), ratio(was.StacksPerEdge, is.StacksPerEdge),
		ratio(was.CPU, is.CPU), d(was.Write.Median(), is.Write.Median()), d(was.Write.Worst(), is.Write.Worst()), d(was.Tag.Median(), is.Tag.Median()),
		ratio(was.Served, is.Served), ratio(was.BackCPU, is.BackCPU)})
	fmt.Printf("catchment / baseline:\n%s\n", bench.Table(rows))
}

// judge fails where a centre is worse than it promises.
func judge(b *testing.B, g figures) {
	b.ReportMetric(g.RSSPerEdge/1e3, "KB/edge")
	b.ReportMetric(g.CPU, "cores")
	b.ReportMetric(g.WriteP99, "ms-write-p99")
	b.ReportMetric(g.Served, "s-back")
	b.ReportMetric(0, "ns/op")
	if g.RSSPerEdge > mostPerEdge {
		b.Errorf("%d edges take %.1f KB each, want at most %.0f", g.Edges, g.RSSPerEdge/1e3, mostPerEdge/1e3)
	}
	if g.WriteP99 > float64(mostWrite.Milliseconds()) {
		b.Errorf("a write is known to %d edges after %.0f ms (p99), want %v at most", g.Edges, g.WriteP99, mostWrite)
	}
	if g.Served > mostReturn.Seconds() {
		b.Errorf("%d edges are back after %.1f s, want %v at most", g.Edges, g.Served, mostReturn)
	}
}

// TestTwentyEdgesAreHeardAndComeBack is the benchmark, small: every wait in it fails when an edge is missing, or does
// not confirm.
func TestTwentyEdgesAreHeardAndComeBack(t *testing.T) {
	const edges = 20
	g := measure(t, netlab.Binary(t, "./cmd/catchment-central"), edges, 2, time.Second)
	if len(g.Write) != 2 || len(g.Tag) != 2 || g.Write.Worst() <= 0 || g.Tag.Worst() <= 0 {
		t.Errorf("writes: %v, tags: %v", g.Write, g.Tag)
	}
	if g.Streams < 1 || g.Dials < edges || g.Killed < g.Served {
		t.Errorf("%d streams in a second, %d dials, back after %v s since the kill", g.Streams, g.Dials, g.Killed)
	}
	if g.PerEdge < 1 {
		t.Errorf("%v goroutines for each edge", g.PerEdge)
	}
}
