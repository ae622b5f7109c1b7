package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// Watch implements Store.
func (e *Etcd) Watch(ctx context.Context, prefix string, from Revision) <-chan Event {
	events := make(chan Event)
	e.mu.Lock()
	defer e.mu.Unlock()
	running := !e.closed // a watch after Close only says so
	if running {
		e.work.Add(1)
	}
	go func() {
		defer close(events)
		w := watch{store: e, prefix: prefix, next: from + 1, events: events}
		err := w.run(ctx)
		if running {
			e.work.Done() // Close does not wait for the reader
		}
		if err == nil {
			return
		}
		select {
		case events <- Event{Err: err}:
		case <-ctx.Done():
		}
	}()
	return events
}

// watch is one watch.
type watch struct {
	store  *Etcd
	prefix string
	next   Revision // the first one that was not sent
	events chan<- Event
}

// run sends events until ctx ends (nil) or the watch has to.
func (w *watch) run(ctx context.Context) error {
	live, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(w.store.ctx, cancel)()
	wait := retryMin
	for {
		before := w.next
		err := w.once(live)
		switch {
		case ctx.Err() != nil:
			return nil
		case w.store.usable() != nil:
			return w.store.usable()
		case errors.Is(err, ErrCompacted):
			return err
		}
		if w.next > before {
			wait = retryMin
		}
		w.store.opts.Log.Debug("watch begins again", "prefix", w.prefix, "after", w.next-1, "error", err)
		select {
		case <-time.After(wait):
		case <-live.Done():
		}
		wait = min(2*wait, retryMax)
	}
}

// once sends events until etcd ends the watch.
func (w *watch) once(ctx context.Context) error {
	if w.next <= w.store.base {
		return fmt.Errorf("changes after revision %d, from before a restore: %w", w.next-1, ErrCompacted)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	// A member that has no leader ends the watch, and the client takes another.
	responses := w.store.client.Watch(clientv3.WithRequireLeader(ctx), data+w.prefix,
		clientv3.WithPrefix(), clientv3.WithRev(int64(w.next-w.store.base)))
	for resp := range responses {
		switch err := resp.Err(); {
		case errors.Is(err, rpctypes.ErrCompacted):
			return fmt.Errorf("changes after revision %d: %w", w.next-1, ErrCompacted)
		case err != nil:
			return err
		}
		for _, event := range w.group(resp.Events) {
			select {
			case w.events <- event:
				w.next = event.Revision + 1
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
	return ErrUnavailable
}

// group makes one event of all changes of one revision. etcd never splits a
// revision over two responses.
func (w *watch) group(changes []*clientv3.Event) []Event {
	var events []Event
	for _, c := range changes {
		revision := w.store.base + Revision(c.Kv.ModRevision)
		if n := len(events); n == 0 || events[n-1].Revision != revision {
			events = append(events, Event{Revision: revision})
		}
		event := &events[len(events)-1]
		if item := w.store.item(c.Kv); c.Type == clientv3.EventTypeDelete {
			event.Deleted = append(event.Deleted, item.Key)
		} else {
			event.Items = append(event.Items, item)
		}
	}
	for _, event := range events {
		slices.SortFunc(event.Items, func(a, b Item) int { return strings.Compare(a.Key, b.Key) })
		slices.Sort(event.Deleted)
	}
	return events
}
