package idle

import (
	"flag"
	"fmt"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/catchment-bgp/catchment/lab/bench"
	"github.com/catchment-bgp/catchment/lab/netlab"
)

var (
	window   = flag.Duration("window", time.Minute, "how long is measured")
	jsonFile = flag.String("figures", "", "a file for the figures, as JSON")
)

func TestMain(m *testing.M) {
	code := m.Run()
	netlab.RemoveBinaries()
	os.Exit(code)
}

const (
	edgeASN = 57629
	peerASN = 65001
	checks  = 10

	mostRSS   = 40e6 // bytes, with 20 neighbours
	mostShare = 0.01 // of a core, with 20 neighbours
)

// figures are one speaker's. The helpers are ExaBGP's health checks, which catchment has inside.
type figures struct {
	Neighbors  int     `json:"neighbors"`
	RSS        uint64  `json:"rss_bytes"`
	CPU        float64 `json:"cpu_share_of_core"`
	Switches   float64 `json:"context_switches_per_second"`
	Helpers    int     `json:"helpers"`
	HelpersRSS uint64  `json:"helpers_rss_bytes"`
	HelpersCPU float64 `json:"helpers_cpu_share_of_core"`
}

// side is an edge with a speaker under test, and BIRD with an address for each session.
type side struct {
	b         *testing.B
	edge      *netlab.Node
	bird      *netlab.BIRD
	neighbors []pair
	speaker   *netlab.Proc
}

// pair are the addresses of one session: BIRD tells neighbours apart by the edge's.
type pair struct{ edge, bird netip.Addr }

func newSide(b *testing.B, neighbors int) *side {
	lab := netlab.New(b, netlab.BIRDRouting, netlab.NginxServer, netlab.ExaBGPRouting)
	s := &side{b: b, edge: lab.Node("edge")}
	node := lab.Node("bird")
	config := netlab.BIRDConfig{ASN: peerASN, RouterID: "10.70.1.1"}
	var ours, theirs []string
	for i := range neighbors {
		p := pair{netip.AddrFrom4([4]byte{10, 71, 1, 1 + byte(i)}), netip.AddrFrom4([4]byte{10, 70, 1, 1 + byte(i)})}
		s.neighbors = append(s.neighbors, p)
		ours, theirs = append(ours, p.edge.String()+"/15"), append(theirs, p.bird.String()+"/15")
		config.Neighbors = append(config.Neighbors, netlab.BIRDNeighbor{Address: p.edge, Local: p.bird, ASN: edgeASN, Passive: true, HoldTime: 9 * time.Second})
	}
	lab.Link(s.edge, node, ours, theirs)
	s.bird = node.BIRD(config.String())
	s.edge.Nginx("127.0.0.1:8080")
	return s
}

func prefixOf(check int) string { return fmt.Sprintf("198.51.%d.0/24", 100+check) }

func (s *side) startCatchment() {
	var b strings.Builder
	fmt.Fprintf(&b, "node: edge\nasn: %d\nrouter_id: 10.70.0.1\ncontrol: unix:///run/edge.sock\nmetrics: 127.0.0.1:9179\nway_back: {require: none}\nneighbors:\n", edgeASN)
	for i, p := range s.neighbors {
		fmt.Fprintf(&b, "  - {name: n%d, address: %s, asn: %d, kind: transit, local_address: %s}\n", i, p.bird, peerASN, p.edge)
	}
	fmt.Fprintln(&b, "services:")
	for i := range checks {
		fmt.Fprintf(&b, "  - {name: s%d, prefixes: [%s], checks: [{name: web, http: {url: 'http://127.0.0.1:8080/health'}, interval: 1s}]}\n", i, prefixOf(i))
	}
	s.edge.WriteFile("/run/edge.yaml", b.String())
	s.speaker = s.edge.Start("catchment-edge", netlab.Binary(s.b, "./cmd/catchment-edge"), "--config", "/run/edge.yaml")
}

func (s *side) startExaBGP() {
	var b strings.Builder
	names := ""
	for i := range checks {
		fmt.Fprintf(&b, "process check%d {\n  run /usr/bin/exabgp-healthcheck --no-ack --no-syslog --name s%d --interval 1 --rise 2 --fall 2 --timeout 1 --no-ip-setup --withdraw-on-down --ip %s --cmd \"curl -sf -m 0.5 -o /dev/null http://127.0.0.1:8080/health\";\n  encoder text;\n}\n",
			i, i, prefixOf(i))
		names += fmt.Sprintf(" check%d,", i)
	}
	for _, p := range s.neighbors {
		fmt.Fprintf(&b, "neighbor %s {\n  router-id 10.70.0.1;\n  local-address %s;\n  local-as %d;\n  peer-as %d;\n  hold-time 9;\n  family { ipv4 unicast; }\n  api { processes [%s ]; }\n}\n",
			p.bird, p.edge, edgeASN, peerASN, strings.TrimSuffix(names, ","))
	}
	s.edge.WriteFile("/run/exabgp.conf", b.String())
	s.speaker = s.edge.StartEnv("exabgp", netlab.ExaBGPEnv(), "/usr/sbin/exabgp", "/run/exabgp.conf")
}

// await waits until BIRD has every route in every session.
func (s *side) await() {
	netlab.Eventually(s.b, 3*time.Minute, fmt.Sprintf("%d routes in %d sessions", checks, len(s.neighbors)), func() error {
		text, err := s.bird.Birdc("show route count")
		want := fmt.Sprintf("%d of %d routes for %d networks", checks*len(s.neighbors), checks*len(s.neighbors), checks)
		if err == nil && !strings.Contains(text, want) {
			err = fmt.Errorf("BIRD has %s", text)
		}
		return err
	})
}

// The names of programs that make as many HTTP requests, and nothing else: evenly spread, and all at the same moment.
const (
	floor     = "requests only"
	floorOnce = "requests only, at once"
)

func (s *side) startFloor(atOnce int) {
	s.speaker = s.edge.Start("floor", netlab.Binary(s.b, "./lab/bench/idle/floor"), "127.0.0.1:8080", fmt.Sprint(checks), fmt.Sprint(atOnce))
}

type moment struct {
	at           time.Time
	own, helping bench.Usage
	helpers      int
}

func (s *side) moment() moment {
	own, err := bench.UsageOf(s.speaker.PID(), false)
	if err != nil {
		s.b.Fatal(err)
	}
	helping, n, err := helpersOf(s.speaker.PID())
	if err != nil {
		s.b.Fatal(err)
	}
	return moment{at: time.Now(), own: own, helping: helping, helpers: n}
}

// since are the figures of the time since then.
func (s *side) since(from moment) figures {
	to := s.moment()
	passed := to.at.Sub(from.at)
	share := func(a, b bench.Usage) float64 { return float64(b.CPU-a.CPU) / float64(passed) }
	return figures{
		Neighbors: len(s.neighbors), RSS: to.own.RSS, CPU: share(from.own, to.own),
		Switches: float64(to.own.Switches-from.own.Switches) / passed.Seconds(),
		Helpers:  to.helpers, HelpersRSS: to.helping.RSS, HelpersCPU: share(from.helping, to.helping),
	}
}

// names are what is measured, in the order of the table.
var names = []string{"catchment", "ExaBGP", floor, floorOnce}

// measure runs all for a window with a number of neighbours.
func measure(b *testing.B, neighbors int) map[string]figures {
	sides := map[string]*side{"catchment": newSide(b, neighbors), "ExaBGP": newSide(b, neighbors), floor: newSide(b, 1), floorOnce: newSide(b, 1)}
	sides["catchment"].startCatchment()
	sides["ExaBGP"].startExaBGP()
	sides["catchment"].await()
	sides["ExaBGP"].await()
	sides[floor].startFloor(1)
	sides[floorOnce].startFloor(checks)
	<-time.After(10 * time.Second) // what the start left to do
	from := map[string]moment{}
	for name, s := range sides {
		from[name] = s.moment()
	}
	<-time.After(*window)
	got := map[string]figures{}
	for name, s := range sides {
		got[name] = s.since(from[name])
	}
	sides["catchment"].await()
	sides["ExaBGP"].await()
	for _, s := range sides {
		s.speaker.Kill()
	}
	return got
}

// BenchmarkIdle measures the speakers with 20 and with 200 neighbours, and judges catchment with 20.
func BenchmarkIdle(b *testing.B) {
	for b.Loop() {
		all := map[string][]figures{}
		rows := [][]string{{"", "neighbours", "RSS", "CPU of a core", "switches/s", "helpers", "their RSS", "their CPU"}}
		for _, n := range []int{20, 200} {
			got := measure(b, n)
			for _, name := range names {
				f := got[name]
				all[name] = append(all[name], f)
				rows = append(rows, []string{name, fmt.Sprint(n), mb(f.RSS), percent(f.CPU), fmt.Sprintf("%.0f", f.Switches),
					fmt.Sprint(f.Helpers), mb(f.HelpersRSS), percent(f.HelpersCPU)})
			}
		}
		fmt.Printf("\nover %v, with %d checks at 1 s:\n%s\n", *window, checks, bench.Table(rows))
		if err := bench.WriteJSON(*jsonFile, all); err != nil {
			b.Error(err)
		}
		judge(b, all["catchment"][0], all[floor][0])
	}
}

// judge fails where catchment costs more than it promises. How it compares with the bare requests is told and not judged:
// what they cost shows how fast this machine is, and how quiet.
func judge(b *testing.B, ours, bare figures) {
	ratio := ours.CPU / bare.CPU
	b.ReportMetric(float64(ours.RSS)/1e6, "MB")
	b.ReportMetric(ours.CPU*100, "%CPU")
	b.ReportMetric(ratio, "x-bare-requests")
	b.ReportMetric(0, "ns/op")
	if ours.RSS >= mostRSS {
		b.Errorf("catchment with %d neighbours holds %s, want less than %s", ours.Neighbors, mb(ours.RSS), mb(mostRSS))
	}
	if ours.CPU >= mostShare {
		b.Errorf("catchment with %d neighbours uses %s of a core, want less than %s; it is %.2f times what the requests alone use, which is %s",
			ours.Neighbors, percent(ours.CPU), percent(mostShare), ratio, percent(bare.CPU))
	}
}

func mb(bytes uint64) string       { return fmt.Sprintf("%.1f MB", float64(bytes)/1e6) }
func percent(share float64) string { return fmt.Sprintf("%.2f %%", share*100) }
