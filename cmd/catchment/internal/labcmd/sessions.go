package labcmd

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/catchment-bgp/catchment/lab/clab"
	"github.com/catchment-bgp/catchment/lab/router"
)

// awaitSessions waits until all sessions of all routers are established. Those that are not in time are told on stderr, which
// is no error: a topology may want a session that stays down.
func (l *lab) awaitSessions(ctx context.Context, t *clab.Topology, within time.Duration) error {
	bound, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	r, err := l.routersOf(bound, t, l.nodesOf(t))
	if err != nil {
		return err
	}
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for i := range r.list { // each is asked until its sessions are up, and no more
		for {
			behind := r.one(bound, i, established)
			if behind == nil {
				break
			}
			select {
			case <-tick.C:
				continue
			case <-bound.Done():
			}
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return l.say("after %v not all sessions are up: %s: %v; `catchment lab graph %s` shows all", within, r.list[i].Name, behind, t.File)
		}
	}
	return nil
}

// established is an error that names the sessions that are not.
func established(ctx context.Context, _ int, reader router.Reader) error {
	sessions, err := reader.Sessions(ctx)
	if err != nil {
		return err
	}
	var down []string
	for _, s := range sessions {
		if s.State != router.Established {
			down = append(down, fmt.Sprintf("%s is %s", s.Address, s.State))
		}
	}
	if down == nil {
		return nil
	}
	return errors.New(strings.Join(down, ", "))
}
