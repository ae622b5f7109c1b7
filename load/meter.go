package load

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"
)

// reader reads a source once. Its error is errNothingNew, a *Refusal, or one of
// the network.
type reader interface {
	read(ctx context.Context) (Sample, error)
	close()
}

// linkMeter makes the figures of one link from its sources.
type linkMeter struct {
	link   Link
	gauge  *gauge
	feeds  []*feedIn
	mu     sync.Mutex // over what follows
	merged *Estimator
	bounds float64 // capacity in force
}

// feedIn is one source of a link.
type feedIn struct {
	exact  bool
	source *Source
	reader reader
	gate   Gate
	track  *track
}

func (s *Sampler) newLinkMeter(l Link) *linkMeter {
	m := &linkMeter{link: l, merged: NewEstimator(l), bounds: l.Capacity}
	m.gauge = &gauge{devices: s.kernel.devices, name: l.device(), configured: l.Capacity}
	m.add(s, "fast", l.Fast)
	m.add(s, "exact", l.Exact)
	return m
}

func (m *linkMeter) add(s *Sampler, name string, from *Source) {
	if from != nil {
		m.feeds = append(m.feeds, &feedIn{
			exact: name == "exact", source: from, reader: newReader(from, s.kernel), track: s.track(m.link.Name, name),
		})
	}
}

// device is the interface whose speed bounds the link's capacity, or "".
func (l Link) device() string {
	if l.Device != "" {
		return l.Device
	}
	for _, s := range []*Source{l.Fast, l.Exact} {
		if s != nil && s.Interface != "" {
			return s.Interface
		}
	}
	return ""
}

func newReader(s *Source, k *kernel) reader {
	switch {
	case s.Feed != nil:
		return newFeedReader(s)
	case s.Prometheus != nil:
		return newPrometheusReader(s)
	default:
		return &counterReader{devices: k.devices, name: s.Interface, direction: s.Direction}
	}
}

func (m *linkMeter) run(ctx context.Context, parts *sync.WaitGroup, hand func(Sample), handing *sync.Mutex) {
	for _, f := range m.feeds {
		parts.Go(func() {
			defer f.reader.close()
			every(ctx, f.source.period(), f.source.Interface == "", func() { m.take(ctx, f, hand, handing) })
		})
	}
}

// take reads a source once and hands on the link's new figure, if there is one.
func (m *linkMeter) take(ctx context.Context, f *feedIn, hand func(Sample), handing *sync.Mutex) {
	s, err := f.reader.read(ctx)
	if ctx.Err() != nil {
		return
	}
	now := time.Now()
	s.Capacity = m.gauge.capacity(now)
	s.Period = f.source.period()
	if err == nil {
		s.At = s.At.Add(-f.source.Delay)
		err = f.gate.Check(s, now)
	}
	switch {
	case errors.Is(err, errNothingNew):
		return
	case err != nil:
		f.track.fail(err)
		return
	}
	f.track.seen(s.At)
	f.track.ok()
	handing.Lock()
	defer handing.Unlock()
	if out, ok := m.merge(f, s, now); ok {
		hand(out)
	}
}

func (m *linkMeter) merge(f *feedIn, s Sample, now time.Time) (Sample, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.bounds = s.Capacity
	if f.exact {
		return m.merged.Exact(s, now)
	}
	return m.merged.Fast(s)
}

func (m *linkMeter) status() LinkStatus {
	m.mu.Lock()
	defer m.mu.Unlock()
	correction, at := m.merged.Correction()
	return LinkStatus{Link: m.link.Name, Capacity: m.bounds, Correction: correction, Corrected: at}
}

// every calls f at once and then each period, moved by up to a tenth of it where
// jitter is set, until ctx ends. A call that takes longer delays the next.
func every(ctx context.Context, period time.Duration, jitter bool, f func()) {
	next := time.Now()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		if ctx.Err() != nil {
			return
		}
		f()
		now := time.Now()
		if next = next.Add(period); next.Before(now) {
			next = now // what was missed is not made up for
		}
		wait := next.Sub(now)
		if jitter {
			wait += time.Duration((rand.Float64() - 0.5) * 0.2 * float64(period))
		}
		timer.Reset(max(wait, 0))
	}
}
