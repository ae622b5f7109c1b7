// Package demo shows an edge node, or two and their centre, at work on one machine,
// without root and without a router installed.
//
// Two upstream routers (package upstream: GoBGP with ASNs of their own), a small
// HTTP service, and the real edges and the real centre run in this process on loopback
// addresses and high ports. Each step does one thing, waits until both upstreams'
// own tables say what they should, and prints those tables and how long that
// took.
//
// The demo fails, and says where, if a router does not learn what it should. It
// touches no address and no route of the machine.
package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/catchment-bgp/catchment/announcer/upstream"
	"github.com/catchment-bgp/catchment/edge"
	"github.com/catchment-bgp/catchment/edge/config"
	"github.com/catchment-bgp/catchment/policy"
)

// Options of a demo.
type Options struct {
	Out io.Writer // the story; needed
	// Log gets the node's log lines; nil: none.
	Log *slog.Logger
	// Keep leaves everything running after the last step but one, until the
	// context ends, and prints what to try.
	Keep bool
}

const (
	ourASN = 57629
	// stepTime bounds each step.
	stepTime = 30 * time.Second
)

var (
	edgeAddr = netip.MustParseAddr("127.0.0.1")
	webAddr  = netip.MustParseAddr("127.0.0.1")
)

// transit is one upstream of the demo.
type transit struct {
	name   string
	asn    uint32
	listen netip.AddrPort
	router *upstream.Router
}

// stage is what a story is played on.
type stage struct {
	Options
	dir      string
	transits []*transit
	left     chan error // receives how a node ended
	giveUp   context.CancelCauseFunc
}

// demo is the story of one node.
type demo struct {
	*stage
	*running
	web *service
	// sentBefore is how many UPDATEs transit-a had got before the reload.
	sentBefore uint64
}

// Run plays the story of one node through. It returns an error if a step did not come
// out as it should within half a minute, or if the story cannot be printed any more.
func Run(ctx context.Context, o Options) error {
	return o.play(ctx, func(ctx context.Context, st *stage) (err error) {
		d := &demo{stage: st}
		defer func() { err = errors.Join(err, d.stop()) }()
		if err := d.startRouters(transit{name: "transit-a", asn: 65001}, transit{name: "transit-b", asn: 4200000002}); err != nil {
			return err
		}
		if d.web, err = startService(); err != nil {
			return err
		}
		if err := d.startNode(); err != nil {
			return err
		}
		return d.story(ctx)
	})
}

// play sets the stage for a story, and clears it away.
func (o Options) play(ctx context.Context, story func(context.Context, *stage) error) (err error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	st := &stage{Options: o, left: make(chan error, 2)}
	if st.dir, err = os.MkdirTemp("", "catchment-demo-"); err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	defer os.RemoveAll(st.dir)
	defer func() { err = errors.Join(err, st.stopRouters()) }()
	ctx, st.giveUp = context.WithCancelCause(ctx)
	defer st.giveUp(nil)
	err = story(ctx, st)
	if cause := context.Cause(ctx); errors.As(cause, new(unheard)) {
		return cause
	}
	return err
}

// unheard is the end of a demo whose story nobody reads, as in `catchment demo | head`.
type unheard struct{ error }

// Unwrap returns why it could not be printed.
func (u unheard) Unwrap() error { return u.error }

// startRouters starts one router per address from 127.0.0.2 on.
func (st *stage) startRouters(transits ...transit) error {
	for i, t := range transits {
		addr := netip.AddrFrom4([4]byte{127, 0, 0, byte(2 + i)})
		var err error
		if t.listen, err = freePort(addr); err != nil {
			return err
		}
		t.router, err = upstream.Start(upstream.Config{
			ASN: t.asn, RouterID: netip.AddrFrom4([4]byte{10, 0, 0, byte(2 + i)}), Listen: t.listen,
			Neighbor: edgeAddr, NeighborASN: ourASN, Password: "demo",
		})
		if err != nil {
			return err
		}
		st.transits = append(st.transits, &t)
	}
	return nil
}

func (st *stage) stopRouters() (err error) {
	for _, t := range st.transits {
		err = errors.Join(err, t.router.Stop())
	}
	return err
}

// freePort finds a port of an address that nobody listens on.
func freePort(addr netip.Addr) (netip.AddrPort, error) {
	l, err := net.Listen("tcp", netip.AddrPortFrom(addr, 0).String())
	if err != nil {
		return netip.AddrPort{}, fmt.Errorf("demo: find a free port of %s: %w", addr, err)
	}
	defer l.Close()
	return netip.ParseAddrPort(l.Addr().String())
}

// file is the configuration file of the node.
func (d *demo) file() string { return filepath.Join(d.dir, "edge.yaml") }

// socket is the local API of the node.
func (d *demo) socket() string { return filepath.Join(d.dir, "edge.sock") }

// configText is the node's configuration with a number of prepends at transit-b.
func (d *demo) configText(prepend int) string {
	a, b := d.transits[0], d.transits[1]
	return fmt.Sprintf(`node: demo1
asn: %d
router_id: 10.77.0.1
state_dir: %s
control: unix://%s
way_back: {require: none}
return_after: [1s, 10s, 60s]
leave_hold: 500ms
neighbors:
  - {name: %s, address: %s, port: %d, asn: %d, kind: transit, local_address: %s, password: demo}
  - {name: %s, address: %s, port: %d, asn: %d, kind: transit, local_address: %s, password: demo, prepend: %d}
services:
  - name: video
    prefixes: [198.51.100.0/24]
    communities: ["57629:101", "57629:1:101"]
    drain: 2s
    checks:
      - {name: web, http: {url: "http://%s/health"}, interval: 1s, timeout: 500ms, watch: true, restart_grace: 0s}
`, ourASN, filepath.Join(d.dir, "state"), d.socket(),
		a.name, a.listen.Addr(), a.listen.Port(), a.asn, edgeAddr,
		b.name, b.listen.Addr(), b.listen.Port(), b.asn, edgeAddr, prepend, d.web.addr)
}

func (d *demo) writeConfig(prepend int) error {
	return os.WriteFile(d.file(), []byte(d.configText(prepend)), 0o600)
}

func (d *demo) startNode() error {
	if err := d.writeConfig(0); err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	c, warnings, err := config.Load(d.file())
	if err != nil {
		return err
	}
	d.running, err = launch(c, warnings, d.socket(), d.left, edge.Options{File: d.file(), Version: "demo", Log: d.Log})
	return err
}

// running is a node that runs in this process, with its local API.
type running struct {
	node  *edge.Edge
	leave context.CancelFunc
	side  sync.WaitGroup
}

// launch starts a node; how it ended goes to left.
func launch(c *config.Config, warnings []config.Problem, socket string, left chan<- error, o edge.Options) (*running, error) {
	control, err := edge.ListenControl(socket)
	if err != nil {
		return nil, err
	}
	r := &running{}
	if r.node, err = edge.New(c, warnings, o); err != nil {
		control.Close()
		return nil, err
	}
	ctx, leave := context.WithCancel(context.Background())
	api, stopAPI := context.WithCancel(context.Background())
	r.leave = leave
	r.side.Go(func() { left <- r.node.Run(ctx); stopAPI() })
	r.side.Go(func() {
		if err := r.node.Serve(api, control); err != nil {
			o.Log.Error("local API", "error", err)
		}
	})
	return r, nil
}

// stop has the node leave, and waits for it.
func (r *running) stop() {
	if r != nil {
		r.leave()
		r.side.Wait()
	}
}

// stop ends what is still running.
func (d *demo) stop() error {
	d.running.stop()
	if d.web == nil {
		return nil
	}
	return d.web.stop()
}

// say prints a line of the story. Where that fails the demo is given up.
func (st *stage) say(format string, a ...any) {
	if _, err := fmt.Fprintf(st.Out, format+"\n", a...); err != nil {
		st.giveUp(unheard{fmt.Errorf("demo: print the story: %w", err)})
	}
}

// override says an operator's word to the node.
func (d *demo) override(ctx context.Context, verb policy.Verb, reason string) error {
	_, _, err := d.node.SetOverride(ctx, edge.Selector{Services: []string{"video"}}, edge.Word{Verb: verb, Reason: reason, By: "demo"})
	return err
}

// service is the HTTP service that the node checks.
type service struct {
	addr   netip.AddrPort
	server *http.Server
	done   chan struct{}
}

func startService() (*service, error) {
	addr, err := freePort(webAddr)
	if err != nil {
		return nil, err
	}
	s := &service{addr: addr}
	return s, s.start()
}

// start listens and answers /health.
func (s *service) start() error {
	l, err := net.Listen("tcp", s.addr.String())
	if err != nil {
		return fmt.Errorf("demo: start the service: %w", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /health", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	s.server = &http.Server{Handler: mux, ReadHeaderTimeout: time.Second}
	done := make(chan struct{})
	s.done = done
	server := s.server
	go func() {
		defer close(done)
		_ = server.Serve(l) // ends with ErrServerClosed
	}()
	return nil
}

// stop closes the listener and all connections, as a crash does.
func (s *service) stop() error {
	err := s.server.Close()
	<-s.done
	return err
}
