// Package demo shows the edge node at work on one machine, without root and
// without a router installed.
//
// Two upstream routers (package upstream: GoBGP with ASNs of their own), a small
// HTTP service and the real edge run in this process on loopback addresses and
// high ports. Each step does one thing to the node, waits until both upstreams'
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

// demo is a running demo.
type demo struct {
	Options
	dir      string
	transits []*transit
	web      *service
	node     *edge.Edge
	leave    context.CancelFunc
	left     chan error
	side     sync.WaitGroup
	giveUp   context.CancelCauseFunc
	// sentBefore is how many UPDATEs transit-a had got before the reload.
	sentBefore uint64
}

// Run plays the demo through. It returns an error if a step did not come out as
// it should within half a minute, or if the story cannot be printed any more.
func Run(ctx context.Context, o Options) (err error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	d := &demo{Options: o, left: make(chan error, 1)}
	if d.dir, err = os.MkdirTemp("", "catchment-demo-"); err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	defer os.RemoveAll(d.dir)
	defer func() { err = errors.Join(err, d.stop()) }()
	ctx, d.giveUp = context.WithCancelCause(ctx)
	defer d.giveUp(nil)
	if err := d.startRouters(); err != nil {
		return err
	}
	if d.web, err = startService(); err != nil {
		return err
	}
	if err := d.startNode(); err != nil {
		return err
	}
	err = d.story(ctx)
	if cause := context.Cause(ctx); errors.As(cause, new(unheard)) {
		return cause
	}
	return err
}

// unheard is the end of a demo whose story nobody reads, as in `catchment demo | head`.
type unheard struct{ error }

// Unwrap returns why it could not be printed.
func (u unheard) Unwrap() error { return u.error }

func (d *demo) startRouters() error {
	for i, t := range []*transit{{name: "transit-a", asn: 65001}, {name: "transit-b", asn: 4200000002}} {
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
		d.transits = append(d.transits, t)
	}
	return nil
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
	control, err := edge.ListenControl(d.socket())
	if err != nil {
		return err
	}
	d.node, err = edge.New(c, warnings, edge.Options{File: d.file(), Version: "demo", Log: d.Log})
	if err != nil {
		control.Close()
		return err
	}
	ctx, leave := context.WithCancel(context.Background())
	api, stopAPI := context.WithCancel(context.Background())
	d.leave = leave
	d.side.Go(func() { d.left <- d.node.Run(ctx); stopAPI() })
	d.side.Go(func() {
		if err := d.node.Serve(api, control); err != nil {
			d.Log.Error("local API", "error", err)
		}
	})
	return nil
}

// stop ends what is still running.
func (d *demo) stop() error {
	if d.leave != nil {
		d.leave()
	}
	d.side.Wait()
	var err error
	if d.web != nil {
		err = d.web.stop()
	}
	for _, t := range d.transits {
		err = errors.Join(err, t.router.Stop())
	}
	return err
}

// say prints a line of the story. Where that fails the demo is given up.
func (d *demo) say(format string, a ...any) {
	if _, err := fmt.Fprintf(d.Out, format+"\n", a...); err != nil {
		d.giveUp(unheard{fmt.Errorf("demo: print the story: %w", err)})
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
