package scenarios

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	edgev1 "github.com/catchment-bgp/catchment/api/edge/v1"
	"github.com/catchment-bgp/catchment/lab/netlab"
	"github.com/catchment-bgp/catchment/lab/netlab/routegen"
)

// A router that hangs (SIGSTOP) is gone after the hold time; the others do not notice.
func TestRouterThatHangsDoesNotHoldUpTheOthers(t *testing.T) {
	t.Parallel()
	h := newHub(t, netlab.FRRouting, netlab.BIRDRouting)
	f, b := h.spoke("frr"), h.spoke("bird")
	frr := f.node.FRR(netlab.FRRConfig{ASN: frrASN, RouterID: f.Peer4.String(), Neighbors: []netlab.FRRNeighbor{
		{Address: f.Edge4, ASN: edgeASN},
	}}.String())
	bird := b.node.BIRD(netlab.BIRDConfig{ASN: birdASN, RouterID: b.Peer4.String(), Neighbors: []netlab.BIRDNeighbor{
		{Address: b.Edge4, ASN: edgeASN},
	}}.String())
	d := h.start(always(f.neighbor(frrASN), b.neighbor(birdASN)))
	api := d.api()
	awaitPath(t, sessionWait, frr, video4, nil)
	awaitPath(t, sessionWait, bird, video4, nil)
	session := awaitSession(t, frr, f.Edge4)
	if err := bird.Proc().Signal(unix.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	stopped := time.Now()
	d.must("withdraw", "video", "--reason", "while a router hangs")
	awaitGone(t, soon, frr, video4)
	if took := time.Since(stopped); took > 5*time.Second { // the hold time is 9 s
		t.Errorf("the withdrawal took %v to the router that does not hang", took)
	}
	d.must("auto", "video", "--reason", "while a router hangs")
	awaitPath(t, soon, frr, video4, nil)
	awaitStatus(t, api, b.name, 2*soon, func(n *edgev1.Neighbor) error {
		if n.GetLastError() != "neighbour was silent for the whole hold time" {
			return errors.New("no word of the hold time")
		}
		return nil
	})
	t.Logf("the router that hangs was given up after %v", time.Since(stopped).Round(time.Millisecond))
	if err := bird.Proc().Signal(unix.SIGCONT); err != nil {
		t.Fatal(err)
	}
	awaitSession(t, bird, b.Edge4)
	awaitPath(t, 2*sessionWait, bird, video4, nil)
	sameSession(t, frr, f.Edge4, session)
}

// A neighbour that reads no more, but sends KEEPALIVEs, would keep what was withdrawn for ever: TCP takes the withdrawal
// and does not deliver it. After 5 s the session is given up, which withdraws everything.
func TestWithdrawalThatIsStuckEndsTheSession(t *testing.T) {
	t.Parallel()
	const services, each = 4, 1000
	h := newHub(t, netlab.BIRDRouting)
	deaf, b := h.spoke("deaf"), h.spoke("bird")
	bird := b.node.BIRD(netlab.BIRDConfig{ASN: birdASN, RouterID: b.Peer4.String(), Neighbors: []netlab.BIRDNeighbor{
		{Address: b.Edge4, ASN: edgeASN},
	}}.String())
	// The kernels' buffers would take much more than we ever send.
	h.edge.MustRun("sysctl", "-qw", "net.ipv4.tcp_wmem=4096 4096 4096")
	deaf.node.MustRun("sysctl", "-qw", "net.ipv4.tcp_rmem=4096 4096 4096")
	l := deaf.listen(routegen.Config{HoldTime: 9 * time.Second})
	c := always(deaf.neighbor(rawASN), b.neighbor(birdASN))
	c.Services = nil
	for i := range services {
		var prefixes []string
		for j := range each {
			prefixes = append(prefixes, manyPrefix(i, j).String())
		}
		c.Services = append(c.Services, mapping(fmt.Sprintf("name: s%d", i), "prefixes: ["+strings.Join(prefixes, ", ")+"]"))
	}
	d := h.start(c)
	speaker := deaf.accept(l)
	last := manyPrefix(services-1, each-1)
	hears := newEar(t, speaker)
	netlab.Eventually(t, sessionWait, "all routes at the raw speaker", func() error {
		n := 0
		for _, u := range hears.all() {
			n += len(u.Announced)
		}
		if n < services*each {
			return fmt.Errorf("%d of %d", n, services*each)
		}
		return nil
	})
	awaitPath(t, soon, bird, last, nil)
	session := awaitSession(t, bird, b.Edge4)

	speaker.Stall()
	start := time.Now()
	d.must("withdraw", "--all", "--expect", fmt.Sprint(services), "--reason", "to a neighbour that does not read")
	awaitGone(t, soon, bird, last)
	t.Logf("the withdrawal took %v to the neighbour that reads", time.Since(start))
	netlab.Eventually(t, 2*soon, "the session to be given up", func() error {
		if !strings.Contains(d.proc.Log(), "a withdrawal did not reach the neighbour in time") {
			return errors.New("no word of it in the log")
		}
		return nil
	})
	if took := time.Since(start); took < 4*time.Second {
		t.Errorf("the stuck withdrawal was noticed after %v", took)
	}
	again := deaf.accept(l)
	t.Logf("a new session after %v", time.Since(start).Round(time.Millisecond))
	speaker.Resume()
	select {
	case <-speaker.Done():
	case <-time.After(soon):
		t.Error("the old session lives")
	}
	hears = newEar(t, again)
	netlab.Eventually(t, 2*soon, "two KEEPALIVEs of the new session", func() error { // no second reset ends it
		if n := hears.heardKeepalives(); n < 2 {
			return fmt.Errorf("%d", n)
		}
		return nil
	})
	alive(t, "the new session", again)
	for _, u := range hears.all() {
		if !u.EndOfRIB() {
			t.Errorf("the new session has routes: %v", u)
		}
	}
	if n := d.metric(`catchment_sessions_total{neighbor="deaf"}`); n != 2 {
		t.Errorf("%v sessions, want 2", n)
	}
	sameSession(t, bird, b.Edge4, session)
}

// manyPrefix is one of many prefixes, which many services may have.
func manyPrefix(service, i int) netip.Prefix {
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{20, byte(service<<4 + i>>8), byte(i), 0}), 24)
}
