package scenarios

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	edgev1 "github.com/catchment-bgp/catchment/api/edge/v1"
	"github.com/catchment-bgp/catchment/lab/netlab"
)

// more are prefixes beyond what the neighbours take.
var more = []netip.Prefix{netip.MustParsePrefix("203.0.113.0/25"), netip.MustParsePrefix("203.0.113.128/25"), netip.MustParsePrefix("192.0.2.0/24")}

// backsOff is how long a neighbour must be left alone that says 6/1, here; the daemon waits for 45 s and more.
const backsOff = 12 * time.Second

// A session that a prefix limit ended would end again at once, with all routes of the neighbour flapping.
func TestPrefixLimitIsShownAndLeftAlone(t *testing.T) {
	t.Parallel()
	h := newHub(t, netlab.FRRouting, netlab.BIRDRouting, netlab.Tcpdump)
	f, b, other := h.spoke("frr"), h.spoke("bird"), h.spoke("other")
	frr := f.node.FRR(netlab.FRRConfig{ASN: frrASN, RouterID: f.Peer4.String(), Neighbors: []netlab.FRRNeighbor{
		{Address: f.Edge4, ASN: edgeASN, Passive: true, IPv4Opts: []string{"maximum-prefix 1"}},
	}}.String())
	bird := b.node.BIRD(netlab.BIRDConfig{ASN: birdASN, RouterID: b.Peer4.String(), Neighbors: []netlab.BIRDNeighbor{
		{Address: b.Edge4, ASN: edgeASN, Passive: true, ChannelOptions: []string{"receive limit 1 action restart;"}},
	}}.String())
	fine := other.node.BIRD(netlab.BIRDConfig{ASN: birdASN, RouterID: other.Peer4.String(), Neighbors: []netlab.BIRDNeighbor{
		{Address: other.Edge4, ASN: edgeASN},
	}}.String())
	c := always(f.neighbor(frrASN), b.neighbor(birdASN), other.neighbor(birdASN))
	c.Services = []string{mapping("name: video", fmt.Sprintf("prefixes: [%s, %s, %s, %s]", video4, more[0], more[1], more[2]))}
	d := h.start(c)
	api := d.api()
	for _, s := range []*spoke{f, b} {
		awaitStatus(t, api, s.name, sessionWait, func(n *edgev1.Neighbor) error {
			if want := "neighbour sent Cease/Maximum Number of Prefixes Reached"; !strings.HasPrefix(n.GetLastError(), want) {
				return fmt.Errorf("want %q", want)
			}
			return nil
		})
	}
	session := awaitSession(t, fine, other.Edge4)
	calls := h.edge.Capture("any", fmt.Sprintf("tcp[13]&0x12=2 and (dst host %s or dst host %s)", f.Peer4, b.Peer4))
	<-time.After(backsOff)
	file, err := calls.Stop()
	if err != nil {
		t.Fatal(err)
	}
	if calls := run(t, "tcpdump", "-n", "-r", file).stdout; calls != "" {
		t.Errorf("within %v of 6/1 the daemon dialled again: %s", backsOff, calls)
	}
	for s, r := range map[*spoke]netlab.Router{f: frr, b: bird} {
		if session, err := r.Session(s.Edge4); err != nil || session.State == netlab.Established {
			t.Errorf("%s: %+v, %v", s.name, session, err)
		}
		if n := d.metric(fmt.Sprintf("catchment_sessions_total{neighbor=%q}", s.name)); n != 1 {
			t.Errorf("%s: %v sessions", s.name, n)
		}
	}
	sameSession(t, fine, other.Edge4, session)
	awaitPath(t, soon, fine, more[2], nil)
}

// RFC 9003. What the neighbour's operator says on shutting the session down is shown, and the session comes back.
func TestShutdownTextOfTheNeighbourIsShown(t *testing.T) {
	t.Parallel()
	h := newHub(t, netlab.FRRouting, netlab.BIRDRouting)
	f, b := h.spoke("frr"), h.spoke("bird")
	frr := f.node.FRR(netlab.FRRConfig{ASN: frrASN, RouterID: f.Peer4.String(), Neighbors: []netlab.FRRNeighbor{
		{Address: f.Edge4, ASN: edgeASN},
	}}.String())
	bird := b.node.BIRD(netlab.BIRDConfig{ASN: birdASN, RouterID: b.Peer4.String(), Neighbors: []netlab.BIRDNeighbor{
		{Name: "edge", Address: b.Edge4, ASN: edgeASN},
	}}.String())
	d := h.start(always(f.neighbor(frrASN, "listen: true"), b.neighbor(birdASN, "listen: true")))
	api := d.api()
	configure := func(words string) func() error {
		return func() error {
			_, err := frr.Vtysh("configure terminal", fmt.Sprintf("router bgp %d", frrASN), words)
			return err
		}
	}
	ask := func(words string) func() error {
		return func() error { _, err := bird.Birdc(words); return err }
	}
	neighbor := fmt.Sprintf("neighbor %s shutdown", f.Edge4)
	for _, c := range []struct {
		*spoke
		router   netlab.Router
		down, up func() error
		want     string
	}{
		{f, frr, configure(neighbor + " message line card swap, CHG 4711"), configure("no " + neighbor), "line card swap, CHG 4711"},
		{b, bird, ask(`disable edge "wartung bis 4 Uhr"`), ask("enable edge"), "wartung bis 4 Uhr"},
	} {
		awaitSession(t, c.router, c.Edge4)
		if err := c.down(); err != nil {
			t.Fatal(err)
		}
		want := fmt.Sprintf("neighbour sent Cease/Administrative Shutdown: %q", c.want)
		awaitStatus(t, api, c.name, soon, func(n *edgev1.Neighbor) error {
			if n.GetSession() == "established" || n.GetLastError() != want {
				return fmt.Errorf("want %q", want)
			}
			return nil
		})
		if table := d.must("status"); !strings.Contains(table, c.want) {
			t.Errorf("the table of the status has no word of %q: %s", c.want, table)
		}
		if err := c.up(); err != nil {
			t.Fatal(err)
		}
		awaitSession(t, c.router, c.Edge4)
		awaitPath(t, soon, c.router, video4, nil)
	}
}
