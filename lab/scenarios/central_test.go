package scenarios

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/catchment-bgp/catchment/lab/netlab"
)

// governedFleet is two edges, each with a session to FRR and one to BIRD, and one
// centre. The centre speaks undrained text on its own loopback address only; what is sent
// to that of an edge, or of the host, is passed on there.
//
//	msk1 -+- FRR
//	      X        noc (catchment-central --dev)
//	msk2 -+- BIRD
type governedFleet struct {
	t       testing.TB
	edges   []*fleetEdge
	frr     *netlab.FRR
	bird    *netlab.BIRD
	noc     *netlab.Node
	centre  *netlab.Proc
	address string // of the centre, for the host
}

type fleetEdge struct {
	*daemon
	name          string
	toFRR, toBIRD netlab.Wire
}

const centreAddress = "127.0.0.1:7179"

// relay passes connections on to the centre, from a listener.
func (f *governedFleet) relay(l net.Listener) {
	f.t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			far, err := f.noc.DialContext(context.Background(), "tcp", centreAddress)
			if err != nil {
				_ = near.Close()
				continue
			}
			for _, c := range [][2]net.Conn{{near, far}, {far, near}} {
				go func() {
					_, _ = io.Copy(c[0], c[1])
					_ = c[0].Close()
				}()
			}
		}
	}()
}

func newGovernedFleet(t testing.TB) *governedFleet {
	t.Helper()
	lab := netlab.New(t, netlab.FRRouting, netlab.BIRDRouting)
	f := &governedFleet{t: t, noc: lab.Node("noc")}
	frr, bird := lab.Node("frr"), lab.Node("bird")
	frrConfig := netlab.FRRConfig{ASN: frrASN, RouterID: "10.77.100.1"}
	birdConfig := netlab.BIRDConfig{ASN: birdASN, RouterID: "10.77.100.2"}
	for i := 1; i <= 2; i++ {
		e := &fleetEdge{name: fmt.Sprintf("msk%d", i)}
		node := lab.Node(e.name)
		e.toFRR = lab.Wire(node, frr, fmt.Sprintf("10.77.%d.", i), fmt.Sprintf("fd77:%d::", i))
		e.toBIRD = lab.Wire(node, bird, fmt.Sprintf("10.78.%d.", i), fmt.Sprintf("fd78:%d::", i))
		node.DefaultRoute(e.toFRR.Peer4.String())
		node.DefaultRoute(e.toFRR.Peer6.String())
		frrConfig.Neighbors = append(frrConfig.Neighbors, netlab.FRRNeighbor{Address: e.toFRR.Edge4, ASN: edgeASN, IPv4: true, IPv6: true, Password: frrPassword})
		birdConfig.Neighbors = append(birdConfig.Neighbors, netlab.BIRDNeighbor{Name: e.name, Address: e.toBIRD.Edge4, ASN: edgeASN, IPv4: true, IPv6: true, Password: birdPassword})
		e.daemon = &daemon{t: t, node: node}
		f.edges = append(f.edges, e)
	}
	f.frr, f.bird = frr.FRR(frrConfig.String()), bird.BIRD(birdConfig.String())
	f.startCentre()
	host, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f.relay(host)
	f.address = host.Addr().String()
	for i, e := range f.edges {
		l, err := e.node.Listen("tcp", centreAddress)
		if err != nil {
			t.Fatal(err)
		}
		f.relay(l)
		e.write(f.config(i).String())
		e.start()
		awaitSession(t, f.frr, e.toFRR.Edge4)
		awaitSession(t, f.bird, e.toBIRD.Edge4)
	}
	return f
}

func (f *governedFleet) startCentre() {
	f.t.Helper()
	f.centre = f.noc.Start("catchment-central", netlab.Binary(f.t, "./cmd/catchment-central"), "--dev", "--data", "/var/lib/central", "--listen", centreAddress)
	f.t.Cleanup(f.centre.Kill)
	netlab.Eventually(f.t, sessionWait, "the centre's socket", func() error {
		c, err := f.noc.DialContext(context.Background(), "tcp", centreAddress)
		if err == nil {
			_ = c.Close()
		}
		return err
	})
}

func (f *governedFleet) config(i int) configuration {
	e := f.edges[i]
	neighbor := func(name string, asn uint32, w netlab.Wire, password string) string {
		return mapping("name: "+name, "address: "+w.Peer4.String(), fmt.Sprintf("asn: %d", asn), "kind: transit", "local_address: "+w.Edge4.String(),
			"password: "+password, "families: [ipv4, ipv6]", fmt.Sprintf("next_hop: {ipv6: %q}", w.Edge6))
	}
	return configuration{
		Lines:     []string{"node: " + e.name, fmt.Sprintf("router_id: 10.77.0.%d", i+1), fmt.Sprintf("central: {address: %q, insecure: true}", centreAddress)},
		Services:  []string{video("vips: []", "checks: []", "drain: 3s")},
		Neighbors: []string{neighbor("frr", frrASN, e.toFRR, frrPassword), neighbor("bird", birdASN, e.toBIRD, birdPassword)},
	}
}

// noc runs catchment against the centre.
func (f *governedFleet) cli(args ...string) answer {
	f.t.Helper()
	return run(f.t, netlab.Binary(f.t, "./cmd/catchment"), append(args, "--central", f.address)...)
}

func (f *governedFleet) must(args ...string) string {
	f.t.Helper()
	a := f.cli(args...)
	if a.code != 0 {
		f.t.Fatalf("catchment %s: exit code %d: %s", strings.Join(args, " "), a.code, a.stderr)
	}
	return a.stdout
}

// await waits until each of an edge's routes at both routers is as wanted; nil: there is
// none.
func (f *governedFleet) await(within time.Duration, e *fleetEdge, what string, want func(netlab.Path) bool) {
	f.t.Helper()
	for _, at := range []struct {
		router netlab.Router
		from   netip.Addr
	}{{f.frr, e.toFRR.Edge4}, {f.bird, e.toBIRD.Edge4}} {
		for _, prefix := range []netip.Prefix{video4, video6} {
			netlab.Eventually(f.t, within, fmt.Sprintf("%s of %s at %T to be %s", prefix, e.name, at.router, what), func() error {
				paths, err := at.router.Routes(prefix)
				if err != nil {
					return err
				}
				i := slices.IndexFunc(paths, func(p netlab.Path) bool { return p.From == at.from })
				if want == nil && i < 0 || want != nil && i >= 0 && want(paths[i]) {
					return nil
				}
				return fmt.Errorf("%+v", paths)
			})
		}
	}
}

func has(community string) func(netlab.Path) bool {
	return func(p netlab.Path) bool { return slices.Contains(p.Communities, community) }
}

func undrained(p netlab.Path) bool { return !slices.Contains(p.Communities, "65535:0") }

// window is what the centre says of a window.
func (f *governedFleet) window(id string) (state string) {
	f.t.Helper()
	var w struct {
		State string `json:"state"`
	}
	if err := json.Unmarshal([]byte(f.must("maintenance", "show", id, "-o", "json")), &w); err != nil {
		f.t.Fatal(err)
	}
	return w.State
}

func (f *governedFleet) add(args ...string) string {
	f.t.Helper()
	var w struct {
		ID     string `json:"id"`
		Window struct {
			ID string `json:"id"`
		} `json:"window"`
	}
	if err := json.Unmarshal([]byte(f.must(append([]string{"maintenance", "add", "-o", "json"}, args...)...)), &w); err != nil {
		f.t.Fatal(err)
	}
	return w.ID + w.Window.ID
}

func TestTheCentreTagsAndOpensWindows(t *testing.T) {
	t.Parallel()
	f := newGovernedFleet(t)
	first, second := f.edges[0], f.edges[1]
	for _, e := range f.edges {
		f.await(soon, e, "announced", undrained)
		netlab.Eventually(t, soon, e.name+" to be connected", func() error {
			if s := e.must("status", "-o", "json"); !strings.Contains(strings.ReplaceAll(s, " ", ""), `"central":"connected"`) {
				return errors.New(s)
			}
			return nil
		})
	}

	begun := time.Now()
	f.must("node", "tag", "msk1", "57629:101", "--meaning", "Moscow", "--reason", "test")
	f.await(soon, first, "tagged", has("57629:101"))
	t.Logf("the tag was at both routers %v after the command began", time.Since(begun))
	f.await(soon, second, "without the tag", func(p netlab.Path) bool { return !has("57629:101")(p) })

	id := f.add("--node", "msk1", "--start", "now", "--for", "25s", "--lead", "4s", "--reason", "line card")
	f.await(3*time.Second, first, "drained", has("65535:0"))
	f.await(soon, first, "withdrawn", nil)
	netlab.Eventually(t, soon, "the window to be safe", func() error {
		if state := f.window(id); state != "safe" {
			return fmt.Errorf("it is %s", state)
		}
		return nil
	})
	refused := f.cli("maintenance", "add", "--node", "msk2", "--start", "now", "--for", "1m", "--reason", "too much")
	if refused.code != 3 || !strings.Contains(refused.stderr, "announce") {
		t.Errorf("the second window: exit code %d, %s", refused.code, refused.stderr)
	}
	drain := second.cli("drain", "video", "--reason", "too much")
	if drain.code != 3 {
		t.Errorf("a local drain of the last announcer: exit code %d, %s", drain.code, drain.stderr)
	}
	f.centre.Kill() // the window ends by the edge's own clock
	f.await(40*time.Second, first, "back, with its tag", func(p netlab.Path) bool { return undrained(p) && has("57629:101")(p) })
	f.await(soon, second, "announced", undrained)
	f.startCentre()
	netlab.Eventually(t, 30*time.Second, "the fleet to be announced again", func() error {
		nodes := strings.ReplaceAll(f.must("node", "list", "-o", "json"), " ", "")
		if strings.Count(nodes, `"state":"announced"`) < 2 {
			return errors.New(nodes)
		}
		return nil
	})
}
