package edgecmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	edgev1 "github.com/catchment-bgp/catchment/api/edge/v1"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/node"
)

// update is what the stream gave: a status, or the error that ended it.
type update struct {
	status *edgev1.StatusResponse
	err    error
}

// watch shows each status that the node sends until ctx ends, which is no error.
func (g *group) watch(ctx context.Context) error {
	c, err := g.node.Connect()
	if err != nil {
		return err
	}
	defer c.Close()
	streaming, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := c.Watch(streaming, &edgev1.StatusRequest{})
	if err != nil {
		return watchEnd(ctx, c, err)
	}
	updates := make(chan update)
	go receive(streaming, stream.Recv, updates)

	view := g.view()
	ticks, stop := view.ticks()
	defer stop()
	for {
		select {
		case u := <-updates:
			if u.err != nil {
				return watchEnd(ctx, c, u.err)
			}
			if err := view.show(u.status); err != nil {
				return fmt.Errorf("the status cannot be written: %w", err)
			}
		case <-ticks:
			if err := view.show(nil); err != nil {
				return fmt.Errorf("the status cannot be written: %w", err)
			}
		case <-ctx.Done():
			return nil
		}
	}
}

// receive ends with the stream, or with ctx.
func receive(ctx context.Context, next func() (*edgev1.StatusResponse, error), to chan<- update) {
	for {
		s, err := next()
		select {
		case to <- update{s, err}:
		case <-ctx.Done():
			return
		}
		if err != nil {
			return
		}
	}
}

func watchEnd(ctx context.Context, c *node.Conn, err error) error {
	switch {
	case ctx.Err() != nil:
		return nil
	case errors.Is(err, io.EOF):
		return fmt.Errorf("catchment-edge on %s ended the watch: it is stopping", c.Path)
	}
	return c.Explain(err)
}

// view shows one status after the other.
type view interface {
	// show shows a status; nil shows the last one again.
	show(*edgev1.StatusResponse) error
	// ticks says when to show the last one again, and how to end that.
	ticks() (<-chan time.Time, func())
}
