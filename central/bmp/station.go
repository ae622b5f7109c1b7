package bmp

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"time"
)

const (
	// MessageTime is how long a message may take once it has begun, and how long the
	// Initiation may after the connection.
	MessageTime = 30 * time.Second
	// AgainTime is how long what a view told before stands after it was asked to tell it
	// again: see [Station.Again].
	AgainTime = 60 * time.Second
	// barTime is how long a view that has sent what is malformed is not let in again.
	barTime = 5 * time.Second
	// refusedEvery bounds the lines about strangers in the log.
	refusedEvery = time.Minute
)

// A router that has died says nothing; neither does one without news. Only TCP tells
// them apart.
var alive = net.KeepAliveConfig{Enable: true, Idle: 15 * time.Second, Interval: 5 * time.Second, Count: 3}

// Station takes connections of the views. All methods may be called at the same time.
type Station struct {
	log     *slog.Logger
	slots   []*slot
	by      map[netip.Addr]*slot
	changed chan struct{}

	mu      sync.Mutex
	refused int       // strangers since the last line about them
	told    time.Time // when that was
}

// New returns a station for these views, whose addresses are distinct. log gets one
// line for each session that begins or ends, but of a view that comes and goes all the
// time a few a minute only; nil: none.
func New(views []View, log *slog.Logger) *Station {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	s := &Station{log: log, by: map[netip.Addr]*slot{}, changed: make(chan struct{}, 1)}
	for _, v := range views {
		slot := &slot{view: v, table: newTable(v.RIB, nil)}
		s.slots, s.by[v.Address.Unmap()] = append(s.slots, slot), slot
	}
	return s
}

// Changed has a value after a state has changed since the last one was taken. That time
// alone has passed, which makes tables whole, is not told.
func (s *Station) Changed() <-chan struct{} { return s.changed }

func (s *Station) touch() {
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

// States returns how all views stand, in the order of New. The routes are the caller's;
// their paths and communities must not be changed in place.
func (s *Station) States(now time.Time) []State {
	out := make([]State, len(s.slots))
	for i, slot := range s.slots {
		out[i] = slot.state(now)
	}
	return out
}

// Want says of which prefixes routes are kept, by view; it is all that is wanted, and of
// a view that is not there none is. A view of which more is wanted than before begins
// anew, since what it has told of that was not kept.
func (s *Station) Want(prefixes map[string][]netip.Prefix) {
	for _, slot := range s.slots {
		want := map[netip.Prefix]bool{}
		for _, p := range prefixes[slot.view.Name] {
			want[p.Masked()] = true
		}
		slot.wants(want, time.Now())
	}
}

// Again has a view tell all it has once more, by ending its connection: there is no
// other way to ask in BMP. What it told before stands until that has come, but for
// [AgainTime] at most. It reports whether there is a connection.
func (s *Station) Again(view string, now time.Time) bool {
	for _, slot := range s.slots {
		if slot.view.Name == view {
			return slot.again(now)
		}
	}
	return false
}

// Serve answers on a listener until ctx ends, and closes it and all connections. The
// error is the listener's.
func (s *Station) Serve(ctx context.Context, l net.Listener) error {
	ctx, cancel := context.WithCancel(ctx)
	var work sync.WaitGroup
	defer work.Wait()
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = l.Close() })
	defer stop()
	for {
		conn, err := l.Accept()
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, net.ErrClosed):
			return err
		case err != nil: // such as too many files: it may pass
			s.log.Warn("a connection of a BMP view cannot be taken", "error", err)
			select {
			case <-time.After(time.Second):
			case <-ctx.Done():
			}
			continue
		}
		slot := s.slotOf(conn)
		if slot == nil || !slot.take(conn, time.Now()) {
			_ = conn.Close() // nothing was written
			continue
		}
		work.Go(func() {
			stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
			defer stop()
			s.session(slot, conn)
		})
	}
}

// slotOf returns the view that a connection is of; nil: of none, and that is logged at
// times.
func (s *Station) slotOf(conn net.Conn) *slot {
	at, err := netip.ParseAddrPort(conn.RemoteAddr().String())
	if slot := s.by[at.Addr().Unmap().WithZone("")]; err == nil && slot != nil {
		return slot
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refused++
	if now := time.Now(); now.Sub(s.told) >= refusedEvery {
		s.log.Warn("connections to the BMP station that are of no view under bmp: are closed", "from", conn.RemoteAddr(), "count", s.refused)
		s.told, s.refused = now, 0
	}
	return nil
}

// session reads one connection to its end.
func (s *Station) session(slot *slot, conn net.Conn) {
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetKeepAliveConfig(alive) // else the system's own holds
	}
	began, err := false, error(nil)
	for r := newReader(conn); err == nil; {
		var kind byte
		var body []byte
		if kind, body, err = r.next(); err != nil {
			break
		}
		var changed bool
		if changed, err = slot.apply(conn, kind, body, time.Now()); changed {
			s.touch()
		}
		if !began && err == nil {
			began = true
			s.tell(slot, slog.LevelInfo, "a BMP view is there", "view", slot.view.Name, "router", slot.router(), "from", conn.RemoteAddr())
		}
	}
	_ = conn.Close() // it was only read
	if slot.end(conn, err, time.Now()) {
		s.tell(slot, slog.LevelWarn, "a BMP view is gone", "view", slot.view.Name, "reason", reason(err))
	}
	s.touch()
}

// tell writes a line about a view to the log, unless there were many just now.
func (s *Station) tell(slot *slot, level slog.Level, what string, args ...any) {
	may, last := slot.tells(time.Now())
	if last {
		args = append(args, "more", "not told for a minute: it comes and goes")
	}
	if may {
		s.log.Log(context.Background(), level, what, args...)
	}
}
