package load

import (
	"errors"
	"log/slog"
	"maps"
	"sync"
	"time"
)

// recovered is how many good figures in a row end a failure, so that a source that
// fails every other time is not news each time.
const recovered = 3

// track keeps the state of one source, for Status and the log.
type track struct {
	link, source string
	log          *slog.Logger

	mu      sync.Mutex
	up      bool
	failing bool // and said so
	good    int  // in a row
	last    time.Time
	refused map[Reason]uint64
	err     string
}

func newTrack(link, source string, log *slog.Logger) *track {
	log = log.With("source", source)
	if link != "" {
		log = log.With("link", link)
	}
	return &track{link: link, source: source, log: log, refused: map[Reason]uint64{}}
}

// seen notes the time of a figure.
func (t *track) seen(at time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last = at
}

// ok notes that all was good.
func (t *track) ok() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.good++
	if t.up || t.failing && t.good < recovered {
		return
	}
	if t.failing {
		t.log.Info("load: figures are back")
	}
	t.up, t.failing, t.err = true, false, ""
}

// fail notes a figure that was refused or missing.
func (t *track) fail(err error) {
	reason := Unreachable
	if r, ok := errors.AsType[*Refusal](err); ok {
		reason = r.Reason
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.refused[reason]++
	t.up, t.good, t.err = false, 0, err.Error()
	if !t.failing {
		t.log.Warn("load: no figures", "error", err.Error())
	}
	t.failing = true
}

func (t *track) status() SourceStatus {
	t.mu.Lock()
	defer t.mu.Unlock()
	return SourceStatus{Link: t.link, Source: t.source, Up: t.up, Last: t.last, Refused: maps.Clone(t.refused), Error: t.err}
}
