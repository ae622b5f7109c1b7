package scenarios

import (
	"fmt"
	"net/netip"
	"testing"
	"time"
)

func TestFamilyWithoutAWayBackIsWithdrawn(t *testing.T) {
	for name, f := range map[string]struct {
		family      string
		lost, other netip.Prefix
		via, detour func(*site) netip.Addr
		hop, otherH func(p peer) netip.Addr
	}{
		"IPv4": {"-4", video4, video6,
			func(s *site) netip.Addr { return s.ToFRR.Peer4 }, func(s *site) netip.Addr { return s.ToBIRD.Peer4 },
			func(p peer) netip.Addr { return p.wire.Edge4 }, func(p peer) netip.Addr { return p.wire.Edge6 }},
		"IPv6": {"-6", video6, video4,
			func(s *site) netip.Addr { return s.ToFRR.Peer6 }, func(s *site) netip.Addr { return s.ToBIRD.Peer6 },
			func(p peer) netip.Addr { return p.wire.Edge6 }, func(p peer) netip.Addr { return p.wire.Edge4 }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const grace = time.Second
			s := newSite(t)
			s.start(s.config())
			s.awaitRoutes(soon, look{})
			before := s.sessions()
			route := func(words ...string) {
				t.Helper()
				s.Edge.MustRun(append([]string{"ip", f.family, "route"}, words...)...)
			}
			via := []string{"default", "via", f.via(s).String()}
			withdrawn := func(what string, since time.Time) {
				t.Helper()
				for _, p := range s.peers() {
					awaitGone(t, soon, p.router, f.lost)
					awaitPath(t, soon, p.router, f.other, look{}.at(f.otherH(p)))
				}
				if took := time.Since(since); took < grace || took > grace+8*time.Second {
					t.Errorf("%s: withdrawn after %v, want the grace of %v", what, took, grace)
				}
			}
			announced := func() {
				t.Helper()
				for _, p := range s.peers() {
					awaitPath(t, soon, p.router, f.lost, look{}.at(f.hop(p)))
				}
			}
			quiet := func(what string) {
				t.Helper()
				counted := s.counts()
				holds(t, 2*grace, what, func() error {
					return differ("counters", []string{fmt.Sprint(s.counts())}, []string{fmt.Sprint(counted)})
				})
			}

			lost := time.Now()
			route(append([]string{"del"}, via...)...)
			withdrawn("no default route", lost)
			route(append([]string{"add"}, via...)...)
			announced()

			counted := s.counts()
			route("replace", "default", "via", f.detour(s).String())
			quiet("a default route by another neighbour")
			route(append([]string{"replace"}, via...)...)
			route(append([]string{"del"}, via...)...)
			route(append([]string{"add"}, via...)...)
			quiet("a default route that was away for less than the grace")
			s.untouched(counted)

			lost = time.Now()
			route("replace", "blackhole", "default")
			withdrawn("a blackhole", lost)
			route(append([]string{"replace"}, via...)...)
			announced()
			s.sameSessions(before)
		})
	}
}
