package healthcheck

import (
	"context"
	"io"
	"net"
	"time"
)

const (
	reopenMin = 10 * time.Millisecond
	reopenMax = time.Second
	// longLife is how long a connection must last for its end to be ordinary.
	longLife = 5 * time.Second
	// maxWatched is what a watched connection may bring, in bytes: a service that
	// talks without end would keep a processor busy.
	maxWatched = 64 << 10
)

// watch opens a connection and returns when it has ended. lost says that this is
// a reason to probe: it was open, or it was refused.
type watch func(ctx context.Context) (lost bool)

// watchAddress is the watch of a TCP address; timeout bounds the opening. What
// the service sends is read and thrown away, maxWatched bytes of it: then the
// connection is closed, which is no reason to probe.
func watchAddress(address string, timeout time.Duration) watch {
	return func(ctx context.Context) bool {
		d := dialer
		d.KeepAlive = 0 // the default: on, so that a vanished peer is noticed at last
		d.Timeout = timeout
		conn, err := dial(ctx, d, "tcp", address)
		if err != nil {
			return refused(err)
		}
		defer conn.Close()
		defer bind(ctx, conn)()
		return drain(conn) < maxWatched
	}
}

// drain reads until the connection ends or has brought maxWatched bytes, and says
// how many came.
func drain(conn net.Conn) int64 {
	n, _ := io.CopyBuffer(struct{ io.Writer }{io.Discard}, io.LimitReader(conn, maxWatched), make([]byte, 512))
	return n
}

// ending is how a watch ended.
type ending struct {
	at    time.Time
	lived time.Duration
	lost  bool
}

// watcher runs one watch at a time. It belongs to the goroutine of Run.
type watcher struct {
	watch  watch // nil: nothing is watched
	ended  chan ending
	open   bool // a watch runs, or its ending was not yet taken
	pause  time.Duration
	cancel context.CancelFunc
}

func newWatcher(w watch) *watcher {
	return &watcher{watch: w, ended: make(chan ending, 1)}
}

// start opens the connection after the pause, unless it is open.
func (w *watcher) start(ctx context.Context) {
	if w.watch == nil || w.open {
		return
	}
	ctx, w.cancel = context.WithCancel(ctx)
	w.open = true
	go func(pause time.Duration) {
		if !sleep(ctx, pause) {
			w.ended <- ending{}
			return
		}
		begin := time.Now()
		lost := w.watch(ctx)
		at := time.Now()
		w.ended <- ending{at: at, lived: at.Sub(begin), lost: lost}
	}(w.pause)
}

// took is called with what came from ended, and sets the pause before the next.
func (w *watcher) took(e ending) {
	w.cancel()
	w.open = false
	if e.lived >= longLife {
		w.pause = reopenMin
		return
	}
	w.pause = min(max(2*w.pause, reopenMin), reopenMax)
}

// stop closes the connection and waits until it is closed.
func (w *watcher) stop() {
	if w.open {
		w.cancel()
		w.took(<-w.ended)
	}
}

// sleep returns false if ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
