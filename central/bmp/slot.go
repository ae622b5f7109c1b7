package bmp

import (
	"errors"
	"maps"
	"net"
	"net/netip"
	"sync"
	"time"
)

// slot is a view and its connection, if it has one.
type slot struct {
	view View

	mu     sync.Mutex
	want   map[netip.Prefix]bool
	conn   net.Conn // the newest; nil: none
	table  *table
	since  time.Time // when the session began, or ended
	why    string
	barred time.Time // until when it is not let in
	// kept is what a view that was asked again told before, until a moment.
	kept  *State
	until time.Time
	// lines were written to the log since minute began.
	lines  int
	minute time.Time
}

// mostLines is how many lines of one view the log takes in a minute.
const mostLines = 20

// tells counts a line for the log, and reports whether it may be written and whether it is the last one for now.
func (s *slot) tells(now time.Time) (may, last bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if d := now.Sub(s.minute); d < 0 || d >= time.Minute {
		s.minute, s.lines = now, 0
	}
	s.lines++
	return s.lines <= mostLines, s.lines == mostLines
}

// take makes a connection the view's, in the place of an older one, and reports whether
// it may stay.
func (s *slot) take(conn net.Conn, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now.Before(s.barred) {
		return false
	}
	if s.conn != nil {
		_ = s.conn.Close() // its session finds that it is not the view's any more
	}
	s.conn, s.table, s.since = conn, newTable(s.view.RIB, s.want), now
	return true
}

// errReplaced is that of a connection that is not the newest.
var errReplaced = errors.New("the view has another connection, which is newer")

// apply takes a message in, if it came over the newest connection.
func (s *slot) apply(conn net.Conn, kind byte, body []byte, now time.Time) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn != conn {
		return false, errReplaced
	}
	changed, err := s.table.apply(kind, body, now)
	if err != nil && !errors.Is(err, errEnded) {
		s.barred = now.Add(barTime)
	}
	return changed, err
}

func (s *slot) router() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.table.router
}

// end says that a connection is over, and reports whether it was the view's until now.
func (s *slot) end(conn net.Conn, err error, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn != conn {
		return false
	}
	var malformed *wireError
	if errors.As(err, &malformed) {
		s.barred = now.Add(barTime)
	}
	s.kept = nil
	s.leave(reason(err), now)
	return true
}

// leave closes the connection and forgets what came over it; under the lock.
func (s *slot) leave(why string, now time.Time) {
	_ = s.conn.Close() // it was only read
	s.conn, s.table, s.since, s.why = nil, newTable(s.view.RIB, s.want), now, why
}

// wants replaces what is wanted.
func (s *slot) wants(want map[netip.Prefix]bool, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	more := false
	for p := range want {
		more = more || !s.want[p]
	}
	if !more && len(want) == len(s.want) {
		return
	}
	s.want, s.table.want = want, want
	switch {
	case !more:
		s.table.forget()
		s.kept = nil // it may have routes that are not wanted
	case s.conn != nil:
		s.kept = nil
		s.leave("other prefixes are wanted than before", now)
	}
}

// forget drops what is not wanted any more.
func (t *table) forget() {
	t.routes = 0
	for _, p := range t.peers {
		maps.DeleteFunc(p.routes, func(k routeKey, r Route) bool {
			if t.want[k.prefix] {
				return false
			}
			t.octets -= weight(r)
			return true
		})
		t.routes += len(p.routes)
	}
}

// again ends the connection, and keeps what came over it.
func (s *slot) again(now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn == nil || s.kept != nil {
		return false
	}
	kept := s.current(now)
	s.kept, s.until = &kept, now.Add(AgainTime)
	s.leave("it was asked to tell all once more, and has not come back", now)
	return true
}

// state is how the view stands.
func (s *slot) state(now time.Time) State {
	s.mu.Lock()
	defer s.mu.Unlock()
	current := s.current(now)
	if s.kept == nil {
		return current
	}
	whole := current.Up && current.Since.After(s.kept.Since)
	for _, f := range Families {
		whole = whole && (current.Done[f] || !s.kept.Done[f])
	}
	if whole || !now.Before(s.until) {
		s.kept = nil
		return current
	}
	return *s.kept
}

// current is how the connection stands; under the lock.
func (s *slot) current(now time.Time) State {
	st := s.table.state(now)
	st.Name, st.Since, st.Why = s.view.Name, s.since, s.why
	if st.Up = s.conn != nil && s.table.began; st.Up {
		st.Why = ""
	}
	return st
}
