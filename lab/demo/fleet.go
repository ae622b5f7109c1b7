package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/netip"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/catchment-bgp/catchment/announcer/upstream"
	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
	"github.com/catchment-bgp/catchment/central"
	centralconfig "github.com/catchment-bgp/catchment/central/config"
	"github.com/catchment-bgp/catchment/community"
	"github.com/catchment-bgp/catchment/edge"
	"github.com/catchment-bgp/catchment/edge/config"
)

// windowTime is how long the work lasts in the story of the fleet.
const windowTime = 12 * time.Second

// fleetDemo is the story of two nodes and a centre.
type fleetDemo struct {
	*stage
	web    *service
	nodes  []*running
	listen netip.AddrPort // of the centre
	page   netip.AddrPort // of the NOC, served by the centre
	centre *centre
	conn   *grpc.ClientConn
	noc    centralv1.FleetClient
	window string
	answer string // of the centre to what was asked last, or a remark
}

// RunFleet plays the story of two nodes and their centre through, with the errors of Run.
func RunFleet(ctx context.Context, o Options) error {
	return o.play(ctx, func(ctx context.Context, st *stage) (err error) {
		d := &fleetDemo{stage: st}
		defer func() { err = errors.Join(err, d.stop()) }()
		if err := d.start(); err != nil {
			return err
		}
		return d.story(ctx)
	})
}

// names of the nodes, one behind each router.
var names = []string{"msk1", "spb1"}

func (d *fleetDemo) start() (err error) {
	if err := d.startRouters(transit{name: "transit-msk", asn: 65001}, transit{name: "transit-spb", asn: 65002}); err != nil {
		return err
	}
	if d.web, err = startService(); err != nil {
		return err
	}
	if d.listen, err = freePort(edgeAddr); err != nil {
		return err
	}
	if d.page, err = freePort(edgeAddr); err != nil {
		return err
	}
	if err := d.startCentre(); err != nil {
		return err
	}
	for i := range names {
		if err := d.startNode(i); err != nil {
			return err
		}
	}
	d.conn, err = grpc.NewClient("passthrough:///"+d.listen.String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	d.noc = centralv1.NewFleetClient(d.conn)
	return nil
}

// centre is a centre that runs in this process.
type centre struct {
	leave context.CancelFunc
	left  chan error
	once  sync.Once
	err   error
}

// startCentre starts the centre on its folder, with what it knew before.
func (d *fleetDemo) startCentre() error {
	cfg, err := centralconfig.Parse("demo", fmt.Appendf(nil, "data: %q\nlisten: %q\nhttp: %q\n", filepath.Join(d.dir, "centre"), d.listen, d.page), d.dir)
	if err != nil {
		return err
	}
	ctx, leave := context.WithCancel(context.Background())
	c := &centre{leave: leave, left: make(chan error, 1)}
	go func() { c.left <- central.Run(ctx, cfg, central.Options{Version: "demo", Log: d.Log}) }()
	d.centre = c
	return nil
}

// stop ends the centre; how it ended is told each time.
func (c *centre) stop() error {
	if c == nil {
		return nil
	}
	c.once.Do(func() {
		c.leave()
		c.err = <-c.left
	})
	return c.err
}

func (d *fleetDemo) socket(i int) string { return filepath.Join(d.dir, names[i]+".sock") }

func (d *fleetDemo) startNode(i int) error {
	t := d.transits[i]
	text := fmt.Sprintf(`node: %[1]s
site: %[1]s
asn: %[2]d
router_id: 10.77.0.%[3]d
state_dir: %[4]q
control: unix://%[5]s
central: {address: %[6]q, insecure: true}
way_back: {require: none}
return_after: [1s, 10s, 60s]
leave_hold: 500ms
neighbors:
  - {name: %[7]s, address: %[8]s, port: %[9]d, asn: %[10]d, kind: transit, local_address: %[11]s, password: demo}
services:
  - name: video
    prefixes: [198.51.100.0/24]
    drain: 2s
    checks:
      - {name: web, http: {url: "http://%[12]s/health"}, interval: 1s, timeout: 500ms}
`, names[i], ourASN, i+1, filepath.Join(d.dir, names[i]), d.socket(i), d.listen,
		t.name, t.listen.Addr(), t.listen.Port(), t.asn, edgeAddr, d.web.addr)
	c, warnings, err := config.Parse(names[i], []byte(text), config.Options{})
	if err != nil {
		return err
	}
	// One clock serves the nodes and the centre, whether or not it is right.
	r, err := launch(c, warnings, d.socket(i), d.left, edge.Options{Version: "demo", Log: d.Log.With("node", names[i]), Clock: func() bool { return true }})
	if err != nil {
		return err
	}
	d.nodes = append(d.nodes, r)
	return nil
}

func (d *fleetDemo) stop() error {
	var nodes sync.WaitGroup
	for _, n := range d.nodes {
		nodes.Go(n.stop)
	}
	nodes.Wait()
	var err error
	if d.conn != nil {
		err = d.conn.Close()
	}
	err = errors.Join(err, d.centre.stop())
	if d.web != nil {
		err = errors.Join(err, d.web.stop())
	}
	return err
}

// story is the demo of the fleet, step by step.
func (d *fleetDemo) story(ctx context.Context) error {
	moscow, piter := community.NewStandard(ourASN, 101), community.NewStandard(ourASN, 102)
	steps := []struct {
		title    string
		act      func(ctx context.Context) error
		msk, spb view
	}{
		{"Both nodes announce, each to its upstream, and speak to the centre.",
			d.heard, tagged(), tagged()},
		{"The NOC tags msk1 with 57629:101, \"Moscow\": from now on everybody who gets the route can see whom it leads to.",
			d.tag("msk1", moscow, "Moscow"), tagged(moscow), tagged()},
		{"The same tag for spb1 would make it mean nothing.",
			d.refusal(d.tag("spb1", moscow, "Saint Petersburg")), tagged(moscow), tagged()},
		{"It gets one of its own.",
			d.tag("spb1", piter, "Saint Petersburg"), tagged(moscow), tagged(piter)},
		{fmt.Sprintf("A maintenance window for msk1, from now for %s: first GSHUT (65535:0) asks others to prefer another site ...", windowTime),
			d.open("msk1", "new line card"), tagged(moscow, community.GracefulShutdown), tagged(piter)},
		{"... then msk1 withdraws, by leave of the centre, and reports that the work may begin.",
			d.safe, withdrawn, tagged(piter)},
		{"A window for spb1 at the same time would leave nobody.",
			d.refusal(d.open("spb1", "reboot")), withdrawn, tagged(piter)},
		{"The centre ends. Nothing changes on the wire ...",
			d.endCentre, withdrawn, tagged(piter)},
		{"... and when the window is over msk1 returns by itself, with the centre still away.",
			nothing, tagged(moscow), tagged(piter)},
		{"The centre starts again and knows all of it: its nodes, their tags, who did what.",
			d.remember, tagged(moscow), tagged(piter)},
	}
	d.say("catchment demo --fleet: AS %d, two nodes, two upstreams, one prefix, one centre at %s\n", ourASN, d.listen)
	for i, s := range steps {
		d.answer = ""
		act := func(ctx context.Context) error {
			err := s.act(ctx)
			if err == nil && d.answer != "" {
				d.say("   %s", d.answer)
			}
			return err
		}
		if err := d.step(ctx, i+1, s.title, act, s.msk, s.spb); err != nil {
			return err
		}
	}
	if d.Keep {
		d.keep(ctx)
	}
	return nil
}

// tagged wants one path with these communities and no others.
func tagged(want ...community.Value) view {
	return func(paths []upstream.Path) error {
		if len(paths) != 1 {
			return fmt.Errorf("%d paths, want 1", len(paths))
		}
		if set := community.NewSet(want...); !paths[0].Communities.Equal(set) {
			return fmt.Errorf("communities %s, want %s", paths[0].Communities, set)
		}
		return nil
	}
}

// heard waits until the centre counts all nodes as announcing.
func (d *fleetDemo) heard(ctx context.Context) error {
	return d.until(ctx, func(s *centralv1.FleetStatus) bool {
		if services := s.GetServices(); len(services) != 1 || int(services[0].GetAnnouncing()) != len(names) {
			return false
		}
		d.answer = "the centre says: " + s.GetSummary()
		return true
	})
}

// until waits for a state of the fleet. The centre may be starting.
func (d *fleetDemo) until(ctx context.Context, is func(*centralv1.FleetStatus) bool) error {
	stream, err := d.noc.Watch(ctx, &centralv1.GetFleetRequest{}, grpc.WaitForReady(true))
	if err != nil {
		return err
	}
	for {
		s, err := stream.Recv()
		switch {
		case errors.Is(err, io.EOF):
			return errors.New("the centre ended")
		case err != nil:
			return err
		case is(s):
			return nil
		}
	}
}

func (d *fleetDemo) tag(node string, value community.Value, meaning string) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := d.noc.TagNode(ctx, &centralv1.TagNodeRequest{Node: node, Value: value.String(), Meaning: meaning})
		return err
	}
}

func (d *fleetDemo) open(node, reason string) func(context.Context) error {
	return func(ctx context.Context) error {
		w, err := d.noc.AddWindow(ctx, &centralv1.AddWindowRequest{Selector: &centralv1.Selector{Nodes: []string{node}},
			Start: "now", Duration: durationpb.New(windowTime), Lead: durationpb.New(2 * time.Second), Reason: reason})
		if err == nil {
			d.window = w.GetWindow().GetId()
		}
		return err
	}
}

// refusal wants the centre to refuse, and tells why it does.
func (d *fleetDemo) refusal(act func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		err := act(ctx)
		if status.Code(err) != codes.FailedPrecondition {
			return fmt.Errorf("the centre did not refuse: %w", err)
		}
		d.answer = "refused: " + status.Convert(err).Message()
		return nil
	}
}

// safe waits for the report that the work may begin.
func (d *fleetDemo) safe(ctx context.Context) error {
	return d.until(ctx, func(*centralv1.FleetStatus) bool {
		w, err := d.noc.GetWindow(ctx, &centralv1.GetWindowRequest{Id: d.window})
		d.answer = "the centre says: window " + d.window + " is " + w.GetState()
		return err == nil && w.GetState() == "safe"
	})
}

func (d *fleetDemo) endCentre(context.Context) error { return d.centre.stop() }

// remember starts the centre again, and asks what it knows.
func (d *fleetDemo) remember(ctx context.Context) error {
	if err := d.startCentre(); err != nil {
		return err
	}
	if err := d.heard(ctx); err != nil {
		return err
	}
	list, err := d.noc.ListNodes(ctx, &centralv1.ListNodesRequest{})
	if err != nil {
		return err
	}
	var tags []string
	for _, n := range list.GetNodes() {
		for _, t := range n.GetTags() {
			tags = append(tags, fmt.Sprintf("%s is %s (%s)", t.GetValue(), n.GetName(), t.GetMeaning()))
		}
	}
	v, err := d.noc.VerifyAudit(ctx, &centralv1.VerifyAuditRequest{})
	if err != nil {
		return err
	}
	if !v.GetOk() {
		return fmt.Errorf("the audit log is broken at record %d: %s", v.GetBrokenAt(), v.GetDetail())
	}
	d.answer = fmt.Sprintf("the centre says: %s; the audit log verifies: %d records", strings.Join(tags, ", "), v.GetRecords())
	return nil
}

// keep leaves everything running until the context ends.
func (d *fleetDemo) keep(ctx context.Context) {
	d.say(`Left running. Try, in another terminal (Ctrl-C here ends the demo):
  export CATCHMENT_CENTRAL=%s
  bin/catchment node list
  bin/catchment fleet status
  bin/catchment maintenance add --node spb1 --start now --for 1m --lead 5s --reason "try it"
  bin/catchment audit list
  bin/catchment edge status --edge unix://%s
The fleet in a browser: http://%s/
`, d.listen, d.socket(0), d.page)
	select {
	case <-ctx.Done():
	case err := <-d.left:
		d.Log.Log(ctx, slog.LevelError, "a node has left", "error", err)
	}
}
