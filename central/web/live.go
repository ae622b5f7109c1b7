package web

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
)

const (
	// liveEvery is the least time between two changes that viewers are told of, and
	// liveLeast the longest without one: loads change without a word.
	liveEvery = time.Second
	liveLeast = 10 * time.Second
	// beatEvery is how often a stream of events proves that it is alive, and asks anew
	// whether its viewer may still see them.
	beatEvery = 15 * time.Second
	// liveMost bounds the streams of one site, and liveEach those of one viewer, who shall
	// not lock the others out.
	liveMost = 2000
	liveEach = liveMost / 4
)

// live draws the fleet once for all viewers, and tells them when it has changed.
type live struct {
	source Source
	draw   func(*centralv1.FleetStatus) ([]byte, error)

	mu      sync.Mutex
	viewers int
	each    map[string]int // of viewers, by name
	version uint64
	changed chan struct{} // closed and made anew with each version
	wake    chan struct{}
	gone    chan struct{}

	drawing sync.Mutex // one at a time
	drawn   uint64     // version of last
	last    piece
}

func newLive(source Source, draw func(*centralv1.FleetStatus) ([]byte, error)) *live {
	return &live{source: source, draw: draw, each: map[string]int{}, version: 1, changed: make(chan struct{}), wake: make(chan struct{}, 1), gone: make(chan struct{})}
}

// run makes versions while somebody looks.
func (l *live) run(ctx context.Context) {
	defer close(l.gone)
	for ctx.Err() == nil {
		news := l.source.News()
		if !l.watched() {
			select {
			case <-l.wake:
			case <-ctx.Done():
			}
			continue
		}
		rest(ctx, liveEvery, nil)
		rest(ctx, liveLeast-liveEvery, news)
		l.next()
	}
}

// rest waits for a time, or for a channel.
func rest(ctx context.Context, d time.Duration, news <-chan struct{}) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-news:
	case <-ctx.Done():
	}
}

func (l *live) watched() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.viewers > 0
}

func (l *live) next() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.version++
	close(l.changed)
	l.changed = make(chan struct{})
}

// at is the version now, and what is closed when there is another.
func (l *live) at() (uint64, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.version, l.changed
}

// join counts a stream of a viewer; false: there are too many.
func (l *live) join(who string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.viewers >= liveMost || l.each[who] >= liveEach {
		return false
	}
	l.viewers++
	l.each[who]++
	select {
	case l.wake <- struct{}{}:
	default:
	}
	return true
}

func (l *live) leave(who string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.viewers--
	if l.each[who]--; l.each[who] == 0 {
		delete(l.each, who)
	}
}

// fleet is the fleet drawn, not older than the version now.
func (l *live) fleet() ([]byte, error) {
	p, err := l.part()
	return p.text, err
}

// part is the same with what browsers take it by, made once for all of them. Without
// viewers there are no versions, and it is drawn for whoever asks.
func (l *live) part() (piece, error) {
	l.drawing.Lock()
	defer l.drawing.Unlock()
	version, _ := l.at()
	if l.watched() && l.drawn == version {
		return l.last, nil
	}
	text, err := l.draw(l.source.Status())
	if err != nil {
		return piece{}, err
	}
	l.drawn, l.last = version, pieceOf(text)
	return l.last, nil
}

// events is a stream that says when there is something new to fetch, and nothing else
// (HTML Living Standard, section 9.2).
func (s *Site) events(w http.ResponseWriter, r *http.Request) {
	who := peerOf(r).Who()
	if !s.live.join(who) {
		http.Error(w, "too many pages are open; this one has to be loaded by hand", http.StatusServiceUnavailable)
		return
	}
	defer s.live.leave(who)
	w.Header().Set("Content-Type", "text/event-stream")
	control := http.NewResponseController(w)
	beat := time.NewTicker(beatEvery)
	defer beat.Stop()
	version, changed := s.live.at()
	say := func(format string, args ...any) bool {
		_, err := fmt.Fprintf(w, format, args...)
		return err == nil && control.Flush() == nil
	}
	if !say("retry: 2000\nevent: fleet\ndata: %d\n\n", version) {
		return
	}
	for {
		select {
		case <-changed:
			version, changed = s.live.at()
			if !say("event: fleet\ndata: %d\n\n", version) {
				return
			}
		case <-beat.C:
			if _, err := s.cfg.Caller(r.Context()); err != nil || !say(": here\n\n") {
				return
			}
		case <-s.live.gone:
			return
		case <-r.Context().Done():
			return
		}
	}
}
