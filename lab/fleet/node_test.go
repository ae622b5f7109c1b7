package fleet

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/catchment-bgp/catchment/announcer/host"
	"github.com/catchment-bgp/catchment/edge"
	"github.com/catchment-bgp/catchment/edge/config"
	"github.com/catchment-bgp/catchment/healthcheck"
	"github.com/catchment-bgp/catchment/load"
)

// node is an edge node whose checks, load, clock and connections are under the test's
// control.
type node struct {
	world *world
	name  string
	index int
	edits []string
	edge  *edge.Edge
	rec   *recorder
	cuts  map[string]*valve // between it and each address of a centre
	ahead time.Duration
	log   syncBuffer
	leave func()
	left  chan error
	relay map[string]*relay

	mu     sync.Mutex
	faults map[string]string // by check; absent or empty: it is up
	news   chan struct{}     // closed and made anew when faults change
	load   func(n *node) float64

	// What follows is guarded by world.mu. A node is dead from a hard failure until it
	// announces again.
	last          face
	failing, dead bool
}

// nodeConfig is a node's configuration; NN is its number.
const nodeConfig = `node: nNN
asn: 57629
router_id: 10.77.0.NN
state_dir: DIR/nNN
control: unix://DIR/nNN.sock
metrics: 127.0.0.1:9179
site: SITE
central: {addresses: ["127.0.0.1:7179", "127.0.0.1:7180"], insecure: true}
links: [{name: uplink, capacity: 10Gbps, feed: {url: "http://127.0.0.1:8000/load.json", period: 10s}}]
neighbors:
  - {name: transit, address: 10.77.1.2, asn: 65001, kind: transit, local_address: 10.77.1.1, link: uplink, return: symmetric, ladder: [{prepend: 1, sheds: 0.2}, {prepend: 3, sheds: 0.4}, {withdraw: true}]}
services:
  - name: video
    prefixes: [198.51.100.0/24]
    vips: [198.51.100.1/32]
    communities: ["57629:1"]
    drain: 5s
    checks:
      - {name: web, http: {url: "http://198.51.100.1:8080/health"}}
      - {name: origin, tcp: {address: "origin.example:443"}, scope: soft}
leave_hold: 2s
way_back: {require: none}
return_after: [10s, 60s, 5m, 30m]
`

// top is the highest prepend rung of a node.
const top = 3

func newNode(w *world, index int) *node {
	n := &node{world: w, index: index, edits: w.edits, name: fmt.Sprintf("n%02d", index), cuts: map[string]*valve{centreA: newValve(), centreB: newValve()}, faults: map[string]string{}, news: make(chan struct{}),
		relay: map[string]*relay{}, load: func(*node) float64 { return lightly }, last: face{away: true}}
	return n
}

// text is the node's configuration with edits: pairs of what is there and what stands
// in its place.
func (n *node) text(edits ...string) string {
	n.world.t.Helper()
	out := nodeConfig
	edits = append(slices.Clip(edits), "NN", fmt.Sprintf("%02d", n.index), "10.77.0.0", "10.77.0.", "DIR", n.world.dir, "SITE", fmt.Sprintf("site%02d", (n.index+1)/2))
	for i := 0; i < len(edits); i += 2 {
		if !strings.Contains(out, edits[i]) && edits[i] != "10.77.0.0" {
			n.world.t.Fatalf("the configuration has no %q", edits[i])
		}
		out = strings.ReplaceAll(out, edits[i], edits[i+1])
	}
	return out
}

// config is the node's configuration with edits.
func (n *node) config(edits ...string) *config.Config {
	n.world.t.Helper()
	c, _, err := config.Parse(n.name+".yaml", []byte(n.text(edits...)), config.Options{})
	if err != nil {
		n.world.t.Fatal(err)
	}
	return c
}

// run starts the node, or starts it again from its disk.
func (n *node) run() {
	n.world.t.Helper()
	n.rec = newRecorder(func(f face) { n.world.saw(n, f) })
	n.world.write(n.name+".yaml", n.text(n.edits...))
	e, err := edge.New(n.config(n.edits...), nil, edge.Options{
		File: n.world.file(n.name + ".yaml"), Version: "test", Log: slog.New(slog.NewTextHandler(&n.log, nil)),
		Announcer: n.rec, VIPs: machineVIPs{}, Defaults: machineDefaults{}, Returns: machineReturns{},
		WayBack: func(ctx context.Context, _ func(host.WayBack)) error { <-ctx.Done(); return nil },
		Checks:  n.check, Sampler: n.sampler, DialCentre: n.dial, Clock: func() bool { return true },
	})
	if err != nil {
		n.world.t.Fatal(err)
	}
	ctx, leave := context.WithCancel(context.Background())
	n.edge, n.leave, n.left = e, leave, make(chan error, 1)
	go func() { n.left <- e.Run(ctx) }()
}

// goes makes the node leave.
func (n *node) goes() {
	if n.leave != nil {
		n.isolate(false)
		n.leave()
	}
}

// isolate cuts the node off from all centres, or joins it to them again.
func (n *node) isolate(is bool) {
	for _, v := range n.cuts {
		v.cut(is)
	}
}

// stop makes the node leave, and waits until it has.
func (n *node) stop() {
	if n.leave == nil {
		return
	}
	n.goes()
	if err := <-n.left; err != nil {
		n.world.t.Errorf("%s: %v", n.name, err)
	}
	n.leave = nil
	for _, r := range n.relay {
		if err := r.stop(); err != nil {
			n.world.t.Errorf("%s: relay: %v", n.name, err)
		}
	}
	clear(n.relay)
}

// dial connects to a centre through the node's valve and, where its clock is wrong,
// its relay.
func (n *node) dial(ctx context.Context, address string) (net.Conn, error) {
	valve := n.cuts[address]
	select {
	case <-valve.flows():
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	far := func(ctx context.Context) (net.Conn, error) { return n.world.dial(ctx, address) }
	if n.ahead != 0 {
		r := n.relay[address] // dials of a node follow each other
		if r == nil {
			var err error
			if r, err = newRelay(n.ahead, far); err != nil {
				return nil, err
			}
			n.relay[address] = r
		}
		far = func(ctx context.Context) (net.Conn, error) { return r.listener.DialContext(ctx) }
	}
	conn, err := far(ctx)
	if err != nil {
		return nil, err
	}
	return &wire{Conn: conn, valve: valve, shut: make(chan struct{})}, nil
}

// check reports what the test says of a check, at once and at each change.
func (n *node) check(ctx context.Context, c healthcheck.Check, report func(healthcheck.Status)) error {
	said := "not yet"
	for {
		n.mu.Lock()
		fault, news := n.faults[c.Name], n.news
		n.mu.Unlock()
		if fault != said {
			said = fault
			report(healthcheck.Status{Name: c.Name, Soft: c.Soft, Up: fault == "", Decided: true, Error: fault, Last: time.Now(), Duration: time.Millisecond})
		}
		select {
		case <-news:
		case <-ctx.Done():
			return nil
		}
	}
}

// fails makes a check fail for a reason, or pass again for none.
func (n *node) fails(check, fault string) {
	if check == "web" {
		n.world.mu.Lock()
		n.failing = fault != ""
		n.dead = n.dead || n.failing
		n.world.mu.Unlock()
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.faults[check] = fault
	close(n.news)
	n.news = make(chan struct{})
}

func (n *node) sampler(load.Config) (edge.Sampler, error) {
	return meter{10 * time.Second, func() float64 {
		n.mu.Lock()
		f := n.load
		n.mu.Unlock()
		return f(n)
	}}, nil
}

// carries sets what the node's link carries from now on, in bit/s; negative: nothing
// is known.
func (n *node) carries(load func(n *node) float64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.load = load
}

// face is how the node looks to its neighbour now.
func (n *node) face() face {
	n.world.mu.Lock()
	defer n.world.mu.Unlock()
	return n.last
}

// state is the state and the reason of the service, as the node tells them.
func (n *node) state() string {
	n.world.t.Helper()
	s, err := n.edge.Snapshot(context.Background())
	if err != nil {
		n.world.t.Fatal(err)
	}
	d := s.Decision.Services[0]
	return fmt.Sprintf("%s %s", d.Severity, d.Reason)
}
