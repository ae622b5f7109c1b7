package edge

import (
	"context"
	"maps"
	"reflect"
	"sync"
	"time"

	"github.com/catchment-bgp/catchment/edge/config"
	"github.com/catchment-bgp/catchment/load"
	"github.com/catchment-bgp/catchment/policy"
)

// Sampler is what the loop needs of a load.Sampler.
type Sampler interface {
	// Run hands figures over until the context ends. It is called once.
	Run(ctx context.Context, h load.Handler) error
	// Status is the state of every source.
	Status() load.Status
	// SetMarks says which neighbour each connection mark stands for.
	SetMarks(marks map[uint32]string)
}

// figures are the newest of all sources.
type figures struct {
	links   map[string]policy.Sample
	node    load.Node
	quality []load.Quality
}

// mailbox takes figures from a sampler to the loop. It never makes the sampler
// wait: of two figures of one link that the loop did not take in the newer stands.
type mailbox struct {
	ready chan struct{} // has room for one: there is something to take

	mu      sync.Mutex
	figures figures
	every   time.Duration // between two announcements in ready, at least
	last    time.Time     // of the last one
	due     *time.Timer   // of the next one; nil: nothing waits
}

// gather is how long figures wait for others of the same moment.
const gather = 20 * time.Millisecond

func newMailbox() *mailbox {
	return &mailbox{ready: make(chan struct{}, 1), figures: figures{links: map[string]policy.Sample{}}}
}

// put changes the figures, and has the loop told soon.
func (m *mailbox) put(f func(*figures)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f(&m.figures)
	if m.due != nil {
		return
	}
	// A tick that comes a little early still has its own decision.
	wait := max(gather, m.every*9/10-time.Since(m.last))
	m.due = time.AfterFunc(wait, m.tell)
}

func (m *mailbox) tell() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.due, m.last = nil, time.Now()
	select {
	case m.ready <- struct{}{}:
	default:
	}
}

// take copies the figures.
func (m *mailbox) take() figures {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := m.figures
	out.links = maps.Clone(out.links)
	return out
}

// keep forgets links that are gone, and sets the pace.
func (m *mailbox) keep(links map[string]bool, every time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.every = every
	maps.DeleteFunc(m.figures.links, func(name string, _ policy.Sample) bool { return !links[name] })
	if len(links) == 0 {
		m.figures = figures{links: map[string]policy.Sample{}}
	}
}

// stop ends what waits.
func (m *mailbox) stop() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.due != nil {
		m.due.Stop()
		m.due = nil
	}
}

// sampling is the sampler that runs, if one does.
type sampling struct {
	mail    *mailbox
	sampler Sampler // nil: none
	config  load.Config
	marks   map[uint32]string
	end     context.CancelFunc
	running sync.WaitGroup
	retry   time.Time // when to try again to start one; zero: it runs, or none is wanted
	fault   string
}

// set makes the sampler that runs be the one of a configuration. One whose
// configuration is the same is not touched: its averages go on.
func (s *sampling) set(ctx context.Context, now time.Time, c *config.Config, start func(load.Config) (Sampler, error)) error {
	want, any := measurements(c)
	s.retry = time.Time{}
	links := map[string]bool{}
	for _, l := range want.Links {
		links[l.Name] = true
	}
	s.mail.keep(links, c.Load.Interval)
	if s.sampler != nil && any && reflect.DeepEqual(want, s.config) {
		return nil
	}
	s.stop()
	if !any {
		return nil
	}
	sampler, err := start(want)
	if err != nil {
		s.retry = now.Add(samplerRetry)
		return err
	}
	ctx, s.end = context.WithCancel(ctx)
	s.sampler, s.config = sampler, want
	s.mark(s.marks)
	s.running.Go(func() { _ = sampler.Run(ctx, s.mail.handler(ctx)) }) // its end is ours; sources tell of themselves
	return nil
}

// samplerRetry is when a sampler that could not start is tried again.
const samplerRetry = 10 * time.Second

// handler takes figures to the mailbox, until the context ends.
func (m *mailbox) handler(ctx context.Context) load.Handler {
	put := func(f func(*figures)) {
		if ctx.Err() == nil {
			m.put(f)
		}
	}
	return load.Handler{
		Link: func(link string, f load.Sample) {
			put(func(fs *figures) { fs.links[link] = policy.Sample{Load: f.Load, Capacity: f.Capacity, At: f.At} })
		},
		Node:    func(n load.Node) { put(func(fs *figures) { fs.node = n }) },
		Quality: func(q []load.Quality) { put(func(fs *figures) { fs.quality = q }) },
	}
}

// mark says which neighbour each connection mark stands for.
func (s *sampling) mark(marks map[uint32]string) {
	s.marks = marks
	if s.sampler != nil {
		s.sampler.SetMarks(marks)
	}
}

// stop ends the sampler, without waiting for it.
func (s *sampling) stop() {
	if s.end != nil {
		s.end()
	}
	s.sampler, s.end = nil, nil
}

// finish ends all and waits for it.
func (s *sampling) finish() {
	s.stop()
	s.running.Wait()
	s.mail.stop()
}

// measure makes what is measured be what the configuration wants. What cannot be
// measured stops nothing else: it is tried again.
func (e *Edge) measure(now time.Time) {
	s := &e.load.sampling
	err := s.set(e.work, now, e.cfg, e.opt.Sampler)
	e.load.figures = s.mail.take()
	fault := ""
	if err != nil {
		fault = err.Error()
	}
	switch {
	case fault == s.fault:
	case fault != "":
		e.log.Error("load cannot be measured; it is tried again", "error", fault)
	default:
		e.log.Info("load can be measured after all")
	}
	s.fault = fault
}

// retryMeasure tries again what measure could not start.
func (e *Edge) retryMeasure(now time.Time) {
	if r := e.load.sampling.retry; !r.IsZero() && !now.Before(r) {
		e.measure(now)
	}
}
