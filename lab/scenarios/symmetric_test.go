package scenarios

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vishvananda/netlink"

	"github.com/catchment-bgp/catchment/lab/netlab"
)

// twoWays is the edge between transit A (FRR) and transit B (BIRD), with its default routes by A, and two networks of
// clients that both transits lead to: one that always comes by A, and one that takes the shorter AS path.
//
//	      +-- A --+-- anchored
//	edge -+   \ /  (both to both)
//	      +-- B --+-- mover
type twoWays struct {
	*site
	anchored, mover client
}

// client is a network of clients: a router of its own, and one address of each family.
type client struct {
	*netlab.Node
	four, six netip.Addr
}

const downloadPort = "9000"

// newTwoWays starts all but the edge.
func newTwoWays(t testing.TB) *twoWays {
	t.Helper()
	up := netlab.TwoUpstreams(t, netlab.FRRouting, netlab.BIRDRouting, netlab.NginxServer, netlab.Nft)
	w := &twoWays{site: &site{t: t, frrASN: frrASN, birdASN: birdASN, Upstreams: up}}
	a := netlab.FRRConfig{ASN: frrASN, RouterID: "10.77.1.2", Neighbors: []netlab.FRRNeighbor{
		{Address: w.ToFRR.Edge4, ASN: edgeASN, IPv4: true, IPv6: true, Password: frrPassword},
	}}
	b := netlab.BIRDConfig{ASN: birdASN, RouterID: "10.77.2.2", Global: []string{kernelRoutes}, Neighbors: []netlab.BIRDNeighbor{
		{Name: "edge", Address: w.ToBIRD.Edge4, ASN: edgeASN, IPv4: true, IPv6: true, Password: birdPassword, TTLSecurity: true},
	}}
	w.anchored = w.client("anchored", 1, "preference 200;", &a, &b)
	w.mover = w.client("mover", 2, "", &a, &b)
	w.frr, w.bird = up.FRR.FRR(a.String()), up.BIRD.BIRD(b.String())
	w.nginx = up.Edge.Nginx("0.0.0.0:8080", "[::]:8080")
	w.serve()
	return w
}

// kernelRoutes makes BIRD forward by what it learned.
const kernelRoutes = `protocol kernel { ipv4 { export where source = RTS_BGP; }; }
protocol kernel { ipv6 { export where source = RTS_BGP; }; }`

// client makes a network of clients, number n, behind both transits.
func (w *twoWays) client(name string, n int, towardsA string, a *netlab.FRRConfig, b *netlab.BIRDConfig) client {
	node := w.Lab.Node(name)
	c := client{Node: node, four: addr("192.0.%d.1", n), six: addr("2001:db8:c%d::1", n)}
	node.AddAddress("lo", c.four.String()+"/32")
	node.AddAddress("lo", c.six.String()+"/128")
	link := func(transit *netlab.Node, at int) (own, far netip.Addr) {
		own4, far4 := addr("10.78.%d.1", 10*n+at), addr("10.78.%d.2", 10*n+at)
		w.Lab.Link(node, transit, []string{own4.String() + "/30", fmt.Sprintf("fd78:%d::1/64", 10*n+at)},
			[]string{far4.String() + "/30", fmt.Sprintf("fd78:%d::2/64", 10*n+at)})
		return own4, far4
	}
	ownA, farA := link(w.Upstreams.FRR, 1)
	ownB, farB := link(w.Upstreams.BIRD, 2)
	asn := uint32(65100 + n)
	a.Neighbors = append(a.Neighbors, netlab.FRRNeighbor{Address: ownA, ASN: asn, IPv4: true, IPv6: true})
	b.Neighbors = append(b.Neighbors, netlab.BIRDNeighbor{Name: name, Address: ownB, ASN: asn, IPv4: true, IPv6: true, Export: "all"})
	node.BIRD(netlab.BIRDConfig{ASN: asn, RouterID: c.four.String(), Global: []string{kernelRoutes},
		Networks: []netip.Prefix{netip.PrefixFrom(c.four, 24).Masked(), netip.PrefixFrom(c.six, 48).Masked()},
		Neighbors: []netlab.BIRDNeighbor{
			{Name: "a", Address: farA, ASN: frrASN, IPv4: true, IPv6: true, ChannelOptions: []string{towardsA}},
			{Name: "b", Address: farB, ASN: birdASN, IPv4: true, IPv6: true},
		}}.String())
	return c
}

func addr(format string, a ...any) netip.Addr { return netip.MustParseAddr(fmt.Sprintf(format, a...)) }

// serve answers each line "N" on the edge's download port with N bytes.
func (w *twoWays) serve() {
	w.t.Helper()
	l, err := w.Edge.Listen("tcp", "[::]:"+downloadPort)
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	all.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			context.AfterFunc(ctx, func() { conn.Close() })
			all.Go(func() { answerLines(conn) })
		}
	})
	w.t.Cleanup(func() { l.Close(); cancel(); all.Wait() })
}

func answerLines(conn net.Conn) {
	defer conn.Close()
	lines := bufio.NewScanner(conn)
	for lines.Scan() {
		var n int64
		if _, err := fmt.Sscan(lines.Text(), &n); err != nil {
			return
		}
		if _, err := io.CopyN(conn, zeros{}, n); err != nil {
			return
		}
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// dial connects a client to the VIP of a family, from its own address.
func (c client) dial(t testing.TB, six bool) net.Conn {
	t.Helper()
	from, to := c.four, vip4
	if six {
		from, to = c.six, vip6
	}
	var conn net.Conn
	err := c.Do(func() (err error) {
		d := net.Dialer{LocalAddr: &net.TCPAddr{IP: from.AsSlice()}, Timeout: soon}
		conn, err = d.Dial("tcp", net.JoinHostPort(to, downloadPort))
		return err
	})
	if err != nil {
		t.Fatalf("%s: %v", c.Name(), err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// fetch is how many bytes a client asks for at once.
const fetch = 1 << 20

// sent is the bytes that left the edge by A and by B while one megabyte was fetched.
type sent struct{ a, b uint64 }

func (w *twoWays) fetch(conn net.Conn) sent {
	w.t.Helper()
	before := w.left()
	if err := conn.SetDeadline(time.Now().Add(soon)); err != nil {
		w.t.Fatal(err)
	}
	_, err := fmt.Fprintln(conn, fetch)
	if err == nil {
		_, err = io.CopyN(io.Discard, conn, fetch)
	}
	if err != nil {
		w.t.Fatalf("a download from %s: %v", conn.LocalAddr(), err)
	}
	after := w.left()
	return sent{after.a - before.a, after.b - before.b}
}

// left reads the edge's byte counters of both links.
func (w *twoWays) left() (s sent) {
	w.t.Helper()
	err := w.Edge.Do(func() error {
		for iface, count := range map[string]*uint64{w.ToFRR.EdgeIf: &s.a, w.ToBIRD.EdgeIf: &s.b} {
			link, err := netlink.LinkByName(iface)
			if err != nil {
				return err
			}
			*count = link.Attrs().Statistics.TxBytes
		}
		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

// expect fetches once and wants the bytes to leave by A or by B, but for what BGP and acknowledgements need.
func (w *twoWays) expect(what string, conn net.Conn, byA bool) {
	w.t.Helper()
	const little = 64 << 10
	s := w.fetch(conn)
	most, least := s.a, s.b
	if !byA {
		most, least = s.b, s.a
	}
	w.t.Logf("%s: %d bytes left by A, %d by B", what, s.a, s.b)
	if most < fetch || least > little {
		w.t.Errorf("%s: %d bytes left by A and %d by B, want them by A: %v", what, s.a, s.b, byA)
	}
}

func (w *twoWays) config(mode string, prependA int) configuration {
	return configuration{Services: []string{video()}, Neighbors: []string{
		w.neighborFRR("return: "+mode, fmt.Sprintf("prepend: %d", prependA)),
		w.neighborBIRD("return: "+mode, "prepend: 1"),
	}}
}

// comesBy waits until a client's packets to both VIPs go to A, or to B.
func (w *twoWays) comesBy(c client, a bool) {
	w.t.Helper()
	via := "bird"
	if a {
		via = "frr"
	}
	for _, vip := range []string{vip4, vip6} {
		netlab.Eventually(w.t, sessionWait, c.Name()+" to come by "+via, func() error {
			out := c.MustRun("sh", "-c", "ip route get "+vip+" || true")
			if !strings.Contains(out, " dev "+via+" ") {
				return errors.New(out)
			}
			return nil
		})
	}
}

// kernelState is what return paths can have changed on the edge.
func (w *twoWays) kernelState() string {
	w.t.Helper()
	return w.Edge.MustRun("nft", "list", "ruleset") + w.Edge.MustRun("ip", "-4", "rule") + w.Edge.MustRun("ip", "-6", "rule") +
		w.Edge.MustRun("ip", "-4", "route", "show", "table", "all", "proto", "202") +
		w.Edge.MustRun("ip", "-6", "route", "show", "table", "all", "proto", "202")
}

// returnPaths is what the status says of each neighbour.
func (w *twoWays) returnPaths() (list []string) {
	w.t.Helper()
	var status struct {
		Services []struct {
			Neighbors []struct {
				Name string `json:"name"`
				Path string `json:"return_path"`
			} `json:"neighbors"`
		} `json:"services"`
	}
	if err := json.Unmarshal([]byte(w.edge.must("status", "-o", "json")), &status); err != nil {
		w.t.Fatal(err)
	}
	for _, n := range status.Services[0].Neighbors {
		list = append(list, n.Name+" "+n.Path)
	}
	return list
}

func (w *twoWays) awaitReturnPaths(want ...string) {
	w.t.Helper()
	netlab.Eventually(w.t, soon, "return paths", func() error { return differ("return paths", w.returnPaths(), want) })
}

func TestRepliesLeaveWhereRequestsComeInOnlyIfSymmetric(t *testing.T) {
	for _, mode := range []string{"routed", "symmetric"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			w := newTwoWays(t)
			clean := w.kernelState()
			w.start(w.config(mode, 0))
			w.awaitReturnPaths("frr "+mode, "bird "+mode)
			w.comesBy(w.anchored, true)
			w.comesBy(w.mover, true)
			families := map[string]bool{"IPv4": false, "IPv6": true}
			stays, moves := map[string]net.Conn{}, map[string]net.Conn{}
			for family, six := range families {
				stays[family], moves[family] = w.anchored.dial(t, six), w.mover.dial(t, six)
				w.expect(family+", anchored at A", stays[family], true)
				w.expect(family+", mover at A", moves[family], true)
			}

			w.edge.reload(w.config(mode, 3).String()) // the prepend at A
			w.comesBy(w.mover, false)
			w.comesBy(w.anchored, true)
			byA := mode == "routed"
			for family, six := range families {
				w.expect(family+", mover at B, a new connection", w.mover.dial(t, six), byA)
				w.expect(family+", mover at B, its old connection", moves[family], byA)
				w.expect(family+", anchored at A, its old connection", stays[family], true)
			}

			w.edge.leave()
			if got := w.kernelState(); got != clean {
				t.Errorf("after SIGTERM:\n%s\nbefore the start:\n%s", got, clean)
			}
		})
	}
}

func TestKilledNodeLeavesReturnPathsThatTheNextTakesOver(t *testing.T) {
	t.Parallel()
	w := newTwoWays(t)
	clean := w.kernelState()
	w.Edge.MustRun("nft", "add", "table", "inet", "others")
	w.Edge.MustRun("ip", "rule", "add", "fwmark", "0x7/0xff", "lookup", "77", "priority", "1790")
	foreign := w.kernelState()
	w.start(w.config("symmetric", 0))
	w.awaitReturnPaths("frr symmetric", "bird symmetric")
	stands := w.kernelState()
	w.edge.proc.Kill()
	if got := w.kernelState(); got != stands || got == foreign {
		t.Errorf("after SIGKILL:\n%s\nwant what stood:\n%s", got, stands)
	}
	w.edge.start()
	w.awaitReturnPaths("frr symmetric", "bird symmetric")
	if got := w.kernelState(); got != stands {
		t.Errorf("after the restart:\n%s\nwant what stood:\n%s", got, stands)
	}
	w.edge.proc.Kill()
	w.edge.write(w.config("routed", 0).String())
	w.edge.start()
	netlab.Eventually(t, soon, "what the killed node left to go", func() error {
		return differ("kernel", []string{w.kernelState()}, []string{foreign})
	})
	w.edge.leave()
	if got := w.kernelState(); got != foreign || got == clean {
		t.Errorf("others' rules were touched:\n%s\nwant\n%s", got, foreign)
	}
}
