package load

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"net/netip"
	"net/url"
	"sync"
	"time"
)

// Sampler measures what a Config names.
type Sampler struct {
	config  Config
	log     *slog.Logger
	kernel  *kernel
	links   []*linkMeter
	node    *nodeMeter    // nil: no resources
	quality *qualityMeter // nil: none
	tracks  []*track      // of all sources, in the order of Status

	// handing has one figure at a time go out.
	handing sync.Mutex
}

// New prepares: it opens its netlink sockets in the network namespace of the
// calling thread. The error names every part of the config that is wrong. Run has
// to be called once to close what New opened.
func New(c Config) (*Sampler, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	k, err := openKernel()
	if err != nil {
		return nil, fmt.Errorf("load: %w", err)
	}
	s := &Sampler{config: c, log: c.Log, kernel: k}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	for _, l := range c.Links {
		s.links = append(s.links, s.newLinkMeter(l))
	}
	if c.Resources.any() {
		s.node = newNodeMeter(c.Resources, k, s.track("", "node"))
	}
	if c.Quality.Period > 0 {
		s.quality = newQualityMeter(c.Quality, k, s.track("", "quality"))
	}
	return s, nil
}

func (s *Sampler) track(link, source string) *track {
	t := newTrack(link, source, s.log)
	s.tracks = append(s.tracks, t)
	return t
}

// Run measures until ctx ends, and returns nil then. It may be called once.
func (s *Sampler) Run(ctx context.Context, h Handler) error {
	var parts sync.WaitGroup
	for _, l := range s.links {
		l.run(ctx, &parts, func(f Sample) {
			if h.Link != nil {
				h.Link(l.link.Name, f)
			}
		}, &s.handing)
	}
	if s.node != nil {
		parts.Go(func() { s.node.run(ctx, s.hand(h.Node)) })
	}
	if s.quality != nil {
		parts.Go(func() { s.quality.run(ctx, s.handQuality(h.Quality)) })
	}
	<-ctx.Done()
	parts.Wait()
	return s.kernel.close()
}

func (s *Sampler) hand(to func(Node)) func(Node) {
	return func(n Node) {
		s.handing.Lock()
		defer s.handing.Unlock()
		if to != nil {
			to(n)
		}
	}
}

func (s *Sampler) handQuality(to func([]Quality)) func([]Quality) {
	return func(list []Quality) {
		s.handing.Lock()
		defer s.handing.Unlock()
		if to != nil {
			to(list)
		}
	}
}

// SetMarks says which neighbour a connection mark, after the mask of
// QualityConfig, stands for. It may be called at any time.
func (s *Sampler) SetMarks(marks map[uint32]string) {
	if s.quality != nil {
		s.quality.setMarks(maps.Clone(marks))
	}
}

// Status is the state of every source.
type Status struct {
	Sources []SourceStatus
	Links   []LinkStatus
}

// SourceStatus is the state of one source.
type SourceStatus struct {
	// Link is the link's name; "" for the node and quality.
	Link string
	// Source is "fast", "exact", "node" or "quality".
	Source string
	// Up is false from a refused or missing figure until three good ones in a row,
	// and before the first good one. The node is up when all of its resources can
	// be measured.
	Up bool
	// Last is when the last good figure was true; zero: there was none.
	Last time.Time
	// Refused counts what was refused or could not be had.
	Refused map[Reason]uint64
	// Error is the last of those, while the source is not up.
	Error string
}

// LinkStatus is how a link's figures come about.
type LinkStatus struct {
	Link string
	// Capacity in force, in bit/s; 0: unknown.
	Capacity float64
	// Correction is what the exact source adds to the fast one, in bit/s, and
	// Corrected when the figure was true that last changed it; zero: never.
	Correction float64
	Corrected  time.Time
}

// Status tells how the sources are. It may be called at any time.
func (s *Sampler) Status() Status {
	out := Status{Sources: []SourceStatus{}, Links: []LinkStatus{}}
	for _, t := range s.tracks {
		out.Sources = append(out.Sources, t.status())
	}
	for _, l := range s.links {
		out.Links = append(out.Links, l.status())
	}
	return out
}

// check tells everything that is wrong with c.
func (c Config) check() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf("load: "+format, args...)) }
	seen := map[string]bool{}
	for _, l := range c.Links {
		switch {
		case l.Name == "":
			bad("a link has no name")
		case seen[l.Name]:
			bad("link %s: the name is taken", l.Name)
		}
		seen[l.Name] = true
		if !(l.Capacity >= 0) || math.IsInf(l.Capacity, 0) {
			bad("link %s: capacity %v: write bit/s, or 0 where it is unknown", l.Name, l.Capacity)
		}
		for name, src := range map[string]*Source{"fast": l.Fast, "exact": l.Exact} {
			if err := src.check(); err != nil {
				bad("link %s: %s: %w", l.Name, name, err)
			}
		}
	}
	for _, err := range append(c.Resources.problems(), c.Quality.problems()...) {
		bad("%w", err)
	}
	return errors.Join(errs...)
}

func (s *Source) check() error {
	if s == nil {
		return nil
	}
	n, where := 0, ""
	if s.Interface != "" {
		n++
	}
	if s.Feed != nil {
		n, where = n+1, s.Feed.URL
	}
	if s.Prometheus != nil {
		n, where = n+1, s.Prometheus.URL
	}
	switch u, err := url.Parse(where); {
	case n != 1:
		return fmt.Errorf("%d origins; set exactly one of interface, feed and prometheus", n)
	case s.Interface == "" && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https"):
		return errors.New("the URL must begin with http:// or https:// and a host")
	case s.Prometheus != nil && s.Prometheus.Query == "":
		return errors.New("the query is empty")
	case s.period() < time.Second:
		return fmt.Errorf("period %v; at least 1s", s.period())
	case s.Delay < 0 || s.Average < 0:
		return errors.New("delay and average cannot be negative")
	}
	return nil
}

func (r Resources) any() bool {
	return r.CPU || len(r.Interfaces) > 0 || len(r.Disks) > 0 || r.Sessions > 0 ||
		r.PressureCPU > 0 || r.PressureIO > 0 || r.PressureMemory > 0
}

func (r Resources) problems() (list []error) {
	for name, limit := range map[string]float64{"cpu": r.PressureCPU, "io": r.PressureIO, "memory": r.PressureMemory} {
		if !(limit >= 0 && limit <= 1) {
			list = append(list, fmt.Errorf("node: %s pressure: the limit %v is no share of time, 0 to 1", name, limit))
		}
	}
	for _, i := range r.Interfaces {
		if i.Name == "" || !(i.Speed >= 0) || math.IsInf(i.Speed, 0) {
			list = append(list, fmt.Errorf("node: interface %q with speed %v: write a name and bit/s, or 0 for the kernel's", i.Name, i.Speed))
		}
	}
	if r.Sessions < 0 || r.Period < 0 || r.SessionsPeriod < 0 {
		list = append(list, errors.New("node: limits and periods cannot be negative"))
	}
	if r.Sessions > 0 {
		list = append(list, checkVIPs("node: sessions", r.VIPs)...)
	}
	return list
}

func (q QualityConfig) problems() []error {
	switch {
	case q.Period == 0:
		return nil
	case q.Period < time.Second:
		return []error{fmt.Errorf("quality: period %v; at least 1s", q.Period)}
	}
	return checkVIPs("quality", q.VIPs)
}

func checkVIPs(what string, vips []netip.Prefix) []error {
	if len(vips) == 0 {
		return []error{fmt.Errorf("%s: there is no VIP whose connections count", what)}
	}
	if len(vips) > maxVIPs {
		return []error{fmt.Errorf("%s: %d VIPs; at most %d, merge them into prefixes", what, len(vips), maxVIPs)}
	}
	for _, p := range vips {
		if !p.IsValid() {
			return []error{fmt.Errorf("%s: a VIP is no prefix", what)}
		}
	}
	return nil
}
