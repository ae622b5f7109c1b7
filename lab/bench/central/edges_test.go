package central

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
	"github.com/catchment-bgp/catchment/central/identity"
	"github.com/catchment-bgp/catchment/edge"
	"github.com/catchment-bgp/catchment/edge/config"
)

const (
	// reportEvery is how often a node reports that has no news.
	reportEvery = 10 * time.Second
	// sources is how many addresses the edges of one process connect from: each has its own ports.
	sources = 50
	// asns is how many neighbour ASes the fleet has: each is 1/asns of all edges'.
	asns = 250
)

// order is what a process of edges is told to do, one line of JSON.
type order struct {
	// Do is start, expect (answered once every edge has an intent that is as frozen as Frozen says, after ready),
	// tag (the same for Node and Tag), or return (once every edge has lost its stream and has an intent on a new one).
	Do     string
	First  int
	Count  int
	Over   time.Duration // start: evenly over so long
	Dir    string        // start: of the CA and of the edges' files
	Centre string        // start: its address
	Frozen bool
	Node   string
	Tag    string
}

// answer is what comes back, one line of JSON. Moments are wall clock, in nanoseconds since 1970.
type answer struct {
	Did   string // ready, started, expect, tag or return
	Error string `json:",omitempty"`
	// At has one moment for each edge, when it had what was waited for.
	At []int64 `json:",omitempty"`
	// Dials and Streams are the moments at which connections were tried and had streams, since the order.
	Dials   []int64 `json:",omitempty"`
	Streams []int64 `json:",omitempty"`
	// Faults counts why there was no stream, since the order.
	Faults map[string]int `json:",omitempty"`
}

// crowd are the edges of one process.
type crowd struct {
	edges []*light
	out   *json.Encoder

	mu      sync.Mutex
	wish    func(l *light, in *centralv1.Intent) bool // what an intent is waited for to say; nil: nothing
	did     string
	missing int
	dials   []int64
	streams []int64
	faults  map[string]int
}

// light is an edge without anything but its stream: the real one's, in the way in which it connects and waits.
type light struct {
	crowd *crowd
	name  string
	index int
	link  *edge.Link
	load  float64

	mu         sync.Mutex
	generation uint64
	up         bool
	timer      *time.Timer

	streams atomic.Int64 // how many it has had
	got     atomic.Int64 // when the wish came true; 0: not yet
}

// serveEdges runs edges as told on stdin, until it ends.
func serveEdges(in io.Reader, out io.Writer) error {
	c := &crowd{out: json.NewEncoder(out)}
	defer c.close()
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		var o order
		if err := json.Unmarshal(lines.Bytes(), &o); err != nil {
			return err
		}
		if err := c.obey(o); err != nil {
			return errors.Join(err, c.out.Encode(answer{Did: o.Do, Error: err.Error()}))
		}
	}
	return lines.Err()
}

func (c *crowd) close() {
	var all sync.WaitGroup
	for _, l := range c.edges {
		all.Go(l.close)
	}
	all.Wait()
}

func (c *crowd) obey(o order) error {
	switch o.Do {
	case "start":
		return c.start(o)
	case "expect":
		c.await(o.Do, len(c.edges), func(_ *light, in *centralv1.Intent) bool { return in.GetFrozen() == o.Frozen })
	case "tag":
		c.await(o.Do, 1, func(l *light, in *centralv1.Intent) bool {
			for _, t := range in.GetTags() {
				if l.name == o.Node && t.GetValue() == o.Tag {
					return true
				}
			}
			return false
		})
	case "return":
		before := map[*light]int64{}
		for _, l := range c.edges {
			before[l] = l.streams.Load()
		}
		c.await(o.Do, len(c.edges), func(l *light, _ *centralv1.Intent) bool { return l.streams.Load() > before[l] })
	default:
		return fmt.Errorf("%q is no order", o.Do)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.out.Encode(answer{Did: "ready"})
}

// await begins to wait until so many edges have what they wish for.
func (c *crowd) await(what string, edges int, wish func(*light, *centralv1.Intent) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, l := range c.edges {
		l.got.Store(0)
	}
	c.wish, c.did, c.missing, c.dials, c.streams = wish, what, edges, nil, nil
	c.faults = map[string]int{}
}

// came looks whether an intent is what an edge waits for.
func (c *crowd) came(l *light, in *centralv1.Intent) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.wish == nil || l.got.Load() != 0 || !c.wish(l, in) {
		return
	}
	l.got.Store(time.Now().UnixNano())
	if c.missing--; c.missing > 0 {
		return
	}
	a := answer{Did: c.did, Dials: c.dials, Streams: c.streams, Faults: c.faults}
	for _, l := range c.edges {
		if at := l.got.Load(); at != 0 {
			a.At = append(a.At, at)
		}
	}
	c.wish = nil
	_ = c.out.Encode(a) // whoever told us is gone, and our stdin ends
}

func (c *crowd) start(o order) error {
	ca, err := identity.OpenCA(o.Dir)
	if err != nil {
		return err
	}
	for i := range o.Count {
		l := &light{crowd: c, name: nodeName(o.First + i), index: o.First + i, load: 1e9 + 7e9*rand.Float64()}
		if err := issue(ca, o.Dir, l.name); err != nil {
			return err
		}
		c.edges = append(c.edges, l)
	}
	c.await("started", len(c.edges), func(*light, *centralv1.Intent) bool { return true })
	for i, l := range c.edges {
		l.open(o)
		if i%10 == 9 {
			<-time.After(10 * o.Over / time.Duration(o.Count))
		}
	}
	return nil
}

func nodeName(i int) string { return fmt.Sprintf("n%05d", i) }

// issue makes the identity of an edge, as a node that joins gets it.
func issue(ca *identity.CA, dir, name string) error {
	csr, key, err := identity.NewRequest(name)
	if err != nil {
		return err
	}
	cert, err := ca.Sign(csr, name, time.Now())
	if err != nil {
		return err
	}
	return errors.Join(os.WriteFile(filepath.Join(dir, name+".key"), key, 0o600), os.WriteFile(filepath.Join(dir, name+".pem"), cert, 0o644))
}

func (l *light) open(o order) {
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 1, byte(1+l.index%sources))}}
	dial := func(ctx context.Context, address string) (net.Conn, error) {
		l.crowd.note(&l.crowd.dials)
		return dialer.DialContext(ctx, "tcp", address)
	}
	in := func(name string) string { return filepath.Join(o.Dir, name) }
	to := config.Central{Addresses: []string{o.Centre}, TLS: config.TLS{CA: in("ca.pem"), Cert: in(l.name + ".pem"), Key: in(l.name + ".key")}}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.timer = time.AfterFunc(time.Duration(rand.Float64()*float64(reportEvery)), l.again)
	l.link = edge.OpenLink(context.Background(), to, l.name, dial, l.hear)
	l.link.Say(l.hello(), l.report())
}

func (c *crowd) note(list *[]int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	*list = append(*list, time.Now().UnixNano())
}

// numbers are what makes two faults of a kind differ.
var numbers = regexp.MustCompile(`[0-9][0-9.:]*`)

func (c *crowd) blame(fault string) {
	fault = numbers.ReplaceAllString(fault, "N")
	c.mu.Lock()
	defer c.mu.Unlock()
	c.faults[fault]++
}

// hear holds the intent, and acknowledges a generation that is new.
func (l *light) hear(n edge.LinkNews) {
	l.mu.Lock()
	if n.Up && !l.up {
		l.streams.Add(1)
		l.crowd.note(&l.crowd.streams)
	}
	if !n.Up {
		l.crowd.blame(n.Fault)
	}
	l.up = n.Up
	if n.Intent != nil && n.Intent.GetGeneration() != l.generation {
		l.generation = n.Intent.GetGeneration()
		l.say()
	}
	l.mu.Unlock()
	if n.Intent != nil {
		l.crowd.came(l, n.Intent)
	}
}

// again reports without news.
func (l *light) again() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.say()
}

// say reports, and puts the next report off; under the lock.
func (l *light) say() {
	l.link.Say(nil, l.report())
	l.timer.Reset(time.Duration((0.95 + 0.1*rand.Float64()) * float64(reportEvery)))
}

func (l *light) close() {
	l.mu.Lock()
	l.timer.Stop()
	l.mu.Unlock()
	l.link.Close()
}

func (l *light) hello() *centralv1.Hello {
	return &centralv1.Hello{Node: l.name, Site: fmt.Sprintf("site%d", l.index/4), Version: "bench", Asn: ourASN,
		Neighbors: []*centralv1.EdgeNeighbor{
			{Name: "transit-a", Asn: l.asn(), Kind: "transit", Link: "a", Rungs: 4, Labels: map[string]string{"circuit": "C-" + l.name}, Contact: "noc@example.net"},
			{Name: "ix", Asn: l.asn() + asns, Kind: "ix", Link: "b", Rungs: 4}},
		Services: []*centralv1.EdgeService{
			{Name: "video", Prefixes: []string{"198.51.100.0/24", "2001:db8:100::/48"}, Drain: durationpb.New(30 * time.Second)},
			{Name: "dns", Prefixes: []string{"192.0.2.0/24"}, Drain: durationpb.New(30 * time.Second)}}}
}

func (l *light) asn() uint32 { return uint32(64500 + l.index%asns) }

// report is that of a node that is well; its load differs a little each time.
func (l *light) report() *centralv1.Report {
	load := l.load * (0.98 + 0.04*rand.Float64())
	return &centralv1.Report{ClockSynchronised: true, Generation: l.generation,
		Services: []*centralv1.ServiceReport{{Name: "video", State: "announced", Reason: "normal", Hard: "up"}, {Name: "dns", State: "announced", Reason: "normal", Hard: "up"}},
		Links: []*centralv1.LinkReport{{Name: "a", Load: load, Capacity: 10e9, Utilization: load / 10e9, Known: true},
			{Name: "b", Load: load, Capacity: 10e9, Utilization: load / 10e9, Known: true}},
		Neighbors: []*centralv1.NeighborReport{{Name: "transit-a", Session: "established"}, {Name: "ix", Session: "established"}}}
}
