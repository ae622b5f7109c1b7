package host

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// WayBackOptions tunes WatchWayBack; the zero value is fine.
type WayBackOptions struct {
	// Namespace is where the routes are.
	Namespace Namespace
	// Debounce is how long after a change the table is read: what is deleted
	// and added again meanwhile is not reported. Zero: 10 ms.
	Debounce time.Duration
	// FullView is how many living unicast routes of a family are passed before
	// they count as much as a default route does. Zero: 100,000.
	FullView int
	// Log gets a line when the table cannot be read. Nil: none is written.
	Log *slog.Logger
}

const (
	// recheck is how often the table is read although nothing was notified, and
	// recheckShare the least ratio of that to the time that reading takes: the
	// kernel deletes some routes without a word.
	recheck      = 5 * time.Second
	recheckShare = 500
	// gapShare is the ratio of the time between two readings to the time that
	// reading takes, so that a full table in motion costs little.
	gapShare = 4
)

// WatchWayBack calls report with the state of the routing table at once, then
// after each change of that state, until ctx ends (nil) or the watch cannot
// start (an error). report is called by the goroutine that called WatchWayBack
// and should return soon; it is never called twice with the same value.
//
// A family has a way back if its wide routes lead everywhere, as the kernel
// would choose among them: 0.0.0.0/0, or 0.0.0.0/1 and 128.0.0.0/1; ::/0, ::/1
// or 2000::/3. Or if it has more than FullView living unicast routes, which is
// taken for a full view. Routes of the types blackhole, unreachable, prohibit,
// throw and local lead nowhere, nor do next hops that are dead or whose link is
// down, nor next hops on lo; of several next hops one is enough. A route that
// drops packets hides those with a higher metric, as in the kernel.
//
// The tables main and default are searched. Routes with a TOS or a source prefix
// are not for all clients and do not count; neither do other tables (VRFs,
// `ip rule`): a node that answers by those says `way_back: {require: none}`.
func WatchWayBack(ctx context.Context, o WayBackOptions, report func(WayBack)) error {
	w := &wayWatch{debounce: o.Debounce, fullView: o.FullView, log: logger(o.Log)}
	if w.debounce == 0 {
		w.debounce = quiet
	}
	if w.fullView == 0 {
		w.fullView = 100_000
	}
	events, err := openSocket(o.Namespace, wayGroups...)
	if err != nil {
		return fmt.Errorf("watch the way back: %w", err)
	}
	dirty := notifications(events, w.log, w.matters)
	defer drain(dirty)
	defer events.Close()
	if w.socket, err = openSocket(o.Namespace); err != nil {
		return fmt.Errorf("watch the way back: %w", err)
	}
	defer w.socket.Close()
	return w.run(ctx, dirty, report)
}

// wayGroups are the notifications after which a route may live no longer: not
// all that the kernel deletes with a link, an address or a next hop object is
// notified as a route.
var wayGroups = []uint{
	unix.RTNLGRP_LINK, unix.RTNLGRP_IPV4_IFADDR, unix.RTNLGRP_IPV6_IFADDR,
	unix.RTNLGRP_IPV4_ROUTE, unix.RTNLGRP_IPV6_ROUTE, unix.RTNLGRP_NEXTHOP,
}

type wayWatch struct {
	socket   *socket
	log      *slog.Logger
	debounce time.Duration
	fullView int
	// changes counts the notifications of narrow routes of each family, and
	// limit is the count up to which their number cannot have passed fullView.
	changes, limit [2]atomic.Int64
}

func (w *wayWatch) run(ctx context.Context, dirty <-chan struct{}, report func(WayBack)) error {
	state, took, err := w.read()
	if err != nil {
		return fmt.Errorf("watch the way back: %w", err)
	}
	report(state)
	for {
		if !w.await(ctx, dirty, took) {
			return nil
		}
		var now WayBack
		if now, took, err = w.read(); err != nil {
			if ctx.Err() == nil {
				w.log.Error("the routing table cannot be read; the way back is taken to be as it was", "error", err)
			}
			continue
		}
		if now != state {
			state = now
			report(state)
		}
	}
}

// await returns when the table should be read again; false: ctx has ended.
func (w *wayWatch) await(ctx context.Context, dirty <-chan struct{}, took time.Duration) bool {
	again := time.NewTimer(max(recheck, recheckShare*took))
	defer again.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-again.C:
		return true
	case <-dirty:
		return wait(ctx, max(w.debounce, gapShare*took))
	}
}

// matters tells whether a notification can change the decision. Of narrow
// routes only their number counts.
func (w *wayWatch) matters(m message) bool {
	if m.kind != unix.RTM_NEWROUTE && m.kind != unix.RTM_DELROUTE {
		return true
	}
	r, ok := parseRoute(m.body)
	if !ok || !r.searched() {
		return false
	}
	c, i := coversOf(r.dst.Addr())
	return c.holds(r.dst) || w.changes[i].Add(1) > w.limit[i].Load()
}

func coversOf(a netip.Addr) (covers, int) {
	if a.Is4() {
		return coversIPv4, 0
	}
	return coversIPv6, 1
}

// read takes stock of both families and tells how long that took.
func (w *wayWatch) read() (state WayBack, took time.Duration, err error) {
	start := time.Now()
	v4, err := w.table(unix.AF_INET, 0, coversIPv4)
	if err != nil {
		return state, 0, err
	}
	v6, err := w.table(unix.AF_INET6, 1, coversIPv6)
	if err != nil {
		return state, 0, err
	}
	state.IPv4 = wayBack(v4, coversIPv4, w.fullView)
	state.IPv6 = wayBack(v6, coversIPv6, w.fullView)
	return state, time.Since(start), nil
}

// table reads one family.
func (w *wayWatch) table(family uint8, i int, c covers) (t table, err error) {
	before := w.changes[i].Load()
	err = retryInterrupted(func() error {
		t = table{}
		head := &nl.RtMsg{RtMsg: unix.RtMsg{Family: family}}
		return w.socket.dump(unix.RTM_GETROUTE, head, func(body []byte) {
			// A kernel without the family answers with all families.
			if len(body) > 0 && body[0] == family {
				if r, ok := parseRoute(body); ok {
					t.add(r, c)
				}
			}
		})
	})
	if err != nil {
		return table{}, fmt.Errorf("list routes: %w", err)
	}
	distance := t.count - w.fullView
	w.limit[i].Store(before + int64(max(distance, -distance)))
	return t, nil
}
