package host

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// quiet is how long a burst of notifications may last before it is looked at: a
// route that is replaced by a deletion and an addition is not seen in between.
const quiet = 10 * time.Millisecond

// notifications reads those of the socket's groups until it is closed, and
// offers a signal for each that matters; matters runs in the reading goroutine.
// Lost notifications (ENOBUFS) always matter, and so do those of the next second:
// the kernel tells of a loss once, and may lose more until its queue was empty.
// The channel is closed at the end.
func notifications(s *socket, log *slog.Logger, matters func(message) bool) <-chan struct{} {
	dirty := make(chan struct{}, 1)
	go func() {
		defer close(dirty)
		var lost time.Time
		for {
			b, err := s.receive()
			if errors.Is(err, os.ErrClosed) {
				return
			}
			if err != nil && !errors.Is(err, unix.ENOBUFS) {
				log.Warn("netlink notifications cannot be read, trying again", "error", err)
				time.Sleep(time.Second)
			}
			if err != nil {
				lost = time.Now()
			}
			if anyMatters(b, matters) || time.Since(lost) < time.Second {
				offer(dirty)
			}
		}
	}()
	return dirty
}

func anyMatters(b []byte, matters func(message) bool) bool {
	found := false
	for m, rest, ok := next(b); ok; m, rest, ok = next(rest) {
		found = matters(m) || found
	}
	return found
}

// offer signals unless a signal waits already.
func offer(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// watch signals whenever stale says so after a burst of notifications that
// matter; when stale fails, too, since Set will tell why. The channel is closed after ctx has
// ended.
func watch(ctx context.Context, ns Namespace, groups []uint, log *slog.Logger, matters func(message) bool, stale func() (bool, error)) (<-chan struct{}, error) {
	s, err := openSocket(ns, groups...)
	if err != nil {
		return nil, err
	}
	return watchSocket(ctx, s, log, matters, stale), nil
}

// watchSocket is watch with an open socket, which it closes at the end.
func watchSocket(ctx context.Context, s *socket, log *slog.Logger, matters func(message) bool, stale func() (bool, error)) <-chan struct{} {
	dirty := notifications(s, log, matters)
	signal := make(chan struct{}, 1)
	go func() {
		defer close(signal)
		defer drain(dirty)
		defer s.Close()
		for {
			select {
			case <-ctx.Done():
				return
			case _, open := <-dirty:
				if !open || !wait(ctx, quiet) {
					return
				}
			}
			if again, err := stale(); again || err != nil {
				offer(signal)
			}
		}
	}()
	return signal
}

// drain waits until the reader has ended.
func drain(c <-chan struct{}) {
	for range c {
	}
}

// wait tells whether d passed before ctx ended.
func wait(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
