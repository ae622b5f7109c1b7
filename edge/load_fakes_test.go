package edge

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/catchment-bgp/catchment/load"
)

// samplerFake measures what the test says.
type samplerFake struct {
	journal *journal

	mu      sync.Mutex
	broken  error // what a start answers
	config  load.Config
	handler load.Handler
	sources []load.SourceStatus
	marks   map[uint32]string
}

func (s *samplerFake) start(c load.Config) (Sampler, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.broken != nil {
		return nil, s.broken
	}
	s.config = c
	s.journal.add("measure %d links", len(c.Links))
	return s, nil
}

func (s *samplerFake) Run(ctx context.Context, h load.Handler) error {
	s.mu.Lock()
	s.handler = h
	s.mu.Unlock()
	<-ctx.Done()
	s.journal.add("measured")
	return nil
}

func (s *samplerFake) Status() load.Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	return load.Status{Sources: s.sources}
}

func (s *samplerFake) breaks(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.broken = nil; text != "" {
		s.broken = errors.New(text)
	}
}

func (s *samplerFake) SetMarks(marks map[uint32]string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.marks = marks
}

// hands returns where figures go.
func (s *samplerFake) hands() load.Handler {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.handler
}

// figure reports a link's load in bit/s as true now.
func (w *world) figure(link string, bps float64) {
	w.t.Helper()
	h := w.sampler.hands()
	if h.Link == nil {
		w.t.Fatal("nothing is measured")
	}
	h.Link(link, load.Sample{Load: bps, At: time.Now(), Period: time.Second})
}

// figures reports the same load every second for some time.
func (w *world) figures(link string, bps float64, d time.Duration) {
	w.t.Helper()
	for range d / time.Second {
		w.figure(link, bps)
		w.pass(time.Second)
	}
}

// measured are edits by which the link has figures, from an interface, and is
// controlled.
var measured = []string{
	"links: [{name: uplink, capacity: 10Gbps}]", "links: [{name: uplink, capacity: 10Gbps, interface: eth1}]",
	`link: uplink, ladder`, `link: uplink, return: symmetric, ladder`,
	"leave_hold: 2s", "leave_hold: 2s\nload: {" + soonAgain + "}",
}

// soonAgain is a flap budget that a start does not use up.
const soonAgain = "flap: {exploration: 1}"

// measureAll hands over a figure of every kind.
func (w *world) measureAll() {
	w.t.Helper()
	eventually(w.t, "the sampler runs", func() bool { return w.sampler.hands().Link != nil })
	w.figure("uplink", 4.2e9)
	h := w.sampler.hands()
	h.Node(load.Node{Utilization: 0.3, Resource: "cpu", At: time.Now(), Resources: []load.Resource{{Name: "cpu", Utilization: 0.3}}})
	h.Quality([]load.Quality{{Neighbor: "transit", RTT: 20 * time.Millisecond, Retransmits: 0.01, Connections: 7, At: time.Now()}})
}

func someSources() []load.SourceStatus {
	return []load.SourceStatus{{Link: "uplink", Source: "fast", Up: true, Refused: map[load.Reason]uint64{load.Negative: 2}}}
}

// loseReturn makes the replies of a neighbour's clients leave elsewhere.
func (w *world) loseReturn(neighbor string) {
	w.t.Helper()
	w.returns.breaks(neighbor, errors.New("no route"))
	w.returns.news <- struct{}{}
	w.rest()
}
