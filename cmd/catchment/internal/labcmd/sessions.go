package labcmd

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/catchment-bgp/catchment/lab/clab"
	"github.com/catchment-bgp/catchment/lab/router"
	"github.com/catchment-bgp/catchment/lab/runner"
)

// awaitSessions waits until all sessions of all routers are established, but for those of nodes that keep their daemon away. Those that are not in time are told on stderr, which
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
	names, addresses := heldBack(t)
	for i := range r.list { // each is asked until its sessions are up, and no more
		var before error
		for !slices.Contains(names, r.list[i].Name) {
			behind := r.one(bound, i, func(ctx context.Context, _ int, reader router.Reader) error {
				return established(ctx, reader, addresses)
			})
			if behind == nil {
				break
			}
			if bound.Err() != nil && before != nil {
				behind = before // the last question was cut short
			}
			before = behind
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

// established is an error that names the sessions that are not, but for those with addresses that are held back.
func established(ctx context.Context, reader router.Reader, held []netip.Addr) error {
	sessions, err := reader.Sessions(ctx)
	if err != nil {
		return err
	}
	var down []string
	for _, s := range sessions {
		if s.State != router.Established && !slices.Contains(held, s.Address) {
			down = append(down, fmt.Sprintf("%s is %s", s.Address, s.State))
		}
	}
	if down == nil {
		return nil
	}
	return errors.New(strings.Join(down, ", "))
}

// heldBack are the addresses of the nodes that keep their daemon away, as one does that exec: has made the file
// /run/lab/hold in, and their names.
func heldBack(t *clab.Topology) (names []string, addresses []netip.Addr) {
	for _, n := range runner.List(t) {
		if n.State == runner.Stopped {
			names = append(names, n.Name)
		}
	}
	for _, n := range t.Nodes {
		if slices.Contains(names, n.Name) {
			addresses = append(addresses, planned(n)...)
		}
	}
	return names, addresses
}
