package scenarios

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/catchment-bgp/catchment/lab/netlab"
)

// only4 is the service video with its IPv4 prefix alone, so that one change is one UPDATE.
func only4(fields ...string) string {
	return video(append([]string{"prefixes: [" + video4.String() + "]", "vips: [" + vip4 + "/32]"}, fields...)...)
}

// plus is a router's count after n more UPDATEs with one announcement each and no withdrawal.
func plus(c netlab.Counts, n uint64) netlab.Counts {
	add := func(v *uint64) *uint64 {
		if v == nil {
			return nil
		}
		return new(*v + n)
	}
	return netlab.Counts{Updates: add(c.Updates), Announced: add(c.Announced), Withdrawn: c.Withdrawn, Refreshes: c.Refreshes}
}

func TestU02U16PrependIsChangedAtOneNeighborByOneUpdate(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	w := s.newWitness()
	config := func(frr, bird, witness int) configuration {
		prepend := func(n int) string { return fmt.Sprintf("prepend: %d", n) }
		return configuration{Services: []string{only4()}, Neighbors: []string{
			s.neighborFRR(prepend(frr)), s.neighborBIRD(prepend(bird)), w.neighbor(prepend(witness)),
		}}
	}
	s.start(config(0, 0, 0))
	for _, p := range s.peers() {
		awaitPath(t, soon, p.router, video4, look{}.at(p.wire.Edge4))
	}
	w.await(soon, 1)
	before := s.sessions()

	for i, p := range s.peers() {
		other := s.peers()[1-i]
		for n := 1; n <= 3; n++ { // U16: 0 to 3, read at the router
			was, others, seen := count(t, p), countsAt(t, other), len(w.await(soon, 1))
			if p.name == "frr" {
				s.edge.reload(config(n, 0, 0).String())
			} else {
				s.edge.reload(config(0, n, 0).String())
			}
			awaitPath(t, soon, p.router, video4, look{prepend: n}.at(p.wire.Edge4))
			if now, want := countsAt(t, p), plus(was, 1); now != want.String() {
				t.Errorf("prepend %d at %s: counted %s, want %s", n, p.name, now, want)
			}
			if now := countsAt(t, other); now != others { // U2
				t.Errorf("prepend %d at %s: %s counted %s, then %s", n, p.name, other.name, others, now)
			}
			w.count(seen)
		}
		s.edge.reload(config(0, 0, 0).String())
		awaitPath(t, soon, p.router, video4, look{}.at(p.wire.Edge4))
	}

	counted, seen := s.counts(), len(w.await(soon, 1))
	for n := 1; n <= 3; n++ {
		s.edge.reload(config(0, 0, n).String())
		events := w.await(soon, seen+n)
		u := events[len(events)-1].update
		if u == nil || len(u.Withdrawn) > 0 || !slices.Equal(u.ASPath(), slices.Repeat([]uint32{edgeASN}, n+1)) {
			t.Errorf("prepend %d at the witness: %s", n, events[len(events)-1])
		}
	}
	w.count(seen + 3)
	s.untouched(counted)
	s.sameSessions(before) // U14
}

func count(t testing.TB, p peer) netlab.Counts {
	t.Helper()
	c, err := p.router.Counts(p.wire.Edge4)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestU10OneNeighborIsDrainedAlone(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.start(s.config())
	s.awaitRoutes(soon, look{})
	before := s.sessions()
	frr, bird := s.peers()[0], s.peers()[1]
	untouched := countsAt(t, frr)

	s.edge.must("drain", "video", "--neighbor", "bird", "--reason", "bird's upstream is sick")
	s.awaitRoutesAt(bird, soon, look{communities: []string{"65535:0"}}) // U10
	awaitGone(t, soon, bird.router, video4)
	awaitGone(t, soon, bird.router, video6)
	s.edge.must("auto", "video", "--reason", "it is well")
	s.awaitRoutesAt(bird, soon, look{})
	if now := countsAt(t, frr); now != untouched {
		t.Errorf("frr got UPDATEs: %s, then %s", untouched, now)
	}
	s.sameSessions(before)
}

func TestOneNeighborIsWithdrawnAlone(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.start(s.config())
	s.awaitRoutes(soon, look{})
	before := s.sessions()
	frr, bird := s.peers()[0], s.peers()[1]
	untouched := countsAt(t, bird)

	s.edge.must("withdraw", "video", "--neighbor", "frr", "--reason", "loss at frr", "--for", "2s")
	awaitGone(t, time.Second, frr.router, video4)
	awaitGone(t, time.Second, frr.router, video6)
	s.awaitRoutesAt(frr, soon, look{}) // the override ends by itself
	if now := countsAt(t, bird); now != untouched {
		t.Errorf("bird got UPDATEs: %s, then %s", untouched, now)
	}
	s.sameSessions(before)
}

func TestU15AllNeighborsListedAreTheDefault(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	listed := s.config()
	listed.Services = []string{video("neighbors: [bird, frr]")}
	s.start(listed)
	s.awaitRoutes(soon, look{}) // U15
	counted := s.counts()
	s.edge.reload(s.config().String())
	s.edge.reload(listed.String())
	holds(t, time.Second, "quiet after reloads that mean the same", func() error {
		return differ("counters", []string{fmt.Sprint(s.counts())}, []string{fmt.Sprint(counted)})
	})
	one := s.config()
	one.Services = []string{video("neighbors: [bird]")}
	s.edge.reload(one.String())
	awaitGone(t, soon, s.frr, video4)
	awaitGone(t, soon, s.frr, video6)
	s.awaitRoutesAt(s.peers()[1], soon, look{})
}

func TestU05ParallelSessionsBothGetTheWithdrawal(t *testing.T) {
	t.Parallel()
	u := netlab.TwoUpstreams(t, netlab.FRRouting, netlab.NginxServer)
	u.Lab.Link(u.Edge, u.FRR, []string{"10.77.4.1/30"}, []string{"10.77.4.2/30"})
	locals := []netip.Addr{u.ToFRR.Edge4, netip.MustParseAddr("10.77.4.1")}
	var frrSide []netlab.FRRNeighbor
	config := configuration{Services: []string{only4()}}
	for i, local := range locals {
		frrSide = append(frrSide, netlab.FRRNeighbor{Address: local, ASN: edgeASN, Password: frrPassword})
		config.Neighbors = append(config.Neighbors, mapping(fmt.Sprintf("name: frr%d", i+1), "address: "+local.Next().String(),
			fmt.Sprintf("asn: %d", frrASN), "kind: transit", "local_address: "+local.String(), "password: "+frrPassword))
	}
	frr := u.FRR.FRR(netlab.FRRConfig{ASN: frrASN, RouterID: "10.77.1.2", Neighbors: frrSide}.String())
	nginx := u.Edge.Nginx("0.0.0.0:8080")
	startEdge(t, u.Edge, config.String())
	both := func() error {
		paths, err := frr.Routes(video4)
		var from []string
		for _, p := range paths {
			from = append(from, p.From.String())
		}
		return errors.Join(err, differ("paths from", sorted(from), []string{"10.77.1.1", "10.77.4.1"}))
	}
	netlab.Eventually(t, sessionWait, "both paths", both)
	before := []netlab.Session{awaitSession(t, frr, locals[0]), awaitSession(t, frr, locals[1])}

	nginx.Kill()
	awaitGone(t, soon, frr, video4) // U5: of either session
	if err := nginx.Start(); err != nil {
		t.Fatal(err)
	}
	netlab.Eventually(t, soon, "both paths again", both)
	for i, local := range locals {
		sameSession(t, frr, local, before[i])
	}
}

func TestEachServiceHasItsOwnNeighborsAndFate(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	c := s.config()
	const dns = "203.0.113.0/24"
	c.Services = append(c.Services, mapping("name: dns", "prefixes: ["+dns+"]", "vips: [203.0.113.53/32]", "neighbors: [frr]",
		"checks: [{name: tcp, tcp: {address: '203.0.113.53:53'}}]"))
	s.start(c)
	s.awaitRoutes(soon, look{})
	listener, err := s.Edge.Listen("tcp", "203.0.113.53:53")
	if err != nil {
		t.Fatal(err)
	}
	prefix := netip.MustParsePrefix(dns)
	awaitPath(t, soon, s.frr, prefix, look{}.at(s.ToFRR.Edge4))
	if paths, err := s.bird.Routes(prefix); err != nil || len(paths) > 0 {
		t.Errorf("bird has what is not for it: %+v, %v", paths, err)
	}
	bird := countsAt(t, s.peers()[1])
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	awaitGone(t, soon, s.frr, prefix)
	s.awaitRoutes(soon, look{}) // the other service stays
	if now := countsAt(t, s.peers()[1]); now != bird {
		t.Errorf("bird got UPDATEs: %s, then %s", bird, now)
	}
	if why := s.edge.must("why", "dns"); !strings.Contains(why, "refused") {
		t.Errorf("why dns does not tell the reason:\n%s", why)
	}
}
