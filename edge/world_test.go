package edge

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/catchment-bgp/catchment/announcer/host"
	"github.com/catchment-bgp/catchment/edge/config"
	"github.com/catchment-bgp/catchment/healthcheck"
)

// world is an edge node and everything around it, faked: what the node does to
// it is in the journal.
type world struct {
	t    testing.TB
	dir  string
	node *Edge
	*announcerFake
	vips     *vipsFake
	defaults *defaultsFake
	returns  *returnsFake
	sampler  *samplerFake
	real     bool // load is measured
	centre   func(ctx context.Context, address string) (net.Conn, error)
	clock    func() bool
	journal  *journal
	log      *bytes.Buffer // of the node; to be read when the node is at rest

	wayBack chan host.WayBack
	mu      sync.Mutex
	probes  map[string]*probeFake
	starts  map[string]int // how often a check was started

	leave func()
	left  chan error
}

// probeFake is a running check that says what the test wants.
type probeFake struct {
	config  healthcheck.Check
	reports chan healthcheck.Status
}

// journal is what was done to the world, in order, with the time since the start.
type journal struct {
	mu    sync.Mutex
	start time.Time
	lines []string
}

func (j *journal) add(format string, a ...any) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines = append(j.lines, fmt.Sprintf("%v ", time.Since(j.start))+fmt.Sprintf(format, a...))
}

// since returns the lines from the n-th on that contain all texts.
func (j *journal) since(n int, texts ...string) []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	var out []string
	for _, line := range j.lines[n:] {
		if !slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(line, text) }) {
			out = append(out, line)
		}
	}
	return out
}

func (j *journal) len() int { return len(j.since(0)) }

// baseConfig is the configuration of most tests; edits change it.
const baseConfig = `node: msk1
asn: 57629
router_id: 10.77.0.1
state_dir: DIR/state
control: unix://DIR/edge.sock
metrics: 127.0.0.1:9179
links: [{name: uplink, capacity: 10Gbps}]
neighbors:
  - {name: transit, address: 10.77.1.2, asn: 65001, kind: transit, local_address: 10.77.1.1, families: [ipv4, ipv6], next_hop: {ipv6: "fd77:1::1"}, link: uplink, ladder: [{community: ["65001:3000"]}, {prepend: 5, community: ["65001:3001"]}, {withdraw: true}]}
  - {name: ix, address: 10.77.2.2, asn: 65002, kind: ix, local_address: 10.77.2.1, families: [ipv4, ipv6], next_hop: {ipv6: "fd77:2::1"}}
services:
  - name: video
    prefixes: [198.51.100.0/24, "2001:db8:100::/48"]
    vips: [198.51.100.1/32]
    communities: ["57629:101"]
    drain: 30s
    checks:
      - {name: web, http: {url: "http://198.51.100.1:8080/health"}}
      - {name: origin, tcp: {address: "origin.example:443"}, scope: soft}
  - name: dns
    prefixes: [203.0.113.0/24]
    vips: [203.0.113.53/32]
    neighbors: [transit]
    checks:
      - {name: resolver, tcp: {address: "203.0.113.53:53"}}
leave_hold: 2s
way_back: {require: default, grace: 5s}
return_after: [10s, 60s, 5m, 30m]
`

// text is the base configuration with edits: pairs of what is there and what
// stands in its place.
func (w *world) text(edits ...string) string {
	w.t.Helper()
	out := baseConfig
	for i := 0; i+1 < len(edits); i += 2 {
		if !strings.Contains(out, edits[i]) {
			w.t.Fatalf("the configuration has no %q", edits[i])
		}
		out = strings.ReplaceAll(out, edits[i], edits[i+1])
	}
	return strings.ReplaceAll(out, "DIR", w.dir)
}

// config is the base configuration with edits.
func (w *world) config(edits ...string) *config.Config {
	w.t.Helper()
	c, _, err := config.Parse("edge.yaml", []byte(w.text(edits...)), config.Options{})
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

func (w *world) file() string { return filepath.Join(w.dir, "edge.yaml") }

// newWorld prepares a world; start starts the node in it.
func newWorld(t testing.TB) *world {
	j := &journal{start: time.Now()}
	dir, err := os.MkdirTemp("", "edge") // short: the socket's path is limited
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return &world{
		t: t, dir: dir, journal: j, log: &bytes.Buffer{},
		announcerFake: newAnnouncerFake(j), vips: newVIPsFake(j), defaults: &defaultsFake{journal: j}, returns: newReturnsFake(j), sampler: &samplerFake{journal: j},
		wayBack: make(chan host.WayBack), probes: map[string]*probeFake{}, starts: map[string]int{},
	}
}

func (w *world) options() Options {
	o := Options{
		File: w.file(), Version: "test", Log: slog.New(slog.NewTextHandler(w.log, nil)),
		Announcer: w.announcerFake, VIPs: w.vips, Defaults: w.defaults, Returns: w.returns,
		WayBack: w.watchWayBack, Checks: w.runCheck, Sampler: w.sampler.start,
		DialCentre: w.centre, Clock: w.clock,
	}
	if w.real {
		o.Sampler = nil
	}
	return o
}

func (w *world) watchWayBack(ctx context.Context, report func(host.WayBack)) error {
	for {
		select {
		case wb := <-w.wayBack:
			report(wb)
		case <-ctx.Done():
			return nil
		}
	}
}

func (w *world) runCheck(ctx context.Context, c healthcheck.Check, report func(healthcheck.Status)) error {
	p := &probeFake{c, make(chan healthcheck.Status)}
	w.mu.Lock()
	w.probes[c.Name] = p
	w.starts[c.Name]++
	w.mu.Unlock()
	for {
		select {
		case st := <-p.reports:
			report(st)
		case <-ctx.Done():
			return nil
		}
	}
}

// start starts the node with the base configuration and edits.
func (w *world) start(edits ...string) {
	w.t.Helper()
	if err := os.WriteFile(w.file(), []byte(w.text(edits...)), 0o640); err != nil {
		w.t.Fatal(err)
	}
	w.run(w.config(edits...))
}

func (w *world) run(c *config.Config) {
	w.t.Helper()
	node, err := New(c, nil, w.options())
	if err != nil {
		w.t.Fatal(err)
	}
	w.adopt(node)
}

// adopt runs a node in the world.
func (w *world) adopt(node *Edge) {
	ctx, leave := context.WithCancel(context.Background())
	w.node, w.leave, w.left = node, leave, make(chan error, 1)
	go func() { w.left <- node.Run(ctx) }()
}

// stop makes the node leave and waits until it has.
func (w *world) stop() {
	w.t.Helper()
	w.leave()
	if err := <-w.left; err != nil {
		w.t.Errorf("Run: %v", err)
	}
}

// report makes a check report a verdict; an empty fault: it is up.
func (w *world) report(check, fault string) {
	w.t.Helper()
	w.probe(check, healthcheck.Status{Up: fault == "", Decided: true, Error: fault})
}

func (w *world) probe(check string, st healthcheck.Status) {
	w.t.Helper()
	w.mu.Lock()
	p := w.probes[check]
	w.mu.Unlock()
	if p == nil {
		w.t.Fatalf("check %s does not run", check)
	}
	st.Name, st.Soft, st.Last, st.Duration = check, p.config.Soft, time.Now(), 3*time.Millisecond
	select {
	case p.reports <- st:
	case <-time.After(10 * time.Second):
		w.t.Fatalf("check %s was stopped", check)
	}
}

func (w *world) started(check string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.starts[check]
}

// bubble runs a test in virtual time, with a node that is left at the end.
func bubble(t *testing.T, f func(t *testing.T, w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer func() {
			if w.node != nil {
				w.leave()
				<-w.node.Gone()
			}
		}()
		f(t, w)
	})
}

// up is bubble with a node on which all is well and announced.
func up(t *testing.T, f func(t *testing.T, w *world), edits ...string) {
	t.Helper()
	bubble(t, func(t *testing.T, w *world) {
		w.start(edits...)
		w.well()
		f(t, w)
	})
}

// well lets everything be as it should be.
func (w *world) well() {
	w.rest()
	w.wayBack <- host.WayBack{IPv4: true, IPv6: true}
	w.rest()
	w.mu.Lock()
	names := slices.Sorted(maps.Keys(w.probes))
	w.mu.Unlock()
	for _, name := range names {
		w.report(name, "")
	}
	w.rest()
}

// rest waits until nothing happens any more but by time.
func (w *world) rest() { synctest.Wait() }

// pass lets time pass.
func (w *world) pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// expect compares what a neighbour was told, one route per line.
func (w *world) expect(neighbor string, want ...string) {
	w.t.Helper()
	if got := w.told(neighbor); !slices.Equal(got, want) {
		w.t.Errorf("%s was told %q, want %q", neighbor, got, want)
	}
}

// The routes of the base configuration.
const (
	transit4 = "198.51.100.0/24 via 10.77.1.1 [57629:101]"
	transit6 = "2001:db8:100::/48 via fd77:1::1 [57629:101]"
	ix4      = "198.51.100.0/24 via 10.77.2.1 [57629:101]"
	ix6      = "2001:db8:100::/48 via fd77:2::1 [57629:101]"
	dns4     = "203.0.113.0/24 via 10.77.1.1"
)

// gshut is a route with GSHUT added.
func gshut(route string) string { return strings.Replace(route, "]", " 65535:0]", 1) }

// state is a service's state, reason and detail.
func (w *world) state(service string) string {
	w.t.Helper()
	sd := before(w.snapshot().Decision, service)
	return fmt.Sprintf("%s %s %s", sd.Severity, sd.Reason, sd.Detail)
}

func (w *world) expectState(service, want string) {
	w.t.Helper()
	if got := w.state(service); strings.TrimSpace(got) != want {
		w.t.Errorf("%s is %q, want %q", service, got, want)
	}
}

func (w *world) snapshot() Snapshot {
	w.t.Helper()
	s, err := w.node.Snapshot(context.Background())
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

func addr(s string) netip.Addr { return netip.MustParseAddr(s) }
