package scenarios

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	edgev1 "github.com/catchment-bgp/catchment/api/edge/v1"
	"github.com/catchment-bgp/catchment/lab/netlab"
	"github.com/catchment-bgp/catchment/lab/netlab/routegen"
)

// rawASN is the neighbour that a routegen speaker plays.
const rawASN = 65010

// hub is an edge with a link of its own to each of some neighbours: the topology of the guard's tests.
type hub struct {
	t     testing.TB
	lab   *netlab.Lab
	edge  *netlab.Node
	links int
}

// spoke is a neighbour's node and the edge's link to it: 10.78.N.0/30 and fd78:N::/64, where the edge is 1 and the
// neighbour 2.
type spoke struct {
	t    testing.TB
	name string
	node *netlab.Node
	netlab.Wire
}

func newHub(t testing.TB, needs ...netlab.Need) *hub {
	t.Helper()
	lab := netlab.New(t, needs...)
	return &hub{t: t, lab: lab, edge: lab.Node("edge")}
}

// spoke makes a neighbour's node and links it to the edge.
func (h *hub) spoke(name string) *spoke {
	h.t.Helper()
	return h.link(h.edge, h.lab.Node(name))
}

// link links two nodes, the first in the edge's place.
func (h *hub) link(near, far *netlab.Node) *spoke {
	h.t.Helper()
	h.links++
	addr := func(format string, host int) netip.Addr {
		return netip.MustParseAddr(fmt.Sprintf(format, h.links, host))
	}
	s := &spoke{t: h.t, name: far.Name(), node: far, Wire: netlab.Wire{
		Edge4: addr("10.78.%d.%d", 1), Peer4: addr("10.78.%d.%d", 2),
		Edge6: addr("fd78:%d::%d", 1), Peer6: addr("fd78:%d::%d", 2),
	}}
	s.EdgeIf, s.PeerIf = h.lab.Link(near, far,
		[]string{s.Edge4.String() + "/30", s.Edge6.String() + "/64"},
		[]string{s.Peer4.String() + "/30", s.Peer6.String() + "/64"})
	return s
}

// neighbor is the spoke's entry under neighbors:, over IPv4 and for IPv4 routes unless fields say otherwise.
func (s *spoke) neighbor(asn uint32, fields ...string) string {
	return service([]string{
		"name: " + s.name, "address: " + s.Peer4.String(), fmt.Sprintf("asn: %d", asn), "kind: transit",
		"local_address: " + s.Edge4.String(),
	}, fields)
}

// neighbor6 is neighbor over IPv6 and for IPv6 routes.
func (s *spoke) neighbor6(asn uint32, fields ...string) string {
	return service([]string{
		"name: " + s.name, fmt.Sprintf("address: %q", s.Peer6), fmt.Sprintf("asn: %d", asn), "kind: transit",
		fmt.Sprintf("local_address: %q", s.Edge6),
	}, fields)
}

// bothFamilies are fields for a session that carries IPv4 and IPv6.
func (s *spoke) bothFamilies() []string {
	return []string{"families: [ipv4, ipv6]", fmt.Sprintf("next_hop: {ipv4: %q, ipv6: %q}", s.Edge4, s.Edge6)}
}

// always is a configuration whose service is announced at all times: without checks, VIPs and a way back.
func always(neighbors ...string) configuration {
	return configuration{
		Neighbors: neighbors,
		Services:  []string{mapping("name: video", fmt.Sprintf("prefixes: [%s, %q]", video4, video6))},
		Lines:     []string{"way_back: {require: none}", "metrics: " + metricsAddress},
	}
}

// start starts the edge.
func (h *hub) start(c configuration) *daemon {
	h.t.Helper()
	return startEdge(h.t, h.edge, c.String())
}

// api opens a client of the daemon's socket, for calls whose time counts. It is closed when the test ends.
func (d *daemon) api() edgev1.EdgeClient {
	d.t.Helper()
	path := d.node.HostPath(controlFile)
	conn, err := grpc.NewClient("passthrough:///edge", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", path)
		}))
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() { _ = conn.Close() })
	return edgev1.NewEdgeClient(conn)
}

const metricsAddress = "127.0.0.1:9179"

// metric reads one series of /metrics, a name with its labels if it has any; it must be there.
func (d *daemon) metric(series string) float64 {
	d.t.Helper()
	client := http.Client{Timeout: soon, Transport: &http.Transport{DialContext: d.node.DialContext, DisableKeepAlives: true}}
	answer, err := client.Get("http://" + metricsAddress + "/metrics")
	if err != nil {
		d.t.Fatal(err)
	}
	defer answer.Body.Close()
	lines := bufio.NewScanner(answer.Body)
	for lines.Scan() {
		if value, ok := strings.CutPrefix(lines.Text(), series+" "); ok {
			number, err := strconv.ParseFloat(value, 64)
			if err != nil {
				d.t.Fatal(err)
			}
			return number
		}
	}
	d.t.Fatalf("/metrics has no %s: %v", series, lines.Err())
	return 0
}

// asked bounds a call of the API.
func asked() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), soon)
}

// atNeighbor is what the daemon's status says of the first service at a neighbour.
func atNeighbor(api edgev1.EdgeClient, name string) (*edgev1.Neighbor, error) {
	ctx, cancel := asked()
	defer cancel()
	status, err := api.Status(ctx, &edgev1.StatusRequest{})
	if err != nil {
		return nil, err
	}
	for _, n := range status.GetServices()[0].GetNeighbors() {
		if n.GetName() == name {
			return n, nil
		}
	}
	return nil, fmt.Errorf("the status has no neighbour %s", name)
}

// awaitStatus waits until check has nothing against what the status says of a neighbour.
func awaitStatus(t testing.TB, api edgev1.EdgeClient, name string, within time.Duration, check func(*edgev1.Neighbor) error) *edgev1.Neighbor {
	t.Helper()
	var n *edgev1.Neighbor
	netlab.Eventually(t, within, "the status of "+name, func() (err error) {
		if n, err = atNeighbor(api, name); err != nil {
			return err
		}
		if err = check(n); err != nil {
			err = fmt.Errorf("%w: %v", err, n)
		}
		return err
	})
	return n
}

// isUp is a check for awaitStatus: the session is established and all that is wanted stands.
func isUp(n *edgev1.Neighbor) error {
	if n.GetSession() != "established" || !n.GetSettled() {
		return errors.New("not established and settled")
	}
	return nil
}

// listen has the spoke's node wait for the edge, as a speaker with this configuration.
func (s *spoke) listen(c routegen.Config) *routegen.Listener {
	s.t.Helper()
	if c.LocalASN == 0 {
		c.LocalASN = rawASN
	}
	var l *routegen.Listener
	err := s.node.Do(func() (err error) {
		l, err = routegen.Listen(context.Background(), netip.AddrPortFrom(s.Peer4, 179).String(), c)
		return err
	})
	if err != nil {
		s.t.Fatalf("%s: %v", s.name, err)
	}
	s.t.Cleanup(func() { _ = l.Close() })
	return l
}

// accept waits for the next session. It is closed when the test ends.
func (s *spoke) accept(l *routegen.Listener) *routegen.Speaker {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), sessionWait)
	defer cancel()
	speaker, err := l.Accept(ctx)
	if err != nil {
		s.t.Fatalf("%s: %v", s.name, err)
	}
	s.t.Cleanup(func() { _ = speaker.Close() })
	return speaker
}

// dial connects from the spoke's node to an edge with `listen: true`.
func (s *spoke) dial(ctx context.Context, c routegen.Config) (*routegen.Speaker, error) {
	if c.LocalASN == 0 {
		c.LocalASN = rawASN
	}
	var speaker *routegen.Speaker
	err := s.node.Do(func() (err error) {
		speaker, err = routegen.Dial(ctx, netip.AddrPortFrom(s.Edge4, 179).String(), c)
		return err
	})
	return speaker, err
}

// ear takes in all that the edge says to a raw speaker, until the speaker ends.
type ear struct {
	t testing.TB

	mu         sync.Mutex
	updates    []heard
	keepalives int
	bad        error // an UPDATE that cannot be read
}

// heard is an UPDATE with the time when its last byte was read.
type heard struct {
	at time.Time
	routegen.Update
}

func newEar(t testing.TB, s *routegen.Speaker) *ear {
	e := &ear{t: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for m := range s.Received() {
			e.take(m)
		}
	}()
	t.Cleanup(func() {
		_ = s.Close()
		<-done
	})
	return e
}

func (e *ear) take(m routegen.Message) {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch m.Type {
	case routegen.TypeKeepalive:
		e.keepalives++
	case routegen.TypeUpdate:
		u, err := routegen.ParseUpdate(m.Body)
		e.updates = append(e.updates, heard{m.At, u})
		e.bad = errors.Join(e.bad, err)
	}
}

// all is every UPDATE so far, in order.
func (e *ear) all() []heard {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.bad != nil {
		e.t.Errorf("an UPDATE of ours: %v", e.bad)
	}
	return e.updates[:len(e.updates):len(e.updates)]
}

func (e *ear) heardKeepalives() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.keepalives
}

// await waits for the first UPDATE from number from on that is wanted.
func (e *ear) await(within time.Duration, from int, what string, wanted func(heard) bool) heard {
	e.t.Helper()
	var found heard
	netlab.Eventually(e.t, within, what, func() error {
		updates := e.all()
		for _, u := range updates[min(from, len(updates)):] {
			if wanted(u) {
				found = u
				return nil
			}
		}
		return fmt.Errorf("%d UPDATEs, none of them", len(updates)-from)
	})
	return found
}

// announces says whether an UPDATE announces a prefix.
func announces(p netip.Prefix) func(heard) bool {
	return func(u heard) bool { return slices.Contains(u.Announced, p) }
}

// alive fails the test when a raw speaker's session has ended.
func alive(t testing.TB, who string, s *routegen.Speaker) {
	t.Helper()
	select {
	case <-s.Done():
		t.Errorf("the session of %s has ended: %v", who, s.Err())
	default:
	}
}
