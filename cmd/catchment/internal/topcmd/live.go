package topcmd

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

const (
	// tryAgain is the time between two tries to reach a source that is away.
	tryAgain = 2 * time.Second
	// settle is how long news wait for more of them before they are drawn.
	settle = 50 * time.Millisecond
)

// live shows a source on a terminal until a key or a signal says to end, which is no
// error. Whatever happens, the terminal is as it was afterwards.
func live(ctx context.Context, s source, in, out *os.File, now func() time.Time, coloured bool) (err error) {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGHUP, syscall.SIGQUIT)
	defer stop()
	keys, err := openInput(in)
	if err != nil {
		return err
	}
	var side sync.WaitGroup
	defer keys.close()
	defer side.Wait()
	defer keys.end()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()

	t, err := takeTerminal(in, out)
	if err != nil {
		return err
	}
	defer func() {
		if p := recover(); p != nil {
			err = asBug(p)
		}
		err = errors.Join(err, t.giveBack())
	}()

	l := &loop{model: model{title: s.name(), coloured: coloured}, terminal: t, screen: screen{w: out}, now: now,
		news: make(chan news), keys: make(chan []key), failed: make(chan error, 1)}
	side.Go(func() { follow(ctx, s, tryAgain, l.news) })
	side.Go(func() {
		l.failed <- keys.read(func(k []key) bool {
			select {
			case l.keys <- k:
				return true
			case <-ctx.Done():
				return false
			}
		})
	})
	return l.run(ctx)
}

// loop owns the model.
type loop struct {
	model    model
	terminal *terminal
	screen   screen
	now      func() time.Time
	news     chan news
	keys     chan []key
	failed   chan error
}

func (l *loop) run(ctx context.Context) error {
	resized := make(chan os.Signal, 1)
	signal.Notify(resized, syscall.SIGWINCH)
	defer signal.Stop(resized)
	clock := time.NewTicker(clockEvery)
	defer clock.Stop()
	var soon <-chan time.Time // nil: nothing waits to be drawn
	if err := l.draw(); err != nil {
		return err
	}
	for {
		select {
		case n := <-l.news:
			if err := l.take(n); err != nil {
				return err
			}
			if soon == nil {
				soon = time.After(settle)
			}
			continue
		case keys := <-l.keys:
			for _, k := range keys {
				if k == keyRedraw {
					l.screen.forget()
				}
				if l.model.press(k) {
					return nil
				}
			}
		case <-soon:
			soon = nil
		case <-clock.C:
		case <-resized:
			l.screen.forget()
		case err := <-l.failed:
			return err
		case <-ctx.Done():
			return nil
		}
		if err := l.draw(); err != nil {
			return err
		}
	}
}

// take brings news to the model. An error before the first status ends the command,
// which was not going to work.
func (l *loop) take(n news) error {
	switch {
	case n.err == nil:
		l.model.feed(n.board)
	case !l.model.fed || isBug(n.err):
		return n.err
	default:
		l.model.lose(oneSentence(n.err), l.now())
	}
	return nil
}

func (l *loop) draw() error {
	l.model.now = l.now()
	width, height := l.terminal.size()
	return l.screen.draw(frame(&l.model, width, height), width)
}
