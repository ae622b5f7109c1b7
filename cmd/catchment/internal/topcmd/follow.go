package topcmd

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"
)

// source streams what there is to show.
type source interface {
	name() string
	// watch gives each board to say until that is false (nil), or returns why the
	// stream has ended.
	watch(ctx context.Context, say func(board) bool) error
}

// news is a board, or why there is none.
type news struct {
	board board
	err   error
}

// follow sends the news of a source until ctx ends. When the stream ends it says so
// and tries again.
func follow(ctx context.Context, s source, again time.Duration, to chan<- news) {
	send := func(n news) bool {
		select {
		case to <- n:
			return true
		case <-ctx.Done():
			return false
		}
	}
	for ctx.Err() == nil {
		err := watched(ctx, s, func(b board) bool { return send(news{board: b}) })
		if ctx.Err() != nil || !send(news{err: err}) {
			return
		}
		select {
		case <-time.After(again):
		case <-ctx.Done():
		}
	}
}

// bug is a panic, as an error: it must not end the process before the terminal is as
// it was.
type bug struct{ text string }

func (b bug) Error() string { return b.text }

func asBug(p any) error {
	return bug{fmt.Sprintf("this is a bug of catchment, please report it: %v\n%s", p, debug.Stack())}
}

// watched never returns nil unless ctx has ended.
func watched(ctx context.Context, s source, say func(board) bool) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = asBug(p)
		}
	}()
	if err := s.watch(ctx, say); err != nil {
		return err
	}
	return errors.New("the stream has ended")
}

// isBug reports whether nothing will come of trying again.
func isBug(err error) bool {
	var b bug
	return errors.As(err, &b)
}
