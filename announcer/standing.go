package announcer

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/catchment-bgp/catchment/announcer/guard"
	"github.com/catchment-bgp/catchment/announcer/host"
)

// agreed is what was negotiated, as far as it decides what can be announced.
type agreed struct{ ipv4, ipv6, extendedNextHop bool }

// carries says whether a route can be told to the neighbour. A family that it
// does not take is no fault of the route: it just never stands there.
func (a *agreed) carries(r Route) bool {
	switch {
	case r.Prefix.Addr().Is6():
		return a == nil || a.ipv6
	case r.NextHop.Is6(): // RFC 8950, section 4: only if negotiated
		return a != nil && a.ipv4 && a.extendedNextHop
	}
	return a == nil || a.ipv4
}

// possible is what is wanted and can be told to the neighbour.
func (s *session) possible() map[netip.Prefix]Route {
	s.mu.Lock()
	defer s.mu.Unlock()
	want := maps.Clone(s.want)
	maps.DeleteFunc(want, func(_ netip.Prefix, r Route) bool { return !s.agreed.carries(r) })
	return want
}

// sent notes what an UPDATE of ours, now written to the socket, told the neighbour.
func (s *session) sent(update []byte) {
	told, err := readSent(update, s.neighbor.Kind == Internal)
	if err != nil {
		s.log.Error("an UPDATE of ours cannot be read back", "error", err)
		return
	}
	s.mu.Lock()
	for _, p := range told.withdrawn {
		delete(s.standing, p)
		s.mark(p)
	}
	for _, r := range told.announced {
		s.standing[r.Prefix] = r
		s.mark(r.Prefix)
	}
	s.moved = time.Now()
	s.clock(s.moved)
	s.mu.Unlock()
	s.owner.poke()
}

// stuck says whether a withdrawal should have been written by now. While others are
// written it may only have to wait for them. s.mu is held.
func (s *session) stuck(now time.Time) bool {
	if s.behind.IsZero() {
		return false
	}
	waits := now.Sub(s.behind)
	return waits >= withdrawTime && now.Sub(s.moved) >= withdrawTime || waits >= longestWithdraw
}

// mark keeps unwanted up to date for one prefix. s.mu is held.
func (s *session) mark(p netip.Prefix) {
	_, stands := s.standing[p]
	if _, wanted := s.want[p]; stands && !wanted {
		s.unwanted[p] = struct{}{}
	} else {
		delete(s.unwanted, p)
	}
}

// clock keeps behind up to date. s.mu is held.
func (s *session) clock(now time.Time) {
	switch {
	case len(s.unwanted) == 0:
		s.behind = time.Time{}
	case s.behind.IsZero():
		s.behind = now
	}
}

// event follows the guard. When a session has ended nothing stands there any
// more, and GoBGP's peer is made anew: it would stay idle for seconds otherwise.
func (s *session) event(e guard.Event) {
	if e.State == guard.Established {
		s.agree(s.guard.Status())
	}
	if e.Previous >= guard.OpenConfirm && e.State < e.Previous {
		s.mu.Lock()
		clear(s.standing)
		clear(s.unwanted)
		s.behind, s.agreed = time.Time{}, nil
		s.mu.Unlock()
		s.poke()
		if s.takesDefault() {
			gone := host.FamilyChange{Change: host.Withdrawn}
			s.owner.byDefault(s.neighbor.Name, host.DefaultChange{IPv4: gone, IPv6: gone})
		}
		s.renew()
	}
	s.owner.poke()
}

func (s *session) takesDefault() bool { return s.owner.byDefault != nil && s.neighbor.AcceptDefault }

// agree takes over what was negotiated with the session that just came up.
func (s *session) agree(st guard.Status) {
	a := agreed{slices.Contains(st.Families, guard.IPv4), slices.Contains(st.Families, guard.IPv6), st.ExtendedNextHop}
	s.params = host.DefaultParams{IPv4: a.ipv4, IPv6: a.ipv6, ExtendedNextHop: a.extendedNextHop,
		TwoOctetAS: !st.FourOctet, LocalASN: s.local.ASN}
	s.mu.Lock()
	s.agreed, s.left = &a, ""
	s.mu.Unlock()
	s.tellLeft()
	s.poke()
}

// tellLeft logs which wanted routes the session cannot carry, when those are
// others than it told of last.
func (s *session) tellLeft() {
	s.mu.Lock()
	var left []string
	for p, r := range s.want {
		if !s.agreed.carries(r) {
			left = append(left, p.String())
		}
	}
	slices.Sort(left)
	known := s.agreed == nil || strings.Join(left, " ") == s.left
	if !known {
		s.left = strings.Join(left, " ")
	}
	s.mu.Unlock()
	if !known && left != nil {
		st := s.guard.Status()
		s.log.Warn("the neighbour does not take routes of this form or family", "routes", left,
			"carries", fmt.Sprint(st.Families), "extended_next_hop", st.ExtendedNextHop)
	}
}

// received looks for the default route in an inbound UPDATE.
func (s *session) received(body []byte) {
	change, ok := host.ParseDefault(body, s.params)
	if ok && change != (host.DefaultChange{}) {
		s.owner.byDefault(s.neighbor.Name, change)
	}
}

func (s *session) renew() {
	err := within(callTime, "renew a session", func() error {
		return errors.Join(s.speaker.part(), s.speaker.join(s.local.ASN, s.neighbor.ASN, s.neighbor.IPv4, s.neighbor.IPv6))
	})
	if err != nil {
		s.log.Error("the embedded BGP server", "error", err)
	}
}

func (s *session) status() Status {
	st := Status{Status: s.guard.Status()}
	s.mu.Lock()
	defer s.mu.Unlock()
	st.Standing = slices.Collect(maps.Values(s.standing))
	st.Wanted = slices.Collect(maps.Values(s.want))
	st.Fault = s.fault
	sortRoutes(st.Standing)
	sortRoutes(st.Wanted)
	if s.agreed != nil {
		for _, r := range st.Wanted {
			if !s.agreed.carries(r) {
				st.NotCarried = append(st.NotCarried, r.Prefix)
			}
		}
	}
	st.Settled = s.settled()
	return st
}

// settled says whether just what is wanted and can be carried stands. s.mu is held.
func (s *session) settled() bool {
	if len(s.unwanted) > 0 {
		return false
	}
	possible := 0
	for p, r := range s.want {
		if !s.agreed.carries(r) {
			continue
		}
		possible++
		if stands, ok := s.standing[p]; !ok || !s.onWire(r).Equal(stands) {
			return false
		}
	}
	return possible == len(s.standing)
}

// unsettled says whether the session is up and has something left to tell.
func (s *session) unsettled() bool {
	st := s.guard.Status()
	s.mu.Lock()
	defer s.mu.Unlock()
	return st.State == guard.Established && !s.settled()
}

// onWire is how a wanted route looks once it was sent: what BGP or GoBGP adds.
func (s *session) onWire(r Route) Route {
	if s.neighbor.Kind == Internal && !r.LocalPref.Set {
		r.LocalPref = Metric{100, true} // RFC 4271, section 5.1.5: iBGP always carries one
	}
	return r
}
