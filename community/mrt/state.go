package mrt

import (
	"cmp"
	"maps"
	"net/netip"
	"slices"
	"time"
)

// session is a peer of the collector, or with local what is sent to it.
type session struct {
	asn   uint32
	addr  netip.Addr
	local bool
}

// state is what was last said of one prefix, by session and path identifier.
type state struct {
	sessions map[session]*said
	cost     int
}

// said is what was last said in one session.
type said struct {
	downs  int       // how often the session went down
	downAt time.Time // the last time
	routes map[uint32]last
}

// last is the last of one path identifier.
type last struct {
	entry Entry
	cost  int
	downs int // of the session when it was said
}

// set takes in e, whose attributes have size octets.
func (s *state) set(e Entry, size int) error {
	key := session{e.PeerASN, e.Peer, e.Local}
	in := s.sessions[key]
	if in == nil {
		if s.sessions == nil {
			s.sessions = map[session]*said{}
		}
		in = &said{routes: map[uint32]last{}}
		s.sessions[key] = in
	}
	now := last{entry: e, cost: routeCost, downs: in.downs}
	if !e.Withdrawn {
		now.cost = max(size, routeCost)
	}
	s.cost += now.cost - in.routes[e.PathID].cost
	in.routes[e.PathID] = now
	if s.cost > MaxRoutes {
		return errFull
	}
	return nil
}

// down takes in that the session of e went down: its routes both ways are gone (RFC 4271,
// section 8.2.2).
func (s *state) down(e Entry) {
	for _, local := range []bool{false, true} {
		if in := s.sessions[session{e.PeerASN, e.Peer, local}]; in != nil {
			in.downs++
			in.downAt = e.Time
		}
	}
}

// each yields what was last of each session and path identifier.
func (s *state) each(yield func(Entry) bool) {
	order := func(a, b session) int {
		c := cmp.Or(cmp.Compare(a.asn, b.asn), a.addr.Compare(b.addr))
		if c == 0 && a.local != b.local {
			if a.local {
				return 1
			}
			return -1
		}
		return c
	}
	for _, key := range slices.SortedFunc(maps.Keys(s.sessions), order) {
		in := s.sessions[key]
		for _, id := range slices.Sorted(maps.Keys(in.routes)) {
			l := in.routes[id]
			if e := l.entry; l.downs < in.downs && !e.Withdrawn {
				l.entry = Entry{Time: in.downAt, PeerASN: e.PeerASN, Peer: e.Peer, Local: e.Local, PathID: id, Prefix: e.Prefix, Withdrawn: true}
			}
			if !yield(l.entry) {
				return
			}
		}
	}
}
