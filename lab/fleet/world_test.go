package fleet

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
	"github.com/catchment-bgp/catchment/central"
	"github.com/catchment-bgp/catchment/central/store"
	"github.com/catchment-bgp/catchment/policy/fleet"
)

const (
	video = "video"
	// lightly is what each node carries in most tests, in bit/s, of the 10 Gbit/s that it
	// can: little, since all of what is shed may land on one other node.
	lightly = 0.1e9
	// centreA and centreB are the addresses that the nodes have, in this order.
	centreA, centreB = "127.0.0.1:7179", "127.0.0.1:7180"
)

// world is a fleet: nodes, centres over one store, and what lies between them.
type world struct {
	t       *testing.T
	dir     string
	store   *store.Memory
	limits  fleet.Limits
	centres map[string]*centre
	nodes   []*node
	edits   []string      // of the configuration of nodes to come
	ahead   time.Duration // the clock of the first node to come
	quiet   bool          // a failure tells its own story

	mu      sync.Mutex
	start   time.Time
	changes []change
	least   int // the fewest that announced at a time since mark
	gone    int // the most that were away for another reason than a hard failure
}

// change is a node that looks different to its neighbour.
type change struct {
	at   time.Duration // since the start
	node string
	from face
	to   face
}

func (c change) String() string { return fmt.Sprintf("%v %s: %v -> %v", c.at, c.node, c.from, c.to) }

// centre is one of the centres.
type centre struct {
	world    *world
	address  string
	store    *valve // between it and the store
	listener *bufconn.Listener
	conn     *grpc.ClientConn
	api      centralv1.FleetClient
	stop     func()
}

// inFleet runs a test in virtual time with n nodes and one centre, when all is well.
// Edits change the nodes' configurations.
func inFleet(t *testing.T, n int, limits fleet.Limits, f func(t *testing.T, w *world), edits ...string) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, limits)
		w.edits = edits
		defer w.end()
		w.open(centreA)
		w.join(n)
		f(t, w)
	})
}

func newWorld(t *testing.T, limits fleet.Limits) *world {
	return &world{t: t, dir: t.TempDir(), store: store.NewMemory(), limits: limits, centres: map[string]*centre{}, start: time.Now()}
}

// end stops everything.
func (w *world) end() {
	if w.t.Failed() && !w.quiet {
		w.t.Log(w.story())
	}
	for _, n := range w.nodes {
		n.goes()
	}
	for _, n := range w.nodes {
		n.stop()
	}
	for _, address := range []string{centreA, centreB} {
		if c := w.centres[address]; c != nil {
			c.kill()
		}
	}
	_ = w.store.Close()
}

// open starts a centre at an address.
func (w *world) open(address string) *centre {
	w.t.Helper()
	c := &centre{world: w, address: address, store: newValve(), listener: bufconn.Listen(1 << 16)}
	w.mu.Lock()
	w.centres[address] = c
	w.mu.Unlock()
	f := central.NewFleet(&away{w.store, c.store}, central.Settings{ASN: 57629, Services: map[string]fleet.Limits{video: w.limits}, Replica: "r-" + address, Log: slog.New(slog.DiscardHandler)})
	server, err := central.NewServer(f, central.Identity{})
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ran, served := make(chan error, 1), make(chan error, 1)
	go func() { ran <- f.Run(ctx) }()
	<-f.Ready()
	go func() { served <- server.Serve(ctx, c.listener, nil) }()
	c.conn, err = grpc.NewClient("passthrough:///centre", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return c.listener.DialContext(ctx) }))
	if err != nil {
		w.t.Fatal(err)
	}
	c.api = centralv1.NewFleetClient(c.conn)
	c.stop = sync.OnceFunc(func() {
		_ = c.conn.Close()
		cancel()
		for what, end := range map[string]chan error{"serving": served, "running": ran} {
			if err := <-end; err != nil {
				w.t.Errorf("%s %s: %v", what, address, err)
			}
		}
	})
	return c
}

// kill ends a centre; nobody is told but by the end of the connections.
func (c *centre) kill() {
	c.world.mu.Lock()
	delete(c.world.centres, c.address)
	c.world.mu.Unlock()
	c.stop()
}

// noc is the API of the first centre.
func (w *world) noc() centralv1.FleetClient { return w.centres[centreA].api }

// dial connects to what listens at an address.
func (w *world) dial(ctx context.Context, address string) (net.Conn, error) {
	w.mu.Lock()
	c := w.centres[address]
	w.mu.Unlock()
	if c == nil {
		return nil, fmt.Errorf("dial %s: connection refused", address)
	}
	return c.listener.DialContext(ctx)
}

// join adds nodes to the fleet, and waits until all is well there.
func (w *world) join(n int) []*node {
	w.t.Helper()
	from := len(w.nodes)
	for range n {
		w.nodes = append(w.nodes, newNode(w, len(w.nodes)+1))
	}
	for _, n := range w.nodes[from:] {
		n.ahead, w.ahead = w.ahead, 0
		n.run()
	}
	w.pass(time.Minute)
	for _, n := range w.nodes[from:] {
		if !n.face().announces() {
			w.t.Fatalf("%s does not announce though all is well:\n%s", n.name, n.log.String())
		}
	}
	w.mark()
	return w.nodes[from:]
}

// pass lets time go by.
func (w *world) pass(d time.Duration) {
	time.Sleep(d) // in a bubble, where it takes no time
	synctest.Wait()
}

// saw notes that a node looks different.
func (w *world) saw(n *node, f face) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.changes = append(w.changes, change{time.Since(w.start), n.name, n.last, f})
	n.last = f
	w.note()
}

// note takes the counts in; under the lock.
func (w *world) note() {
	on, gone := 0, 0
	for _, n := range w.nodes {
		if n.last.announces() {
			on++
		}
		if n.last.away && !n.dead {
			gone++
		}
		n.dead = n.dead && (n.failing || n.last.away) // till it is back
	}
	w.least, w.gone = min(w.least, on), max(w.gone, gone)
}

// mark begins a new account of what happens; it returns the place in changes.
func (w *world) mark() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.least, w.gone = len(w.nodes), 0
	w.note()
	return len(w.changes)
}

// since is what has changed since a mark.
func (w *world) since(mark int) []change {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]change(nil), w.changes[mark:]...)
}

// most is the most nodes that were withdrawn at a time since the mark, for another
// reason than a hard failure.
func (w *world) most() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.gone
}

// low is the fewest nodes that announced at a time since the mark.
func (w *world) low() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.least
}

// announcing is how many do now.
func (w *world) announcing() int {
	return w.count(face.announces)
}

func (w *world) count(is func(face) bool) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := 0
	for _, n := range w.nodes {
		if is(n.last) {
			out++
		}
	}
	return out
}

// all does something with every node.
func (w *world) all(f func(n *node)) {
	for _, n := range w.nodes {
		f(n)
	}
}

// story is what happened, for a test that has failed.
func (w *world) story() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out bytes.Buffer
	for _, c := range w.changes[max(0, len(w.changes)-60):] {
		fmt.Fprintln(&out, c)
	}
	for _, n := range w.nodes[:min(2, len(w.nodes))] {
		text := n.log.String()
		fmt.Fprintf(&out, "--- %s\n%s", n.name, text[max(0, len(text)-3000):])
	}
	return out.String()
}

func (w *world) file(name string) string { return filepath.Join(w.dir, name) }

func (w *world) write(name, text string) {
	w.t.Helper()
	if err := os.WriteFile(w.file(name), []byte(text), 0o640); err != nil {
		w.t.Fatal(err)
	}
}

// syncBuffer is a log that several goroutines write.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}
