package scenarios

import (
	"fmt"
	"strings"
	"testing"

	"github.com/catchment-bgp/catchment/lab/netlab"
)

func TestInternalNeighborsAreSteeredByLocalPreference(t *testing.T) {
	t.Parallel()
	s := newSiteOf(t, edgeASN, edgeASN)
	c := s.config()
	c.Neighbors = []string{s.neighborFRR("local_pref: 200", "med: 7"), s.neighborBIRD()}
	c.Services = []string{video("drain: 2s", `communities: ["57629:101"]`)}
	s.start(c)
	frr, bird := s.peers()[0], s.peers()[1]
	as := func(localPref uint32, med *uint32, communities ...string) look {
		return look{internal: true, localPref: &localPref, med: med, communities: communities}
	}
	s.awaitRoutesAt(frr, soon, as(200, new(uint32(7)), "57629:101"))
	s.awaitRoutesAt(bird, soon, as(100, nil, "57629:101")) // RFC 4271, section 5.1.5: it is always there
	before := s.sessions()

	s.edge.must("drain", "video", "--reason", "new kernel")
	s.awaitRoutesAt(frr, soon, as(0, new(uint32(7)), "57629:101", "65535:0"))
	s.awaitRoutesAt(bird, soon, as(0, nil, "57629:101", "65535:0"))
	s.awaitNone(soon)
	s.edge.must("auto", "video", "--reason", "new kernel runs")
	s.awaitRoutesAt(frr, soon, as(200, new(uint32(7)), "57629:101"))
	s.sameSessions(before)

	c.Neighbors[0] = s.neighborFRR("local_pref: 200", "prepend: 1")
	path := hostFile(t, "edge.yaml", c.String())
	a := run(t, netlab.Binary(t, "./cmd/catchment-edge"), "--config", path, "--check")
	if a.code != 2 || !strings.Contains(a.stderr, "neighbors[0].prepend: prepending over iBGP") {
		t.Errorf("a prepend over iBGP: exit code %d, %s", a.code, a.stderr)
	}
	counted := s.counts()
	s.edge.refuse(c.String(), "neighbors[0].prepend: prepending over iBGP")
	s.untouched(counted)
}

func TestInternalNeighborIsSteeredByItsLadder(t *testing.T) {
	t.Parallel()
	s := newSiteOf(t, edgeASN, birdASN)
	shared := startOrigin(t, s.Edge, "127.0.0.1:9000")
	c := s.config()
	c.Neighbors[0] = s.neighborFRR("local_pref: 200", "ladder: [{local_pref: 50}]")
	c.Services = []string{video(fmt.Sprintf("checks: [%s, {name: origin, http: {url: 'http://127.0.0.1:9000/'}, scope: soft, interval: 500ms, timeout: 400ms}]", webCheck()))}
	s.start(c)
	s.awaitRoutesAt(s.peers()[0], soon, look{internal: true, localPref: new(uint32(200))})
	shared.broken.Store(true)
	s.awaitRoutesAt(s.peers()[0], soon, look{internal: true, localPref: new(uint32(50))})
	s.awaitRoutesAt(s.peers()[1], soon, look{prepend: 3})
}
